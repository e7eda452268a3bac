"""Random features against the exact kernel, in a minute.

Fits independent (`methods.rff`) and structured orthogonal (`methods.sorf`) features of
growing size on the built-in digits, with a ridge classifier on top, beside the exact
kernel machine. Prints a table and writes `digits.png`.
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

METHODS = {"rff": methods.rff, "sorf": methods.sorf}
STYLES = {"rff": ("tab:blue", "o"), "sorf": ("tab:orange", "s")}
SIZES = [32, 64, 128, 256, 512, 1024, 2048, 4096]
SEEDS = 5
ALPHA = 0.1
PICTURE = Path("digits.png")


@dataclass
class Result:
    """Means over the seeds, and the standard deviation of the error."""

    method: str
    size: int
    error: float
    spread: float
    accuracy: float
    seconds: float


def main() -> None:
    digits = datasets.load("digits")
    console = Console()
    for make in METHODS.values():  # compiles, once per machine
        make(2).fit(digits.X_train).transform(digits.X_train[:1])
    tasks = [(name, size) for size in SIZES for name in METHODS]
    results = [
        measure(digits, name, size)
        for name, size in track(tasks, "random features", console=console)
    ]
    exact, seconds = exact_accuracy(digits)
    console.print(table(results, exact, seconds))
    plot(results, exact)
    console.print(f"Plot written to {PICTURE}.")


def measure(digits, method: str, size: int) -> Result:
    errors, accuracies, times = [], [], []
    for seed in range(SEEDS):
        features = METHODS[method](size, gamma="scale", random_state=seed)
        model = make_pipeline(features, RidgeClassifier(alpha=ALPHA))
        start = time.perf_counter()
        model.fit(digits.X_train, digits.y_train)
        accuracies.append(model.score(digits.X_test, digits.y_test))
        times.append(time.perf_counter() - start)
        errors.append(metrics.kernel_error(features, digits.X_train))
    return Result(
        method,
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
    out = Table(title=f"Random features on digits, {SEEDS} seeds")
    header = (
        "features",
        "method",
        "kernel error",
        "test accuracy",
        "fit + predict, ms",
    )
    for name in header:
        out.add_column(name, justify="left" if name == "method" else "right")
    for r in results:
        out.add_row(
            str(r.size),
            r.method,
            f"{r.error:.3f} ± {r.spread:.3f}",
            f"{100 * r.accuracy:.1f} %",
            f"{1000 * r.seconds:.1f}",
            end_section=r.method == "sorf",
        )
    cells = ("0", f"{100 * exact:.1f} %", f"{1000 * seconds:.1f}")
    out.add_row("", "exact kernel", *cells)
    return out


def plot(results: list[Result], exact: float) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for method, (colour, marker) in STYLES.items():
        mine = [r for r in results if r.method == method]
        style = {"color": colour, "marker": marker, "label": method}
        left.loglog(SIZES, [r.error for r in mine], **style)
        right.semilogx(SIZES, [100 * r.accuracy for r in mine], **style)
    law = results[0].error * np.sqrt(SIZES[0] / np.array(SIZES))
    left.loglog(SIZES, law, "--", color="gray", label="1/√M")
    left.set(xlabel="features M", ylabel="relative kernel error")
    ticks = [0.02, 0.04, 0.08, 0.15, 0.3]
    left.set_yticks(ticks, [str(tick) for tick in ticks])
    right.axhline(100 * exact, ls="--", color="gray", label="exact kernel")
    right.set(xlabel="features M", ylabel="test accuracy, %")
    for axes in (left, right):
        axes.set_xticks(SIZES, [str(size) for size in SIZES])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle("Random features on digits (1437 rows, 64 columns)")
    figure.savefig(PICTURE, dpi=120)


if __name__ == "__main__":
    main()
