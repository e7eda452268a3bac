"""Rows of a stream at hand: all of few, a sample of many."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..execution import Blocks
from ..execution.stream import Item, row_bytes
from ..linear.sample import hashed_places
from ..preprocessing.tables import MAX_CATEGORIES

WHOLE_BYTES = 256 << 20
"""Rows that take less are learned from as one; more are streamed."""

SAMPLE_ROWS = 50_000
"""Rows that preprocessing and the map are learned from where not all are at hand."""

SAMPLE_BYTES = 128 << 20


def gathered(source: Blocks) -> tuple[Any, Any] | None:
    """All rows and targets, or None where they are too many."""
    parts: list[Item] = []
    size = 0.0
    for item in source.walk():
        if not parts and _is_large(source, item):
            return None
        parts.append(item)
        size += item.X.shape[0] * bytes_a_row(item.X)
        if size > WHOLE_BYTES:
            return None
    if not parts:
        raise ValueError("There are no rows.")
    return stacked([p.X for p in parts]), _targets(parts)


def _is_large(source: Blocks, first: Item) -> bool:
    """Whether the first block and the size of files tell that rows are too many."""
    about = source.about_rows()
    return about is not None and about * bytes_a_row(first.X) > 2 * WHOLE_BYTES


def sampled(
    source: Blocks, n_wanted: int | None = None, seed: int = 0
) -> tuple[Any, Any, int]:
    """A uniform sample of rows and targets, and how many rows there are: one pass.

    Whatever the blocks, rows of the smallest keys are kept, a key being a hash of the
    row's place.
    """
    n_wanted = SAMPLE_ROWS if n_wanted is None else n_wanted
    parts: list[tuple[np.ndarray, Any, Any]] = []
    shift = np.uint64(seed % (1 << 20) << 40)  # beyond the places of any stream
    seen, threshold = 0, np.iinfo(np.uint64).max
    for item in source.walk():
        n = item.X.shape[0]
        if not parts:
            n_wanted = min(n_wanted, max(1, int(SAMPLE_BYTES / bytes_a_row(item.X))))
        places = np.arange(seen, seen + n, dtype=np.uint64)
        keys = hashed_places(places + shift)
        seen += n
        if item.y is None:
            raise ValueError(
                "There is nothing to predict: say which column or entry it is "
                "(--target)."
            )
        parts.append(_below(threshold, keys, item.X, item.y))
        if sum(len(part[0]) for part in parts) > 2 * n_wanted:
            threshold = np.sort(np.concatenate([p[0] for p in parts]))[n_wanted - 1]
            parts = [_below(threshold, *part) for part in parts]
    if not seen:
        raise ValueError("There are no rows.")
    keys = np.concatenate([part[0] for part in parts])
    kept = np.argsort(keys, kind="stable")[:n_wanted]
    y = np.concatenate([np.asarray(part[2]) for part in parts])
    return rows_at(stacked([part[1] for part in parts]), kept), y[kept], seen


def _below(
    threshold: Any, keys: np.ndarray, X: Any, y: Any
) -> tuple[np.ndarray, Any, Any]:
    low = np.flatnonzero(keys <= threshold)
    return keys[low], rows_at(X, low), np.asarray(y)[low]


def rows_at(X: Any, places: np.ndarray) -> Any:
    """Rows of an array, CSR matrix or frame."""
    return X.iloc[places] if hasattr(X, "iloc") else X[places]


def bytes_a_row(X: Any) -> float:
    """About what a row takes, encoded: a category may become many columns."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        texts = sum(kind.kind == "O" for kind in X.dtypes)
        return 8.0 * (X.shape[1] + MAX_CATEGORIES * texts)
    return row_bytes(X)


def stacked(parts: list[Any]) -> Any:
    """Rows one below the other."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, "csr")
    if hasattr(parts[0], "columns"):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    return np.concatenate(parts)


def _targets(parts: list[Item]) -> Any:
    if any(part.y is None for part in parts):
        return None
    return np.concatenate([np.asarray(part.y) for part in parts])
