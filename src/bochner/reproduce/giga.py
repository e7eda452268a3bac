"""Data-dependent compression: few weighted features in place of many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from .. import methods, metrics
from ..kernels import Gaussian
from .cells import LOWER, Cell, Finding, Table, draw_slack, rows_slack, said_of_draws
from .experiment import Experiment, load, scaled, some_rows, svm_accuracy

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
SPREAD = 0.02
"""Relative deviation of GIGA's error between draws, measured over 16."""

SIZES = 100, 250, 500, 750, 1000
RATIOS = Table(
    NAME, "GIGA beside plain and JL features", "ratio of kernel errors", LOWER
)
CLAIMS = Table(NAME, "other claims", "ratio of kernel errors", LOWER)
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
QUICK_ROWS = 8000


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
    return metrics.kernel_error(made, data.X_test, n_points=3000)


def _fashion(quick: bool) -> Iterator[Finding]:
    """Kernel error over J, of plain features and of every kind of GIGA."""
    data = load("fashion_mnist")
    seeds = range(1 if quick else 4)
    gamma = float(Gaussian("median").resolve(data.X_train).gamma)
    makers: dict[str, Callable[..., Any]] = {
        "plain": PLAIN,
        "as in the paper": partial(
            methods.giga, target="features", refit=False, n_pairs=PAIRS
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
        f"{PAIRS:,} pairs over {PAIRS // 2:,}: no more to gain",
        1.0,
        sampled[PAIRS] / sampled[PAIRS // 2],
        2 * SPREAD * 2**0.5,
    )
    walk = partial(methods.frank_wolfe, refit=False)
    giga = partial(methods.giga, refit=False)
    for J in (100,) if quick else (100, 500):
        ratio = error(giga, J) / error(walk, J)
        cell = f"GIGA over Frank-Wolfe, a9a, J = {J}: at most 1"
        yield Cell(CLAIMS, cell, 1.0, ratio)
    points = partial(methods.qmc, nonlinearity="cos")
    chosen = partial(methods.giga, projection="qmc")
    for J in (100,) if quick else (100, 250):
        of = partial(_error, J=J, gamma="median", data=letter, seed=0)
        cell = f"QMC + GIGA over QMC, letter, J = {J}: below 1"
        yield Cell(CLAIMS, cell, 1.0, of(chosen) / of(points))


def _prepared(name: str, quick: bool) -> Any:
    data = load(name)
    if name in ("sensorless", "har_hapt_raw_windows"):
        data = scaled(data, MinMaxScaler(clip=True))
    n = min(QUICK_ROWS, len(data.y_train)) if quick else len(data.y_train)
    return some_rows(data, n)


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
    for place, J in enumerate(SIZES):
        for title, make, known in (
            ("plain", PLAIN, setting.plain),
            ("GIGA", methods.giga, setting.giga),
        ):
            made = make(J, gamma=setting.gamma, random_state=0)
            yield Cell(
                table,
                f"J = {J}, {title}",
                known[place],
                svm_accuracy(made, data, setting.C),
                rows_slack(known[place], len(data.y_test)),
                reason,
                title,
                J,
            )
    yield from _ratios(name, setting, data, (100, 1000) if quick else SIZES)


def _ratios(
    name: str, setting: Setting, data: Any, sizes: tuple[int, ...]
) -> Iterator[Finding]:
    """Errors of GIGA over the better of plain and JL features; features saved."""
    error = partial(_error, gamma=setting.gamma, data=data, seed=0)
    for J in sizes:
        plain, jl, giga = (error(m, J) for m in (PLAIN, methods.jl, methods.giga))
        yield Cell(RATIOS, f"{name}, J = {J}: below 1", 1.0, giga / min(plain, jl))
        if J == sizes[0]:
            more = error(PLAIN, 10 * J)
            yield Cell(
                FEWER,
                f"{name}, J = {J}",
                10.0,
                (plain / giga) ** 2,
                reason=f"errors fall as 1/√J: plain features have {plain:.3f}, ten "
                f"times as many {more:.3f}, GIGA {giga:.3f}",
            )


def _reason(name: str, setting: Setting, data: Any) -> str:
    """Where accuracies differ: what an exact machine of that kernel reaches here."""
    rows = some_rows(data, EXACT_ROWS)
    machine = SVC(C=setting.C, gamma=setting.gamma).fit(rows.X_train, rows.y_train)
    exact = 100 * machine.score(data.X_test[:EXACT_ROWS], data.y_test[:EXACT_ROWS])
    note = f"{setting.note}; " if setting.note else ""
    return (
        f"{note}{len(data.y_train):,} rows; an exact SVM of that γ and C on "
        f"{len(rows.y_train):,} of them has {exact:.1f} %"
    )
