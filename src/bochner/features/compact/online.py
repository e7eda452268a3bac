"""Training on a stream of blocks, for `CompactMap.partial_fit`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._core.parallel import one_blas_thread
from ..._core.random import Stream
from ...kernels.base import Kernel
from .initial_model import Recipe
from .model import Model
from .optimizers import Solver
from .targets import Targets
from .training import TrainingRows, batch_size_for, temporary_values

STREAM_STEPS = 1000
"""Number of steps after which the learning rate has fallen to 1/√2."""


@dataclass(eq=False)
class OnlineTraining:
    """One pass over each block, at a learning rate that falls slowly.

    The rate at step t is (1 + t/1000)^-½ of the full rate.
    """

    recipe: Recipe
    kernel: Kernel
    targets: Targets | None
    model: Model
    solver: Solver
    rng: Stream
    t: int = 0
    incomplete: bool = False
    """Whether a block is in progress or was interrupted, so that the model and the
    estimator's fitted attributes may disagree."""

    def add(self, rows: TrainingRows, batch_size: int | None) -> float:
        """Learn from one more block and mark the training as incomplete.

        Returns the mean value of the batches before their steps; NaN if the parameters
        have diverged.
        """
        size = min(batch_size or batch_size_for(len(rows)), len(rows))
        total, rng = 0.0, self.rng.child(self.t)
        self.incomplete = True
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for X, y in rows.batches(size, rng):
                share = (1 + self.t / STREAM_STEPS) ** -0.5
                total += self.solver.step(X, y, share)
                self.t += 1
            with temporary_values(self.model, self.solver.iterate()):
                finite = all(np.isfinite(p.value).all() for p in self.model.parameters)
        return total / rows.n_batches(size) if finite else np.nan
