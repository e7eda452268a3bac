"""`.npy` files, mapped into memory and read block by block, and `.npz`, read whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .stream import Item, cut
from .tables import Reading


def npy_items(paths: list[Path], reading: Reading) -> Iterator[Item]:
    """Blocks of `.npy` files; target and weight are of all files, one below another."""
    target, weight = _values(reading.target), _values(reading.weight)
    arrays = [np.load(path, mmap_mode="r") for path in paths]
    n = sum(len(X) for X in arrays)
    for name, values in (("target", target), ("weight", weight)):
        if values is not None and len(values) != n:
            raise ValueError(
                f"blocks: the files have {n} rows and {name} has {len(values)}."
            )
    start = 0
    for path, X in zip(paths, arrays, strict=True):
        part = slice(start, start + len(X))
        y, w = (None if v is None else v[part] for v in (target, weight))
        for item in cut(X, y, w, reading.rows):
            # a copy: pages are read here, ahead, and not where they are worked on
            yield item._replace(X=np.array(item.X), place=f"{path.name}, {item.place}")
        start += len(X)


def npz_items(paths: list[Path], reading: Reading) -> Iterator[Item]:
    """Blocks of `.npz` files, one of which is in memory at a time."""
    for path in paths:
        for item in cut(*_entries(path, reading), reading.rows):
            yield item._replace(place=f"{path.name}, {item.place}")


def npy_rows(path: Path) -> int:
    """Rows there are."""
    return len(np.load(path, mmap_mode="r"))


def _values(values: Any) -> Any:
    """Values given as they are, or as the path of an `.npy` file."""
    if isinstance(values, str | os.PathLike):
        return np.load(values, mmap_mode="r")
    return values


def _entries(path: Path, reading: Reading) -> tuple[Any, Any, Any]:
    """Entries of an `.npz` file, or the CSR matrix that SciPy has saved in one."""
    with np.load(path) as entries:
        names = set(entries.files)
        if {"indices", "indptr", "data"} <= names:
            X: Any = sparse.load_npz(path).tocsr()
            return X, _values(reading.target), _values(reading.weight)
        target = reading.target
        if target is None and "y" in names:
            target = "y"
        values = [_entry(entries, n, path) for n in (target, reading.weight)]
        left = names - {n for n in (target, reading.weight) if isinstance(n, str)}
        name = "X" if "X" in left else _only(left, path)
        return (entries[name], *values)


def _entry(entries: Any, value: Any, path: Path) -> Any:
    """An entry by name, or values as they are."""
    if not isinstance(value, str):
        return value
    if value not in entries.files:
        raise ValueError(
            f"blocks: {path.name} has no entry {value!r}; its entries are "
            f"{', '.join(sorted(entries.files))}."
        )
    return entries[value]


def _only(names: set[str], path: Path) -> str:
    if len(names) != 1:
        raise ValueError(
            f"blocks: {path.name} must have an entry 'X', or only one that is not the "
            f"target; got {', '.join(sorted(names)) or 'none'}."
        )
    return next(iter(names))
