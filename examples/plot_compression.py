"""
Fewer features for the same kernel: GIGA
========================================

Draw many features, keep few: `methods.giga` keeps the weighted subset of 5000
candidates that gives the kernel best on a sample of rows (R. Agrawal, T. Campbell,
J. Huggins and T. Broderick, AISTATS 2019). Beside it stand plain features, the same
after the one scalar that fits the kernel best (GIGA shrinks, which alone lowers the
error), random mixtures of all candidates (`methods.jl`), and GIGA as in the paper,
which aims at the estimate by all candidates and leaves the weights as they come.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from bochner import datasets, methods, metrics

CANDIDATES = 5000
PLAIN = partial(methods.rff, nonlinearity="cos")
GIGA = partial(methods.giga, n_candidates=CANDIDATES)
MAPS: dict[str, tuple[Any, bool]] = {
    "plain": (PLAIN, False),
    "plain, best scalar": (PLAIN, True),
    f"JL of {CANDIDATES}": (partial(methods.jl, n_candidates=CANDIDATES), False),
    "GIGA as in the paper": (partial(GIGA, target="features", refit=False), False),
    "GIGA": (GIGA, False),
}
# Okabe and Ito's colours, which a colour-blind reader can tell apart.
COLOURS = ["#000000", "#56B4E9", "#CC79A7", "#E69F00", "#D55E00"]
SIZES = [25, 50, 100, 200, 400]
SEEDS = 2

digits = datasets.load("digits")

# %%
# Error on rows that had no part in the choice
# --------------------------------------------


def error(make: Any, scaled: bool, size: int) -> float:
    """Mean over seeds of the relative Frobenius error on test rows."""
    maps = [make(size, gamma="median", random_state=seed) for seed in range(SEEDS)]
    fitted = [features.fit(digits.X_train) for features in maps]
    errors = [metrics.kernel_error(f, digits.X_test, scaled=scaled) for f in fitted]
    return float(np.mean(errors))


errors = {
    name: [error(make, scaled, size) for size in SIZES]
    for name, (make, scaled) in MAPS.items()
}
print("features kept".ljust(22), *(f"{size:>6}" for size in SIZES))
for name, values in errors.items():
    print(name.ljust(22), *(f"{value:6.3f}" for value in values))

# %%
# One run tells all sizes
# -----------------------
# ``compression_`` holds the error on the rows of the choice with 1, 2, … features. So
# one fit says how many are worth keeping; a fit of that size then gives the map.
chosen = GIGA(SIZES[-1], gamma="median", random_state=0).fit(digits.X_train)
selection = chosen.compression_
assert selection is not None
print(selection)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for (name, values), colour, marker in zip(
    errors.items(), COLOURS, "osv^D", strict=True
):
    left.loglog(SIZES, values, color=colour, marker=marker, label=name)
left.set(xlabel="features kept", ylabel="relative kernel error, test rows")
left.set_title(f"Gaussian kernel on digits, γ by median, {SEEDS} seeds")
left.set_xticks(SIZES, [str(size) for size in SIZES])
ticks = [0.02, 0.05, 0.1, 0.2, 0.4]
left.set_yticks(ticks, [str(tick) for tick in ticks])
left.minorticks_off()
left.grid(alpha=0.3)
left.legend()
selection.plot(right)
right.set_title("error on the rows of the choice: one run, all sizes")
right.grid(alpha=0.3)
# sphinx_gallery_start_ignore
if "sphinx_gallery" not in sys.modules:  # the gallery takes the open figure
    figure.savefig("compression.png", dpi=120)
    print("Plot written to compression.png.")
# sphinx_gallery_end_ignore
