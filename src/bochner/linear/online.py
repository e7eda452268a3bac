"""One pass, block by block: Newton steps on each block, tied to what came before.

For blocks b = 1, 2, … minimise ½ tr (B − B₀)ᵀP(B − B₀) + Σ loss over the block, with B₀
and P, the curvature of all that has been seen, from before: the second-order picture of
the past. Exact for a quadratic loss, where it is recursive least squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .losses import Loss
from .moments import add_gram, mirrored, solve_positive
from .rows import scores
from .sample import FEW_ROWS, RowSample

INNER_STEPS = 4
"""Newton steps on one block."""


@dataclass
class Online:
    """What a pass remembers: coefficients (M or M + 1, K) and the curvature behind."""

    B: np.ndarray
    P: np.ndarray  # upper triangle, Fortran order, float64
    n_rows: int = 0  # seen so far
    sample: RowSample | None = None  # of those, with their class numbers

    @classmethod
    def start(
        cls, n_features: int, n_outputs: int, intercept: bool, alpha: float
    ) -> Online:
        """Nothing seen: the penalty alone."""
        size = n_features + intercept
        P = np.zeros((size, size), order="F")
        P[np.arange(n_features), np.arange(n_features)] = alpha
        return cls(np.zeros((size, n_outputs)), P)

    def add(self, loss: Loss, F: Any, y: np.ndarray, weight: Any) -> None:
        """Learn from rows F (b, M); O(b M² + M³/3) time."""
        T = loss.encode(y, F.dtype)
        size, m = self.P.shape[0], F.shape[1]
        past, before = mirrored(self.P), self.B
        ones = np.ones((F.shape[0], size - m), dtype=F.dtype)
        for _ in range(INNER_STEPS):
            U, bent = loss.slopes(scores(F, self.B), T, weight)
            G = past @ (self.B - before)
            G[:m] += F.T @ U
            G[m:] += ones.T @ U
            H = self._with(F, loss.most_curved(bent))
            self.B = self.B - solve_positive(H, G)
        self.P = self._with(F, loss.most_curved(bent))
        self.n_rows += F.shape[0]
        if self.sample is None:
            self.sample = RowSample(size=FEW_ROWS)
        self.sample.add(F, y.reshape(len(y), -1), weight)

    def _with(self, F: Any, curvature: np.ndarray) -> np.ndarray:
        """P and the block's curvature."""
        H = self.P.copy(order="F")
        weight = curvature.astype(np.float64)
        add_gram(H, F, weight, intercept=len(H) > F.shape[1])
        return H
