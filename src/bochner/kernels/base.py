"""What every kernel has: an exact Gram matrix, and a law to draw features from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._core.parallel import block_rows, for_row_blocks
from .._core.validation import check_rows
from .laws import Law


class Kernel(BaseEstimator):
    """A positive definite function of two rows.

    Subclasses give blocks of the Gram matrix, its diagonal, and the law whose draws,
    put through the right nonlinearity, have this kernel for their inner products.
    """

    is_rule: bool = False
    """Whether a bandwidth is a rule, which `resolve` settles on data."""

    input_scale: np.ndarray | None = None
    """One factor per feature that the inputs take first (ARD), or None."""

    @property
    def made_by(self) -> str:
        """What makes features of this kernel, in the words of an error message."""
        return "Nystroem features"

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Self:
        """This kernel with nothing left to the data."""
        return clone(self)

    def spectral_law(self) -> Law:
        """The law of the projections, for inputs multiplied by `input_scale`."""
        raise NotImplementedError

    def unit_law(self) -> Law:
        """The law before any bandwidth: what it is capable of needs no data."""
        return self.spectral_law()

    def rescaled(self, factors: Any) -> Self:
        """This kernel of inputs multiplied by a factor, or one per feature, first."""
        raise NotImplementedError

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) of every row, (n,) float64."""
        raise NotImplementedError

    def _block(self, X: Any, Y: Any, same: bool) -> Callable[[slice], np.ndarray]:
        """A function from slices of X's rows to their kernel with Y, resolved.

        `same`: Y is X, so what is exact on the diagonal is made so.
        """
        raise NotImplementedError

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """The exact Gram matrix k(X, Y), (n, n'), computed in blocks of rows.

        A bandwidth rule is resolved on Y if given, else on X, so that a kernel handed
        to `SVC(kernel=…)` keeps the bandwidth of the training rows. Time O(n n' d);
        memory of the result, two float64 copies of the inputs and one block.
        """
        X = check_rows(X, type(self).__name__)
        others = X if Y is None else check_rows(Y, type(self).__name__, "Y")
        if X.shape[1] != others.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: X has {X.shape[1]} features and Y has "
                f"{others.shape[1]}; they must agree."
            )
        block = self.resolve(others)._block(X, others, Y is None)
        out = np.empty((X.shape[0], others.shape[0]), dtype=X.dtype)

        def step(rows: slice) -> None:
            out[rows] = block(rows)

        rows = block_rows(len(out.T), np.dtype(np.float64).itemsize)
        for_row_blocks(lambda: step, len(out), rows, len(out.T))
        return out
