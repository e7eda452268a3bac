"""Newton's method with conjugate gradients, in passes over feature rows.

    minimise over B   Σ_i loss(f_iᵀB, y_i) + α/2 ‖B‖²

Each Newton step reads the rows twice and then solves for its direction by conjugate
gradients, one pass a step, over the rows that have curvature: of the squared hinge
those inside the margin, as a rule a fraction, whose features are then kept. Columns of
separable losses share the passes and have steps of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._core.progress import Report, silent
from .losses import Loss
from .moments import add_gram, mirrored, solve_positive
from .preconditioner import Preconditioner, preconditioner
from .rows import FEW_ROWS, Chunk, Rows, RowSample, mixed, multiply, reduce_rows, scores

STEPS = 2.0 ** -np.array([0, 1, 2, 4, 6, 8, 10, 12])
"""Step lengths that one pass tries."""

NARROW_SHARE = 0.6
"""Share of rows with curvature below which they are copied to be kept together."""


class Derivative(Protocol):
    """Slopes of Σ loss at coefficients B of the columns, and its curvature there."""

    values: np.ndarray  # (K,), of the losses
    slopes: np.ndarray  # (M or M + 1, K)

    def hessian_product(self, Q: np.ndarray) -> np.ndarray:
        """The curvature times a direction Q, a pass, (M or M + 1, K)."""
        ...

    def hessian(self, k: int) -> np.ndarray:
        """The curvature of one output in the features, its upper triangle."""
        ...


@dataclass
class KeptCurvature:
    """The derivative of rows at hand: their curvature is kept from the first pass."""

    rows: Rows
    loss: Loss
    values: np.ndarray
    slopes: np.ndarray
    curvature: list[np.ndarray]
    _narrow: tuple[Rows, list[np.ndarray]] | None = None

    def hessian_product(self, Q: np.ndarray) -> np.ndarray:
        if self._narrow is None:
            self._narrow = self._with_curvature()
        rows, curvature = self._narrow
        out = np.zeros_like(Q)
        for chunk, bent in zip(rows.chunks(), curvature, strict=True):
            out += chunk_hessian_product(self.loss, chunk, bent, Q)
        return out

    def hessian(self, k: int) -> np.ndarray:
        size = len(self.slopes)
        H = np.zeros((size, size), order="F")
        for chunk, bent in zip(self.rows.chunks(), self.curvature, strict=True):
            add_hessian(H, chunk, bent[:, k], self.rows.mixing)
        return H

    def _with_curvature(self) -> tuple[Rows, list[np.ndarray]]:
        """The rows that curve, if they are few enough to be kept by themselves."""
        masks: list[Any] = [bent.any(axis=1) for bent in self.curvature]
        if sum(mask.sum() for mask in masks) > NARROW_SHARE * self.rows.n_rows:
            return self.rows, self.curvature
        rows = self.rows.narrowed(masks)
        if rows is None:
            return self.rows, self.curvature
        kept = [bent[mask] for bent, mask in zip(self.curvature, masks, strict=True)]
        return rows, [np.concatenate(kept)]


def differentiate(rows: Rows, loss: Loss, B: np.ndarray) -> KeptCurvature:
    """One pass: values, slopes and curvature at B, (M or M + 1, K)."""
    values, slopes, curvature = np.zeros(B.shape[1]), np.zeros(B.shape), []
    for chunk in rows.chunks():
        value, slope, bent = chunk_derivative(loss, chunk, B)
        values, slopes = values + value, slopes + slope
        curvature.append(bent)
    return KeptCurvature(rows, loss, values, slopes, curvature)


def values_along(rows: Rows, loss: Loss, both: np.ndarray) -> np.ndarray:
    """One pass: Σ loss at B + t D for every step length t; `both` is [B, D]."""
    total = np.zeros((len(STEPS), both.shape[1] // 2))
    for chunk in rows.chunks():
        total += chunk_values(loss, chunk, both)
    return total


def chunk_derivative(
    loss: Loss, chunk: Chunk, B: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values (K,), slopes (len(B), K) and curvature (b, …) of a chunk's losses."""
    F, y, weight = chunk
    T = loss.encode(y, F.dtype)
    found: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def step(block: slice, S: np.ndarray) -> np.ndarray:
        w = None if weight is None else weight[block]
        slopes, bent = loss.slopes(S, T[block], w)
        found[block.start] = loss.values(S, T[block], w), bent
        return slopes

    G = reduce_rows(F, B, step)
    ordered = list(_in_order(found))
    values = np.sum([value for value, _ in ordered], axis=0)
    return values, G, np.concatenate([bent for _, bent in ordered])


def chunk_curvature(loss: Loss, chunk: Chunk, B: np.ndarray) -> np.ndarray:
    """The curvature of a chunk's losses alone, (b, …): half of the products."""
    F, y, weight = chunk
    return loss.slopes(scores(F, B), loss.encode(y, F.dtype), weight)[1]


def chunk_hessian_product(
    loss: Loss, chunk: Chunk, bent: np.ndarray, Q: np.ndarray
) -> np.ndarray:
    """A chunk's curvature times a direction, (len(Q), K)."""

    def step(block: slice, S: np.ndarray) -> np.ndarray:
        return loss.curve(bent[block], S)

    return reduce_rows(chunk.F, Q, step)


def add_hessian(
    H: np.ndarray, chunk: Chunk, bent: np.ndarray, mixing: np.ndarray | None
) -> None:
    """H += Fᵀ diag(bent) F in place, of features and perhaps an intercept."""
    active = np.flatnonzero(bent)
    F = mixed(chunk.F[active], mixing)
    weight = bent[active].astype(np.float64)
    add_gram(H, F, weight, intercept=len(H) > F.shape[1])


def chunk_values(loss: Loss, chunk: Chunk, both: np.ndarray) -> np.ndarray:
    """Values of a chunk's losses at every step length, (len(STEPS), K)."""
    F, y, weight = chunk
    T = loss.encode(y, F.dtype)
    k = both.shape[1] // 2
    found: dict[int, np.ndarray] = {}

    def step(block: slice, S: np.ndarray) -> None:
        w = None if weight is None else weight[block]
        tried = [S[:, :k] + F.dtype.type(t) * S[:, k:] for t in STEPS]
        found[block.start] = np.array([loss.values(s, T[block], w) for s in tried])

    reduce_rows(F, both, step)
    return np.sum(list(_in_order(found)), axis=0)


def _in_order(found: dict) -> Iterator:
    """What threads have found, whichever was first."""
    return (found[start] for start in sorted(found))


CG_STEPS = {False: 40, True: 500}
"""Passes that one direction may take: a quadratic loss needs one direction only."""

FORCING = {False: 0.3, True: 1e-9}
"""Share of the residual at which a direction is good enough: not exact, far from the
end, unless the loss is quadratic."""

DIRECT_OPERATIONS = 2e9
"""K n M² up to which the directions of K outputs are solved for directly: each output
has a Hessian of its own, while conjugate gradients share their passes."""

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
        if self._is_small(G.shape[1]):
            D = self._solved(G, at)
        else:
            D = self._conjugate_gradients(G, at, precondition)
        return D, -0.5 * np.einsum("ij,ij->j", G, D)

    def _is_small(self, n_outputs: int) -> bool:
        operations = n_outputs * self._rows.n_rows * self._m**2
        return self._loss.separable and operations <= DIRECT_OPERATIONS

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
            HQ = self.penalised(Q) + self.contracted(
                at.hessian_product(self.expanded(Q))
            )
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


INNER_STEPS = 4
"""Newton steps on one block."""


@dataclass
class Online:
    """What a pass remembers: coefficients (M or M + 1, K) and the curvature behind."""

    B: np.ndarray
    P: np.ndarray  # upper triangle, Fortran order, float64
    n_rows: int = 0  # seen so far
    sample: RowSample | None = None  # of those, with their class numbers

    @classmethod
    def start(
        cls, n_features: int, n_outputs: int, intercept: bool, alpha: float
    ) -> Online:
        """Nothing seen: the penalty alone."""
        size = n_features + intercept
        P = np.zeros((size, size), order="F")
        P[np.arange(n_features), np.arange(n_features)] = alpha
        return cls(np.zeros((size, n_outputs)), P)

    def add(self, loss: Loss, F: Any, y: np.ndarray, weight: Any) -> None:
        """Learn from rows F (b, M); O(b M² + M³/3) time."""
        T = loss.encode(y, F.dtype)
        size, m = self.P.shape[0], F.shape[1]
        past, before = mirrored(self.P), self.B
        ones = np.ones((F.shape[0], size - m), dtype=F.dtype)
        for _ in range(INNER_STEPS):
            U, bent = loss.slopes(scores(F, self.B), T, weight)
            G = past @ (self.B - before)
            G[:m] += F.T @ U
            G[m:] += ones.T @ U
            H = self._with(F, loss.most_curved(bent))
            self.B = self.B - solve_positive(H, G)
        self.P = self._with(F, loss.most_curved(bent))
        self.n_rows += F.shape[0]
        if self.sample is None:
            self.sample = RowSample(size=FEW_ROWS)
        self.sample.add(F, y.reshape(len(y), -1), weight)

    def _with(self, F: Any, curvature: np.ndarray) -> np.ndarray:
        """P and the block's curvature."""
        H = self.P.copy(order="F")
        weight = curvature.astype(np.float64)
        add_gram(H, F, weight, intercept=len(H) > F.shape[1])
        return H
