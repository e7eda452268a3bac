"""Compression: fewer columns than were drawn, chosen by what the data needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from .._core.random import Stream
from .._core.validation import check_count
from ..features.feature_map import FeatureMap
from ..kernels.base import Kernel


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Σ_u weights_u R_u ≈ r over the kept units u.

    A unit is what shares a weight: one column of cosines with phases, the two columns
    of a frequency of cos/sin maps. Without a refit the path is nested: the first j
    units are those that a run for j units keeps; their weights are always of their own.

    Attributes
    ----------
    kept : int array of shape (n_kept,)
        Candidates in the order of their choice.
    weights : array of shape (n_kept,)
        What each counts for, all > 0, where 1 is its share among all candidates; what
        it counts for among the kept is `feature_map_.weights_`.
    errors : array of shape (n_kept,)
        ‖Σ_u w_u R_u − r‖/‖r‖ with 1, 2, … units on the way, r the target: what a run
        for so many units comes to, or a little more between two refits.
    """

    kept: np.ndarray
    weights: np.ndarray
    errors: np.ndarray

    def __repr__(self) -> str:
        return f"Selection({len(self.kept)} units kept, error {self.error:.3g})"

    @property
    def error(self) -> float:
        """The relative error in the end."""
        return float(self.errors[-1])

    def plot(self, ax: Any = None) -> Any:
        """Error against the number of kept units, on matplotlib axes, returned."""
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
"""Columns drawn by default, as in the paper."""


class CompressedMap(Protocol):
    """What a compression makes of candidates: a feature map of its own."""

    @property
    def n_components(self) -> int: ...

    @property
    def weights_(self) -> np.ndarray: ...

    def __call__(self, X: Any) -> np.ndarray: ...

    def astype(self, dtype: Any) -> CompressedMap: ...


class Compression(BaseEstimator):
    """The spec: how many candidates are drawn, and how they become fewer."""

    n_candidates: int

    def n_drawn(self, n_components: int) -> int:
        """Columns to draw for n_components to keep."""
        owner = type(self).__name__
        drawn = check_count(owner, "n_candidates", self.n_candidates)
        if n_components > drawn:
            raise ValueError(
                f"{owner}: n_components={n_components} columns cannot be kept of "
                f"n_candidates={drawn}; draw more candidates (ten times n_components "
                "is usual), or keep fewer."
            )
        return drawn

    def compress(
        self,
        candidates: FeatureMap,
        n_components: int,
        X: Any,
        kernel: Kernel,
        weight: np.ndarray | None,
        rng: Stream,
    ) -> tuple[CompressedMap, Selection | None]:
        """The smaller map, and what was selected if anything was.

        Looks at rows X of these weights, and at the kernel to be approximated.
        """
        raise NotImplementedError

    def again(
        self,
        candidates: FeatureMap,
        n_components: int,
        selection: Selection | None,
        rng: Stream,
    ) -> CompressedMap:
        """The map that `compress` made, from what it selected and the same draws."""
        raise NotImplementedError
