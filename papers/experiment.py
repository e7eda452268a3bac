"""Experiments: cells that are measured together, and the data they need."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.svm import SVC
from sklearn.utils import Bunch

from bochner import datasets
from bochner._core.random import Stream
from bochner.kernels.shift_invariant import Gaussian
from bochner.learners.classifier import KernelClassifier

from .cells import Finding

GRAM_ROWS = 12_000
"""Rows whose Gram matrix is computed at once, many times faster than entry by entry."""


@dataclass(frozen=True)
class Experiment:
    """A measurement that is made whole or not at all.

    Parameters
    ----------
    key : str
        Its name, and in a state file what it is found by.
    sets : tuple of str
        Data sets that it needs.
    measure : callable
        Without arguments; gives cells and curves.
    """

    key: str
    sets: tuple[str, ...]
    measure: Callable[[], Iterable[Finding]]


@lru_cache(maxsize=2)
def load(name: str) -> Bunch:
    """A data set; the last two are kept, as experiments on one follow each other."""
    return datasets.load(name)


def some_rows(data: Any, n: int, seed: int = 0) -> Bunch:
    """The same with n training rows, at random; test rows stay."""
    kept = Stream(seed).child("rows").subset(len(data.y_train), n)
    return Bunch(
        X_train=data.X_train[kept],
        y_train=data.y_train[kept],
        X_test=data.X_test,
        y_test=data.y_test,
    )


def scaled(data: Any, scaler: Any) -> Bunch:
    """The same with features scaled, as the training rows tell."""
    train = scaler.fit_transform(data.X_train).astype(np.float32)
    test = scaler.transform(data.X_test).astype(np.float32)
    return Bunch(X_train=train, y_train=data.y_train, X_test=test, y_test=data.y_test)


def exact_accuracy(data: Any, gamma: float, C: float) -> float:
    """Accuracy in % of scikit-learn's SVC; a small Gram matrix is made whole."""
    few = len(data.y_train) <= GRAM_ROWS
    kernel: Any = Gaussian(gamma) if few else "rbf"
    machine = SVC(C=C, kernel=kernel, gamma=gamma, cache_size=1000)
    machine.fit(data.X_train, data.y_train)
    return 100 * machine.score(data.X_test, data.y_test)


def best_seconds(run: Callable[[], Any], repeats: int = 5) -> float:
    """Of several runs after one that warms up."""
    run()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def svm_accuracy(features: Any, data: Any, C: float) -> float:
    """Accuracy in % of a linear SVM on features: squared hinge, one against the rest.

    LIBLINEAR's default machine, which most of the papers use.
    """
    learner = KernelClassifier(features, alpha=1 / C)
    learner.fit(data.X_train, data.y_train)
    return 100 * learner.score(data.X_test, data.y_test)
