"""
Every projection on one figure
==============================

How frequencies are drawn decides the kernel error of so many features, and what a
feature costs. On the left the relative error of a Gaussian kernel on digits (64
columns, root mean square over seeds), on the right the time of ``transform`` over the
number of columns. `projections` lists them all.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from bochner import datasets, methods, metrics

MAPS: dict[str, Any] = {
    "dense": methods.rff,
    "orthogonal": methods.orf,
    "SORF": methods.sorf,
    "Fastfood": methods.fastfood,
    "Sobol": partial(methods.qmc, sequence="sobol"),
    "circulant": methods.circulant,
    "block-diagonal": methods.block_diagonal,
}
# Okabe and Ito's colours, which a colour-blind reader can tell apart.
COLOURS = ["#000000", "#E69F00", "#D55E00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2"]
SIZES = [64, 128, 256, 512, 1024, 2048]
WIDTHS = [64, 256, 1024, 4096]
ROWS, N_COMPONENTS, SEEDS = 1024, 2048, 3

X = datasets.load("digits").X_train
seen = X[:600]  # rows that the error is of

# %%
# Error and time
# --------------


def error(make: Any, size: int) -> float:
    """Root mean square of the relative Frobenius error over seeds."""
    maps = [make(size, gamma="median", random_state=s).fit(X) for s in range(SEEDS)]
    return float(np.sqrt(np.mean([metrics.kernel_error(f, seen) ** 2 for f in maps])))


def nanoseconds(make: Any, d: int) -> float:
    """Best of three transforms, per output."""
    rows = np.random.default_rng(0).normal(size=(ROWS, d)).astype(np.float32)
    features = make(N_COMPONENTS, gamma=0.5 / d, random_state=0).fit(rows)
    times = []
    for _ in range(4):  # the first compiles, once per machine
        start = time.perf_counter()
        features.transform(rows)
        times.append(time.perf_counter() - start)
    return 1e9 * min(times) / (ROWS * N_COMPONENTS)


errors = {name: [error(make, size) for size in SIZES] for name, make in MAPS.items()}
times = {name: [nanoseconds(make, d) for d in WIDTHS] for name, make in MAPS.items()}

print(f"{'':<15} error of {SIZES[-1]}   ns per output, d = {WIDTHS[-1]}")
for name in MAPS:
    print(f"{name:<15} {errors[name][-1]:13.4f} {times[name][-1]:18.1f}")

# %%
# The picture
# -----------
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for name, colour, marker in zip(MAPS, COLOURS, "osD^vP*", strict=True):
    left.loglog(SIZES, errors[name], color=colour, marker=marker, label=name)
    right.loglog(WIDTHS, times[name], color=colour, marker=marker, label=name)
left.set(xlabel="features M", ylabel="relative kernel error")
left.set_title(f"Gaussian kernel on digits, γ by median, {SEEDS} seeds")
left.set_xticks(SIZES, [str(size) for size in SIZES])
left.set_yticks([0.025, 0.05, 0.1, 0.2], ["0.025", "0.05", "0.1", "0.2"])
right.set(xlabel="columns d of the data", ylabel="ns per output")
right.set_title(f"transform of {ROWS} rows to {N_COMPONENTS}, float32")
right.set_xticks(WIDTHS, [str(d) for d in WIDTHS])
right.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
for axes in (left, right):
    axes.minorticks_off()
    axes.grid(alpha=0.3)
left.legend(fontsize="small")
# sphinx_gallery_start_ignore
if "sphinx_gallery" not in sys.modules:  # the gallery takes the open figure
    figure.savefig("projections.png", dpi=120)
    print("Plot written to projections.png.")
# sphinx_gallery_end_ignore
