"""Randomised block-diagonal projections: k products for one pass over a row."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import shapiro
from sklearn.preprocessing import StandardScaler

from .. import methods, metrics, projections
from .._random import Stream
from ..estimators import KernelRegressor
from ..kernels import Gaussian
from ..maps import RandomFeatures, RandomProjection
from .cells import LOWER, Cell, Curve, Finding, Table, draw_slack, said_of_draws
from .experiment import Experiment, load, scaled, some_rows, svm_accuracy

NAME = "block-diagonal"
TITLE = "Randomised block-diagonal projection"
BLOCKS = None, 1, 4, 16, 32, 98
"""Block sizes; None: dense."""

ERROR = {
    # frequencies: relative error of each
    256: (0.083, 0.66, 0.20, 0.095, 0.085, 0.087),
    784: (0.049, 0.59, 0.19, 0.059, 0.049, 0.053),
    2048: (0.029, 0.63, 0.21, 0.051, 0.041, 0.029),
    4096: (0.022, 0.63, 0.19, 0.056, 0.034, 0.023),
}
SPEED = {
    # d, k: times faster than the dense product
    (10_000, 1000): 32.0,
    (10_000, 5000): 150.0,
    (100_000, 1000): 106.0,
    (100_000, 5000): 463.0,
    (262_144, 1000): 264.0,
    (262_144, 5000): 1227.0,
}
FOURIER = 262_144, 200_000, 11_716.0, 14.7
"""d, features, and times faster than dense features and than Fastfood."""

TIMED_ROWS, SLICE = 64, 256
"""Rows, and columns of the dense product that are timed; the rest is extrapolated."""

LOST_POINTS, LOST_RMSE = 1.0, 0.2
ERRORS = Table(
    NAME,
    "Fashion-MNIST, γ by median, blocks of b",
    "relative kernel error",
    LOWER,
    "frequencies m",
)
TIMES = Table(NAME, "random projection", "times faster than the dense product")
FEATURES = Table(NAME, "Fourier features", "times faster")
LOST = Table(NAME, "accuracy lost against dense features", "points", LOWER)
SHUFFLED = Table(NAME, "what the permutation does", "share")


def experiments(quick: bool) -> list[Experiment]:
    """Errors, then speed, then accuracies."""
    return [
        Experiment(f"{NAME}/error", ("fashion_mnist",), partial(_errors, quick)),
        Experiment(f"{NAME}/speed", (), _speed),
        Experiment(f"{NAME}/fourier", (), _fourier),
        Experiment(f"{NAME}/adult", ("a9a",), partial(_lost, "a9a", quick)),
        Experiment(f"{NAME}/cifar", ("cifar10_20k",), partial(_lost, CIFAR, quick)),
        Experiment(f"{NAME}/census", ("house_16H",), _census),
        Experiment(f"{NAME}/permutation", ("fashion_mnist",), _permutation),
    ]


CIFAR = "cifar10_20k"


def _errors(quick: bool) -> Iterator[Finding]:
    """The bias of small blocks does not shrink with more features."""
    data = load("fashion_mnist")
    gamma = float(Gaussian("median").resolve(data.X_train).gamma)
    for m, row in ERROR.items():
        for b, theirs in zip(BLOCKS, row, strict=True):
            projection: Any = "dense" if b is None else projections.BlockDiagonal(b)
            found = [
                metrics.kernel_error(
                    RandomFeatures(
                        2 * m, gamma=gamma, projection=projection, random_state=seed
                    ).fit(data.X_train),
                    data.X_test,
                    n_points=1000 if quick else 3000,
                )
                for seed in range(5 if quick else 8)
            ]
            label = "dense" if b is None else f"b = {b}"
            ours, slack = float(np.mean(found)), draw_slack(found)
            cell = f"m = {m}, {label}"
            reason = said_of_draws(found)
            yield Cell(ERRORS, cell, theirs, ours, slack, reason, label, m)


def best_seconds(run: Callable[[], Any], repeats: int = 5) -> float:
    """Of several runs after one that warms up."""
    run()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def _dense_seconds(X: np.ndarray, n_columns: int) -> float:
    """Of a float32 product, by a slice of its columns."""
    W = np.zeros((X.shape[1], SLICE), np.float32)
    return best_seconds(lambda: X @ W) * n_columns / SLICE


def _speed() -> Iterator[Finding]:
    """Beside the dense product of the same shape, and reading the rows once."""
    for d in sorted({d for d, _ in SPEED}):
        X = np.random.default_rng(0).normal(size=(TIMED_ROWS, d)).astype(np.float32)
        reading = best_seconds(X.sum)
        for k in (1000, 5000):
            made = RandomProjection(k, random_state=0).fit(X)
            ours = best_seconds(partial(made.transform, X))
            dense = _dense_seconds(X, k)
            rate = 2e-9 * TIMED_ROWS * d * k / dense
            yield Cell(
                TIMES,
                f"d = {d:,}, k = {k:,}",
                SPEED[d, k],
                dense / ours,
                reason=f"the dense product here runs at {rate:.0f} GFlop/s, and "
                f"reading the rows once bounds the ratio at {dense / reading:.0f}; "
                f"ours takes {ours / reading:.1f} × that reading",
            )


def _fourier() -> Iterator[Finding]:
    """200,000 features of blocks of one or two, whose error says not to use them."""
    d, M, theirs, fastfood = FOURIER
    gamma = 0.5 / d
    X = np.random.default_rng(0).normal(size=(TIMED_ROWS, d)).astype(np.float32)
    paper = projections.BlockDiagonal("paper")
    blocks = RandomFeatures(M, gamma=gamma, projection=paper, random_state=0).fit(X)
    ours = best_seconds(partial(blocks.transform, X), 3)
    structured = methods.fastfood(M, gamma=gamma, random_state=0).fit(X)
    theirs_seconds = best_seconds(partial(structured.transform, X), 1)
    dense = _dense_seconds(X, M // 2)
    error = metrics.kernel_error(blocks, X)
    per_output = 1e9 * theirs_seconds / (TIMED_ROWS * M)
    note = f"the features' kernel error is {error:.2f} here"
    yield Cell(
        FEATURES,
        f"{M:,} features of {d:,} columns, over dense ones",
        theirs,
        dense / ours,
        reason=f"the dense product runs at {1e-9 * TIMED_ROWS * d * M / dense:.0f} "
        f"GFlop/s; {note}",
    )
    yield Cell(
        FEATURES,
        f"{M:,} features of {d:,} columns, over Fastfood",
        fastfood,
        theirs_seconds / ours,
        reason=f"beside our own Fastfood, which takes {per_output:.2f} ns a feature; "
        f"{note}",
    )


def _lost(name: str, quick: bool) -> Iterator[Finding]:
    """A linear SVM on block-diagonal features beside one on dense ones."""
    data = load(name)
    n = 10_000 if quick else len(data.y_train)
    data = some_rows(data, min(n, len(data.y_train)))
    gamma = float(Gaussian("median").resolve(data.X_train).gamma)
    scores = [
        np.mean(
            [
                svm_accuracy(make(2048, gamma=gamma, random_state=seed), data, 1.0)
                for seed in range(1 if quick else 3)
            ]
        )
        for make in (methods.rff, methods.block_diagonal)
    ]
    p = scores[0] / 100
    chance = 2 * 100 * float(np.sqrt(p * (1 - p) / len(data.y_test)))
    lost = float(scores[0] - scores[1])
    reason = f"{scores[0]:.2f} % dense, {scores[1]:.2f} % block-diagonal"
    yield Cell(LOST, f"{name}, at most", LOST_POINTS, lost, chance, reason)


def _census() -> Iterator[Finding]:
    """Root mean squared error of ridge on census data, in hundredths of y's range."""
    data = scaled(load("house_16H"), StandardScaler())
    y = data.y_train / np.ptp(data.y_train)
    y_test = data.y_test / np.ptp(data.y_train)
    errors = []
    for make in (methods.rff, methods.block_diagonal):
        model = KernelRegressor(make(1024, random_state=0)).fit(data.X_train, y)
        residual = model.predict(data.X_test) - y_test
        errors.append(100 * float(np.sqrt(np.mean(residual**2))))
    reason = f"{errors[0]:.2f} dense, {errors[1]:.2f} block-diagonal"
    lost = errors[1] - errors[0]
    yield Cell(LOST, "house_16H, RMSE, at most", LOST_RMSE, lost, 0.0, reason)


def _permutation() -> Iterator[Finding]:
    """Shares of differences in a block: nearer to normal, less correlated."""
    X = load("fashion_mnist").X_train
    rng = Stream(0).child("pairs")
    first, second = (rng.child(str(i)).subset(len(X), 400) for i in range(2))
    squares = (X[first] - X[second]).astype(np.float64) ** 2
    order = rng.child("columns").permutation(X.shape[1])
    b, k = 28, 28
    shares: dict[str, np.ndarray] = {}
    for title, columns in (("in order", np.arange(b * k)), ("shuffled", order)):
        shares[title] = squares[:, columns].reshape(len(squares), k, b).sum(axis=2)
    normal = {t: _normal_share(S) for t, S in shares.items()}
    ours, plain = normal["shuffled"], normal["in order"]
    cell = "normal shares (Shapiro-Wilk at 1 %), more than in order"
    yield Cell(SHUFFLED, cell, plain, ours)
    for title, S in shares.items():
        correlation = np.corrcoef(S.T)
        yield Curve(
            NAME,
            "Correlation of neighbouring blocks",
            title,
            tuple(float(i) for i in range(k - 1)),
            tuple(np.diag(correlation, 1).tolist()),
            "block",
            "correlation with the next",
        )


def _normal_share(S: np.ndarray) -> float:
    """Share of rows whose block sums pass for normal."""
    return float(np.mean([shapiro(row).pvalue > 0.01 for row in S]))
