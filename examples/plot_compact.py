"""Learned maps: few features, and what learning went through.

Draws `compact.png`: on the left the accuracy on digits over the number of features,
random and learned (mean of seeds); in the middle the loss curves of one run of each
solver; on the right the scores that eight learned features give rings.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from rich.progress import track

from bochner import CompactMap, KernelClassifier, RandomFeatures, datasets

SIZES = [4, 8, 16, 32, 64, 128]
SEEDS = 3
SHOWN = 32
# Okabe and Ito's colours, which a colour-blind reader can tell apart.
BLACK, ORANGE, BLUE = "#000000", "#D55E00", "#56B4E9"
PICTURE = Path("compact.png")


def main() -> None:
    digits = datasets.load("digits")
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
    accuracies(axes[0], digits)
    losses(axes[1], digits)
    rings(axes[2])
    figure.savefig(PICTURE, dpi=130)
    print(f"wrote {PICTURE}")


def accuracies(ax: plt.Axes, digits) -> None:
    """Test accuracy over the number of features."""
    random, learned = [], []
    for M in track(SIZES, "sizes"):
        models = [
            KernelClassifier(RandomFeatures(M, random_state=s)) for s in range(SEEDS)
        ]
        random.append(np.mean([score(model, digits) for model in models]))
        maps = [CompactMap(M, random_state=s) for s in range(SEEDS)]
        learned.append(np.mean([score(features, digits) for features in maps]))
    ax.semilogx(SIZES, random, color=BLACK, marker="o", label="random")
    ax.semilogx(SIZES, learned, color=ORANGE, marker="s", label="learned")
    ax.set(xlabel="features", ylabel="test accuracy %")
    ax.set_title(f"Digits, {SEEDS} seeds")
    ax.set_xticks(SIZES, [str(size) for size in SIZES])
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    ax.legend()


def score(model, digits) -> float:
    model.fit(digits.X_train, digits.y_train)
    return 100 * float(np.mean(model.predict(digits.X_test) == digits.y_test))


def losses(ax: plt.Axes, digits) -> None:
    """Held-out error of both solvers over time, from the same start."""
    for solver, colour in (("adam", ORANGE), ("pegasos", BLUE)):
        features = CompactMap(SHOWN, solver=solver, gamma=0.1, random_state=0)
        features.fit(digits.X_train, digits.y_train)
        history = features.history_
        error = 100 * history["held_out_error"]
        ax.plot(history["seconds"], error, color=colour, label=solver)
        best = features.best_iter_
        ax.plot(history["seconds"][best], error[best], "D", color=colour)
    ax.set(xlabel="seconds", ylabel="held-out error %", yscale="log")
    ax.set_yticks([2, 5, 10, 20, 50, 90], ["2", "5", "10", "20", "50", "90"])
    ax.minorticks_off()
    ax.set_title(f"{SHOWN} features; ◆ the iterate that is kept")
    ax.grid(alpha=0.3)
    ax.legend()


def rings(ax: plt.Axes) -> None:
    """Rings that no line separates, and what eight learned features make of them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(1500, 2))
    y = np.linalg.norm(X, axis=1).round().astype(int) % 2
    features = CompactMap(8, random_state=0).fit(X, y)
    grid = np.linspace(-2, 2, 200)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    scores = features.decision_function(points).reshape(200, 200)
    limit = np.abs(scores).max()
    ax.contourf(grid, grid, scores, 20, cmap="PuOr", vmin=-limit, vmax=limit)
    ax.contour(grid, grid, scores, [0], colors="black")
    for label, marker in ((0, "o"), (1, "^")):
        rows = X[y == label][:150]
        a, b = rows.T
        ax.scatter(a, b, s=9, c="black", marker=marker, label=f"class {label}")
    ax.set_aspect("equal")
    right = 100 * np.mean(features.predict(X) == y)
    ax.set_title(f"Scores of 8 learned features: {right:.0f} % right")
    ax.legend(loc="upper right")


if __name__ == "__main__":
    main()
