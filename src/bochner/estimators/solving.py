"""Coefficients from rows of features: which solver, from where, to what accuracy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._validation import check_positive, check_positive_array
from ..execution.features import FeatureRows, RawFeatures
from ..linear.losses import Loss
from ..linear.moments import Moments
from ..linear.newton import newton
from ..linear.preconditioner import FACTORED_COLUMNS, SAMPLE, preconditioner
from ..linear.ridge import RidgePath
from .selection import select_alpha
from .training import Report

SMALL = 10_000_000
"""Feature values (rows × columns) up to which problems are solved to SMALL_TOL."""

SMALL_TOL = {"float64": 1e-18, "float32": 1e-9}
"""Gain in the objective, relative; coefficients are then good to about its root."""

START_TOL = 0.2
START_SHARE = 4
"""A problem this many times the preconditioner's sample starts from its solution."""


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


def solve_ridge(
    moments: Moments, raw: RawFeatures, alpha: Any, owner: str, intercept: bool
) -> Linear:
    """Least squares from moments; α by generalised cross-validation unless fixed."""
    fixed, candidates = check_alpha(owner, alpha)
    path = RidgePath(moments, raw.mixing, intercept)
    best = path.best(candidates) if fixed is None else fixed
    B, constant = path.coefficients(best)
    return Linear(B, constant, best, path=path)


def moments_of(loss: Loss, rows: FeatureRows, dtype: Any) -> Moments:
    """One pass over the rows."""
    moments: Moments | None = None
    for F, y, weight in rows.chunks():
        T = loss.encode(y, np.float64)
        if moments is None:
            moments = Moments.zero(F.shape[1], T.shape[1])
        moments.add(F, T, weight, dtype)
    assert moments is not None
    return moments


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
    rows.sample(SAMPLE * size)  # the largest one asked for: others are parts of it
    if fixed is None:
        fixed = select_alpha(loss, rows, raw, candidates, intercept)
        report(f"penalty: α = {fixed:g} by validation")
    P = preconditioner(loss, rows, fixed, size)
    control = {"max_iter": max_iter, "report": report, "precondition": P}
    if start is None:
        start = np.zeros((size, n_outputs))
        small = rows.sample(SAMPLE * size)
        if rows.n_rows >= START_SHARE * small.n_rows:
            report(f"start: {small.n_rows} rows")
            start = newton(loss, small, fixed, start, tol=START_TOL, **control).B
    if rows.n_rows * size <= SMALL:
        tol = min(tol, SMALL_TOL[rows.dtype.name])
    report(f"all {rows.n_rows} rows")
    found = newton(loss, rows, fixed, start, tol=tol, **control)
    if not found.converged:
        warnings.warn(
            f"{owner}: not converged after max_iter={max_iter} Newton steps; raise "
            "max_iter or alpha.",
            ConvergenceWarning,
            stacklevel=2,
        )
    m = raw.n_columns
    return Linear(found.B[:m], found.B[m:].sum(axis=0), fixed, found.n_iter)
