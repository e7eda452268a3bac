"""Errors of what reads files, in words that name the file.

What is wrong with a file is a `ReadError`. It comes from our own checks, or from an
error of the library that reads the format, translated by its type. Other errors are
faults of ours, and stay what they are.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import os
import stat
import struct
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

SHOWN = 60
"""Characters of a cell, or of a name, that an error shows."""

DAMAGED = EOFError, zlib.error, BadZipFile, csv.Error, struct.error, UnicodeDecodeError
"""Errors of libraries that only the contents of a file can cause."""

REFUSED = (
    *(*DAMAGED, ValueError, TypeError, KeyError, IndexError, AttributeError),
    *(ArithmeticError, NotImplementedError, RuntimeError, SyntaxError, TokenError),
    SystemError,
)
"""Errors that NumPy, SciPy and zipfile are known to raise for files of another form.

The last by Python's tokenizer, for headers of `.npy` files that are not text."""


class ReadError(ValueError):
    """A file that does not hold what it should.

    Parameters
    ----------
    words : str
        What is wrong.
    path : Path, optional
        The file, where the words do not name it: they follow its name.
    """

    def __init__(self, words: str, path: Path | None = None) -> None:
        super().__init__(f"blocks: {words if path is None else f'{path.name}{words}'}")
        self.words, self.is_named = words, path is not None


def check_plain(path: Path) -> None:
    """Refuse what is not a file that can be read again and again."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise FileNotFoundError(
            f"blocks: {path.name} is a link that leads to no file; name the file."
        ) from None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        words = " is a link that leads in a circle; name the file itself."
        raise ReadError(words, path) from None
    if not stat.S_ISREG(mode):
        raise ReadError(
            " is a pipe, a device or a folder, and not a plain file, which can be read "
            "more than once; save what it gives to a file first.",
            path,
        )


def shown(text: Any) -> str:
    """A cell or a name in an error: a file decides how long they are."""
    words = repr(text)
    return words if len(words) <= SHOWN else f"{words[:SHOWN]}…"


def check_text(names: Iterable[Any]) -> None:
    """Refuse names of columns that no file of text could have."""
    for name in names:
        try:
            str(name).encode()
        except UnicodeEncodeError:
            raise ReadError(
                f"the name {name!r} of a column holds half a character (a surrogate); "
                "rename it."
            ) from None


def too_long(path: Path, where: str, limit: int) -> ReadError:
    """The error about a line that would take more memory than a line may."""
    return ReadError(
        f", {where} is longer than {limit:,} bytes, the most that a line may have; the "
        "file is damaged, or not of lines. Trust it with blocks(…, limit=…).",
        path,
    )


@contextlib.contextmanager
def named(path: Path, kind: str) -> Iterator[None]:
    """Inside, what is wrong with a file is a `ReadError` that names it, and its format.

    Errors of the system and of memory, and faults of ours, stay what they are.
    """
    try:
        yield
    except ReadError as error:
        if error.is_named:
            raise
        raise ReadError(f": {error.words}", path) from error
    except FileNotFoundError:
        raise
    except OSError as error:
        # a place before the beginning (EINVAL) is one that a damaged file has named
        if error.errno in (None, errno.EINVAL):
            raise _damaged(path, kind, error) from error
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    except Exception as error:
        if not isinstance(error, (*DAMAGED, *_errors_of_extras())):
            raise
        raise _damaged(path, kind, error) from error


@contextlib.contextmanager
def parsed_by_library(path: Path, kind: str) -> Iterator[None]:
    """Around a call of NumPy or SciPy alone: it fails because of the file's contents.

    Not around code of ours, whose faults would be taken for the file's.
    """
    try:
        yield
    except REFUSED as error:
        raise _damaged(path, kind, error) from error


def _damaged(path: Path, kind: str, error: Exception) -> ReadError:
    detail = " ".join(str(error).split()) or type(error).__name__
    words = f" cannot be read as {kind} ({detail}); it is of another format, or damaged"
    return ReadError(f"{words}: write it again.", path)


def _errors_of_extras() -> tuple[type[Exception], ...]:
    """Errors of modules that may be missing, and are imported where they read."""
    known = {"pyarrow": "ArrowException", "lzma": "LZMAError"}
    return tuple(
        getattr(sys.modules[m], e) for m, e in known.items() if m in sys.modules
    )
