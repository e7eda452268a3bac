"""Files that are replaced as a whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

READ_BYTES = 1 << 20

REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota is used up",
    errno.EACCES: "you may not write there",
    errno.EPERM: "you may not write there",
    errno.EROFS: "the disk is read-only",
    errno.ENAMETOOLONG: "the name is too long",
}
"""Why a file could not be written, in plain words."""


def checked_path(owner: str, path: Any) -> Path:
    """The path that a user gave to the function `owner`, `~` expanded."""
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise TypeError(
            f"{owner}: path must be the name of a file, text or a Path; got "
            f"{type(path).__name__}."
        ) from None
    if not name or "\0" in name or name.endswith(os.sep):
        raise ValueError(f"{owner}: path must name a file; got {name!r}.")
    return Path(name).expanduser()


def check_writable(owner: str, path: Any) -> None:
    """Refuse before long work what could not be written after it."""
    asked = checked_path(owner, path)
    target = _resolved(owner, asked)
    _check_target(owner, asked, target)
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(
            f"{owner}: {str(asked)!r} cannot be written: you may not write to the "
            f"folder {str(target.parent)!r}."
        )


@contextlib.contextmanager
def new_file(owner: str, path: Any) -> Iterator[BinaryIO]:
    """A file that a user asked for: `replacing`, through links, errors in plain words.

    `owner` is the function whose errors they are.
    """
    asked = checked_path(owner, path)
    name = str(asked)
    try:
        target = _resolved(owner, asked)
        _check_target(owner, asked, target)
        remove_leftovers(target)
        with replacing(target) as file:
            yield file
    except OSError as error:
        if error.errno is None:  # one of ours
            raise
        reason = REASONS.get(error.errno, error.strerror)
        kept = os.path.exists(asked)
        left = "The old file is as it was." if kept else "Nothing was left."
        message = f"{owner}: {name!r} cannot be written: {reason}. {left}"
        raise type(error)(error.errno, message) from error


def _resolved(owner: str, path: Path) -> Path:
    """Where links lead; a circle of them is an error."""
    try:
        return Path(os.path.realpath(path, strict=True))
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OSError(
            f"{owner}: {str(path)!r} cannot be written: its links lead in a circle; "
            "name another file."
        ) from error


def _check_target(owner: str, asked: Path, target: Path) -> None:
    """Refuse folders, devices, files that are write-protected, and missing folders."""
    name = str(asked)
    if target.is_dir():
        raise IsADirectoryError(f"{owner}: {name!r} is a folder; name a file.")
    # asked of the path itself: a pipe behind /dev/stdout has no name to resolve to
    if asked.exists() and not asked.is_file():
        raise OSError(
            f"{owner}: {name!r} is there already, and not a plain file; name another."
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(
            f"{owner}: {name!r} is there already, and write-protected; name another, "
            "or allow writing to it."
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{owner}: {name!r} cannot be written, because there is no folder "
            f"{str(target.parent)!r}; make it first."
        )


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` once all of it is on the disk.

    It is written under another name in the same folder, with the permissions of the
    old one. Whatever goes wrong, up to a kill in mid-write, `path` stays as it was;
    only a kill leaves the other name behind (`remove_leftovers`).
    """
    owner = f"{os.getpid()}-{secrets.token_hex(4)}"
    temporary = path.with_name(f"{_prefix(path)}{owner}.tmp")
    try:
        with open(temporary, "x+b") as file:
            with contextlib.suppress(OSError):
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
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
    """Delete what processes of this machine that are gone have left of `path`."""
    pattern = re.compile(re.escape(_prefix(path)) + r"(\d+)-[0-9a-f]{8}\.tmp")
    for left in os.listdir(path.parent):
        found = pattern.fullmatch(left)
        if found and not _is_alive(int(found[1])):
            path.with_name(left).unlink(missing_ok=True)


def _prefix(path: Path) -> str:
    """What names of temporary files of `path`, written from here, begin with.

    Processes have numbers of their own on every machine, and in every container.
    """
    here = platform.node()
    with contextlib.suppress(OSError):
        here += os.readlink("/proc/self/ns/pid")
    words = os.fsencode(path.name), here.encode()
    marks = [hashlib.sha256(word).hexdigest()[:8] for word in words]
    return f".bochner-{'-'.join(marks)}-"


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
