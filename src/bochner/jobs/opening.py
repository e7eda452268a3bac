"""From what the user names to blocks of rows: files of all formats, and data sets."""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import datasets
from ..execution import Blocks, blocks
from ..execution.files import TABLES, format_of

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
    kinds: Mapping[str, str] | None = None,
    supervised: bool = True,
) -> Data:
    """Rows of a file, of several (a pattern, a folder), or of a data set by its name.

    Parameters
    ----------
    source : str
    target : str, optional
        The column of a table, or entry of an `.npz` file, that is to be predicted.
    kinds : dict, optional
        Columns of a table to read, and what they hold: those of a fitted model.
    supervised : bool
        Whether rows without a target are of no use.
    """
    if not _is_file(source):
        return _data_set(source, target)
    name, format = Path(source).name, format_of(source)
    if format == "npz" and _has_split(source):
        return _parts(name, datasets.read(Path(source)))
    if format not in TABLES:
        return Data(name, blocks(source, target=target))
    if target is None and supervised:
        found = next(blocks(source, frames=True).walk()).X.columns
        raise ValueError(
            f"{name} is a table: say which column is to be predicted (--target). Its "
            f"columns are {', '.join(map(str, found))}."
        )
    return Data(name, blocks(source, target=target, frames=kinds or True), True)


def _is_file(source: str) -> bool:
    return os.path.exists(source) or bool(glob.glob(source))


def _has_split(path: str) -> bool:
    with np.load(path, allow_pickle=False) as arrays:
        return bool(SPLIT & set(arrays.files))


def _data_set(name: str, target: str | None) -> Data:
    known = datasets.available()
    if name not in known:
        raise FileNotFoundError(
            f"There is no file {name!r}, and no data set of that name"
            f"{_near(name, known)}. Data sets here: {', '.join(known)}; more are those "
            f"of a folder that {datasets.VARIABLE} names."
        )
    if target is not None:
        raise ValueError(
            f"--target {target} is for files; the data set {name!r} has its own."
        )
    return _parts(name, datasets.load(name))


def _parts(name: str, found: Any) -> Data:
    return Data(
        name,
        blocks(found.X_train, target=found.y_train),
        test=blocks(found.X_test, target=found.y_test),
    )


def _near(name: str, known: list[str]) -> str:
    folder = Path(name).parent
    files = [p.name for p in folder.iterdir()] if folder.is_dir() else []
    found = difflib.get_close_matches(Path(name).name, [*files, *known], n=1)
    return f" (perhaps {found[0]!r})" if found else ""
