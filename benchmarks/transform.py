"""Speed of `transform`: ns per output element, and ratios within one run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from bochner import methods

from .timing import interleaved, print_table

N_COMPONENTS = 4096
DIMENSIONS = (16, 54, 784)
OUTPUTS = 1 << 25


def run(quick: bool = False) -> None:
    """Print one table per floating type and one of latencies."""
    outputs = OUTPUTS >> 3 if quick else OUTPUTS
    for dtype in (np.float32, np.float64):
        rows = [row for d in DIMENSIONS for row in _compare(d, dtype, outputs)]
        print_table(
            f"transform, {np.dtype(dtype).name}, M = {N_COMPONENTS}, "
            f"{outputs // N_COMPONENTS} rows (ours is faster where a ratio is above 1)",
            ["map", "d", "ns/output", "of bare product", "RBFSampler/ours"],
            rows,
        )
    _latency()


def _compare(d: int, dtype: Any, outputs: int) -> list[list[str]]:
    X = np.random.default_rng(0).normal(size=(outputs // N_COMPONENTS, d)).astype(dtype)
    pairs = methods.rff(N_COMPONENTS, gamma=0.5 / d, random_state=0).fit(X)
    phases = methods.rff(
        N_COMPONENTS, gamma=0.5 / d, nonlinearity="cos", random_state=0
    ).fit(X)
    peer = RBFSampler(n_components=N_COMPONENTS, gamma=0.5 / d, random_state=0).fit(X)
    W_pairs = np.ascontiguousarray(pairs.feature_map_.linear.to_dense().T)
    W_phases = np.ascontiguousarray(phases.feature_map_.linear.to_dense().T)
    empty = np.zeros((len(X), N_COMPONENTS), dtype)
    candidates: dict[str, Callable[[], Any]] = {
        "rff cos/sin": lambda: pairs.transform(X),
        "rff cos": lambda: phases.transform(X),
        "bare product, M/2": lambda: X @ W_pairs,
        "bare product, M": lambda: X @ W_phases,
        "RBFSampler": lambda: peer.transform(X),
        "writing the output": lambda: empty.fill(1),
    }
    best = interleaved(candidates)
    bare = {"rff cos/sin": "bare product, M/2", "rff cos": "bare product, M"}
    return [
        [
            name,
            str(d),
            f"{seconds / empty.size * 1e9:.3f}",
            f"{seconds / best[bare[name]]:.2f}" if name in bare else "",
            f"{best['RBFSampler'] / seconds:.1f}" if name in bare else "",
        ]
        for name, seconds in best.items()
    ]


def _latency() -> None:
    """One row at a time, as a service would ask."""
    rows = []
    for d in DIMENSIONS:
        x = np.random.default_rng(0).normal(size=(1, d)).astype(np.float32)
        ours = methods.rff(1024, gamma=0.5 / d, random_state=0).fit(x)
        peer = RBFSampler(n_components=1024, gamma=0.5 / d, random_state=0).fit(x)
        candidates = {
            "ours": partial(ours.transform, x),
            "RBFSampler": partial(peer.transform, x),
        }
        best = interleaved(candidates, repeats=50)
        ratio = best["RBFSampler"] / best["ours"]
        cells = [f"{best[name] * 1e6:.0f}" for name in candidates]
        rows.append([str(d), *cells, f"{ratio:.2f}"])
    print_table(
        "one row, M = 1024, float32, microseconds",
        ["d", "ours", "RBFSampler", "RBFSampler/ours"],
        rows,
    )
