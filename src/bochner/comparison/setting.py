"""One ground for all contenders: the same rows, scaling and bandwidth."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._progress import Report, silent
from .._random import Stream
from ..estimators.search import (
    Scaled,
    guess_classes,
    search_classes,
    search_numbers,
)
from ..execution.sources import ArraySource
from ..persistence import save
from .code import Step, scaler_step
from .task import CLASSIFICATION, metric_of

DIGITS = 3
"""Of bandwidths, so that the lines to paste are short."""


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to be judged on, as maps see them."""

    task: str
    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray
    before: tuple[Step, ...] = ()  # what made these rows of the user's
    before_bytes: int = 0  # of that as a file
    before_seconds: float = 0.0  # of that for a row

    @property
    def metric(self) -> str:
        return metric_of(self.task)

    def first(self, n_rows: int) -> Split:
        """The same with the first training rows only."""
        kept = slice(0, n_rows)
        return replace(self, X_train=self.X_train[kept], y_train=self.y_train[kept])

    def some(self, n_rows: int, seed: int) -> Split:
        """The same with some training rows, at random."""
        kept = Stream(seed).child("some").subset(len(self.y_train), n_rows)
        return replace(self, X_train=self.X_train[kept], y_train=self.y_train[kept])

    def scaled(self) -> Split:
        """Features divided by their standard deviations among the training rows."""
        scaler = standard_scaler(self.X_train).fit(self.X_train)
        test, seconds = timed(scaler.transform, self.X_test)
        return replace(
            self,
            X_train=scaler.transform(self.X_train),
            X_test=test,
            before=(*self.before, scaler_step(self.X_train)),
            before_bytes=self.before_bytes + file_bytes(scaler),
            before_seconds=self.before_seconds + seconds,
        )


@dataclass(frozen=True)
class Bandwidth:
    """γ of the Gaussian kernel that all share, of features scaled or not."""

    gamma: float
    standardised: bool


def timed(transform: Callable[[Any], Any], X: Any) -> tuple[Any, float]:
    """Rows transformed, and seconds a row that it took."""
    start = time.perf_counter()
    found = transform(X)
    return found, (time.perf_counter() - start) / max(X.shape[0], 1)


def file_bytes(model: Any) -> int:
    """Of a fitted model as `save` writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.bochner")
        save(model, path)
        return os.path.getsize(path)


def standard_scaler(X: Any) -> Any:
    """Sparse rows stay sparse."""
    from sklearn.preprocessing import StandardScaler

    return StandardScaler(with_mean=not sparse.issparse(X))


def find_bandwidth(split: Split, report: Report = silent) -> Bandwidth:
    """γ and scaling as estimators find theirs."""
    if split.task != CLASSIFICATION:
        return guess_bandwidth(split, report)
    found, factor, _ = search_classes(*_coded(split), report)
    return _rounded(found, factor)


def guess_bandwidth(split: Split, report: Report = silent) -> Bandwidth:
    """γ and scaling by leave-one-out on 1000 training rows."""
    if split.task == CLASSIFICATION:
        return _rounded(*guess_classes(*_coded(split), report))
    y = np.asarray(split.y_train, dtype=np.float64)
    return _rounded(*search_numbers(split.X_train, y, report))


def _coded(split: Split) -> tuple[ArraySource, int]:
    """Training rows with numbers for classes, and how many classes there are."""
    classes, codes = np.unique(split.y_train, return_inverse=True)
    return ArraySource(split.X_train, codes), len(classes)


def _rounded(found: Scaled, factor: float) -> Bandwidth:
    gamma = float(f"{found.gamma * factor:.{DIGITS}g}")
    return Bandwidth(gamma, found.divisor is not None)
