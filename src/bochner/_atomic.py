"""Files that are replaced as a whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

READ_BYTES = 1 << 20

REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota is used up",
    errno.EACCES: "the folder is not yours to write to",
    errno.EROFS: "the disk is read-only",
}
"""Why a file could not be written, in plain words."""


@contextlib.contextmanager
def new_file(owner: str, path: Any) -> Iterator[BinaryIO]:
    """A file that a user asked for: `replacing`, through links, errors in plain words.

    `owner` is the function whose errors they are.
    """
    target, name = Path(os.path.realpath(path)), os.fspath(path)
    if target.is_dir():
        raise IsADirectoryError(f"{owner}: {name!r} is a folder; name a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{owner}: {name!r} cannot be written, because there is no folder "
            f"{str(target.parent)!r}."
        )
    remove_leftovers(target)
    try:
        with replacing(target) as file:
            yield file
    except OSError as error:
        reason = REASONS.get(error.errno or 0, error.strerror or str(error))
        left = "the old file is as it was" if target.exists() else "nothing was left"
        message = f"{owner}: {name!r} cannot be written: {reason}; {left}."
        raise type(error)(error.errno, message) from error


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` once all of it is on the disk.

    It is written under another name in the same folder. Whatever goes wrong, up to a
    kill in mid-write, `path` stays as it was; only a kill leaves the other name behind
    (`remove_leftovers`).
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with open(temporary, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def checksum(file: BinaryIO, size: int) -> Any:
    """SHA-256 of the first bytes of a file, as an object of `hashlib`."""
    found = hashlib.sha256()
    file.seek(0)
    while size > 0 and (part := file.read(min(READ_BYTES, size))):
        found.update(part)
        size -= len(part)
    return found


def remove_leftovers(path: Path) -> None:
    """Delete what processes that are gone have left of files beside `path`."""
    for left in path.parent.glob(f".{path.name}.*.*"):
        owner = left.name.split(".")[-2]
        if owner.isdecimal() and not _is_alive(int(owner)):
            left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
