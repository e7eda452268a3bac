"""Feature rows on this machine: kept in memory, or recomputed in every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from .._core.progress import Pace, Report, silent
from .._core.random import Stream
from .._core.validation import check_rows
from ..features.nystroem import NystroemMap
from ..solvers import newton
from ..solvers.losses import Loss
from ..solvers.newton import Derivative
from ..solvers.rows import Chunk
from .checkpoint import Checkpoint, is_like
from .sources import ArraySource

T = TypeVar("T")

CHUNK_BYTES = 128 << 20
"""Size of a chunk that is kept: large enough for fast products, small compared with
the budget."""

PASSING_BYTES = 16 << 20
"""Size of a chunk that is not kept. The next chunk reuses its memory; a larger chunk
would get fresh pages from the system, which cost more than the features themselves."""


class Shares(NamedTuple):
    """Shares of the memory budget."""

    kept: float  # for features that stay in memory between passes
    sample: float  # for sampled rows, which choose the penalty and precondition
    copies: float  # for copies of the rows whose loss has curvature


IN_MEMORY, STREAMED = Shares(0.65, 0.35, 0.35), Shares(0.1, 0.3, 0.6)
"""Shares if all features fit into IN_MEMORY.kept, and if they do not. In the second
case most passes read the copies of rows, and so do not compute features. The sample and
the copies share the memory that kept features leave."""


@dataclass(frozen=True)
class RawFeatures:
    """The columns that learners read; the features are φ(x) = `make`(x) · mixing.

    For most maps the columns are the features, and `mixing` is None. Nyström features
    are k(x, L) U⁻¹ with landmarks L: a linear function of them is a linear function of
    k(x, L), so learners multiply their coefficients by U⁻¹ instead of every row.
    """

    make: Callable[[Any], Any]
    n_columns: int
    dtype: np.dtype
    mixing: np.ndarray | None = None

    def to_columns(self, B: np.ndarray) -> np.ndarray:
        """Coefficients of the columns, from coefficients B of the features."""
        return B if self.mixing is None else self.mixing.astype(np.float64) @ B


def raw_features(transformer: Any, X: Any) -> RawFeatures:
    """The columns of a fitted transformer for rows of the type of X."""
    if isinstance(transformer, Pipeline):
        steps, last = transformer[:-1], transformer[-1]
        if hasattr(last, "feature_map_") and len(transformer) > 1:
            first = check_rows(steps.transform(X[:1]), "features")
            return _after_steps(steps.transform, raw_features(last, first))
    width = getattr(transformer, "n_features_in_", X.shape[1])
    if width != X.shape[1]:  # compiled loops do not check the width
        raise ValueError(
            f"{type(transformer).__name__}: the map was fitted on {width} columns; X "
            f"has {X.shape[1]}. Pass rows with the columns of the fit."
        )
    feature_map = getattr(transformer, "feature_map_", None)
    make = _checked_transform(transformer)
    if feature_map is not None:
        make = feature_map.astype(X.dtype)
    if isinstance(make, NystroemMap):
        columns = make.columns
        return RawFeatures(columns, columns.n_landmarks, X.dtype, make.mixing)
    first = make(X[:1])
    _check_floating(transformer, first)
    return RawFeatures(make, first.shape[1], np.result_type(first.dtype, np.float32))


def _after_steps(transform: Callable[[Any], Any], features: RawFeatures) -> RawFeatures:
    """The same columns for rows that earlier steps of a pipeline transform first."""
    make = features.make
    return replace(features, make=lambda X: make(check_rows(transform(X), "features")))


def _checked_transform(transformer: Any) -> Callable[[Any], Any]:
    """`transform` of a foreign map; its output must be finite floats, dense or CSR."""

    def make(X: Any) -> Any:
        F = transformer.transform(X)
        _check_floating(transformer, F)
        return check_rows(F, type(transformer).__name__)

    return make


def _check_floating(transformer: Any, F: Any) -> None:
    dtype = getattr(F, "dtype", None)
    if dtype is not None and dtype.kind in "iub":
        raise ValueError(
            f"{type(transformer).__name__} returns features of type {dtype}; learners "
            "need floating-point features. For integer codes pass output='onehot' to "
            "the map, as in methods.maxout_codes(…, output='onehot')."
        )


def feature_rows(
    source: Any,
    features: RawFeatures,
    budget: int,
    report: Report,
    checkpoint: Checkpoint,
) -> Any:
    """The feature rows of a source: on this machine, or on Dask workers."""
    if hasattr(source, "feature_rows"):
        return source.feature_rows(features, budget, report)
    return FeatureRows(source, features, budget, report, checkpoint)


@dataclass
class KeptRows:
    """Feature rows in memory."""

    F: Any
    y: np.ndarray
    weight: np.ndarray | None
    mixing: np.ndarray | None

    @property
    def n_rows(self) -> int:
        return self.F.shape[0]

    @property
    def n_columns(self) -> int:
        return self.F.shape[1]

    @property
    def dtype(self) -> np.dtype:
        return self.F.dtype

    def chunks(self) -> Iterator[Chunk]:
        if self.n_rows:
            yield Chunk(self.F, self.y, self.weight)

    def fold(self, start: Callable[[int], T], add: Callable[[T, Chunk], None]) -> T:
        total = start(0)
        for chunk in self.chunks():
            add(total, chunk)
        return total

    def differentiate(self, loss: Loss, B: np.ndarray) -> Derivative:
        return newton.differentiate(self, loss, B)

    def values_along(self, loss: Loss, both: np.ndarray) -> np.ndarray:
        return newton.values_along(self, loss, both)

    def take(self, places: np.ndarray) -> KeptRows:
        weight = None if self.weight is None else self.weight[places]
        return KeptRows(self.F[places], self.y[places], weight, self.mixing)

    def sample(self, n_rows: int) -> KeptRows:
        if n_rows >= self.n_rows:
            return self
        return self.take(Stream(0).child("sample").subset(self.n_rows, n_rows))

    def narrowed(self, masks: list[np.ndarray]) -> KeptRows | None:
        return self.take(np.flatnonzero(masks[0]))


@dataclass
class SourceRows:
    """The common part of feature rows of any source: their sizes, and a sample."""

    source: Any
    features: RawFeatures
    budget: int
    report: Report = silent
    _sample: KeptRows | None = field(default=None, kw_only=True)

    @property
    def n_rows(self) -> int:
        return self.source.n_rows

    @property
    def n_columns(self) -> int:
        return self.features.n_columns

    @property
    def dtype(self) -> np.dtype:
        return self.features.dtype

    @property
    def mixing(self) -> np.ndarray | None:
        return self.features.mixing

    def _sample_rows(self, n_rows: int, limit: int) -> KeptRows:
        """At most `limit` random rows. Later samples are taken from the first one."""
        if self._sample is None:
            places = Stream(0).child("sample").subset(self.n_rows, min(n_rows, limit))
            block = self.source.take(places)
            F = self.features.make(block.X)
            self._sample = KeptRows(F, block.y, block.weight, self.mixing)
        return self._sample.sample(n_rows)


@dataclass
class FeatureRows(SourceRows):
    """Feature rows of a source; the budget decides how many chunks stay in memory.

    Parameters
    ----------
    source : Source
        The rows.
    features : RawFeatures
        The columns to compute.
    budget : int
        Bytes for features that are kept, and for samples and copies of rows.
    report : Report, optional
        Called with the progress of a fold.
    checkpoint : Checkpoint, optional
        The file in which a fold saves its state, and from which it resumes.
    """

    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(None))
    _kept: dict[int, Chunk] = field(default_factory=dict)
    _complete: bool = False
    _bytes: int = 0
    _buffer: np.ndarray | None = None

    def chunk_rows(self, size: int) -> int:
        """Rows whose features take about `size` bytes, and at most the budget."""
        bytes_per_row = self.n_columns * self.dtype.itemsize
        return max(64, min(size, self.budget) // bytes_per_row)

    def chunks(self) -> Iterator[Chunk]:
        if self._complete:
            yield from self._kept.values()
            return
        size = CHUNK_BYTES if self._shares is IN_MEMORY else PASSING_BYTES
        i = -1
        for i, block in enumerate(self.source.blocks(self.chunk_rows(size))):
            if i in self._kept:
                yield self._kept[i]
                continue
            chunk = Chunk(self.features.make(block.X), block.y, block.weight)
            self._keep(i, chunk)
            yield chunk
        self._complete = len(self._kept) == i + 1

    def fold(self, start: Callable[[int], T], add: Callable[[T, Chunk], None]) -> T:
        """One pass that keeps no features: `add` adds every chunk to `start(0)`.

        `start` receives the position of the first row. With a checkpoint file the state
        is saved between blocks, also if the next block cannot be read, and a fold that
        an earlier process did not complete is resumed.
        """
        name = self.checkpoint.fold_name()
        fresh = start(0)
        total, done, n_rows = self.checkpoint.get(name, (fresh, 0, 0))
        if not is_like(total, fresh):
            raise self.checkpoint.refused(f"{name!r} has another form than this fit's")
        if done:
            self.report(f"resumed after {done} blocks, {n_rows:,} rows")
        pace = Pace(self.report, self.source.about_rows, n_rows)
        rows = self.chunk_rows(PASSING_BYTES)
        blocks = self.source.stored_blocks(done)
        while True:
            try:
                block = next(blocks, None)
            except Exception:
                self.checkpoint.save(**{name: (total, done, n_rows)})
                raise
            if block is None:
                pace.close()
                # later changes of the total by the caller must not get into the file
                self.checkpoint.forget(name)
                return total
            for part in ArraySource(*block).blocks(rows):
                F = self.features.make(part.X)
                add(total, Chunk(F, part.y, part.weight))
                pace.add(len(part.y))
            done, n_rows = done + 1, n_rows + block.X.shape[0]
            self.checkpoint.tick(**{name: (total, done, n_rows)})

    def _keep(self, i: int, chunk: Chunk) -> None:
        F = chunk.F
        parts = (F.data, F.indices, F.indptr) if sparse.issparse(F) else (F,)
        size = sum(part.nbytes for part in parts)
        if self._bytes + size <= self._shares.kept * self.budget:
            self._kept[i] = chunk
            self._bytes += size

    def differentiate(self, loss: Loss, B: np.ndarray) -> Derivative:
        return newton.differentiate(self, loss, B)

    def values_along(self, loss: Loss, both: np.ndarray) -> np.ndarray:
        return newton.values_along(self, loss, both)

    def sample(self, n_rows: int) -> KeptRows:
        return self._sample_rows(n_rows, self._rows_in_share(self._shares.sample))

    @property
    def _shares(self) -> Shares:
        n_bytes = self.n_rows * self.n_columns * self.dtype.itemsize
        return IN_MEMORY if n_bytes <= IN_MEMORY.kept * self.budget else STREAMED

    def _rows_in_share(self, share: float) -> int:
        """Rows whose features fit into a share of the budget."""
        bytes_per_row = self.n_columns * self.dtype.itemsize
        return max(64, int(share * self.budget / bytes_per_row))

    def narrowed(self, masks: list[np.ndarray]) -> KeptRows | None:
        n = sum(int(mask.sum()) for mask in masks)
        if n > self._rows_in_share(self._shares.copies):
            return None
        F, start = self._row_buffer(n), 0
        for chunk, mask in zip(self.chunks(), masks, strict=True):
            if sparse.issparse(chunk.F):
                return None
            stop = start + int(mask.sum())
            np.take(chunk.F, np.flatnonzero(mask), 0, out=F[start:stop], mode="clip")
            start = stop
        # the copies serve products with the Hessian, which do not read targets
        return KeptRows(F, np.empty(n), None, self.mixing)

    def _row_buffer(self, n: int) -> np.ndarray:
        """A buffer for n rows, which is reused: new copies replace the last ones."""
        if self._buffer is None or len(self._buffer) < n:
            self._buffer = np.empty((n, self.n_columns), dtype=self.dtype)
        return self._buffer[:n]
