"""Ctrl-C while the command line starts: a line instead of a traceback."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

INTERRUPTED = 130
"""Exit code of a command that the user has interrupted."""


@contextlib.contextmanager
def quiet_interrupt(is_program: bool) -> Iterator[None]:
    """Imports that an interrupt ends with a line, where they begin our own program.

    Anywhere else an interrupt during `import bochner` is the caller's to handle.
    """
    try:
        yield
    except KeyboardInterrupt:
        if not is_program:
            raise
        sys.stderr.write("Interrupted. Nothing was written.\n")
        raise SystemExit(INTERRUPTED) from None


def runs_command_line() -> bool:
    """Whether this process was started as `bochner` or `python -m bochner`."""
    program = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""
    if program == "-m":  # so it is called until the package is imported
        return "bochner" in sys.orig_argv
    return program in ("bochner", "bochner.exe")
