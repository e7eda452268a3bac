"""Timing on a noisy machine: interleaved runs, the minimum of several."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from .peers import Peer

PAUSE = 0.05
"""Seconds between runs: BLAS and OpenMP workers spin on after a call."""


def interleaved(
    candidates: Mapping[str, Callable[[], Any]], repeats: int = 7
) -> dict[str, float]:
    """Best time of each candidate, in seconds; every repeat runs them all in turn.

    Each turn runs the candidate twice and times the second run: the first wakes the
    cores after the pause, and compiles where that is still to be done.
    """
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(repeats):
        for name, run in candidates.items():
            time.sleep(PAUSE)
            run()
            start = time.perf_counter()
            result = run()
            seconds = time.perf_counter() - start
            # a peer in another process reports its own clock
            best[name] = min(best[name], result if isinstance(run, Peer) else seconds)
    return best


def print_table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """A plain table with right-aligned numbers, readable in any terminal or log."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print(f"\n{title}")
    for line in (header, ["-" * width for width in widths], *rows):
        cells = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells), flush=True)
