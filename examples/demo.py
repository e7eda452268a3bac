"""The main job in one minute: random Fourier features against the exact kernel.

Fits `methods.rff` of growing size on the built-in digits, with a ridge classifier on
top, beside the exact kernel machine. Prints a table and writes `demo.png`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelBinarizer

from bochner import datasets, methods, metrics

SIZES = [32, 64, 128, 256, 512, 1024, 2048, 4096]
SEEDS = 5
ALPHA = 0.1
PICTURE = Path("demo.png")


@dataclass
class Result:
    """Means over the seeds, and the standard deviation of the error."""

    size: int
    error: float
    spread: float
    accuracy: float
    seconds: float


def main() -> None:
    digits = datasets.load("digits")
    console = Console()
    warm_up = methods.rff(2).fit(digits.X_train)  # compiles, once per machine
    warm_up.transform(digits.X_train[:1])
    results = [
        measure(digits, size)
        for size in track(SIZES, "random features", console=console)
    ]
    exact, seconds = exact_accuracy(digits)
    console.print(table(results, exact, seconds))
    plot(results, exact)
    console.print(f"Plot written to {PICTURE}.")


def measure(digits, size: int) -> Result:
    errors, accuracies, times = [], [], []
    for seed in range(SEEDS):
        features = methods.rff(size, gamma="scale", random_state=seed)
        model = make_pipeline(features, RidgeClassifier(alpha=ALPHA))
        start = time.perf_counter()
        model.fit(digits.X_train, digits.y_train)
        accuracies.append(model.score(digits.X_test, digits.y_test))
        times.append(time.perf_counter() - start)
        errors.append(metrics.kernel_error(features, digits.X_train))
    return Result(
        size,
        float(np.mean(errors)),
        float(np.std(errors)),
        float(np.mean(accuracies)),
        min(times),
    )


def exact_accuracy(digits) -> tuple[float, float]:
    """Kernel ridge classification with the exact Gaussian kernel."""
    gamma = methods.rff(2).fit(digits.X_train).kernel_.gamma
    start = time.perf_counter()
    labels = LabelBinarizer(neg_label=-1).fit(digits.y_train)
    model = KernelRidge(alpha=ALPHA, kernel="rbf", gamma=gamma)
    model.fit(digits.X_train, labels.transform(digits.y_train))
    predicted = labels.classes_[model.predict(digits.X_test).argmax(axis=1)]
    accuracy = float((predicted == digits.y_test).mean())
    return accuracy, time.perf_counter() - start


def table(results: list[Result], exact: float, seconds: float) -> Table:
    out = Table(title=f"Random Fourier features on digits, {SEEDS} seeds")
    for name in ("features", "kernel error", "test accuracy", "fit + predict, ms"):
        out.add_column(name, justify="right")
    for r in results:
        out.add_row(
            str(r.size),
            f"{r.error:.3f} ± {r.spread:.3f}",
            f"{100 * r.accuracy:.1f} %",
            f"{1000 * r.seconds:.1f}",
        )
    out.add_row("exact kernel", "0", f"{100 * exact:.1f} %", f"{1000 * seconds:.1f}")
    return out


def plot(results: list[Result], exact: float) -> None:
    sizes = [r.size for r in results]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.loglog(sizes, [r.error for r in results], "o-", label="measured")
    law = results[0].error * np.sqrt(sizes[0] / np.array(sizes))
    left.loglog(sizes, law, "--", color="gray", label="1/√M")
    left.set(xlabel="features M", ylabel="relative kernel error")
    left.set_yticks([0.04, 0.08, 0.15, 0.3], ["0.04", "0.08", "0.15", "0.3"])
    left.legend()
    right.semilogx(sizes, [100 * r.accuracy for r in results], "o-", label="features")
    right.axhline(100 * exact, ls="--", color="gray", label="exact kernel")
    right.set(xlabel="features M", ylabel="test accuracy, %")
    right.legend()
    for axes in (left, right):
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.suptitle("Random Fourier features on digits (1437 rows, 64 columns)")
    figure.savefig(PICTURE, dpi=120)


if __name__ == "__main__":
    main()
