"""Solvers: how gradients become steps.

| solver | steps |
|---|---|
| `adam` | all parameters at once, each by its own history, at a rate that decays |
| `pegasos` | the paper's: 100 steps of the head, 100 of the map, at rates 1/(λt) |
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .._threads import for_fixed_blocks
from ._adam import adam
from .model import Model
from .parameters import Parameter

BETAS = 0.9, 0.999
"""Memory of the averages of gradients and of their squares."""

FLOOR = 1e-8
"""Keeps a gradient of zero from being divided by itself; over a parameter's size, as
gradients are."""

UPDATED_ENTRIES = 1 << 16
"""Numbers that a thread updates at a time."""

AVERAGED_STEPS = 100
"""Steps whose iterates are averaged: what is learned is less noisy than each of them,
and held-out values tell more."""

ALTERNATION = 100
"""Steps of the head, then as many of the map."""


class Solver(Protocol):
    """Takes one step per batch."""

    by_error: bool
    """Whether iterates are judged by held-out errors: losses of some say little."""

    def step(self, X: Any, y: Any, share: float) -> float:
        """Move the model; the mean value of the batch before that.

        `share` of the full rate, which falls from 1 to 0 on the way to the end.
        """
        ...

    def iterate(self) -> list[np.ndarray]:
        """What has been learned so far, in the order of the model's parameters."""
        ...


class Adam:
    """Steps of a size that follows each number's own gradients.

    At most about learning_rate, in units of each parameter. The iterate is an average
    over the last steps. Three numbers of state for each that is learned.

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
        # both averages start at zero: divide by the weight they have gathered
        gathered = [1 - beta**self._t for beta in BETAS]
        rate = share * self.learning_rate * gathered[1] ** 0.5 / gathered[0]
        floor = FLOOR * gathered[1] ** 0.5
        share = 1 / min(self._t, AVERAGED_STEPS)
        states = zip(self.model.parameters, self._moments, self._iterate, strict=True)
        for parameter, moments, average in states:
            _move(parameter, (*moments, average), rate, floor, share)
        return value

    def iterate(self) -> list[np.ndarray]:
        return self._iterate


def _move(
    parameter: Parameter, state: Any, rate: float, floor: float, share: float
) -> None:
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

    The head w: step 1/(λt) on λw + slopes averaged over the whole batch, then a
    projection to ‖w‖ ≤ 1/√λ. The map: step 1/(λt) on its slopes. t counts each kind's
    steps from the first to the last. Kept for reference: a step of 1/λ on frequencies
    is not stable. A kernel has no head to alternate with.

    References
    ----------
    F. X. Yu et al., Compact nonlinear maps and circulant extensions, 2015.
    S. Shalev-Shwartz et al., Pegasos, Mathematical Programming 2011.
    """

    by_error = True  # its steps swing past the margin, the more the smaller λ

    def __init__(self, model: Model, penalty: float, n_steps: int = 0) -> None:
        self.model, self.penalty = model, penalty
        self._t = n_steps  # taken before
        self._taken = {"head": n_steps // 2, "map": n_steps // 2}

    def step(self, X: Any, y: Any, share: float) -> float:
        turn = (self._t // ALTERNATION) % 2
        self._t += 1
        coefficients = self.model.head.coefficients
        if turn == 0 and coefficients is not None:
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
        self._taken[kind] += 1
        rate = 1 / (self.penalty * self._taken[kind])
        for p in parameters:
            p.value -= p.value.dtype.type(rate) * p.gradient

    def _project(self, coefficients: Parameter) -> None:
        length = np.linalg.norm(coefficients.value)
        radius = self.penalty**-0.5
        if length > radius:
            coefficients.value *= radius / length
