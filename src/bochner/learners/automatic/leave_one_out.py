"""The default map of classifiers: bandwidth, scaling and penalty by leave-one-out.

Kernel ridge on ±1 codes, (K + αW⁻¹) c = t, predicts row i without itself by
t_i − c_i / ((K + αW⁻¹)⁻¹)_ii, so that one factorisation of a small Gram matrix scores a
bandwidth on rows it has not seen, by the squared hinge. Three stages, each on more rows
and with fewer candidates than the one before:

1. 400 rows: bandwidths from 1/(d · var) by factors of two while the loss falls, with
   the features as they are and with each divided by its standard deviation.
2. 1000 rows: the best bandwidth of each scaling and its neighbours.
3. More than 2000 rows: the best and narrower ones by ridge on 1000 landmarks, with a
   fifth of 8000 rows held out, because more rows resolve finer detail.

Standardised features are one bandwidth per feature: the map needs no scaler, and sparse
rows stay sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from ..._core.progress import Report
from ..._core.random import Stream
from ..._core.spread import centre_of, spread_of
from ...engines.sources import ArraySource
from ...features.kernel_columns import columns_of
from ...features.nystroem import Nystroem
from ...kernels.distances import as_float64, distances
from ...kernels.shift_invariant import Gaussian
from ...solvers.losses import signs
from ..preparation import deviations

ROWS = 1000
"""Rows of the exact leave-one-out scores: a factorisation takes some 20 ms."""

FEW_ROWS = 400
"""Rows of the first stage, where a factorisation takes 2 ms."""

PENALTIES = 10.0 ** np.arange(1, -4.5, -0.5)
"""Candidates for α, largest first."""

PENALTY_SLACK = 1.06
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
    """Targets less their leave-one-out scores; infinite where there are none.

    With the Cholesky factor L of C = K + 1 + αW⁻¹, the diagonal of C⁻¹ is that of
    L⁻ᵀL⁻¹: column sums of squares of L⁻¹, a third of the cost of C⁻¹ itself.
    """
    C = K + 1.0
    C[np.diag_indices_from(C)] += alpha / w
    factor, failed = lapack.dpotrf(C.T, lower=1, overwrite_a=1)
    if failed:
        return np.full_like(T, np.inf)
    solved, _ = lapack.dpotrs(factor, T, lower=1)
    root, _ = lapack.dtrtri(factor, lower=1, overwrite_c=1)
    return solved / np.einsum("ij,ij->j", root, root)[:, None]


def choose_penalty(K: np.ndarray, T: np.ndarray, w: Any, candidates: Any) -> float:
    """The largest candidate (None: `PENALTIES`) whose loss is about the least."""
    alphas = PENALTIES if candidates is None else -np.sort(-np.asarray(candidates))
    w = np.ones(len(K)) if w is None else w
    losses = np.array([hinge(K, T, w, alpha) for alpha in alphas])
    return largest_good(alphas, losses, PENALTY_SLACK)


def largest_good(alphas: np.ndarray, losses: np.ndarray, slack: float) -> float:
    """The first α, of falling ones, whose loss is within `slack` of the least."""
    if np.isnan(losses).any() and not np.isfinite(losses).any():
        raise not_finite()
    return float(alphas[np.flatnonzero(losses <= slack * np.nanmin(losses))[0]])


def not_finite() -> ValueError:
    """What to raise where features, or sums of their squares, have overflowed."""
    return ValueError(
        "The features of X, or their squares, are beyond the range of floating "
        "numbers, so that nothing can be learned from them: scale X first "
        "(sklearn.preprocessing.StandardScaler, or divide by a constant), give "
        "float64, or choose gamma for the scale of X."
    )


Loss = Callable[[np.ndarray, np.ndarray, np.ndarray, float], float]
"""Of a Gram matrix, targets, weights and a penalty, by leave-one-out."""

MORE_ROWS = 8000
LANDMARKS = 1000
ALPHAS = 1.0, 0.1, 0.01
MORE_ALPHAS = 3.0, 1.0, 0.3, 0.1, 0.03
"""Penalties at each bandwidth; where rows are many, one of these is kept."""

BANDWIDTH_SLACK = 1.01
"""A larger penalty is taken if its loss is within so much of the least."""

HINGE_SHARE = 1 / 3
"""The hinge's penalty beside ridge's: rows past the margin do not pull against it."""

FACTORS = 2.0 ** np.arange(-6, 17)
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


def default_map(n_components: int, gamma: Any, random_state: int | None) -> Nystroem:
    """What classifiers learn on unless told otherwise."""
    return Nystroem(
        n_components, gamma=gamma, landmarks="margin", random_state=random_state
    )


def search_bandwidth(
    rows: ArraySource, n_classes: int, report: Report
) -> tuple[Any, float | None]:
    """γ of a Gaussian kernel for rows with class numbers, and α where rows tell."""
    scaled, factor, alpha = search_classes(rows, n_classes, report)
    return scaled.bandwidth(factor), alpha


def search_classes(
    rows: ArraySource, n_classes: int, report: Report
) -> tuple[Scaled, float, float | None]:
    """Scaling and factor on the rule's γ for class numbers, and α where rows tell."""
    X, y, weight = rows.X, rows.y, rows.weight
    scaled, factor = guess_classes(rows, n_classes, report)
    alpha = None
    if X.shape[0] > 2 * ROWS:
        factor, alpha = _refined(X, y, weight, n_classes, scaled, factor)
        report(f"bandwidth: γ = {factor:g}/(d · var), α = {alpha:g} by rows held out")
    return scaled, factor, alpha


def guess_classes(
    rows: ArraySource, n_classes: int, report: Report
) -> tuple[Scaled, float]:
    """The same by leave-one-out on 1000 rows alone."""

    def targets(places: np.ndarray) -> np.ndarray:
        return signs(rows.y[places], n_classes, np.float64)

    return _searched(rows.X, targets, rows.weight, hinge, report)


def search_numbers(X: Any, y: np.ndarray, report: Report) -> tuple[Scaled, float]:
    """Scaling and factor on the rule's γ, one for all features, for numbers (n,)."""
    T = y.reshape(-1, 1).astype(np.float64)
    T = T - centre_of(T)
    T = (T - T.mean()) / (T.std() or 1.0)
    return _searched(X, lambda places: T[places], None, squared, report)


def _searched(
    X: Any,
    targets: Callable[[np.ndarray], np.ndarray],
    weight: Any,
    loss: Loss,
    report: Report,
) -> tuple[Scaled, float]:
    """The scaling and factor of the least leave-one-out loss on some rows."""
    stream, spread = Stream(0).child("search"), deviations(X, weight)
    places = stream.subset(X.shape[0], ROWS)
    w = np.ones(len(places)) if weight is None else weight[places]
    T = targets(places)
    # a stage reads a leading part of the distances: the rows are in random order
    order = stream.child("order").permutation(len(places))
    scalings = _scalings(X[places[order]], w[order], spread)
    T, w = T[order], w[order]
    few = [_walk(scaled, T, w, loss, FEW_ROWS) for scaled in scalings]
    if len(places) > FEW_ROWS:
        few = [_walk(scaled, T, w, loss, ROWS, start) for _, start, scaled in few]
    least, place, scaled = min(few, key=lambda result: result[0])
    factor = float(FACTORS[place])
    report(
        f"bandwidth: γ = {factor:g}/(d · var) of {scaled.name} features, "
        f"leave-one-out loss {least:.4g} on {len(places)} rows"
    )
    return scaled, factor


def _scalings(X: Any, w: np.ndarray, spread: np.ndarray) -> list[Scaled]:
    rows = as_float64(X)
    if not sparse.issparse(rows):
        rows -= centre_of(rows)
    plain = Scaled("unscaled", _distances(rows), _rule(rows, w), None)
    if np.allclose(spread, spread[0]):
        return [plain]  # one unit for all: nothing to choose
    rows = _divided(rows, spread)
    return [plain, Scaled("standardised", _distances(rows), _rule(rows, w), spread)]


def _rule(rows: Any, w: np.ndarray) -> float:
    """1/Σ_j var x_j: the "scale" rule about the mean of every feature, not of all."""
    total = float((spread_of(rows, w).deviation ** 2).sum())
    return 1 / total if total > 0 else 1.0


def _walk(
    scaled: Scaled,
    T: np.ndarray,
    w: np.ndarray,
    criterion: Loss,
    n_rows: int,
    start: int = int(np.flatnonzero(FACTORS == 1)[0]),
) -> tuple[float, int, Scaled]:
    """The loss and place of the best factor: from a start both ways while it falls."""
    T, w, D = T[:n_rows], w[:n_rows], scaled.D[:n_rows, :n_rows]
    losses: dict[int, float] = {}

    def loss(place: int) -> float:
        if not 0 <= place < len(FACTORS):
            return np.inf
        if place not in losses:
            K = np.exp(-scaled.gamma * FACTORS[place] * D)
            losses[place] = min(criterion(K, T, w, alpha) for alpha in ALPHAS)
        return losses[place]

    best = start
    for direction in (1, -1):
        while loss(best + direction) < loss(best):
            best += direction
    return loss(best), best, scaled


def _refined(
    X: Any, y: np.ndarray, weight: Any, n_classes: int, scaled: Scaled, factor: float
) -> tuple[float, float]:
    """The factor, or a narrower one while the loss on rows held out falls, and α."""
    places = Stream(0).child("refine").permutation(X.shape[0], MORE_ROWS)
    rows = X[places]
    w = np.ones(len(places)) if weight is None else weight[places]
    T = signs(y[places], n_classes, np.float64)
    best, least = factor, np.full(len(MORE_ALPHAS), np.inf)
    for tried in factor * FACTORS[FACTORS >= 1]:
        losses = _held_out(Gaussian(scaled.bandwidth(tried)), rows, T, w)
        if losses.min() >= least.min():
            break
        best, least = tried, losses
    equal = np.flatnonzero(least <= BANDWIDTH_SLACK * least.min())
    alpha = MORE_ALPHAS[equal[0] if len(equal) else 1]
    return float(best), HINGE_SHARE * alpha


def _held_out(kernel: Gaussian, rows: Any, T: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Mean squared hinge on a fifth, of ridge on landmarks learned from the rest.

    Landmarks are rows that are learned from: at a landmark of its own a held-out row
    would be recognised, and narrow kernels would look too good.
    """
    inside, held = slice(len(w) // 5, None), slice(0, len(w) // 5)
    landmarks = rows[inside][: min(LANDMARKS, len(w) // 2)]
    C = columns_of(kernel, landmarks)(rows)
    root = np.sqrt(w[inside, None]).astype(C.dtype)
    A = C[inside] if (w == 1).all() else C[inside] * root
    G = (A.T @ A).astype(np.float64)  # one array twice: half the work
    b = A.T @ (root * T[inside]).astype(C.dtype)
    K = kernel(landmarks).astype(np.float64)
    ridge = np.finfo(C.dtype).eps * np.trace(G) * np.eye(len(G))
    losses = np.full(len(MORE_ALPHAS), np.inf)
    for i, alpha in enumerate(MORE_ALPHAS):
        factor, failed = lapack.dpotrf(G + alpha * K + ridge, lower=1)
        if failed:
            continue
        B, _ = lapack.dpotrs(factor, b, lower=1)
        missing = np.maximum(1 - T[held] * (C[held] @ B.astype(C.dtype)), 0)
        losses[i] = np.average((missing**2).sum(axis=1), weights=w[held])
    return losses


def _divided(rows: Any, divisor: np.ndarray) -> Any:
    return (
        rows.multiply(1 / divisor).tocsr() if sparse.issparse(rows) else rows / divisor
    )


def _distances(rows: Any) -> np.ndarray:
    D = distances(rows, rows, "sqeuclidean")
    np.fill_diagonal(D, 0)
    return D
