"""Random maxout features: the largest of q random projections."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from bochner import datasets, methods
from bochner.learners.pca import KernelPCA
from bochner.solvers.moments import Moments, solve_positive

from .cells import LOWER, Cell, Curve, Finding, Table, rows_slack, said_of_draws
from .experiment import Experiment, load, some_rows

NAME = "maxout"
TITLE = "Random maxout features"
ERROR = {
    # (M, q): error in % and its standard deviation
    (100, 1): (17.68, 0.28),
    (100, 2): (16.95, 0.53),
    (100, 4): (18.24, 0.39),
    (100, 8): (18.9, 0.28),
    (100, 16): (20.57, 0.76),
    (500, 1): (14.76, 0.23),
    (500, 2): (7.98, 0.22),
    (500, 4): (7.70, 0.24),
    (500, 8): (7.98, 0.47),
    (500, 16): (8.19, 0.21),
    (1000, 1): (14.64, 0.08),
    (1000, 2): (5.62, 0.18),
    (1000, 4): (5.50, 0.16),
    (1000, 8): (5.59, 0.19),
    (1000, 16): (5.66, 0.15),
    (5000, 1): (15.02, 0.64),
    (5000, 2): (2.86, 0.11),
    (5000, 4): (2.78, 0.07),
    (5000, 8): (2.81, 0.10),
    (5000, 16): (2.87, 0.12),
    (10000, 1): (15.12, 0.58),
    (10000, 2): (2.35, 0.04),
    (10000, 4): (2.23, 0.07),
    (10000, 8): (2.32, 0.09),
    (10000, 16): (2.58, 0.04),
}
SEEDS = 5
PENALTIES = 10.0 ** np.arange(-7, 3)
"""λ tried, as multiples of the mean square of a feature."""

HELD_OUT, ROWS = 10_000, 5000
QUICK_ROWS = {1000: 30_000, 5000: 8000, 10_000: 3000}
"""Rows that quick runs learn from, where M makes all of them long."""

TABLE = Table(
    NAME, "MNIST, regularised least squares", "test error, %", LOWER, "pieces q"
)
FACES = Table(NAME, "faces in the order of their angle", "rank correlation")
FACES_SET, TURNING = "umist_28x23", 17
"""Pictures of 20 persons, and the one of whom there are 33, turning the head."""

FACES_UNITS, FACES_POOL = 10_000, 12
ORDER_SLACK = 0.02
"""Of a rank correlation of 1, which a picture shows only to the eye: two faces that
change places take off 0.0003."""


def experiments(quick: bool) -> list[Experiment]:
    """Sizes from small to large; every (M, q) by itself, so that a run can go on."""
    cells = [
        Experiment(f"{NAME}/M={M}, q={q}", ("mnist",), partial(_cell, M, q, quick))
        for M, q in ERROR
    ]
    return [
        Experiment(f"{NAME}/distances", (), _distances),
        Experiment(f"{NAME}/faces", (FACES_SET,), _faces),
        *cells,
    ]


def _cell(M: int, q: int, quick: bool) -> Iterator[Finding]:
    """Mean error over draws; quick runs take structured projections, and one draw."""
    data = load("mnist")
    theirs, deviation = ERROR[M, q]
    n = QUICK_ROWS.get(M, len(data.y_train)) if quick else len(data.y_train)
    rows = some_rows(data, n) if n < len(data.y_train) else data
    make = partial(methods.maxout, M, pool_size=q)
    make = partial(make, projection="sorf") if quick else make
    errors = [
        held_out_error(make(random_state=seed), rows)
        for seed in range(1 if quick else SEEDS)
    ]
    reason = said_of_draws(errors)
    if n < len(data.y_train):
        small = methods.maxout(1000, pool_size=q, projection="sorf", random_state=0)
        few = held_out_error(small, rows)
        reason = (
            f"quick: {n:,} of {len(data.y_train):,} rows, of which 1000 units make an "
            f"error of {few:.2f} % (the paper's, of all rows, {ERROR[1000, q][0]})"
        )
    slack = rows_slack(theirs, len(data.y_test), deviation)
    ours = float(np.mean(errors))
    yield Cell(TABLE, f"M = {M}, q = {q}", theirs, ours, slack, reason, f"M = {M}", q)


def held_out_error(features: Any, data: Any) -> float:
    """Test error in %, λ chosen on the last rows of the training set, then all used."""
    X, y = data.X_train, data.y_train
    features.fit(X)
    classes, y = np.unique(y, return_inverse=True)
    T = np.where(y[:, None] == np.arange(len(classes)), 1.0, -1.0)
    n = len(X) - min(HELD_OUT, len(X) // 5)
    y_test = np.searchsorted(classes, data.y_test)
    if len(X) < features.feature_map_.n_components:
        return _dual_error(features, X, T, n, data.X_test, y_test)
    first = _moments(features, X[:n], T[:n])
    unit = np.trace(first.ff) / len(first.ff)
    path = [_ridge(first, penalty * unit) for penalty in PENALTIES]
    best = PENALTIES[int(np.argmin(_errors(features, path, X[n:], y[n:])))]
    first.merge(_moments(features, X[n:], T[n:]))
    B = _ridge(first, best * np.trace(first.ff) / len(first.ff))
    return _errors(features, [B], data.X_test, y_test)[0]


def _dual_error(
    features: Any, X: Any, T: np.ndarray, n: int, X_test: Any, y_test: np.ndarray
) -> float:
    """The same by inner products of rows, where these are fewer than the features."""
    F = features.transform(X)
    K, y = (F @ F.T).astype(np.float64), T.argmax(axis=1)

    def dual(rows: slice, penalty: float) -> np.ndarray:
        H = K[rows, rows].copy(order="F")
        H[np.diag_indices_from(H)] += penalty * np.trace(H) / F.shape[1]
        return solve_positive(H, T[rows])

    def error(S: np.ndarray, labels: np.ndarray) -> float:
        return 100 * float(np.mean(S.argmax(axis=1) != labels))

    first = slice(0, n)
    held = [error(K[n:, first] @ dual(first, p), y[n:]) for p in PENALTIES]
    A = dual(slice(0, len(X)), PENALTIES[int(np.argmin(held))])
    return error((features.transform(X_test) @ F.T) @ A, y_test)


def _moments(features: Any, X: Any, T: np.ndarray) -> Moments:
    moments = Moments.zero(features.feature_map_.n_components, T.shape[1])
    for start in range(0, X.shape[0], ROWS):
        F = features.transform(X[start : start + ROWS])
        moments.add(F, T[start : start + ROWS], None)
    return moments.about(None, None)


def _ridge(moments: Moments, alpha: float) -> np.ndarray:
    """(FᵀF + αI)⁻¹FᵀT: as in the paper, without an intercept."""
    H = moments.ff.copy(order="F")
    H[np.diag_indices_from(H)] += alpha
    return solve_positive(H, moments.ft)


def _errors(
    features: Any, path: list[np.ndarray], X: Any, y: np.ndarray
) -> list[float]:
    """Share of rows in % that each model gets wrong; classes are 0, 1, …."""
    wrong = np.zeros(len(path))
    for start in range(0, X.shape[0], ROWS):
        F = features.transform(X[start : start + ROWS])
        for i, B in enumerate(path):
            found = (F @ B.astype(F.dtype)).argmax(axis=1)
            wrong[i] += (found != y[start : start + ROWS]).sum()
    return (100 * wrong / X.shape[0]).tolist()


def _distances() -> Iterator[Finding]:
    """Figure 1: embedded distances grow with the original ones, then level off."""
    angles = np.linspace(0, np.pi, 60)
    X = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for q in (2, 8, 32):
        F = methods.maxout(10_000, pool_size=q, random_state=0).fit_transform(X)
        yield Curve(
            NAME,
            "Figure 1: distances before and after the map",
            f"q = {q}",
            tuple((2 * np.sin(angles / 2)).tolist()),
            tuple(np.linalg.norm(F - F[0], axis=1).tolist()),
            "distance of points on a circle",
            "distance of their features",
        )


def _faces() -> Iterator[Finding]:
    """Maxout and principal components lay out the faces of a turning head in order."""
    # in the order of the file, which is that of the angle
    with np.load(Path(os.environ[datasets.VARIABLE]) / f"{FACES_SET}.npz") as arrays:
        X = arrays["X"][arrays["y"] == TURNING].astype(np.float64)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    units = methods.maxout(
        FACES_UNITS, pool_size=FACES_POOL, projection="sorf", random_state=0
    )
    first = KernelPCA(1, features=units).fit_transform(X)[:, 0]
    ours = abs(float(spearmanr(first, np.arange(len(X))).statistic))
    reason = f"the first component's rank correlation with the angle is {ours:.4f}"
    cell = f"{len(X)} faces, maxout + PCA"
    yield Cell(FACES, cell, 1.0, ours, ORDER_SLACK, reason)
