"""Dask collections as rows that stay where they are.

Maps read little of the rows that they are fitted on: their number, some of them by
place, their variance. `LazyRows` gives just that of a Dask array, so that nothing else
moves. The client holds the rows that it asked for and a few numbers per chunk, never an
array of one entry per row: weights, too, stay in the chunks, and a place among the rows
of positive weight is a chunk and a rank in it. Learners have `engines/dask.py`.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .random import Stream, earliest
from .spread import spread_of
from .validation import FLOATS, check_storage, check_unmasked, check_weight_range


def taken_rows(chunk: Any, weight: Any, ranks: np.ndarray) -> Any:
    """Rows of a chunk by their ranks among those of positive weight."""
    return check_storage(chunk)[_in_chunk(weight, ranks)]


def array_places(start: int, weight: Any, ranks: np.ndarray) -> np.ndarray:
    """Places in the array of rows of a chunk, given its start and their ranks."""
    return start + _in_chunk(weight, ranks)


def _in_chunk(weight: Any, ranks: np.ndarray) -> np.ndarray:
    return ranks if weight is None else np.flatnonzero(weight)[ranks]


def weight_range(weight: Any) -> tuple[float, float, int]:
    """The least and the largest weight of a chunk, and how many are positive."""
    check_unmasked("sample_weight", weight)
    weight = check_array(
        weight,
        ensure_2d=False,
        dtype=np.float64,
        ensure_min_samples=0,
        input_name="sample_weight",
    )
    count = int(np.count_nonzero(weight))
    return float(weight.min(initial=np.inf)), float(weight.max(initial=0)), count


def first_arrivals(
    weight: Any, stream: Stream, start: int, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Arrival times and places of the first k rows of a chunk to arrive."""
    times = stream.arrivals(weight[weight > 0], int(start))
    first = earliest(times, k)
    return times[first], start + first


def merged_arrivals(
    k: int, parts: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """The same of several chunks."""
    times, places = (np.concatenate(part) for part in zip(*parts, strict=True))
    first = earliest(times, k)
    return times[first], places[first]


def entry_spread(X: Any, weight: Any, equal: bool) -> tuple[float, float, float]:
    """Σw, mean and Σw(x − mean)² over the entries of a chunk.

    `equal`: rows count once each, if their weight is positive.
    """
    n, d = X.shape
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    w = (w > 0).astype(np.float64) if equal else w
    size = d * w.sum()
    with np.errstate(invalid="ignore"):  # the caller checks the result
        mean, variance = spread_of(X, w).of_all
    return size, mean, size * variance


FETCHED_ROWS = 50_000
"""Rows of a collection that are fetched for what needs rows in memory."""

FAN_IN = 8
"""Results of chunks that one task merges."""


def is_lazy(X: Any) -> bool:
    """Whether X is a Dask array, frame or series."""
    return hasattr(X, "to_delayed") and hasattr(X, "dask")


def is_stream(X: Any) -> bool:
    """Whether X is what `blocks` returns."""
    return hasattr(X, "walk") and hasattr(X, "about_rows")


def as_array(X: Any) -> Any:
    """A Dask collection as an array of known row counts, all columns in one chunk."""
    if hasattr(X, "to_dask_array"):
        with warnings.catch_warnings():  # text as objects is what is wanted
            warnings.filterwarnings("ignore", message="Dask currently has limited")
            X = X.to_dask_array(lengths=True)
    elif np.isnan(X.shape[0]):
        X = X.compute_chunk_sizes()
    return X.rechunk({1: -1}) if X.ndim == 2 else X


def alongside(owner: str, name: str, values: Any, array: Any) -> Any:
    """Values of the rows of a Dask array as a Dask array in the same chunks."""
    import dask.array as da  # where the array comes from, it is installed

    if np.ndim(values) == 0:
        return da.full(array.shape[0], values, chunks=(array.chunks[0],))
    if is_lazy(values):
        values = as_array(values)
    else:
        values = da.from_array(np.asarray(values), chunks=-1)
    if values.shape[0] != array.shape[0]:
        raise ValueError(
            f"{owner}: X has {array.shape[0]} rows and {name} has {values.shape[0]}."
        )
    return values.rechunk({0: array.chunks[0]})


def tree_reduced(parts: list[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """One delayed result of merging those of many tasks, few at a time."""
    from dask import delayed

    merging = delayed(merge, pure=False)
    while len(parts) > 1:
        groups = range(0, len(parts), FAN_IN)
        parts = [merging(parts[i : i + FAN_IN]) for i in groups]
    return parts[0]


@dataclass(frozen=True)
class Counted:
    """Which rows of a Dask array count: those of positive weight."""

    weight: Any  # Dask array of (n,), in the chunks of the rows
    counts: np.ndarray  # of positive weights in each chunk

    @classmethod
    def of(cls, owner: str, weight: Any, array: Any) -> Counted:
        """From one number ≥ 0 per row of an array, not all zero; one pass over them."""
        from dask import compute, delayed

        weight = alongside(owner, "sample_weight", weight, array)
        if weight.ndim != 1:
            raise ValueError(
                f"{owner}: sample_weight must have one entry for each of the "
                f"{array.shape[0]} rows; got shape {weight.shape}."
            )
        look = delayed(weight_range, pure=False)
        chunks = compute(*map(look, weight.to_delayed()))
        least, largest, counts = np.array(chunks).reshape(-1, 3).T
        check_weight_range(owner, least.min(initial=0), largest.max(initial=0))
        return cls(weight, counts.astype(np.int64))


class LazyRows:
    """Rows (n, d) or values (n,) of a Dask array; indexing fetches the rows asked for.

    Parameters
    ----------
    array : Dask array
        As `as_array` gives it; chunks may be CSR matrices.
    counted : Counted, optional
        The rows that count, where not all do; n is their number, places are theirs.
    convert : callable, optional
        Applied to values that are fetched.
    """

    def __init__(
        self,
        array: Any,
        counted: Counted | None = None,
        convert: Callable[[Any], Any] | None = None,
    ) -> None:
        self.array, self.counted, self._convert = array, counted, convert
        lengths = np.array(array.chunks[0], dtype=np.int64)
        self.counts = lengths if counted is None else counted.counts
        self.starts = np.cumsum(self.counts) - self.counts
        self.shape = (int(self.counts.sum()), *array.shape[1:])
        kept = array.dtype in FLOATS or array.ndim == 1
        self.dtype = array.dtype if kept else np.dtype(np.float64)
        self.ndim = array.ndim

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError("rows of a Dask collection stay there; index those you need.")

    def __getitem__(self, places: Any) -> Any:
        """The rows at places in any order, or of a slice, in memory and validated."""
        if isinstance(places, slice):
            places = np.arange(*places.indices(len(self)))
        order, back = np.unique(places, return_inverse=True)
        rows = _stacked(self._per_chunk(taken_rows, self.chunks, order))
        if self.ndim == 2:
            rows = check_array(rows, accept_sparse="csr", dtype=FLOATS, input_name="X")
        rows = rows if np.array_equal(order, places) else rows[back]
        return rows if self._convert is None else self._convert(rows)

    @functools.cached_property
    def chunks(self) -> list[Any]:
        """The chunks of the array, delayed."""
        return list(self.array.to_delayed().ravel())

    def index(self, places: np.ndarray) -> np.ndarray:
        """Places in the array from places among the rows that count."""
        if self.counted is None:
            return places
        lengths = np.array(self.array.chunks[0], dtype=np.int64)
        order, back = np.unique(places, return_inverse=True)
        starts = list(np.cumsum(lengths) - lengths)
        return np.concatenate(self._per_chunk(array_places, starts, order))[back]

    def converted(self, convert: Callable[[Any], Any]) -> LazyRows:
        """The same, with values converted when they are fetched."""
        return LazyRows(self.array, self.counted, convert)

    def weighted(self, owner: str, weight: Any) -> tuple[LazyRows, LazyWeights | None]:
        """The rows of positive weight, and their weights.

        `weight` has an entry for each row of the array, or is what this returned.
        """
        if weight is None or isinstance(weight, LazyWeights):
            return self, weight
        counted = Counted.of(owner, weight, self.array)
        return LazyRows(self.array, counted, self._convert), LazyWeights(counted)

    def targets(self, owner: str, values: Any) -> Any:
        """Targets of these rows, from those of all rows of the array."""
        if values is None or isinstance(values, LazyRows):
            return values
        return LazyRows(alongside(owner, "y", values, self.array), self.counted)

    def sample(self, n_rows: int = FETCHED_ROWS) -> tuple[Any, np.ndarray]:
        """Some rows at random places, and the places."""
        places = Stream(0).child("lazy").subset(len(self), n_rows)
        return self[places], places

    def spread(self, weight: LazyWeights | None) -> tuple[float, float]:
        """Mean and mean squared deviation of all entries, a pass over the chunks."""
        from dask import compute, delayed

        look = delayed(entry_spread, pure=False)
        equal = weight is None
        parts = compute(
            *(look(self.chunks[i], self._weight(i), equal) for i in self._filled)
        )
        size, means, squares = np.array(parts).T
        if not np.isfinite(parts).all():
            raise ValueError("Input X contains NaN or infinity.")
        mean = size @ means / size.sum()
        squares = squares.sum() + size @ (means - mean) ** 2
        return float(mean), float(squares / size.sum())

    @property
    def _filled(self) -> np.ndarray:
        """The chunks that have rows."""
        return np.flatnonzero(self.counts)

    @functools.cached_property
    def _weights(self) -> list[Any] | None:
        return None if self.counted is None else list(self.counted.weight.to_delayed())

    def _weight(self, i: int) -> Any:
        """The weights of a chunk, delayed; None where all rows count."""
        return None if self._weights is None else self._weights[i]

    def _per_chunk(
        self, function: Callable[..., Any], chunks: list[Any], order: np.ndarray
    ) -> tuple[Any, ...]:
        """What a function of a chunk, its weights and ranks in it gives, in order."""
        from dask import compute, delayed

        ends = self.starts + self.counts
        # without any place: no rows of the first chunk, for their type and width
        owners = np.searchsorted(ends, order, side="right") if len(order) else [0]
        touched, first = np.unique(owners, return_index=True)
        task, tasks = delayed(function, pure=False), []
        for i, places in zip(touched, np.split(order, first[1:]), strict=True):
            complete = self.counts[i] == self.array.chunks[0][i]
            weight = None if complete else self._weight(i)
            tasks.append(task(chunks[i], weight, places - self.starts[i]))
        return compute(*tasks)


class LazyWeights(LazyRows):
    """Positive weights of the rows that count."""

    def __init__(self, counted: Counted) -> None:
        as_float64 = functools.partial(np.asarray, dtype=np.float64)
        super().__init__(counted.weight, counted, as_float64)

    def race(self, stream: Stream, k: int) -> np.ndarray:
        """The first k places in a random order, the heavier the earlier, int64.

        That of `Stream.arrivals` on all weights: chunks find their own first k.
        """
        from dask import compute, delayed

        race = delayed(first_arrivals, pure=False)
        parts = [race(self.chunks[i], stream, self.starts[i], k) for i in self._filled]
        return compute(tree_reduced(parts, functools.partial(merged_arrivals, k)))[0][1]


def fetched(values: Any, places: np.ndarray) -> Any:
    """Values at places, of an array or of a Dask collection."""
    if is_lazy(values):
        values = LazyRows(as_array(values))
    lazy = isinstance(values, LazyRows)
    return values[places] if lazy else np.asarray(values)[places]


def drawn_places(stream: Stream, n: int, k: int, weight: Any = None) -> np.ndarray:
    """At most k places of n rows, of those that weigh something, in order."""
    present = counted_places(weight)
    if present is None:
        return stream.subset(n, k)
    return present[stream.subset(len(present), k)]


def counted_places(weight: Any) -> np.ndarray | None:
    """The places of positive weights in memory; None where all rows count."""
    if weight is None or isinstance(weight, LazyWeights):  # lazy rows all count
        return None
    return np.flatnonzero(weight)


def in_memory(X: Any, y: Any = None) -> tuple[Any, Any]:
    """Rows and targets; of lazy ones a sample."""
    if not isinstance(X, LazyRows):
        return X, y
    rows, places = X.sample()
    return rows, None if y is None else fetched(y, places)


def _stacked(parts: tuple[Any, ...]) -> Any:
    if any(map(sparse.issparse, parts)):
        return sparse.vstack(parts, "csr")
    return np.concatenate(parts)


def over_chunks(method: Callable) -> Callable:
    """A method of rows that maps over the chunks of a Dask collection, lazily.

    The shape of the results is that of the result for one row of zeros. A stream of
    blocks is walked immediately; the results have one entry per row of the stream, in
    order, whatever the rows weigh.
    """

    @functools.wraps(method)
    def call(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if is_lazy(X):
            return _mapped(functools.partial(method, self), X, args, kwargs)
        if is_stream(X):
            given = functools.partial(method, self)
            return _joined([_of_block(given, b, args, kwargs) for b in X.with_rows()])
        return method(self, X, *args, **kwargs)

    return call


def _of_block(function: Callable, block: Any, args: tuple, kwargs: dict) -> Any:
    try:
        return function(block.rows, *args, **kwargs)
    except ValueError as error:
        raise ValueError(f"{block.place}: {error}") from error


def _joined(parts: list[Any]) -> Any:
    """Results of blocks, one below the other."""
    if not parts:
        raise ValueError("blocks: there are no rows.")
    if isinstance(parts[0], tuple):
        return tuple(_joined(list(part)) for part in zip(*parts, strict=True))
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, "csr")
    return np.concatenate(parts)


def _mapped(function: Callable, X: Any, args: tuple, kwargs: dict) -> Any:
    from dask import delayed  # where X comes from, it is installed

    first = function(_one_row(X), *args, **kwargs)
    # one node of the graph: a model is sent once a worker, not once a chunk
    node = delayed(functools.partial(_called, function, args, kwargs), traverse=False)
    if isinstance(first, tuple):  # a collection each; together they cost twice
        return tuple(_chunkwise(X, node, f, i) for i, f in enumerate(first))
    return _chunkwise(X, node, first, None)


def over_partitions(function: Callable, X: Any, n_columns: int) -> Any:
    """A lazy Dask array of `function` of a Dask frame's partitions, in float64."""
    from dask import delayed

    node = delayed(functools.partial(_called, function, (), {}), traverse=False)
    return _partitionwise(X, node, np.empty((0, n_columns)), None)


def _one_row(X: Any) -> Any:
    """A row of zeros like those of X."""
    if hasattr(X, "columns"):
        small = all(dtype == np.float32 for dtype in X.dtypes)
        dtype = np.float32 if small else np.float64
        return X._meta_nonempty.iloc[:1].astype(dtype) * 0
    dtype = X.dtype if X.dtype in FLOATS else np.float64
    return np.zeros((1, X.shape[1]), dtype=dtype)


def _called(function: Callable, args: tuple, kwargs: dict, X: Any, part: Any) -> Any:
    found = function(X, *args, **kwargs)
    return found if part is None else found[part]


def _chunkwise(X: Any, node: Any, first: Any, part: Any) -> Any:
    if hasattr(X, "columns"):
        return _partitionwise(X, node, first, part)
    X = X.rechunk({1: -1})
    flat = first.ndim == 1
    shape = {"drop_axis": 1} if flat else {"chunks": (X.chunks[0], first.shape[1:])}
    given = {"dtype": first.dtype, "meta": first[:0], **shape}
    return X.map_blocks(_applied, function=node, part=part, nothing=first[:0], **given)


def _partitionwise(X: Any, node: Any, first: Any, part: Any) -> Any:
    """An array of what comes out of a frame's partitions, of unknown lengths."""
    import dask.array as da
    from dask import delayed

    apply, nothing = delayed(_applied, pure=False), first[:0]
    shape = (np.nan, *first.shape[1:])
    parts = [
        da.from_delayed(apply(p, node, part, nothing), shape, meta=nothing)
        for p in X.to_delayed()
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _applied(X: Any, function: Callable, part: Any, nothing: Any) -> Any:
    return function(X, part) if X.shape[0] else nothing
