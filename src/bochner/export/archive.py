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
import struct
import zipfile
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from .._core.atomic_files import checksum
from .._core.memory import budget, readable

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

REPEATS = 4
"""Times the file's size that all mentions of arrays may add up to. A learner mentions
the arrays of its map again in its parameters; no model needs more."""

REPEATED_BYTES = 1 << 20
"""Mentions of small arrays that are always allowed."""

EMPTY_WIDTH = 1 << 20
"""Largest dimension of an array without entries, which takes no bytes of the file."""

TEXT_BYTES = 5
"""Memory per byte of the document: its bytes, and at most four for each character."""

VALUE_BYTES = 1 << 7
"""Memory per plain value of the document: an object, and its places in lists."""

CONTAINER_BYTES = 1 << 11
"""Memory per list or object of the document: an estimator with its attributes."""

ENTRY_BYTES = 1 << 4
"""Memory per byte of the archive's list of entries, once `zipfile` has read it."""

END_RECORD = 22
LOCATOR_64, END_RECORD_64 = 20, 56
"""Bytes of the records at the end of a zip archive, the last two of a large one."""


class FileError(ValueError):
    """A file that is not what `bochner.save` writes, or not for this version."""


def write_archive(
    file: BinaryIO,
    document: Any,
    arrays: Mapping[str, np.ndarray],
    name: str = DOCUMENT,
) -> None:
    """Write all of it to an empty file, open for reading and writing.

    `name` is the document's: files of different purposes are not taken for each other.
    """
    archive = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
    try:
        text = json.dumps(document, allow_nan=False, indent=1)
        archive.writestr(zipfile.ZipInfo(name, EPOCH), text)
        for label, array in arrays.items():
            info = zipfile.ZipInfo(label + ARRAY, EPOCH)
            large = array.nbytes >= 1 << 31
            with archive.open(info, "w", force_zip64=large) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    except BaseException:
        # Closing would raise an error of its own where an interrupt has left an entry
        # open. The file is of no use now: the archive lets go of it.
        archive.fp = None
        raise
    archive.comment = TAG + b"0" * DIGEST
    archive.close()
    digest = checksum(file, file.seek(0, 2) - DIGEST).hexdigest()
    file.seek(-DIGEST, 2)
    file.write(digest.encode())


class Archive:
    """An archive that was checked as a whole, open for reading.

    Parameters
    ----------
    file : binary file
    spend : function (bytes, purpose), optional
        Called before a step takes memory that the file does not hold; it refuses what
        is too much.
    name : str
        The document's.
    """

    def __init__(
        self,
        file: BinaryIO,
        spend: Callable[[int, str], None] | None = None,
        name: str = DOCUMENT,
    ) -> None:
        self._name = name
        _check_whole(file)
        self._size = file.seek(0, 2)
        self._spend = spend or (lambda n_bytes, purpose: None)
        self._spend(ENTRY_BYTES * _directory_bytes(file), "the list of entries")
        try:
            self._zip = zipfile.ZipFile(file)
        except Exception as error:  # zipfile raises a dozen kinds
            raise FileError(f"it is not a zip archive ({_told(error)})") from error
        self._entries = _entries(self._zip, self._size, name)
        self._read: dict[str, np.ndarray] = {}
        self._mentioned = 0

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
            purpose = f"reading {self._name}"
            size = self._entries[self._name].file_size
            self._spend(TEXT_BYTES * size, purpose)
            text = self._zip.read(self._name)
            self._spend(_value_bytes(text), purpose)
            return json.loads(text.decode(), parse_constant=_no_constant)
        except FileError:
            raise
        except Exception as error:
            raise FileError(f"{self._name} cannot be read ({_told(error)})") from error

    def array(self, name: str) -> np.ndarray:
        """An array by its name; the same one each time."""
        if name not in self._read:
            if name + ARRAY not in self._entries:
                raise FileError(f"array {name!r} is missing")
            self._read[name] = self._array(self._entries[name + ARRAY])
        self._mentioned += self._read[name].nbytes
        if self._mentioned > REPEATS * self._size + REPEATED_BYTES:
            raise FileError(f"array {name!r} and others are mentioned too many times")
        return self._read[name]

    def check_all_read(self) -> None:
        """Refuse what the document does not speak of."""
        known = {self._name} | {name + ARRAY for name in self._read}
        unknown = sorted(self._entries.keys() - known)
        if unknown:
            raise FileError(f"entry {unknown[0]!r} does not belong to {self._name}")

    def _array(self, entry: zipfile.ZipInfo) -> np.ndarray:
        try:
            with self._zip.open(entry) as file:
                shape, dtype = _header(file)
                held = entry.file_size - file.tell()
            if dtype.hasobject or dtype.kind not in PLAIN or not dtype.itemsize:
                raise FileError(f"{entry.filename!r} holds {dtype}, which is not plain")
            if 0 in shape and max(shape) > EMPTY_WIDTH:
                raise FileError(f"{entry.filename!r} has the shape {shape}")
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


def _entries(
    archive: zipfile.ZipFile, size: int, document: str
) -> dict[str, zipfile.ZipInfo]:
    """Entries by name, each of them plain and inside the file."""
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        name = entry.filename
        if name in found:
            raise FileError(f"entry {name!r} is there twice")
        parts = name.split("/")
        if name != document and not name.endswith(ARRAY):
            raise FileError(f"entry {name!r} is neither {document} nor an array")
        if "" in parts or ".." in parts or "\\" in name:
            raise FileError(f"entry {name!r} is a path to elsewhere")
        stored = entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & 1
        if not stored or entry.compress_size != entry.file_size:
            raise FileError(f"entry {name!r} is compressed or encrypted")
        found[name] = entry
    if document not in found:
        raise FileError(f"there is no {document}")
    if sum(entry.file_size for entry in found.values()) > size:
        raise FileError("entries declare more bytes than the file has")
    return found


def _value_bytes(text: bytes) -> int:
    """An upper bound on the memory of the values of a JSON document.

    Brackets and commas inside of text count too, because telling them apart would take
    more memory than the values.
    """
    n_containers = text.count(b"[") + text.count(b"{")
    n_values = text.count(b",") + n_containers
    return VALUE_BYTES * n_values + CONTAINER_BYTES * n_containers


def _directory_bytes(file: BinaryIO) -> int:
    """Bytes of the list of entries, read where `zipfile` looks for them."""
    end = file.seek(0, 2) - DIGEST - len(TAG) - END_RECORD
    start = max(0, end - LOCATOR_64 - END_RECORD_64)
    file.seek(start)
    before, record = file.read(max(0, end - start)), file.read(END_RECORD)
    if end < 0 or not record.startswith(b"PK\x05\x06"):
        raise FileError("it is not a zip archive (its end is missing)")
    (n_bytes,) = struct.unpack_from("<I", record, 12)
    if before.startswith(b"PK\x06\x06"):
        (n_bytes,) = struct.unpack_from("<Q", before, 40)
    return n_bytes


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


class Allowance:
    """What is left of the memory that `load` may take.

    Parameters
    ----------
    memory : None, int or str
        As given to `load`.
    """

    def __init__(self, memory: int | str | None = None) -> None:
        self._left = budget("load", memory)

    def spend(self, n_bytes: int, purpose: str) -> None:
        """Pay for a step; refuse a file that asks for more than is left."""
        if n_bytes > self._left:
            raise FileError(
                f"{purpose} takes up to {readable(n_bytes)} of memory, and "
                f"{readable(self._left)} are left of what load may take; if you trust "
                "the file, allow more with load(path, memory='…')"
            )
        self._left -= n_bytes
