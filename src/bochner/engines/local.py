"""Rows of features for learners: kept under a memory budget, or made anew each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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
"""Features of one chunk: long enough for its products, short beside the budget."""

PASSING_BYTES = 16 << 20
"""Features of a chunk that is not kept: the next takes its place in memory, where a
larger one would be given fresh pages, which cost more than the features do."""


class Shares(NamedTuple):
    """Parts of the budget."""

    kept: float  # for features that stay from pass to pass
    sample: float  # for some of them, which choose a penalty and precondition
    copies: float  # for copies of the rows that curve


FITTING, STREAMED = Shares(0.65, 0.35, 0.35), Shares(0.1, 0.3, 0.6)
"""Where all features fit the first, and where they do not, and copies spare most passes
the making of features. A sample and copies share what the first leaves."""


@dataclass(frozen=True)
class RawFeatures:
    """Columns that learners read, φ(x) = `make`(x) · mixing.

    For most maps the columns are the features. Nyström features are k(x, L) U⁻¹: what
    is linear in them is linear in k(x, L), so learners multiply their coefficients by
    U⁻¹ instead of every row.
    """

    make: Callable[[Any], Any]
    n_columns: int
    dtype: np.dtype
    mixing: np.ndarray | None = None

    def to_columns(self, B: np.ndarray) -> np.ndarray:
        """Coefficients of the columns from those of the features."""
        return B if self.mixing is None else self.mixing.astype(np.float64) @ B


def raw_features(transformer: Any, X: Any) -> RawFeatures:
    """The columns of a fitted transformer, seen on rows like X."""
    if isinstance(transformer, Pipeline):
        before, last = transformer[:-1], transformer[-1]
        if hasattr(last, "feature_map_") and len(transformer) > 1:
            first = check_rows(before.transform(X[:1]), "features")
            inner = raw_features(last, first)
            return _after(before.transform, inner)
    width = getattr(transformer, "n_features_in_", X.shape[1])
    if width != X.shape[1]:  # compiled loops take the width on trust
        raise ValueError(
            f"{type(transformer).__name__}: the map was fitted on {width} columns, and "
            f"is given {X.shape[1]}."
        )
    feature_map = getattr(transformer, "feature_map_", None)
    make = _checked(transformer)
    if feature_map is not None:
        make = feature_map.astype(X.dtype)
    if isinstance(make, NystroemMap):
        columns = make.columns
        return RawFeatures(columns, columns.n_landmarks, X.dtype, make.mixing)
    first = make(X[:1])
    _check_floating(transformer, first)
    return RawFeatures(make, first.shape[1], np.result_type(first.dtype, np.float32))


def _after(before: Callable[[Any], Any], inner: RawFeatures) -> RawFeatures:
    make = inner.make
    return RawFeatures(
        lambda X: make(check_rows(before(X), "features")),
        inner.n_columns,
        inner.dtype,
        inner.mixing,
    )


def _checked(transformer: Any) -> Callable[[Any], Any]:
    """`transform` of a map that is not ours: floating, finite, an array or CSR."""

    def make(X: Any) -> Any:
        F = transformer.transform(X)
        _check_floating(transformer, F)
        return check_rows(F, type(transformer).__name__)

    return make


def _check_floating(transformer: Any, F: Any) -> None:
    kind = getattr(F, "dtype", None)
    if kind is not None and kind.kind in "iub":
        raise ValueError(
            f"{type(transformer).__name__} gives features of type {kind}; learners "
            "need floating ones (for integer codes ask the map for output='onehot', "
            "as in methods.maxout_codes(…, output='onehot'))."
        )


def feature_rows(
    source: Any,
    features: RawFeatures,
    budget: int,
    report: Report,
    checkpoint: Checkpoint,
) -> Any:
    """The feature rows of a source: at hand, or where the source is."""
    if hasattr(source, "feature_rows"):
        return source.feature_rows(features, budget, report)
    return FeatureRows(source, features, budget, report, checkpoint)


@dataclass
class KeptRows:
    """Feature rows held in memory."""

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
    """What feature rows of any source share: their sizes, and a sample of them."""

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

    def _drawn(self, n_rows: int, most: int) -> KeptRows:
        """Drawn once, at most so many: smaller ones are parts of the first."""
        if self._sample is None:
            places = Stream(0).child("sample").subset(self.n_rows, min(n_rows, most))
            block = self.source.take(places)
            F = self.features.make(block.X)
            self._sample = KeptRows(F, block.y, block.weight, self.mixing)
        return self._sample.sample(n_rows)


@dataclass
class FeatureRows(SourceRows):
    """Feature rows of a source: the first chunks kept, as far as the budget goes.

    Parameters
    ----------
    source : Source
    features : RawFeatures
    budget : int
        Bytes for features that are kept.
    report : Report
        Told how far a fold has come.
    checkpoint : Checkpoint
        Where a fold saves its state, and resumes from.
    """

    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(None))
    _kept: dict[int, Chunk] = field(default_factory=dict)
    _complete: bool = False
    _bytes: int = 0
    _buffer: np.ndarray | None = None

    def chunk_rows(self, size: int) -> int:
        """Rows whose features take about so many bytes, within the budget."""
        bytes_a_row = self.n_columns * self.dtype.itemsize
        return max(64, min(size, self.budget) // bytes_a_row)

    def chunks(self) -> Iterator[Chunk]:
        if self._complete:
            yield from self._kept.values()
            return
        size = CHUNK_BYTES if self._shares is FITTING else PASSING_BYTES
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
        """One pass that keeps nothing: `add` takes every chunk into what `start` gives.

        `start` takes the place of the first row. With a checkpoint file the state is
        saved between blocks, also where the next one cannot be read, and a fold that an
        earlier process did not complete is resumed.
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
        blocks = self.source.whole(done)
        while True:
            try:
                block = next(blocks, None)
            except Exception:
                self.checkpoint.save(**{name: (total, done, n_rows)})
                raise
            if block is None:
                pace.close()
                # the caller may change the total, which must not reach a later file
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
        return self._drawn(n_rows, self._fitting_rows(self._shares.sample))

    @property
    def _shares(self) -> Shares:
        whole = self.n_rows * self.n_columns * self.dtype.itemsize
        return FITTING if whole <= FITTING.kept * self.budget else STREAMED

    def _fitting_rows(self, share: float) -> int:
        bytes_a_row = self.n_columns * self.dtype.itemsize
        return max(64, int(share * self.budget / bytes_a_row))

    def narrowed(self, masks: list[np.ndarray]) -> KeptRows | None:
        n = sum(int(mask.sum()) for mask in masks)
        if n > self._fitting_rows(self._shares.copies):
            return None
        F, start = self._room(n), 0
        for chunk, mask in zip(self.chunks(), masks, strict=True):
            if sparse.issparse(chunk.F):
                return None
            stop = start + int(mask.sum())
            np.take(chunk.F, np.flatnonzero(mask), 0, out=F[start:stop], mode="clip")
            start = stop
        # targets are not asked for again where only curvature counts
        return KeptRows(F, np.empty(n), None, self.mixing)

    def _room(self, n: int) -> np.ndarray:
        """A buffer for n rows; one for all, as each replaces the one before."""
        if self._buffer is None or len(self._buffer) < n:
            self._buffer = np.empty((n, self.n_columns), dtype=self.dtype)
        return self._buffer[:n]
