"""The decorator of compiled loops: Numba's, with a cache that follows all sources.

Numba keeps machine code of a function as long as the file that the function stands in
is unchanged. Code of functions that it calls is part of that, and they may stand in
other files. So here a change of any file with compiled code outdates the machine code
of all. Numba overwrites outdated files, so they do not pile up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

MARKS = b"numba", b"_compiled import"
"""What only files with compiled code, or with parts of it, contain."""


def digest_of_sources(folder: Path) -> str:
    """A hash of all files with compiled code below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("_*.py")):
        content = path.read_bytes()
        if any(mark in content for mark in MARKS):
            digest.update(f"{path.relative_to(folder)} {len(content)} ".encode())
            digest.update(content)
    return digest.hexdigest()


SOURCES = digest_of_sources(Path(__file__).parents[1])


def compiled(**options: Any) -> Callable[[Any], Any]:
    """`numba.njit` without the interpreter's lock, cached for these very sources."""

    def decorate(function: Any) -> Any:
        made = njit(nogil=True, cache=True, **options)(function)
        # Numba compares this stamp with that of a file before it reads machine code
        index = getattr(getattr(made, "_cache", None), "_cache_file", None)
        if index is not None:  # as it is with NUMBA_DISABLE_JIT
            index._source_stamp = index._source_stamp, SOURCES
        return made

    return decorate
