"""From what the user names to rows: files of all formats, data sets, samples."""

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
from .._core.random import Stream
from .._core.validation import did_you_mean
from ..compare.rows import Dataset
from ..data.blocks import blocks
from ..data.formats import TABLES, format_of, frame_kinds
from ..data.stream import SAMPLE_ROWS, Blocks, Item, rows_at, sampled_rows, stacked
from ..data.table_kinds import encoded_bytes
from ..data.tables import listed

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


def files_named(*names: Any) -> list[Path]:
    """The files that names of data may stand for: a file, a folder, a pattern, a set.

    Names that are None are left out.
    """
    found: list[Path] = []
    folder = os.environ.get(datasets.VARIABLE)
    for name in filter(None, names):
        path = Path(name).expanduser()
        if path.is_dir():
            found += path.iterdir()
        elif path.exists():
            found.append(path)
        else:
            found += [path, *map(Path, glob.glob(str(name)))]
            found += [Path(folder) / f"{name}.npz"] if folder else []
    return found


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


WHOLE_BYTES = 256 << 20
"""Rows that take less are learned from as one; more are streamed."""


def gathered(source: Blocks) -> tuple[Any, Any] | None:
    """All rows and targets, or None where they are too many."""
    parts: list[Item] = []
    size = 0.0
    for item in source.walk():
        if not parts and _is_large(source, item):
            return None
        parts.append(item)
        size += item.X.shape[0] * encoded_bytes(item.X)
        if size > WHOLE_BYTES:
            return None
    if not parts:
        raise ValueError("There are no rows.")
    return stacked([p.X for p in parts]), _targets(parts)


def _is_large(source: Blocks, first: Item) -> bool:
    """Whether the first block and the size of files tell that rows are too many."""
    about = source.about_rows()
    return about is not None and about * encoded_bytes(first.X) > 2 * WHOLE_BYTES


def sampled(
    source: Blocks, n_wanted: int | None = None, seed: int = 0
) -> tuple[Any, Any, int]:
    """A uniform sample of rows and targets, and how many rows there are: one pass."""
    n_wanted = SAMPLE_ROWS if n_wanted is None else n_wanted
    X, y, n_rows = sampled_rows(source, n_wanted, encoded_bytes, seed)
    if y is None:
        raise ValueError(
            "There is nothing to predict: say which column or entry it is (--target)."
        )
    return X, y, n_rows


def _targets(parts: list[Item]) -> Any:
    if any(part.y is None for part in parts):
        return None
    return np.concatenate([np.asarray(part.y) for part in parts])


def load_rows(
    source: str,
    target: str | None,
    columns: dict[str, list[str]],
    limit: int | None,
    seed: int,
) -> Dataset:
    """Rows of a file or data set, at most `limit` (None: 50,000) of them."""
    data = open_data(source, target=target, columns=columns)
    most = SAMPLE_ROWS if limit is None else limit
    if most < 1:
        raise ValueError(f"--rows must be positive; got {limit}.")
    X, y, n_rows = _some(data.blocks, most, seed)
    if y is None:
        raise ValueError(
            f"{data.name} has no target: say which column or entry it is (--target)."
        )
    notes: tuple[str, ...] = ()
    if n_rows > len(y):
        notes = (f"A random sample of {len(y):,} of {n_rows:,} rows was used.",)
    tests: tuple[Any, Any] = (None, None)
    if data.test is not None:
        tests = _some(data.test, most, seed)[:2]
    return Dataset(X, y, *tests, name=data.name, target=target, notes=notes)


def _some(source: Blocks, most: int, seed: int) -> tuple[Any, Any, int]:
    whole = gathered(source)
    if whole is None:
        return sampled(source, most, seed)
    X, y = whole
    n_rows = X.shape[0]
    if n_rows <= most or y is None:
        return X, y, n_rows
    kept = Stream(seed).child("rows").subset(n_rows, most)
    return rows_at(X, kept), y[kept], n_rows
