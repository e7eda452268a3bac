"""`.npy` files, mapped into memory and read block by block, and `.npz`, read whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .naming import named
from .stream import Item, cut
from .tables import Reading


def npy_items(paths: list[Path], reading: Reading) -> Iterator[Item]:
    """Blocks of `.npy` files; target and weight are of all files, one below another."""
    target = _values("target", reading.target)
    weight = _values("weight", reading.weight)
    arrays = [_mapped(path) for path in paths]
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
        with named(path, "npy"):
            for item in cut(X, y, w, reading.rows):
                # a copy: pages are read here, ahead, not where they are worked on
                place = f"{path.name}, {item.place}"
                yield item._replace(X=np.array(item.X), place=place)
        start += len(X)


def npz_items(paths: list[Path], reading: Reading) -> Iterator[Item]:
    """Blocks of `.npz` files, one of which is in memory at a time."""
    for path in paths:
        with named(path, "npz"):
            for item in cut(*_entries(path, reading), reading.rows):
                yield item._replace(place=f"{path.name}, {item.place}")


def npy_rows(path: Path) -> int:
    """Rows there are."""
    return len(_mapped(path))


def _mapped(path: Path) -> np.ndarray:
    with named(path, "npy"):
        X = np.load(path, mmap_mode="r", allow_pickle=False)
        _check_numbers(X, path)
        return X


def _check_numbers(X: Any, path: Path) -> None:
    """Refuse what are no rows of real numbers."""
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(
            f"blocks: {path.name} must hold rows of real numbers, an array of two "
            f"dimensions; got shape {X.shape} of {X.dtype}."
        )


def _values(name: str, values: Any) -> Any:
    """Values given as they are, or as the path of an `.npy` file."""
    if not isinstance(values, str | os.PathLike):
        return values
    path = Path(values)
    if not path.exists():
        raise FileNotFoundError(
            f"blocks: {name}={str(values)!r} must be the values, or the path of an "
            ".npy file that holds them; there is no such file."
        )
    with named(path, "npy"):
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    if found.ndim == 0:
        raise ValueError(f"blocks: {path.name} must hold a {name} of every row.")
    return found


def _entries(path: Path, reading: Reading) -> tuple[Any, Any, Any]:
    """Entries of an `.npz` file, or the CSR matrix that SciPy has saved in one."""
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as entries:
        names = set(entries.files)
        if {"indices", "indptr", "data"} <= names:
            file.seek(0)
            X: Any = sparse.load_npz(file)
            if hasattr(X, "check_format"):  # before SciPy writes where indices point
                X.check_format(full_check=True)
            _check_numbers(X, path)
            target = _values("target", reading.target)
            return X.tocsr(), target, _values("weight", reading.weight)
        target = reading.target
        if target is None and "y" in names:
            target = "y"
        asked = {"target": target, "weight": reading.weight}
        values = [_entry(entries, name, n, path) for name, n in asked.items()]
        left = names - {n for n in (target, reading.weight) if isinstance(n, str)}
        name = "X" if "X" in left else _only(left, path)
        X = entries[name]
        _check_numbers(X, path)
        return (X, *values)


def _entry(entries: Any, name: str, value: Any, path: Path) -> Any:
    """An entry by name, values of another file, or values as they are."""
    if not isinstance(value, str):
        return _values(name, value)
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
