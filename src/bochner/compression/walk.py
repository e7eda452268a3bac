"""A greedy walk: steps taken one by one, weights and errors on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

STEPS_PER_UNIT = 4
"""Steps allowed for each unit asked for: a unit may be chosen again."""


class Step(NamedTuple):
    """One step: w ← shrink · w + added · e_unit, in units of 1/‖R_u‖.

    The weights it stands for are scale · w_u/‖R_u‖, and leave this relative error.
    """

    unit: int
    shrink: float
    added: float
    scale: float
    error: float


class Walk:
    """Where the steps have led so far, and how to go on."""

    def __init__(self, steps: Iterator[Step], norms: np.ndarray) -> None:
        self._steps = steps
        self._norms = norms
        self._w = np.zeros(len(norms))
        self._count = 0
        self._scale = 0.0
        self._found: dict[int, float] = {}  # units in order of choice, and the error

    def until(self, n_units: int) -> None:
        """Go on until so many different units have weight, or no step helps."""
        while len(self._found) < n_units and self._count < STEPS_PER_UNIT * n_units:
            step = next(self._steps, None)
            if step is None:
                return
            if step.shrink == 0:  # all others lose their weight
                self._found.clear()
            self._w *= step.shrink
            self._w[step.unit] += step.added
            # a unit that comes again lowers the error of as many units as there are
            known = step.unit in self._found
            self._found[next(reversed(self._found)) if known else step.unit] = (
                step.error
            )
            self._scale, self._count = step.scale, self._count + 1

    @property
    def kept(self) -> np.ndarray:
        """Units in the order of their choice."""
        return np.fromiter(self._found, dtype=np.int64)

    @property
    def weights(self) -> np.ndarray:
        """Weights of the kept units."""
        return self._scale * self._w[self.kept] / self._norms[self.kept]

    @property
    def errors(self) -> np.ndarray:
        """Relative error with 1, 2, … units."""
        return np.fromiter(self._found.values(), dtype=np.float64)
