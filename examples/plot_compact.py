"""
Few features, learned: compact and circulant maps
=================================================

`CompactMap` starts from random Fourier features and learns frequencies, phases and a
linear head together (F. X. Yu, S. Kumar, H. Rowley and S.-F. Chang, 2015). Eight
learned features of digits do what some seventy random ones do. A circulant map learns
one number for each feature in place of a row of d: less to store, for inputs of many
columns.
"""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from bochner import CompactMap, KernelClassifier, datasets, methods

SIZES = [4, 8, 16, 32, 64, 128]
SEEDS = 2
SHOWN = 32
# Okabe and Ito's colours, which a colour-blind reader can tell apart.
BLACK, ORANGE, BLUE, GREEN = "#000000", "#D55E00", "#56B4E9", "#009E73"

digits = datasets.load("digits")

# %%
# Accuracy over the number of features
# ------------------------------------
# Random maps have the hinge of `KernelClassifier` on top, learned ones the head that
# was learned along. Mean over seeds; of the circulant one seed.


def accuracy(make: Any, M: int, seeds: int = SEEDS) -> float:
    """Percent of test digits that are right."""
    scores = []
    for seed in range(seeds):
        model = make(M, random_state=seed).fit(digits.X_train, digits.y_train)
        scores.append(model.score(digits.X_test, digits.y_test))
    return 100 * float(np.mean(scores))


def of_random(M: int, random_state: int) -> KernelClassifier:
    return KernelClassifier(methods.rff(M, random_state=random_state))


random = [accuracy(of_random, M) for M in SIZES]
learned = [accuracy(CompactMap, M) for M in SIZES]
circulant = [accuracy(methods.compact_circulant, M, seeds=1) for M in SIZES]
print("features           ", *(f"{M:>5}" for M in SIZES))
for name, values in (
    ("random", random),
    ("learned", learned),
    ("learned, circulant", circulant),
):
    print(f"{name:<19}", *(f"{value:5.1f}" for value in values))

# %%
# Solvers
# -------
# Held-out error from the same start: Adam on everything at once, and the alternating
# subgradient steps of the paper. The iterate with the lowest held-out loss is kept.
solvers = {
    solver: CompactMap(SHOWN, solver=solver, gamma=0.1, random_state=0).fit(
        digits.X_train, digits.y_train
    )
    for solver in ("adam", "pegasos")
}

# %%
# Rings that no line separates
# ----------------------------
rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(1500, 2))
y = np.linalg.norm(X, axis=1).round().astype(int) % 2
rings = CompactMap(8, random_state=0).fit(X, y)
grid = np.linspace(-2, 2, 200)
points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
scores = rings.decision_function(points).reshape(200, 200)

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(14, 4.2), layout="constrained"
)
left.semilogx(SIZES, random, color=BLACK, marker="o", label="random")
left.semilogx(SIZES, learned, color=ORANGE, marker="s", label="learned")
left.semilogx(SIZES, circulant, color=GREEN, marker="^", label="learned, circulant")
left.set(xlabel="features", ylabel="test accuracy %")
left.set_title(f"Digits, {SEEDS} seeds (circulant: 1)")
left.set_xticks(SIZES, [str(size) for size in SIZES])
for (solver, features), colour in zip(solvers.items(), (ORANGE, BLUE), strict=True):
    history, best = features.history_, features.best_iter_
    error = 100 * history["held_out_error"]
    middle.plot(history["seconds"], error, color=colour, label=solver)
    middle.plot(history["seconds"][best], error[best], "D", color=colour)
middle.set(xlabel="seconds", ylabel="held-out error %", yscale="log")
middle.set_yticks([2, 5, 10, 20, 50, 90], ["2", "5", "10", "20", "50", "90"])
middle.set_title(f"{SHOWN} features; ◆ the iterate that is kept")
for axes in (left, middle):
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
limit = np.abs(scores).max()
right.contourf(grid, grid, scores, 20, cmap="PuOr", vmin=-limit, vmax=limit)
right.contour(grid, grid, scores, [0], colors="black")
for label, marker in ((0, "o"), (1, "^")):
    a, b = X[y == label][:150].T
    right.scatter(a, b, s=9, c="black", marker=marker, label=f"class {label}")
right.set_aspect("equal")
share = 100 * np.mean(rings.predict(X) == y)
right.set_title(f"Scores of 8 learned features: {share:.0f} % right")
right.legend(loc="upper right")
# sphinx_gallery_start_ignore
if "sphinx_gallery" not in sys.modules:  # the gallery takes the open figure
    figure.savefig("compact.png", dpi=130)
    print("Plot written to compact.png.")
# sphinx_gallery_end_ignore
