"""What a block of features sees of a difference: spread and bias, measured on pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._random import Stream
from ..laws import Law

PAIRS = 256
"""Differences looked at: averages over them are good to a few per cent."""

BLOCKS = 64
"""Random blocks of each difference."""

LARGEST_LOG_SCALE = 2.0
"""Bound of the search for a frequency scale: beyond e², blocks see nothing at all."""


def differences(X: Any, rng: Stream) -> Any:
    """x_i − x_j of up to PAIRS pairs of rows, float64, dense or CSC, no zero rows."""
    words = rng.words(2, PAIRS) % np.uint64(X.shape[0])
    first, second = (X[w.astype(np.int64)].astype(np.float64) for w in words)
    delta = first - second
    largest = np.asarray(
        abs(delta).max(axis=1).todense()
        if sparse.issparse(delta)
        else abs(delta).max(axis=1)
    ).ravel()
    delta = delta[np.flatnonzero(largest)]
    return delta.tocsc() if sparse.issparse(delta) else delta


def kurtosis(X: Any, metric: str, rng: Stream) -> float:
    """κ = d·Σv²/(Σv)², v = δ² or |δ|, averaged: 1 where even, d for spikes."""
    V = _terms(differences(X, rng), metric)
    if V.shape[0] == 0:
        return 1.0
    # κ has no scale: divide first, so that no power over- or underflows
    V = _divide_rows(V, _row_sums(V))
    square = V.multiply(V) if sparse.issparse(V) else V**2
    return float(X.shape[1] * _row_sums(square).mean())


def amplitude_for(X: Any, law: Law, sizes: np.ndarray, rng: Stream) -> float:
    """√a of the factor a that brings block kernels closest to the kernel."""
    exact, blocks = _kernels(X, law, sizes, rng)
    seen = law.characteristic(blocks.copy()).mean(axis=1)
    return float(np.sqrt((seen @ exact) / (seen @ seen))) if seen.size else 1.0


def frequency_scale_for(X: Any, law: Law, sizes: np.ndarray, rng: Stream) -> float:
    """The factor on frequencies that brings block kernels closest to the kernel."""
    # Imported on use: scipy.optimize would add to the time of `import bochner`.
    from scipy.optimize import minimize_scalar

    exact, blocks = _kernels(X, law, sizes, rng)
    if not exact.size:
        return 1.0
    power = 2 if law.metric == "sqeuclidean" else 1

    def error(log_scale: float) -> float:
        seen = law.characteristic(blocks * np.exp(power * log_scale)).mean(axis=1)
        return float(((seen - exact) ** 2).sum())

    best = minimize_scalar(error, bounds=(0, LARGEST_LOG_SCALE), method="bounded")
    return float(np.exp(best.x))


def _kernels(
    X: Any, law: Law, sizes: np.ndarray, rng: Stream
) -> tuple[np.ndarray, np.ndarray]:
    """The kernel, (pairs,), and distances as blocks see them, (pairs, BLOCKS).

    Block sizes are those of one pass, in proportion.
    """
    V = _terms(differences(X, rng), law.metric)
    d = V.shape[1]
    seen = np.empty((V.shape[0], BLOCKS))
    for block in range(BLOCKS):
        size = int(sizes[block * len(sizes) // BLOCKS])
        seen[:, block] = _row_sums(V[:, rng.subset(d, size)]) * (d / size)
    return law.characteristic(_row_sums(V)), seen


def _terms(delta: Any, metric: str) -> Any:
    """What a distance sums over the features: δ², or |δ|."""
    if metric == "cityblock":
        return abs(delta)
    return delta.multiply(delta) if sparse.issparse(delta) else delta**2


def _row_sums(V: Any) -> np.ndarray:
    return np.asarray(V.sum(axis=1)).ravel()


def _divide_rows(V: Any, by: np.ndarray) -> Any:
    if sparse.issparse(V):
        return sparse.diags(1 / by) @ V
    return V / by[:, None]
