"""Feature rows on Dask workers, reduced to sums by trees of tasks.

Every pass of a learner is one graph. It has one task per partition, which validates its
rows, computes their features chunk by chunk and sums them, and a tree of tasks that
merges the sums, eight at a time, always in the same order. Only the sums come to the
client, and rows that are requested by position: samples of at most 8192 rows, and the
rows that the map is fitted on. Dask repeats lost tasks, so a worker that dies costs
time but changes no result.

Ridge regression and principal components need one pass. The hinge loss, the logistic
loss and ridge regression with more than 8192 features are solved by the same Newton
steps as on one machine. Every conjugate-gradient step is a pass, so there are some tens
of passes, each with the latency of a graph. Features are kept on the workers between
passes if they fit the budgets of all workers. Persist X on the cluster; otherwise every
pass reads it again.
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
    IN_MEMORY,
    PASSING_BYTES,
    FeatureRows,
    KeptRows,
    RawFeatures,
    SourceRows,
)
from .sources import ArraySource, Block, validated

T = TypeVar("T")

SENT_ROWS = 8192
"""Most rows of a sample that is sent to the client."""


@dataclass
class DaskRows(SourceRows):
    """Feature rows on the workers: passes over them are tree reductions.

    Parameters
    ----------
    source : DaskSource
        The rows.
    features : RawFeatures
        The columns to compute.
    budget : int
        Bytes on each worker for features that are kept.
    report : Report, optional
        Called with the progress of a fold.
    """

    _kept: list[Any] | None = None
    _recipe: Any = field(default=None, repr=False)

    def chunks(self) -> Iterator[Chunk]:
        raise TypeError("The client cannot iterate over rows on Dask workers.")

    def narrowed(self, masks: list[np.ndarray]) -> None:
        """None: rows on workers are not copied."""

    def fold(self, start: Callable[[int], T], add: Callable[[T, Chunk], None]) -> T:
        def step(rows: Any, place: int) -> T:
            total = start(place)
            for chunk in rows.chunks():
                add(total, chunk)
            return total

        return _reduce(self._recomputing_tasks(step, self.report), _merge)

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
        """Σ over partitions of step(rows, position of the first row)."""
        return _reduce(self._keeping_tasks(step), _add)

    def sample(self, n_rows: int) -> KeptRows:
        return self._sample_rows(n_rows, SENT_ROWS)

    @contextlib.contextmanager
    def _recomputing_tasks(self, step: Any, report: Report) -> Iterator[list[Any]]:
        """One task per partition, which computes its features chunk by chunk."""
        with _progress_topic(report, self.n_rows) as topic:
            recipe = self._recipe_node()
            task = dask.delayed(_run_on_new_features, pure=False)
            step = _node(step)
            yield [
                task(step, recipe, topic, p.place, *p.columns)
                for p in self.source.partitions
            ]

    @contextlib.contextmanager
    def _keeping_tasks(self, step: Any) -> Iterator[list[Any]]:
        """One task per partition, on features that workers keep if they fit."""
        n_bytes = self.n_rows * self.n_columns * self.dtype.itemsize
        if n_bytes > IN_MEMORY.kept * self.budget * _n_workers():
            with self._recomputing_tasks(step, silent) as tasks:
                yield tasks
            return
        if self._kept is None:
            task, recipe = (
                dask.delayed(_compute_features, pure=False),
                self._recipe_node(),
            )
            features = [task(recipe, *p.columns) for p in self.source.partitions]
            self._kept = list(_without_size_warning(dask.persist, *features))
        run = dask.delayed(_run, pure=False)
        step = _node(step)
        places = [p.place for p in self.source.partitions]
        yield [run(step, r, p) for r, p in zip(self._kept, places, strict=True)]

    def _recipe_node(self) -> Any:
        """The recipe as one node of the graph, which is not sent with every task."""
        if self._recipe is None:
            recipe = FeatureRecipe(__version__, self.features, self.source.validate)
            self._recipe = _node(recipe)
        return self._recipe


@dataclass
class RemoteDerivative:
    """The derivative of a loss on workers, which recompute curvatures in every pass."""

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
                curvature = newton.chunk_curvature(loss, chunk, B)
                out += newton.chunk_hessian_product(loss, chunk, curvature, Q)
            return [out]

        return self.rows.summed(step)[0]

    def hessian(self, k: int) -> np.ndarray:
        loss, B, size = self.loss, self.B, len(self.slopes)

        def step(rows: Any, place: int) -> list[np.ndarray]:
            H = np.zeros((size, size), order="F")
            for chunk in rows.chunks():
                curvature = newton.chunk_curvature(loss, chunk, B)
                newton.add_hessian(H, chunk, curvature[:, k], rows.mixing)
            return [H]

        return self.rows.summed(step)[0]


@dataclass(frozen=True)
class FeatureRecipe:
    """How a worker computes features, and the version of bochner that it must have."""

    version: str
    features: RawFeatures
    validate: Callable[[Any, Any, Any], Block]

    def block(self, X: Any, y: Any, weight: Any, name: str, start: int = 0) -> Block:
        """The validated block of a partition."""
        if self.version != __version__:
            raise _version_error("Dask worker", __version__, self.version)
        return validated(Item(X, y, weight, name, start), self.validate)


def _reduce(tasks: Any, merge: Callable[[list[Any]], Any]) -> Any:
    """The results of tasks merged by a tree; `tasks` is a context manager."""
    with tasks as parts:
        return computed(tree_reduced(parts, merge))[0]


def merged_tasks(tasks: list[Any]) -> Any:
    """The merged total of the tasks; only this total comes to the client."""
    return _reduce(contextlib.nullcontext(tasks), _merge)


def _node(value: Any) -> Any:
    """A value as one node of a graph: it is sent once to a worker."""
    return dask.delayed(value, pure=False, traverse=False)


def _run_on_new_features(
    step: Callable[[Any, int], Any],
    recipe: FeatureRecipe,
    topic: str | None,
    place: int,
    *columns: Any,
) -> Any:
    block = recipe.block(*columns)
    rows = FeatureRows(ArraySource(*block), recipe.features, PASSING_BYTES)
    result = step(rows, place)
    _log_progress(topic, block.X.shape[0])
    return result


def _compute_features(recipe: FeatureRecipe, *columns: Any) -> KeptRows:
    X, y, weight = recipe.block(*columns)
    return KeptRows(recipe.features.make(X), y, weight, recipe.features.mixing)


def _run(step: Callable[[Any, int], Any], rows: KeptRows, place: int) -> Any:
    return step(rows, place)


def _merge(totals: list[Any]) -> Any:
    """The merged total. The inputs stay unchanged, because a task may run again."""
    merged = copy.deepcopy(totals[0])
    for other in totals[1:]:
        merged.merge(other)
    return merged


def _add(parts: list[list[np.ndarray]]) -> list[np.ndarray]:
    return [np.sum(part, axis=0) for part in zip(*parts, strict=True)]


def computed(*tasks: Any) -> tuple[Any, ...]:
    """The results of tasks, sent to the client."""
    return _without_size_warning(dask.compute, *tasks)


def _without_size_warning(function: Callable, *arguments: Any) -> Any:
    with warnings.catch_warnings():
        # a map is large, but it is one node and sent once to every worker
        warnings.filterwarnings("ignore", message="Sending large graph")
        return function(*arguments)


def _client() -> Any:
    """The current client of dask.distributed, or None."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


def check_workers() -> None:
    """Refuse a cluster whose workers have another version of bochner."""
    client = _client()
    if client is None:
        return

    def version() -> str:  # pickled by value, so it runs without bochner
        import importlib

        try:
            return importlib.import_module("bochner").__version__
        except ImportError as error:
            return f"none ({error})"

    for worker, installed in client.run(version).items():
        if installed != __version__:
            raise _version_error(f"Dask worker {worker}", installed, __version__)


def _version_error(worker: str, installed: str, required: str) -> RuntimeError:
    return RuntimeError(
        f"bochner {installed} is installed on the {worker}, and {required} on the "
        "client; install the same version on all of them."
    )


def _n_workers() -> int:
    client = _client()
    return 1 if client is None else max(1, len(client.ncores()))


@contextlib.contextmanager
def _progress_topic(report: Report, n_rows: int) -> Iterator[str | None]:
    """A topic on which workers log finished rows, which are passed on to `report`."""
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


def _log_progress(topic: str | None, n_rows: int) -> None:
    if topic is not None:
        from distributed import get_worker

        get_worker().log_event(topic, n_rows)


@dataclass(frozen=True)
class Partition:
    """One chunk of rows with targets and weights, not yet computed."""

    X: Any
    y: Any
    weight: Any
    name: str  # for messages
    start: int  # number of rows before the partition
    place: int  # position of its first row among all rows of positive weight

    @property
    def columns(self) -> tuple[Any, Any, Any, str, int]:
        """The arguments of `FeatureRecipe.block`."""
        return self.X, self.y, self.weight, self.name, self.start


@dataclass(frozen=True)
class DaskSource:
    """Rows of Dask collections, which stay on the workers."""

    X: LazyRows
    y: LazyRows | None
    weight: LazyWeights | None
    partitions: tuple[Partition, ...]
    validate: Callable[[Any, Any, Any], Block]
    like: Any = None  # an empty frame with the columns of X, if X is a frame

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
        """Feature rows on the workers that hold the rows."""
        return DaskRows(self, features, budget, report)

    def summaries(self, summarise: Callable[[Any, Any], Any]) -> list[Any]:
        """`summarise(y, weight)` of every partition."""
        task = dask.delayed(summarise, pure=False)
        return list(computed(*(task(p.y, p.weight) for p in self.partitions)))


def dask_source(
    owner: str, X: Any, y: Any, weight: Any, validate: Callable[[Any, Any, Any], Block]
) -> DaskSource:
    """The source of a Dask array or frame X with targets and weights."""
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
    """The merged totals of all partitions, each of which a worker computes.

    `empty` is the total of a partition without rows.
    """
    check_workers()
    array = as_array(X)
    chunks = array.chunks[0]
    aligned = [
        None if values is None else LazyRows(alongside(owner, name, values, array))
        for name, values in (("y", y), ("sample_weight", weight))
    ]
    rows = X.to_delayed() if hasattr(X, "columns") else array.to_delayed().ravel()
    task = dask.delayed(_total, pure=False)
    node = _node(total)  # it holds a model, which is not sent with every task
    ends = np.cumsum(chunks)
    columns = rows, *(_delayed(values, len(chunks)) for values in aligned)
    return merged_tasks(
        [
            task(node, empty, f"rows {end - n + 1} to {end}", int(end - n), *values)
            for end, n, *values in zip(ends, chunks, *columns, strict=True)
        ]
    )


def _total(
    total: Callable[[Item], Any], empty: Any, place: str, start: int, *columns: Any
) -> Any:
    X, y, weight = columns
    return total(Item(X, y, weight, place, start)) if X.shape[0] else empty


def _delayed(values: LazyRows | None, n: int) -> Any:
    """The n chunks of the values, or n times None."""
    return [None] * n if values is None else values.chunks
