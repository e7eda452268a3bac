"""Newton's method with conjugate gradients, in passes over feature rows.

    minimise over B   Σ_i loss(f_iᵀB, y_i) + α/2 ‖B‖²

Each Newton step reads the rows twice and then solves for its direction by conjugate
gradients, one pass a step, over the rows that have curvature: of the squared hinge
those inside the margin, as a rule a fraction, whose features are then kept. Columns of
separable losses share the passes and have steps of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._progress import Report, silent
from .losses import Loss
from .moments import solve_positive
from .passes import STEPS, Derivative
from .preconditioner import Preconditioner, preconditioner
from .rows import Rows, multiply

CG_STEPS = {False: 40, True: 500}
"""Passes that one direction may take: a quadratic loss needs one direction only."""

FORCING = {False: 0.3, True: 1e-9}
"""Share of the residual at which a direction is good enough: not exact, far from the
end, unless the loss is quadratic."""

DIRECT_OPERATIONS = 3e9
"""n M² up to which a direction is solved for directly."""

STUCK = 1e-4
"""Promised gain, relative, that cannot be rounding."""

TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Solution:
    """Coefficients (M, K), with an intercept (M + 1, K), and how they were found."""

    B: np.ndarray
    n_iter: int
    n_passes: int
    gain: float  # of the last step, relative to the objective; 0 where none was left


@dataclass(frozen=True)
class State:
    """Where the method stands between two steps: all that it needs to go on."""

    B: np.ndarray
    step: int = 0
    left: float = np.inf
    first: float = 0.0


def newton(
    loss: Loss,
    rows: Rows,
    alpha: float,
    start: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    report: Report = silent,
    precondition: Preconditioner | None = None,
    resumed: State | None = None,
    save: Callable[[State], None] = lambda state: None,
) -> Solution:
    """Minimise from `start` until a step gains less than `tol` of the objective.

    Time O(passes · n (M K + making the features)); memory of one chunk, the
    preconditioner's, and n K numbers of curvature.

    Parameters
    ----------
    loss : Loss
    rows : Rows
    alpha : float
    start : array of (M, K) or (M + 1, K)
        The latter with an intercept, which is not penalised.
    tol : float
        Relative to the objective.
    max_iter : int
        Newton steps.
    resumed : State, optional
        Go on from there instead.
    save : callable, optional
        Told the state after every step.
    """
    problem = _Problem(loss, rows, alpha)
    if precondition is None:
        precondition = preconditioner(loss, rows, alpha, len(start))
    state = State(start.astype(np.float64)) if resumed is None else resumed
    problem.first = state.first
    B, step, left = state.B, state.step, state.left
    while step < max_iter and left > tol:
        step += 1
        value, G, at = problem.gradient(B)
        D, gain = problem.direction(G, at, precondition)
        report(f"step {step}: objective {value.sum():.6g}, {problem.n_passes} passes")
        length = problem.line_search(B, D, value)
        B = B + length * D
        left = float(gain.sum() / max(value.sum(), TINY))
        if not length.any():
            # rounding is all that is left, unless much was promised
            return Solution(B, step, problem.n_passes, left if left > STUCK else 0.0)
        save(State(B, step, left, problem.first))
    return Solution(B, step, problem.n_passes, left)


class _Problem:
    """The objective, its gradient and its curvature, each a pass over the rows."""

    def __init__(self, loss: Loss, rows: Rows, alpha: float) -> None:
        self._loss, self._rows, self._alpha = loss, rows, alpha
        self._m = rows.n_columns
        self._mixing = rows.mixing
        self._mixed = (
            None if rows.mixing is None else np.ascontiguousarray(rows.mixing.T)
        )
        self.first = 0.0  # residual of the first direction
        self.n_passes = 0

    def dot(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Inner products per column, or one of all where columns are joint."""
        products = np.einsum("ij,ij->j", A, B)
        if self._loss.separable:
            return products
        return np.full_like(products, products.sum())

    def penalised(self, B: np.ndarray) -> np.ndarray:
        """α B, nothing for the intercept."""
        out = self._alpha * B
        out[self._m :] = 0
        return out

    def expanded(self, B: np.ndarray) -> np.ndarray:
        """Coefficients of the columns from those of the features."""
        if self._mixing is None:
            return B
        return np.vstack([multiply(self._mixing, B[: self._m]), B[self._m :]])

    def contracted(self, G: np.ndarray) -> np.ndarray:
        """The other way round, for gradients."""
        if self._mixed is None:
            return G
        return np.vstack([multiply(self._mixed, G[: self._m]), G[self._m :]])

    def gradient(self, B: np.ndarray) -> tuple[np.ndarray, np.ndarray, Derivative]:
        """Objective per column, its gradient, and the derivative of the losses."""
        self.n_passes += 1
        G = self.penalised(B)
        found = self._rows.differentiate(self._loss, self.expanded(B))
        value = 0.5 * np.einsum("ij,ij->j", B, G) + found.values
        return value, G + self.contracted(found.slopes), found

    def direction(
        self, G: np.ndarray, at: Derivative, precondition: Preconditioner
    ) -> tuple[np.ndarray, np.ndarray]:
        """D with H D ≈ −G, and the gain it promises."""
        if self._is_small:
            D = self._solved(G, at)
        else:
            D = self._conjugate_gradients(G, at, precondition)
        return D, -0.5 * np.einsum("ij,ij->j", G, D)

    @property
    def _is_small(self) -> bool:
        size = self._rows.n_rows * self._m
        return self._loss.separable and size * self._m <= DIRECT_OPERATIONS

    def _solved(self, G: np.ndarray, at: Derivative) -> np.ndarray:
        """Column by column by Cholesky, O(K M² (n + M))."""
        D = np.empty_like(G)
        for k in range(G.shape[1]):
            H = at.hessian(k)
            H[np.arange(self._m), np.arange(self._m)] += self._alpha
            D[:, k] = -solve_positive(H, G[:, k : k + 1])[:, 0]
        return D

    def _conjugate_gradients(
        self, G: np.ndarray, at: Derivative, precondition: Preconditioner
    ) -> np.ndarray:
        D, R = np.zeros_like(G), -G
        Z = precondition(R)
        Q, rz = Z, self.dot(R, Z)
        self.first = self.first or float(rz.sum())
        enough = self._forcing(rz.sum()) ** 2 * rz.sum()
        for _ in range(CG_STEPS[self._loss.quadratic]):
            self.n_passes += 1
            HQ = self.penalised(Q) + self.contracted(at.curved(self.expanded(Q)))
            step = _ratio(rz, self.dot(Q, HQ))
            D, R = D + step * Q, R - step * HQ
            Z = precondition(R)
            new = self.dot(R, Z)
            if new.sum() <= enough:
                break
            Q, rz = Z + _ratio(new, rz) * Q, new
        return D

    def _forcing(self, now: float) -> float:
        """How well a direction is solved for: better and better towards the end."""
        if self._loss.quadratic:
            return FORCING[True]
        return min(FORCING[False], (now / max(self.first, TINY)) ** 0.25)

    def line_search(
        self, B: np.ndarray, D: np.ndarray, value: np.ndarray
    ) -> np.ndarray:
        """The best of a few step lengths per column, 0 where none gains, (K,)."""
        self.n_passes += 1
        pB, pD = self.penalised(B), self.penalised(D)
        quadratic = [
            np.einsum("ij,ij->j", *pair) for pair in ((B, pB), (B, pD), (D, pD))
        ]
        t = STEPS[:, None]
        values = 0.5 * quadratic[0] + t * quadratic[1] + 0.5 * t**2 * quadratic[2]
        both = self.expanded(np.hstack([B, D]))
        values = values + self._rows.values_along(self._loss, both)
        if not self._loss.separable:
            values, value = values.sum(axis=1, keepdims=True), value.sum(keepdims=True)
        length = np.where(values.min(axis=0) < value, STEPS[values.argmin(axis=0)], 0.0)
        return np.broadcast_to(length, B.shape[1])


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a/b, and 0 where b is not positive: that column is solved."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > TINY)
