"""The loop: batches, steps, a look at held-out rows, the best iterate kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from ..._core.parallel import for_fixed_blocks, one_blas_thread
from ..._core.progress import Report
from ..._core.random import Stream
from ._adam import adam
from .model import Model
from .weights import Parameter

MIN_HELD = 4
"""Rows below which a held-out part would say nothing: then none is held out."""

MAX_HELD = 5000
"""Rows that tell values apart well enough."""


def n_batches_of(n_rows: int, size: int) -> int:
    """How many batches of about this size so many rows make."""
    return max(1, round(n_rows / size))


@dataclass(frozen=True)
class TrainingRows:
    """Some rows of X, (n, d), with their targets (None where there are none)."""

    X: Any
    y: np.ndarray | None
    index: np.ndarray

    @classmethod
    def all(cls, X: Any, y: np.ndarray | None) -> TrainingRows:
        return cls(X, y, np.arange(X.shape[0]))

    def __len__(self) -> int:
        return len(self.index)

    def sample(self, n: int, rng: Stream) -> TrainingRows:
        """At most n of these rows."""
        return TrainingRows(self.X, self.y, self.index[rng.subset(len(self), n)])

    def n_batches(self, size: int) -> int:
        """How many batches of about this size there are in one pass."""
        return n_batches_of(len(self), size)

    def batches(self, size: int, rng: Stream | None) -> Iterator[tuple[Any, Any]]:
        """All rows once, in batches of about `size`; in random order given a stream.

        A batch is gathered when it is asked for: rows may lie on disk.
        """
        order = self.index if rng is None else self.index[rng.permutation(len(self))]
        for places in np.array_split(order, self.n_batches(size)):
            yield self.X[places], None if self.y is None else self.y[places]

    def split(
        self, share: float, rng: Stream, strata: Any
    ) -> tuple[TrainingRows, TrainingRows | None]:
        """The rows to learn from and those held out: every class in proportion.

        `strata`, (n,), are whole numbers from 0, or None.
        """
        n = len(self)
        share = min(share, MAX_HELD / n, (n - 1) / n)
        if share * n < MIN_HELD:
            return self, None
        order = rng.permutation(n)
        if strata is not None:
            order = order[np.argsort(strata[order], kind="stable")]
        offset = rng.uniform(1)
        held = np.diff(np.floor(share * np.arange(n + 1) + offset)) > 0
        # ^ evenly along the order, so in proportion to every class
        if strata is not None:
            learned = np.bincount(strata[order[~held]], minlength=strata.max() + 1)
            held &= learned[strata[order]] > 0  # a class of held-out rows only stays
        learned, kept = np.sort(order[~held]), np.sort(order[held])
        return (
            TrainingRows(self.X, self.y, self.index[learned]),
            TrainingRows(self.X, self.y, self.index[kept]),
        )


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


def assessed(model: Model, rows: TrainingRows) -> tuple[float, float]:
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
    rows: TrainingRows,
    held: TrainingRows,
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
    rows: TrainingRows,
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
