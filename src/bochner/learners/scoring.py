"""`score` for arrays, streams and Dask collections.

scikit-learn's metrics read all targets and predictions at once. Here every block, or
every partition on its worker, is reduced to a few sums that can be merged. So accuracy
and R² of any number of rows need the memory of one block, and send only a few numbers
over the network.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
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
    """Σw over all rows, and Σw over the rows whose label is predicted correctly."""

    weight: float = 0.0
    right: float = 0.0

    @classmethod
    def of(cls, y: Any, predicted: np.ndarray, weight: np.ndarray) -> Self:
        """The sums of a block of rows."""
        y = column_or_1d(y)
        if (y.dtype.kind in "OUS") != (predicted.dtype.kind in "OUS"):
            raise ValueError(
                f"score: labels in y have type {y.dtype} ({y[0]!r}), but the model was "
                f"fitted on labels of type {predicted.dtype} ({predicted[0]!r}); "
                "convert y."
            )
        return cls(float(weight.sum()), float(weight @ (y == predicted)))

    def merge(self, other: Self) -> None:
        self.weight += other.weight
        self.right += other.right

    def score(self) -> float:
        """Accuracy: the share of the weight of correctly predicted rows."""
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
        """The sums of a block of rows."""
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if y.shape != predicted.shape:
            raise ValueError(
                f"score: y must have the shape of the predictions, {predicted.shape}; "
                f"got {y.shape}."
            )
        y, predicted = y.reshape(len(y), -1), predicted.reshape(len(y), -1)
        total = float(weight.sum())
        # relative to the first target, so that equal targets have variance exactly 0
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
        """R², averaged over targets; constant targets score 1 or 0 as in `r2_score`."""
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
    """A mixin with `score` for arrays, streams and Dask collections."""

    _sums: ClassVar[type]

    def score(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Accuracy of a classifier, or R² of a regressor.

        Parameters
        ----------
        X : array-like, CSR matrix, Dask collection or `blocks`, shape (n, d)
            Rows to predict. Blocks carry their own targets and weights and are read
            once. Partitions of a Dask collection are scored on the workers; their
            lengths may be unknown.
        y : array-like of shape (n,), default=None
            True labels or targets; required unless X are `blocks`.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows; None weights all rows equally.

        Returns
        -------
        float
            The score; 1 is the best.

        Raises
        ------
        ValueError
            If y is missing, has the wrong shape or type, or if all weights are zero.
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

            owner, block_sums = type(self).__name__, partial(_block_sums, self)
            total = merged_partitions(
                owner, X, y, sample_weight, self._sums(), block_sums
            )
            return _score(self, total)
        return super().score(X, y, sample_weight)  # type: ignore[misc]


class AccuracyMixin(StreamedScore, ClassifierMixin):
    """Accuracy as the score of a classifier."""

    _sums = AccuracySums


class R2Mixin(StreamedScore, RegressorMixin):
    """R² as the score of a regressor."""

    _sums = R2Sums


def _score(owner: Any, total: Any) -> float:
    if total.weight == 0:
        raise ValueError(
            f"{type(owner).__name__}: score needs rows of positive weight; got none."
        )
    return total.score()


def _block_sums(owner: Any, item: Item) -> Any:
    """The sums of one block or partition; errors name the block."""

    def sums(X: Any, y: Any, weight: Any) -> Any:
        if y is None:
            raise missing_target(owner)
        check_unmasked("y", y)
        predicted = np.asarray(owner.predict(X))
        w = _check_weight(type(owner).__name__, weight, len(predicted))
        if len(y) != len(predicted):
            raise ValueError(
                f"{type(owner).__name__}: X and y must have the same number of rows; X "
                f"has {len(predicted)} rows and y has {len(y)}."
            )
        return owner._sums.of(y, predicted, w)

    return validated(item, sums)


def _check_weight(owner: str, weight: Any, n: int) -> np.ndarray:
    """Weights of a block, which may all be zero; ones for None."""
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
