"""`score` of arrays, streams and Dask collections.

scikit-learn's metrics read all targets and predictions at once. Here every block, or
every partition on its worker, becomes a few sums that merge: accuracy and R² of any
number of rows in the memory of one block, and a few numbers over the network.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_array, column_or_1d

from .._core.remote_rows import is_lazy
from .._core.validation import check_unmasked
from ..data.stream import Blocks, Item
from ..engines.sources import validated
from .preparation import check_alone, missing_target


@dataclass
class AccuracySums:
    """Σw, and Σw over the rows whose label is predicted."""

    weight: float = 0.0
    right: float = 0.0

    @classmethod
    def of(cls, y: Any, predicted: np.ndarray, weight: np.ndarray) -> Self:
        """Of the rows of a block."""
        y = column_or_1d(y)
        if (y.dtype.kind in "OUS") != (predicted.dtype.kind in "OUS"):
            raise ValueError(
                f"score: labels in y are of type {y.dtype} ({y[0]!r}), and those of "
                f"the fit of type {predicted.dtype} ({predicted[0]!r}); convert y."
            )
        return cls(float(weight.sum()), float(weight @ (y == predicted)))

    def merge(self, other: Self) -> None:
        self.weight += other.weight
        self.right += other.right

    def score(self) -> float:
        """The share of weight on rows whose label is predicted."""
        return self.right / self.weight


@dataclass
class R2Sums:
    """Σw, mean of the targets, Σw(y − mean)² and Σw(y − prediction)², per target."""

    n_rows: int = 0
    weight: float = 0.0
    mean: Any = 0.0
    squares: Any = 0.0
    errors: Any = 0.0

    @classmethod
    def of(cls, y: Any, predicted: np.ndarray, weight: np.ndarray) -> Self:
        """Of the rows of a block."""
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if y.shape != predicted.shape:
            raise ValueError(
                f"score: y has shape {y.shape}, and predictions {predicted.shape}."
            )
        y, predicted = y.reshape(len(y), -1), predicted.reshape(len(y), -1)
        total = float(weight.sum())
        # about the first target, so that equal targets have no variance at all
        mean = y[0] + weight @ (y - y[0]) / (total or 1.0)
        squares, errors = weight @ (y - mean) ** 2, weight @ (y - predicted) ** 2
        return cls(len(y), total, mean, squares, errors)

    def merge(self, other: Self) -> None:
        self.n_rows += other.n_rows
        if other.weight == 0:
            return
        total = self.weight + other.weight
        step = other.mean - self.mean if self.weight else 0.0
        share = other.weight / total
        start = self.mean if self.weight else other.mean
        self.squares = self.squares + other.squares + self.weight * share * step**2
        self.errors = self.errors + other.errors
        self.mean, self.weight = start + share * step, total

    def score(self) -> float:
        """R², the mean over targets; as `r2_score` for targets that do not vary."""
        if self.n_rows < 2:
            warnings.warn(
                "R^2 score is not well-defined with less than two samples.",
                UndefinedMetricWarning,
                stacklevel=3,
            )
            return float("nan")
        varies = self.squares > 0
        ratio = self.errors / np.where(varies, self.squares, 1.0)
        constant = np.where(self.errors > 0, 0.0, 1.0)
        return float(np.mean(np.where(varies, 1.0 - ratio, constant)))


class StreamedScore:
    """`score` of any form of rows; mixed into a learner before scikit-learn's."""

    _sums: ClassVar[type]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R² of a regressor.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features), Dask collection or `blocks`
            Blocks carry their targets and weights and are walked once. Partitions of a
            Dask collection are scored on the workers; their lengths may be unknown.
        y : array of (n,)
        sample_weight : array of (n,), optional

        Returns
        -------
        float
        """
        check_unmasked("y", y)
        check_unmasked("sample_weight", sample_weight)
        if isinstance(X, Blocks):
            check_alone(self, y, sample_weight)
            total = self._sums()
            for item in X.weighing():
                total.merge(_block_sums(self, item))
            return _score(self, total)
        if y is None:
            raise missing_target(self)
        if is_lazy(X):
            from ..engines.dask import merged_partitions

            sums_of = partial(_block_sums, self)
            owner = type(self).__name__
            total = merged_partitions(owner, X, y, sample_weight, self._sums(), sums_of)
            return _score(self, total)
        return super().score(X, y, sample_weight)  # type: ignore[misc]


class AccuracyMixin(StreamedScore, ClassifierMixin):
    """A classifier that is scored by accuracy."""

    _sums = AccuracySums


class R2Mixin(StreamedScore, RegressorMixin):
    """A regressor that is scored by R²."""

    _sums = R2Sums


def _score(owner: Any, total: Any) -> float:
    if total.weight == 0:
        raise ValueError(
            f"{type(owner).__name__}: score needs rows of positive weight; got none."
        )
    return total.score()


def _block_sums(owner: Any, item: Item) -> Any:
    """The sums of one block or partition; errors name its place."""

    def sums(X: Any, y: Any, weight: Any) -> Any:
        if y is None:
            raise missing_target(owner)
        check_unmasked("y", y)
        predicted = np.asarray(owner.predict(X))
        w = _checked_weight(type(owner).__name__, weight, len(predicted))
        if len(y) != len(predicted):
            raise ValueError(
                f"{type(owner).__name__}: X has {len(predicted)} rows and y has "
                f"{len(y)}."
            )
        return owner._sums.of(y, predicted, w)

    return validated(item, sums)


def _checked_weight(owner: str, weight: Any, n: int) -> np.ndarray:
    """Weights of a block, which may all be zero; one each if none were given."""
    if weight is None:
        return np.ones(n)
    check_unmasked("sample_weight", weight)
    w = np.asarray(weight, dtype=np.float64)
    if w.shape != (n,) or not np.isfinite(w).all() or w.min(initial=0) < 0:
        raise ValueError(
            f"{owner}: sample_weight must be one finite number ≥ 0 for each of the {n} "
            f"rows; got shape {w.shape}, values from {w.min(initial=np.inf)}."
        )
    return w
