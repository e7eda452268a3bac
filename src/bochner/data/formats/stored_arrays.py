"""Arrays in NumPy's format, in a file or in an archive, read some rows at a time."""

from __future__ import annotations

import contextlib
import io
import math
import os
import zipfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..read_errors import ReadError, parsed_by_library

HEADER_BYTES = 10_000
"""Longest description of an array's type and shape; NumPy's own limit."""

READ_BYTES = 1 << 20
"""Bytes read at a time."""

VERSIONS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class StoredArray:
    """An array whose rows are read when they are asked for, by slices.

    Nothing is mapped into memory: the pages of a file that someone cuts off meanwhile
    would end the process, and so it is an error. Inside a `with` block the file stays
    open, and rows in order are read in one go, which matters where they are compressed.

    Parameters
    ----------
    path : Path
        An `.npy` file, or the archive of a member.
    member : str, optional
        The name in the archive.
    """

    def __init__(self, path: Path, member: str | None = None) -> None:
        self._path, self._member = path, member
        self._file: Any = None
        self._stack = contextlib.ExitStack()
        self.is_packed = False
        with self as opened, parsed_by_library(path, self._kind):
            start = io.BytesIO(opened._file.read(12 + HEADER_BYTES))
            version = np.lib.format.read_magic(start)
            if version not in VERSIONS:
                raise ValueError(f"NumPy's format {version} is not known")
            self.shape, self.is_by_columns, self.dtype = VERSIONS[version](start)
            self._offset = start.tell()
            self._check(self._held_bytes - self._offset)

    @property
    def _kind(self) -> str:
        return "npy" if self._member is None else "npz"

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __enter__(self) -> Self:
        if self._file is None:
            self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file = None
        self._stack.close()

    def __getitem__(self, part: slice) -> np.ndarray:
        """The rows of a slice without steps."""
        start, stop, _ = part.indices(len(self))
        n, beside = max(0, stop - start), self.shape[1:]
        with contextlib.nullcontext() if self._file else self:
            if not self.is_by_columns or self.ndim == 1:
                out = np.empty((n, *beside), self.dtype)
                self._fill(out, start * math.prod(beside), start)
                return out
            columns = np.empty((math.prod(beside), n), self.dtype)
            for place, column in enumerate(columns):
                self._fill(column, place * len(self) + start, start)
        return columns.reshape(*beside[::-1], n).transpose()

    def whole(self) -> np.ndarray:
        """All of it, read from the beginning to the end."""
        flat = np.empty(math.prod(self.shape), self.dtype)
        with contextlib.nullcontext() if self._file else self:
            self._fill(flat, 0, 0)
        return flat.reshape(self.shape, order="F" if self.is_by_columns else "C")

    def _open(self) -> None:
        with parsed_by_library(self._path, self._kind):
            if self._member is None:
                self._file = self._stack.enter_context(open(self._path, "rb"))
                self._held_bytes = os.fstat(self._file.fileno()).st_size
                return
            archive = self._stack.enter_context(zipfile.ZipFile(self._path))
            entry = archive.getinfo(self._member)
            self._file = self._stack.enter_context(archive.open(entry))
            self._held_bytes = entry.file_size
            self.is_packed = entry.compress_type != zipfile.ZIP_STORED

    def _check(self, held: int) -> None:
        """Refuse what only pickles hold, and more than there is."""
        if self.dtype.hasobject or not self.dtype.itemsize:
            raise ValueError(f"it holds {self.dtype}, which takes a pickle")
        if min(self.shape, default=0) < 0 or self.nbytes > held:
            raise ValueError(
                f"its header declares {self.nbytes} bytes, and {held} are there"
            )

    def _fill(self, out: np.ndarray, place: int, row: int) -> None:
        """Read the numbers from a place on into a contiguous array."""
        if not out.size:
            return
        file, wanted = self._file, self._offset + place * self.dtype.itemsize
        if file.tell() != wanted:
            file.seek(wanted)
        left = memoryview(out.reshape(-1).view(np.uint8))
        while len(left):
            n_read = file.readinto(left[:READ_BYTES])
            if not n_read:
                raise ReadError(
                    f" ends behind row {row}, before the {len(self)} rows that its "
                    "header declares: it was cut off while it was read, or is "
                    "damaged. Write it again.",
                    self._path,
                )
            left = left[n_read:]
        if place + out.size == math.prod(self.shape):
            file.read(1)  # an archive looks at its checksum where it ends
