"""The feature map: a linear map, a nonlinearity and weights, applied block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ._threads import Step, block_rows, for_row_blocks
from .nonlinearities import SampledNonlinearity
from .projections import LinearMap


@dataclass(frozen=True)
class FeatureMap:
    """φ(x) = weights ∘ nonlinearity(W x): an immutable, pure function of each row.

    Rows are walked in blocks that fit the cache: project, apply the nonlinearity, write
    the output once. Memory: the output and one block of projections per thread.

    Parameters
    ----------
    linear : LinearMap of shape (n_projections, n_features)
    nonlinearity : SampledNonlinearity
    weights : array of (n_components,), optional
        Multiplies the features; None for one.
    """

    linear: LinearMap
    nonlinearity: SampledNonlinearity
    weights: np.ndarray | None = None

    @property
    def n_components(self) -> int:
        return self.nonlinearity.n_out

    @property
    def dtype(self) -> np.dtype:
        return self.linear.dtype

    def astype(self, dtype: Any) -> Self:
        """The same map computing in another floating type."""
        if self.dtype == dtype:
            return self
        return type(self)(
            self.linear.astype(dtype),
            self.nonlinearity.astype(dtype),
            None if self.weights is None else self.weights.astype(dtype),
        )

    def __call__(self, X: Any) -> np.ndarray:
        """Features of dense or CSR rows X, (n, n_features), in X's floating type."""
        return self.astype(X.dtype)._apply(X)

    def _apply(self, X: Any) -> np.ndarray:
        n_projections = self.linear.shape[0]
        rows = block_rows(n_projections, self.dtype.itemsize)
        F = np.empty((X.shape[0], self.n_components), dtype=self.dtype)

        def make_step() -> Step:
            scratch = np.empty((min(rows, len(F)), n_projections), dtype=self.dtype)

            def step(block: slice) -> None:
                Z = scratch[: block.stop - block.start]
                self.linear.apply(X[block], out=Z)
                self.nonlinearity(Z, F[block])
                if self.weights is not None:
                    F[block] *= self.weights

            return step

        for_row_blocks(make_step, len(F), rows, self.n_components)
        return F
