"""Learned maps beside random ones: accuracy by size, and learned kernels.

Accuracy of random and learned features of equal size on seven data sets, with the
figure `compactness.png`; the error of learned kernels beside random features and GIGA.
Bandwidths of random features are chosen on rows held out of the training set, at every
size. The paper's table is made by `bochner reproduce compact`. Needs BOCHNER_DATA.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bochner import CompactMap, datasets, methods, metrics
from papers.compact import learned_accuracy, load, random_accuracy

from .timing import print_table

SETS = {"banana": 5, "usps": 5, "letter": 3, "magic04": 3, "ijcnn1": 3}
"""Data sets and seeds of the comparison of sizes."""
LARGE_SETS = {"mnist": 2, "covtype": 1}
SIZES = 8, 16, 32, 64, 128, 256
RANDOM_SIZES = *SIZES, 512, 1024
KERNEL_SETS = "usps", "letter", "magic04", "ijcnn1"
KERNEL_SIZES = 8, 16, 32, 64, 128
PICTURE = Path("compactness.png")
COLOURS = {"random": "#000000", "learned": "#D55E00", "refitted": "#56B4E9"}


def run(quick: bool = False) -> None:
    """All tables."""
    sizes(quick)
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
