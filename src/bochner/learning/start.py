"""The model before learning: a random map, a zero head, and how wide it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._progress import Report, silent
from .._random import Stream
from ..projections import Circulant, Dense, LinearMap, Projection
from .batches import Rows
from .model import Model
from .parameters import CirculantWeights, DenseWeights, Weights
from .solvers import Solver
from .training import Schedule, learn

STRUCTURES: dict[str, tuple[type[Projection], Callable[..., Weights]]] = {
    "dense": (Dense, DenseWeights),
    "circulant": (Circulant, CirculantWeights),
}
"""What learned maps are made of, and the projection that starts each."""

SEARCHED_ROWS = 20
"""Held-out rows below which bandwidths cannot be told apart."""

SHORT_ROWS = 3000
"""Rows of a short run."""

SHORT_BATCH, SHORT_STEPS = 100, 250
"""Rows and number of its steps: enough for bandwidths to tell themselves apart."""

SLACK = 1.05
"""Of factors whose values are within so much of the least, the smallest is taken: wide
kernels are slower at first and better in the end."""

COARSE = 1 / 16, 1 / 4, 1.0, 4.0, 16.0
"""Factors on the frequencies at the start; a factor of 2 is 4 on γ."""


@dataclass(frozen=True)
class Start:
    """A random map to start from.

    Parameters
    ----------
    structure : name of one of `STRUCTURES`
    linear : LinearMap of shape (m, d)
        Drawn from the law, in the floating type of the rows.
    input_scale : array of (d,) or None
        Factors of the inputs (ARD).
    biases : array of (m,)
        Phases in radians.
    center : array of (d,)
        c, which rows are measured from while the map is learned.
    """

    structure: str
    linear: LinearMap
    input_scale: np.ndarray | None
    biases: np.ndarray
    center: np.ndarray

    def weights(self, factor: float) -> Weights:
        """The linear map to be learned, its frequencies multiplied first."""
        linear = self.linear
        if factor != 1:
            # of the inputs: scales of rows stay what the law has drawn
            linear = linear.scale_columns(np.full(linear.shape[1], factor))
        return STRUCTURES[self.structure][1](linear, self.input_scale, self.center)


def search_factor(
    make_model: Callable[[float], Model],
    make_solver: Callable[[Model], Solver],
    rows: Rows,
    held: Rows,
    rng: Stream,
    report: Report,
) -> float:
    """The factor on the frequencies whose short run ends at the least held-out value.

    Short runs on at most `SHORT_ROWS` rows from every factor of `COARSE`, then from
    twice and half the best: values are flat where a bandwidth is far off.
    """
    few = rows.sample(SHORT_ROWS, rng.child("rows"))
    size = min(SHORT_BATCH, len(few))
    n_epochs = -(-SHORT_STEPS // few.n_batches(size))
    short = Schedule(n_epochs, size, patience=n_epochs)

    def value(factor: float) -> float:
        model = make_model(factor)
        history = learn(
            model, make_solver(model), few, held, short, rng.child("short"), silent
        )
        if history.ended == "interrupted":
            raise KeyboardInterrupt
        least = min(history.held_out_loss)
        report(f"start × {factor:g}: held out {least:.4g}")
        return least

    found = {factor: value(factor) for factor in COARSE}
    best = min(found, key=found.__getitem__)
    found |= {factor: value(factor) for factor in (best / 2, best * 2)}
    least = min(found.values())
    return min(factor for factor, value in found.items() if value <= SLACK * least)
