"""One task for all contenders: the same rows, scaling, bandwidth and reference."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._core.progress import Report, silent
from .._core.random import Stream
from .._core.validation import check_option
from ..engines.sources import ArraySource
from ..export.persistence import save
from ..learners.automatic.leave_one_out import (
    Scaled,
    guess_classes,
    search_classes,
    search_numbers,
)

CLASSIFICATION, REGRESSION = "classification", "regression"
TASKS = CLASSIFICATION, REGRESSION

MOST_CLASSES = 32
"""Different whole numbers that are taken for classes, and not for a count."""

ROWS_A_CLASS = 5
"""Rows that every such class must have, on average."""

BALANCE = 3
"""More of them are classes too if none has so many times the rows of another."""


def task_of(y: Any, asked: str | None = None) -> str:
    """The task of a target: as asked for, or as its values suggest.

    Text and truth values are classes, as are few different whole numbers.
    """
    if asked is not None:
        check_option("task", "task", asked, TASKS)
        return asked
    y = np.asarray(y)
    if y.dtype.kind not in "fiu":
        _check_labels(y)
        return CLASSIFICATION
    if y.dtype.kind == "f" and not np.array_equal(y, np.round(y)):
        return REGRESSION
    counts = np.unique(y, return_counts=True)[1]
    if len(counts) <= 2:
        return CLASSIFICATION
    few = len(counts) <= MOST_CLASSES or counts.max() <= BALANCE * counts.min()
    enough = len(counts) * ROWS_A_CLASS <= len(y)
    return CLASSIFICATION if few and enough else REGRESSION


def _check_labels(y: np.ndarray) -> None:
    """Refuse text of which most is different: it is no class."""
    distinct = len({str(label) for label in y})
    if distinct > max(2, len(y) / 2):
        raise ValueError(
            f"The target holds text, {str(y[0])!r} first, and {distinct} different "
            f"ones in {len(y)} rows. If they are numbers, write them with decimal "
            "points; if they are classes, say so (task classification)."
        )


def numeric(y: np.ndarray, task: str) -> np.ndarray:
    """Targets as the task needs them: float64 for numbers."""
    if task == CLASSIFICATION:
        return y
    try:
        found = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        bad = next(value for value in y.ravel() if not _is_number(value))
        raise ValueError(
            f"The target must be numbers for regression, and holds {str(bad)!r}; "
            "correct it, or take classification as task."
        ) from error
    if not np.isfinite(found).all():
        raise ValueError(
            "The target must be finite numbers; some are missing or infinite. Leave "
            "those rows out."
        )
    return found


def metric_of(task: str) -> str:
    """What `score` of an estimator for it is called."""
    return "accuracy" if task == CLASSIFICATION else "R²"


def learner_of(task: str) -> str:
    """The name of this library's learner for it."""
    return "KernelClassifier" if task == CLASSIFICATION else "KernelRegressor"


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


@dataclass(frozen=True)
class Step:
    """Something that stands before a model, and what has to be imported for it."""

    imported: str
    made: str


def table_step(columns: dict[str, Any]) -> Step:
    """`preprocessing.for_table` of the user's frame X."""
    words = ["X", *(f"{kind}={names!r}" for kind, names in columns.items() if names)]
    made = f"preprocessing.for_table({', '.join(words)})"
    return Step("from bochner import preprocessing", made)


def imputer_step() -> Step:
    """Medians in place of what is missing."""
    made = "SimpleImputer(strategy='median', keep_empty_features=True)"
    return Step("from sklearn.impute import SimpleImputer", made)


def scaler_step(X: Any) -> Step:
    """Features divided by their deviations; sparse rows stay sparse."""
    options = "with_mean=False" if sparse.issparse(X) else ""
    imported = "from sklearn.preprocessing import StandardScaler"
    return Step(imported, f"StandardScaler({options})")


def assembled(imports: Iterable[str], model: str, before: tuple[Step, ...]) -> str:
    """Imports, and the model in a Pipeline where there are steps before it."""
    lines = [*imports, *(step.imported for step in before)]
    if before:
        lines.append("from sklearn.pipeline import make_pipeline")
        parts = "".join(f"    {made},\n" for made in (*(s.made for s in before), model))
        model = f"make_pipeline(\n{parts})"
    of_table = any("for_table(X" in step.made for step in before)
    note = ["# X: a frame of your rows, without the target"] if of_table else []
    return "\n".join([*sorted(set(lines)), "", *note, f"model = {model}"])


SMALLEST_LEAD = 0.0005
"""Smaller leads are not reported: they would be printed as 0.0 points."""


def trees_name(task: str) -> str:
    """The class in `sklearn.ensemble`."""
    kind = "Classifier" if task == CLASSIFICATION else "Regressor"
    return f"HistGradientBoosting{kind}"


def boosted_trees(task: str, seed: int) -> Any:
    """Histogram-based boosted trees with scikit-learn's default parameters."""
    from sklearn import ensemble

    return getattr(ensemble, trees_name(task))(random_state=seed)


def trees_code(task: str, seed: int) -> tuple[list[str], str]:
    """Imports, and Python for the same."""
    name = trees_name(task)
    return [f"from sklearn.ensemble import {name}"], f"{name}(random_state={seed})"


def trees_lead(trees: float, own: float, task: str) -> str | None:
    """A sentence on how far boosted trees are ahead; None where they are not.

    Parameters
    ----------
    trees, own : float
        Scores of boosted trees and of the best model of this library on the same rows.
    task : str
    """
    if not trees - own >= SMALLEST_LEAD:
        return None
    if task == CLASSIFICATION:
        lead = f"{100 * (trees - own):.1f} points"
        scores = f"{100 * trees:.1f} % against {100 * own:.1f} %"
    else:
        lead = f"{trees - own:.3f} of R²"
        scores = f"{trees:.3f} against {own:.3f}"
    return (
        f"Boosted trees are ahead by {lead}: {trees_name(task)} of scikit-learn has "
        f"{scores} on the same rows."
    )


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
