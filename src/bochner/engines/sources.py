"""Sources: validated rows with their targets and weights, in blocks or by place."""

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
    """Rows, their class numbers or targets, and their weights."""

    X: Any
    y: Any
    weight: np.ndarray | None

    def present(self) -> Block:
        """Without the rows that weigh nothing."""
        if self.weight is None or isinstance(self.weight, LazyWeights):
            return self  # all rows of a Dask source weigh something
        if self.weight.all():
            return self
        kept = np.flatnonzero(self.weight)
        return Block(self.X[kept], self.y[kept], self.weight[kept])


class Source(Protocol):
    """Rows that can be walked again and again."""

    @property
    def n_rows(self) -> int: ...

    @property
    def about_rows(self) -> int | None:
        """How many there are, about, if that is known without a pass."""
        ...

    def whole(self, skip: int = 0) -> Iterator[Block]:
        """All rows in order, in the blocks they come in, behind the first few."""
        ...

    def blocks(self, rows: int) -> Iterator[Block]:
        """All rows in order, about so many at a time, cut the same way every time."""
        ...

    def take(self, places: np.ndarray) -> Block:
        """The rows at sorted places."""
        ...


@dataclass(frozen=True)
class ArraySource:
    """Rows of one array or CSR matrix."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def about_rows(self) -> int:
        return self.n_rows

    def whole(self, skip: int = 0) -> Iterator[Block]:
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
    """Rows of a re-iterable of blocks, each validated when it comes by."""

    source: Blocks
    validate: Callable[[Any, Any, Any], Block]
    counted: int | None = None

    @property
    def n_rows(self) -> int:
        if self.counted is None:
            self.counted = sum(block.X.shape[0] for block in self.whole())
        return self.counted

    @property
    def about_rows(self) -> int | None:
        return self.source.about_rows() if self.counted is None else self.counted

    def whole(self, skip: int = 0) -> Iterator[Block]:
        n_blocks = 0
        for item in self.source.weighing():
            n_blocks += 1
            if n_blocks > skip:
                yield validated(item, self.validate)
        if n_blocks < skip:
            raise ValueError(
                f"blocks: the checkpoint is of a stream of at least {skip} blocks, and "
                f"this one ends after {n_blocks}; delete it to start anew."
            )

    def first(self) -> Block:
        """The first block with rows, as validation leaves them."""
        return next(block for block in self.whole() if block.X.shape[0])

    def blocks(self, rows: int) -> Iterator[Block]:
        for block in self.whole():
            yield from ArraySource(*block).blocks(rows)

    def take(self, places: np.ndarray) -> Block:
        parts, start = [], 0
        for block in self.whole():
            stop = start + block.X.shape[0]
            inside = places[(places >= start) & (places < stop)] - start
            if len(inside):
                parts.append(ArraySource(*block).take(inside))
            start = stop
        return join(parts)


def validated(item: Item, validate: Callable[[Any, Any, Any], Block]) -> Block:
    """A block, validated; errors say where it comes from."""
    try:
        return validate(item.rows, item.y, item.weight)
    except ValueError as error:
        raise ValueError(f"{item.place}{_bad_row(item)}: {error}") from error


def _bad_row(item: Item) -> str:
    """The first row that is not finite, in words."""
    X = item.X
    dense = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
    if not dense:
        return ""
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    return f" (row {item.start + bad[0] + 1})" if len(bad) else ""


def join(parts: list[Block]) -> Block:
    """Blocks one below the other."""
    X = [part.X for part in parts]
    weighted = any(part.weight is not None for part in parts)
    weights = [
        np.ones(len(part.y)) if part.weight is None else part.weight for part in parts
    ]
    return Block(
        sparse.vstack(X, "csr") if any(map(sparse.issparse, X)) else np.concatenate(X),
        np.concatenate([part.y for part in parts]),
        np.concatenate(weights) if weighted else None,
    )
