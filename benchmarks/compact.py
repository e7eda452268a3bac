"""Learned maps beside random ones: the paper's circulant table, sizes, kernels.

Accuracy of random and learned features of equal size on seven data sets, with the
figure `compactness.png`; the paper's Table 2; the error of learned kernels beside
random features and GIGA. Bandwidths of random features are chosen on rows held out of
the training set, at every size. Needs BOCHNER_DATA.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import zoom
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import StandardScaler

from bochner import (
    CompactMap,
    KernelClassifier,
    RandomFeatures,
    datasets,
    kernels,
    methods,
    metrics,
)

from .timing import print_table

SETS = {"banana": 5, "usps": 5, "letter": 3, "magic04": 3, "ijcnn1": 3}
"""Data sets and seeds of the comparison of sizes."""
LARGE_SETS = {"mnist": 2, "covtype": 1}
STANDARDISED = ("magic04", "covtype")
SIZES = 8, 16, 32, 64, 128, 256
RANDOM_SIZES = *SIZES, 512, 1024
BANDWIDTHS = 4.0 ** np.arange(-3, 3)
"""γ of random features, as multiples of the rule "scale"."""
CHOICE_ROWS = 8000
"""Training rows that choose γ, a quarter of them held out."""

PAPER = {
    # data, M: accuracy % of random Fourier, circulant random and circulant learned
    # features, with the standard deviations of the first two
    ("usps", 256): ((89.05, 0.65), (89.40, 1.02), 91.96),
    ("usps", 512): ((91.90, 0.29), (91.87, 0.11), 93.08),
    ("mnist", 784): ((91.33, 0.05), (91.01, 0.03), 92.73),
    ("mnist", 1568): ((92.95, 0.42), (93.22, 0.30), 94.11),
    ("cifar", 400): ((69.14, 0.64), (65.21, 0.18), 71.17),
    ("cifar", 800): ((71.15, 0.28), (68.56, 0.70), 71.11),
}
SEEDS = 5
KERNEL_SETS = "usps", "letter", "magic04", "ijcnn1"
KERNEL_SIZES = 8, 16, 32, 64, 128
PICTURE = Path("compactness.png")
COLOURS = {"random": "#000000", "learned": "#D55E00", "refitted": "#56B4E9"}


def run(quick: bool = False) -> None:
    """All tables."""
    sizes(quick)
    circulant(1 if quick else SEEDS)
    learned_kernels(1 if quick else 3)


def sizes(quick: bool = False, sets: dict[str, int] | None = None) -> None:
    """Accuracy over the number of features, random and learned."""
    sets = sets or (SETS if quick else {**SETS, **LARGE_SETS})
    found = {}
    for name, seeds in sets.items():
        if name in datasets.available():
            found[name] = _curves(name, 1 if quick else seeds)
    _draw(found)


def _curves(name: str, seeds: int) -> dict[str, dict[int, float]]:
    data = load(name)
    curves: dict[str, dict[int, float]] = {"random": {}, "learned": {}, "refitted": {}}
    for M in RANDOM_SIZES:
        scores = [random_accuracy(data, M, "dense", seed) for seed in range(seeds)]
        curves["random"][M] = float(np.mean(scores))
    for M in SIZES:
        both = [
            learned_accuracy(data, CompactMap(M, random_state=s)) for s in range(seeds)
        ]
        curves["learned"][M], curves["refitted"][M] = np.mean(both, axis=0)
    lines = []
    for M in RANDOM_SIZES:
        cells = [curves[kind].get(M) for kind in curves]
        lines.append([f"{M}", *("" if c is None else f"{c:.2f}" for c in cells)])
        if M in SIZES:
            quarter = curves["learned"][M] - curves["random"][4 * M]
            lines[-1].append(f"{quarter:+.2f}")
        else:
            lines[-1].append("")
    print_table(
        f"{name}: accuracy %, {seeds} seeds",
        ["M", *curves, "learned(M) − random(4M)"],
        lines,
    )
    return curves


def learned_accuracy(data: Any, features: CompactMap) -> tuple[float, float]:
    """Accuracy % of the head learned along, and of KernelClassifier's in its place."""
    features.fit(data.X_train, data.y_train)
    own = 100 * float((features.predict(data.X_test) == data.y_test).mean())
    refitted = KernelClassifier(FrozenEstimator(features))
    refitted.fit(data.X_train, data.y_train)
    return own, 100 * refitted.score(data.X_test, data.y_test)


def random_accuracy(data: Any, M: int, projection: str, seed: int) -> float:
    """Accuracy % of the hinge on random features at their best bandwidth."""
    X, y, Xv, yv = _choice(data)
    make = partial(
        RandomFeatures,
        M,
        projection=projection,
        nonlinearity="cos" if projection == "circulant" else "cos_sin",
        random_state=seed,
    )
    scores = []
    for factor in BANDWIDTHS:
        learner = KernelClassifier(make(gamma=factor * data.gamma), alpha=1.0)
        scores.append(learner.fit(X, y).score(Xv, yv))
    gamma = BANDWIDTHS[int(np.argmax(scores))] * data.gamma
    learner = KernelClassifier(make(gamma=gamma)).fit(data.X_train, data.y_train)
    return 100 * learner.score(data.X_test, data.y_test)


def _choice(data: Any) -> tuple[Any, Any, Any, Any]:
    """Some training rows, and others to judge on."""
    order = np.random.default_rng(0).permutation(len(data.X_train))[:CHOICE_ROWS]
    held, learned = np.split(order, [len(order) // 4])
    parts = data.X_train[learned], data.y_train[learned]
    return *parts, data.X_train[held], data.y_train[held]


@cache
def load(name: str) -> Any:
    """A data set in float32, standardised where its features differ in size."""
    data = _cifar() if name == "cifar" else datasets.load(name)
    if name in STANDARDISED:
        scaler = StandardScaler().fit(data.X_train)
        data.X_train = scaler.transform(data.X_train)
        data.X_test = scaler.transform(data.X_test)
    data.X_train = np.ascontiguousarray(data.X_train, dtype=np.float32)
    data.X_test = np.ascontiguousarray(data.X_test, dtype=np.float32)
    data.gamma = float(kernels.Gaussian("scale").resolve(data.X_train).gamma)
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


def circulant(seeds: int = SEEDS, pairs: Any = tuple(PAPER)) -> None:
    """The paper's Table 2."""
    lines = []
    for name, M in pairs:
        if {"cifar": "cifar10_20k"}.get(name, name) not in datasets.available():
            continue
        data = load(name)
        random = {
            projection: [random_accuracy(data, M, projection, s) for s in range(seeds)]
            for projection in ("dense", "circulant")
        }
        make = partial(CompactMap, M, projection="circulant")
        both = [learned_accuracy(data, make(random_state=s)) for s in range(seeds)]
        learned, refitted = np.transpose(both)
        dense, circulant, paper = PAPER[name, M]
        lines.append(
            [
                f"{name}, {M}",
                f"{_mean(random['dense'])} ({dense[0]} ± {dense[1]})",
                f"{_mean(random['circulant'])} ({circulant[0]} ± {circulant[1]})",
                f"{_mean(learned)} ({paper})",
                _mean(refitted),
            ]
        )
    print_table(
        f"Accuracy % (paper), {seeds} seeds",
        ["data, M", "random Fourier", "circulant", "circulant learned", "refitted"],
        lines,
    )


def learned_kernels(seeds: int = 3) -> None:
    """Mean squared error of the Gaussian kernel on test rows, M ≤ 128."""
    lines = []
    for name in KERNEL_SETS:
        if name not in datasets.available():
            continue
        data = load(name)
        for M in KERNEL_SIZES:
            errors = {
                "random, cos": partial(methods.rff, M, nonlinearity="cos"),
                "random, cos_sin": partial(methods.rff, M),
                "GIGA": partial(methods.giga, M),
                "learned": partial(CompactMap, M, objective="kernel"),
                "learned, cos_sin": partial(
                    CompactMap, M, objective="kernel", nonlinearity="cos_sin"
                ),
            }
            means = [
                np.mean([_mse(make, data, s) for s in range(seeds)])
                for make in errors.values()
            ]
            lines.append([f"{name}, {M}", *(f"{1e3 * mean:.3f}" for mean in means)])
    print_table(
        f"Mean squared error × 1000, kernel with γ by median, {seeds} seeds",
        ["data, M", *errors],
        lines,
    )


def _mse(make: Any, data: Any, seed: int) -> float:
    features = make(gamma="median", random_state=seed).fit(data.X_train)
    rows = data.X_test[np.random.default_rng(0).permutation(len(data.X_test))[:2000]]
    K = features.kernel_(rows)
    error = metrics.kernel_error(features, rows, n_points=2000)
    return error**2 * float(np.mean(np.square(K, dtype=np.float64)))


def _mean(scores: Any) -> str:
    spread = np.std(scores, ddof=1) if len(scores) > 1 else 0.0
    return f"{np.mean(scores):.2f} ± {spread:.2f}"


def _draw(found: dict[str, dict[str, dict[int, float]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = min(4, len(found))
    rows = -(-len(found) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(3.2 * columns, 2.9 * rows), layout="constrained"
    )
    axes = np.atleast_1d(axes).ravel()
    for ax, (name, curves) in zip(axes, found.items(), strict=False):
        for (kind, curve), marker in zip(curves.items(), "os^", strict=True):
            style = {"color": COLOURS[kind], "marker": marker, "label": kind}
            ax.semilogx(list(curve), list(curve.values()), **style)
        ax.set_title(name)
        ax.set_xticks(RANDOM_SIZES, [f"{M}" for M in RANDOM_SIZES], fontsize=7)
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    for ax in axes[len(found) :]:
        ax.axis("off")
    axes[0].legend()
    figure.supxlabel("features M")
    figure.supylabel("test accuracy %")
    figure.savefig(PICTURE, dpi=130)
    print(f"figure: {PICTURE}")
