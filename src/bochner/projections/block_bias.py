"""What a block of features sees of a difference: spread and bias, measured on pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._random import Stream
from ..laws import Law
from .base import dense_rows

PAIRS = 256
BLOCKS = 64


def differences(X: Any, rng: Stream) -> Any:
    """x_i − x_j of up to PAIRS random pairs of rows, dense or CSR, no zero rows."""
    n = X.shape[0]
    words = rng.words(2, PAIRS) % np.uint64(n)
    delta = X[words[0].astype(np.int64)] - X[words[1].astype(np.int64)]
    lengths = abs(delta).sum(axis=1)
    return delta[np.flatnonzero(np.asarray(lengths).ravel())]


def kurtosis(X: Any, rng: Stream) -> float:
    """κ = d·Σδ⁴/‖δ‖⁴, averaged over pairs: 1 for even differences, d for spikes."""
    delta = differences(X, rng)
    if delta.shape[0] == 0:
        return 1.0
    square = delta.multiply(delta) if sparse.issparse(delta) else delta**2
    fourth = square.multiply(square) if sparse.issparse(square) else square**2
    second = np.asarray(square.sum(axis=1, dtype=np.float64)).ravel()
    ratios = np.asarray(fourth.sum(axis=1, dtype=np.float64)).ravel() / second**2
    return float(X.shape[1] * ratios.mean())


def amplitude_for(X: Any, law: Law, b: float, rng: Stream) -> float:
    """√a of the factor a that brings block kernels closest to the kernel."""
    exact, blocks = _kernels(X, law, b, rng)
    seen = law.characteristic(blocks.copy()).mean(axis=1)
    return float(np.sqrt((seen @ exact) / (seen @ seen))) if seen.size else 1.0


def frequency_scale_for(X: Any, law: Law, b: float, rng: Stream) -> float:
    """The factor on frequencies that brings block kernels closest to the kernel."""
    # Imported on use: scipy.optimize would add to the time of `import bochner`.
    from scipy.optimize import minimize_scalar

    exact, blocks = _kernels(X, law, b, rng)
    if not exact.size:
        return 1.0
    power = 2 if law.metric == "sqeuclidean" else 1

    def error(log_scale: float) -> float:
        stretched = blocks * np.exp(power * log_scale)
        return float(((law.characteristic(stretched).mean(axis=1) - exact) ** 2).sum())

    return float(np.exp(minimize_scalar(error, bounds=(0, 2), method="bounded").x))


def _kernels(X: Any, law: Law, b: float, rng: Stream) -> tuple[np.ndarray, np.ndarray]:
    """The kernel, (pairs,), and distances as blocks see them, (pairs, BLOCKS).

    Blocks of b features are contiguous stretches of shuffled differences.
    """
    delta = abs(dense_rows(differences(X, rng))).astype(np.float64)
    if law.metric == "sqeuclidean":
        delta **= 2
    d = delta.shape[1]
    size = max(1, round(b))
    seen = np.empty((len(delta), BLOCKS))
    for block in range(BLOCKS):
        chosen = rng.subset(d, size)
        seen[:, block] = delta[:, chosen].sum(axis=1) * (d / chosen.size)
    return law.characteristic(delta.sum(axis=1)), seen
