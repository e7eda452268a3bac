"""Dask collections as a source: partitions of rows with what lies beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dask
import numpy as np

from .._lazy import LazyRows, LazyWeights, alongside, as_array
from .._progress import Report
from .._random import Stream
from .dask import DaskRows, check_workers, computed, merged_tasks
from .features import RawFeatures
from .sampling import SAMPLE_BYTES, rows_at, stacked
from .sources import Block
from .stream import Item


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
    weight: LazyWeights | None
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
    rows, weights = LazyRows(as_array(X)).weighted(owner, weight)
    target = rows.targets(owner, y)
    chunks = rows.array.chunks[0]
    starts = np.append(0, np.cumsum(chunks)[:-1])
    frame = hasattr(X, "columns")
    parts = X.to_delayed() if frame else rows.chunks
    columns = parts, *(_delayed(values, len(chunks)) for values in (target, weights))
    partitions = tuple(
        Partition(
            X,
            y,
            weight,
            f"rows {starts[i] + 1} to {starts[i] + chunks[i]}",
            int(starts[i]),
            int(rows.starts[i]),
        )
        for i, (X, y, weight) in enumerate(zip(*columns, strict=True))
        if rows.counts[i]
    )
    if not partitions:
        raise ValueError(f"{owner}: X has no rows.")
    like = X._meta if frame else None
    return DaskSource(rows, target, weights, partitions, validate, like)


def merged_partitions(
    owner: str, X: Any, y: Any, weight: Any, empty: Any, total: Callable[[Item], Any]
) -> Any:
    """The merged totals of all partitions, each computed on its worker.

    `empty`: the total of a partition without rows.
    """
    check_workers()
    array = as_array(X)
    chunks = array.chunks[0]
    given = {"y": y, "sample_weight": weight}
    aligned = [
        None if values is None else LazyRows(alongside(owner, name, values, array))
        for name, values in given.items()
    ]
    rows = X.to_delayed() if hasattr(X, "columns") else array.to_delayed().ravel()
    task = dask.delayed(_total, pure=False)
    # one node of the graph: a model is sent once a worker, not once a partition
    once = dask.delayed(total, pure=False, traverse=False)
    ends = np.cumsum(chunks)
    columns = rows, *(_delayed(values, len(chunks)) for values in aligned)
    return merged_tasks(
        [
            task(once, empty, f"rows {end - n + 1} to {end}", int(end - n), *values)
            for end, n, *values in zip(ends, chunks, *columns, strict=True)
        ]
    )


def sampled_frame(X: Any, n_wanted: int, bytes_a_row: Callable[[Any], float]) -> Any:
    """Rows of a Dask frame at random places, in memory; O(sample) comes to the client.

    The lengths of the partitions take a pass.
    """
    lengths = np.array(computed(*map(dask.delayed(len), X.to_delayed())))
    n_wanted = min(n_wanted, max(1, int(SAMPLE_BYTES / bytes_a_row(X._meta_nonempty))))
    places = Stream(0).child("frame").subset(int(lengths.sum()), n_wanted)
    ends = np.cumsum(lengths)
    task = dask.delayed(rows_at, pure=False)
    parts = [
        task(part, places[(places >= end - n) & (places < end)] - (end - n))
        for part, end, n in zip(X.to_delayed(), ends, lengths, strict=True)
    ]
    return stacked(list(computed(*parts)))


def _total(
    total: Callable[[Item], Any], empty: Any, place: str, start: int, *columns: Any
) -> Any:
    X, y, weight = columns
    return total(Item(X, y, weight, place, start)) if X.shape[0] else empty


def _delayed(values: LazyRows | None, n: int) -> Any:
    return [None] * n if values is None else values.chunks
