"""A uniform sample of the rows of a stream or of a Dask frame, in memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..linear.sample import hashed_places
from .stream import Blocks, Item

SAMPLE_ROWS = 50_000
"""Rows that preprocessing is fitted on where the rows are not in memory."""

SAMPLE_BYTES = 128 << 20
"""Bytes of a sample, at most."""


def sampled_rows(
    source: Blocks,
    n_wanted: int,
    bytes_a_row: Callable[[Any], float],
    seed: int = 0,
) -> tuple[Any, Any, int]:
    """A uniform sample of rows and targets, and how many rows there are: one pass.

    Whatever the blocks, rows of the smallest keys are kept, a key being a hash of the
    row's place. Rows without weight are not sampled. Targets are None where blocks
    have none.
    """
    parts: list[tuple[np.ndarray, Any, Any]] = []
    shift = np.uint64(seed % (1 << 20) << 40)  # beyond the places of any stream
    seen, threshold = 0, np.iinfo(np.uint64).max
    for item in source.with_rows():
        n = item.X.shape[0]
        if not parts:
            n_wanted = min(n_wanted, max(1, int(SAMPLE_BYTES / bytes_a_row(item.X))))
        places = np.arange(seen, seen + n, dtype=np.uint64)
        keys = hashed_places(places + shift)
        seen += n
        parts.append(_below(threshold, *_weighing(item, keys)))
        if sum(len(part[0]) for part in parts) > 2 * n_wanted:
            threshold = np.sort(np.concatenate([p[0] for p in parts]))[n_wanted - 1]
            parts = [_below(threshold, *part) for part in parts]
    keys = np.concatenate([part[0] for part in parts]) if parts else np.empty(0)
    if not len(keys):
        raise ValueError("blocks: there are no rows.")
    kept = np.argsort(keys, kind="stable")[:n_wanted]
    targets = [part[2] for part in parts]
    y = None if any(t is None for t in targets) else np.concatenate(targets)[kept]
    return rows_at(stacked([part[1] for part in parts]), kept), y, seen


def _weighing(item: Item, keys: np.ndarray) -> tuple[np.ndarray, Any, Any]:
    """Keys, rows and targets of the rows of a block that weigh something."""
    y = None if item.y is None else np.asarray(item.y)
    if item.weight is None:
        return keys, item.X, y
    kept = np.flatnonzero(np.asarray(item.weight))
    return keys[kept], rows_at(item.X, kept), None if y is None else y[kept]


def _below(
    threshold: Any, keys: np.ndarray, X: Any, y: Any
) -> tuple[np.ndarray, Any, Any]:
    low = np.flatnonzero(keys <= threshold)
    return keys[low], rows_at(X, low), None if y is None else y[low]


def rows_at(X: Any, places: np.ndarray) -> Any:
    """Rows of an array, CSR matrix or frame."""
    return X.iloc[places] if hasattr(X, "iloc") else X[places]


def stacked(parts: list[Any]) -> Any:
    """Rows one below the other."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, "csr")
    if hasattr(parts[0], "vstack"):  # polars
        return functools.reduce(lambda above, below: above.vstack(below), parts)
    if hasattr(parts[0], "columns"):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    return np.concatenate(parts)
