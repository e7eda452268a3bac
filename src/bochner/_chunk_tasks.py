"""What workers compute of one chunk of rows of a Dask collection.

The results are small, whatever the length of a chunk: rows that were asked for, sums,
the first few of a race.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from ._random import Stream, earliest
from ._spread import spread_of


def taken_rows(chunk: Any, weight: Any, ranks: np.ndarray) -> Any:
    """Rows of a chunk by their ranks among those of positive weight."""
    return chunk[_in_chunk(weight, ranks)]


def array_places(start: int, weight: Any, ranks: np.ndarray) -> np.ndarray:
    """Places in the array of rows of a chunk, given its start and their ranks."""
    return start + _in_chunk(weight, ranks)


def _in_chunk(weight: Any, ranks: np.ndarray) -> np.ndarray:
    return ranks if weight is None else np.flatnonzero(weight)[ranks]


def weight_range(weight: Any) -> tuple[float, float, int]:
    """The least and the largest weight of a chunk, and how many are positive."""
    weight = check_array(
        weight,
        ensure_2d=False,
        dtype=np.float64,
        ensure_min_samples=0,
        input_name="sample_weight",
    )
    count = int(np.count_nonzero(weight))
    return float(weight.min(initial=np.inf)), float(weight.max(initial=0)), count


def first_arrivals(
    weight: Any, stream: Stream, start: int, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Arrival times and places of the first k rows of a chunk to arrive."""
    times = stream.arrivals(weight[weight > 0], int(start))
    first = earliest(times, k)
    return times[first], start + first


def merged_arrivals(
    k: int, parts: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """The same of several chunks."""
    times, places = (np.concatenate(part) for part in zip(*parts, strict=True))
    first = earliest(times, k)
    return times[first], places[first]


def entry_spread(X: Any, weight: Any, equal: bool) -> tuple[float, float, float]:
    """Σw, mean and Σw(x − mean)² over the entries of a chunk.

    `equal`: rows count once each, if their weight is positive.
    """
    n, d = X.shape
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    w = (w > 0).astype(np.float64) if equal else w
    size = d * w.sum()
    with np.errstate(invalid="ignore"):  # the caller checks the result
        mean, variance = spread_of(X, w).of_all
    return size, mean, size * variance
