"""Learning from blocks of rows, one after the other, without an end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .._blas import one_blas_thread
from .._random import Stream
from ..kernels import Kernel
from .batches import Rows
from .model import Model
from .recipe import Recipe
from .solvers import Solver
from .targets import Targets
from .training import batch_size_for, exchanged

STREAM_STEPS = 1000
"""Steps after which the rate has fallen to 1/√2."""


@dataclass(eq=False)
class Online:
    """One pass over each block, at a rate that falls slowly.

    share(t) = (1 + t/1000)^-½ of the full rate at step t.
    """

    recipe: Recipe
    kernel: Kernel
    targets: Targets | None
    model: Model
    solver: Solver
    rng: Stream
    t: int = 0
    half: bool = False
    """Whether a block is being learned from, or was broken off meanwhile."""

    def add(self, rows: Rows, batch_size: int | None) -> float:
        """Learn from one more block; its mean value, each batch before its step."""
        size = min(batch_size or batch_size_for(len(rows)), len(rows))
        total, rng = 0.0, self.rng.child(self.t)
        self.half = True
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for X, y in rows.batches(size, rng):
                share = (1 + self.t / STREAM_STEPS) ** -0.5
                total += self.solver.step(X, y, share)
                self.t += 1
            with exchanged(self.model, self.solver.iterate()):
                finite = all(np.isfinite(p.value).all() for p in self.model.parameters)
        return total / rows.n_batches(size) if finite else np.nan

    def settled(self) -> Self:
        """Itself, once the map that was learned is in place."""
        self.half = False
        return self
