"""Sources: validated rows with their targets and weights, in blocks or by place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples

from ..feature_map import rows_of
from .blocks import Blocks


class Block(NamedTuple):
    """Rows, their class numbers or targets, and their weights."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None

    def present(self) -> Block:
        """Without the rows that weigh nothing."""
        if self.weight is None or self.weight.all():
            return self
        kept = np.flatnonzero(self.weight)
        return Block(self.X[kept], self.y[kept], self.weight[kept])


class Source(Protocol):
    """Rows that can be walked again and again."""

    @property
    def n_rows(self) -> int: ...

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

    def blocks(self, rows: int) -> Iterator[Block]:
        for start in range(0, self.n_rows, rows):
            part = slice(start, min(start + rows, self.n_rows))
            weight = None if self.weight is None else self.weight[part]
            yield Block(rows_of(self.X, part), self.y[part], weight)

    def take(self, places: np.ndarray) -> Block:
        weight = None if self.weight is None else self.weight[places]
        return Block(self.X[places], self.y[places], weight)


@dataclass(frozen=True)
class BlockSource:
    """Rows of a re-iterable of blocks, each validated when it comes by."""

    source: Blocks
    validate: Callable[[Any, Any, Any], Block]
    n_rows: int

    def blocks(self, rows: int) -> Iterator[Block]:
        for block in self._blocks():
            yield from ArraySource(*block).blocks(rows)

    def _blocks(self) -> Iterator[Block]:
        for X, y, weight in self.source:
            if _num_samples(X):
                yield self.validate(X, y, weight)

    def take(self, places: np.ndarray) -> Block:
        parts, start = [], 0
        for block in self._blocks():
            stop = start + block.X.shape[0]
            inside = places[(places >= start) & (places < stop)] - start
            if len(inside):
                parts.append(ArraySource(*block).take(inside))
            start = stop
        return join(parts)


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
