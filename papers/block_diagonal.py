"""Randomised block-diagonal projections: k products for one pass over a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import shapiro
from sklearn.preprocessing import StandardScaler

from bochner import methods, metrics, projections
from bochner._core.random import Stream
from bochner.features.random_features import RandomFeatures, RandomProjection
from bochner.kernels.shift_invariant import Gaussian
from bochner.learners.regressor import KernelRegressor

from .cells import (
    LOWER,
    Cell,
    Curve,
    Finding,
    Table,
    draw_slack,
    rows_slack,
    said_of_draws,
)
from .experiment import (
    Experiment,
    best_seconds,
    load,
    scaled,
    some_rows,
    svm_accuracy,
)

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
    # d: times faster than the dense product, by the number of projections
    10_000: (32.3, 58.8, 93.9, 120.6, 150.0),
    100_000: (106.0, 193.6, 316.0, 405.0, 462.7),
    262_144: (264.0, 408.3, 768.0, 941.6, 1226.6),
}
SPEED_SIZES = 1000, 2000, 3000, 4000, 5000
CORRECTED = {None: 0.204, "scalar": 0.144, "bandwidth": 0.076}
"""Relative error of blocks of 4 at 2048 frequencies, by what corrects their bias."""

FOURIER = 262_144, 200_000, 11_716.0, 14.7
"""d, features, and times faster than dense features and than Fastfood."""

TIMED_ROWS, SLICE = 64, 256
"""Rows, and columns of the dense product that are timed; the rest is extrapolated."""

LOST_POINTS, LOST_RMSE = 1.0, 0.2
SEEDS, QUICK_SEEDS = 8, 3
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
RELATED = Table(NAME, "what the permutation does to blocks", "correlation", LOWER)


def experiments(quick: bool) -> list[Experiment]:
    """Errors, then speed, then accuracies."""
    return [
        Experiment(f"{NAME}/error", ("fashion_mnist",), partial(_errors, quick)),
        Experiment(f"{NAME}/bias", ("fashion_mnist",), partial(_corrected, quick)),
        Experiment(f"{NAME}/speed", (), _speed),
        Experiment(f"{NAME}/fourier", (), _fourier),
        Experiment(f"{NAME}/adult", ("a9a",), partial(_lost, "a9a", quick)),
        Experiment(f"{NAME}/cifar", ("cifar10_20k",), partial(_lost, CIFAR, quick)),
        Experiment(f"{NAME}/census", ("house_16H",), partial(_census, quick)),
        Experiment(f"{NAME}/permutation", ("fashion_mnist",), _permutation),
    ]


CIFAR = "cifar10_20k"


def _errors(quick: bool) -> Iterator[Finding]:
    """The bias of small blocks does not shrink with more features."""
    for m, row in ERROR.items():
        for b, theirs in zip(BLOCKS, row, strict=True):
            found = _found(
                "dense" if b is None else projections.BlockDiagonal(b), m, quick
            )
            label = "dense" if b is None else f"b = {b}"
            ours, slack = float(np.mean(found)), draw_slack(found)
            cell = f"m = {m}, {label}"
            reason = said_of_draws(found)
            yield Cell(ERRORS, cell, theirs, ours, slack, reason, label, m)


def _corrected(quick: bool) -> Iterator[Finding]:
    """What the paper's factor takes off the bias of small blocks, and a wider law."""
    for correction, theirs in CORRECTED.items():
        projection = projections.BlockDiagonal(4, bias_correction=correction)
        found = _found(projection, 2048, quick)
        ours, slack = float(np.mean(found)), draw_slack(found)
        cell = f"m = 2048, b = 4, corrected by {correction or 'nothing'}"
        yield Cell(ERRORS, cell, theirs, ours, slack, said_of_draws(found))


def _found(projection: Any, m: int, quick: bool) -> list[float]:
    """Relative kernel errors of m frequencies, of several draws."""
    data = load("fashion_mnist")
    gamma = float(Gaussian("median").resolve(data.X_train).gamma)
    make = partial(RandomFeatures, 2 * m, gamma=gamma, projection=projection)
    n_points = 1000 if quick else 3000
    return [
        metrics.kernel_error(
            make(random_state=seed).fit(data.X_train), data.X_test, n_points=n_points
        )
        for seed in range(QUICK_SEEDS if quick else SEEDS)
    ]


def _dense_seconds(X: np.ndarray, n_columns: int) -> float:
    """Of a float32 product, by a slice of its columns."""
    W = np.zeros((X.shape[1], SLICE), np.float32)
    return best_seconds(lambda: X @ W) * n_columns / SLICE


def _speed() -> Iterator[Finding]:
    """Beside the dense product of the same shape, and reading the rows once."""
    for d, row in SPEED.items():
        X = np.random.default_rng(0).normal(size=(TIMED_ROWS, d)).astype(np.float32)
        reading = best_seconds(X.sum)
        for k, theirs in zip(SPEED_SIZES, row, strict=True):
            made = RandomProjection(k, random_state=0).fit(X)
            ours = best_seconds(partial(made.transform, X))
            dense = _dense_seconds(X, k)
            rate = 2e-9 * TIMED_ROWS * d * k / dense
            yield Cell(
                TIMES,
                f"d = {d:,}, k = {k:,}",
                theirs,
                dense / ours,
                0.0,
                f"the dense product here runs at {rate:.0f} GFlop/s, and "
                f"reading the rows once bounds the ratio at {dense / reading:.0f}; "
                f"ours takes {ours / reading:.1f} × that reading",
            )


def _fourier() -> Iterator[Finding]:
    """200,000 features of blocks of one or two, whose error says not to use them."""
    d, M, over_dense, over_fastfood = FOURIER
    make = partial(RandomFeatures, M, gamma=0.5 / d, nonlinearity="cos", random_state=0)
    X = np.random.default_rng(0).normal(size=(TIMED_ROWS, d)).astype(np.float32)
    blocks = make(projection=projections.BlockDiagonal("paper")).fit(X)
    ours = best_seconds(partial(blocks.transform, X), 3)
    structured = make(projection="fastfood").fit(X)
    fastfood = best_seconds(partial(structured.transform, X), 1)
    dense = _dense_seconds(X, M)
    rate = 2e-9 * TIMED_ROWS * d * M / dense
    error = metrics.kernel_error(blocks, X)
    per_output = 1e9 * fastfood / (TIMED_ROWS * M)
    note = f"the features' kernel error is {error:.2f} here"
    yield Cell(
        FEATURES,
        f"{M:,} features of {d:,} columns, over dense ones",
        over_dense,
        dense / ours,
        0.0,
        f"the dense product runs at {rate:.0f} GFlop/s; {note}",
    )
    yield Cell(
        FEATURES,
        f"{M:,} features of {d:,} columns, over Fastfood",
        over_fastfood,
        fastfood / ours,
        0.0,
        f"beside our own Fastfood, which takes {per_output:.2f} ns a feature; {note}",
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
    chance = rows_slack(float(scores[0]), len(data.y_test))
    lost = float(scores[0] - scores[1])
    reason = f"{scores[0]:.2f} % dense, {scores[1]:.2f} % block-diagonal"
    yield Cell(LOST, f"{name}, at most", LOST_POINTS, lost, chance, reason)


def _census(quick: bool) -> Iterator[Finding]:
    """Root mean squared error of ridge on census data, in hundredths of y's range."""
    data = scaled(load("house_16H"), StandardScaler())
    y = data.y_train / np.ptp(data.y_train)
    y_test = data.y_test / np.ptp(data.y_train)

    def error(make: Callable[..., Any], seed: int) -> float:
        model = KernelRegressor(make(1024, random_state=seed)).fit(data.X_train, y)
        residual = model.predict(data.X_test) - y_test
        return 100 * float(np.sqrt(np.mean(residual**2)))

    lost = [
        error(methods.block_diagonal, seed) - error(methods.rff, seed)
        for seed in range(QUICK_SEEDS if quick else SEEDS)
    ]
    cell, ours = "house_16H, RMSE, at most", float(np.mean(lost))
    slack, reason = draw_slack(lost), said_of_draws(lost)
    yield Cell(LOST, cell, LOST_RMSE, ours, slack, reason)


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
    reason = f"{100 * ours:.0f} % shuffled, {100 * plain:.0f} % in order"
    yield Cell(SHUFFLED, cell, plain, ours, 0.0, reason)
    neighbours = {t: np.diag(np.corrcoef(S.T), 1) for t, S in shares.items()}
    means = {t: float(found.mean()) for t, found in neighbours.items()}
    yield Cell(
        RELATED,
        "correlation of neighbouring blocks, below that in order",
        means["in order"],
        means["shuffled"],
        0.0,
        f"{means['shuffled']:.3f} shuffled, {means['in order']:.3f} in order",
    )
    for title, found in neighbours.items():
        yield Curve(
            NAME,
            "Correlation of neighbouring blocks",
            title,
            tuple(float(i) for i in range(k - 1)),
            tuple(found.tolist()),
            "block",
            "correlation with the next",
        )


def _normal_share(S: np.ndarray) -> float:
    """Share of rows whose block sums pass for normal."""
    return float(np.mean([shapiro(row).pvalue > 0.01 for row in S]))
