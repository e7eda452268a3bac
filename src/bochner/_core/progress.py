"""Progress of long work: lines on standard error, where `verbose` asks for them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

Report = Callable[[str], None]

PACE_SECONDS = 5.0
"""Seconds between two lines about the same pass."""


def silent(line: str) -> None:
    """Say nothing."""


def reporter(owner: Any) -> Report:
    """A function of lines, silent unless `owner.verbose`."""
    name = type(owner).__name__
    if not isinstance(owner.verbose, Integral | np.bool_):
        raise TypeError(
            f"{name}: verbose must be a whole number, 0 for silence; got "
            f"{owner.verbose!r}."
        )
    if not owner.verbose:
        return silent
    return lambda line: print(f"[{name}] {line}", file=sys.stderr, flush=True)


class Pace:
    """Rows done, rows a second and the time left, told every few seconds.

    Parameters
    ----------
    report : Report
    total : int or None
        Rows there are, about; None where nobody knows.
    done : int
        Rows that were done before this began.
    clock : callable
        Seconds.
    """

    def __init__(
        self,
        report: Report,
        total: int | None,
        done: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._report, self._total, self._clock = report, total, clock
        self._before = self._done = done
        self._start = self._told = clock()

    def add(self, n_rows: int) -> None:
        """So many rows more."""
        self._done += n_rows
        if self._clock() - self._told >= PACE_SECONDS:
            self._tell()

    def close(self, n_rows: int | None = None) -> None:
        """The last line: what it came to, or so many rows."""
        self._done = self._done if n_rows is None else n_rows
        seconds = max(self._clock() - self._start, 1e-9)
        rate = (self._done - self._before) / seconds
        done = f"{self._done:,} rows in {clock_time(seconds)}"
        self._report(f"{done}, {rate:,.0f} a second")

    def _tell(self) -> None:
        self._told = self._clock()
        seconds = max(self._told - self._start, 1e-9)
        rate = (self._done - self._before) / seconds
        line = f"{self._done:,} rows, {rate:,.0f} a second"
        if self._total is not None and rate > 0:
            left = max(self._total - self._done, 0) / rate
            line += f", about {clock_time(left)} left"
        self._report(line)


def clock_time(seconds: float) -> str:
    """Minutes and seconds, and hours where there are any."""
    minutes, s = divmod(round(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}:{m:02}:{s:02}" if hours else f"{m}:{s:02}"
