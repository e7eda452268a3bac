"""The container: a zip of one JSON document and NumPy arrays, under one checksum.

    model.json      the document
    <name>.npy      arrays, in NumPy's format, without pickles
    comment         "bochner sha256 " and the checksum of every byte before it

Nothing is compressed, so a file holds all that reading it takes: no entry is larger
than the file. `numpy.load` reads the arrays of such a file as they are.
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Mapping
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from .._core.atomic_files import checksum

DOCUMENT = "model.json"
ARRAY = ".npy"
TAG = b"bochner sha256 "
DIGEST = hashlib.sha256().digest_size * 2
"""Letters of the checksum."""

STARTS = b"PK\x03\x04"
PLAIN = "biufUSmM"
"""Kinds of arrays that are numbers, truth values, text or times, and never objects."""

EPOCH = (1980, 1, 1, 0, 0, 0)
"""No time is stored: the same model makes the same file."""

HEADER_BYTES = 10_000
"""Longest description of an array's type and shape; NumPy's own limit."""


class FileError(ValueError):
    """A file that is not what `bochner.save` writes, or not for this version."""


def write_archive(
    file: BinaryIO, document: Any, arrays: Mapping[str, np.ndarray]
) -> None:
    """Write all of it to an empty file, open for reading and writing."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        text = json.dumps(document, allow_nan=False, indent=1)
        archive.writestr(zipfile.ZipInfo(DOCUMENT, EPOCH), text)
        for name, array in arrays.items():
            info = zipfile.ZipInfo(name + ARRAY, EPOCH)
            large = array.nbytes >= 1 << 31
            with archive.open(info, "w", force_zip64=large) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
        archive.comment = TAG + b"0" * DIGEST
    digest = checksum(file, file.seek(0, 2) - DIGEST).hexdigest()
    file.seek(-DIGEST, 2)
    file.write(digest.encode())


class Archive:
    """An archive that was checked as a whole, open for reading.

    Parameters
    ----------
    file : binary file
    """

    def __init__(self, file: BinaryIO) -> None:
        _check_whole(file)
        try:
            self._zip = zipfile.ZipFile(file)
        except Exception as error:  # zipfile raises a dozen kinds
            raise FileError(f"it is not a zip archive ({_told(error)})") from error
        self._entries = _entries(self._zip, file.seek(0, 2))
        self._read: dict[str, np.ndarray] = {}

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()

    def document(self) -> Any:
        """The JSON document."""
        try:
            text = self._zip.read(DOCUMENT).decode()
            return json.loads(text, parse_constant=_no_constant)
        except Exception as error:
            raise FileError(f"{DOCUMENT} cannot be read ({_told(error)})") from error

    def array(self, name: str) -> np.ndarray:
        """An array by its name; the same one each time."""
        if name not in self._read:
            if name + ARRAY not in self._entries:
                raise FileError(f"array {name!r} is missing")
            self._read[name] = self._array(self._entries[name + ARRAY])
        return self._read[name]

    def check_all_read(self) -> None:
        """Refuse what the document does not speak of."""
        known = {DOCUMENT} | {name + ARRAY for name in self._read}
        unknown = sorted(self._entries.keys() - known)
        if unknown:
            raise FileError(f"entry {unknown[0]!r} does not belong to the model")

    def _array(self, entry: zipfile.ZipInfo) -> np.ndarray:
        try:
            with self._zip.open(entry) as file:
                shape, dtype = _header(file)
                held = entry.file_size - file.tell()
            if dtype.hasobject or dtype.kind not in PLAIN or not dtype.itemsize:
                raise FileError(f"{entry.filename!r} holds {dtype}, which is not plain")
            declared = math.prod(shape) * dtype.itemsize
            if declared != held:
                raise FileError(
                    f"{entry.filename!r} declares {declared} bytes and holds {held}"
                )
            with self._zip.open(entry) as file:
                array = np.lib.format.read_array(
                    file, allow_pickle=False, max_header_size=HEADER_BYTES
                )
                file.read()  # to the end, where the entry's own checksum is looked at
        except FileError:
            raise
        except Exception as error:
            name = entry.filename
            raise FileError(f"{name!r} cannot be read ({_told(error)})") from error
        return array


def _header(file: Any) -> tuple[tuple[int, ...], np.dtype]:
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in read:
        raise FileError(f"an array is of NumPy's format {version}, which is not known")
    shape, _, dtype = read[version](file, max_header_size=HEADER_BYTES)
    return shape, dtype


def _entries(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Entries by name, each of them plain and inside the file."""
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        name = entry.filename
        if name in found:
            raise FileError(f"entry {name!r} is there twice")
        parts = name.split("/")
        if name != DOCUMENT and not name.endswith(ARRAY):
            raise FileError(f"entry {name!r} is neither {DOCUMENT} nor an array")
        if "" in parts or ".." in parts or "\\" in name:
            raise FileError(f"entry {name!r} is a path to elsewhere")
        stored = entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & 1
        if not stored or entry.compress_size != entry.file_size:
            raise FileError(f"entry {name!r} is compressed or encrypted")
        found[name] = entry
    if DOCUMENT not in found:
        raise FileError(f"there is no {DOCUMENT}")
    if sum(entry.file_size for entry in found.values()) > size:
        raise FileError("entries declare more bytes than the file has")
    return found


def _check_whole(file: BinaryIO) -> None:
    size = file.seek(0, 2)
    file.seek(0)
    if file.read(len(STARTS)) != STARTS:
        raise FileError("it is not a file of bochner, which starts like a zip archive")
    end = size - DIGEST
    file.seek(max(0, end - len(TAG)))
    if file.read(len(TAG)) != TAG:
        raise FileError(
            "it does not end with bochner's checksum: it is of another program, or was "
            "cut off"
        )
    if file.read() != checksum(file, end).hexdigest().encode():
        raise FileError("its checksum does not agree: bytes have changed")


def _told(error: Exception) -> str:
    return str(error) or type(error).__name__


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
