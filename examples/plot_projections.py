"""Every projection on one figure: kernel error over size, and what a feature costs.

Draws `projections.png`: on the left the relative kernel error of a Gaussian kernel on
digits (64 features, RMS over seeds), on the right the time of `transform` over the
number of features of the data.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from rich.progress import track

from bochner import datasets, methods, metrics

MAPS = {
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
MARKERS = "osD^vP*"
SIZES = [64, 128, 256, 512, 1024, 2048]
DIMENSIONS = [64, 256, 1024, 4096]
ROWS, N_COMPONENTS, SEEDS = 2048, 4096, 8
PICTURE = Path("projections.png")


def main() -> None:
    X = datasets.load("digits").X_train
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    styles = zip(MAPS.items(), COLOURS, MARKERS, strict=True)
    for (name, make), colour, marker in track(list(styles), "projections"):
        style = {"color": colour, "marker": marker, "label": name}
        left.loglog(SIZES, [error(make, X, size) for size in SIZES], **style)
        right.loglog(DIMENSIONS, [nanoseconds(make, d) for d in DIMENSIONS], **style)
    left.set(xlabel="features M", ylabel="relative kernel error")
    left.set_title(f"Gaussian kernel on digits, γ by median, {SEEDS} seeds")
    left.set_xticks(SIZES, [str(size) for size in SIZES])
    left.set_yticks([0.025, 0.05, 0.1, 0.2], ["0.025", "0.05", "0.1", "0.2"])
    right.set(xlabel="columns d of the data", ylabel="ns per output")
    right.set_title(f"transform of {ROWS} rows to {N_COMPONENTS}, float32")
    right.set_xticks(DIMENSIONS, [str(d) for d in DIMENSIONS])
    right.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    for axes in (left, right):
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    left.legend(fontsize="small")
    figure.savefig(PICTURE, dpi=120)
    print(f"Plot written to {PICTURE}.")


def error(make, X: np.ndarray, size: int) -> float:
    """Root mean square of the relative Frobenius error over seeds."""
    maps = [make(size, gamma="median", random_state=s).fit(X) for s in range(SEEDS)]
    return float(np.sqrt(np.mean([metrics.kernel_error(f, X) ** 2 for f in maps])))


def nanoseconds(make, d: int) -> float:
    """Best of three transforms, per output."""
    X = np.random.default_rng(0).normal(size=(ROWS, d)).astype(np.float32)
    features = make(N_COMPONENTS, gamma=0.5 / d, random_state=0).fit(X)
    times = []
    for _ in range(4):
        start = time.perf_counter()
        features.transform(X)
        times.append(time.perf_counter() - start)
    return 1e9 * min(times) / (ROWS * N_COMPONENTS)


if __name__ == "__main__":
    main()
