"""What a greedy selection found: kept units, their weights, the error on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


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
