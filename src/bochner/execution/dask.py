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

from .._lazy import tree_reduced
from .._progress import Pace, Report, silent
from .._version import __version__
from ..linear import passes
from ..linear.losses import Loss
from ..linear.rows import Chunk
from .features import (
    FITTING,
    PASSING_BYTES,
    FeatureRows,
    KeptRows,
    RawFeatures,
    SourceRows,
)
from .sources import ArraySource, Block, validated
from .stream import Item

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
                value, slope, _ = passes.chunk_derivative(loss, chunk, B)
                values, slopes = values + value, slopes + slope
            return [values, slopes]

        values, slopes = self.summed(step)
        return RemoteDerivative(self, loss, B, values, slopes)

    def values_along(self, loss: Loss, both: np.ndarray) -> np.ndarray:
        def step(rows: Any, place: int) -> list[np.ndarray]:
            return [passes.values_along(rows, loss, both)]

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

    def curved(self, Q: np.ndarray) -> np.ndarray:
        loss, B = self.loss, self.B

        def step(rows: Any, place: int) -> list[np.ndarray]:
            out = np.zeros_like(Q)
            for chunk in rows.chunks():
                bent = passes.chunk_curvature(loss, chunk, B)
                out += passes.chunk_curved(loss, chunk, bent, Q)
            return [out]

        return self.rows.summed(step)[0]

    def hessian(self, k: int) -> np.ndarray:
        loss, B, size = self.loss, self.B, len(self.slopes)

        def step(rows: Any, place: int) -> list[np.ndarray]:
            H = np.zeros((size, size), order="F")
            for chunk in rows.chunks():
                bent = passes.chunk_curvature(loss, chunk, B)
                passes.add_hessian(H, chunk, bent[:, k], rows.mixing)
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
