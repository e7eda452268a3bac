"""Errors of what reads files, in words that name the file."""

from __future__ import annotations

import contextlib
import errno
import zlib
from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile

DAMAGED = (EOFError, zlib.error, BadZipFile)
"""What is said of archives that are none, or whose end is missing."""

OURS = "blocks: "
"""How errors begin that are ours."""


@contextlib.contextmanager
def named(path: Path, kind: str) -> Iterator[None]:
    """What goes wrong with a file is a ValueError that names it, and its format.

    Errors of the system and of memory stay what they are.
    """
    try:
        yield
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        words = str(error)
        if words.startswith(OURS):
            if isinstance(error, OSError) or path.name in words:
                raise
            words = words.removeprefix(OURS)
            raise type(error)(f"{OURS}{path.name}: {words}") from error
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            if error.filename is not None:
                raise
            raise OSError(error.errno, error.strerror, str(path)) from error
        # (a place before the beginning, EINVAL, is one that a damaged file has named)
        # what is said of archives tells more than what is said of numbers
        detail = f" ({words})" if isinstance(error, (*DAMAGED, OSError)) else ""
        raise ValueError(
            f"{OURS}{path.name} cannot be read as {kind}{detail}; it is of another "
            "format, or damaged: write it again."
        ) from error
