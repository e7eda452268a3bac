"""Data-dependent compression: few weighted features in place of many."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import MinMaxScaler

from bochner import methods, metrics
from bochner.kernels.shift_invariant import Gaussian

from .cells import (
    DEVIATIONS,
    LOWER,
    Cell,
    Finding,
    Table,
    draw_slack,
    rows_slack,
    said_of_draws,
)
from .experiment import (
    Experiment,
    exact_accuracy,
    load,
    scaled,
    some_rows,
    svm_accuracy,
)

NAME = "giga"
TITLE = "Data-dependent compression of random features"
PAIRS = 20_000
"""Pairs of points that the paper fits weights on."""

FASHION = {
    # J: plain features and their deviation, GIGA as in the paper, for the exact
    # kernel, and with weights refitted
    50: (0.31, 0.04, 0.152, 0.151, 0.145),
    100: (0.21, 0.01, 0.115, 0.112, 0.106),
    200: (0.15, 0.02, 0.087, 0.082, 0.077),
    400: (0.106, 0.012, 0.067, 0.060, 0.056),
    800: (0.073, 0.006, 0.053, 0.044, 0.039),
}
ALL_CANDIDATES = 0.033
"""The error of all 5000 of them."""

N_CANDIDATES = 5000
THEIR_SECONDS = 8.6
"""The least that the authors' runs took."""

SPREAD = 0.02
"""Relative deviation of GIGA's error between draws, measured over 16."""

CHANCE = DEVIATIONS * SPREAD * 2**0.5
"""What draws alone make of a ratio of two such errors."""

SIZES = 100, 250, 500, 750, 1000
SEEDS, THEIR_SEEDS = 5, 20
TIMED, POINTS = 500, 3000
"""Features whose choice is timed, and test rows that errors are measured on."""

RATIOS = Table(
    NAME, "GIGA beside plain and JL features", "ratio of kernel errors", LOWER
)
CLAIMS = Table(NAME, "other claims", "ratio of kernel errors", LOWER)
BEATEN = Table(NAME, "GIGA beside plain and JL features, one draw", "accuracy, %")
SECONDS = Table(NAME, "time to choose", "seconds", LOWER)
FEWER = Table(NAME, "features saved at equal error", "times fewer")
ERRORS = Table(
    NAME, "Fashion-MNIST, γ by median", "relative kernel error", LOWER, "features J"
)


@dataclass(frozen=True)
class Setting:
    """A data set with the authors' kernel, penalty and accuracies."""

    gamma: float
    C: float
    plain: tuple[float, ...]
    giga: tuple[float, ...]
    note: str = ""


SETTINGS = {
    "a9a": Setting(
        0.25, 1.0, (79.1, 81.2, 82.4, 82.8, 83.1), (81.4, 82.7, 83.2, 83.4, 83.4)
    ),
    "har_hapt_raw_windows": Setting(
        0.1,
        1.0,
        (61.6, 73.5, 80.9, 84.3, 86.2),
        (70.6, 78.8, 83.2, 85.2, 86.8),
        "raw windows in place of the official 561 columns",
    ),
    "mnist": Setting(
        0.05, 5.0, (50.8, 67.6, 78.3, 83.5, 86.3), (59.6, 73.6, 82.0, 85.7, 87.7)
    ),
    "sensorless": Setting(
        5.75,
        25.0,
        (89.3, 96.0, 97.9, 98.5, 98.9),
        (92.5, 97.1, 98.6, 99.0, 99.2),
        "all 48 columns in [0, 1] in place of columns the paper does not name",
    ),
}
PLAIN = partial(methods.rff, nonlinearity="cos")
EXACT_ROWS = 4000
QUICK_ROWS = 4000


def experiments(quick: bool) -> list[Experiment]:
    """Errors, claims, then accuracies."""
    accuracies = [
        Experiment(f"{NAME}/{name}", (name,), partial(_accuracies, name, quick))
        for name in SETTINGS
    ]
    return [
        Experiment(f"{NAME}/fashion", ("fashion_mnist",), partial(_fashion, quick)),
        Experiment(f"{NAME}/claims", ("a9a", "letter"), partial(_claims, quick)),
        *accuracies,
    ]


def _error(make: Callable[..., Any], J: int, gamma: Any, data: Any, seed: int) -> float:
    made = make(J, gamma=gamma, random_state=seed).fit(data.X_train)
    return metrics.kernel_error(made, data.X_test, n_points=POINTS)


def _fashion(quick: bool) -> Iterator[Finding]:
    """Kernel error over J, of plain features and of every kind of GIGA."""
    data = load("fashion_mnist")
    seeds = range(1 if quick else 4)
    gamma = float(Gaussian("median").resolve(data.X_train).gamma)
    makers: dict[str, Callable[..., Any]] = {
        "plain": PLAIN,
        "as in the paper": partial(
            methods.giga,
            target="features",
            refit=False,
            n_pairs=PAIRS // 2 if quick else PAIRS,
        ),
        "exact kernel": partial(methods.giga, refit=False),
        "exact kernel, refitted": methods.giga,
    }
    for J, (plain, deviation, *giga) in FASHION.items():
        for (name, make), theirs in zip(makers.items(), (plain, *giga), strict=True):
            found = [_error(make, J, gamma, data, seed) for seed in seeds]
            spread = 2 * (deviation if name == "plain" else SPREAD * theirs)
            yield Cell(
                ERRORS,
                f"J = {J}, {name}",
                theirs,
                float(np.mean(found)),
                max(spread, draw_slack(found)),
                said_of_draws(found),
                name,
                J,
            )
    whole = [_error(PLAIN, N_CANDIDATES, gamma, data, seed) for seed in seeds]
    yield Cell(
        ERRORS,
        f"all {N_CANDIDATES} candidates",
        ALL_CANDIDATES,
        float(np.mean(whole)),
        draw_slack(whole, 0.1 * ALL_CANDIDATES),
        said_of_draws(whole),
        "plain",
        N_CANDIDATES,
    )


def _claims(quick: bool) -> Iterator[Finding]:
    """What the paper says of pairs, Frank-Wolfe and low-discrepancy points."""
    adult, letter = load("a9a"), load("letter")
    rows = some_rows(adult, 10_000)
    error = partial(_error, gamma=SETTINGS["a9a"].gamma, data=rows, seed=0)
    sampled = {
        S: error(partial(methods.giga, target="features", refit=False, n_pairs=S), 250)
        for S in (PAIRS // 2, PAIRS)
    }
    yield Cell(
        CLAIMS,
        f"{PAIRS // 2:,} pairs over {PAIRS:,}: no more to gain",
        1.0,
        sampled[PAIRS // 2] / sampled[PAIRS],
        CHANCE,
        f"errors are {sampled[PAIRS // 2]:.4f} and {sampled[PAIRS]:.4f}",
    )
    walk = partial(methods.frank_wolfe, refit=False)
    giga = partial(methods.giga, refit=False)
    for J in (100,) if quick else (100, 500):
        found = error(giga, J), error(walk, J)
        yield _beside(f"GIGA over Frank-Wolfe, a9a, J = {J}: at most 1", *found)
    points = partial(methods.qmc, nonlinearity="cos")
    chosen = partial(methods.giga, projection="qmc")
    for J in (100,) if quick else (100, 250):
        of = partial(_error, J=J, gamma="median", data=letter, seed=0)
        cell = f"QMC + GIGA over QMC, letter, J = {J}: below 1"
        yield _beside(cell, of(chosen), of(points))


def _beside(cell: str, ours: float, others: float) -> Cell:
    """One error over another, which is to be no larger."""
    reason = f"errors are {ours:.4f} and {others:.4f}"
    return Cell(CLAIMS, cell, 1.0, ours / others, CHANCE, reason)


def _prepared(name: str, quick: bool) -> Any:
    data = load(name)
    if name in ("sensorless", "har_hapt_raw_windows"):
        data = scaled(data, MinMaxScaler(clip=True))
    n = min(QUICK_ROWS, len(data.y_train)) if quick else len(data.y_train)
    return some_rows(data, n)


@dataclass(frozen=True)
class Trial:
    """A map that was fitted, the seconds it took, and a linear SVM's accuracy on it."""

    features: Any
    seconds: float
    accuracy: float

    @classmethod
    def of(
        cls, make: Callable[..., Any], J: int, setting: Setting, data: Any, seed: int
    ) -> Trial:
        features = make(J, gamma=setting.gamma, random_state=seed)
        start = time.perf_counter()
        features.fit(data.X_train)
        seconds = time.perf_counter() - start
        accuracy = svm_accuracy(FrozenEstimator(features), data, setting.C)
        return cls(features, seconds, accuracy)

    def error(self, data: Any) -> float:
        """Relative kernel error on test rows."""
        return metrics.kernel_error(self.features, data.X_test, n_points=POINTS)


def _accuracies(name: str, quick: bool) -> Iterator[Finding]:
    """Accuracies over J beside the authors', and errors beside plain and JL."""
    setting, data = SETTINGS[name], _prepared(name, quick)
    table = Table(
        NAME,
        f"{name}, linear SVM, γ = {setting.gamma:g}, C = {setting.C:g}",
        "accuracy, %",
        x="features J",
    )
    reason = _reason(name, setting, data)
    first: dict[int, dict[str, Trial]] = {J: {} for J in SIZES}
    for place, J in enumerate(SIZES):
        for title, make, known in (
            ("plain", PLAIN, setting.plain),
            ("GIGA", methods.giga, setting.giga),
        ):
            seeds = range(1 if quick else SEEDS)
            trials = [Trial.of(make, J, setting, data, seed) for seed in seeds]
            first[J][title] = trials[0]
            scores = [trial.accuracy for trial in trials]
            slack = draw_slack(scores, n_theirs=THEIR_SEEDS)
            yield Cell(
                table,
                f"J = {J}, {title}",
                known[place],
                float(np.mean(scores)),
                max(slack, rows_slack(known[place], len(data.y_test))),
                reason,
                title,
                J,
            )
    found = first[TIMED]["GIGA"].seconds
    cell = f"{name}, {TIMED} of {N_CANDIDATES} features"
    yield Cell(SECONDS, cell, THEIR_SECONDS, found, 0.0, "one run")
    for J in (SIZES[0], SIZES[-1]) if quick else SIZES:
        yield from _beside_others(name, J, setting, data, first[J])


def _beside_others(
    name: str, J: int, setting: Setting, data: Any, known: dict[str, Trial]
) -> Iterator[Finding]:
    """GIGA's accuracy and error beside the better of plain and JL features."""
    trials = known | {"JL": Trial.of(methods.jl, J, setting, data, 0)}
    scores = {title: trial.accuracy for title, trial in trials.items()}
    other = max(scores["plain"], scores["JL"])
    yield Cell(
        BEATEN,
        f"{name}, J = {J}: over plain and JL",
        other,
        scores["GIGA"],
        rows_slack(other, len(data.y_test)),
        f"plain features have {scores['plain']:.2f} %, JL {scores['JL']:.2f} %",
    )
    errors = {title: trial.error(data) for title, trial in trials.items()}
    giga, plain = errors["GIGA"], errors["plain"]
    said = ", ".join(f"{title} {error:.4f}" for title, error in errors.items())
    ratio = giga / min(plain, errors["JL"])
    yield Cell(RATIOS, f"{name}, J = {J}: below 1", 1.0, ratio, 0.0, f"errors: {said}")
    if J == SIZES[0]:
        more = _error(PLAIN, 10 * J, setting.gamma, data, 0)
        yield Cell(
            FEWER,
            f"{name}, J = {J}",
            10.0,
            (plain / giga) ** 2,
            0.0,
            f"errors fall as 1/√J: plain features have {plain:.3f}, ten times as many "
            f"{more:.3f}, GIGA {giga:.3f}",
        )


def _reason(name: str, setting: Setting, data: Any) -> str:
    """Where accuracies differ: what an exact machine of that kernel reaches here."""
    rows = some_rows(data, EXACT_ROWS)
    exact = exact_accuracy(rows, setting.gamma, setting.C)
    note = f"{setting.note}; " if setting.note else ""
    return (
        f"{note}{len(data.y_train):,} of {len(load(name).y_train):,} rows; an exact "
        f"SVM of that γ and C on {len(rows.y_train):,} of them has {exact:.1f} %"
    )
