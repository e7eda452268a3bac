"""What a greedy selection found: kept units, their weights, the error on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..feature_map import FeatureMap


@dataclass(frozen=True, eq=False)
class Selection:
    """Σ_u weights_u R_u ≈ r over the kept units u.

    The path is nested: the first j units are those that a run for j units keeps.

    Attributes
    ----------
    kept : int array of shape (n_kept,)
        Candidates in the order of their choice.
    weights : array of shape (n_kept,)
        What each counts for, all > 0; 1 would be its share among all candidates.
    errors : array of shape (n_kept,)
        ‖Σ_u w_u R_u − r‖/‖r‖ when the first 1, 2, … units were chosen, with the greedy
        weights.
    error : float
        The same in the end, weights refitted if they were asked to.
    """

    kept: np.ndarray
    weights: np.ndarray
    errors: np.ndarray
    error: float

    def compressed(self, candidates: FeatureMap) -> FeatureMap:
        """√w_u z_u over the kept units u."""
        return candidates.keep(self.kept, self.weights)

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
        counts = np.arange(1, len(self.errors) + 1)
        ax.loglog(counts, self.errors, label="greedy weights")
        ax.plot(counts[-1], self.error, "o", label="in the end")
        ax.set(xlabel="units kept", ylabel="relative error on the sampled pairs")
        ax.legend()
        return ax
