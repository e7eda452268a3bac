"""The solvers of learned maps: Adam and Pegasos."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..._core.parallel import for_fixed_blocks
from ._adam import adam
from .model import Model
from .weights import Parameter

BETAS = 0.9, 0.999
"""Decay rates β₁ and β₂ of the averages of gradients and of their squares."""

FLOOR = 1e-8
"""Added to the root of the squares, so that zero gradients do not divide by zero.
Divided by a parameter's size, as gradients are."""

UPDATED_ENTRIES = 1 << 16
"""Numbers that a thread updates at a time."""

AVERAGED_STEPS = 100
"""Steps whose iterates are averaged. The average is less noisy than its iterates, so
held-out values compare passes better."""

ALTERNATION = 100
"""Pegasos takes this many steps of the head, then as many of the map."""


class Solver(Protocol):
    """Takes one step per batch."""

    by_error: bool
    """Whether iterates are compared by held-out error instead of held-out loss."""

    def step(self, X: Any, y: Any, share: float) -> float:
        """Take one step; returns the mean value of the batch before the step.

        `share` of the full learning rate, which falls from 1 to 0 during training.
        """
        ...

    def iterate(self) -> list[np.ndarray]:
        """The current solution, in the order of the model's parameters."""
        ...


class Adam:
    """Adam: step sizes that adapt to the gradients of each number.

    A step is at most about learning_rate, in units of the parameter's size. The iterate
    is an average over the last steps. Memory: three numbers per learned number.

    Parameters
    ----------
    model : Model
        The model, whose parameters change in place.
    learning_rate : float
        Largest step, relative to the sizes of the parameters.

    References
    ----------
    D. Kingma and J. Ba, Adam: a method for stochastic optimization, ICLR 2015.
    """

    by_error = False

    def __init__(self, model: Model, learning_rate: float) -> None:
        self.model, self.learning_rate = model, learning_rate
        values = [p.value for p in model.parameters]
        self._moments = [(np.zeros_like(v), np.zeros_like(v)) for v in values]
        self._iterate = [v.copy() for v in values]
        self._t = 0

    def step(self, X: Any, y: Any, share: float) -> float:
        value = self.model.differentiate(X, y)
        self._t += 1
        # both averages start at zero: correct for the sum of their weights so far
        corrections = [1 - beta**self._t for beta in BETAS]
        rate = share * self.learning_rate * corrections[1] ** 0.5 / corrections[0]
        floor = FLOOR * corrections[1] ** 0.5
        newest_share = 1 / min(self._t, AVERAGED_STEPS)
        states = zip(self.model.parameters, self._moments, self._iterate, strict=True)
        for parameter, moments, average in states:
            _update(parameter, (*moments, average), rate, floor, newest_share)
        return value

    def iterate(self) -> list[np.ndarray]:
        return self._iterate


def _update(
    parameter: Parameter,
    state: tuple[np.ndarray, np.ndarray, np.ndarray],
    rate: float,
    floor: float,
    share: float,
) -> None:
    """Apply the compiled step to one parameter and its state, in blocks of rows."""
    value, (mean, square, average) = parameter.value, state
    real = value.dtype.type
    rates = (rate * parameter.sizes).astype(real)
    floors = (floor / parameter.sizes).astype(real)
    decays = real(BETAS[0]), real(BETAS[1])

    def step(rows: slice) -> None:
        adam(
            value[rows],
            parameter.gradient[rows],
            mean[rows],
            square[rows],
            average[rows],
            rates[rows],
            floors[rows],
            decays,
            real(share),
        )

    rows = max(1, UPDATED_ENTRIES // value.shape[1])
    for_fixed_blocks(step, len(value), rows, value.shape[1])


class Pegasos:
    """The paper's alternation of stochastic subgradient steps, corrected.

    A step of the head w has size 1/(λt) along λw + the mean gradient over the whole
    batch, and is followed by a projection to ‖w‖ ≤ 1/√λ. A step of the map has size
    1/(λt) along its gradient. t counts the steps of each kind over the whole training.
    Included for comparison: a step of 1/λ on frequencies is not stable. With
    objective="kernel" there is no linear head, and all steps are steps of the map.

    Parameters
    ----------
    model : Model
        The model, whose parameters change in place.
    penalty : float
        λ.
    n_steps : int, default 0
        Number of steps taken before.

    References
    ----------
    F. X. Yu et al., Compact nonlinear maps and circulant extensions, 2015.
    S. Shalev-Shwartz et al., Pegasos, Mathematical Programming 2011.
    """

    by_error = True  # large steps overshoot the margin, so losses compare badly

    def __init__(self, model: Model, penalty: float, n_steps: int = 0) -> None:
        self.model, self.penalty = model, penalty
        self._t = n_steps
        self._n_steps = {"head": n_steps // 2, "map": n_steps // 2}

    def step(self, X: Any, y: Any, share: float) -> float:
        is_head_turn = (self._t // ALTERNATION) % 2 == 0
        self._t += 1
        coefficients = self.model.head.coefficients
        if is_head_turn and coefficients is not None:
            value = self.model.differentiate_head(X, y)
            self._descend("head", self.model.head.parameters)
            self._project(coefficients)
        else:
            value = self.model.differentiate(X, y)
            self._descend("map", self.model.map_parameters)
        return value

    def iterate(self) -> list[np.ndarray]:
        return [p.value for p in self.model.parameters]

    def _descend(self, kind: str, parameters: list[Parameter]) -> None:
        self._n_steps[kind] += 1
        rate = 1 / (self.penalty * self._n_steps[kind])
        for p in parameters:
            p.value -= p.value.dtype.type(rate) * p.gradient

    def _project(self, coefficients: Parameter) -> None:
        length = np.linalg.norm(coefficients.value)
        radius = self.penalty**-0.5
        if length > radius:
            coefficients.value *= radius / length
