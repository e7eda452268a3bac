"""The default map of classifiers: bandwidth and scaling by leave-one-out.

On at most 1000 rows, kernel ridge on ±1 codes has its exact leave-one-out scores from
one inverse. Bandwidths are walked by factors of two from 1/(d · var), with the features
as they are and with each divided by its standard deviation, while the loss falls; the
winner is then compared with narrower ones on more rows, because more rows can tell
finer detail. Standardised features are one bandwidth a feature: the map needs no
scaler, and sparse rows stay sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from .._bandwidth import scale as scale_rule
from .._columns import columns_of
from .._distances import as_float64, distances, middle
from .._random import Stream
from ..kernels import Gaussian
from ..linear.losses import signs
from .leave_one_out import ROWS, hinge
from .training import Report, deviations

MORE_ROWS = 2000
ALPHAS = 1.0, 0.1, 0.01
FACTORS = 2.0 ** np.arange(-6, 11)
"""Bandwidths γ as multiples of the rule 1/(d · var)."""


@dataclass(frozen=True)
class Scaled:
    """Squared distances of rows, their features divided or not, and the rule's γ."""

    name: str
    D: np.ndarray
    gamma: float
    divisor: np.ndarray | None  # (d,)

    def bandwidth(self, factor: float) -> Any:
        """γ, one number or one per feature."""
        gamma = self.gamma * factor
        return gamma if self.divisor is None else gamma / self.divisor**2


def search_bandwidth(
    X: Any, y: np.ndarray, weight: Any, n_classes: int, report: Report
) -> Any:
    """γ for a Gaussian kernel on rows X with class numbers y."""
    places = Stream(0).child("search").subset(X.shape[0], ROWS)
    w = np.ones(len(places)) if weight is None else weight[places]
    T = signs(y[places], n_classes, np.float64)
    spread = deviations(X, weight)
    tried = [_walk(scaled, T, w) for scaled in _scalings(X[places], w, spread)]
    loss, factor, scaled = min(tried, key=lambda found: found[0])
    report(
        f"bandwidth: γ = {factor:g}/(d · var) of {scaled.name} features, "
        f"leave-one-out loss {loss:.4g} on {len(places)} rows"
    )
    if X.shape[0] > 2 * ROWS:
        factor = _refined(X, y, weight, n_classes, scaled, factor)
        report(f"bandwidth: γ = {factor:g}/(d · var) on {MORE_ROWS} held-out rows")
    return scaled.bandwidth(factor)


def _scalings(X: Any, w: np.ndarray, spread: np.ndarray) -> list[Scaled]:
    rows = as_float64(X)
    plain = scale_rule(rows, "sqeuclidean", w)
    found = [Scaled("unscaled", _distances(rows), plain, None)]
    if np.allclose(spread, spread[0]):
        return found  # one unit for all: nothing to choose
    rows = _divided(rows, spread)
    gamma = scale_rule(rows, "sqeuclidean", w)
    return [*found, Scaled("standardised", _distances(rows), gamma, spread)]


def _walk(scaled: Scaled, T: np.ndarray, w: np.ndarray) -> tuple[float, float, Scaled]:
    """The best factor: from 1 in both directions while the loss falls."""
    losses: dict[int, float] = {}

    def loss(i: int) -> float:
        if not 0 <= i < len(FACTORS):
            return np.inf
        if i not in losses:
            K = np.exp(-scaled.gamma * FACTORS[i] * scaled.D)
            losses[i] = min(hinge(K, T, w, alpha) for alpha in ALPHAS)
        return losses[i]

    best = int(np.flatnonzero(FACTORS == 1)[0])
    for direction in (1, -1):
        while loss(best + direction) < loss(best):
            best += direction
    return loss(best), float(FACTORS[best]), scaled


def _refined(
    X: Any, y: np.ndarray, weight: Any, n_classes: int, scaled: Scaled, factor: float
) -> float:
    """The factor, or a narrower one, by learning from 2000 rows and scoring as many."""
    places = Stream(0).child("refine").permutation(X.shape[0])[: 2 * MORE_ROWS]
    rows, half = X[places], len(places) // 2
    w = np.ones(len(places)) if weight is None else weight[places]
    T = signs(y[places], n_classes, np.float64)
    best, least = factor, np.inf
    for tried in (factor, 2 * factor, 4 * factor):
        columns = columns_of(Gaussian(scaled.bandwidth(tried)), rows[:half])
        K = columns(rows).astype(np.float64)
        loss = min(_held_out(K + 1.0, T, w, alpha) for alpha in ALPHAS[1:])
        if loss >= least:
            break
        best, least = tried, loss
    return best


def _held_out(K: np.ndarray, T: np.ndarray, w: np.ndarray, alpha: float) -> float:
    """Mean squared hinge of the rows below the square top of K, learned from it."""
    half = K.shape[1]
    factor, failed = lapack.dpotrf(K[:half] + np.diag(alpha / w[:half]), lower=1)
    if failed:
        return np.inf
    c, _ = lapack.dpotrs(factor, T[:half], lower=1)
    missing = np.maximum(1 - T[half:] * (K[half:] @ c), 0)
    return float(np.average((missing**2).sum(axis=1), weights=w[half:]))


def _divided(rows: Any, divisor: np.ndarray) -> Any:
    return (
        rows.multiply(1 / divisor).tocsr() if sparse.issparse(rows) else rows / divisor
    )


def _distances(rows: Any) -> np.ndarray:
    if not sparse.issparse(rows):
        rows = rows - middle(rows)
    D = distances(rows, rows, "sqeuclidean")
    np.fill_diagonal(D, 0)
    return D
