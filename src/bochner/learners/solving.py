"""Coefficients from rows of features: which solver, from where, to what accuracy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._core.progress import Report
from .._core.validation import check_positive, check_positive_array
from ..engines.checkpoint import Checkpoint
from ..engines.local import FeatureRows, RawFeatures
from ..solvers.losses import Loss
from ..solvers.moments import Moments
from ..solvers.newton import Online, State, newton
from ..solvers.preconditioner import (
    FACTORED_COLUMNS,
    SAMPLE,
    SAMPLED_ROWS,
    preconditioner,
)
from ..solvers.ridge import RidgePath
from ..solvers.rows import FEW_ROWS, ROWS, Chunk, Rows, RowSample, mixed
from .automatic.leave_one_out import not_finite
from .automatic.penalty import select_alpha
from .labels import Labels

SMALL = 500_000
"""Feature values (rows × columns) up to which problems are solved to SMALL_TOL: there
Newton's directions are exact, and the last digits take a step or two."""

SMALL_TOL = {"float64": 1e-18, "float32": 1e-7}
"""Gain in the objective, relative; coefficients are then good to about its root."""

NOT_CONVERGED = (
    "{}: not converged after max_iter={} Newton steps; raise max_iter or alpha."
)

START_TOL = 0.1
START_SHARE = 4
"""Problems start from the solution of a quarter, that one of a sixteenth."""


@dataclass
class Linear:
    """A linear model of features: scores = features · B + intercept."""

    B: np.ndarray  # (M, K)
    intercept: np.ndarray  # (K,)
    alpha: float
    n_iter: int = 1
    path: RidgePath | None = None
    sample: RowSample | None = None  # of the rows learned from
    n_rows: int | None = None  # how many those are, where they came in several calls


def check_alpha(owner: str, alpha: Any) -> tuple[float | None, np.ndarray | None]:
    """(a fixed α, None), (None, candidates), or (None, None) for "auto"."""
    if isinstance(alpha, str):
        if alpha == "auto":
            return None, None
        raise ValueError(
            f"{owner}: alpha must be 'auto', a positive number or an array of them; "
            f"got {alpha!r}."
        )
    if np.ndim(alpha) == 0:
        return check_positive(owner, "alpha", alpha, ", an array or 'auto'"), None
    return None, check_positive_array(owner, "alpha", alpha)


def is_chosen(alpha: Any) -> bool:
    """Whether α is left to be chosen: "auto", or of candidates."""
    return isinstance(alpha, str) or np.ndim(alpha) > 0


@dataclass
class Sums:
    """All that ridge keeps of a stream: moments, and rows to judge the fit by."""

    moments: Moments
    sample: RowSample

    @classmethod
    def zero(
        cls, n_columns: int, n_targets: int, place: int = 0, sampled: int = ROWS
    ) -> Sums:
        """Of no rows, the next of which is at this place."""
        sample = RowSample(seen=place, size=sampled)
        return cls(Moments.zero(n_columns, n_targets), sample)

    def add(self, F: Any, T: np.ndarray, weight: Any, dtype: Any) -> None:
        """Take in rows."""
        self.moments.add(F, T, weight, dtype)
        self.sample.add(F, T, weight)

    def merge(self, other: Sums) -> None:
        """Take in the rows of another."""
        self.moments.merge(other.moments)
        self.sample.merge(other.sample)


def solve_ridge(
    sums: Sums, alpha: Any, owner: str, intercept: bool, size: float | None = None
) -> Linear:
    """Least squares from sums; α by exact leave-one-out unless fixed."""
    fixed, candidates = check_alpha(owner, alpha)
    if not np.isfinite(np.trace(sums.moments.ff)):
        raise not_finite()
    path = RidgePath(sums.moments, intercept, size)
    if fixed is None:
        fixed = path.best(sums.sample, candidates)
    B, constant = path.coefficients(fixed)
    return Linear(B, constant, fixed, path=path, sample=sums.sample)


def sums_of(loss: Loss, rows: Rows, n_outputs: int, dtype: Any, alpha: Any) -> Sums:
    """One pass over the rows; the sample is smaller where α is given."""
    n_columns, mixing = rows.n_columns, rows.mixing
    sampled = ROWS if is_chosen(alpha) else FEW_ROWS

    def add(sums: Sums, chunk: Chunk) -> None:
        T = loss.encode(chunk.y, np.float64)
        sums.add(mixed(chunk.F, mixing), T, chunk.weight, dtype)

    return rows.fold(lambda place: Sums.zero(n_columns, n_outputs, place, sampled), add)


def fits_moments(raw: RawFeatures) -> bool:
    """Whether ridge keeps M² moments, or goes by conjugate gradients instead."""
    return raw.n_columns <= FACTORED_COLUMNS


def solve_newton(
    loss: Loss,
    rows: Rows,
    raw: RawFeatures,
    alpha: Any,
    owner: str,
    *,
    intercept: bool,
    n_outputs: int,
    tol: float,
    max_iter: int,
    report: Report,
    checkpoint: Checkpoint,
    start: np.ndarray | None = None,
) -> Linear:
    """Any loss in passes over the rows; α by validation unless fixed."""
    fixed, candidates = check_alpha(owner, alpha)
    size = raw.n_columns + intercept
    # the largest sample asked for: later ones are parts of it
    asked = SAMPLE * size if size <= FACTORED_COLUMNS else SAMPLED_ROWS
    sample = rows.sample(max(asked, rows.n_rows // START_SHARE))
    if intercept:  # it takes up an origin of the targets
        loss = loss.about(np.concatenate([chunk.y for chunk in sample.chunks()]))
    if fixed is None:
        fixed = checkpoint.once(
            "alpha", lambda: select_alpha(loss, rows, raw, candidates, intercept)
        )
        report(f"penalty: α = {fixed:g} by validation")
    P = preconditioner(loss, rows, fixed, size)
    control: Any = {"max_iter": max_iter, "report": report, "precondition": P}
    resumed = _resumed(checkpoint, (size, n_outputs))
    if start is None:
        start = np.zeros((size, n_outputs))
        if resumed is None:
            start = _start(loss, rows, fixed, start, control)
    if resumed is not None:
        report(f"resumed after step {resumed.step}")
    small = rows.n_rows * size <= SMALL
    aim = min(tol, SMALL_TOL[rows.dtype.name]) if small else tol
    report(f"all {rows.n_rows} rows")
    found = newton(
        loss,
        rows,
        fixed,
        start,
        tol=aim,
        resumed=resumed,
        save=lambda state: checkpoint.save(newton=state),
        **control,
    )
    if found.gain > tol:
        warnings.warn(NOT_CONVERGED.format(owner, max_iter), ConvergenceWarning, 2)
    m = raw.n_columns
    constant = found.B[m:].sum(axis=0) + loss.origin
    return Linear(found.B[:m], constant, fixed, found.n_iter)


def _resumed(checkpoint: Checkpoint, shape: tuple[int, int]) -> State | None:
    """Where an earlier process has left off, with coefficients of this shape."""
    found = checkpoint.get("newton")
    if found is not None and found.B.shape != shape:
        raise checkpoint.refused("its coefficients do not fit the features")
    return found


def _start(
    loss: Loss, rows: Rows, alpha: float, start: np.ndarray, control: Any
) -> np.ndarray:
    """Coefficients of a sixteenth of the rows, then of a quarter, to begin with."""
    for n in (rows.n_rows // START_SHARE**2, rows.n_rows // START_SHARE):
        if 2 * n >= len(start):
            part = rows.sample(n)
            control["report"](f"start: {part.n_rows} rows")
            found = newton(loss, part, alpha, start, tol=START_TOL, **control)
            # what a part separates for good may be far from the whole's solution
            start = found.B if found.gain <= START_TOL else start
    return start


@dataclass
class Incremental:
    """Sums for least squares, an online solver for the other losses.

    Parameters
    ----------
    owner : str
        For messages.
    loss : Loss
    alpha : "auto", float or array
    intercept : bool
    gram : str
        Arithmetic of sums.
    labels : Labels, optional
        Which know how many rows moments of weighted classes are of.
    state, chosen
        What was learned so far, and α where that was chosen.
    half
        Whether a block is being added, in place, or was broken off meanwhile.
    """

    owner: str
    loss: Loss
    alpha: Any
    intercept: bool
    gram: str
    labels: Labels | None = None
    state: Sums | Online | None = None
    chosen: float | None = None
    half: bool = False

    def add(self, rows: FeatureRows, raw: RawFeatures) -> Linear:
        """Learn from one more block; the model of all so far."""
        if self.half:
            raise ValueError(
                f"{self.owner}: the last call of partial_fit was broken off, and a "
                "part of its rows has been counted; call fit to begin anew."
            )
        for F, y, weight in rows.chunks():
            F, T = mixed(F, raw.mixing), self.loss.encode(y, np.float64)
            if self.state is None:
                self.state = self._begin(rows, raw, T.shape[1])
            self.half = True
            if isinstance(self.state, Sums):
                self.state.add(F, T, weight, np.dtype(self.gram))
            else:
                self.state.add(self.loss, F, y, weight)
        return self._linear(raw)

    def settled(self) -> Self:
        """Itself, once the model of all blocks so far is in place."""
        self.half = False
        return self

    def _begin(self, rows: FeatureRows, raw: RawFeatures, n_outputs: int) -> Any:
        if not fits_moments(raw):
            raise ValueError(
                f"{self.owner}: partial_fit keeps the square of the number of "
                f"features, which is too much for {raw.n_columns}; use fewer, or fit "
                "on bochner.blocks."
            )
        if self.loss.quadratic:
            return Sums.zero(raw.n_columns, n_outputs)
        alpha, candidates = check_alpha(self.owner, self.alpha)
        if alpha is None:
            alpha = select_alpha(self.loss, rows, raw, candidates, self.intercept)
        self.chosen = alpha
        return Online.start(raw.n_columns, n_outputs, self.intercept, alpha)

    def _linear(self, raw: RawFeatures) -> Linear:
        if isinstance(self.state, Sums):
            moments = self.state.moments
            size = moments.size if self.labels is None else self.labels.size(moments)
            return solve_ridge(self.state, self.alpha, self.owner, self.intercept, size)
        assert self.state is not None and self.chosen is not None
        B, m = self.state.B, raw.n_columns
        seen: Any = {"sample": self.state.sample, "n_rows": self.state.n_rows}
        return Linear(B[:m], B[m:].sum(axis=0), self.chosen, **seen)
