"""One contender on one ground: how good, how long, how much memory."""

from __future__ import annotations

import pickle
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from .. import metrics
from .contenders import Contender
from .results import EXACT, METHOD
from .setting import Split, file_bytes

ERROR_ROWS = 1000
"""Rows whose kernel matrix is compared with the features' own."""

CALLS, CALL_SECONDS = 5, 0.1
"""Predictions that are timed, at most, and seconds that they may take."""


@dataclass(frozen=True)
class Run:
    """A fit and a prediction."""

    model: Any
    score: float
    fit_seconds: float
    row_seconds: float
    peak_bytes: int | None


def run(contender: Contender, split: Split, seed: int, traced: bool = False) -> Run:
    """Fit and judge; traced runs tell their memory, and take longer for it."""
    model = contender.estimator(split.task, seed)
    with _quiet(), _tracing(traced) as peak:
        start = time.perf_counter()
        model.fit(split.X_train, split.y_train)
        fit_seconds = time.perf_counter() - start
        score = float(model.score(split.X_test, split.y_test))
    row_seconds = _predict_seconds(model, split.X_test) / split.X_test.shape[0]
    row_seconds += split.before_seconds
    return Run(model, score, fit_seconds, row_seconds, peak())


def _predict_seconds(model: Any, X: Any) -> float:
    """The least of a few calls, where they are short and the clock is rough."""
    taken: list[float] = []
    while len(taken) < CALLS and sum(taken) < CALL_SECONDS:
        start = time.perf_counter()
        model.predict(X)
        taken.append(time.perf_counter() - start)
    return min(taken)


def kernel_error(contender: Contender, model: Any, split: Split) -> float | None:
    """Of the map's kernel on rows it has not seen, where it has one to approximate."""
    if contender.role == EXACT:
        return 0.0
    if contender.role != METHOD or contender.is_learned:
        return None
    return metrics.kernel_error(model.features_, split.X_test, n_points=ERROR_ROWS)


def model_bytes(model: Any, split: Split) -> int:
    """As a file of `save` with what stands before, or pickled if scikit-learn's."""
    known = hasattr(model, "features_")
    own = file_bytes(model) if known else len(pickle.dumps(model))
    return own + split.before_bytes


@contextmanager
def _quiet() -> Iterator[None]:
    """Few components and few steps are what a comparison asks for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        yield


@contextmanager
def _tracing(traced: bool) -> Iterator[Any]:
    """Bytes at the peak beside those before, asked for while it is traced."""
    if not traced:
        yield lambda: None
        return
    tracemalloc.start()
    found: list[int] = []
    try:
        yield lambda: found[0]
        found.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
