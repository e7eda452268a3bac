"""The base class of compressions, and the selection that a greedy compression makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import BaseEstimator

from .._core.random import Stream
from .._core.validation import check_count
from ..features.feature_map import FeatureMap
from ..kernels.base import Kernel


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """The kept units u and their weights w_u: Σ_u w_u R_u ≈ r.

    A unit is the set of columns that share one weight: one column of cosines with
    phases, or the cosine and the sine of one frequency of cos/sin maps. Without a
    refit the selections are nested: the first j units are those that a run for j units
    keeps. The weights differ between the two runs in either case.

    Attributes
    ----------
    kept : int array of shape (n_kept,)
        Indices of the kept candidates, in the order in which they were chosen.
    weights : array of shape (n_kept,)
        Positive weight of each kept unit. Weight 1 is the share that the unit has when
        all candidates are kept. The weights relative to the kept units alone are
        `feature_map_.weights_`.
    errors : array of shape (n_kept,)
        Relative error ‖Σ_u w_u R_u − r‖/‖r‖ with 1, 2, … units, where r is the target.
        A run for that many units ends at the same error or, between two refits, at a
        slightly smaller one.

    See Also
    --------
    GIGA : A compression that selects units.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import methods
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> methods.giga(16, n_candidates=200, random_state=0).fit(X).compression_
    Selection(16 units kept, error 0...)
    """

    kept: np.ndarray
    weights: np.ndarray
    errors: np.ndarray

    def __repr__(self) -> str:
        return f"Selection({len(self.kept)} units kept, error {self.error:.3g})"

    @property
    def error(self) -> float:
        """Relative error of the final selection."""
        return float(self.errors[-1])

    def plot(self, ax: Any = None) -> Any:
        """Plot the error against the number of kept units.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; new axes by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes that hold the curve.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as missing:
            raise ImportError(
                "Selection.plot needs matplotlib: pip install matplotlib. The curve "
                "itself is the array `errors`."
            ) from missing
        ax = plt.subplots()[1] if ax is None else ax
        ax.loglog(np.arange(1, len(self.errors) + 1), self.errors)
        ax.set(xlabel="units kept", ylabel="relative error, sampled pairs")
        return ax


N_CANDIDATES = 5000
"""Default number of columns drawn, as in the paper."""


class CompressedMap(Protocol):
    """The feature map that a compression returns."""

    @property
    def n_components(self) -> int: ...

    @property
    def weights_(self) -> np.ndarray: ...

    def __call__(self, X: Any) -> np.ndarray: ...

    def astype(self, dtype: DTypeLike) -> CompressedMap: ...


class Compression(BaseEstimator):
    """Base class: the number of candidates to draw, and how to reduce them.

    Subclasses have the parameter `n_candidates` and implement `compress` and `again`.
    """

    n_candidates: int

    def n_drawn(self, n_components: int) -> int:
        """Return the number of columns to draw when n_components are kept.

        Parameters
        ----------
        n_components : int
            Number of columns to keep.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If `n_candidates` is not a positive integer, or below n_components.
        """
        owner = type(self).__name__
        n_candidates = check_count(owner, "n_candidates", self.n_candidates)
        if n_components > n_candidates:
            raise ValueError(
                f"{owner}: n_components={n_components} columns cannot be kept of "
                f"n_candidates={n_candidates}; draw more candidates (ten times "
                "n_components is usual), or keep fewer."
            )
        return n_candidates

    def compress(
        self,
        candidates: FeatureMap,
        n_components: int,
        X: Any,
        kernel: Kernel,
        weight: np.ndarray | None,
        rng: Stream,
    ) -> tuple[CompressedMap, Selection | None]:
        """Reduce a map of candidates to n_components columns.

        Parameters
        ----------
        candidates : FeatureMap
            Map of all candidates.
        n_components : int
            Number of columns to keep.
        X : array or CSR matrix of shape (n, n_features)
            Rows on which candidates are compared.
        kernel : Kernel
            Kernel to approximate, with its bandwidth resolved.
        weight : array of shape (n,) or None
            Weights of the rows; None means equal weights.
        rng : Stream
            Source of every draw.

        Returns
        -------
        compressed : CompressedMap
            The smaller map.
        selection : Selection or None
            The kept units; None if the compression selects no units.
        """
        raise NotImplementedError

    def again(
        self,
        candidates: FeatureMap,
        n_components: int,
        selection: Selection | None,
        rng: Stream,
    ) -> CompressedMap:
        """Rebuild the map that `compress` returned, without looking at rows.

        Parameters
        ----------
        candidates : FeatureMap
            The same candidates as for `compress`.
        n_components : int
            The same number of columns as for `compress`.
        selection : Selection or None
            The selection that `compress` returned.
        rng : Stream
            A stream with the seed that `compress` was given.

        Returns
        -------
        CompressedMap
        """
        raise NotImplementedError
