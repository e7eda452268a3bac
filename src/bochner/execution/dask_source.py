"""Dask collections as a source: partitions of rows with what lies beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np

from .._lazy import LazyRows, as_array, is_lazy
from .._progress import Report
from .._validation import check_weight
from .dask import DaskRows, check_workers, computed
from .features import RawFeatures
from .sources import Block


@dataclass(frozen=True)
class Partition:
    """Rows of one chunk with what lies beside them, not yet computed."""

    X: Any
    y: Any
    weight: Any
    name: str  # for messages
    start: int  # rows before it
    place: int  # of its first row that counts

    @property
    def columns(self) -> tuple[Any, Any, Any, str, int]:
        """What a task that makes features is given."""
        return self.X, self.y, self.weight, self.name, self.start


@dataclass(frozen=True)
class DaskSource:
    """Rows of Dask collections, partition by partition."""

    X: LazyRows
    y: LazyRows | None
    weight: np.ndarray | None
    partitions: tuple[Partition, ...]
    validate: Callable[[Any, Any, Any], Block]
    like: Any = None  # an empty frame, where rows have names for their columns

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def about_rows(self) -> int:
        return self.n_rows

    def take(self, places: np.ndarray) -> Block:
        y = None if self.y is None else self.y[places]
        weight = None if self.weight is None else self.weight[places]
        rows = self.X[places]
        if self.like is not None:
            rows = type(self.like)(rows, columns=self.like.columns)
        return self.validate(rows, y, weight)

    def feature_rows(
        self, features: RawFeatures, budget: int, report: Report
    ) -> DaskRows:
        """Feature rows that stay where the rows are."""
        return DaskRows(self, features, budget, report)

    def summaries(self, summarise: Callable[[Any, Any], Any]) -> list[Any]:
        """A small summary of (y, weight) of every partition."""
        task = dask.delayed(summarise, pure=False)
        return list(computed(*(task(p.y, p.weight) for p in self.partitions)))


def dask_source(
    owner: str, X: Any, y: Any, weight: Any, validate: Callable[[Any, Any, Any], Block]
) -> DaskSource:
    """The source of a Dask array or frame X, with y and weights beside it."""
    check_workers()
    array = as_array(X)
    chunks = array.chunks[0]
    target = _beside(owner, "y", y, array)
    weights = _beside(owner, "sample_weight", weight, array)
    w = None if weights is None else check_weight(owner, weights, array)
    index = None if w is None or w.all() else np.flatnonzero(w)
    # the place of a chunk's first row, among those that count
    starts = np.append(0, np.cumsum(chunks)[:-1])
    places, ends = starts, starts + np.array(chunks, dtype=int)
    if index is not None:
        places, ends = np.searchsorted(index, starts), np.searchsorted(index, ends)
    frame = hasattr(X, "columns")
    rows = X.to_delayed() if frame else array.to_delayed().ravel()
    columns = rows, *(_delayed(values, len(chunks)) for values in (target, weights))
    partitions = tuple(
        Partition(
            X,
            y,
            weight,
            f"rows {starts[i] + 1} to {starts[i] + chunks[i]}",
            int(starts[i]),
            int(places[i]),
        )
        for i, (X, y, weight) in enumerate(zip(*columns, strict=True))
        if ends[i] > places[i]
    )
    if not partitions:
        raise ValueError(f"{owner}: X has no rows.")
    lazy_y = None if target is None else LazyRows(target, index)
    present = None if w is None else w[w > 0]
    return DaskSource(
        LazyRows(array, index),
        lazy_y,
        present,
        partitions,
        validate,
        X._meta if frame else None,
    )


def _beside(owner: str, name: str, values: Any, array: Any) -> Any:
    """Values as a Dask array in the chunks of the rows."""
    if values is None:
        return None
    if np.ndim(values) == 0:
        values = np.full(array.shape[0], values)
    if is_lazy(values):
        values = as_array(values)
    else:
        values = da.from_array(np.asarray(values), chunks=-1)
    if values.shape[0] != array.shape[0]:
        raise ValueError(
            f"{owner}: X has {array.shape[0]} rows and {name} has {values.shape[0]}."
        )
    return values.rechunk({0: array.chunks[0]})


def _delayed(values: Any, n: int) -> Any:
    return [None] * n if values is None else values.to_delayed().ravel()
