"""
Block-diagonal projections: speed, and what it costs
====================================================

Shuffle the features, cut them into blocks of b, give each block its own random vector:
one pass over the d columns gives d/b projections (`projections.BlockDiagonal`). As a
linear projection it is unbiased, and about as fast as reading the data. A Fourier
feature that sees b of d columns, though, over-estimates the kernel, and more features
do not help: the block size does.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from bochner import RandomProjection, datasets, methods, metrics, projections, theory

# Okabe and Ito's colours, which a colour-blind reader can tell apart.
COLOURS = ["#CC79A7", "#E69F00", "#56B4E9", "#009E73", "#D55E00", "#000000"]
SIZES = [128, 512, 2048, 8192]
BLOCKS = [2, 4, 8, 16]
SEEDS = 2
X = datasets.load("digits").X_train
rows = X[:600]  # to see the error on

# %%
# Kernel error over the number of features
# ----------------------------------------
# A fixed block size has a floor. The default, "auto", grows with the features, so that
# the bias stays below their noise.


def error(M: int, seeds: int = SEEDS, **parts: Any) -> float:
    """Root mean square of the relative Frobenius error."""
    make = methods.block_diagonal if parts else methods.rff
    maps = [
        make(M, gamma="median", random_state=s, **parts).fit(X) for s in range(seeds)
    ]
    return float(np.sqrt(np.mean([metrics.kernel_error(f, rows) ** 2 for f in maps])))


errors = {f"b = {b}": [error(M, block_size=b) for M in SIZES] for b in BLOCKS}
errors['"auto"'] = [error(M, block_size="auto") for M in SIZES]
errors["dense"] = [error(M) for M in SIZES]
print("frequencies", *(f"{M // 2:>6}" for M in SIZES))
for name, values in errors.items():
    print(f"{name:<11}", *(f"{value:6.3f}" for value in values))

# %%
# Most of the bias can be taken off
# ---------------------------------
# ``bias_correction="bandwidth"`` multiplies the frequencies with one number, found on
# pairs of rows, which keeps k(x, x) = 1. ``"scalar"`` is the paper's: a factor on the
# features. Neither mends a single pair.
for correction in (None, "scalar", "bandwidth"):
    blocks = projections.BlockDiagonal(4, bias_correction=correction)
    maps = [
        methods.rff(8192, gamma="median", random_state=s).set_params(projection=blocks)
        for s in range(SEEDS)
    ]
    found = np.mean([metrics.kernel_error(f.fit(X), rows) for f in maps])
    print(f"b = 4, bias_correction={correction!r}: error {found:.3f}")

# %%
# The bias is known
# -----------------
# `theory.block_diagonal_moments` gives the mean of the estimate for one difference x −
# y, exactly. Estimates of 60 pairs by 200,000 frequencies lie on it.
b, pairs = 4, 60
features = methods.block_diagonal(
    400_000, gamma="median", block_size=b, random_state=0
).fit(X)
left_rows, right_rows = X[:pairs], X[pairs : 2 * pairs]
estimates = np.einsum(
    "ij,ij->i", features.transform(left_rows), features.transform(right_rows)
)
gamma = features.kernel_.gamma
moments = [
    theory.block_diagonal_moments(delta, b, gamma=gamma)
    for delta in left_rows - right_rows
]
kernel_values = np.array([found.kernel for found in moments])
means = np.array([found.mean for found in moments])
print(f"largest |estimate − mean|:   {np.abs(estimates - means).max():.4f}")
print(f"largest |estimate − kernel|: {np.abs(estimates - kernel_values).max():.4f}")

# %%
# As a linear projection
# ----------------------
# Time to project 64 rows of d columns to 1000, in float32.
WIDTHS = [1024, 4096, 16_384]


def milliseconds(projection: str, width: int) -> float:
    """Best of five, after one that compiles."""
    wide = np.random.default_rng(0).normal(size=(64, width)).astype(np.float32)
    linear = RandomProjection(1000, projection=projection, random_state=0).fit(wide)
    times = []
    for _ in range(6):
        start = time.perf_counter()
        linear.transform(wide)
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


dense = [milliseconds("dense", width) for width in WIDTHS]
block = [milliseconds("block_diagonal", width) for width in WIDTHS]
for width, slow, fast in zip(WIDTHS, dense, block, strict=True):
    print(f"d = {width:<6} dense {slow:7.2f} ms, blocks {fast:5.2f} ms")

# %%
# The pictures
# ------------
figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(14, 4.2), layout="constrained"
)
frequencies = [M // 2 for M in SIZES]
for (name, values), colour in zip(errors.items(), COLOURS, strict=True):
    style = "s--" if name == "dense" else "o-"
    left.loglog(frequencies, values, style, color=colour, label=name)
left.set(xlabel="frequencies", ylabel="relative kernel error")
left.set_title(f"Gaussian kernel on digits, {SEEDS} seeds")
left.set_xticks(frequencies, [str(size) for size in frequencies])
left.set_yticks([0.02, 0.05, 0.1, 0.2], ["0.02", "0.05", "0.1", "0.2"])
order = np.argsort(kernel_values)
middle.plot(kernel_values[order], kernel_values[order], color="gray", label="kernel")
middle.plot(kernel_values, estimates, "o", color="#D55E00", label="estimate, b = 4")
middle.plot(kernel_values, means, "x", color="#000000", label="its mean, by theory")
middle.set(xlabel="k(x, y)", ylabel="⟨φ(x), φ(y)⟩", title="60 pairs of digits")
right.loglog(WIDTHS, dense, "s--", color="#000000", label="dense")
right.loglog(WIDTHS, block, "o-", color="#D55E00", label="block-diagonal")
right.set(xlabel="columns d", ylabel="ms", title="64 rows projected to 1000")
right.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
for axes in (left, middle, right):
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
for axes in (left, right):
    axes.minorticks_off()
# sphinx_gallery_start_ignore
if "sphinx_gallery" not in sys.modules:  # the gallery takes the open figure
    figure.savefig("block_diagonal.png", dpi=110)
    print("Plot written to block_diagonal.png.")
# sphinx_gallery_end_ignore
