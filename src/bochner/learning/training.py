"""The loop: passes over batches, a look at held-out rows, the best iterate kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from .._blas import one_blas_thread
from .._progress import Report
from .._random import Stream
from .batches import Rows, n_batches_of
from .model import Model
from .solvers import Solver

EVALUATED_ROWS = 1000
"""Rows of one look at held-out rows: for a kernel, all pairs of them."""


MAX_BATCH, MIN_BATCH, BATCHES = 500, 32, 32
"""Batches of a pass, where there are rows for so many, and their size within bounds."""

STEPS, MIN_EPOCHS, MAX_EPOCHS = 4000, 10, 300
"""Steps where no number of passes is asked for, and passes that they are within."""

DIVERGED = 1e6
"""A loss, or growth of a large one, with no way back; Pegasos begins with much."""

PATIENCE = 3
"""A third of the passes without a lower held-out loss end it."""


BEYOND_HOPE = (
    "CompactMap: the loss has grown beyond hope. Lower learning_rate (raise alpha for "
    "solver='pegasos'), or scale the features."
)


@dataclass
class History:
    """What learning went through, one entry a pass; the first is the start."""

    loss: list[float] = field(default_factory=list)  # mean over the pass's batches
    held_out_loss: list[float] = field(default_factory=list)
    held_out_error: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    best: int = 0
    by_error: bool = False  # the least error is best, not the least loss
    ended: str = ""  # "interrupted" or "diverged", where it did not end by itself

    def add(self, loss: float, held_out: tuple[float, float], seconds: float) -> bool:
        """Enter a pass; whether it is the best so far."""
        self.loss.append(loss)
        self.held_out_loss.append(held_out[0])
        self.held_out_error.append(held_out[1])
        self.seconds.append(seconds)
        last = len(self.loss) - 1
        judged = self.held_out_error if self.by_error else self.held_out_loss
        if judged[last] < judged[self.best]:
            self.best = last
        return self.best == last

    @property
    def complaint(self) -> str:
        """What the user should know about the end, or nothing."""
        if self.ended == "diverged":
            return f"{BEYOND_HOPE} The iterate of pass {self.best} is kept."
        if self.ended == "interrupted":
            passes = len(self.loss) - 1
            return f"CompactMap: interrupted after pass {passes}; the best is kept."
        return ""

    def has_diverged(self) -> bool:
        """Whether the last pass is beyond hope."""
        last = self.loss[-1], self.held_out_loss[-1]
        limit = DIVERGED * max(1.0, self.held_out_loss[0])
        return not (np.isfinite(last).all() and max(last) < limit)

    def arrays(self) -> dict[str, np.ndarray]:
        """As columns, with the number of the pass as `epoch`."""
        names = "loss", "held_out_loss", "held_out_error", "seconds"
        columns = {name: np.array(getattr(self, name)) for name in names}
        return {"epoch": np.arange(len(self.loss)), **columns}


def batch_size_for(n_rows: int) -> int:
    """Rows of a batch where none are asked for."""
    return min(n_rows, max(MIN_BATCH, min(MAX_BATCH, n_rows // BATCHES)))


@dataclass(frozen=True)
class Schedule:
    """How long to learn.

    Parameters
    ----------
    n_epochs : int
        Passes over the rows.
    batch_size : int
    patience : int
        Passes without a better held-out value after which to stop.
    """

    n_epochs: int
    batch_size: int
    patience: int

    @classmethod
    def of(
        cls,
        n_rows: int,
        batch_size: int | None,
        n_epochs: int | None,
        patience: int | None,
    ) -> Schedule:
        """What is asked for, and what serves so many rows where nothing is."""
        if batch_size is None:
            batch_size = batch_size_for(n_rows)
        if batch_size > n_rows:
            raise ValueError(
                f"CompactMap: batch_size must be at most the {n_rows} rows that are "
                "learned from (validation_fraction holds some out); got "
                f"{batch_size}. Leave batch_size=None."
            )
        n_batches = n_batches_of(n_rows, batch_size)
        wished = min(MAX_EPOCHS, max(MIN_EPOCHS, -(-STEPS // n_batches)))
        n_epochs = n_epochs or wished
        return cls(n_epochs, batch_size, patience or -(-n_epochs // PATIENCE))


def assessed(model: Model, rows: Rows) -> tuple[float, float]:
    """Mean value and error over rows; NaN where something has overflown."""
    totals = np.zeros(2)
    for X, y in rows.batches(min(EVALUATED_ROWS, len(rows)), None):
        both = model.assess(X, y)
        totals += [column.sum(dtype=np.float64) for column in both]
    loss, error = totals / len(rows)
    return float(loss), float(error)


@contextmanager
def exchanged(model: Model, values: list[np.ndarray]) -> Iterator[None]:
    """The model with other values in place of its own."""
    own = [p.value for p in model.parameters]
    put(model, values)
    try:
        yield
    finally:
        put(model, own)


def put(model: Model, values: list[np.ndarray]) -> None:
    """Other values in place of the model's parameters."""
    for parameter, value in zip(model.parameters, values, strict=True):
        parameter.value = value


def learn(
    model: Model,
    solver: Solver,
    rows: Rows,
    held: Rows,
    schedule: Schedule,
    rng: Stream,
    report: Report,
) -> History:
    """Run the solver over the rows; the model ends where held-out rows were best.

    Stops early when they have not been better for a while, when values have grown
    beyond hope, or when interrupted; `History.ended` tells the last two.
    """
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        begun, history = perf_counter(), History(by_error=solver.by_error)
        history.add(np.nan, assessed(model, held), 0.0)
        kept = [p.value.copy() for p in model.parameters]
        for epoch in range(1, schedule.n_epochs + 1):
            try:
                loss = _pass(solver, rows, schedule, epoch, rng.child(epoch))
                with exchanged(model, solver.iterate()):
                    held_out = assessed(model, held)
            except KeyboardInterrupt:
                history.ended = "interrupted"
                break
            better = history.add(loss, held_out, perf_counter() - begun)
            report(
                f"pass {epoch} of {schedule.n_epochs}: loss {loss:.4g}, held out "
                f"{held_out[0]:.4g}, error {held_out[1]:.4g}"
            )
            if history.has_diverged():
                history.ended = "diverged"
                break
            if better:
                for copy, iterate in zip(kept, solver.iterate(), strict=True):
                    copy[:] = iterate
            elif epoch - history.best >= schedule.patience:
                break
        put(model, kept)
    return history


def _pass(
    solver: Solver,
    rows: Rows,
    schedule: Schedule,
    epoch: int,
    rng: Stream,
) -> float:
    """One pass over the rows; the mean value before each step."""
    n = rows.n_batches(schedule.batch_size)
    total, done = 0.0, (epoch - 1) * n
    for X, y in rows.batches(schedule.batch_size, rng):
        left = 1 - done / (schedule.n_epochs * n)
        total += solver.step(X, y, (1 - np.cos(np.pi * left)) / 2)
        done += 1
        if not np.isfinite(total):
            break
    return total / n
