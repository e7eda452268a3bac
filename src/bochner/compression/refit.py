"""Non-negative least squares for the weights of kept features."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .problem import Problem

JITTER = 1e-13
"""Added to a unit diagonal for each row: features may depend on each other."""

PIVOTS = 200
"""Exchanges after which the pivoting gives up; about ten are usual."""

PATIENCE = 3
"""Exchanges of many at once without progress, before it is one at a time."""


def refitted(
    problem: Problem, kept: np.ndarray, weights: np.ndarray, error: float
) -> tuple[np.ndarray, float]:
    """argmin_{w ≥ 0} ‖Σ_u w_u R_u − r‖ over the kept units, and its relative error.

    The weights that came are returned where rounding leaves nothing to gain.
    """
    norms = problem.norms[kept]
    G = problem.block(kept) / np.outer(norms, norms)  # unit diagonal
    b = problem.target[kept] / norms / problem.target_norm
    w = non_negative(G + JITTER * len(G) * np.eye(len(G)), b)
    left = 1 - 2 * b @ w + w @ G @ w
    if not left < error**2:
        return weights, error
    return w * problem.target_norm / norms, float(np.sqrt(max(left, 0)))


def non_negative(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    """argmin_{w ≥ 0} ½ wᵀG w − bᵀw for positive definite G, by block pivoting.

    Solves for a set of free variables, starting with all, and exchanges at once all
    that are on the wrong side of their bound. A few Choleskys, where SciPy's `nnls`,
    which frees one variable at a time, takes 7 s for 2000.

    References
    ----------
    L. Portugal, J. Júdice and L. Vicente, A comparison of block pivoting and interior-
    point algorithms for linear least squares problems with nonnegative variables,
    Mathematics of Computation 1994.
    """
    free = np.ones(len(b), dtype=bool)
    fewest, patience = len(b) + 1, PATIENCE
    slack = 1e-12 * abs(b).max()
    w = np.zeros(len(b))
    for _ in range(PIVOTS):
        w = np.zeros(len(b))
        if free.any():
            w[free] = cho_solve(cho_factor(G[np.ix_(free, free)]), b[free])
        wrong = np.where(free, w < 0, G @ w - b < -slack)
        count = int(np.count_nonzero(wrong))
        if count == 0:
            break
        if count < fewest:
            fewest, patience = count, PATIENCE
        elif patience > 0:
            patience -= 1
        else:  # one at a time cannot cycle
            last = np.flatnonzero(wrong)[-1]
            wrong[:last] = False
        free ^= wrong
    return np.maximum(w, 0)
