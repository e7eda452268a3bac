"""Memory budgets: the memory that a fit may use in addition to its data."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from numbers import Real
from pathlib import Path, PurePosixPath
from typing import Any

DEFAULT = 2 << 30
"""Default budget in bytes; a quarter of the machine's memory if that is less."""

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
"""Bytes of a unit by its first letter; "GB" and "GiB" both mean 2³⁰ bytes."""


def budget(owner: str, memory: Any) -> int:
    """The budget in bytes, from the parameter `memory` of an estimator.

    `memory` is None for the default budget, a number of bytes, or a string such as
    "500 MiB" or "2GB".
    """
    if memory is None:
        return min(DEFAULT, machine_bytes() // 4)
    if isinstance(memory, str):
        number = r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?)(?:i?B)?\s*"
        match = re.fullmatch(number, memory, re.I)
        if match:
            memory = float(match[1]) * UNITS[match[2].upper()]
    if isinstance(memory, str | bool) or not isinstance(memory, Real):
        raise ValueError(
            f"{owner}: memory must be None, a number of bytes or a string such as "
            f"'2 GiB'; got {memory!r}."
        )
    n_bytes = float(memory)
    if not 0 < n_bytes < float("inf"):
        raise ValueError(
            f"{owner}: memory must be positive and finite; got {memory!r}."
        )
    return int(n_bytes)


def readable(n_bytes: float) -> str:
    """A number of bytes as text, such as "1.5 GiB"."""
    for unit in ("bytes", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} GiB"


def machine_bytes() -> int:
    """Memory that this process may use: that of the machine or of its container."""
    return min([_physical_bytes(), *_group_limits(Path("/"))])


def _physical_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return 8 << 30


def _group_limits(root: Path) -> Iterator[int]:
    """Memory limits of the control groups of this process, below a root folder.

    Containers, systemd and batch systems limit memory by control groups. The limit of a
    group also holds for its children, so every folder up to the mount point is read. In
    a container, the path in /proc may be that of the host; then the limit is at the
    mount point.
    """
    mount = root / "sys/fs/cgroup"
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # not Linux, or /proc is not mounted
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2, which has one tree for all controllers
            yield from _limits_upwards(mount, path, "memory.max")
        elif "memory" in controllers.split(","):
            folder = mount / "memory"
            yield from _limits_upwards(folder, path, "memory.limit_in_bytes")


def _limits_upwards(mount: Path, path: str, name: str) -> Iterator[int]:
    group = PurePosixPath(path.lstrip("/"))
    for folder in (group, *group.parents):
        try:
            text = (mount / folder / name).read_text().strip()
        except OSError:  # groups outside the container and the root group have no file
            continue
        if text.isdecimal():  # version 2 writes "max" if there is no limit
            yield int(text)
