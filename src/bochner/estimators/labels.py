"""Labels of any type as class numbers, and what each class weighs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .._lazy import LazyRows
from .._validation import class_codes, did_you_mean
from ..execution.sources import Block
from ..linear.moments import Moments

OWNER = "KernelClassifier"


@dataclass(frozen=True)
class Labels:
    """All classes there are, sorted, and a factor on the weights of each."""

    classes: np.ndarray
    factors: np.ndarray | None

    @classmethod
    def of(cls, blocks: Iterable[tuple[Any, Any]], class_weight: Any) -> Labels:
        """Those of (y, weight) pairs: classes of rows that weigh something."""
        found, totals = [], []
        for y, weight in blocks:
            classes, total = label_counts(y, weight)
            found.append(classes)
            totals.append(total)
        kinds = sorted({labels.dtype.kind in "OUS" for labels in found})
        if len(kinds) > 1:
            raise ValueError(
                f"{OWNER}: y holds text in some blocks and numbers in others; make "
                "them of one kind."
            )
        classes, codes = np.unique(np.concatenate(found), return_inverse=True)
        counts = np.bincount(codes, weights=np.concatenate(totals))
        present = counts > 0
        return cls.named(classes[present], class_weight, counts[present])

    @classmethod
    def named(
        cls, classes: Any, class_weight: Any, counts: np.ndarray | None = None
    ) -> Labels:
        """Those given, for rows that are still to come."""
        classes = np.unique(classes)
        if len(classes) < 2:
            raise ValueError(
                f"{OWNER} needs at least 2 classes in y; got one class only: "
                f"{classes.tolist()}."
            )
        return cls(classes, _factors(classes, class_weight, counts))

    def lazy_codes(self, y: LazyRows) -> LazyRows:
        """Class numbers of labels that are fetched when they are asked for."""
        return y.converted(lambda labels: np.searchsorted(self.classes, labels))

    def size(self, moments: Moments) -> float:
        """How many rows there are, from moments of ±1 codes: factors do not count."""
        if self.factors is None:
            return moments.size
        positive = moments.weight * (1 + moments.mean_t) / 2
        if len(self.classes) == 2:
            positive = np.append(moments.weight - positive, positive)
        factors = np.where(self.factors > 0, self.factors, np.inf)
        return max(float((positive / factors).sum()), float(moments.n_rows))

    def block(self, X: Any, y: Any, weight: Any) -> Block:
        """Rows with class numbers for labels and class factors in their weights."""
        y = column_or_1d(y, warn=True)
        counted = True if weight is None else weight > 0
        codes = class_codes(OWNER, self.classes, y, counted)
        if self.factors is not None:
            factors = self.factors[codes]
            weight = factors if weight is None else weight * factors
        return Block(X, codes, weight).present()


def label_counts(y: Any, weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels of a partition, and what the rows of each weigh."""
    y = column_or_1d(y, warn=True)
    try:
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"{OWNER}: y holds labels that cannot be compared ({error}); missing ones "
            "(None) have to go, and all must be of one kind."
        ) from error
    return classes, np.bincount(codes, weights=weight)


def _factors(classes: np.ndarray, class_weight: Any, counts: Any) -> np.ndarray | None:
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        unknown = set(class_weight) - set(classes.tolist())
        if unknown:
            raise ValueError(
                f"{OWNER}: class_weight names {sorted(unknown, key=str)!r}, which is "
                f"not among the classes {classes.tolist()}."
            )
        factors = [class_weight.get(label, 1.0) for label in classes.tolist()]
        if not (np.isfinite(factors).all() and min(factors) >= 0 and max(factors) > 0):
            raise ValueError(
                f"{OWNER}: class_weight must be numbers ≥ 0, not all zero; got "
                f"{class_weight!r}."
            )
        return np.array(factors, dtype=np.float64)
    if not (isinstance(class_weight, str) and class_weight == "balanced"):
        raise ValueError(
            f"{OWNER}: class_weight must be one of None, 'balanced' and a dict of "
            f"weights by label; got {class_weight!r}"
            f"{did_you_mean(class_weight, ['balanced'])}."
        )
    if counts is None:
        raise ValueError(
            f"{OWNER}: class_weight='balanced' needs all rows; give partial_fit a dict."
        )
    return counts.sum() / (len(classes) * counts)
