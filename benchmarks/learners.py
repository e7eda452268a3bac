"""Accuracy, time and memory of learners, ours beside scikit-learn's, in one run.

Every learner has a process of its own, one after the other, so that peak memory is its
own and no pool of a neighbour spins. Needs BOCHNER_DATA.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from bochner import datasets

from .timing import print_table

SLOW_OR_LARGE = {
    "SVC",
    "Nystroem 1000 + LinearSVC",
    "RBFSampler 1000 + LinearSVC",
    "RBFSampler 4096 + RidgeClassifier",
    "RBFSampler 4096 + SGDClassifier",
}
"""What does not end in minutes, or in memory, on half a million rows."""

CLASSIFY: dict[str, tuple[str, str, set[str]]] = {
    # data set: bandwidth of those that do not choose it, scaling, learners left out
    "mnist": ("0.02", "plain", {"SVC on 20,000 rows"}),
    "letter": ("0.03", "plain", {"SVC on 20,000 rows"}),
    "a9a": ("0.05", "plain", {"SVC on 20,000 rows"}),
    "covtype": ("0.1", "scaled", SLOW_OR_LARGE),
}
REGRESS: dict[str, tuple[str, str, set[str]]] = {
    "cpusmall": ("0.05", "scaled", set()),
    "california_houses": ("0.1", "scaled", set()),
    "elevators": ("0.05", "scaled", set()),
}
QUICK = {"letter": CLASSIFY["letter"]}, {"cpusmall": REGRESS["cpusmall"]}
STREAM = """
import resource, sys, time
import numpy as np
from bochner import KernelClassifier, KernelRegressor, blocks, methods
n, learner = int(sys.argv[1]), sys.argv[2]

def read():
    for start in range(0, n, 20_000):
        X = np.random.default_rng(start).normal(size=(20_000, 20)).astype(np.float32)
        score = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
        yield X, score > 0 if learner == "KernelClassifier" else score

features = methods.sorf(1024, gamma=0.05, random_state=0)
made = {"KernelRegressor": KernelRegressor, "KernelClassifier": KernelClassifier}
start = time.perf_counter()
made[learner](features, alpha=1.0, memory="512 MiB").fit(blocks(read))
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
print(f"{seconds:.1f} {peak:.2f}")
"""

BASE = {"classify": "SVC", "regress": "GP on 3000 rows"}


def run(quick: bool = False) -> None:
    """One table per data set."""
    from . import learner_worker

    classify, regress = QUICK if quick else (CLASSIFY, REGRESS)
    tasks = (
        ("classify", classify, learner_worker.classifiers),
        ("regress", regress, learner_worker.regressors),
    )
    for task, sets, learners in tasks:
        for name, (gamma, scaled, left_out) in sets.items():
            if name not in datasets.available():
                print(f"{name} is not in BOCHNER_DATA: left out", file=sys.stderr)
                continue
            asked = [learner for learner in learners(gamma) if learner not in left_out]
            found = {
                learner: result
                for learner in asked
                if (result := _measured(task, name, learner, gamma, scaled))
            }
            _print(task, name, found)
    _growth(quick)


def _growth(quick: bool) -> None:
    """Ten times the rows from a stream: ten times the time, the same memory."""
    rows = []
    sizes = (10_000, 100_000) if quick else (100_000, 1_000_000)
    for learner in ("KernelRegressor", "KernelClassifier"):
        for n in sizes:
            command = [sys.executable, "-c", STREAM, str(n), learner]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds, peak = done.stdout.split()
            rows.append([learner, f"{n:,}", seconds, peak])
    print_table(
        "streams of rows, 1024 SORF features, memory='512 MiB'",
        ["learner", "rows", "fit, s", "peak, GiB"],
        rows,
    )


def _measured(
    task: str, name: str, learner: str, gamma: str, scaled: str
) -> dict[str, Any] | None:
    command = [sys.executable, "-m", "benchmarks.learner_worker"]
    arguments = [task, name, learner, gamma, scaled]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:]
        print(f"{learner} on {name} failed: {reason}", file=sys.stderr)
        return None
    print(f"{name}: {learner} {done.stdout.strip()}", file=sys.stderr, flush=True)
    return json.loads(done.stdout.splitlines()[-1])


def _print(task: str, name: str, found: dict[str, dict[str, Any]]) -> None:
    base = found.get(BASE[task]) or next(iter(found.values()))
    slow = base["fit"] + base["predict"]
    rows = []
    for learner, f in found.items():
        score = (
            f"{100 * f['score']:.2f} %" if task == "classify" else f"{f['score']:.4f}"
        )
        cells = [
            learner,
            score,
            f"{f['fit']:.1f}",
            f"{f['predict']:.2f}",
            f"{slow / (f['fit'] + f['predict']):.1f}",
            f"{f['memory']:.2f}",
            f"{1e3 * f['latency']:.2f}",
        ]
        if task == "regress":
            cells.append(f"{100 * f['cover']:.0f} %" if "cover" in f else "")
        rows.append(cells)
    header = [
        "learner",
        "accuracy" if task == "classify" else "R²",
        "fit, s",
        "predict, s",
        "times faster",
        "peak, GiB",
        "one row, ms",
    ]
    if task == "regress":
        header.append("in 90 % interval")
    print_table(f"{name} (times faster than {BASE[task]}, or the first)", header, rows)
