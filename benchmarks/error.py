"""Kernel error of every structure at the same size, relative to independent rows."""

from __future__ import annotations

from functools import partial

import numpy as np

from bochner import datasets, methods, metrics

from .timing import print_table

DATA = ("mnist", "usps", "a9a", "letter", "magic04")
N_COMPONENTS = 4096
POINTS = 1500
MAPS = {
    "dense": methods.rff,
    "orthogonal": methods.orf,
    "SORF": methods.sorf,
    "Fastfood": methods.fastfood,
    "Halton": methods.qmc,
    "Sobol": partial(methods.qmc, sequence="sobol"),
    "circulant": methods.circulant,
    "block-diagonal": methods.block_diagonal,
}
FIRST_TRIES = {
    "mnist": "0.62 0.56 1.32 0.99 0.85",
    "usps": "0.54 0.54 1.17 0.98 0.67",
    "a9a": "0.53 0.52 1.24 0.85 0.58",
    "letter": "0.63 0.62 1.32 0.59 0.58",
    "magic04": "0.84 0.80 1.17 0.62 0.60",
}
"""Prototypes of orthogonal, SORF, Fastfood, Halton and Sobol, to compare with."""


def run(quick: bool = False) -> None:
    """RMS over seeds of the relative Frobenius error, Gaussian with γ by median."""
    seeds = 4 if quick else 16
    rows = []
    for name in DATA:
        if name not in datasets.available():
            print(f"{name} is left out: it is not in BOCHNER_DATA")
            continue
        X = datasets.load(name).X_train[:10_000]
        errors = {title: _error(make, X, seeds) for title, make in MAPS.items()}
        cells = [f"{error / errors['dense']:.2f}" for error in errors.values()]
        rows.append([name, f"{errors['dense']:.4f}", *cells[1:], FIRST_TRIES[name]])
    print_table(
        f"kernel error relative to dense, M = {N_COMPONENTS}, RMS over {seeds} seeds",
        ["data", "dense itself", *list(MAPS)[1:], "first tries (5 maps)"],
        rows,
    )


def _error(make, X: np.ndarray, seeds: int) -> float:
    squares = []
    for seed in range(seeds):
        features = make(N_COMPONENTS, gamma="median", random_state=seed).fit(X)
        squares.append(metrics.kernel_error(features, X, n_points=POINTS) ** 2)
    return float(np.sqrt(np.mean(squares)))
