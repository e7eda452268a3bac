"""`.npy` and `.npz` files, read block by block; sparse matrices, read whole."""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..._core.memory import readable
from ..._core.validation import did_you_mean
from ..read_errors import ReadError, check_plain, named, parsed_by_library
from ..stream import Item, check_beside, cut
from ..tables import Reading
from .stored_arrays import StoredArray

WHOLE_BYTES = 256 << 20
"""Bytes that an `.npz` file may take unpacked where it is read whole, ..."""

WHOLE_SHARE = 64
"""... or so many times its size, where that is more."""

ARRAY = ".npy"


def npy_items(paths: list[Path], reading: Reading) -> Iterator[Item]:
    """Blocks of `.npy` files; target and weight are of all files, one below another."""
    target = _values("target", reading.target)
    weight = _values("weight", reading.weight)
    arrays = [_rows_in(path) for path in paths]
    n = sum(len(X) for X in arrays)
    for name, values in (("target", target), ("weight", weight)):
        if values is not None and len(values) != n:
            raise ValueError(
                f"blocks: the files have {n} rows and {name} has {len(values)}."
            )
    start = 0
    for path, X in zip(paths, arrays, strict=True):
        with named(path, "npy"):
            yield from _items(path, (X, target, weight), reading.rows, start)
        start += len(X)


def npz_items(paths: list[Path], reading: Reading) -> Iterator[Item]:
    """Blocks of `.npz` files, of which matrices of SciPy are in memory as a whole."""
    for path in paths:
        with named(path, "npz"):
            X, *beside = _entries(path, reading)
            check_beside(X.shape[0], *beside)
            yield from _items(path, (X, *beside), reading.rows)


def _items(
    path: Path, parts: tuple[Any, Any, Any], rows: int | None, before: int = 0
) -> Iterator[Item]:
    """Blocks of rows with what is beside them, which has more rows before these."""
    X, y, weight = parts
    with contextlib.ExitStack() as stack:
        for part in parts:
            if isinstance(part, StoredArray):
                stack.enter_context(part)
        for item in cut(X, None, None, rows):
            start = before + item.start
            part = slice(start, start + item.X.shape[0])
            beside = [None if v is None else v[part] for v in (y, weight)]
            place = f"{path.name}, {item.place}"
            yield item._replace(y=beside[0], weight=beside[1], place=place)


def npy_rows(path: Path) -> int:
    """Rows there are."""
    return len(_rows_in(path))


def _rows_in(path: Path) -> StoredArray:
    with named(path, "npy"):
        X = StoredArray(path)
    _check_numbers(X, path)
    return X


def _check_numbers(X: Any, path: Path) -> None:
    """Refuse what are no rows of real numbers."""
    if X.ndim != 2 or X.dtype.kind not in "fiub" or not X.shape[1]:
        raise ReadError(
            " must hold rows of real numbers, an array of two dimensions; got shape "
            f"{X.shape} of {X.dtype}.",
            path,
        )


def _values(name: str, values: Any) -> Any:
    """Values given as they are, or as the path of an `.npy` file."""
    if not isinstance(values, str | os.PathLike):
        return None if values is None else np.asarray(values)
    path = Path(values)
    if not path.exists():
        raise FileNotFoundError(
            f"blocks: {name}={str(values)!r} must be the values, or the path of an "
            ".npy file that holds them; there is no such file."
        )
    check_plain(path)
    with named(path, "npy"):
        found = StoredArray(path)
    return _of_every_row(found, name, path)


def _of_every_row(found: StoredArray, name: str, path: Path) -> StoredArray:
    if found.ndim == 0:
        raise ReadError(f" must hold a {name} of every row.", path)
    return found


def _entries(path: Path, reading: Reading) -> tuple[Any, Any, Any]:
    """Entries of an `.npz` file, or the CSR matrix that SciPy has saved in one."""
    names = set(_names(path))
    if {"indices", "indptr", "data"} <= names:
        X = _matrix(path, names, reading.limit)
        _check_numbers(X, path)
        target = _values("target", reading.target)
        return X.tocsr(), target, _values("weight", reading.weight)
    target = reading.target
    if target is None and "y" in names:
        target = "y"
    asked = {"target": target, "weight": reading.weight}
    values = [_entry(path, names, asked, name, reading.limit) for name in asked]
    left = names - {n for n in (target, reading.weight) if isinstance(n, str)}
    X = _array(path, "X" if "X" in left else _only(left, path), reading.limit)
    _check_numbers(X, path)
    return (X, *values)


def _names(path: Path) -> list[str]:
    """Names of the arrays in an `.npz` file."""
    with parsed_by_library(path, "npz"), zipfile.ZipFile(path) as archive:
        inside = [name for name in archive.namelist() if name.endswith(ARRAY)]
    return [name.removesuffix(ARRAY) for name in inside]


class WholeArrays(Mapping[str, np.ndarray]):
    """Arrays of an `.npz` file by name, each read whole if it is not too large."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with named(path, "npz"):
            self._names = _names(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise KeyError(name)
        with named(self._path, "npz"):
            found = StoredArray(self._path, name + ARRAY)
            _check_size(found.nbytes, self._path, None)
            return found.whole()


def _matrix(path: Path, names: set[str], limit: int | None) -> Any:
    """The sparse matrix that SciPy has saved."""
    parts = {name: StoredArray(path, name + ARRAY) for name in names}
    size = sum(part.nbytes for part in parts.values())
    if "shape" in parts and parts["shape"].shape == (2,):
        rows = parts["shape"].whole()[:1]
        # as CSR it has a number for every row, also where no row has an entry
        size += 8 * max(0, int(rows[0])) if rows.dtype.kind in "iu" else 0
    _check_size(size, path, limit)
    with parsed_by_library(path, "npz"), open(path, "rb") as file:
        return checked_sparse(sparse.load_npz(file))


def checked_sparse(X: Any) -> Any:
    """A matrix of a file, refused before SciPy reads or writes where it points."""
    if hasattr(X, "indptr"):
        # SciPy looks at none of this where the last is 0
        rising = X.indptr[0] == 0 and (np.diff(X.indptr) >= 0).all()
        if not rising or X.indptr[-1] != len(X.indices):
            raise ValueError("its rows do not begin where others end")
        X.check_format(full_check=True)
    return X


def _array(path: Path, name: str, limit: int | None) -> Any:
    """An entry, to be read in blocks unless it is packed column by column."""
    found = StoredArray(path, name + ARRAY)
    if not (found.is_packed and found.is_by_columns):
        return found
    _check_size(found.nbytes, path, limit)
    return found.whole()


def _check_size(size: int, path: Path, limit: int | None) -> None:
    """Refuse what takes far more memory than its file, before it is read whole."""
    most = limit or max(WHOLE_BYTES, WHOLE_SHARE * path.stat().st_size)
    if size > most:
        raise ReadError(
            f" takes {readable(size)} unpacked, and is read whole, for which "
            f"{readable(most)} is the most; save it as dense rows in C order, which "
            f"are read in blocks, or trust it with blocks(…, limit={size}).",
            path,
        )


def _entry(
    path: Path, names: set[str], asked: dict[str, Any], name: str, limit: int | None
) -> Any:
    """An entry by name, values of another file, or values as they are."""
    value = asked[name]
    if not isinstance(value, str):
        return _values(name, value)
    if value not in names:
        raise ReadError(
            f" has no entry {value!r}{did_you_mean(value, names)}; its entries "
            f"are {', '.join(sorted(names))}.",
            path,
        )
    return _of_every_row(_array(path, value, limit), name, path)


def _only(names: set[str], path: Path) -> str:
    if len(names) != 1:
        raise ReadError(
            " must have an entry 'X', or only one that is not the target; got "
            f"{', '.join(sorted(names)) or 'none'}.",
            path,
        )
    return next(iter(names))
