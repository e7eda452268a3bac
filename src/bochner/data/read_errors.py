"""Errors of what reads files, in words that name the file.

What is wrong with a file is a `ReadError`. It comes from our own checks, or from an
error of the library that reads the format, translated by its type. Other errors are
faults of ours, and stay what they are.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from zipfile import BadZipFile

DAMAGED = EOFError, zlib.error, BadZipFile, csv.Error, struct.error, UnicodeDecodeError
"""Errors of libraries that only the contents of a file can cause."""

REFUSED = (
    *(*DAMAGED, ValueError, TypeError, KeyError, IndexError, AttributeError),
    *(ArithmeticError, NotImplementedError, RuntimeError, SyntaxError, TokenError),
)
"""Errors that NumPy, SciPy and zipfile are known to raise for files of another form."""


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
        if not isinstance(error, (*DAMAGED, *_arrow_errors())):
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


def _arrow_errors() -> tuple[type[Exception], ...]:
    """Errors of pyarrow, which is imported where it reads."""
    arrow = sys.modules.get("pyarrow")
    return () if arrow is None else (arrow.ArrowException,)
