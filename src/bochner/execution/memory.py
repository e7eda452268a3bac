"""Memory budgets: how much a fit may take beside the data it is given."""

from __future__ import annotations

import os
import re
from numbers import Real
from typing import Any

DEFAULT = 2 << 30
"""Budget where none is given, at most a quarter of the machine's memory."""

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def budget(owner: str, memory: Any) -> int:
    """Bytes from None, a number of bytes, or a text such as "500 MiB" or "2GB"."""
    if memory is None:
        return min(DEFAULT, machine_bytes() // 4)
    if isinstance(memory, str):
        number = r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?)(?:i?B)?\s*"
        found = re.fullmatch(number, memory, re.I)
        if found:
            memory = float(found[1]) * UNITS[found[2].upper()]
    if isinstance(memory, str | bool) or not isinstance(memory, Real):
        raise ValueError(
            f"{owner}: memory must be None, a number of bytes or a text such as "
            f"'2 GiB'; got {memory!r}."
        )
    n_bytes = float(memory)
    if not 0 < n_bytes < float("inf"):
        raise ValueError(
            f"{owner}: memory must be positive, and finite; got {memory!r}."
        )
    return int(n_bytes)


def readable(n_bytes: float) -> str:
    """A number of bytes as people say it."""
    for unit in ("bytes", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} GiB"


def machine_bytes() -> int:
    """Memory of this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return 8 << 30
