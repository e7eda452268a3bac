"""The same scores however far data lie from zero, in columns and in targets.

Accuracy, R², the share of test targets inside the nominal 90 % interval and the
variance that two components explain, with every column moved by 0, 1e3, 1e6 and 1e9 of
its standard deviations, and with targets moved as far. In float64; on synthetic rows,
and on magic04 and elevators where BOCHNER_DATA has them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bochner import KernelClassifier, KernelPCA, KernelRegressor, datasets

from .timing import print_table

OFFSETS = 0.0, 1e3, 1e6, 1e9
ROWS = 4000
QUICK_ROWS = 400
NORMAL_90 = 1.6448536
"""Deviations that hold nine tenths of a normal law."""


@dataclass(frozen=True)
class Data:
    """Rows to learn from and rows to test on, in float64."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def moved(self, size: float) -> Data:
        """Every column `size` standard deviations away, by turns up and down."""
        c = size * self.X.std(axis=0) * np.where(np.arange(self.X.shape[1]) % 2, -1, 1)
        return replace(self, X=self.X + c, X_test=self.X_test + c)

    def with_targets_moved(self, size: float) -> Data:
        b = size * self.y.std()
        return replace(self, y=self.y + b, y_test=self.y_test + b)


def run(quick: bool = False) -> None:
    """Print one table for each learner."""
    n = QUICK_ROWS if quick else ROWS
    classes = [_synthetic(n, classes=True), *_real("magic04", n)]
    numbers = [_synthetic(n, classes=False), *_real("elevators", n)]
    header = ["data", *(f"{size:g}" for size in OFFSETS)]
    print_table(
        "KernelClassifier(): accuracy %, offsets of X in standard deviations",
        header,
        [[data.name, *(_accuracy(data.moved(s)) for s in OFFSETS)] for data in classes],
    )
    both = "R², then % of targets inside the 90 % interval"
    print_table(
        f"KernelRegressor(): {both}, offsets of X in standard deviations",
        header,
        [
            [data.name, *(_regression(data.moved(s)) for s in OFFSETS)]
            for data in numbers
        ],
    )
    print_table(
        f"KernelRegressor(): {both}, offsets of y in standard deviations",
        header,
        [
            [data.name, *(_regression(data.with_targets_moved(s)) for s in OFFSETS)]
            for data in numbers
        ],
    )
    print_table(
        "KernelPCA(2): % of variance explained, offsets of X in standard deviations",
        header,
        [[data.name, *(_variance(data.moved(s)) for s in OFFSETS)] for data in classes],
    )


def _accuracy(data: Data) -> str:
    model = KernelClassifier(random_state=0).fit(data.X, data.y)
    return f"{100 * model.score(data.X_test, data.y_test):.2f}"


def _regression(data: Data) -> str:
    model = KernelRegressor(random_state=0).fit(data.X, data.y)
    mean, std = model.predict(data.X_test, return_std=True)
    rest = ((data.y_test - mean) ** 2).sum()
    R2 = 1 - rest / ((data.y_test - data.y_test.mean()) ** 2).sum()
    inside = (abs(data.y_test - mean) <= NORMAL_90 * std).mean()
    return f"{R2:.4f}, {100 * inside:.1f}"


def _variance(data: Data) -> str:
    ratio = KernelPCA(2, random_state=0).fit(data.X).explained_variance_ratio_
    return ", ".join(f"{100 * share:.2f}" for share in ratio)


def _synthetic(n: int, classes: bool) -> Data:
    """Columns of units from a thousandth to a thousand, all of which matter."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(2 * n, 4))
    f = np.sin(2 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + 0.5 * Z[:, 3]
    y = f + 0.2 * rng.normal(size=2 * n)
    X = Z * np.array([1e3, 1.0, 1e-3, 10.0])
    name = f"synthetic, {n:,} rows"
    return _cut(name, X, (y > 0).astype(int) if classes else y, n)


def _real(name: str, n: int) -> list[Data]:
    if name not in datasets.available():
        return []
    data = datasets.load(name)
    order = np.random.default_rng(0).permutation(len(data.X_train))[:n]
    rows = data.X_train[order].astype(np.float64), data.y_train[order]
    test = data.X_test.astype(np.float64), data.y_test
    if rows[1].dtype.kind == "f":  # targets in float32 would not hold an offset
        rows, test = ((A, y.astype(np.float64)) for A, y in (rows, test))
    return [Data(f"{name}, {len(order):,} rows", *rows, *test)]


def _cut(name: str, X: np.ndarray, y: np.ndarray, n: int) -> Data:
    return Data(name, X[:n], y[:n], X[n:], y[n:])
