"""Exact leave-one-out scores of kernel ridge on ±1 codes, and what they choose.

(K + αW⁻¹) c = t; without itself row i has the score t_i − c_i / ((K + αW⁻¹)⁻¹)_ii. One
inverse of a small Gram matrix tells how well a bandwidth or a penalty would do on rows
it has not seen, judged by the squared hinge of those scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack

ROWS = 1000
"""Rows asked: their inverse takes a twentieth of a second."""

PENALTIES = 10.0 ** np.arange(1, -4.5, -0.5)
"""Candidates for α, largest first."""

SLACK = 1.06
"""A larger α is taken if its loss is within so much of the least: it is solved faster,
and what rows beyond the sample add is on its side."""


def hinge(K: np.ndarray, T: np.ndarray, w: np.ndarray, alpha: float) -> float:
    """Mean squared hinge of leave-one-out scores; K without its intercept."""
    left_out = _residuals(K, T, w, alpha)
    missing = np.maximum(1 - T * (T - left_out), 0)
    return float(np.average((missing**2).sum(axis=1), weights=w))


def squared(K: np.ndarray, T: np.ndarray, w: np.ndarray, alpha: float) -> float:
    """Mean squared error of leave-one-out scores; K without its intercept."""
    left_out = _residuals(K, T, w, alpha)
    return float(np.average((left_out**2).sum(axis=1), weights=w))


def _residuals(K: np.ndarray, T: np.ndarray, w: np.ndarray, alpha: float) -> np.ndarray:
    """Targets less their leave-one-out scores; infinite where there are none."""
    factor, failed = lapack.dpotrf(K + 1.0 + np.diag(alpha / w), lower=1)
    if failed:
        return np.full_like(T, np.inf)
    inverse, _ = lapack.dpotri(factor, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    return (inverse @ T) / inverse.diagonal()[:, None]


def choose_penalty(K: np.ndarray, T: np.ndarray, w: Any, candidates: Any) -> float:
    """The largest candidate (None: `PENALTIES`) whose loss is about the least."""
    alphas = PENALTIES if candidates is None else -np.sort(-np.asarray(candidates))
    w = np.ones(len(K)) if w is None else w
    losses = np.array([hinge(K, T, w, alpha) for alpha in alphas])
    return float(alphas[np.flatnonzero(losses <= SLACK * losses.min())[0]])
