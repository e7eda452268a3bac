"""The task that all contenders share: rows, scaling, bandwidth and preprocessing."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable
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

MAX_CLASSES = 32
"""Up to this many distinct whole numbers are taken for classes, not for counts."""

ROWS_PER_CLASS = 5
"""Rows that every class of whole numbers must have on average."""

BALANCE = 3
"""More than MAX_CLASSES whole numbers are classes if the largest class has at most this
many times the rows of the smallest."""

SMALLEST_LEAD = 0.0005
"""Smaller leads are not reported: they would be printed as 0.0 points."""

GAMMA_DIGITS = 3
"""Significant digits of γ, so that the generated code is short."""


def task_of(y: Any, task: str | None = None) -> str:
    """The given task, or the task that the values of the target suggest.

    Text, booleans and few distinct whole numbers suggest classification.
    """
    if task is not None:
        check_option("task", "task", task, TASKS)
        return task
    y = np.asarray(y)
    if y.dtype.kind not in "fiu":
        _check_labels(y)
        return CLASSIFICATION
    if y.dtype.kind == "f" and not np.array_equal(y, np.round(y)):
        return REGRESSION
    counts = np.unique(y, return_counts=True)[1]
    if len(counts) <= 2:
        return CLASSIFICATION
    few = len(counts) <= MAX_CLASSES or counts.max() <= BALANCE * counts.min()
    enough_rows = len(counts) * ROWS_PER_CLASS <= len(y)
    return CLASSIFICATION if few and enough_rows else REGRESSION


def _check_labels(y: np.ndarray) -> None:
    """Refuse text of which most values are distinct: it cannot be class labels."""
    n_distinct = len({str(label) for label in y})
    if n_distinct > max(2, len(y) / 2):
        raise ValueError(
            f"The target y holds text, {str(y[0])!r} first, with {n_distinct} distinct "
            f"values in {len(y)} rows. If the values are numbers, write them with "
            "decimal points; if they are classes, set task to 'classification'."
        )


def numeric_target(y: np.ndarray, task: str) -> np.ndarray:
    """The target as float64 for regression; unchanged for classification."""
    if task == CLASSIFICATION:
        return y
    try:
        numbers = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        bad = next(value for value in y.ravel() if not _is_number(value))
        raise ValueError(
            f"The target y must hold numbers for regression; it holds {str(bad)!r}. "
            "Correct the value, or set task to 'classification'."
        ) from error
    if not np.isfinite(numbers).all():
        raise ValueError(
            "The target y must hold finite numbers; some are missing or infinite. "
            "Remove the rows that have no finite target."
        )
    return numbers


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def metric_of(task: str) -> str:
    """The name of the metric that `score` of an estimator for the task returns."""
    return "accuracy" if task == CLASSIFICATION else "R²"


def learner_of(task: str) -> str:
    """The name of bochner's learner for the task."""
    return "KernelClassifier" if task == CLASSIFICATION else "KernelRegressor"


@dataclass(frozen=True)
class Step:
    """A preprocessing step as Python code."""

    import_line: str
    expression: str


def table_step(columns: dict[str, Any]) -> Step:
    """`preprocessing.for_table` for the user's frame X, with the given options."""
    options = [f"{kind}={names!r}" for kind, names in columns.items() if names]
    expression = f"preprocessing.for_table({', '.join(['X', *options])})"
    return Step("from bochner import preprocessing", expression)


def imputer_step() -> Step:
    """Medians in place of missing values."""
    expression = "SimpleImputer(strategy='median', keep_empty_features=True)"
    return Step("from sklearn.impute import SimpleImputer", expression)


def scaler_step(X: Any) -> Step:
    """Features divided by their standard deviations; sparse rows stay sparse."""
    options = "with_mean=False" if sparse.issparse(X) else ""
    import_line = "from sklearn.preprocessing import StandardScaler"
    return Step(import_line, f"StandardScaler({options})")


def model_code(imports: Iterable[str], model: str, steps: tuple[Step, ...]) -> str:
    """Python code that builds the model, in a Pipeline if there are steps before it."""
    lines = [*imports, *(step.import_line for step in steps)]
    if steps:
        lines.append("from sklearn.pipeline import make_pipeline")
        expressions = [*(step.expression for step in steps), model]
        parts = "".join(f"    {expression},\n" for expression in expressions)
        model = f"make_pipeline(\n{parts})"
    needs_frame = any("for_table(X" in step.expression for step in steps)
    note = ["# X: a frame of your rows, without the target"] if needs_frame else []
    return "\n".join([*sorted(set(lines)), "", *note, f"model = {model}"])


def trees_name(task: str) -> str:
    """The name of the boosted trees for the task in `sklearn.ensemble`."""
    kind = "Classifier" if task == CLASSIFICATION else "Regressor"
    return f"HistGradientBoosting{kind}"


def boosted_trees(task: str, seed: int) -> Any:
    """Histogram-based boosted trees with scikit-learn's default parameters."""
    from sklearn import ensemble

    return getattr(ensemble, trees_name(task))(random_state=seed)


def trees_code(task: str, seed: int) -> tuple[list[str], str]:
    """Import lines and the expression that build `boosted_trees(task, seed)`."""
    name = trees_name(task)
    return [f"from sklearn.ensemble import {name}"], f"{name}(random_state={seed})"


def trees_lead(trees: float, own: float, task: str) -> str | None:
    """A sentence on the lead of boosted trees; None if they do not lead.

    Parameters
    ----------
    trees : float
        Score of boosted trees.
    own : float
        Score of bochner's best model on the same rows.
    task : {"classification", "regression"}
        The task, which determines the units of the scores.
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


@dataclass(frozen=True)
class Split:
    """Training and test rows after preprocessing."""

    task: str
    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray
    preprocessing: tuple[Step, ...] = ()  # steps that turned the user's rows into these
    preprocessing_bytes: int = 0  # size of these steps as files
    preprocessing_seconds: float = 0.0  # time of these steps per row

    @property
    def metric(self) -> str:
        return metric_of(self.task)

    def first(self, n_rows: int) -> Split:
        """The split with the first n_rows training rows only."""
        kept = slice(0, n_rows)
        return replace(self, X_train=self.X_train[kept], y_train=self.y_train[kept])

    def subsample(self, n_rows: int, seed: int) -> Split:
        """The split with at most n_rows random training rows."""
        kept = Stream(seed).child("some").subset(len(self.y_train), n_rows)
        return replace(self, X_train=self.X_train[kept], y_train=self.y_train[kept])

    def scaled(self) -> Split:
        """The split with features divided by their deviations in the training rows."""
        scaler = standard_scaler(self.X_train).fit(self.X_train)
        X_test, seconds = timed_transform(scaler, self.X_test)
        return replace(
            self,
            X_train=scaler.transform(self.X_train),
            X_test=X_test,
            preprocessing=(*self.preprocessing, scaler_step(self.X_train)),
            preprocessing_bytes=self.preprocessing_bytes + file_bytes(scaler),
            preprocessing_seconds=self.preprocessing_seconds + seconds,
        )


def timed_transform(transformer: Any, X: Any) -> tuple[Any, float]:
    """The transformed rows, and the seconds that a row took."""
    start = time.perf_counter()
    transformed = transformer.transform(X)
    return transformed, (time.perf_counter() - start) / max(X.shape[0], 1)


def file_bytes(model: Any) -> int:
    """Size of a fitted model as `save` writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.bochner")
        save(model, path)
        return os.path.getsize(path)


def standard_scaler(X: Any) -> Any:
    """An unfitted StandardScaler, which keeps sparse rows sparse."""
    from sklearn.preprocessing import StandardScaler

    return StandardScaler(with_mean=not sparse.issparse(X))


@dataclass(frozen=True)
class Bandwidth:
    """γ of the shared Gaussian kernel, and whether features are standardised first."""

    gamma: float
    standardised: bool


def find_bandwidth(split: Split, report: Report = silent) -> Bandwidth:
    """Bandwidth and scaling, chosen as the estimators choose theirs."""
    if split.task != CLASSIFICATION:
        return guess_bandwidth(split, report)
    scaled, factor, _ = search_classes(*_class_codes(split), report)
    return _rounded_bandwidth(scaled, factor)


def guess_bandwidth(split: Split, report: Report = silent) -> Bandwidth:
    """Bandwidth and scaling by leave-one-out on 1000 training rows."""
    if split.task == CLASSIFICATION:
        return _rounded_bandwidth(*guess_classes(*_class_codes(split), report))
    y = np.asarray(split.y_train, dtype=np.float64)
    return _rounded_bandwidth(*search_numbers(split.X_train, y, report))


def _class_codes(split: Split) -> tuple[ArraySource, int]:
    """Training rows with integer codes for classes, and the number of classes."""
    classes, codes = np.unique(split.y_train, return_inverse=True)
    return ArraySource(split.X_train, codes), len(classes)


def _rounded_bandwidth(scaled: Scaled, factor: float) -> Bandwidth:
    gamma = float(f"{scaled.gamma * factor:.{GAMMA_DIGITS}g}")
    return Bandwidth(gamma, scaled.divisor is not None)
