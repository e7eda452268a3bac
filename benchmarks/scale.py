"""Rows a second and memory as rows grow: one process, Dask workers, click logs.

Every run has a process of its own. Rows are made on the fly, 40 normal features each,
and go through 1024 random features into ridge (float64 sums).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from .timing import print_table

SIZES = 10**5, 10**6, 10**7
QUICK_SIZES = 10**4, 10**5

CLICKS = 10**6

CLUSTERS = 2, 16, 128
PARTITION = 10**6
LOGISTIC_PASSES = 15
"""Clusters, partitions and passes that costs are carried on to."""


def run(quick: bool = False) -> None:
    """Print all tables."""
    sizes = QUICK_SIZES if quick else SIZES
    _one_process(sizes)
    microseconds = _with_dask(sizes[:1] if quick else sizes)
    _clicks(10**5 if quick else CLICKS)
    _carried_on(microseconds)


def _one_process(sizes: tuple[int, ...]) -> None:
    rows, before = [], None
    for n in sizes:
        found = worker("one", n)
        seconds = found["seconds"]
        ratio = "" if before is None else f"{seconds / before:.2f} ×"
        rows.append([f"{n:,}", *_figures(n, found), ratio, f"{found['r2']:.3f}"])
        before = seconds
    header = ["rows", "seconds", "rows/s", "peak memory", "time, last to this", "R²"]
    print_table("Streamed into ridge in one process, all cores", header, rows)


def _with_dask(sizes: tuple[int, ...]) -> float:
    """Microseconds of a worker that a row has taken in the last run."""
    rows, each = [], 0.0
    for n in sizes:
        alone = None
        for n_workers in (1, 2):
            found = worker("dask", n, n_workers)
            alone = alone or found["seconds"]
            memory = f"{found['worker_bytes'] / 2**30:.2f} GiB"
            cells = [f"{found['seconds']:.1f}", f"{n / found['seconds']:,.0f}", memory]
            ratio = f"{alone / found['seconds']:.2f} ×"
            each = 1e6 * n_workers * found["seconds"] / n
            rows.append([f"{n:,}, {n_workers} workers", *cells, ratio])
    header = ["rows", "seconds", "rows/s", "most of a worker", "beside one worker"]
    print_table("The same on Dask, one thread a worker", header, rows)
    return each


def _clicks(n: int) -> None:
    kinds: list[tuple[str, Any, int]] = [(f"{n:,} generated", "clicks", n)]
    rows = []
    if "BOCHNER_DATA" in os.environ:
        kinds.append(("7,200 real", "real_clicks", 7200))
    for name, kind, size in kinds:
        found = worker(kind, *([size] if kind == "clicks" else []))
        accuracy = f"{100 * found['accuracy']:.2f} %", f"{100 * found['base']:.2f} %"
        rows.append([name, *_figures(size, found), *accuracy, f"{found['auc']:.3f}"])
    header = ["clicks", "seconds", "rows/s", "peak memory", "accuracy", "base", "AUC"]
    title = "2²⁰ hashed columns → 250 sparse projections → GIGA → logistic"
    print_table(title, header, rows)


def _carried_on(microseconds: float) -> None:
    """What the costs of a row on one thread come to for more rows than were run.

    Divided by the share of their time that workers computed, where a row of ridge has
    taken so many microseconds of a worker.
    """
    found = worker("costs", threads=1)
    rows = [[name, f"{found[name]:.2f}"] for name in found if ", " in name]
    print_table("Microseconds a row on one thread", ["stage", "µs"], rows)
    ridge = found["dense, features"] + found["dense, sums"]
    share = ridge / microseconds
    making = found["clicks, projection"] + found["clicks, features"]
    logistic = making + LOGISTIC_PASSES * (making + found["clicks, a pass"])
    jobs = [
        ("10⁹ × 40 → 1024, ridge", 1e9, ridge, 8 * 1024**2),
        (
            "51.9 M × 10⁶ → 250 → 500, ridge",
            51.9e6,
            making + found["clicks, sums"],
            2e6,
        ),
        (
            "51.9 M × 10⁶ → 250 → 500, logistic",
            51.9e6,
            logistic,
            4000 * LOGISTIC_PASSES,
        ),
    ]
    rows = []
    for name, n, cost, statistics in jobs:
        sent = n / PARTITION * statistics
        times = [_duration(1e-6 * n * cost / w / share) for w in CLUSTERS]
        rows.append([name, *times, f"{sent / 2**20:,.0f} MiB"])
    header = ["extrapolated", *(f"{w} workers" for w in CLUSTERS), "over the network"]
    title = (
        f"Partitions of {PARTITION:,} rows, workers computing {share:.0%} of the time"
    )
    print_table(title, header, rows)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _figures(n: int, found: dict[str, float]) -> list[str]:
    memory = f"{found['bytes'] / 2**30:.2f} GiB"
    return [f"{found['seconds']:.1f}", f"{n / found['seconds']:,.0f}", memory]


def worker(kind: str, *numbers: int, threads: int | None = None) -> dict[str, float]:
    """One run in a process of its own."""
    limits = {} if threads is None else {"OMP_NUM_THREADS": str(threads)}
    command = [
        sys.executable,
        "-m",
        "benchmarks.scale_worker",
        kind,
        *map(str, numbers),
    ]
    environment = {**os.environ, **limits}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])
