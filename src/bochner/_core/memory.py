"""Memory budgets: how much a fit may take in addition to the data it is given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from numbers import Real
from pathlib import Path, PurePosixPath
from typing import Any

DEFAULT = 2 << 30
"""Budget where none is given, at most a quarter of the memory there is."""

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
    """Memory that this process may use: the machine's, or less in a container."""
    return min([_physical_bytes(), *_group_limits(Path("/"))])


def _physical_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return 8 << 30


def _group_limits(root: Path) -> Iterator[int]:
    """Memory limits of the control groups that this process is in, below a root folder.

    Containers, systemd and batch systems limit memory by control groups. A limit of a
    parent holds for its children, so every folder up to the mount point is read. In a
    container the path in /proc may be the host's; then the mount point has the limit.
    """
    mount = root / "sys/fs/cgroup"
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # no Linux, or no /proc
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2, which has one tree for all
            yield from _limits_upwards(mount, path, "memory.max")
        elif "memory" in controllers.split(","):
            folder = mount / "memory"
            yield from _limits_upwards(folder, path, "memory.limit_in_bytes")


def _limits_upwards(mount: Path, path: str, name: str) -> Iterator[int]:
    group = PurePosixPath(path.lstrip("/"))
    for folder in (group, *group.parents):
        try:
            text = (mount / folder / name).read_text().strip()
        except OSError:  # a group outside the container, or the root, has no such file
            continue
        if text.isdecimal():  # version 2 has "max" where there is no limit
            yield int(text)
