"""Compact nonlinear maps: few learned features, and circulant ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.ndimage import zoom
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import StandardScaler

from bochner import datasets, methods, metrics
from bochner.features.compact.compact_map import CompactMap
from bochner.features.random_features import RandomFeatures
from bochner.kernels.shift_invariant import Gaussian
from bochner.learners.classifier import KernelClassifier

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
from .experiment import Experiment, exact_accuracy, some_rows

NAME = "compact"
TITLE = "Compact nonlinear maps and circulant maps"
CIRCULANT = {
    # data, M: accuracy % and its deviation of random Fourier features, of circulant
    # random ones, and of circulant learned ones
    ("usps", 256): ((89.05, 0.65), (89.40, 1.02), (91.96, 0.45)),
    ("usps", 512): ((91.90, 0.29), (91.87, 0.11), (93.08, 0.96)),
    ("mnist", 784): ((91.33, 0.05), (91.01, 0.03), (92.73, 0.21)),
    ("mnist", 1568): ((92.95, 0.42), (93.22, 0.30), (94.11, 0.24)),
    ("cifar", 400): ((69.14, 0.64), (65.21, 0.18), (71.17, 0.68)),
    ("cifar", 800): ((71.15, 0.28), (68.56, 0.70), (71.11, 0.46)),
}
FILES = {"cifar": "cifar10_20k"}
SEEDS = 5
QUICK_ROWS = {"usps": 4000, "mnist": 3000, "cifar": 2000}
STANDARDISED = ("magic04", "covtype")
BANDWIDTHS = 4.0 ** np.arange(-3, 3)
"""γ of random features, as multiples of the rule "scale"."""

CHOICE_ROWS, QUICK_CHOICE_ROWS = 8000, 2000
"""Training rows that choose γ, a quarter of them held out."""

FEW, FEW_ACCURACY, SAVED = 8, 90.0, 60.0
"""Learned features of USPS, their accuracy, and how many times fewer they are."""

RANDOM_SIZES = 8, 32, 64, 128, 512
FEWER_SETS = "banana", "letter", "magic04", "ijcnn1", "covtype"
FEWER_SIZE, FEWER_TIMES, FEWER_ROWS = 16, 4, 8000
"""Learned features, how many times as many random ones they face, and quick rows."""

KERNEL_SETS, KERNEL_SIZES = ("letter", "magic04"), (8, 32, 128)
TABLE = Table(NAME, "random, circulant and learned features", "accuracy, %")
COMPACT = Table(NAME, "USPS, eight learned features", "accuracy, % and ratio")
FEWER = Table(NAME, "learned features beside random ones, more of these", "accuracy, %")
KERNEL = Table(
    NAME,
    "learned for the kernel, over random features",
    "ratio of squared errors",
    LOWER,
)


def experiments(quick: bool) -> list[Experiment]:
    """The circulant table, then sizes, then kernels."""
    cells = [
        Experiment(f"{NAME}/{name}, M={M}", (FILES.get(name, name),), row)
        for name, M in CIRCULANT
        for row in (partial(_row, name, M, quick),)
    ]
    fewer = [
        Experiment(f"{NAME}/fewer {name}", (name,), partial(_fewer, name, quick))
        for name in FEWER_SETS
    ]
    kernels = [
        Experiment(f"{NAME}/kernel {name}", (name,), partial(_kernel, name, quick))
        for name in (KERNEL_SETS[:1] if quick else KERNEL_SETS)
    ]
    return [
        Experiment(f"{NAME}/few", ("usps",), partial(_few, quick)),
        *cells,
        *fewer,
        *kernels,
        Experiment(f"{NAME}/circulant", ("usps",), _circulant),
    ]


@lru_cache(maxsize=2)
def load(name: str) -> Any:
    """A data set in float32, standardised where its features differ in size."""
    data = _cifar() if name == "cifar" else datasets.load(name)
    if name in STANDARDISED:
        scaler = StandardScaler().fit(data.X_train)
        data.X_train = scaler.transform(data.X_train)
        data.X_test = scaler.transform(data.X_test)
    data.X_train = np.ascontiguousarray(data.X_train, dtype=np.float32)
    data.X_test = np.ascontiguousarray(data.X_test, dtype=np.float32)
    return data


def _cifar() -> Any:
    """CIFAR-10 in grey, 20 × 20: 400 columns, as many as the paper's have."""
    data = datasets.load("cifar10_20k")
    for part in ("X_train", "X_test"):
        grey = data[part].reshape(-1, 3, 32, 32).mean(axis=1)
        small = zoom(
            grey, (1, 20 / 32, 20 / 32), order=1, grid_mode=True, mode="grid-wrap"
        )
        data[part] = small.reshape(len(small), -1)
    return data


def random_accuracy(
    data: Any, M: int, projection: str, seed: int, rows: int = CHOICE_ROWS
) -> float:
    """Accuracy % of the hinge on random features at their best bandwidth."""
    X, y, Xv, yv = _choice(data, rows)
    scale = float(Gaussian("scale").resolve(data.X_train).gamma)
    make = partial(
        RandomFeatures,
        M,
        projection=projection,
        nonlinearity="cos" if projection == "circulant" else "cos_sin",
        random_state=seed,
    )
    scores = []
    for factor in BANDWIDTHS:
        learner = KernelClassifier(make(gamma=factor * scale), alpha=1.0)
        scores.append(learner.fit(X, y).score(Xv, yv))
    gamma = BANDWIDTHS[int(np.argmax(scores))] * scale
    learner = KernelClassifier(make(gamma=gamma)).fit(data.X_train, data.y_train)
    return 100 * learner.score(data.X_test, data.y_test)


def _choice(data: Any, rows: int) -> tuple[Any, Any, Any, Any]:
    """Some training rows, and others to judge on."""
    order = np.random.default_rng(0).permutation(len(data.X_train))[:rows]
    held, learned = np.split(order, [len(order) // 4])
    parts = data.X_train[learned], data.y_train[learned]
    return *parts, data.X_train[held], data.y_train[held]


def learned_accuracy(data: Any, features: CompactMap) -> tuple[float, float]:
    """Accuracy % of the head learned along, and of KernelClassifier's in its place."""
    features.fit(data.X_train, data.y_train)
    own = 100 * float((features.predict(data.X_test) == data.y_test).mean())
    refitted = KernelClassifier(FrozenEstimator(features))
    refitted.fit(data.X_train, data.y_train)
    return own, 100 * refitted.score(data.X_test, data.y_test)


def _row(name: str, M: int, quick: bool) -> Iterator[Finding]:
    """A row of the paper's Table 2."""
    data = load(name)
    n = QUICK_ROWS.get(name, len(data.y_train)) if quick else len(data.y_train)
    rows = some_rows(data, n) if n < len(data.y_train) else data
    choice = QUICK_CHOICE_ROWS if quick else CHOICE_ROWS
    seeds = range(1 if quick else SEEDS)
    random = {
        projection: [random_accuracy(rows, M, projection, s, choice) for s in seeds]
        for projection in ("dense", "circulant")
    }
    make = partial(CompactMap, M, projection="circulant")
    learned = [learned_accuracy(rows, make(random_state=s))[1] for s in seeds]
    reason = _reason(name, rows)
    ours = random["dense"], random["circulant"], learned
    titles = "random Fourier", "circulant, random", "circulant, learned"
    for title, found, known in zip(titles, ours, CIRCULANT[name, M], strict=True):
        theirs, deviation = known
        slack = rows_slack(theirs, len(data.y_test), deviation)
        mean = float(np.mean(found))
        yield Cell(TABLE, f"{name}, M = {M}, {title}", theirs, mean, slack, reason)


def _reason(name: str, rows: Any) -> str:
    """What an exact machine reaches on the same columns."""
    few = some_rows(rows, min(4000, len(rows.y_train)))
    gamma = float(Gaussian("scale").resolve(few.X_train).gamma)
    score = exact_accuracy(few, gamma, C=10.0)
    said = (
        f"{len(rows.y_train):,} rows; an exact SVM on {len(few.y_train)} of them has "
        f"{score:.1f} %"
    )
    if name == "cifar":
        said = f"the paper's 400 columns are not known, ours are grey 20 × 20; {said}"
    return said


def _few(quick: bool) -> Iterator[Finding]:
    """Eight learned features of USPS beside random ones of every size."""
    data, seeds = load("usps"), range(1 if quick else SEEDS)
    learned = [
        learned_accuracy(data, CompactMap(FEW, random_state=s))[0] for s in seeds
    ]
    random = {
        M: float(np.mean([random_accuracy(data, M, "dense", s) for s in seeds]))
        for M in (RANDOM_SIZES[::2] if quick else RANDOM_SIZES)
    }
    ours = float(np.mean(learned))
    slack = rows_slack(FEW_ACCURACY, len(data.y_test))
    cell, reason = f"accuracy at M = {FEW}", said_of_draws(learned)
    yield Cell(COMPACT, cell, FEW_ACCURACY, ours, slack, reason)
    worse = [M for M, score in random.items() if score < ours]
    curve = ", ".join(f"{M}: {score:.1f}" for M, score in random.items())
    yield Cell(
        COMPACT,
        "random features below its accuracy, at least, over its size",
        SAVED,
        max(worse, default=FEW) / FEW,
        0.0,
        f"learned {ours:.1f} %; random features at their best bandwidth have "
        f"{curve} % (paper's random 512: 90)",
    )
    for title, curve_of in (("random", random), ("learned", {FEW: ours})):
        yield Curve(
            NAME,
            "USPS: accuracy by number of features",
            title,
            tuple(float(M) for M in curve_of),
            tuple(curve_of.values()),
            "features M",
            "accuracy, %",
            (True, False),
        )


def _fewer(name: str, quick: bool) -> Iterator[Finding]:
    """A few learned features beside four times as many random ones."""
    data = load(name)
    n = FEWER_ROWS if quick else len(data.y_train)
    rows = some_rows(data, min(n, len(data.y_train)))
    M, more = FEWER_SIZE, FEWER_TIMES * FEWER_SIZE
    random = random_accuracy(rows, more, "dense", 0, QUICK_CHOICE_ROWS)
    own, refitted = learned_accuracy(rows, CompactMap(M, random_state=0))
    yield Cell(
        FEWER,
        f"{name}, {M} learned beside {more} random",
        random,
        own,
        rows_slack(random, len(rows.y_test)),
        f"{len(rows.y_train):,} rows, one draw; a hinge refitted on top has "
        f"{refitted:.1f} %",
    )


def _circulant() -> Iterator[Finding]:
    """Squared kernel errors of circulant features over those of independent ones."""
    X, X_test = load("usps").X_train, load("usps").X_test
    d = X.shape[1]
    squares = {
        projection: [
            metrics.kernel_error(
                RandomFeatures(
                    2 * d, gamma="median", projection=projection, random_state=seed
                ).fit(X),
                X_test,
            )
            ** 2
            for seed in range(SEEDS)
        ]
        for projection in ("circulant", "dense")
    }
    ratios = np.divide(squares["circulant"], np.mean(squares["dense"]))
    yield Cell(
        KERNEL,
        f"usps, M = {2 * d}, circulant over independent: about 1",
        1.0,
        float(ratios.mean()),
        draw_slack(ratios.tolist()),
        f"{said_of_draws(ratios.tolist())}; close pairs vary by up to twice as much as "
        "with independent rows",
    )


def _kernel(name: str, quick: bool) -> Iterator[Finding]:
    """Squared error of a Gaussian kernel with learned frequencies and amplitudes."""
    data = load(name)
    for M in KERNEL_SIZES[:1] if quick else KERNEL_SIZES:
        learned, random = (
            metrics.kernel_error(
                make(M, gamma="median", random_state=0).fit(data.X_train), data.X_test
            )
            for make in (partial(CompactMap, objective="kernel"), methods.rff)
        )
        cell = f"{name}, M = {M}: below 1"
        reason = f"relative errors are {learned:.4f} and {random:.4f}"
        yield Cell(KERNEL, cell, 1.0, (learned / random) ** 2, 0.0, reason)
