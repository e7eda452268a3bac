"""Structured maps against the peers: ns per output element and ratios in one run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from bochner import RandomFeatures, methods

from .peers import TITLES, peer
from .timing import interleaved, print_table

SHAPES = ((54, 4096), (784, 4096), (784, 16384), (4096, 8192))
OURS = ("sorf", "fastfood", "circulant", "block_diagonal")
STRUCTURED = {"xgpr": "SORF", "sklearn-extra": "Fastfood"}
"""Peers with structured maps, by their names in `peer_maps`."""
OUTPUTS = 1 << 24
HEADER = ["map", "d", "M", "ns/output", "of writing", "xGPR/", "extra/", "RBFSampler/"]


def run(quick: bool = False) -> None:
    """Print a table per floating type, and the automatic map at 100,000 × 100."""
    outputs = OUTPUTS >> 2 if quick else OUTPUTS
    for dtype in (np.float32, np.float64):
        rows = [row for d, m in SHAPES for row in _compare(d, m, dtype, outputs)]
        print_table(
            f"structured maps, {np.dtype(dtype).name}, {outputs} outputs; right: "
            "how many times faster than the peer",
            HEADER,
            rows,
        )
    _auto(20_000 if quick else 100_000)


def _compare(d: int, m: int, dtype: Any, outputs: int) -> list[list[str]]:
    n = outputs // m
    X = np.random.default_rng(0).normal(size=(n, d)).astype(dtype)
    candidates: dict[str, Callable[[], Any]] = {}
    for name in OURS:
        features = getattr(methods, name)(m, gamma=0.5 / d, random_state=0).fit(X)
        candidates[name] = partial(features.transform, X)
    sampler = RBFSampler(n_components=m, gamma=0.5 / d, random_state=0).fit(X)
    candidates["RBFSampler"] = lambda: sampler.transform(X)
    output = np.zeros((n, m), dtype)
    candidates["writing the output"] = lambda: output.fill(1)
    with ExitStack() as stack:
        for library, name in STRUCTURED.items():
            # both compute in one type of their own, whatever comes in
            waiting = peer(library, name, d, m, n, np.dtype(dtype).name)
            worker = stack.enter_context(waiting)
            if worker is not None:
                candidates[TITLES[library]] = worker
        best = interleaved(candidates, repeats=5)
    return [_row(name, d, m, best, output.size) for name in best]


def _row(name: str, d: int, m: int, best: dict[str, float], outputs: int) -> list[str]:
    def ratio(other: str) -> str:
        known = name in OURS and other in best
        return f"{best[other] / best[name]:.1f}" if known else ""

    return [
        name,
        str(d),
        str(m),
        f"{best[name] / outputs * 1e9:.3f}",
        f"{best[name] / best['writing the output']:.1f}",
        ratio("xGPR"),
        ratio("scikit-learn-extra"),
        ratio("RBFSampler"),
    ]


def _auto(n: int) -> None:
    d, m = 100, 2048
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    features = RandomFeatures(m, gamma=0.5 / d, random_state=0).fit(X)
    sampler = RBFSampler(n_components=m, gamma=0.5 / d, random_state=0).fit(X)
    best = interleaved(
        {
            f"auto ({type(features.projection_).__name__})": lambda: features.transform(
                X
            ),
            "RBFSampler": lambda: sampler.transform(X),
        },
        repeats=5,
    )
    rows = [
        [name, f"{1000 * seconds:.0f}", f"{best['RBFSampler'] / seconds:.1f}"]
        for name, seconds in best.items()
    ]
    print_table(
        f"the automatic map, {n} × {d} to {m}, float32",
        ["map", "ms", "RBFSampler/"],
        rows,
    )
