"""`blocks`: any stream of rows as something that can be walked again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sklearn.utils.validation import _num_samples

from .._validation import check_count

ROWS = 65_536
"""Rows of a block where nothing else is asked for."""


class Blocks:
    """A re-iterable of (X, y) or (X, y, sample_weight) blocks.

    Parameters
    ----------
    open : callable
        Returns a fresh iterator over blocks.
    once : bool
        Whether it can be called only once.
    """

    def __init__(self, open: Callable[[], Iterator[Any]], once: bool = False) -> None:
        self._open = open
        self.once = once
        self._walked = False

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        if self.once and self._walked:
            raise ValueError(
                "blocks: this source is an iterator, which can be walked only once, "
                "and more than one pass is needed. Give a list of blocks, or a "
                "function that returns a fresh iterator."
            )
        self._walked = True
        for item in self._open():
            yield _triple(item)


def blocks(source: Any, *, target: Any = None, rows: int | None = None) -> Blocks:
    """Blocks of rows for `fit`, from arrays, iterables or a function.

    Parameters
    ----------
    source : array, CSR matrix, frame, iterable or callable
        Rows; or blocks, each X, (X, y) or (X, y, sample_weight); or a function that
        returns a fresh iterator over such blocks, for data that does not fit.
    target : array, optional
        y beside an array of rows.
    rows : int, optional
        Rows of a block cut from an array.

    Returns
    -------
    Blocks

    Examples
    --------
    >>> import numpy as np
    >>> import bochner
    >>> def read():
    ...     for seed in range(3):
    ...         X = np.random.default_rng(seed).normal(size=(100, 4))
    ...         yield X, X.sum(axis=1)
    >>> model = bochner.KernelRegressor(16, random_state=0).fit(bochner.blocks(read))
    """
    if isinstance(source, Blocks):
        return source
    if hasattr(source, "shape"):
        return Blocks(lambda: _cut(source, target, rows))
    if target is not None:
        raise ValueError(
            "blocks: target belongs to an array of rows; blocks of an iterable carry "
            "theirs, as (X, y)."
        )
    if callable(source):
        return Blocks(lambda: iter(source()))
    if not hasattr(source, "__iter__") or isinstance(source, str | bytes):
        raise TypeError(
            "blocks: source must be an array, an iterable of blocks, or a function "
            f"that returns an iterator of blocks; got {source!r}."
        )
    return Blocks(lambda: iter(source), once=iter(source) is source)


def _cut(X: Any, y: Any, rows: int | None) -> Iterator[tuple[Any, Any]]:
    size = ROWS if rows is None else check_count("blocks", "rows", rows)
    n = _num_samples(X)
    if y is not None and len(y) != n:
        raise ValueError(f"blocks: X has {n} rows and target has {len(y)}.")
    take = X.iloc if hasattr(X, "iloc") else X
    for start in range(0, n, size):
        part = slice(start, start + size)
        yield take[part], None if y is None else y[part]


def _triple(item: Any) -> tuple[Any, Any, Any]:
    if not isinstance(item, tuple):
        return item, None, None
    if len(item) not in (1, 2, 3):
        raise ValueError(
            "blocks: a block is X, (X, y) or (X, y, sample_weight); got a tuple of "
            f"{len(item)}."
        )
    return (*item, None, None)[:3]
