"""Rows that are elsewhere: Dask collections, seen through their own methods.

Maps read little of the rows that they are fitted on: their number, some of them by
place, their variance. `LazyRows` gives just that of a Dask array, so that nothing else
moves. Learners have `execution/dask.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from ._random import Stream
from ._validation import FLOATS

FETCHED_ROWS = 50_000
"""Rows of a collection that are fetched for what needs rows at hand."""


def is_lazy(X: Any) -> bool:
    """Whether X is a Dask array, frame or series."""
    return hasattr(X, "to_delayed") and hasattr(X, "dask")


def is_stream(X: Any) -> bool:
    """Whether X is what `blocks` returns."""
    return hasattr(X, "walk") and hasattr(X, "about_rows")


def as_array(X: Any) -> Any:
    """A Dask collection as an array of known row counts, all columns in one chunk."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    elif np.isnan(X.shape[0]):
        X = X.compute_chunk_sizes()
    return X.rechunk({1: -1}) if X.ndim == 2 else X


class LazyRows:
    """Rows (n, d) or values (n,) of a Dask array; indexing fetches the rows asked for.

    Parameters
    ----------
    array : Dask array
        As `as_array` gives it; chunks may be CSR matrices.
    index : array of int, optional
        The places that count, where not all do.
    convert : callable, optional
        Applied to values that are fetched.
    """

    def __init__(
        self,
        array: Any,
        index: np.ndarray | None = None,
        convert: Callable[[Any], Any] | None = None,
    ) -> None:
        self.array, self._index, self._convert = array, index, convert
        n = array.shape[0] if index is None else len(index)
        self.shape = (n, *array.shape[1:])
        kept = array.dtype in FLOATS or array.ndim == 1
        self.dtype = array.dtype if kept else np.dtype(np.float64)
        self.ndim = array.ndim

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, places: Any) -> Any:
        """The rows at places in any order, or of a slice, at hand and validated."""
        if isinstance(places, slice):
            places = np.arange(*places.indices(len(self)))
        if self._index is not None:
            places = self._index[places]
        order, back = np.unique(places, return_inverse=True)
        rows = self.array[order].compute()
        if self.ndim == 2:
            rows = check_array(rows, accept_sparse="csr", dtype=FLOATS, input_name="X")
        rows = rows if np.array_equal(order, places) else rows[back]
        return rows if self._convert is None else self._convert(rows)

    def converted(self, convert: Callable[[Any], Any]) -> LazyRows:
        """The same, with values converted when they are fetched."""
        return LazyRows(self.array, self._index, convert)

    def sample(self, n_rows: int = FETCHED_ROWS) -> tuple[Any, np.ndarray]:
        """Some rows at random places, and the places."""
        places = Stream(0).child("lazy").subset(len(self), n_rows)
        return self[places], places

    def spread(self, weight: np.ndarray | None) -> tuple[float, float]:
        """Mean and mean squared deviation of all entries, a pass over the chunks."""
        chunks = self.array.chunks[0]
        w = self._weights(weight)
        starts = np.append(0, np.cumsum(chunks))
        parts = self.array.map_blocks(
            _chunk_spread,
            w,
            starts,
            dtype=np.float64,
            chunks=((1,) * len(chunks), (3,)),
            meta=np.empty((0, 0)),
        ).compute()
        size, means, squares = parts.T
        if not np.isfinite(parts).all():
            raise ValueError("Input X contains NaN or infinity.")
        mean = size @ means / size.sum()
        squares = squares.sum() + size @ (means - mean) ** 2
        return float(mean), float(squares / size.sum())

    def _weights(self, weight: np.ndarray | None) -> np.ndarray | None:
        """One for every row of the array, none for those that do not count."""
        if self._index is None:
            return weight
        full = np.zeros(self.array.shape[0])
        full[self._index] = 1.0 if weight is None else weight
        return full


def fetched(values: Any, places: np.ndarray) -> Any:
    """Values at places, of an array or of a Dask collection."""
    if is_lazy(values):
        values = LazyRows(as_array(values))
    lazy = isinstance(values, LazyRows)
    return values[places] if lazy else np.asarray(values)[places]


def at_hand(X: Any, y: Any = None) -> tuple[Any, Any]:
    """Rows and targets; of lazy ones a sample."""
    if not isinstance(X, LazyRows):
        return X, y
    rows, places = X.sample()
    return rows, None if y is None else fetched(y, places)


def _chunk_spread(
    X: Any, weight: Any, starts: np.ndarray, block_info: Any = None
) -> np.ndarray:
    """Σw, mean and Σw(x − mean)² over the entries of a chunk, (1, 3)."""
    n, d = X.shape
    i = block_info[0]["chunk-location"][0]
    w = np.ones(n) if weight is None else weight[starts[i] : starts[i + 1]]
    size = d * w.sum()
    if size == 0:
        return np.zeros((1, 3))
    if sparse.issparse(X):
        X = X.tocsr()
        each = np.repeat(w, np.diff(X.indptr))
        values = X.data.astype(np.float64)
        mean = each @ values / size
        squares = each @ (values - mean) ** 2 + (size - each.sum()) * mean**2
    else:
        X = X.astype(np.float64, copy=False)
        with np.errstate(invalid="ignore"):  # the caller looks at what comes out
            mean = w @ X.sum(axis=1) / size
            squares = w @ ((X - mean) ** 2).sum(axis=1)
    return np.array([[size, mean, squares]])


def over_chunks(method: Callable) -> Callable:
    """A method of rows that maps over the chunks of a Dask collection, lazily.

    What comes out is found by asking for one row of zeros. A stream of blocks is walked
    at once, and what comes out of them put together.
    """

    @functools.wraps(method)
    def call(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if is_lazy(X):
            return _mapped(functools.partial(method, self), X, args, kwargs)
        if is_stream(X):
            given = functools.partial(method, self)
            return _joined([_of_block(given, b, args, kwargs) for b in X.weighing()])
        return method(self, X, *args, **kwargs)

    return call


def _of_block(function: Callable, block: Any, args: tuple, kwargs: dict) -> Any:
    try:
        return function(block.X, *args, **kwargs)
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
