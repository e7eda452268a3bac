"""A stream of blocks that can be walked again and again."""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples

from .._core.column_names import named_rows
from .._core.random import Stream
from .._core.validation import check_storage, check_unmasked
from ..solvers.rows import hashed_places
from .read_errors import ReadError

LOOK = 0.1
"""Seconds between looks whether a walk was broken off."""


def prefetched(source: Iterator[Any]) -> Iterator[Any]:
    """The items of `source`, read by a thread of their own, in order.

    One waits, one more is being read and one worked on. Errors come out where the item
    would have. A walk that is broken off ends the thread.
    """
    # neither Queue nor Event: an interrupt may leave the lock in them taken for good
    items: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
    room: Any = threading.Lock()
    done: list[bool] = []

    def put(item: Any, error: BaseException | None) -> bool:
        """Whether there was room for it before the walk was broken off."""
        while not done:
            if room.acquire(timeout=LOOK):
                items.put((item, error))
                return True
        return False

    def read() -> None:
        try:
            for item in source:
                if not put(item, None):
                    return
            put(None, StopIteration())
        except BaseException as error:  # for the reader to raise
            put(None, error)

    thread = threading.Thread(target=read, name="bochner-reader", daemon=True)
    try:
        thread.start()
        while True:
            item, error = items.get()
            room.release()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item
    finally:
        done.append(True)
        if thread.is_alive():
            thread.join()


ROWS = 65_536
"""Rows of a block where nothing else is asked for, and wide ones do not forbid it."""

BLOCK_BYTES = 128 << 20
"""Bytes of a block of rows, about, at most."""


ROWS_OF = "rows "
"""What stands before the numbers of rows in a place."""


class Item(NamedTuple):
    """A block as a source gives it, and where it comes from, for messages."""

    X: Any
    y: Any = None
    weight: Any = None
    place: str = ""
    start: int = 0  # rows before it, where the place is of rows
    columns: tuple[str, ...] | None = None  # names of an array's columns

    @property
    def rows(self) -> Any:
        """X, with the names of its columns where they have any."""
        return named_rows(self.X, self.columns)


class Blocks:
    """A re-iterable of (X, y) blocks, or (X, y, sample_weight) where there are weights.

    Parameters
    ----------
    open : callable
        Returns a fresh iterator over blocks.
    once : bool
        Whether it can be called only once.
    n_rows : callable, optional
        How many rows there are, about, where that is known without a pass.
    ahead : bool
        Read the next block while one is worked on.
    """

    def __init__(
        self,
        open: Callable[[], Iterator[Any]],
        once: bool = False,
        n_rows: Callable[[], int | None] = lambda: None,
        ahead: bool = False,
    ) -> None:
        self._open = open
        self.once = once
        self.about_rows = n_rows
        self._ahead = ahead
        self._head: list[Item] = []
        self._rest: Iterator[Item] | None = None

    def __repr__(self) -> str:
        n = self.about_rows()
        return f"Blocks({'' if n is None else f'about {n:,} rows'})"

    def __iter__(self) -> Iterator[tuple]:
        for X, y, weight, *_ in self.walk():
            yield (X, y) if weight is None else (X, y, weight)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Refuse what reads all rows at once, and name the ways that do not."""
        raise TypeError(
            "blocks: a step was given a stream, and reads all rows at once. Give steps "
            "that precede a learner to the learner, which fits them on the first "
            "block: KernelRegressor(features=make_pipeline(StandardScaler(), "
            "Nystroem(512))). For tables of text, dates or gaps begin the Pipeline "
            "with preprocessing.for_table(stream). A step that is fitted on rows in "
            "memory takes a stream by stream.transformed(step.transform)."
        )

    def walk(self) -> Iterator[Item]:
        """The blocks with their places."""
        if not self.once:
            return self._items()
        if not self._head:
            self._begin()
        return self._resumed()

    def transformed(self, transform: Callable[[Any], Any]) -> Blocks:
        """The same rows, put through `transform` block by block."""

        def read() -> Iterator[Item]:
            for item in self.walk():
                try:
                    yield item._replace(X=transform(item.X), columns=None)
                except ValueError as error:
                    raise ValueError(f"{item.place}: {error}") from error

        return Blocks(read, self.once, self.about_rows)

    def cut(self, rows: int) -> Blocks:
        """The same rows in blocks of at most so many."""

        def read() -> Iterator[Item]:
            for item in self.walk():
                for part in cut(item.X, item.y, item.weight, rows):
                    start = item.start + part.start
                    n = _num_samples(part.X)
                    file, of_rows, _ = item.place.rpartition(ROWS_OF)
                    rows_of = f"{file}{ROWS_OF}{start + 1} to {start + n}"
                    place = rows_of if of_rows else item.place
                    yield part._replace(place=place, start=start, columns=item.columns)

        return Blocks(read, self.once, self.about_rows)

    def with_progress(self, read_rows: Callable[[int], None]) -> Blocks:
        """The same rows; `read_rows` is told how many there are in every block."""

        def read() -> Iterator[Item]:
            for item in self.walk():
                yield item
                read_rows(_num_samples(item.X))

        return Blocks(read, self.once, self.about_rows)

    def with_rows(self) -> Iterator[Item]:
        """The blocks that have rows, of any weight: those to predict."""
        return (item for item in self.walk() if _num_samples(item.X))

    def weighing(self) -> Iterator[Item]:
        """The blocks that have rows of positive weight: those to learn from."""
        return (item for item in self.walk() if _weighs(item))

    def first(self) -> Item:
        """The first of those; a later walk gives it too."""
        if not self.once:
            found = next(self.weighing(), None)
        else:
            found = next((item for item in self._begin() if _weighs(item)), None)
            self._head = [] if found is None else [found]
        if found is None:
            raise ValueError("blocks: there are no rows.")
        return found

    def _begin(self) -> Iterator[Item]:
        """The only walk of an iterator."""
        if self._rest is not None:
            raise ValueError(
                "blocks: this source is an iterator, which can be walked only once, "
                "and more than one pass is needed. Give a list of blocks, or a "
                "function that returns a fresh iterator."
            )
        self._rest = self._items()
        return self._rest

    def _resumed(self) -> Iterator[Item]:
        head, self._head = self._head, []
        yield from head
        yield from self._rest or ()

    def _items(self) -> Iterator[Item]:
        raw = prefetched(self._open()) if self._ahead else self._open()
        for number, item in enumerate(raw, start=1):
            yield item if isinstance(item, Item) else _item(item, f"block {number}")


def _weighs(item: Item) -> bool:
    if not _num_samples(item.X):
        return False
    return item.weight is None or bool(np.any(np.asarray(item.weight) != 0))


def block_rows(rows: int | None, bytes_a_row: float) -> int:
    """Rows of a block: as asked for, or as many as fit."""
    if rows is not None:
        return rows
    return int(min(ROWS, max(1, BLOCK_BYTES // max(bytes_a_row, 1))))


def row_bytes(X: Any) -> float:
    """Bytes that a row of an array, CSR matrix or frame takes."""
    if sparse.issparse(X):
        return X.data.itemsize * 2 * X.nnz / max(1, X.shape[0])
    return getattr(getattr(X, "dtype", None), "itemsize", 8) * X.shape[1]


def cut(X: Any, y: Any, weight: Any, rows: int | None) -> Iterator[Item]:
    """Blocks of rows at hand."""
    if len(X.shape) != 2:
        raise ReadError(
            f"rows must have two dimensions; got an array of shape {X.shape}."
        )
    X = check_storage(X)  # before SciPy cuts it
    size = block_rows(rows, row_bytes(X))
    n = _num_samples(X)
    for name, values in (("target", y), ("weight", weight)):
        check_unmasked(name, values)
    check_beside(n, y, weight)
    take = X.iloc if hasattr(X, "iloc") else X
    for start in range(0, n, size):
        part = slice(start, start + size)
        place = f"{ROWS_OF}{start + 1} to {min(start + size, n)}"
        yield Item(take[part], _part(y, part), _part(weight, part), place, start)


def check_beside(n: int, y: Any, weight: Any) -> None:
    """Refuse targets and weights of other than n rows."""
    for name, values in (("target", y), ("weight", weight)):
        if values is not None and len(values) != n:
            raise ReadError(f"X has {n} rows and {name} has {len(values)}.")


def _part(values: Any, part: slice) -> Any:
    return None if values is None else np.asarray(values)[part]


def _item(item: Any, place: str) -> Item:
    if not isinstance(item, tuple):
        return Item(item, None, None, place)
    if len(item) not in (1, 2, 3):
        raise ValueError(
            "blocks: a block is X, (X, y) or (X, y, sample_weight); got a tuple of "
            f"{len(item)}."
        )
    X, y, weight = (*item, None, None)[:3]
    return Item(X, y, weight, place)


SAMPLE_ROWS = 50_000
"""Rows that preprocessing is fitted on where the rows are not in memory."""

SAMPLE_BYTES = 128 << 20
"""Bytes of a sample, at most."""


def sampled_rows(
    source: Blocks,
    n_wanted: int,
    bytes_a_row: Callable[[Any], float],
    seed: int = 0,
) -> tuple[Any, Any, int]:
    """A uniform sample of rows and targets, and how many rows there are: one pass.

    Whatever the blocks, rows of the smallest keys are kept, a key being a hash of the
    row's place. Rows without weight are not sampled. Targets are None where blocks
    have none.
    """
    parts: list[tuple[np.ndarray, Any, Any]] = []
    shift = np.uint64(seed % (1 << 20) << 40)  # beyond the places of any stream
    seen, threshold = 0, np.iinfo(np.uint64).max
    for item in source.with_rows():
        n = item.X.shape[0]
        if not parts:
            n_wanted = min(n_wanted, max(1, int(SAMPLE_BYTES / bytes_a_row(item.X))))
        places = np.arange(seen, seen + n, dtype=np.uint64)
        keys = hashed_places(places + shift)
        seen += n
        parts.append(_below(threshold, *_weighing(item, keys)))
        if sum(len(part[0]) for part in parts) > 2 * n_wanted:
            threshold = np.sort(np.concatenate([p[0] for p in parts]))[n_wanted - 1]
            parts = [_below(threshold, *part) for part in parts]
    keys = np.concatenate([part[0] for part in parts]) if parts else np.empty(0)
    if not len(keys):
        raise ValueError("blocks: there are no rows.")
    kept = np.argsort(keys, kind="stable")[:n_wanted]
    targets = [part[2] for part in parts]
    y = None if any(t is None for t in targets) else np.concatenate(targets)[kept]
    return rows_at(stacked([part[1] for part in parts]), kept), y, seen


def _weighing(item: Item, keys: np.ndarray) -> tuple[np.ndarray, Any, Any]:
    """Keys, rows and targets of the rows of a block that weigh something."""
    y = None if item.y is None else np.asarray(item.y)
    if item.weight is None:
        return keys, item.X, y
    kept = np.flatnonzero(np.asarray(item.weight))
    return keys[kept], rows_at(item.X, kept), None if y is None else y[kept]


def _below(
    threshold: Any, keys: np.ndarray, X: Any, y: Any
) -> tuple[np.ndarray, Any, Any]:
    low = np.flatnonzero(keys <= threshold)
    return keys[low], rows_at(X, low), None if y is None else y[low]


def rows_at(X: Any, places: np.ndarray) -> Any:
    """Rows of an array, CSR matrix or frame."""
    return X.iloc[places] if hasattr(X, "iloc") else X[places]


def stacked(parts: list[Any]) -> Any:
    """Rows one below the other."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, "csr")
    if hasattr(parts[0], "vstack"):  # polars
        return functools.reduce(lambda above, below: above.vstack(below), parts)
    if hasattr(parts[0], "columns"):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    return np.concatenate(parts)


def sampled_frame(X: Any, n_wanted: int, bytes_a_row: Callable[[Any], float]) -> Any:
    """Rows of a Dask frame at random places, in memory; O(sample) comes to the client.

    The lengths of the partitions take a pass.
    """
    import dask

    lengths = np.array(dask.compute(*map(dask.delayed(len), X.to_delayed())))
    n_wanted = min(n_wanted, max(1, int(SAMPLE_BYTES / bytes_a_row(X._meta_nonempty))))
    places = Stream(0).child("frame").subset(int(lengths.sum()), n_wanted)
    ends = np.cumsum(lengths)
    task = dask.delayed(rows_at, pure=False)
    parts = [
        task(part, places[(places >= end - n) & (places < end)] - (end - n))
        for part, end, n in zip(X.to_delayed(), ends, lengths, strict=True)
    ]
    return stacked(list(dask.compute(*parts)))
