"""The problem of greedy selection: few weights w ≥ 0 with Σ_u w_u R_u ≈ r."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .products import GRAM_COLUMNS, Pairs, gram

GRAM_BYTES = 1 << 30
"""⟨R_u, R_v⟩ of all pairs of units is kept where it takes no more than this."""

VANISHING = 1e-8
"""Candidates of a norm below this share of the largest are rounding errors."""

TIE = 1e-12
"""Scores that float64 cannot tell apart."""


@dataclass(frozen=True)
class Problem:
    """Inner products of the R_u with each other and with the target r.

    Those of all pairs of units are computed once where they fit, else on demand.
    """

    pairs: Pairs
    G: np.ndarray | None  # ⟨R_u, R_v⟩, (n_units, n_units)
    norms: np.ndarray  # ‖R_u‖, 1 where it vanishes, (n_units,)
    present: np.ndarray  # where it does not, (n_units,)

    @property
    def target(self) -> np.ndarray:
        """⟨R_u, r⟩, (n_units,)."""
        return self.pairs.target

    @property
    def target_norm(self) -> float:
        """‖r‖."""
        return self.pairs.target_norm

    def best(self, score: np.ndarray) -> int:
        """The unit of the highest score; among equals the one of largest norm.

        Equal they are where rows are: a small R_u would take a huge weight.
        """
        score = np.where(self.present, score, -np.inf)
        equals = np.flatnonzero(score >= score.max() - TIE)
        return int(equals[self.norms[equals].argmax()])

    def column(self, v: int) -> np.ndarray:
        """⟨R_u, R_v⟩ over u, (n_units,)."""
        if self.G is not None:
            return self.G[v]
        return self.pairs.products(slice(None), np.array([v]))[:, 0]

    def block(self, units: np.ndarray) -> np.ndarray:
        """⟨R_u, R_v⟩ within some units."""
        if self.G is not None:
            return self.G[np.ix_(units, units)]
        return self.pairs.products(units, units)

    def combination(self, units: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """⟨R_u, Σ_v weights_v R_v⟩ over u, for v in some units, (n_units,)."""
        if self.G is not None:
            return weights @ self.G[units]
        total = np.zeros(len(self.norms))
        for start in range(0, len(units), GRAM_COLUMNS):
            part = slice(start, start + GRAM_COLUMNS)
            total += self.pairs.products(slice(None), units[part]) @ weights[part]
        return total


def problem_of(pairs: Pairs) -> Problem:
    """The problem, with all products where they fit."""
    fits = 8 * pairs.n_units**2 <= GRAM_BYTES
    present = pairs.norms > VANISHING * pairs.norms.max()
    norms = np.where(present, pairs.norms, 1.0)
    return Problem(pairs, gram(pairs) if fits else None, norms, present)
