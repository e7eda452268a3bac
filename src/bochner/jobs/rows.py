"""Rows at hand for `compare` and `recommend`: all of small data, a sample of large."""

from __future__ import annotations

from typing import Any

from .._random import Stream
from ..comparison.data import Given
from ..execution import Blocks
from ..execution.sampling import rows_at
from .gathering import SAMPLE_ROWS, gathered, sampled
from .opening import open_data


def rows_at_hand(
    source: str,
    target: str | None,
    columns: dict[str, list[str]],
    limit: int | None,
    seed: int,
) -> Given:
    """Rows of a file or data set, at most `limit` (None: 50,000) of them."""
    data = open_data(source, target=target, columns=columns)
    most = SAMPLE_ROWS if limit is None else limit
    if most < 1:
        raise ValueError(f"--rows must be positive; got {limit}.")
    X, y, n_rows = _some(data.blocks, most, seed)
    if y is None:
        raise ValueError(
            f"{data.name} has no target: say which column or entry it is (--target)."
        )
    notes: tuple[str, ...] = ()
    if n_rows > len(y):
        notes = (f"A random sample of {len(y):,} of {n_rows:,} rows was used.",)
    tests: tuple[Any, Any] = (None, None)
    if data.test is not None:
        tests = _some(data.test, most, seed)[:2]
    return Given(X, y, *tests, name=data.name, target=target, notes=notes)


def _some(source: Blocks, most: int, seed: int) -> tuple[Any, Any, int]:
    whole = gathered(source)
    if whole is None:
        return sampled(source, most, seed)
    X, y = whole
    n_rows = X.shape[0]
    if n_rows <= most or y is None:
        return X, y, n_rows
    kept = Stream(seed).child("rows").subset(n_rows, most)
    return rows_at(X, kept), y[kept], n_rows
