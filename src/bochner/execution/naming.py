"""Errors of what reads files, in words that name the file."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile

DAMAGED = (EOFError, zlib.error, BadZipFile)
"""What is said of archives that are none, or whose end is missing."""

OURS = "blocks: "


@contextlib.contextmanager
def named(path: Path, format: str) -> Iterator[None]:
    """Whatever goes wrong with a file is a ValueError that names it.

    Errors of the system, which name it themselves, stay as they are.
    """
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is not None:
            raise
        raise _unreadable(path, format, f" ({error})") from error
    except DAMAGED as error:
        raise _unreadable(path, format, f" ({error})") from error
    except Exception as error:
        words = str(error)
        if not words.startswith(OURS):
            raise _unreadable(path, format, "") from error
        if path.name in words:
            raise
        words = words.removeprefix(OURS)
        raise type(error)(f"{OURS}{path.name}: {words}") from error


def _unreadable(path: Path, format: str, detail: str) -> ValueError:
    return ValueError(
        f"{OURS}{path.name} cannot be read as {format}{detail}; it is of another "
        "format, or damaged: write it again."
    )
