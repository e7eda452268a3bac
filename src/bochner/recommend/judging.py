"""How a choice does on rows that had no part in it, with intervals that hold."""

from __future__ import annotations

import numpy as np

from .._random import Stream
from .results import Interval

Z = 1.96
"""Standard deviations either side that hold 19 times in 20."""

DRAWS = 1000
"""Of the bootstrap."""


def accuracy_interval(hits: np.ndarray) -> Interval:
    """Share of hits among m rows, and where that of m new rows will be.

    Both shares vary by p(1 − p)/m, so their difference by twice that. p is taken with
    two hits and two misses more (Agresti and Coull), so that no miss in a few rows does
    not promise perfection.
    """
    m = len(hits)
    share = float(hits.mean())
    p = (hits.sum() + 2) / (m + 4)
    half = Z * float(np.sqrt(2 * p * (1 - p) / m))
    return Interval(share, max(0.0, share - half), min(1.0, share + half))


def r2_interval(y: np.ndarray, predicted: np.ndarray) -> Interval:
    """R² on m rows, and where that of m new rows will be, by the bootstrap.

    A bootstrap's spread is that of one sample, and two samples differ by √2 of it. It
    is too narrow where few rows make up most of the variance: with lognormal targets
    (σ = 1) it held 9 times in 10 at m = 200.
    """
    m = len(y)
    value = _r2(y, predicted)
    rng = Stream(0).child("bootstrap")
    draws = []
    for _ in range(DRAWS):
        places = (rng.words(m) % np.uint64(m)).astype(np.int64)
        draws.append(_r2(y[places], predicted[places]))
    low, high = np.quantile(draws, [0.025, 0.975])
    root = np.sqrt(2.0)
    return Interval(
        value,
        float(value - root * max(value - low, 0.0)),
        float(min(1.0, value + root * max(high - value, 0.0))),
    )


def _r2(y: np.ndarray, predicted: np.ndarray) -> float:
    total = float(((y - y.mean()) ** 2).sum())
    return 1 - float(((y - predicted) ** 2).sum()) / total if total else 0.0
