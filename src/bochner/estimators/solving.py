"""Coefficients from rows of features: which solver, from where, to what accuracy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._progress import Report
from .._validation import check_positive, check_positive_array
from ..execution.features import FeatureRows, RawFeatures
from ..linear.losses import Loss
from ..linear.moments import Moments
from ..linear.newton import newton
from ..linear.preconditioner import (
    FACTORED_COLUMNS,
    SAMPLE,
    SAMPLED_ROWS,
    preconditioner,
)
from ..linear.ridge import RidgePath
from ..linear.rows import mixed
from ..linear.sample import RowSample
from .selection import select_alpha

SMALL = 10_000_000
"""Feature values (rows × columns) up to which problems are solved to SMALL_TOL."""

SMALL_TOL = {"float64": 1e-18, "float32": 1e-7}
"""Gain in the objective, relative; coefficients are then good to about its root."""

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


@dataclass
class Sums:
    """All that ridge keeps of a stream: moments, and rows to choose α by."""

    moments: Moments
    sample: RowSample

    @classmethod
    def zero(cls, n_columns: int, n_targets: int) -> Sums:
        """Of no rows."""
        return cls(Moments.zero(n_columns, n_targets), RowSample())

    def add(self, F: Any, T: np.ndarray, weight: Any, dtype: Any) -> None:
        """Take in rows."""
        self.moments.add(F, T, weight, dtype)
        self.sample.add(F, T, weight)


def solve_ridge(
    sums: Sums, alpha: Any, owner: str, intercept: bool, size: float | None = None
) -> Linear:
    """Least squares from sums; α by exact leave-one-out unless fixed."""
    fixed, candidates = check_alpha(owner, alpha)
    path = RidgePath(sums.moments, intercept, size)
    best = path.best(sums.sample, candidates) if fixed is None else fixed
    B, constant = path.coefficients(best)
    return Linear(B, constant, best, path=path)


def sums_of(loss: Loss, rows: FeatureRows, dtype: Any) -> Sums:
    """One pass over the rows."""
    sums: Sums | None = None
    for F, y, weight in rows.chunks():
        T = loss.encode(y, np.float64)
        if sums is None:
            sums = Sums.zero(F.shape[1], T.shape[1])
        sums.add(mixed(F, rows.mixing), T, weight, dtype)
    assert sums is not None
    return sums


def fits_moments(raw: RawFeatures) -> bool:
    """Whether ridge keeps M² moments, or goes by conjugate gradients instead."""
    return raw.n_columns <= FACTORED_COLUMNS


def solve_newton(
    loss: Loss,
    rows: FeatureRows,
    raw: RawFeatures,
    alpha: Any,
    owner: str,
    *,
    intercept: bool,
    n_outputs: int,
    tol: float,
    max_iter: int,
    report: Report,
    start: np.ndarray | None = None,
) -> Linear:
    """Any loss in passes over the rows; α by validation unless fixed."""
    fixed, candidates = check_alpha(owner, alpha)
    size = raw.n_columns + intercept
    # the largest sample asked for: later ones are parts of it
    asked = SAMPLE * size if size <= FACTORED_COLUMNS else SAMPLED_ROWS
    rows.sample(max(asked, rows.n_rows // START_SHARE))
    if fixed is None:
        fixed = select_alpha(loss, rows, raw, candidates, intercept)
        report(f"penalty: α = {fixed:g} by validation")
    P = preconditioner(loss, rows, fixed, size)
    control: Any = {"max_iter": max_iter, "report": report, "precondition": P}
    if start is None:
        start = np.zeros((size, n_outputs))
        for n in (rows.n_rows // START_SHARE**2, rows.n_rows // START_SHARE):
            if 2 * n >= size:
                report(f"start: {n} rows")
                part = rows.sample(n)
                found = newton(loss, part, fixed, start, tol=START_TOL, **control)
                # what a part separates for good may be far from the whole's solution
                start = found.B if found.gain <= START_TOL else start
    small = rows.n_rows * size <= SMALL
    aim = min(tol, SMALL_TOL[rows.dtype.name]) if small else tol
    report(f"all {rows.n_rows} rows")
    found = newton(loss, rows, fixed, start, tol=aim, **control)
    if found.gain > tol:
        warnings.warn(
            f"{owner}: not converged after max_iter={max_iter} Newton steps; raise "
            "max_iter or alpha.",
            ConvergenceWarning,
            stacklevel=2,
        )
    m = raw.n_columns
    return Linear(found.B[:m], found.B[m:].sum(axis=0), fixed, found.n_iter)
