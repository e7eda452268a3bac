"""The model that is learned: weights, phases and a head, with exact gradients.

    z = W x + b,   f = cos z or [cos z, sin z],   value = head(f)
    ∂/∂z = −sin z ∘ ∂/∂f_cos + cos z ∘ ∂/∂f_sin,   ∂/∂W = Σ_rows (∂/∂z) xᵀ

One evaluation gives cosine and sine, of which one is the feature and the other the
slope.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._cosine import cos_sin_phase
from .._threads import for_fixed_blocks
from .._validation import read_only
from .heads import Head
from .parameters import ROWS, Parameter, Weights

RADIANS = 2 * np.pi
"""Of one turn, in which compiled cosines take phases."""


class Model:
    """Cosines of learned frequencies and phases, under a head.

    Parameters
    ----------
    weights : Weights
        W, (m, d).
    biases : array of (m,)
        Phases b, in radians.
    head : Head
    pairs : bool
        Whether sines are features too.
    learns_biases : bool
    """

    def __init__(
        self,
        weights: Weights,
        biases: np.ndarray,
        head: Head,
        *,
        pairs: bool,
        learns_biases: bool,
    ) -> None:
        self.weights, self.head = weights, head
        self.biases = Parameter.row(biases)
        self._pairs = pairs
        self._learns_biases = learns_biases
        self._kept: dict[int, np.ndarray] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}}  # scratch

    @property
    def dtype(self) -> np.dtype:
        return self.biases.value.dtype

    @property
    def map_parameters(self) -> list[Parameter]:
        """Those of the features."""
        learned = [self.weights.parameter]
        return [*learned, self.biases] if self._learns_biases else learned

    @property
    def parameters(self) -> list[Parameter]:
        return self.map_parameters + self.head.parameters

    def differentiate(self, X: Any, y: Any) -> float:
        """Write all gradients of the mean value of a batch, and return that."""
        batch = self.weights.prepare(X)
        both = self._cosines(batch, X.shape[0])
        value = self._compare(X, y, both)
        active = self.head.active()
        if active is not None:  # the others' slopes are zero
            batch, both = self.weights.select(batch, active), both[active]
        through = self._through(both, active)
        self.weights.differentiate(batch, through)
        if self._learns_biases:
            through.sum(axis=0, out=self.biases.gradient[0])
        return value

    def differentiate_head(self, X: Any, y: Any) -> float:
        """Write the gradients of the head alone, which saves the longer half."""
        both = self._cosines(self.weights.prepare(X), X.shape[0])
        return self._compare(X, y, both)

    def _compare(self, X: Any, y: Any, both: np.ndarray) -> float:
        T = self.head.targets(X, y)
        values = self.head.compare(self._features(both), T)
        return float(values.mean(dtype=np.float64))

    def assess(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Of every row of a batch its value, and what counts in the end, (b,)."""
        return self.head.assess(self.features(X), self.head.targets(X, y))

    def features(self, X: Any) -> np.ndarray:
        """f of every row of a batch, (b, m) or (b, 2m), without any factor."""
        both = self._cosines(self.weights.prepare(X), X.shape[0])
        return self._features(both)

    def _cosines(self, batch: Any, n: int) -> np.ndarray:
        """[cos z, sin z] of every row, (b, 2m)."""
        biases = read_only(self.biases.value[0] / RADIANS)
        Z = self._scratch(0, n, biases.size)
        self.weights.project(batch, Z)
        both = self._scratch(1, n, 2 * biases.size)

        def step(rows: slice) -> None:
            cos_sin_phase(Z[rows], biases, both[rows])

        for_fixed_blocks(step, n, ROWS, 2 * biases.size)
        return both

    def _features(self, both: np.ndarray) -> np.ndarray:
        return both if self._pairs else both[:, : both.shape[1] // 2]

    def _through(self, both: np.ndarray, active: np.ndarray | None) -> np.ndarray:
        """Slopes ∂/∂z of the head's slopes, (b, m), for the rows that `both` has."""
        m = both.shape[1] // 2
        slopes = self._scratch(2, len(both), self._features(both).shape[1])
        out = slopes[:, :m]

        def step(rows: slice) -> None:
            self.head.slopes(rows if active is None else active[rows], slopes[rows])
            np.multiply(out[rows], -both[rows, m:], out=out[rows])
            if self._pairs:
                out[rows] += slopes[rows, m:] * both[rows, :m]

        for_fixed_blocks(step, len(both), ROWS, m)
        return out

    def _scratch(self, place: int, n: int, n_columns: int) -> np.ndarray:
        """An array that is kept from batch to batch: fresh pages are slow."""
        size = n * n_columns
        if place not in self._kept or self._kept[place].size < size:
            self._kept[place] = np.empty(size, dtype=self.dtype)
        return self._kept[place][:size].reshape(n, n_columns)
