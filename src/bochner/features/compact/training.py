"""The training loop: batches, solver steps, held-out rows, the best iterate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from ..._core.parallel import one_blas_thread
from ..._core.progress import Report
from ..._core.random import Stream
from .model import Model
from .optimizers import Solver

MIN_HELD = 4
"""If fewer rows would be held out, none are: they could not compare iterates."""

MAX_HELD = 5000
"""Largest number of held-out rows: more would not improve the comparison."""


def n_batches_of(n_rows: int, size: int) -> int:
    """Number of batches of about `size` rows in n_rows rows."""
    return max(1, round(n_rows / size))


@dataclass(frozen=True)
class TrainingRows:
    """Some rows of X with their targets.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        All rows; they may lie on disk.
    y : array of shape (n, …) or None
        Targets of all rows, if there are any.
    index : int array
        Indices of the rows that belong to this object.
    """

    X: Any
    y: np.ndarray | None
    index: np.ndarray

    @classmethod
    def all(cls, X: Any, y: np.ndarray | None) -> TrainingRows:
        """All rows of X."""
        return cls(X, y, np.arange(X.shape[0]))

    def __len__(self) -> int:
        return len(self.index)

    def sample(self, n: int, rng: Stream) -> TrainingRows:
        """A random sample of at most n of these rows."""
        return TrainingRows(self.X, self.y, self.index[rng.subset(len(self), n)])

    def n_batches(self, size: int) -> int:
        """Number of batches of about `size` rows in one pass."""
        return n_batches_of(len(self), size)

    def batches(self, size: int, rng: Stream | None) -> Iterator[tuple[Any, Any]]:
        """Yield all rows once, in batches of about `size`; in random order given rng.

        A batch is read when it is yielded, because the rows may lie on disk.
        """
        order = self.index if rng is None else self.index[rng.permutation(len(self))]
        for places in np.array_split(order, self.n_batches(size)):
            yield self.X[places], None if self.y is None else self.y[places]

    def split(
        self, share: float, rng: Stream, strata: Any
    ) -> tuple[TrainingRows, TrainingRows | None]:
        """Split into rows to learn from and held-out rows.

        Parameters
        ----------
        share : float
            Share of the rows to hold out.
        rng : Stream
            Source of the random choice.
        strata : int array of shape (n,) or None
            Class numbers from 0; every class is held out in proportion.

        Returns
        -------
        learned : TrainingRows
            Rows to learn from.
        held_out : TrainingRows or None
            None if there are too few rows to hold out.
        """
        n = len(self)
        share = min(share, MAX_HELD / n, (n - 1) / n)
        if share * n < MIN_HELD:
            return self, None
        order = rng.permutation(n)
        if strata is not None:
            order = order[np.argsort(strata[order], kind="stable")]
        offset = rng.uniform(1)
        is_held = np.diff(np.floor(share * np.arange(n + 1) + offset)) > 0
        # ^ evenly along the order, so in proportion to every class
        if strata is not None:
            n_learned = np.bincount(strata[order[~is_held]], minlength=strata.max() + 1)
            is_held &= n_learned[strata[order]] > 0
            # ^ a class is not held out completely
        learned, held = np.sort(order[~is_held]), np.sort(order[is_held])
        return (
            TrainingRows(self.X, self.y, self.index[learned]),
            TrainingRows(self.X, self.y, self.index[held]),
        )


EVALUATED_ROWS = 1000
"""Held-out rows that are evaluated at a time; for a kernel, all pairs of them."""

MAX_BATCH, MIN_BATCH, BATCHES = 500, 32, 32
"""Bounds on the default batch size, and the number of batches of a pass within them."""

STEPS, MIN_EPOCHS, MAX_EPOCHS = 4000, 10, 300
"""Default number of steps, and the bounds on the number of passes that they take."""

DIVERGED = 1e6
"""A loss above this, or above this multiple of a large initial loss, has diverged;
Pegasos starts with large losses."""

PATIENCE = 3
"""By default, training stops after 1/PATIENCE of the passes without a lower loss."""

DIVERGENCE_MESSAGE = (
    "CompactMap: the loss has diverged. Lower learning_rate (raise alpha for "
    "solver='pegasos'), or scale the features."
)


@dataclass
class History:
    """Losses, errors and times of a training run, one entry per pass.

    The first entry is the state before training.
    """

    loss: list[float] = field(default_factory=list)  # mean over the pass's batches
    held_out_loss: list[float] = field(default_factory=list)
    held_out_error: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    best: int = 0
    by_error: bool = False  # the best pass has the least error, not the least loss
    ended: str = ""  # "interrupted" or "diverged"; empty if training ended normally

    def add(self, loss: float, held_out: tuple[float, float], seconds: float) -> bool:
        """Append a pass; returns whether it is the best so far."""
        self.loss.append(loss)
        self.held_out_loss.append(held_out[0])
        self.held_out_error.append(held_out[1])
        self.seconds.append(seconds)
        last = len(self.loss) - 1
        criterion = self.held_out_error if self.by_error else self.held_out_loss
        if criterion[last] < criterion[self.best]:
            self.best = last
        return self.best == last

    @property
    def warning(self) -> str:
        """The message to warn the user with; empty if training ended normally."""
        if self.ended == "diverged":
            return f"{DIVERGENCE_MESSAGE} The iterate of pass {self.best} is kept."
        if self.ended == "interrupted":
            n_passes = len(self.loss) - 1
            return (
                f"CompactMap: interrupted after pass {n_passes}; the best iterate, "
                f"of pass {self.best}, is kept."
            )
        return ""

    def has_diverged(self) -> bool:
        """Whether the loss of the last pass has diverged."""
        last = self.loss[-1], self.held_out_loss[-1]
        limit = DIVERGED * max(1.0, self.held_out_loss[0])
        return not (np.isfinite(last).all() and max(last) < limit)

    def arrays(self) -> dict[str, np.ndarray]:
        """The history as arrays by name, with the number of the pass as `epoch`."""
        names = "loss", "held_out_loss", "held_out_error", "seconds"
        columns = {name: np.array(getattr(self, name)) for name in names}
        return {"epoch": np.arange(len(self.loss)), **columns}


def batch_size_for(n_rows: int) -> int:
    """The default number of rows of a batch."""
    return min(n_rows, max(MIN_BATCH, min(MAX_BATCH, n_rows // BATCHES)))


@dataclass(frozen=True)
class Schedule:
    """The length of a training run.

    Parameters
    ----------
    n_epochs : int
        Largest number of passes over the rows.
    batch_size : int
        Rows per step.
    patience : int
        Number of passes without a better held-out value after which training stops.
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
        """The schedule for n_rows rows; None selects the default of a parameter."""
        if batch_size is None:
            batch_size = batch_size_for(n_rows)
        if batch_size > n_rows:
            raise ValueError(
                f"CompactMap: batch_size must be at most the {n_rows} rows that remain "
                f"for training after validation_fraction; got {batch_size}. Lower it, "
                "or set batch_size=None."
            )
        n_batches = n_batches_of(n_rows, batch_size)
        if n_epochs is None:
            n_epochs = min(MAX_EPOCHS, max(MIN_EPOCHS, -(-STEPS // n_batches)))
        return cls(n_epochs, batch_size, patience or -(-n_epochs // PATIENCE))


def evaluate(model: Model, rows: TrainingRows) -> tuple[float, float]:
    """Mean value and mean error over rows; NaN if the model has overflowed."""
    totals = np.zeros(2)
    for X, y in rows.batches(min(EVALUATED_ROWS, len(rows)), None):
        values_and_errors = model.assess(X, y)
        totals += [column.sum(dtype=np.float64) for column in values_and_errors]
    loss, error = totals / len(rows)
    return float(loss), float(error)


@contextmanager
def temporary_values(model: Model, values: list[np.ndarray]) -> Iterator[None]:
    """Replace the values of the model's parameters within a `with` block."""
    own_values = [p.value for p in model.parameters]
    set_values(model, values)
    try:
        yield
    finally:
        set_values(model, own_values)


def set_values(model: Model, values: list[np.ndarray]) -> None:
    """Replace the values of the model's parameters."""
    for parameter, value in zip(model.parameters, values, strict=True):
        parameter.value = value


def learn(
    model: Model,
    solver: Solver,
    rows: TrainingRows,
    held: TrainingRows,
    schedule: Schedule,
    rng: Stream,
    report: Report,
) -> History:
    """Train the model; at the end it has the values of the best pass.

    Training stops early after `schedule.patience` passes without a better value on the
    held-out rows, when the loss has diverged, or on an interrupt; `History.ended`
    reports the last two.

    Parameters
    ----------
    model : Model
        The model, whose parameters change in place.
    solver : Solver
        Takes the steps.
    rows : TrainingRows
        Rows to learn from.
    held : TrainingRows
        Rows on which iterates are compared.
    schedule : Schedule
        Length of the run.
    rng : Stream
        Source of the order of the rows.
    report : Report
        Receives one line per pass.

    Returns
    -------
    History
    """
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        begin, history = perf_counter(), History(by_error=solver.by_error)
        history.add(np.nan, evaluate(model, held), 0.0)
        best_values = [p.value.copy() for p in model.parameters]
        for epoch in range(1, schedule.n_epochs + 1):
            try:
                loss = _pass(solver, rows, schedule, epoch, rng.child(epoch))
                with temporary_values(model, solver.iterate()):
                    held_out = evaluate(model, held)
            except KeyboardInterrupt:
                history.ended = "interrupted"
                break
            is_best = history.add(loss, held_out, perf_counter() - begin)
            report(
                f"pass {epoch} of {schedule.n_epochs}: loss {loss:.4g}, held out "
                f"{held_out[0]:.4g}, error {held_out[1]:.4g}"
            )
            if history.has_diverged():
                history.ended = "diverged"
                break
            if is_best:
                for best, iterate in zip(best_values, solver.iterate(), strict=True):
                    best[:] = iterate
            elif epoch - history.best >= schedule.patience:
                break
        set_values(model, best_values)
    return history


def _pass(
    solver: Solver,
    rows: TrainingRows,
    schedule: Schedule,
    epoch: int,
    rng: Stream,
) -> float:
    """Make one pass over the rows; returns the mean value of batches before steps.

    The learning rate falls along a half cosine over all passes.
    """
    n = rows.n_batches(schedule.batch_size)
    total, n_done = 0.0, (epoch - 1) * n
    for X, y in rows.batches(schedule.batch_size, rng):
        remaining = 1 - n_done / (schedule.n_epochs * n)
        total += solver.step(X, y, (1 - np.cos(np.pi * remaining)) / 2)
        n_done += 1
        if not np.isfinite(total):
            break
    return total / n
