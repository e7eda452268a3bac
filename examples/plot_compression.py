"""Fewer features for the same kernel: GIGA beside plain and mixed features.

Draws `compression.png`: on the left the relative kernel error on digits that had no
part in the choice, over the number of features kept of 5000 (mean of seeds); on the
right the error curve that one run gives for all sizes.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from rich.progress import track

from bochner import datasets, methods, metrics

PLAIN = partial(methods.rff, nonlinearity="cos")
MAPS = {
    "plain": (PLAIN, False),
    "plain, best scalar": (PLAIN, True),
    "JL of 5000": (methods.jl, False),
    "GIGA as in the paper": (
        partial(methods.giga, target="features", refit=False),
        False,
    ),
    "GIGA": (methods.giga, False),
}
# Okabe and Ito's colours, which a colour-blind reader can tell apart.
COLOURS = ["#000000", "#56B4E9", "#CC79A7", "#E69F00", "#D55E00"]
MARKERS = "osv^D"
SIZES = [25, 50, 100, 200, 400, 800]
SEEDS = 4
PICTURE = Path("compression.png")


def main() -> None:
    digits = datasets.load("digits")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    styles = zip(MAPS.items(), COLOURS, MARKERS, strict=True)
    for (name, (make, scaled)), colour, marker in track(list(styles), "maps"):
        errors = [error(make, scaled, digits, size) for size in SIZES]
        left.loglog(SIZES, errors, color=colour, marker=marker, label=name)
    left.set(xlabel="features kept", ylabel="relative kernel error, test rows")
    left.set_title(f"Gaussian kernel on digits, γ by median, {SEEDS} seeds")
    left.set_xticks(SIZES, [str(size) for size in SIZES])
    ticks = [0.02, 0.05, 0.1, 0.2, 0.4]
    left.set_yticks(ticks, [str(tick) for tick in ticks])
    left.minorticks_off()
    left.grid(alpha=0.3)
    left.legend()
    chosen = methods.giga(SIZES[-1], gamma="median", random_state=0)
    selection = chosen.fit(digits.X_train).compression_
    assert selection is not None
    selection.plot(right)
    right.set_title("error on the rows of the choice: one run, all sizes")
    right.grid(alpha=0.3)
    figure.savefig(PICTURE, dpi=120)
    print(f"Plot written to {PICTURE}.")


def error(make, scaled: bool, digits, size: int) -> float:
    """Mean over seeds of the relative Frobenius error on test rows."""
    maps = [make(size, gamma="median", random_state=seed) for seed in range(SEEDS)]
    X, rows = digits.X_train, digits.X_test
    return float(
        np.mean([metrics.kernel_error(m.fit(X), rows, scaled=scaled) for m in maps])
    )


if __name__ == "__main__":
    main()
