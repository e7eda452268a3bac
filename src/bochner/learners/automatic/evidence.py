"""The default map of regressors: kernel and bandwidths by the evidence of a GP.

The exact Gaussian process y ~ N(0, σ²(K/α + W⁻¹)) on few rows has a log evidence whose
slope in all bandwidths at once costs about as much as its value. The scale of y is
profiled out. A Gaussian and a Matérn 3/2 kernel start from the best of a few common
bandwidths and ascend on 300 rows, with one bandwidth per feature; the kernel of the
larger evidence on 1000 rows then ascends there.
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
from ..._core.spread import centre_of
from ...kernels.base import Kernel
from ...kernels.distances import as_float64, distances
from ...kernels.shift_invariant import Gaussian, Matern
from ..preparation import deviations

FEW_ROWS, ROWS = 300, 1000
"""Rows of the first stage and of the second; a step costs 40 times as much there."""

ARD_FEATURES = 100
"""Features up to which each has a bandwidth of its own."""

STARTS = 2.0 ** np.arange(-4, 3)
"""Common bandwidths tried first, over the number of features (standardised)."""

NOISES = 1.0, 0.1, 0.01
FIRST, THEN = 25, 12
"""Iterations on few rows for each kernel, and on all rows for the better one."""

GAIN = 1e-5
"""Relative gain in evidence below which an ascent stops."""

BOUNDS = 12.0
"""How far a logarithm may move from its start."""


@dataclass(frozen=True)
class Profile:
    """A kernel as a function of D = Σ_j g_j (x_j − y_j)², and its slope in D."""

    name: str
    value: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    kernel: Callable[[np.ndarray], Kernel]


def _matern(D: np.ndarray) -> np.ndarray:
    t = np.sqrt(3 * D)
    return (1 + t) * np.exp(-t)


PROFILES = (
    Profile("Gaussian", lambda D: np.exp(-D), lambda D: -np.exp(-D), Gaussian),
    Profile(
        "Matérn 3/2",
        _matern,
        lambda D: -1.5 * np.exp(-np.sqrt(3 * D)),
        lambda g: Matern(nu=1.5, length_scale=1 / np.sqrt(g)),
    ),
)


def search_kernel(X: Any, y: np.ndarray, weight: Any, report: Report) -> Kernel:
    """The kernel of the largest evidence, its bandwidths per feature of X."""
    stream = Stream(0).child("evidence")
    places = stream.subset(X.shape[0], ROWS)
    spread = deviations(X, weight)
    rows = _standardised(as_float64(X[places]), spread)
    n, d = rows.shape
    w = np.ones(n) if weight is None else weight[places]
    T = y[places].reshape(n, -1).astype(np.float64)
    T = T - centre_of(T)  # exact, where the mean of large targets is not
    T = T - np.average(T, axis=0, weights=w)
    scale = np.sqrt(np.average(T**2, axis=0, weights=w))
    T = T[:, scale > 0] / scale[scale > 0]
    if not T.shape[1] or n < 3:
        return Gaussian(1 / (d * spread**2))  # nothing to tell them apart
    order = stream.child("order").permutation(n)
    few = order[:FEW_ROWS]
    first = rows[few], T[few], w[few]
    candidates = []
    for profile in PROFILES:
        start = _start(profile, *first)
        _, theta = _ascended(profile, *first, start, FIRST)
        candidates.append((_value(profile, rows, T, w, theta), theta))
    best = int(np.argmax([value for value, _ in candidates]))
    profile, (value, theta) = PROFILES[best], candidates[best]
    if n > FEW_ROWS:
        value, theta = _ascended(profile, rows, T, w, theta, THEN)
    report(f"kernel: {profile.name}, log evidence {value:.5g} on {n} rows")
    return profile.kernel(np.broadcast_to(np.exp(theta[:-1]), spread.shape) / spread**2)


def _standardised(rows: Any, spread: np.ndarray) -> Any:
    """Rows divided by the spread; dense where each feature gets a bandwidth."""
    if sparse.issparse(rows):
        rows = rows.multiply(1 / spread).tocsr()
        return rows.toarray() if rows.shape[1] <= ARD_FEATURES else rows
    return (rows - centre_of(rows)) / spread


def _start(profile: Profile, rows: Any, T: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The best common bandwidth and noise among a few, as logarithms."""
    D = distances(rows, rows, "sqeuclidean")
    d = rows.shape[1]
    found = -np.inf, STARTS[0] / d, NOISES[0]
    for g in STARTS / d:
        K = profile.value(g * D)
        for alpha in NOISES:
            value, _ = _evidence(K, T, w, alpha, slope=False)
            found = max(found, (value, g, alpha))
    _, g, alpha = found
    return np.log([*np.full(d if d <= ARD_FEATURES else 1, g), alpha])


def _ascended(
    profile: Profile,
    rows: Any,
    T: np.ndarray,
    w: np.ndarray,
    start: np.ndarray,
    iterations: int,
) -> tuple[float, np.ndarray]:
    """The evidence, and logarithms of bandwidths and noise, after some iterations."""
    from scipy.optimize import minimize  # heavy to import

    per_feature = len(start) - 1 == rows.shape[1]
    given = rows if per_feature else distances(rows, rows, "sqeuclidean")
    found = minimize(
        _per_feature if per_feature else _common,
        start,
        args=(profile, given, T, w),
        jac=True,
        method="L-BFGS-B",
        bounds=[(v - BOUNDS, v + BOUNDS) for v in start],
        options={"maxiter": iterations, "ftol": GAIN},
    )
    return -found.fun, found.x


def _value(
    profile: Profile, rows: Any, T: np.ndarray, w: np.ndarray, theta: np.ndarray
) -> float:
    """The evidence of bandwidths and noise, given by their logarithms."""
    if len(theta) - 1 == rows.shape[1]:
        rows, scale = rows * np.exp(theta[:-1] / 2), 1.0
    else:
        scale = float(np.exp(theta[0]))
    D = distances(rows, rows, "sqeuclidean")
    np.fill_diagonal(D, 0)
    alpha = float(np.exp(theta[-1]))
    return _evidence(profile.value(scale * D), T, w, alpha, slope=False)[0]


def _evidence(
    K: np.ndarray, T: np.ndarray, w: np.ndarray, alpha: float, slope: bool = True
) -> tuple[float, np.ndarray | None]:
    """log p(T) up to a constant, and its slope M in C = K + 1 + αW⁻¹: ½ tr(M dC).

    −½ Σ over targets of n log(tᵀC⁻¹t) + log det C; M = Σ n aaᵀ/(tᵀa) − C⁻¹, a = C⁻¹t.
    """
    n = len(w)
    factor, failed = lapack.dpotrf(K + 1.0 + np.diag(alpha / w), lower=1)
    if failed:
        return -np.inf, None
    a, _ = lapack.dpotrs(factor, T, lower=1)
    fit = np.maximum((T * a).sum(axis=0), np.finfo(float).tiny)
    volume = 2 * np.log(factor.diagonal()).sum()
    value = -0.5 * float((n * np.log(fit) + volume).sum())
    if not slope:
        return value, None
    inverse, _ = lapack.dpotri(factor, lower=1)
    inverse += np.tril(inverse, -1).T  # LAPACK leaves zeros above the diagonal
    return value, (a * (n / fit)) @ a.T - T.shape[1] * inverse


def _per_feature(
    theta: np.ndarray, profile: Profile, rows: np.ndarray, T: np.ndarray, w: np.ndarray
) -> tuple[float, np.ndarray]:
    """Minus the evidence and its slope in log g_1 … log g_d and log α."""
    scaled = rows * np.exp(theta[:-1] / 2)
    D = distances(scaled, scaled, "sqeuclidean")
    np.fill_diagonal(D, 0)
    value, A, noise = _slopes(theta[-1], profile, D, T, w)
    # Σ_ab A_ab (x_a − x_b)² = 2 (Σ_a x_a² Σ_b A_ab − xᵀAx), feature by feature
    slope = (scaled**2 * A.sum(axis=1)[:, None] - scaled * (A @ scaled)).sum(axis=0)
    return -value, -np.append(slope, noise)


def _common(
    theta: np.ndarray, profile: Profile, D: np.ndarray, T: np.ndarray, w: np.ndarray
) -> tuple[float, np.ndarray]:
    """Minus the evidence and its slope in log g and log α, from squared distances."""
    D = np.exp(theta[0]) * D
    value, A, noise = _slopes(theta[-1], profile, D, T, w)
    return -value, -np.array([0.5 * (A * D).sum(), noise])


def _slopes(
    log_alpha: float, profile: Profile, D: np.ndarray, T: np.ndarray, w: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """The evidence, twice its slope in D, and its slope in log α."""
    alpha = float(np.exp(log_alpha))
    value, M = _evidence(profile.value(D), T, w, alpha)
    if M is None:
        return -1e100, np.zeros_like(D), 0.0
    return value, M * profile.slope(D), 0.5 * alpha * float((M.diagonal() / w).sum())
