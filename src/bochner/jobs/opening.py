"""From what the user names to blocks of rows: files of all formats, and data sets."""

from __future__ import annotations

import glob
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import datasets
from .._validation import did_you_mean
from ..execution import Blocks, blocks
from ..execution.files import TABLES, format_of, frame_kinds
from ..execution.tables import listed

SPLIT = {"X_train", "X_train_data"}
"""An entry of an `.npz` file that comes with a split of its own."""


@dataclass(frozen=True)
class Data:
    """Rows in blocks, and those that a data set holds out for testing."""

    name: str
    blocks: Blocks
    is_table: bool = False
    test: Blocks | None = None


def open_data(
    source: str,
    *,
    target: str | None = None,
    columns: Mapping[str, Iterable[str]] | None = None,
    kinds: Mapping[str, str] | None = None,
    supervised: bool = True,
) -> Data:
    """Rows of a file, of several (a pattern, a folder), or of a data set by its name.

    Parameters
    ----------
    source : str
    target : str, optional
        The column of a table, or entry of an `.npz` file, that is to be predicted.
    columns : dict, optional
        What the user says of a table's: names of "numbers", "categories", "dates" and
        those to "drop".
    kinds : dict, optional
        Columns of a table to read, and what they hold: those of a fitted model.
    supervised : bool
        Whether rows without a target are of no use.
    """
    if not _is_file(source):
        return _data_set(source, target)
    name, format = Path(source).name, format_of(source)
    if format == "npz" and os.path.isfile(source) and _has_split(source):
        _check_no_target(name, target)
        return _parts(name, datasets.read(Path(source)))
    if format not in TABLES:
        return Data(name, blocks(source, target=target))
    if target is None and supervised:
        raise ValueError(
            f"{name} is a table: say which column is to be predicted (--target). Its "
            f"columns are {', '.join(frame_kinds(source))}."
        )
    if kinds is None:
        kinds = _asked_kinds(source, target, columns or {})
    return Data(name, blocks(source, target=target, frames=kinds), True)


def _asked_kinds(
    source: str, target: str | None, columns: Mapping[str, Iterable[str]]
) -> dict[str, str]:
    """Columns to read, as the first rows tell and the user says.

    What is known at reading is read alike in every file, and again at predict.
    """
    found = frame_kinds(source)
    for kind, names in columns.items():
        for name in names:
            if name not in found:
                raise ValueError(
                    f"--{kind} names {name!r}, and there is no such column"
                    f"{did_you_mean(name, found)}; columns are {listed(list(found))}."
                )
            found[name] = None if kind == "drop" else kind
    dropped = set(columns.get("drop", ()))
    odd = [n for n, kind in found.items() if kind is None and n not in dropped]
    odd = [n for n in odd if n != target]
    if odd:
        raise ValueError(
            f"Column {odd[0]!r} holds neither numbers, text nor dates; leave it out "
            "(--drop), or convert it first."
        )
    return {n: kind for n, kind in found.items() if kind is not None and n != target}


def _is_file(source: str) -> bool:
    return os.path.exists(source) or bool(glob.glob(source))


def _has_split(path: str) -> bool:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return bool(SPLIT & set(arrays.files))
    except (zipfile.BadZipFile, EOFError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{Path(path).name} is not an .npz file, or damaged ({error})."
        ) from error


def _data_set(name: str, target: str | None) -> Data:
    known = datasets.available()
    if name not in known:
        raise FileNotFoundError(
            f"There is no file {name!r}, and no data set of that name"
            f"{_near(name, known)}. Data sets here: {', '.join(known)}; more are those "
            f"of a folder that {datasets.VARIABLE} names."
        )
    _check_no_target(name, target)
    return _parts(name, datasets.load(name))


def _check_no_target(name: str, target: str | None) -> None:
    if target is not None:
        raise ValueError(
            f"--target {target} is for files; the data set {name!r} has its own."
        )


def _parts(name: str, found: Any) -> Data:
    return Data(
        name,
        blocks(found.X_train, target=found.y_train),
        test=blocks(found.X_test, target=found.y_test),
    )


def _near(name: str, known: list[str]) -> str:
    folder = Path(name).parent
    files = [p.name for p in folder.iterdir()] if folder.is_dir() else []
    return did_you_mean(Path(name).name, [*files, *known])
