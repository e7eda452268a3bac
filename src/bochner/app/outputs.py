"""['cli.outputs']"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .._core.atomic_files import check_writable
from .opening import files_named

STDOUT = 1
"""Its file descriptor."""


def check_output(command: str, path: Path, *inputs: Any) -> None:
    """Refuse what cannot be written, and what would replace an input of the command.

    Links and other spellings of a path are the same file. `inputs`: files, or what else
    names data; None for one that is not given.
    """
    path = path.expanduser()
    for file in files_named(*inputs):
        if _are_same(path, file):
            other = "" if str(file) == str(path) else f" (as {str(file)!r})"
            raise ValueError(
                f"{command}: {str(path)!r} is a file that the command reads{other}, "
                "and writing would replace it; name another file to write."
            )
    check_writable(command, path)


def _are_same(path: Path, other: Path) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:  # one of the two is not there
        return os.path.realpath(path) == os.path.realpath(other)


def is_standard_output(path: Path) -> bool:
    """Whether a path means standard output: -, or /dev/stdout."""
    if str(path) == "-":
        return True
    try:
        return os.path.samestat(os.stat(path), os.fstat(STDOUT))
    except OSError:  # a new file, or standard output is closed
        return False
