"""How time per output grows with the number of features, and of rows."""

from __future__ import annotations

from functools import partial

import numpy as np

from bochner import methods

from .timing import interleaved, print_table

DIMENSIONS = (256, 1024, 4096, 16384, 65536)
OURS = ("sorf", "fastfood", "circulant")
OUTPUTS = 1 << 23


def run(quick: bool = False) -> None:
    """Structured maps over d at M = 2d, and over n at d = 784."""
    outputs = OUTPUTS >> 2 if quick else OUTPUTS
    times: dict[str, list[float]] = {name: [] for name in OURS}
    for d in DIMENSIONS:
        m = 2 * d
        X = np.random.default_rng(0).normal(size=(max(8, outputs // m), d))
        best = interleaved(_candidates(X.astype(np.float32), m), repeats=5)
        for name in OURS:
            times[name].append(best[name] / (len(X) * m) * 1e9)
    rows = [
        [name, *(f"{t:.2f}" for t in times[name]), f"{_growth(times[name]):.2f}"]
        for name in OURS
    ]
    header = ["map", *(f"d={d}" for d in DIMENSIONS), "growth over log d"]
    print_table("ns per output, float32, M = 2d", header, rows)
    _rows_benchmark(quick)


def _growth(times: list[float]) -> float:
    """(last/first) over (log d_last/log d_first): 1 is growth with log d."""
    logs = np.log2(DIMENSIONS)
    return times[-1] / times[0] / (logs[-1] / logs[0])


def _rows_benchmark(quick: bool) -> None:
    sizes = [1000, 2000, 4000, 8000] if quick else [2000, 4000, 8000, 16000, 32000]
    rows = []
    X = np.random.default_rng(0).normal(size=(sizes[-1], 784)).astype(np.float32)
    names = ("rff", *OURS)
    maps = {n: getattr(methods, n)(2048, gamma=1e-3, random_state=0) for n in names}
    for name, features in maps.items():
        features.fit(X)
        cells = []
        for n in sizes:
            best = interleaved({"it": partial(features.transform, X[:n])}, repeats=5)
            cells.append(f"{best['it'] / (n * 2048) * 1e9:.2f}")
        rows.append([name, *cells])
    print_table(
        "ns per output over rows, d = 784, M = 2048, float32",
        ["map", *(f"n={n}" for n in sizes)],
        rows,
    )


def _candidates(X: np.ndarray, m: int):
    maps = {
        name: getattr(methods, name)(m, gamma=0.5 / X.shape[1], random_state=0).fit(X)
        for name in OURS
    }
    return {name: partial(f.transform, X) for name, f in maps.items()}
