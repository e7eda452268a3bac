"""Ridge regression from moments: the whole path from one factorisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal, lapack, solveh_banded
from sklearn.utils import gen_batches

from .moments import Moments, factored
from .rows import RowSample

EQUAL = 1e-6
"""Relative difference of errors that are about equal."""

EXACT = 1e-10
"""Share of the targets' squares below which a residual is rounding."""

ALONE = 1e-6
"""One less the leverage of a row below which nothing but itself fits it."""

ROTATED_ROWS = 512
"""Sampled rows worked on at a time: copies of all would take several times as much."""

TINY = np.finfo(np.float64).tiny

HUBER = 1.5
"""Deviations k past which a residual counts as k of them."""

HUBER_MEAN = 0.7784653
"""E min(z², k²) of a standard normal z: 2Φ(k) − 1 − 2kφ(k) + 2k²(1 − Φ(k))."""

HUBER_STEPS = 40
"""Fixed-point steps: each multiplies the error by 0.4 on normal data, by 0.9 where
three numbers in ten are outliers."""

LEVELS = 0.5, 0.9
QUANTILES = np.array([0.6744898, 1.6448536])
"""Central intervals of a normal law, and how many deviations they reach."""

SLACK = 0.15, 0.07
"""Differences from `LEVELS` that are no contradiction."""

RANGE = 1e-11, 1e1
"""Penalties tried, as shares of the largest eigenvalue of FᵀF."""


@dataclass(frozen=True)
class LeaveOneOut:
    """Sampled rows against the model without them.

    `noise` is robust: a few outliers leave it as it is. `coverage` is the share of rows
    inside the central intervals of `LEVELS` that it gives.
    """

    scores: np.ndarray  # (s, K)
    noise: np.ndarray  # (K,)
    coverage: np.ndarray  # (K, len(LEVELS))

    def missed_interval(self) -> tuple[float, float] | None:
        """A level that the rows contradict and the share inside, if there is one.

        Beyond a slack, and three deviations of the share of as many rows.
        """
        for level, slack, shares in zip(LEVELS, SLACK, self.coverage.T, strict=True):
            chance = 3 * np.sqrt(level * (1 - level) / len(self.scores))
            share = float(shares[np.argmax(abs(shares - level))])
            if abs(share - level) > slack + chance:
                return level, share
        return None


def robust_variance(u: np.ndarray, weight: np.ndarray) -> float:
    """σ² of numbers around zero that are normal but for outliers.

    Huber's second proposal: the σ for which the mean of min(u²/σ², k²) is what it is
    for a normal law. Outliers, up to a third of all, count as k deviations each.
    """
    size = np.median(abs(u))
    if not size:
        size = np.sqrt(np.average(u**2, weights=weight))
    variance = float(size**2)
    for _ in range(HUBER_STEPS):
        clipped = np.minimum(u**2, HUBER**2 * variance)
        variance = float(np.average(clipped, weights=weight)) / HUBER_MEAN
    return variance


@dataclass(frozen=True)
class Posterior:
    """(FᵀF + αI)⁻¹ = root rootᵀ, about the mean of the features."""

    root: np.ndarray  # (M, M)
    shift: np.ndarray  # mean · root, (M,)
    constant: float  # the intercept's share

    def leverage(self, F: np.ndarray) -> np.ndarray:
        """φᵀ(FᵀF + αI)⁻¹φ of feature rows, (b,) float64; O(M²) a row."""
        A = F.astype(np.float64) @ self.root - self.shift
        return np.einsum("ij,ij->i", A, A) + self.constant


class RidgePath:
    """(FᵀF + αI)⁻¹FᵀT for any α, with its errors, from one factorisation.

    FᵀF = Q T Qᵀ with T tridiagonal (Householder): 4/3 M³ operations once, half of an
    eigendecomposition's time, and then O(M) an α for errors, O(M²) for coefficients.

    Parameters
    ----------
    moments : Moments
    intercept : bool
        Fit one that is not penalised: everything is taken about the means.
    size : float, optional
        How many rows these are, where weights do not tell.
    """

    def __init__(
        self, moments: Moments, intercept: bool = True, size: float | None = None
    ) -> None:
        G, b, self._tt = moments.centred(intercept)
        self._mean_f = moments.mean_f if intercept else np.zeros(len(G))
        # the mean of the targets in two parts: far from zero their sum is rounded
        zero = np.zeros(b.shape[1])
        origin = moments.origin_t if intercept else None
        self._origin_t = zero if origin is None else origin
        self._offset_t = moments.t / moments.weight if intercept else zero
        self._last_rotated: tuple[RowSample, np.ndarray] | None = None
        self.n_rows = moments.size if size is None else size
        self._weight = moments.weight
        self._intercept = intercept
        self._G = G
        self._factor(G)
        self._z = self._rotate(b, transpose=True)
        spectrum = eigvalsh_tridiagonal(self._diagonal, self._off)
        self.eigenvalues = np.maximum(spectrum, 0)
        # rounding, of the factors and of taking off the means, leaves eigenvalues about
        # zero and below, which a small α would not lift
        eps = np.finfo(float).eps
        largest = max(len(G) * abs(spectrum).max(), np.trace(moments.ff))
        # features are rounded themselves, by as much as they lie from zero
        offset = moments.weight * float(moments.mean_f @ moments.mean_f)
        rounding = eps * max(largest, eps * offset)
        self._floor = max(rounding, TINY, -2 * spectrum[0])

    def _factor(self, G: np.ndarray) -> None:
        """Reflectors Q and tridiagonal T of G = Q T Qᵀ."""
        if len(G) == 1:
            self._diagonal, self._off = G[0].copy(), np.empty(0)
            self._reflectors = None
            return
        work = int(lapack.dsytrd_lwork(len(G), lower=1)[0])
        c, self._diagonal, self._off, tau, _ = lapack.dsytrd(G, lower=1, lwork=work)
        # reflectors leave the first coordinate alone (LAPACK's dormtr)
        self._reflectors = np.asfortranarray(c[1:, :-1]), tau

    def _rotate(self, A: np.ndarray, transpose: bool) -> np.ndarray:
        """Qᵀ A or Q A."""
        if self._reflectors is None:
            return A.copy()
        out, (c, tau) = A.copy(), self._reflectors
        side = {"side": "L", "trans": "T" if transpose else "N"}
        inner = np.asfortranarray(A[1:])
        _, work, _ = lapack.dormqr(**side, a=c, tau=tau, c=inner, lwork=-1)
        out[1:], _, _ = lapack.dormqr(**side, a=c, tau=tau, c=inner, lwork=int(work[0]))
        return out

    def _solved(self, alpha: float) -> np.ndarray:
        """(T + αI)⁻¹ Qᵀ FᵀT."""
        return self._solve(alpha, self._z)

    def _solve(self, alpha: float, right: np.ndarray) -> np.ndarray:
        """(T + αI)⁻¹ times columns."""
        shifted = self._diagonal + alpha + self._floor
        if not len(self._off):
            return right / shifted[:, None]
        bands = np.zeros((2, len(shifted)))
        bands[0, 1:], bands[1] = self._off, shifted
        return solveh_banded(bands, right, check_finite=False)

    def coefficients(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (M, K) and intercepts (K,)."""
        B = self._rotate(self._solved(alpha), transpose=False)
        return B, self._origin_t + (self._offset_t - self._mean_f @ B)

    def residual(self, alpha: float) -> np.ndarray:
        """Σ w (t − prediction)² per target, (K,)."""
        x = self._solved(alpha)
        squares = self._tt - (self._z * x).sum(axis=0) - alpha * (x**2).sum(axis=0)
        return np.maximum(squares, EXACT * self._tt)

    def freedom(self, alpha: float) -> float:
        """Degrees of freedom of the fit, the intercept's included."""
        return float((self.eigenvalues / (self.eigenvalues + alpha)).sum()) + (
            1.0 if self._intercept else 0.0
        )

    def log_evidence(self, alpha: float) -> float:
        """log p(T) of t = Fβ + ε, β ~ N(0, σ²/α), ε ~ N(0, σ²), at the best σ².

        −½ Σ over targets of n log(2πσ²) + log det(I + FFᵀ/α) + n; with an intercept
        of the targets about their mean, with n − 1.
        """
        n = max(self.n_rows - (1.0 if self._intercept else 0.0), 1.0)
        x = self._solved(alpha)
        explained = (self._z * x).sum(axis=0)
        variance = np.maximum(self._tt - explained, EXACT * self._tt) / n
        variance = np.maximum(variance, TINY)
        volume = np.log1p(self.eigenvalues / alpha).sum()
        return float(-0.5 * (n * np.log(2 * np.pi * variance) + volume + n).sum())

    def posterior(self, alpha: float) -> Posterior:
        """Where the coefficients are uncertain: O(M³)."""
        H = self._G.copy(order="F")
        H[np.diag_indices_from(H)] += alpha
        root, _ = lapack.dtrtri(np.triu(factored(H)), lower=0)
        constant = 1 / self._weight if self._intercept else 0.0
        return Posterior(root, self._mean_f @ root, constant)

    def best(self, sample: RowSample, candidates: np.ndarray | None = None) -> float:
        """The α of least leave-one-out error: of candidates, or two a decade.

        Of about equal ones the largest, so that rounding does not choose.
        """
        rotated = self._rotated(sample)

        def least(alphas: np.ndarray) -> float:
            alphas = np.sort(alphas)[::-1]
            errors = np.array([self._left_out(sample, rotated, a) for a in alphas])
            return float(alphas[np.argmax(errors <= (1 + EQUAL) * errors.min())])

        if candidates is not None:
            return least(candidates)
        top = np.log10(max(self.eigenvalues[-1], self._floor, 10 * TINY / RANGE[0]))
        low, high = np.floor(top + np.log10(RANGE))
        decade = np.log10(least(10.0 ** np.arange(low, high + 1)))
        return least(10.0 ** (decade + np.array([-0.5, 0.0, 0.5])))

    def leave_one_out(self, sample: RowSample, alpha: float) -> float:
        """Σ w (t − prediction without the row)² over the sampled rows, exactly.

        The residual of a row over 1 less its leverage, which is that of all its weight:
        equal rows that were merged into one are left out together. Infinite where a row
        is fitted by itself alone. O(s M) an α once rows are rotated, in O(s M²).
        """
        return self._left_out(sample, self._rotated(sample), alpha)

    def _rotated(self, sample: RowSample) -> np.ndarray:
        """Qᵀ(f − mean) of the sampled rows, (M, s), kept for the next call."""
        assert sample.F is not None
        if self._last_rotated is not None and self._last_rotated[0] is sample:
            return self._last_rotated[1]
        rotated = np.empty(sample.F.shape[::-1], order="F")
        for part in gen_batches(len(sample.F), ROTATED_ROWS):
            centred = (sample.F[part] - self._mean_f).T
            rotated[:, part] = self._rotate(centred, transpose=True)
        self._last_rotated = sample, rotated
        return rotated

    def _left_out(self, sample: RowSample, rotated: np.ndarray, alpha: float) -> float:
        residual, leverage = self._residuals(sample, rotated, alpha)
        left = 1 - sample.weight * leverage
        if left.min() < ALONE:
            return np.inf
        total = float(sample.weight @ ((residual / left[:, None]) ** 2).sum(axis=1))
        return max(total, EXACT * float(self._tt.sum()))

    def _residuals(
        self, sample: RowSample, rotated: np.ndarray, alpha: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Targets less predictions of the sampled rows, (s, K), and leverages, (s,).

        The leverage φᵀ(FᵀF + αI)⁻¹φ of a row is that of one copy of it.
        """
        assert sample.T is not None
        T = (sample.T - self._origin_t) - self._offset_t
        residual = T - rotated.T @ self._solved(alpha)
        leverage = np.full(len(residual), 1 / self._weight if self._intercept else 0.0)
        for part in gen_batches(len(residual), ROTATED_ROWS):
            some = rotated[:, part]
            leverage[part] += np.einsum("ij,ij->j", some, self._solve(alpha, some))
        return residual, leverage

    def left_out(self, sample: RowSample, alpha: float) -> LeaveOneOut:
        """Scores of the sampled rows by the fit without them, and the noise."""
        assert sample.T is not None and sample.weight is not None
        residual, leverage = self._residuals(sample, self._rotated(sample), alpha)
        weight = sample.weight
        remaining = np.maximum(1 - weight * leverage, ALONE)[:, None]
        scores = sample.T - residual / remaining
        # A row has the variance σ²(1 − leverage) about its prediction; one of weight
        # 3 is three such rows, one of weight 0.3 a row of the variance σ²/0.3.
        share, count = np.minimum(weight, 1), np.maximum(weight, 1)
        variance = np.maximum(1 - share * leverage, ALONE) / share
        standardised = residual / np.sqrt(variance)[:, None]
        noise = np.array([robust_variance(u, count) for u in standardised.T])
        rounding = EXACT * self._tt / self.n_rows
        inside = abs(standardised)[:, :, None] <= QUANTILES * np.sqrt(noise)[:, None]
        coverage = np.average(inside, axis=0, weights=count)
        coverage[noise <= rounding] = LEVELS  # an exact fit has nothing to cover
        return LeaveOneOut(scores, np.maximum(noise, rounding), coverage)
