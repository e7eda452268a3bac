"""`.npy` files, mapped into memory and read block by block, and `.npz`, read whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..._core.validation import did_you_mean
from ..read_errors import ReadError, named, parsed_by_library
from ..stream import Item, cut
from ..tables import Reading


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
    X = _loaded(path)
    _check_numbers(X, path)
    return X


def _loaded(path: Path) -> Any:
    """The array in an `.npy` file, mapped into memory."""
    with named(path, "npy"), parsed_by_library(path, "npy"):
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _check_numbers(X: Any, path: Path) -> None:
    """Refuse what are no rows of real numbers."""
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ReadError(
            " must hold rows of real numbers, an array of two dimensions; got shape "
            f"{X.shape} of {X.dtype}.",
            path,
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
    found = _loaded(path)
    if found.ndim == 0:
        raise ReadError(f" must hold a {name} of every row.", path)
    return found


def _entries(path: Path, reading: Reading) -> tuple[Any, Any, Any]:
    """Entries of an `.npz` file, or the CSR matrix that SciPy has saved in one."""
    with open(path, "rb") as file, contextlib.ExitStack() as stack:
        with parsed_by_library(path, "npz"):
            entries = stack.enter_context(np.load(file, allow_pickle=False))
            names = set(entries.files)  # an array without a name has none
        if {"indices", "indptr", "data"} <= names:
            X = _matrix(file, path)
            _check_numbers(X, path)
            target = _values("target", reading.target)
            return X.tocsr(), target, _values("weight", reading.weight)
        target = reading.target
        if target is None and "y" in names:
            target = "y"
        asked = {"target": target, "weight": reading.weight}
        values = [_entry(entries, name, n, path) for name, n in asked.items()]
        left = names - {n for n in (target, reading.weight) if isinstance(n, str)}
        X = _array(entries, "X" if "X" in left else _only(left, path), path)
        _check_numbers(X, path)
        return (X, *values)


def _matrix(file: Any, path: Path) -> Any:
    """The sparse matrix that SciPy has saved."""
    file.seek(0)
    with parsed_by_library(path, "npz"):
        X: Any = sparse.load_npz(file)
        if hasattr(X, "check_format"):  # before SciPy writes where indices point
            X.check_format(full_check=True)
        return X


def _array(entries: Any, name: str, path: Path) -> Any:
    with parsed_by_library(path, "npz"):
        return entries[name]


def _entry(entries: Any, name: str, value: Any, path: Path) -> Any:
    """An entry by name, values of another file, or values as they are."""
    if not isinstance(value, str):
        return _values(name, value)
    if value not in entries.files:
        raise ReadError(
            f" has no entry {value!r}{did_you_mean(value, entries.files)}; its entries "
            f"are {', '.join(sorted(entries.files))}.",
            path,
        )
    return _array(entries, value, path)


def _only(names: set[str], path: Path) -> str:
    if len(names) != 1:
        raise ReadError(
            " must have an entry 'X', or only one that is not the target; got "
            f"{', '.join(sorted(names)) or 'none'}.",
            path,
        )
    return next(iter(names))
