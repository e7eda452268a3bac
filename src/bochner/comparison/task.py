"""What a target asks for: classes or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._validation import check_option

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
