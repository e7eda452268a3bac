"""Compression of features: error, accuracy, time and memory, beside plain features.

Needs BOCHNER_DATA; sets that are not there are left out.
"""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from bochner import (
    KernelClassifier,
    RandomProjection,
    compression,
    datasets,
    methods,
    metrics,
)
from bochner._core.random import Stream
from bochner.compression.greedy import problem_of
from bochner.compression.products import all_pairs
from bochner.features.feature_map import project
from bochner.kernels.shift_invariant import Gaussian
from bochner.projections.block_map import BlockMap, rows_as_matrix, rows_of_blocks
from bochner.projections.circulant import Circulant
from bochner.projections.hadamard import SORF
from papers.giga import FASHION

from .timing import interleaved, print_table

SIZES = (100, 250, 500, 1000)
SETS: dict[str, tuple[float | None, float, str, str]] = {
    # data set: γ, C, the authors' accuracy with plain features and with GIGA; None
    # where γ and C are chosen as the authors chose theirs
    "a9a": (0.25, 1.0, "79.1 81.2 82.4 83.1", "81.4 82.7 83.2 83.4"),
    "mnist": (0.05, 5.0, "50.8 67.6 78.3 86.3", "59.6 73.6 82.0 87.7"),
    "usps": (None, 1.0, "", ""),
    "letter": (None, 1.0, "", ""),
    "sensorless": (None, 1.0, "", ""),
    "fashion_mnist": (None, 1.0, "", ""),
}
STANDARDISED = {"sensorless"}
CHOICE_ROWS = 3000
WIDTHS, PENALTIES = (1, 2, 4, 8, 16), (1.0, 5.0, 25.0)
"""γ as multiples of the median rule, and C, tried with an exact SVM."""
MAPS: dict[str, Any] = {
    "plain": partial(methods.rff, nonlinearity="cos"),
    "JL": methods.jl,
    "FW": partial(methods.frank_wolfe, refit=False),
    "FW refit": methods.frank_wolfe,
    "GIGA": methods.giga,
}
MANY = """
import resource, sys, time
import numpy as np
from bochner import datasets, methods, metrics
X = datasets.load("higgs_12k").X_train
X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
start = time.perf_counter()
features = methods.giga(2000, gamma="median", n_candidates=100_000, random_state=0)
features.fit(X)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
plain = methods.rff(2000, gamma="median", nonlinearity="cos", random_state=0).fit(X)
errors = [metrics.kernel_error(f, X) for f in (features, plain)]
print(seconds, peak, *errors)
"""


def run(quick: bool = False) -> None:
    """Time and memory first, then errors and accuracies."""
    _selection()
    _structures(quick)
    if not quick:
        _many()
    _criteo(1 if quick else 5)
    _fashion(1 if quick else 4)
    for name in list(SETS)[: 1 if quick else None]:
        if name not in datasets.available():
            print(f"{name} is not in BOCHNER_DATA: left out")
            continue
        _compare(name, 1 if quick else 3)


def _selection() -> None:
    """Seconds for products and for the walk, 5000 to 500 on 60,000 × 784."""
    X = np.random.default_rng(0).random((60_000, 784)).astype(np.float32)
    if "mnist" in datasets.available():
        X = datasets.load("mnist").X_train
    plain = methods.rff(5000, gamma=0.02, nonlinearity="cos", random_state=0).fit(X)
    candidates = plain.feature_map_.astype(np.float64)
    rows = X[Stream(0).subset(len(X), 2000)].astype(np.float64)
    table = []
    for name, spec in (
        ("GIGA", compression.GIGA()),
        ("GIGA, no refit", compression.GIGA(refit=False)),
        ("Frank-Wolfe", compression.FrankWolfe()),
    ):
        start = time.perf_counter()
        pairs = all_pairs(candidates, rows, np.ones(len(rows)), plain.kernel_)
        problem = problem_of(pairs)
        between = time.perf_counter()
        found = spec.select(problem, 500)
        walked = time.perf_counter() - between
        table.append(
            [name, str(len(found.kept)), f"{between - start:.2f}", f"{walked:.2f}"]
        )
    print_table(
        f"selection of 500 from 5000, {X.shape[0]} × {X.shape[1]}, seconds",
        ["method", "kept", "products of 2000 rows", "selection (bar 5)"],
        table,
    )


def _structures(quick: bool) -> None:
    """Kept rows of structured maps: whole blocks, or plain rows."""
    table = []
    shapes = [(784, 500), (784, 100), (784, 2000), (8192, 500), (54, 500)]
    for projection in (SORF(), Circulant()):
        for d, J in shapes[: 1 if quick else None]:
            law = Gaussian(0.1).spectral_law()
            linear = projection.sample(law, 5000, d, Stream(0)).astype(np.float32)
            assert isinstance(linear, BlockMap)
            kept = np.sort(Stream(1).permutation(5000)[:J])
            maps = {
                "blocks": rows_of_blocks(linear, kept),
                "rows": rows_as_matrix(linear, kept),
            }
            chosen = "rows" if type(linear.select(kept)) is type(maps["rows"]) else ""
            X = np.random.default_rng(0).normal(size=(4096, d)).astype(np.float32)
            best = interleaved({k: partial(project, m, X) for k, m in maps.items()}, 3)
            table.append(
                [
                    f"{type(projection).__name__} {d}: {J} of 5000",
                    *(f"{s / len(X) * 1e9:.0f}" for s in best.values()),
                    f"{best['blocks'] / best['rows']:.2f}",
                    chosen or "blocks",
                ]
            )
    print_table(
        "kept rows of structured maps, ns a row of data",
        ["map", "whole blocks", "plain rows", "ratio", "chosen"],
        table,
    )


def _many() -> None:
    if "higgs_12k" not in datasets.available():
        print("higgs_12k is not in BOCHNER_DATA: left out")
        return
    done = subprocess.run(
        [sys.executable, "-c", MANY], capture_output=True, text=True, check=True
    )
    seconds, peak, error, plain = map(float, done.stdout.split())
    print_table(
        "HIGGS, 100,000 candidates to 2000 by products on demand",
        ["seconds", "peak GiB (bar 8)", "kernel error", "plain features of 2000"],
        [[f"{seconds:.0f}", f"{peak:.2f}", f"{error:.4f}", f"{plain:.4f}"]],
    )


def _criteo(seeds: int) -> None:
    """A million sparse columns to 250, then features: area under the curve."""
    if "criteo_8k_hashed20" not in datasets.available():
        print("criteo_8k_hashed20 is not in BOCHNER_DATA: left out")
        return
    data = datasets.load("criteo_8k_hashed20")
    rows = []
    for name in ("plain", "GIGA"):
        found = []
        for seed in range(seeds):
            start = time.perf_counter()
            pipeline = make_pipeline(
                RandomProjection(250, projection="sparse", random_state=seed),
                MAPS[name](500, gamma="median", random_state=seed),
                KernelClassifier(FunctionTransformer(), alpha=1.0),
            ).fit(data.X_train, data.y_train)
            scores = pipeline.decision_function(data.X_test)
            seconds = time.perf_counter() - start
            found.append((roc_auc_score(data.y_test, scores), seconds))
        area, seconds = np.mean(found, axis=0)
        rows.append([name, f"{area:.4f}", f"{seconds:.2f}"])
    print_table(
        f"Criteo {data.X_train.shape}, sparse projection to 250, 500 features, mean of "
        f"{seeds}",
        ["features", "area under the curve", "seconds"],
        rows,
    )


def _fashion(seeds: int) -> None:
    if "fashion_mnist" not in datasets.available():
        print("fashion_mnist is not in BOCHNER_DATA: left out")
        return
    data = datasets.load("fashion_mnist")
    maps: dict[str, Any] = {
        "plain": partial(methods.rff, nonlinearity="cos"),
        "SORF": methods.sorf,
        "paper's (1 seed)": partial(
            methods.giga, target="features", refit=False, n_pairs=20_000
        ),
        "no refit": partial(methods.giga, refit=False),
        "GIGA": methods.giga,
        "SORF + GIGA": partial(methods.giga, projection="sorf"),
        "QMC + GIGA": partial(methods.giga, projection="qmc"),
        "pairs + GIGA": partial(methods.giga, nonlinearity="cos_sin"),
    }
    rows = []
    for J, (plain, _, paper, _, best) in FASHION.items():
        errors = {
            name: _error(make, J, "median", data, 1 if "1 seed" in name else seeds)
            for name, make in maps.items()
        }
        known = f"{plain:g} {paper:g} {best:g}"
        rows.append([str(J), *(f"{e:.4f}" for e in errors.values()), known])
    print_table(
        f"Fashion-MNIST, γ by median, kernel error on 3000 points, mean of {seeds}",
        ["J", *maps, "to reach (plain, paper's, GIGA)"],
        rows,
    )


def _error(make: Any, J: int, gamma: Any, data: Any, seeds: int) -> float:
    errors = [
        metrics.kernel_error(
            make(J, gamma=gamma, random_state=seed).fit(data.X_train),
            data.X_test,
            n_points=3000,
        )
        for seed in range(seeds)
    ]
    return float(np.mean(errors))


def _compare(name: str, seeds: int) -> None:
    """Errors and accuracies of all maps at all sizes."""
    gamma, C, authors_plain, authors = SETS[name]
    data = datasets.load(name)
    if name in STANDARDISED:
        mean, spread = data.X_train.mean(axis=0), data.X_train.std(axis=0)
        data.X_train = (data.X_train - mean) / spread
        data.X_test = (data.X_test - mean) / spread
    if gamma is None:
        gamma, C = _chosen(data)
    rows = []
    for place, J in enumerate(SIZES):
        errors, scores = [], []
        for title, make in MAPS.items():
            found = [_scored(make, J, gamma, C, data, seed) for seed in range(seeds)]
            error, scaled, score = np.mean(found, axis=0)
            errors.append(f"{error:.4f}")
            errors += [f"{scaled:.4f}"] if title == "plain" else []
            scores.append(f"{score:.2f}")
        known = [a.split()[place] if a else "" for a in (authors_plain, authors)]
        rows.append([str(J), *errors, *scores, " ".join(known)])
        print(name, *rows[-1], flush=True)
    titles = list(MAPS)
    print_table(
        f"{name}, γ = {gamma:.4g}, C = {C:g}: kernel error on 2000 test points, then "
        f"accuracy % of a linear SVM; mean of {seeds}",
        ["J", "plain", "scaled", *titles[1:], *(f"{t} %" for t in titles), "authors %"],
        rows,
    )


def _chosen(data: Any) -> tuple[float, float]:
    """γ and C by five-fold cross-validation of an exact SVM on some rows."""
    places = Stream(0).subset(data.X_train.shape[0], CHOICE_ROWS)
    X, y = data.X_train[places], data.y_train[places]
    median = Gaussian("median").resolve(X).gamma
    grid = {"gamma": [factor * median for factor in WIDTHS], "C": PENALTIES}
    best = GridSearchCV(SVC(), grid, cv=5, n_jobs=2).fit(X, y).best_params_
    return best["gamma"], best["C"]


def _scored(
    make: Any, J: int, gamma: float, C: float, data: Any, seed: int
) -> tuple[float, float, float]:
    features = make(J, gamma=gamma, random_state=seed)
    learner = KernelClassifier(features, alpha=1 / C).fit(data.X_train, data.y_train)
    fitted = learner.features_
    return (
        metrics.kernel_error(fitted, data.X_test),
        metrics.kernel_error(fitted, data.X_test, scaled=True),
        100 * learner.score(data.X_test, data.y_test),
    )
