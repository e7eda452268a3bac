"""Rows in mini-batches, drawn by a stream, and the part that is held out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._random import Stream

MIN_HELD = 4
"""Rows below which a held-out part would say nothing: then none is held out."""

MAX_HELD = 5000
"""Rows that tell values apart well enough."""


def n_batches_of(n_rows: int, size: int) -> int:
    """How many batches of about this size so many rows make."""
    return max(1, round(n_rows / size))


@dataclass(frozen=True)
class Rows:
    """Some rows of X, (n, d), with their targets (None where there are none)."""

    X: Any
    y: np.ndarray | None
    index: np.ndarray

    @classmethod
    def all(cls, X: Any, y: np.ndarray | None) -> Rows:
        return cls(X, y, np.arange(X.shape[0]))

    def __len__(self) -> int:
        return len(self.index)

    def sample(self, n: int, rng: Stream) -> Rows:
        """At most n of these rows."""
        return Rows(self.X, self.y, self.index[rng.subset(len(self), n)])

    def n_batches(self, size: int) -> int:
        """How many batches of about this size there are in one pass."""
        return n_batches_of(len(self), size)

    def batches(self, size: int, rng: Stream | None) -> Iterator[tuple[Any, Any]]:
        """All rows once, in batches of about `size`; in random order given a stream.

        A batch is gathered when it is asked for: rows may lie on disk.
        """
        order = self.index if rng is None else self.index[rng.permutation(len(self))]
        for places in np.array_split(order, self.n_batches(size)):
            yield self.X[places], None if self.y is None else self.y[places]

    def split(self, share: float, rng: Stream, strata: Any) -> tuple[Rows, Rows | None]:
        """The rows to learn from and those held out: every class in proportion.

        `strata`, (n,), are whole numbers from 0, or None.
        """
        n = len(self)
        share = min(share, MAX_HELD / n, (n - 1) / n)
        if share * n < MIN_HELD:
            return self, None
        order = rng.permutation(n)
        if strata is not None:
            order = order[np.argsort(strata[order], kind="stable")]
        offset = rng.uniform(1)
        held = np.diff(np.floor(share * np.arange(n + 1) + offset)) > 0
        # ^ evenly along the order, so in proportion to every class
        if strata is not None:
            learned = np.bincount(strata[order[~held]], minlength=strata.max() + 1)
            held &= learned[strata[order]] > 0  # a class of held-out rows only stays
        learned, kept = np.sort(order[~held]), np.sort(order[held])
        return (
            Rows(self.X, self.y, self.index[learned]),
            Rows(self.X, self.y, self.index[kept]),
        )
