"""Sources: validated rows with targets and weights, in blocks or by position."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from .._core.remote_rows import LazyWeights
from ..data.stream import Blocks, Item
from ..features.feature_map import rows_of


class Block(NamedTuple):
    """Rows, their class numbers or targets, and their weights (None: all one)."""

    X: Any
    y: Any
    weight: np.ndarray | None

    def present(self) -> Block:
        """The block without rows of zero weight."""
        if self.weight is None or isinstance(self.weight, LazyWeights):
            return self  # rows of a Dask source have positive weights
        if self.weight.all():
            return self
        kept = np.flatnonzero(self.weight)
        return Block(self.X[kept], self.y[kept], self.weight[kept])


class Source(Protocol):
    """Rows that can be read several times."""

    @property
    def n_rows(self) -> int: ...

    @property
    def about_rows(self) -> int | None:
        """About how many rows there are; None if that would need a pass."""
        ...

    def stored_blocks(self, skip: int = 0) -> Iterator[Block]:
        """The blocks in which the rows are stored, without the first `skip` blocks."""
        ...

    def blocks(self, rows: int) -> Iterator[Block]:
        """All rows in order, at most `rows` at a time, always in the same blocks."""
        ...

    def take(self, places: np.ndarray) -> Block:
        """The rows at the given positions, which are sorted."""
        ...


@dataclass(frozen=True)
class ArraySource:
    """Rows of one array or CSR matrix in memory."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def about_rows(self) -> int:
        return self.n_rows

    def stored_blocks(self, skip: int = 0) -> Iterator[Block]:
        if not skip:
            yield Block(self.X, self.y, self.weight)

    def blocks(self, rows: int) -> Iterator[Block]:
        for start in range(0, self.n_rows, rows):
            part = slice(start, min(start + rows, self.n_rows))
            weight = None if self.weight is None else self.weight[part]
            yield Block(rows_of(self.X, part), self.y[part], weight)

    def take(self, places: np.ndarray) -> Block:
        weight = None if self.weight is None else self.weight[places]
        return Block(self.X[places], self.y[places], weight)


@dataclass
class BlockSource:
    """Rows of a re-iterable of blocks, which are validated whenever they are read."""

    source: Blocks
    validate: Callable[[Any, Any, Any], Block]
    known_rows: int | None = None  # the number of rows, if a pass has counted them

    @property
    def n_rows(self) -> int:
        if self.known_rows is None:
            self.known_rows = sum(block.X.shape[0] for block in self.stored_blocks())
        return self.known_rows

    @property
    def about_rows(self) -> int | None:
        return self.source.about_rows() if self.known_rows is None else self.known_rows

    def stored_blocks(self, skip: int = 0) -> Iterator[Block]:
        n_blocks = 0
        for item in self.source.weighing():
            n_blocks += 1
            if n_blocks > skip:
                yield validated(item, self.validate)
        if n_blocks < skip:
            raise ValueError(
                f"blocks: the checkpoint is of a stream of at least {skip} blocks, and "
                f"this one ends after {n_blocks}; delete the checkpoint file to start "
                "from the beginning."
            )

    def first(self) -> Block:
        """The first block that has rows, validated."""
        return next(block for block in self.stored_blocks() if block.X.shape[0])

    def blocks(self, rows: int) -> Iterator[Block]:
        for block in self.stored_blocks():
            yield from ArraySource(*block).blocks(rows)

    def take(self, places: np.ndarray) -> Block:
        parts, start = [], 0
        for block in self.stored_blocks():
            stop = start + block.X.shape[0]
            inside = places[(places >= start) & (places < stop)] - start
            if len(inside):
                parts.append(ArraySource(*block).take(inside))
            start = stop
        return join(parts)


def validated(item: Item, validate: Callable[[Any, Any, Any], Block]) -> Block:
    """The validated block of an item; errors name the file or block it comes from."""
    try:
        return validate(item.rows, item.y, item.weight)
    except ValueError as error:
        raise ValueError(f"{item.place}{_bad_row(item)}: {error}") from error


def _bad_row(item: Item) -> str:
    """The number of the first row that is not finite, as text for a message."""
    X = item.X
    is_dense = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
    if not is_dense:
        return ""
    bad_rows = np.flatnonzero(~np.isfinite(X).all(axis=1))
    return f" (row {item.start + bad_rows[0] + 1})" if len(bad_rows) else ""


def join(parts: list[Block]) -> Block:
    """The blocks concatenated."""
    X = [part.X for part in parts]
    has_weights = any(part.weight is not None for part in parts)
    weights = [
        np.ones(len(part.y)) if part.weight is None else part.weight for part in parts
    ]
    return Block(
        sparse.vstack(X, "csr") if any(map(sparse.issparse, X)) else np.concatenate(X),
        np.concatenate([part.y for part in parts]),
        np.concatenate(weights) if has_weights else None,
    )
