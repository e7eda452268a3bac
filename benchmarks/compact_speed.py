"""How fast maps are learned: beside PyTorch, Pegasos and, of circulants, matrices.

One pass over MNIST at M = 1024 in turn with the same model in PyTorch (in its own
environment); accuracy of the default solver and of the paper's at equal time; time and
memory of a step of circulant and dense maps of 16,384 features. Needs BOCHNER_DATA.
"""

from __future__ import annotations

import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import clone

from bochner import CompactMap, datasets
from bochner._core.parallel import one_blas_thread
from bochner._core.random import Stream
from bochner.features.compact.initial_model import Recipe
from bochner.features.compact.optimizers import Adam
from bochner.features.compact.targets import Classes
from bochner.features.compact.training import TrainingRows
from bochner.kernels.shift_invariant import Gaussian
from bochner.nonlinearities.cosine import Cos
from bochner.projections.circulant import Circulant
from bochner.projections.dense import Dense

from .compact import load
from .peers import worker
from .timing import print_table

M, BATCH, RATE, PASSES = 1024, 500, 0.1, 5
EQUAL_TIME = {"banana": 32, "usps": 32, "letter": 32, "magic04": 32, "ijcnn1": 32}
"""Data sets and M of the comparison of solvers; MNIST besides, unless quick."""
PENALTIES = 1.0, 0.3, 0.1, 0.03, 0.01, 0.001
"""λ that Pegasos may choose from, each with the whole time."""
SEEDS = 3
WIDE, STEPS = 16_384, 3


def run(quick: bool = False) -> None:
    """All tables."""
    beside_torch(1 if quick else PASSES)
    equal_time(quick)
    wide(4096 if quick else WIDE)


def beside_torch(passes: int = PASSES) -> None:
    """Seconds of each pass over MNIST, ours and PyTorch's in turn."""
    if "mnist" not in datasets.available():
        print("mnist is not in BOCHNER_DATA: left out")
        return
    data, lines = load("mnist"), []
    step = _passes(data)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, X=data.X_train, y=data.y_train)
        peers = worker("torch", "torch_worker", [path, M, BATCH, RATE])
        with peers as peer:
            for number in range(1, passes + 1):
                ours, theirs = next(step), peer() if peer else np.nan
                row = f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.2f}"
                lines.append([f"{number}", *row])
    print_table(
        f"Seconds of a pass over MNIST, M = {M}, batches of {BATCH}, float32",
        ["pass", "bochner", "PyTorch 2.13", "times faster"],
        lines,
    )


def _passes(data: Any) -> Any:
    """Seconds of one pass after the other, compiled before the first."""
    targets = Classes.of(data.y_train)
    rows = TrainingRows.all(data.X_train, targets.encode(data.y_train))
    solver = _solver("dense", data.X_train, targets, Gaussian(data.gamma), M)
    for X, y in rows.sample(2 * BATCH, Stream(0)).batches(BATCH, None):
        solver.step(X, y, 1.0)
    solver = _solver("dense", data.X_train, targets, Gaussian(data.gamma), M)
    for number in range(1000):
        with one_blas_thread():
            start = time.perf_counter()
            for X, y in rows.batches(BATCH, Stream(number)):
                solver.step(X, y, 1.0)
            yield time.perf_counter() - start


def _solver(structure: str, X: Any, targets: Any, kernel: Any, size: int) -> Adam:
    projection = {"dense": Dense, "circulant": Circulant}[structure]()
    recipe = Recipe(structure, projection, Cos(), size, True, "hinge", 0.0)
    start = recipe.draw(X, kernel, Stream(0))
    return Adam(recipe.model(start, 1.0, kernel, targets), RATE)


def equal_time(quick: bool = False, sets: dict[str, int] | None = None) -> None:
    """Test accuracy of Adam as it comes, and of the best Pegasos in the same time."""
    sets = sets or (EQUAL_TIME if quick else {**EQUAL_TIME, "mnist": 32})
    lines = []
    for name, size in sets.items():
        if name not in datasets.available():
            continue
        data = load(name)
        pairs = [_at_equal_time(data, size, s) for s in range(1 if quick else SEEDS)]
        adam, pegasos, seconds = np.mean(pairs, axis=0)
        lines.append(
            [f"{name}, {size}", f"{adam:.2f}", f"{pegasos:.2f}", f"{seconds:.1f}"]
        )
    print_table(
        f"Accuracy % in equal time, λ of Pegasos the best of {len(PENALTIES)}",
        ["data, M", "Adam", "Pegasos", "seconds"],
        lines,
    )


def _at_equal_time(data: Any, size: int, seed: int) -> tuple[float, float, float]:
    adam = CompactMap(size, random_state=seed).fit(data.X_train, data.y_train)
    seconds = float(adam.history_["seconds"][-1])
    # the same start; the time of the search is not counted against Pegasos
    base = CompactMap(
        size,
        solver="pegasos",
        gamma=adam.kernel_.gamma,
        batch_size=min(BATCH, len(data.X_train) // 2),
        random_state=seed,
    )
    found = [
        _pegasos(clone(base).set_params(alpha=p), data, seconds) for p in PENALTIES
    ]
    best = min(found, key=lambda m: m.history_["held_out_error"].min())
    return _accuracy(adam, data), _accuracy(best, data), seconds


def _pegasos(features: CompactMap, data: Any, seconds: float) -> CompactMap:
    """As many passes as fit the time, by the time of two."""
    features.set_params(max_iter=2, n_iter_no_change=10**6)
    features.fit(data.X_train, data.y_train)
    one = features.history_["seconds"][-1] / features.n_iter_
    features.set_params(max_iter=max(1, round(seconds / one)))
    return features.fit(data.X_train, data.y_train)


def _accuracy(features: CompactMap, data: Any) -> float:
    return 100 * float((features.predict(data.X_test) == data.y_test).mean())


WIDE_STEP = """
import resource, sys, time
from benchmarks.compact_speed import wide_steps
seconds = wide_steps(sys.argv[1], int(sys.argv[2]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
print(seconds, peak)
"""


def wide(size: int = WIDE) -> None:
    """A step of a map of as many features as there are inputs, each in a process."""
    figures = {}
    for structure in ("circulant", "dense", "nothing"):
        command = [sys.executable, "-c", WIDE_STEP, structure, str(size)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        figures[structure] = [float(number) for number in done.stdout.split()]
    without = figures["nothing"][1]
    lines = [
        [name, f"{seconds:.2f}", f"{peak - without:.2f}"]
        for name, (seconds, peak) in figures.items()
        if name != "nothing"
    ]
    print_table(
        f"A step of {BATCH} rows, d = M = {size}, float32 "
        f"({figures['dense'][0] / figures['circulant'][0]:.1f} times faster)",
        ["map", "seconds", "GiB beside the data"],
        lines,
    )


def wide_steps(structure: str, size: int) -> float:
    """Best time of a step; "nothing" makes the data and no map."""
    X = _rows(size)
    y = (X[:, 0] > 0).astype(int)
    if structure == "nothing":
        return 0.0
    solver = _solver(structure, X, Classes.of(y), Gaussian(0.5 / size), size)
    best = np.inf
    for _ in range(STEPS):
        start = time.perf_counter()
        with one_blas_thread():
            solver.step(X, y, 1.0)
        best = min(best, time.perf_counter() - start)
    return float(best)


@cache
def _rows(size: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((BATCH, size), dtype=np.float32)
