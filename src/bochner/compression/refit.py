"""Non-negative least squares for the weights of kept features."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky

from .products import Problem


def refitted(
    problem: Problem, kept: np.ndarray, weights: np.ndarray, error: float
) -> tuple[np.ndarray, float]:
    """argmin_{w ≥ 0} ‖Σ_u w_u R_u − r‖ over the kept units, and its relative error.

    The weights that came are returned where rounding leaves nothing to gain.
    """
    norms = problem.norms[kept]
    G = problem.block(kept) / np.outer(norms, norms)  # unit diagonal
    b = problem.target[kept] / norms / problem.target_norm
    try:
        w = non_negative(G, b)
    except (LinAlgError, RuntimeError):  # dependent features, or no convergence
        return weights, error
    left = 1 - 2 * b @ w + w @ G @ w
    if not left < error**2:
        return weights, error
    return w * problem.target_norm / norms, float(np.sqrt(max(left, 0)))


def non_negative(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    """argmin_{w ≥ 0} ½ wᵀG w − bᵀw for positive definite G."""
    U = cholesky(G)
    w = cho_solve((U, False), b)
    if w.min() > 0:  # as a rule: no bound holds anything back, and one solve is enough
        return w
    from scipy.optimize import nnls

    # G = UᵀU: the same minimum as of ‖U w − U⁻ᵀb‖
    return nnls(U, np.linalg.solve(U.T, b))[0]
