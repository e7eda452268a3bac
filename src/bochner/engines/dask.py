"""Dask: rows on many machines, sums of them by tree reduction.

Every pass of a learner is one graph: a task a partition, which validates its rows,
makes their features chunk by chunk and adds them up, and a tree of tasks that merges
the sums, eight at a time, in an order that is always the same. What comes to the client
are the sums, and rows that were asked for by place (samples of at most 8192, and what
the map is fitted on). Lost tasks are made again by Dask itself, so a worker that dies
costs time alone.

Ridge and principal components take one pass. The hinge, the logistic loss and ridge
past 8192 features are solved by the same Newton steps as on one machine, a pass for
every conjugate-gradient step: some tens of passes, each with the latency of a graph.
Features are kept on the workers between passes where they fit the budget of all of
them; persist X on the cluster, or every pass reads it again.
"""

from __future__ import annotations

import contextlib
import copy
import sys
import uuid
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import dask
import numpy as np

from .._core.progress import Pace, Report, silent
from .._core.remote_rows import LazyRows, LazyWeights, alongside, as_array, tree_reduced
from .._core.version import __version__
from ..data.stream import Item
from ..solvers import newton
from ..solvers.losses import Loss
from ..solvers.rows import Chunk
from .local import (
    FITTING,
    PASSING_BYTES,
    FeatureRows,
    KeptRows,
    RawFeatures,
    SourceRows,
)
from .sources import ArraySource, Block, validated

T = TypeVar("T")

SENT_ROWS = 8192
"""Rows that come to the client as a sample, at most."""


@dataclass
class DaskRows(SourceRows):
    """Feature rows on the workers: passes over them are tree reductions.

    Parameters
    ----------
    source : DaskSource
    features : RawFeatures
    budget : int
        Bytes for features that are kept, on each worker.
    report : Report
        Told how far a fold has come.
    """

    _held: list[Any] | None = None
    _making: Any = field(default=None, repr=False)

    def chunks(self) -> Iterator[Chunk]:
        raise TypeError("rows on Dask workers are not walked by the client.")

    def narrowed(self, masks: list[np.ndarray]) -> None:
        """They stay where they are."""

    def fold(self, start: Callable[[int], T], add: Callable[[T, Chunk], None]) -> T:
        def step(rows: Any, place: int) -> T:
            total = start(place)
            for chunk in rows.chunks():
                add(total, chunk)
            return total

        return _reduced(self._making_tasks(step, self.report), _merged)

    def differentiate(self, loss: Loss, B: np.ndarray) -> RemoteDerivative:
        def step(rows: Any, place: int) -> list[np.ndarray]:
            values, slopes = np.zeros(B.shape[1]), np.zeros(B.shape)
            for chunk in rows.chunks():
                value, slope, _ = newton.chunk_derivative(loss, chunk, B)
                values, slopes = values + value, slopes + slope
            return [values, slopes]

        values, slopes = self.summed(step)
        return RemoteDerivative(self, loss, B, values, slopes)

    def values_along(self, loss: Loss, both: np.ndarray) -> np.ndarray:
        def step(rows: Any, place: int) -> list[np.ndarray]:
            return [newton.values_along(rows, loss, both)]

        return self.summed(step)[0]

    def summed(self, step: Callable[[Any, int], list[np.ndarray]]) -> list[np.ndarray]:
        """Σ over partitions of what `step` gives for their rows."""
        return _reduced(self._holding_tasks(step), _added)

    def sample(self, n_rows: int) -> KeptRows:
        return self._drawn(n_rows, SENT_ROWS)

    @contextlib.contextmanager
    def _making_tasks(self, step: Any, report: Report) -> Iterator[list[Any]]:
        """A task a partition that makes its features chunk by chunk."""
        with _followed(report, self.n_rows) as topic:
            making = self._constant()
            task = dask.delayed(_made_and_walked, pure=False)
            step = _constant(step)
            yield [
                task(step, making, topic, p.place, *p.columns)
                for p in self.source.partitions
            ]

    @contextlib.contextmanager
    def _holding_tasks(self, step: Any) -> Iterator[list[Any]]:
        """The same on features that are kept from pass to pass, where they fit."""
        whole = self.n_rows * self.n_columns * self.dtype.itemsize
        if whole > FITTING.kept * self.budget * _n_workers():
            with self._making_tasks(step, silent) as tasks:
                yield tasks
            return
        if self._held is None:
            task, making = dask.delayed(_kept, pure=False), self._constant()
            made = [task(making, *p.columns) for p in self.source.partitions]
            self._held = list(_quietly(dask.persist, *made))
        walk = dask.delayed(_walked, pure=False)
        step = _constant(step)
        places = [p.place for p in self.source.partitions]
        yield [walk(step, r, p) for r, p in zip(self._held, places, strict=True)]

    def _constant(self) -> Any:
        """What makes features, as one node of the graph: sent once, not per task."""
        if self._making is None:
            making = Making(__version__, self.features, self.source.validate)
            self._making = _constant(making)
        return self._making


@dataclass
class RemoteDerivative:
    """The derivative of rows on workers, which find their curvature anew each pass."""

    rows: DaskRows
    loss: Loss
    B: np.ndarray
    values: np.ndarray
    slopes: np.ndarray

    def hessian_product(self, Q: np.ndarray) -> np.ndarray:
        loss, B = self.loss, self.B

        def step(rows: Any, place: int) -> list[np.ndarray]:
            out = np.zeros_like(Q)
            for chunk in rows.chunks():
                bent = newton.chunk_curvature(loss, chunk, B)
                out += newton.chunk_hessian_product(loss, chunk, bent, Q)
            return [out]

        return self.rows.summed(step)[0]

    def hessian(self, k: int) -> np.ndarray:
        loss, B, size = self.loss, self.B, len(self.slopes)

        def step(rows: Any, place: int) -> list[np.ndarray]:
            H = np.zeros((size, size), order="F")
            for chunk in rows.chunks():
                bent = newton.chunk_curvature(loss, chunk, B)
                newton.add_hessian(H, chunk, bent[:, k], rows.mixing)
            return [H]

        return self.rows.summed(step)[0]


@dataclass(frozen=True)
class Making:
    """How a worker makes features of its rows, and which bochner it must have."""

    version: str
    features: RawFeatures
    validate: Callable[[Any, Any, Any], Block]

    def block(self, X: Any, y: Any, weight: Any, name: str, start: int = 0) -> Block:
        """Validated rows."""
        if self.version != __version__:
            raise _other_version("Dask worker", __version__, self.version)
        return validated(Item(X, y, weight, name, start), self.validate)


def _reduced(tasks: Any, merge: Callable[[list[Any]], Any]) -> Any:
    """The result of merging what tasks give, few at a time."""
    with tasks as parts:
        return computed(tree_reduced(parts, merge))[0]


def merged_tasks(tasks: list[Any]) -> Any:
    """The merged total of those that tasks give; only that comes to the client."""
    return _reduced(contextlib.nullcontext(tasks), _merged)


def _constant(value: Any) -> Any:
    """A value as one node of a graph."""
    return dask.delayed(value, pure=False, traverse=False)


def _made_and_walked(
    step: Callable[[Any, int], Any],
    making: Making,
    topic: str | None,
    place: int,
    *columns: Any,
) -> Any:
    block = making.block(*columns)
    rows = FeatureRows(ArraySource(*block), making.features, PASSING_BYTES)
    found = step(rows, place)
    _tell(topic, block.X.shape[0])
    return found


def _kept(making: Making, *columns: Any) -> KeptRows:
    X, y, weight = making.block(*columns)
    return KeptRows(making.features.make(X), y, weight, making.features.mixing)


def _walked(step: Callable[[Any, int], Any], rows: KeptRows, place: int) -> Any:
    return step(rows, place)


def _merged(totals: list[Any]) -> Any:
    """One total of all; those given stay as they are, for a task may run again."""
    merged = copy.deepcopy(totals[0])
    for other in totals[1:]:
        merged.merge(other)
    return merged


def _added(parts: list[list[np.ndarray]]) -> list[np.ndarray]:
    return [np.sum(part, axis=0) for part in zip(*parts, strict=True)]


def computed(*tasks: Any) -> tuple[Any, ...]:
    """What tasks give, at the client."""
    return _quietly(dask.compute, *tasks)


def _quietly(function: Callable, *arguments: Any) -> Any:
    with warnings.catch_warnings():
        # a map is a large constant, and one node: it travels once a worker
        warnings.filterwarnings("ignore", message="Sending large graph")
        return function(*arguments)


def _client() -> Any:
    """The distributed client in use, if there is one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


def check_workers() -> None:
    """Refuse workers of a cluster that have another bochner, before any work."""
    client = _client()
    if client is None:
        return

    def version() -> str:  # pickled by value: it needs nothing of ours on a worker
        import importlib

        try:
            return importlib.import_module("bochner").__version__
        except ImportError as error:
            return f"none ({error})"

    for worker, found in client.run(version).items():
        if found != __version__:
            raise _other_version(f"Dask worker {worker}", found, __version__)


def _other_version(where: str, found: str, wanted: str) -> RuntimeError:
    return RuntimeError(
        f"bochner {found} on the {where}, and {wanted} on the client; install the same "
        "version on all of them."
    )


def _n_workers() -> int:
    client = _client()
    return 1 if client is None else max(1, len(client.ncores()))


@contextlib.contextmanager
def _followed(report: Report, n_rows: int) -> Iterator[str | None]:
    """A topic that workers tell of rows they are done with, followed by a report."""
    client = None if report is silent else _client()
    pace = Pace(report, n_rows)
    if client is None:
        yield None
    else:
        topic = f"bochner-{uuid.uuid4().hex}"
        client.subscribe_topic(topic, lambda event: pace.add(event[1]))
        try:
            yield topic
        finally:
            client.unsubscribe_topic(topic)
    pace.close(n_rows)


def _tell(topic: str | None, n_rows: int) -> None:
    if topic is not None:
        from distributed import get_worker

        get_worker().log_event(topic, n_rows)


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


def _total(
    total: Callable[[Item], Any], empty: Any, place: str, start: int, *columns: Any
) -> Any:
    X, y, weight = columns
    return total(Item(X, y, weight, place, start)) if X.shape[0] else empty


def _delayed(values: LazyRows | None, n: int) -> Any:
    return [None] * n if values is None else values.chunks
