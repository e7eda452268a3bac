"""A greedy walk: steps taken one by one, weights and errors on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from .problem import Problem
from .refit import refitted
from .selection import Selection

STEPS_PER_UNIT, SPARE_STEPS = 8, 100
"""Steps allowed for each further unit, and for all: a unit may be chosen again."""


class Step(NamedTuple):
    """One step: w ← shrink · w + added · e_unit, and the relative error it leaves."""

    unit: int
    shrink: float
    added: float
    error: float


Steps = Callable[[Problem, np.ndarray, np.ndarray], Iterator[Step]]
"""Steps from kept units and their weights on, until none helps."""


class Walk:
    """Where the steps have led so far, and how to go on."""

    def __init__(self, problem: Problem, steps: Steps) -> None:
        self._problem = problem
        self._steps = steps
        self._w = np.zeros(len(problem.norms))
        self._found: dict[int, float] = {}  # units in order of choice, and the error

    def __len__(self) -> int:
        """Units kept."""
        return len(self._found)

    @property
    def _kept(self) -> np.ndarray:
        return np.fromiter(self._found, dtype=np.int64, count=len(self))

    def until(self, n_units: int) -> None:
        """Go on until so many different units have weight, or no step helps."""
        kept = self._kept
        steps = self._steps(self._problem, kept, self._w[kept])
        allowed = STEPS_PER_UNIT * (n_units - len(self)) + SPARE_STEPS
        for step in islice(steps, allowed):
            if step.shrink == 0:  # all others lose their weight
                self._found.clear()
            self._w *= step.shrink
            self._w[step.unit] += step.added
            # a unit that comes again lowers the error of as many units as there are
            known = step.unit in self._found
            newest = next(reversed(self._found)) if known else step.unit
            self._found[newest] = step.error
            if len(self) == n_units:
                return

    def refit(self) -> None:
        """The best weights of the kept units; those that get none are kept no more."""
        kept = self._kept
        errors = np.fromiter(self._found.values(), dtype=np.float64)
        weights, error = refitted(self._problem, kept, self._w[kept], errors[-1])
        some = weights > 0
        self._w[kept] = weights
        # errors are by number of units, whichever those are
        errors = errors[: np.count_nonzero(some)]
        errors[-1] = error
        self._found = dict(zip(kept[some].tolist(), errors.tolist(), strict=True))

    def selection(self) -> Selection:
        """What is kept."""
        kept = self._kept
        errors = np.fromiter(self._found.values(), dtype=np.float64)
        return Selection(kept, self._w[kept], errors)
