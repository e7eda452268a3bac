"""Random maxout features on MNIST and other data, beyond the paper's own table.

Structured projections beside dense ones (error and time), what centring buys, and a
shared pool of more units than fit into memory. The paper's table is made by `bochner
reproduce maxout`. Needs BOCHNER_DATA.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from bochner import KernelClassifier, datasets, methods
from papers.maxout import held_out_error

from .timing import interleaved, print_table

SEEDS = 5
STRUCTURES = ("dense", "sorf", "fastfood", "circulant", "block_diagonal")
STRUCTURED = 5000, 4
"""M and q of the comparison of projections."""
CENTRED = {"mnist": 1000, "letter": 1000}
"""Data sets and M of the comparison of centred features."""
POOL = """
import resource, time
from bochner import KernelClassifier, datasets, methods
data = datasets.load("mnist")
features = methods.maxout(60_000, pool_size=4, pool=15_000, random_state=0)
start = time.perf_counter()
learner = KernelClassifier(
    features, memory="4.5 GiB", max_iter=3, verbose=1, random_state=0
)
learner.fit(data.X_train, data.y_train)
error = 100 - 100 * learner.score(data.X_test, data.y_test)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
print(f"60,000 units of a pool of 15,000: error {error:.2f} %, {seconds:.0f} s, "
      f"peak {peak:.2f} GiB", flush=True)
"""


def run(quick: bool = False) -> None:
    """All tables."""
    seeds = 1 if quick else SEEDS
    if "mnist" not in datasets.available():
        print("mnist is not in BOCHNER_DATA: left out")
        return
    data = datasets.load("mnist")
    _structures(data, STRUCTURED if not quick else (1000, 4), seeds)
    _centring(seeds)
    if not quick:
        subprocess.run([sys.executable, "-c", POOL], check=True)


def _structures(data: Any, size: tuple[int, int], seeds: int) -> None:
    """Every projection under the same units: error, and time to make the features."""
    M, q = size
    make = partial(methods.maxout, M, pool_size=q)
    rows = data.X_train[:10_000]
    maps = {p: make(projection=p, random_state=0).fit(rows) for p in STRUCTURES}
    best = interleaved({p: partial(f.transform, rows) for p, f in maps.items()}, 3)
    lines = []
    for p in STRUCTURES:
        errors = _errors_of(partial(make, projection=p), data, seeds)
        times = [f"{best[p]:.3f}", f"{best['dense'] / best[p]:.1f}"]
        lines.append([p, _mean(errors), *times])
    print_table(
        f"MNIST, M = {M}, q = {q}, {seeds} seeds; features of {len(rows)} rows",
        ["projection", "test error %", "seconds", "times faster than dense"],
        lines,
    )


def _centring(seeds: int) -> None:
    """What subtracting μ_q‖x‖ buys: error, and how lopsided the Gram matrix is."""
    lines = []
    for name, M in CENTRED.items():
        if name not in datasets.available():
            continue
        data = datasets.load(name)
        data = _standardised(data) if name == "letter" else data
        for q, center in product((2, 4, 16), (False, True)):
            make = partial(methods.maxout, M, pool_size=q, center=center)
            errors = _errors_of(make, data, seeds)
            label = f"{name}, {q}, {'centred' if center else 'plain'}"
            lines.append([label, _mean(errors), *_conditioning(make, data)])
    print_table(
        f"Centring, M = {dict(CENTRED)}, {seeds} seeds; hinge on 10,000 rows, one seed",
        ["data, q", "least squares error %", "hinge error %", "steps", "first share"],
        lines,
    )


def _conditioning(make: Any, data: Any) -> list[str]:
    """Error and Newton steps of the hinge; the largest eigenvalue's share of all."""
    learner = KernelClassifier(make(random_state=0), alpha=1.0)
    learner.fit(data.X_train[:10_000], data.y_train[:10_000])
    hinge = 100 - 100 * learner.score(data.X_test, data.y_test)
    F = learner.features_.transform(data.X_train[:2000]).astype(np.float64)
    spectrum = np.linalg.eigvalsh(F @ F.T)
    first = spectrum[-1] / spectrum.sum()
    return [f"{hinge:.2f}", f"{learner.n_iter_}", f"{first:.3f}"]


def _errors_of(make: Any, data: Any, seeds: int) -> list[float]:
    return [held_out_error(make(random_state=seed), data) for seed in range(seeds)]


def _mean(errors: list[float]) -> str:
    spread = np.std(errors, ddof=1) if len(errors) > 1 else 0.0
    return f"{np.mean(errors):.2f} ± {spread:.2f}"


def _standardised(data: Any) -> Any:
    mean, deviation = data.X_train.mean(axis=0), data.X_train.std(axis=0)
    for name in ("X_train", "X_test"):
        data[name] = ((data[name] - mean) / deviation).astype(np.float32)
    return data
