"""Rows of a stream at hand: all of few, a sample of many."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..execution import Blocks
from ..execution.sampling import SAMPLE_ROWS, sampled_rows, stacked
from ..execution.stream import Item
from ..preprocessing.tables import encoded_bytes

WHOLE_BYTES = 256 << 20
"""Rows that take less are learned from as one; more are streamed."""


def gathered(source: Blocks) -> tuple[Any, Any] | None:
    """All rows and targets, or None where they are too many."""
    parts: list[Item] = []
    size = 0.0
    for item in source.walk():
        if not parts and _is_large(source, item):
            return None
        parts.append(item)
        size += item.X.shape[0] * encoded_bytes(item.X)
        if size > WHOLE_BYTES:
            return None
    if not parts:
        raise ValueError("There are no rows.")
    return stacked([p.X for p in parts]), _targets(parts)


def _is_large(source: Blocks, first: Item) -> bool:
    """Whether the first block and the size of files tell that rows are too many."""
    about = source.about_rows()
    return about is not None and about * encoded_bytes(first.X) > 2 * WHOLE_BYTES


def sampled(
    source: Blocks, n_wanted: int | None = None, seed: int = 0
) -> tuple[Any, Any, int]:
    """A uniform sample of rows and targets, and how many rows there are: one pass."""
    n_wanted = SAMPLE_ROWS if n_wanted is None else n_wanted
    X, y, n_rows = sampled_rows(source, n_wanted, encoded_bytes, seed)
    if y is None:
        raise ValueError(
            "There is nothing to predict: say which column or entry it is (--target)."
        )
    return X, y, n_rows


def _targets(parts: list[Item]) -> Any:
    if any(part.y is None for part in parts):
        return None
    return np.concatenate([np.asarray(part.y) for part in parts])
