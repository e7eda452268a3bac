"""svmlight files, read by scikit-learn a few lines at a time."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..read_errors import ReadError, named, shown, too_long
from ..stream import BLOCK_BYTES, ROWS, Item
from ..tables import Reading, text_bytes

SEEN_BYTES = 1 << 20
"""Bytes whose lines tell how many there are in all."""

LINE_BYTES = 1 << 22
"""Bytes of the longest line, where no other limit is given."""

EXACT = 2**53
"""Whole numbers up to here are floats, too."""

DIGITS = 300
"""Digits of a float, at most."""

OPEN: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}


def about_rows(path: Path) -> int:
    """Lines there are, about: from the length of the first."""
    with _opened(path) as file:
        seen = file.read(SEEN_BYTES)
    size = max(text_bytes(path), len(seen))
    return round(seen.count(b"\n") * size / max(len(seen), 1))


class Reader:
    """Blocks of svmlight files: CSR rows with the labels that they carry.

    Where the number of columns is not given, a first pass finds it, and whether
    indices begin at 0 or at 1.
    """

    def __init__(self, paths: list[Path], reading: Reading) -> None:
        self._paths, self._rows = paths, reading.rows
        self._n_features, self._first = reading.n_features, 1
        self._limit = reading.limit or LINE_BYTES

    def items(self) -> Iterator[Item]:
        """All rows of all files."""
        if self._n_features is None:
            self._n_features, self._first = self._scanned()
        for path in self._paths:
            with named(path, "svmlight"):
                yield from self._items(path)

    def _items(self, path: Path) -> Iterator[Item]:
        start = 0
        with _opened(path) as file:
            kept = _kept_lines(file, path, self._limit)
            while lines := _some(kept, self._rows):
                X, y = _parsed(lines, path, start)
                _check_labels(y, lines, path, start)
                X = self._fitted(X, path, start)
                place = f"{path.name}, rows {start + 1} to {start + len(lines)}"
                yield Item(X, y, None, place, start)
                start += len(lines)

    def _fitted(self, X: Any, path: Path, start: int) -> Any:
        """Columns counted from the first index, of the number there are."""
        assert self._n_features is not None
        X.indices -= self._first
        if X.nnz and (X.indices.min() < 0 or X.indices.max() >= self._n_features):
            bad = (X.indices < 0) | (X.indices >= self._n_features)
            row = int((X.indptr <= bad.argmax()).sum()) + start
            raise ValueError(
                f"blocks: {path.name}, row {row}: the index "
                f"{X.indices[bad.argmax()] + self._first} is outside "
                f"{self._first} to {self._n_features - 1 + self._first}; give a larger "
                "n_features, or none."
            )
        X.resize(X.shape[0], self._n_features)
        return X

    def _scanned(self) -> tuple[int, int]:
        low, high = 1, 0
        for path in self._paths:
            start = 0
            with named(path, "svmlight"), _opened(path) as file:
                kept = _kept_lines(file, path, self._limit)
                while lines := _some(kept, self._rows):
                    X, _ = _parsed(lines, path, start)
                    if X.nnz:
                        low = min(low, int(X.indices.min()))
                        high = max(high, int(X.indices.max()))
                    start += len(lines)
        return max(1, high - low + 1), low


def _kept_lines(file: Any, path: Path, limit: int) -> Iterator[bytes]:
    """Lines that hold more than spaces and comments, none too long to be read."""
    number = 0
    while line := file.readline(limit + 1):
        number += 1
        if len(line) > limit:
            raise too_long(path, f"line {number}", limit)
        if line.partition(b"#")[0].strip():
            yield line


def _some(kept: Iterator[bytes], rows: int | None) -> list[bytes]:
    """Lines of a block."""
    if rows is not None:
        return list(islice(kept, rows))
    found, size = [], 0
    for line in islice(kept, ROWS):
        found.append(line)
        size += len(line)
        if size > BLOCK_BYTES // 2:  # numbers take about twice the room of their text
            break
    return found


def _check_labels(y: Any, lines: list[bytes], path: Path, start: int) -> None:
    """Refuse whole numbers that floats change: two labels would become one."""
    for i in np.flatnonzero(np.abs(y) >= EXACT):
        label = lines[i].split(maxsplit=1)[0]
        if not label.lstrip(b"+-").isdigit():
            continue
        if len(label) > DIGITS or int(label) != int(y[i]):
            raise ReadError(
                f", row {start + i + 1}: the label {shown(label.decode())} is beyond "
                "2**53, and labels of svmlight are floats, which change it; give a "
                "shorter number, or a CSV or Parquet file.",
                path,
            )


def _parsed(lines: list[bytes], path: Path, start: int) -> tuple[Any, Any]:
    """Rows with their indices as they stand in the file."""
    from sklearn.datasets import load_svmlight_file  # heavy to import

    try:
        return load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=True)
    except (ValueError, OverflowError) as error:
        for i, line in enumerate(lines):
            try:
                load_svmlight_file(io.BytesIO(line), zero_based=True)
            except (ValueError, OverflowError) as bad:
                raise ReadError(
                    f", row {start + i + 1} is not svmlight, which is label "
                    f"index:value index:value …: {line[:60]!r}.",
                    path,
                ) from bad
        rows = f"rows {start + 1} to {start + len(lines)}"
        raise ReadError(f", {rows} cannot be read together: {error}", path) from error


def _opened(path: Path) -> Any:
    return OPEN.get(path.suffix, open)(path, "rb")
