"""What the user gives as a source of validated rows: streams and Dask collections."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._lazy import is_lazy
from .._transformer import set_columns
from ..execution.sources import Block, validated
from ..execution.stream import Blocks
from ..landmarks import SORTED_ROWS
from .labels import label_counts

Check = Callable[..., Block]
"""Validates (X, y, weight); at the first block `reset` is true."""


def missing_target(owner: Any) -> ValueError:
    """What to raise where there is no y."""
    name = type(owner).__name__
    return ValueError(f"{name} requires y to be passed, but the target y is None.")


def check_alone(owner: Any, y: Any, weight: Any) -> None:
    """Refuse y and weights beside blocks, which carry theirs."""
    for name, value in (("y", y), ("sample_weight", weight)):
        if value is not None:
            raise ValueError(
                f"{type(owner).__name__}: {name} beside blocks, which carry theirs, as "
                "(X, y) or (X, y, sample_weight); give blocks(X, target=y, weight=…)."
            )


def first_block(source: Blocks, check: Check) -> Block:
    """The first block that has rows, validated."""
    return validated(source.first(), partial(check, reset=True))


def first_look(source: Blocks, check: Check) -> tuple[Block, list]:
    """The first block, and the labels of all with what they weigh: one pass."""
    first, counts = None, []
    for item in source.weighing():
        block = validated(item, partial(check, reset=first is None))
        first = block if first is None else first
        counts.append(label_counts(block.y, block.weight))
    if first is None:
        raise ValueError("blocks: there are no rows.")
    return first, counts


def gathered(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Rows of a small Dask collection at hand: they are sorted, as those of arrays are.

    Everything else stays as it is.
    """
    if not is_lazy(X):
        return X, y, weight
    if not hasattr(X, "columns") and np.isnan(X.shape[0]):
        X = X.compute_chunk_sizes()
    n = len(X) if hasattr(X, "columns") else X.shape[0]
    if n > SORTED_ROWS or n == 0:
        return X, y, weight
    parts = (a.compute() if is_lazy(a) else a for a in (X, y, weight))
    X, y, weight = parts
    return X, y, weight


def lazy_source(
    owner: Any,
    X: Any,
    y: Any,
    weight: Any,
    validate: Callable[[Any, Any, Any], Block],
    supervised: bool = False,
) -> Any:
    """The source of a Dask collection, whose features the owner will expect."""
    from ..execution.dask_source import (
        dask_source,  # where X comes from, Dask is installed
    )

    set_columns(owner, X)
    if y is None and supervised:
        raise missing_target(owner)
    return dask_source(type(owner).__name__, X, y, weight, validate)
