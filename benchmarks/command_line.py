"""`bochner fit`, `evaluate` and `predict` on a CSV file larger than their memory.

A table of numbers, text and dates with gaps, 2 GiB, is written to a temporary folder;
each command runs in a process of its own, whose peak memory is its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from .timing import print_table

SIZE, QUICK_SIZE = 2 << 30, 32 << 20
BLOCK = 50_000
NUMBERS = 14


def run(quick: bool = False) -> None:
    """Seconds, peak memory and the score."""
    with tempfile.TemporaryDirectory() as folder:
        data, model, scores = (
            os.path.join(folder, name) for name in ("t.csv", "m.bochner", "s.csv")
        )
        n = _write(Path(data), QUICK_SIZE if quick else SIZE)
        commands = {
            "fit": ["fit", data, "--target", "label", "--out", model],
            "evaluate": ["evaluate", model, data, "--target", "label"],
            "predict": ["predict", model, data, "--out", scores],
        }
        rows = [[name, *_measured(words)] for name, words in commands.items()]
        size = os.path.getsize(data) / (1 << 30)
    print_table(
        f"a CSV file of {n:,} rows, {size:.2f} GiB: numbers, text and dates",
        ["command", "seconds", "peak, GiB (bar 1)", "says"],
        rows,
    )


def _write(path: Path, size: int) -> int:
    """Blocks of rows until the file is as large; how many rows it has."""
    n = 0
    with path.open("w") as file:
        while file.tell() < size:
            _block(n // BLOCK).to_csv(file, index=False, header=n == 0)
            n += BLOCK
    return n


def _block(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(BLOCK, NUMBERS))
    city = rng.choice(["Ulm", "Köln", "Bonn", "Jena"], BLOCK)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(
        rng.integers(0, 1000, BLOCK), "D"
    )
    label = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + (city == "Ulm") > 0.2
    X[rng.random(X.shape) < 0.01] = np.nan
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(NUMBERS)])
    return frame.assign(city=city, day=days, label=np.where(label, "yes", "no"))


def _measured(words: list[str]) -> list[str]:
    """Seconds, GiB at the peak, and the first figure that is printed."""
    start = time.perf_counter()
    done = subprocess.Popen(
        [sys.executable, "-m", "bochner", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert done.stdout is not None
    said = [line.strip() for line in done.stdout if "accuracy" in line]
    _, status, used = os.wait4(done.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise RuntimeError(f"bochner {words[0]} failed")
    peak = used.ru_maxrss / (1 << 20)
    return [f"{seconds:.0f}", f"{peak:.2f}", " ".join(said[:1])]
