"""Compressive random features: random measurements of the data, then features."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from bochner import methods, projections
from bochner.features.random_features import RandomProjection

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
    exact_accuracy,
    load,
    some_rows,
    svm_accuracy,
)

NAME = "compressive"
TITLE = "Compressive random features"
MNIST_WIDTH, CIFAR_WIDTH = 10.0, 18.0
"""σ of the Gaussian kernel, for pixels in [0, 1]."""

MEASUREMENTS = 50, 100, 200, 300
ACCURACY = {
    # M: plain features, then p = 50, 100, 200, 300
    100: (87.75, 85.14, 86.87, 87.45, 87.66),
    1000: (95.89, 93.03, 94.89, 95.56, 95.65),
    4000: (96.82, 94.12, 95.79, 96.45, 96.61),
    6000: (96.96, 94.08, 95.95, 96.61, 96.76),
}
FEW = 100
"""The size at which LIBLINEAR's joint machine is taken. The paper names no machine; one
against the rest is further from its figures there."""

WHOLE = 1000
"""The size that quick runs learn from all rows."""

LINEAR = (92.82, 85.63, 89.85, 91.86, 92.45)
KERNEL = (96.63, 93.22, 95.34, 96.36, 96.31)
SPEED = 6000, 100
SECONDS = 71.46, 7.41
"""To make so many plain features of 60,000 rows, and of so many measurements."""

CIFAR_MEASUREMENTS = None, 100, 400, 800
CIFAR = (49.84, 46.06, 49.56, 49.68)
CIFAR_LINEAR, CIFAR_KERNEL = 36.96, 49.56
CIFAR_SIZE = 6000

TRIALS, QUICK_TRIALS, THEIR_TRIALS = 5, 3, 20
QUICK_ROWS, QUICK_KERNEL_ROWS, QUICK_CIFAR = 5000, 4000, (5000, 2000)
"""Rows that quick runs learn from; of CIFAR also their number of features."""

BY_SIZE = Table(NAME, "MNIST, linear SVM on features", "accuracy, %", x="features M")
SIX = Table(
    NAME,
    "MNIST, linear and kernel machines on pixels and measurements",
    "accuracy, %",
    x="measurements p",
)
TIME = Table(NAME, "time to make features", "seconds for 60,000 rows", LOWER)
FASTER = Table(NAME, "time saved by measurements", "times faster than plain")
COLOUR = Table(NAME, "CIFAR-10, σ = 18", "accuracy, %", x="measurements p")


def experiments(quick: bool) -> list[Experiment]:
    """Speed first, then sizes from small to large."""
    sizes = [
        Experiment(f"{NAME}/M={M}", ("mnist",), partial(_by_size, M, quick))
        for M in ACCURACY
    ]
    return [
        Experiment(f"{NAME}/speed", ("mnist",), _speed),
        *sizes,
        Experiment(f"{NAME}/machines", ("mnist",), partial(_machines, quick)),
        Experiment(f"{NAME}/cifar", ("cifar10_20k",), partial(_cifar, quick)),
    ]


def features(M: int, p: int | None, width: float, seed: int = 0, **parts: Any) -> Any:
    """The paper's cosines of p measurements; plain ones where p is None."""
    gamma = 1 / (2 * width**2)
    common = {"gamma": gamma, "nonlinearity": "cos", "random_state": seed, **parts}
    if p is None:
        return methods.rff(M, **common)
    return methods.compressive(M, n_measurements=p, **common)


def _label(p: int | None) -> str:
    return "plain" if p is None else f"p = {p}"


def _by_size(M: int, quick: bool) -> Iterator[Finding]:
    """A row of the table: all p at one M."""
    data = load("mnist")
    learner = _joint if M == FEW else partial(svm_accuracy, C=1.0)
    few = quick and M != WHOLE  # few features need few rows, many take long
    data = some_rows(data, QUICK_ROWS) if few else data
    lost = _points_lost(QUICK_ROWS) if few else ""
    machine = ", joint machine" if M == FEW else ""
    # few features vary by their draw
    quick_trials = QUICK_TRIALS if M == FEW else 1
    seeds = range(quick_trials if quick else TRIALS)
    for p, theirs in zip((None, *MEASUREMENTS), ACCURACY[M], strict=True):
        scores = [learner(features(M, p, MNIST_WIDTH, seed), data) for seed in seeds]
        yield Cell(
            BY_SIZE,
            f"M = {M}, {_label(p)}{machine}",
            theirs,
            float(np.mean(scores)),
            max(
                rows_slack(theirs, len(data.y_test)),
                draw_slack(scores, n_theirs=THEIR_TRIALS),
            ),
            lost or said_of_draws(scores),
            _label(p),
            M,
        )


def _joint(made: Any, data: Any) -> float:
    """Crammer and Singer's machine, by LIBLINEAR, with C = 1."""
    F = made.fit_transform(data.X_train)
    machine = LinearSVC(C=1.0, multi_class="crammer_singer", random_state=0)
    machine.fit(F, data.y_train)
    return 100 * machine.score(made.transform(data.X_test), data.y_test)


def _speed() -> Iterator[Finding]:
    """Seconds of plain and of compressive features, in turn, the best of three."""
    M, p = SPEED
    X = load("mnist").X_train[:20_000]
    maps = {
        "plain": features(M, None, MNIST_WIDTH).fit(X),
        "dense": features(M, p, MNIST_WIDTH).fit(X),
        "sorf": features(M, p, MNIST_WIDTH, projection="sorf").fit(X),
    }
    best = dict.fromkeys(maps, np.inf)
    for _ in range(3):
        for name, made in maps.items():
            start = time.perf_counter()
            for place in range(0, len(X), 5000):
                made.transform(X[place : place + 5000])
            best[name] = min(best[name], time.perf_counter() - start)
    W = np.zeros((X.shape[1], M), np.float32)
    bare = best_seconds(
        lambda: [X[i : i + 5000] @ W for i in range(0, len(X), 5000)], 3
    )
    whole = {name: found * 60_000 / len(X) for name, found in best.items()}
    said = f"plain features take {best['plain'] / bare:.2f} × their bare matrix product"
    for name, label, theirs in zip(("plain", "dense"), (None, p), SECONDS, strict=True):
        yield Cell(TIME, f"M = {M}, {_label(label)}", theirs, whole[name], 0.0, said)
    yield Cell(
        FASTER,
        f"M = {M}, p = {p}",
        SECONDS[0] / SECONDS[1],
        whole["plain"] / whole["dense"],
        0.0,
        f"{said} here, {whole['plain']:.1f} s (paper: {SECONDS[0]}), so there is less "
        f"to save; with SORF as second stage it is "
        f"{whole['plain'] / whole['sorf']:.1f} ×",
    )


def _machines(quick: bool) -> Iterator[Finding]:
    """The six-way comparison: linear and kernel machines, with measurements or not."""
    data = load("mnist")
    few = some_rows(data, QUICK_KERNEL_ROWS) if quick else data
    linear = partial(svm_accuracy, C=1.0) if quick else _joint
    said = f"{len(few.y_train):,} rows, one draw of P"
    apart = _machines_apart(few) if quick else said
    lost = _points_lost(QUICK_KERNEL_ROWS) if quick else said
    for place, p in enumerate((None, *MEASUREMENTS)):
        x = float(p or data.X_train.shape[1])
        yield Cell(
            SIX,
            f"linear, {_label(p)}",
            LINEAR[place],
            linear(_measured(p), data),
            rows_slack(LINEAR[place], len(data.y_test)),
            apart,
            "linear",
            x,
        )
        yield Cell(
            SIX,
            f"kernel, {_label(p)}",
            KERNEL[place],
            exact_accuracy(_seen(_measured(p), few), 1 / (2 * MNIST_WIDTH**2), 1.0),
            rows_slack(KERNEL[place], len(data.y_test)),
            lost,
            series="kernel",
            x=x,
        )


def _measured(p: int | None) -> Any:
    """Pixels, or p random measurements of them."""
    if p is None:
        return FunctionTransformer()
    return RandomProjection(p, projection=projections.Orthoprojector(), random_state=0)


def _seen(measured: Any, data: Any) -> Any:
    """The data as measurements show it."""
    X_train = measured.fit_transform(data.X_train)
    X_test = measured.transform(data.X_test)
    return Bunch(
        X_train=X_train, y_train=data.y_train, X_test=X_test, y_test=data.y_test
    )


def _machines_apart(few: Any) -> str:
    """What one against the rest, the quick machine, costs beside the joint one."""
    plain = FunctionTransformer()
    rest, joint = svm_accuracy(plain, few, 1.0), _joint(plain, few)
    return (
        f"quick: one class against the rest, which on {len(few.y_train):,} rows has "
        f"{rest:.2f} % where the joint machine of the full run has {joint:.2f}"
    )


@lru_cache
def _of_rows(n: int) -> float:
    """Accuracy in % of 1000 plain features of n rows."""
    made = features(1000, None, MNIST_WIDTH)
    return svm_accuracy(made, some_rows(load("mnist"), n), 1.0)


def _points_lost(n: int) -> str:
    """What fewer rows cost."""
    whole = len(load("mnist").y_train)
    return (
        f"quick: {n:,} of {whole:,} rows, on which 1000 plain features have "
        f"{_of_rows(n):.2f} % in place of {_of_rows(whole):.2f}"
    )


def _cifar(quick: bool) -> Iterator[Finding]:
    """CIFAR-10, of which only 20,000 training rows are at hand."""
    data = load("cifar10_20k")
    n, M = QUICK_CIFAR if quick else (len(data.y_train), CIFAR_SIZE)
    rows, half = some_rows(data, n), some_rows(data, n // 2)
    make = partial(features, M, width=CIFAR_WIDTH)
    scores = [svm_accuracy(make(p), rows, 1.0) for p in CIFAR_MEASUREMENTS]
    gain = scores[0] - svm_accuracy(make(None), half, 1.0)
    reason = (
        f"{n:,} rows and {M} features in place of 50,000 and {CIFAR_SIZE}; from "
        f"{n // 2:,} to {n:,} rows plain features gain {gain:.1f} points"
    )
    for p, theirs, ours in zip(CIFAR_MEASUREMENTS, CIFAR, scores, strict=True):
        slack = rows_slack(theirs, len(data.y_test))
        x = float(p or data.X_train.shape[1])
        cell = f"features, {_label(p)}"
        yield Cell(COLOUR, cell, theirs, ours, slack, reason, "features", x)
    linear = svm_accuracy(FunctionTransformer(), rows, 1.0)
    slack = rows_slack(CIFAR_LINEAR, len(data.y_test))
    yield Cell(COLOUR, "linear, plain", CIFAR_LINEAR, linear, slack, reason)
    few = some_rows(data, min(n, QUICK_KERNEL_ROWS)) if quick else rows
    exact = exact_accuracy(few, 1 / (2 * CIFAR_WIDTH**2), 1.0)
    reason = f"the exact machine learned from {len(few.y_train):,} rows; {reason}"
    yield Cell(COLOUR, "kernel, plain", CIFAR_KERNEL, exact, slack, reason)
    yield Curve(
        NAME,
        "CIFAR-10: what measurements cost",
        "ours",
        tuple(float(p) for p in CIFAR_MEASUREMENTS if p is not None),
        tuple(scores[0] - score for score in scores[1:]),
        "measurements p",
        "points behind plain features",
        (True, False),
    )
