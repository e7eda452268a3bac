"""The penalty α where moments do not give it, by validation on at most 2000 rows.

For the hinge: exact leave-one-out. For other losses a path of fits, few rows in four
folds, many with a quarter held out; learning on s rows of M features is the same as on
s coordinates of their s × s Gram matrix, so that a path costs little whatever M is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from ..._core.random import Stream
from ...engines.local import KeptRows, RawFeatures
from ...solvers.losses import Loss, SquaredHinge
from ...solvers.newton import newton
from ...solvers.rows import mixed, scores
from . import leave_one_out
from .leave_one_out import PENALTIES, choose_penalty, largest_good

ROWS = 2000
FOLDS = 4
FOLDED_ROWS = 1000
"""Up to so many rows every fold is validated on; beyond, the first."""

RIDGE = 1e-10
"""What keeps Gram matrices of equal rows positive definite, relative."""

SLACK = 1.02
"""A larger α is taken if its loss is within so much of the least."""

PATIENCE = 2
"""Penalties without a gain after which smaller ones are not tried."""


def select_alpha(
    loss: Loss, rows: Any, raw: RawFeatures, candidates: Any, intercept: bool
) -> float:
    """The largest candidate whose validated loss is about the least."""
    if isinstance(loss, SquaredHinge):
        sample = rows.sample(leave_one_out.ROWS)
        F = mixed(sample.F, raw.mixing)
        F = (F.toarray() if sparse.issparse(F) else F).astype(np.float64)
        T = loss.encode(sample.y, np.float64)
        return choose_penalty(F @ F.T, T, sample.weight, candidates)
    alphas = PENALTIES if candidates is None else -np.sort(-np.asarray(candidates))
    sample = _coordinates(rows.sample(ROWS), raw)
    folds = _folds(sample.y)
    asked = range(FOLDS if sample.n_rows <= FOLDED_ROWS else 1)
    used = [fold for fold in asked if 0 < (folds == fold).sum() < len(folds)]
    if not used:
        return float(alphas[len(alphas) // 2])
    total = sum(_path(loss, sample, folds == fold, alphas, intercept) for fold in used)
    return largest_good(alphas, np.asarray(total), SLACK)


def _coordinates(sample: KeptRows, raw: RawFeatures) -> KeptRows:
    """The rows in coordinates whose inner products are those of their features."""
    F = mixed(sample.F, raw.mixing)
    if F.shape[1] <= F.shape[0]:
        return KeptRows(F, sample.y, sample.weight, None)
    F = (F.toarray() if sparse.issparse(F) else F).astype(np.float64)
    K = F @ F.T
    K[np.diag_indices_from(K)] += RIDGE * max(np.trace(K) / len(K), RIDGE)
    L = linalg.cholesky(K, lower=True, check_finite=False)
    return KeptRows(L, sample.y, sample.weight, None)


def _folds(y: np.ndarray) -> np.ndarray:
    """A fold for every row, classes dealt out evenly."""
    order = Stream(0).child("folds").permutation(len(y))
    if y.ndim == 1 and y.dtype.kind in "iu":
        order = order[np.argsort(y[order], kind="stable")]
    folds = np.empty(len(y), dtype=int)
    folds[order] = np.arange(len(y)) % FOLDS
    return folds


def _path(
    loss: Loss, sample: KeptRows, out: np.ndarray, alphas: np.ndarray, intercept: bool
) -> np.ndarray:
    """Loss of the rows held out for every α; infinite for those not tried."""
    inside, held = sample.take(np.flatnonzero(~out)), sample.take(np.flatnonzero(out))
    T = loss.encode(held.y, held.dtype)
    B = np.zeros((inside.n_columns + intercept, T.shape[1]))
    found = np.full(len(alphas), np.inf)
    for i, alpha in enumerate(alphas):
        B = newton(loss, inside, alpha, B, tol=1e-2, max_iter=20).B
        found[i] = loss.values(scores(held.F, B), T, held.weight).sum()
        if i - int(np.argmin(found)) >= PATIENCE:
            break
    return found
