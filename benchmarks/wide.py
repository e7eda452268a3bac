"""Block-diagonal maps of very wide rows, against the dense product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from bochner import RandomFeatures, RandomProjection, metrics, projections

from .peers import peer
from .timing import interleaved, print_table

N, D = 64, 262_144
SLICE = 256
"""Columns of the dense product that are timed; the rest is extrapolated."""

NOTE = """\
The dense product is timed on a slice of its columns and extrapolated linearly.
The paper printed 264 to 1227 × for the random projection (d = 2.6·10⁵, k = 1000 … 5000)
and 11,716 × for Fourier features (k = 200,000). Its dense baseline ran far below the
speed of the hardware, while a float32 product here is near the peak, and reading X once
bounds the first line."""


def run(quick: bool = False) -> None:
    """Print speed-ups, with the kernel error beside the Fourier features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)).astype(np.float32)
    W = rng.normal(size=(D, SLICE)).astype(np.float32)
    paper = projections.BlockDiagonal("paper")
    gamma = 0.5 / D
    projection = RandomProjection(5000, random_state=0).fit(X)
    auto = RandomFeatures(
        5000, gamma=gamma, projection="block_diagonal", random_state=0
    ).fit(X)
    many = RandomFeatures(200_000, gamma=gamma, projection=paper, random_state=0).fit(X)
    candidates: dict[str, Callable[[], Any]] = {
        "projection to 5000": lambda: projection.transform(X),
        "Fourier, M = 5000, auto block": lambda: auto.transform(X),
        "Fourier, M = 200,000, paper's block": lambda: many.transform(X),
        "dense slice": lambda: X @ W,
        "reading X": lambda: X.sum(),
    }
    extra = "scikit-learn-extra Fastfood, M = 5000"
    with peer("sklearn-extra", "Fastfood", D, 5000, N, "float32") as worker:
        if worker is not None:
            candidates[extra] = worker
        best = interleaved(candidates, repeats=3 if quick else 7)
    per_column = best["dense slice"] / SLICE
    rows = []
    for name, columns, features in (
        ("projection to 5000", 5000, None),
        ("Fourier, M = 5000, auto block", 2500, auto),
        ("Fourier, M = 200,000, paper's block", 100_000, many),
    ):
        error = f"{metrics.kernel_error(features, X):.3f}" if features else ""
        fastfood = f"{best[extra] / best[name]:.0f}" if extra in best else ""
        dense = f"{columns * per_column / best[name]:.0f}"
        milliseconds = f"{1000 * best[name]:.1f}"
        rows.append([name, milliseconds, dense, fastfood, error])
    rows.append(["reading X once", f"{1000 * best['reading X']:.1f}", "", "", ""])
    print_table(
        f"block-diagonal, {N} × {D}, float32",
        ["map", "ms", "dense product/", "extra's Fastfood/", "kernel error"],
        rows,
    )
    print(NOTE)
    _sparse(quick)


def _sparse(quick: bool) -> None:
    """CSR rows of one per cent against the same rows dense."""
    n = 256 if quick else 1024
    A = sparse.random(n, D, density=0.01, format="csr", dtype=np.float32, rng=0)
    dense = A.toarray()
    projection = RandomProjection(5000, random_state=0).fit(A)
    best = interleaved(
        {
            "CSR": lambda: projection.transform(A),
            "dense": lambda: projection.transform(dense),
        },
        repeats=3,
    )
    rows = [
        [name, f"{1000 * seconds:.1f}", f"{best['dense'] / seconds:.1f}"]
        for name, seconds in best.items()
    ]
    print_table(
        f"block-diagonal projection of {n} × {D} at 1 % density to 5000",
        ["rows", "ms", "dense/"],
        rows,
    )
