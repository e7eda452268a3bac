"""Random maxout features beside the paper's figures, on MNIST and other data.

Test error of regularised least squares for every M and q of the paper, structured
projections beside dense ones (error and time), what centring buys, and a shared pool
of more units than fit into memory. Needs BOCHNER_DATA.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np

from bochner import datasets, methods
from bochner.linear.moments import Moments, solve_positive

from .timing import interleaved, print_table

PAPER = {
    # (M, q): error in % and its standard deviation
    (1000, 1): (14.64, 0.08),
    (1000, 2): (5.62, 0.18),
    (1000, 4): (5.50, 0.16),
    (1000, 8): (5.59, 0.19),
    (1000, 16): (5.66, 0.15),
    (5000, 1): (15.02, 0.64),
    (5000, 2): (2.86, 0.11),
    (5000, 4): (2.78, 0.07),
    (5000, 8): (2.81, 0.10),
    (5000, 16): (2.87, 0.12),
    (10000, 4): (2.23, 0.07),
}
SEEDS = 5
PENALTIES = 10.0 ** np.arange(-7, 3)
"""λ tried, as multiples of the mean square of a feature."""
HELD_OUT = 10_000
ROWS = 5000
STRUCTURES = ("dense", "sorf", "fastfood", "circulant", "block_diagonal")
TIMED = 5000, 4
CENTRED = ("mnist", "letter")


def run(quick: bool = False) -> None:
    """All tables."""
    sizes = [pair for pair in PAPER if not quick or pair[0] == 1000]
    seeds = 1 if quick else SEEDS
    if "mnist" not in datasets.available():
        print("mnist is not in BOCHNER_DATA: left out")
        return
    data = datasets.load("mnist")
    # _structures(data, 1 if quick else SEEDS)
    _table(data, sizes, seeds)


def _table(data: Any, sizes: list[tuple[int, int]], seeds: int) -> None:
    """The paper's Table 1."""
    rows = []
    for M, q in sizes:
        maps = [methods.maxout(M, pool_size=q, random_state=s) for s in range(seeds)]
        errors = [held_out_error(features, data) for features in maps]
        paper, deviation = PAPER[M, q]
        mean, spread = np.mean(errors), np.std(errors, ddof=min(1, seeds - 1))
        within = "yes" if mean <= paper + 2 * deviation else "NO"
        line = [f"{M}, {q}", f"{mean:.2f} ± {spread:.2f}", f"{paper} ± {deviation}"]
        rows.append([*line, within])
        print(*rows[-1], flush=True)
    print_table(
        f"MNIST, least squares, λ by hold-out: test error %, {seeds} seeds",
        ["M, q", "ours", "paper", "within two deviations or better"],
        rows,
    )


def held_out_error(features: Any, data: Any) -> float:
    """Test error in %, λ chosen on the last rows of the training set, then all used."""
    X, y = data.X_train, data.y_train
    features.fit(X)
    T = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    n = len(X) - min(HELD_OUT, len(X) // 5)
    first = _moments(features, X[:n], T[:n])
    unit = np.trace(first.ff) / len(first.ff)
    path = [_ridge(first, penalty * unit) for penalty in PENALTIES]
    best = PENALTIES[int(np.argmin(_errors(features, path, X[n:], y[n:])))]
    first.merge(_moments(features, X[n:], T[n:]))
    B = _ridge(first, best * np.trace(first.ff) / len(first.ff))
    return _errors(features, [B], data.X_test, data.y_test)[0]


def _moments(features: Any, X: Any, T: np.ndarray) -> Moments:
    moments = Moments.zero(features.feature_map_.n_components, T.shape[1])
    for start in range(0, X.shape[0], ROWS):
        F = features.transform(X[start : start + ROWS])
        moments.add(F, T[start : start + ROWS], None)
    return moments


def _ridge(moments: Moments, alpha: float) -> np.ndarray:
    """(FᵀF + αI)⁻¹FᵀT: as in the paper, without an intercept."""
    H = moments.ff.copy(order="F")
    H[np.diag_indices_from(H)] += alpha
    return solve_positive(H, moments.ft)


def _errors(
    features: Any, path: list[np.ndarray], X: Any, y: np.ndarray
) -> list[float]:
    """Share of rows in % that each model gets wrong; classes are 0, 1, …."""
    wrong = np.zeros(len(path))
    for start in range(0, X.shape[0], ROWS):
        F = features.transform(X[start : start + ROWS])
        for i, B in enumerate(path):
            found = (F @ B.astype(F.dtype)).argmax(axis=1)
            wrong[i] += (found != y[start : start + ROWS]).sum()
    return (100 * wrong / X.shape[0]).tolist()
