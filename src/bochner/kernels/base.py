"""The base class of all kernels: exact Gram matrix, diagonal and spectral law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from .._core.parallel import block_rows, for_row_blocks
from .._core.validation import check_rows
from .laws import Law


class Kernel(BaseEstimator):
    """A positive definite function k(x, y) of two rows.

    Subclasses implement blocks of the Gram matrix (`_block`), its `diagonal`, and the
    `spectral_law`. Random features draw projections from that law; after the matching
    nonlinearity, the inner products of the features estimate this kernel.

    Calling a kernel computes the Gram matrix in O(n n' d) time.

    See Also
    --------
    ShiftInvariant : Kernels of the difference x − y.

    Examples
    --------
    >>> from bochner import kernels
    >>> kernel = kernels.Gaussian(gamma=0.5)
    >>> isinstance(kernel, kernels.Kernel)
    True
    >>> kernel([[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    is_rule: bool = False
    """Whether the bandwidth is a rule that `resolve` still has to evaluate on data."""

    input_scale: np.ndarray | None = None
    """One factor per feature by which inputs are multiplied first (ARD), or None."""

    @property
    def made_by(self) -> str:
        """The parameter or transformer that gives features of this kernel.

        Error messages suggest it to users.
        """
        return "Nystroem features"

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Self:
        """Return a copy of this kernel with all bandwidth rules evaluated on X.

        Parameters
        ----------
        X : array, CSR matrix or LazyRows of shape (n, d)
            Validated rows.
        sample_weight : array of shape (n,), optional
            A row of integer weight w counts as w equal rows.

        Returns
        -------
        Kernel
        """
        return clone(self)

    def spectral_law(self) -> Law:
        """Return the law of the projections, for inputs multiplied by `input_scale`."""
        raise NotImplementedError

    def unit_law(self) -> Law:
        """Return the law without bandwidth, which is known before any data is seen."""
        return self.spectral_law()

    def rescaled(self, factors: ArrayLike) -> Self:
        """Return the kernel k(f ∘ x, f ∘ y).

        Parameters
        ----------
        factors : float or array of shape (n_features,)
            f, one factor for all features or one factor per feature.

        Returns
        -------
        Kernel
        """
        raise NotImplementedError

    def diagonal(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        """Return k(x, x) of every row, (n,) float64."""
        raise NotImplementedError

    def _block(self, X: Any, Y: Any, same: bool) -> Callable[[slice], np.ndarray]:
        """Return a function that maps a slice of X's rows to their kernel with Y.

        Called on resolved kernels only. If `same`, Y is X, and entries on the diagonal
        are set to their exact values.
        """
        raise NotImplementedError

    def __call__(
        self,
        X: ArrayLike | sparse.csr_matrix,
        Y: ArrayLike | sparse.csr_matrix | None = None,
    ) -> np.ndarray:
        """Compute the exact Gram matrix k(X, Y) in blocks of rows.

        A bandwidth rule is evaluated on Y if Y is given, otherwise on X. A kernel
        passed to `SVC(kernel=…)` therefore keeps the bandwidth of the training rows.

        Time is O(n n' d). Memory is that of the result, two float64 copies of the
        inputs and one block.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows.
        Y : array-like or sparse matrix of shape (n', d), default None
            Other rows. None stands for X.

        Returns
        -------
        array of shape (n, n')
            In the floating type of X.

        Raises
        ------
        ValueError
            If X and Y have different numbers of features, or a parameter of the kernel
            is invalid.
        """
        rows = check_rows(X, type(self).__name__)
        others = rows if Y is None else check_rows(Y, type(self).__name__, "Y")
        if rows.shape[1] != others.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: X has {rows.shape[1]} features and Y has "
                f"{others.shape[1]}; X and Y must have the same number of features."
            )
        block = self.resolve(others)._block(rows, others, Y is None)
        out = np.empty((rows.shape[0], others.shape[0]), dtype=rows.dtype)

        def step(part: slice) -> None:
            out[part] = block(part)

        height = block_rows(len(out.T), np.dtype(np.float64).itemsize)
        for_row_blocks(lambda: step, len(out), height, len(out.T))
        return out
