"""Class numbers of labels, class weights, and probabilities from scores.

Squared hinge and least squares on ±1 codes both estimate 2 P(class) − 1 up to scale. So
one positive number a is enough to turn scores s into probabilities softmax(a s), and
the most probable class is the class of the largest score. To find a, every row needs
the score of a model that was not fitted on that row: by leave-one-out from the fit
itself or, with calibrate=True, from a second fit that holds some rows out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .._core.random import Stream
from .._core.remote_rows import LazyRows
from .._core.validation import class_codes, did_you_mean
from ..engines.sources import ArraySource, Block, Source
from ..solvers.losses import Multinomial, log_loss
from ..solvers.moments import Moments

OWNER = "KernelClassifier"
"""The estimator that error messages name."""

HELD_OUT_EVERY, MAX_HELD_OUT = 5, 10_000
"""One row in five is held out for calibration, and at most this many rows."""

LOG_BOUNDS = np.log(1e-2), np.log(1e3)
"""Bounds of the search for log a."""


@dataclass(frozen=True)
class Labels:
    """All classes, sorted, and a factor for the row weights of each class."""

    classes: np.ndarray
    factors: np.ndarray | None

    @classmethod
    def of(cls, blocks: Iterable[tuple[Any, Any]], class_weight: Any) -> Labels:
        """The classes of (y, weight) pairs, without classes of zero total weight."""
        labels, weights = [], []
        for y, weight in blocks:
            block_labels, block_weights = label_counts(y, weight)
            labels.append(block_labels)
            weights.append(block_weights)
        if len({block_labels.dtype.kind in "OUS" for block_labels in labels}) > 1:
            raise ValueError(
                f"{OWNER}: y holds text in some blocks and numbers in others; convert "
                "all labels to one type."
            )
        classes, codes = np.unique(np.concatenate(labels), return_inverse=True)
        counts = np.bincount(codes, weights=np.concatenate(weights))
        present = counts > 0
        return cls.named(classes[present], class_weight, counts[present])

    @classmethod
    def named(
        cls, classes: Any, class_weight: Any, counts: np.ndarray | None = None
    ) -> Labels:
        """The given classes, with `counts` as the weights of their rows if known."""
        classes = np.unique(classes)
        if len(classes) < 2:
            raise ValueError(
                f"{OWNER} needs at least 2 classes in y; got one class only: "
                f"{classes.tolist()}."
            )
        return cls(classes, _factors(classes, class_weight, counts))

    def lazy_codes(self, y: LazyRows) -> LazyRows:
        """Class numbers of labels in a Dask collection."""
        return y.converted(lambda labels: np.searchsorted(self.classes, labels))

    def size(self, moments: Moments) -> float:
        """The weight of all rows without class factors, from moments of ±1 codes."""
        if self.factors is None:
            return moments.size
        positive = moments.weight * (1 + moments.mean_t) / 2
        if len(self.classes) == 2:
            positive = np.append(moments.weight - positive, positive)
        factors = np.where(self.factors > 0, self.factors, np.inf)
        return max(float((positive / factors).sum()), float(moments.n_rows))

    def block(self, X: Any, y: Any, weight: Any) -> Block:
        """A block with class numbers for labels and weights times class factors."""
        y = column_or_1d(y, warn=True)
        is_used = True if weight is None else weight > 0
        codes = class_codes(OWNER, self.classes, y, is_used)
        if self.factors is not None:
            factors = self.factors[codes]
            weight = factors if weight is None else weight * factors
        return Block(X, codes, weight).present()


def label_counts(y: Any, weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels of a block, and the total weight of each."""
    y = column_or_1d(y, warn=True)
    try:
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"{OWNER}: y holds labels that cannot be compared ({error}); remove rows "
            "without a label (None), and convert all labels to one type."
        ) from error
    return classes, np.bincount(codes, weights=weight)


def _factors(classes: np.ndarray, class_weight: Any, counts: Any) -> np.ndarray | None:
    """A factor for every class; None if all are one."""
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
            f"{OWNER}: class_weight must be one of None, 'balanced' or a dict of "
            f"weights by label; got {class_weight!r}"
            f"{did_you_mean(class_weight, ['balanced'])}."
        )
    if counts is None:
        raise ValueError(
            f"{OWNER}: class_weight='balanced' needs all rows at once; pass a dict of "
            "weights by label to use partial_fit."
        )
    return counts.sum() / (len(classes) * counts)


def check_in_memory(source: Source) -> None:
    """Refuse rows that are not in memory, because some must be held out."""
    if not isinstance(source, ArraySource):
        raise ValueError(
            f"{OWNER}: calibrate=True needs rows in memory; for blocks and Dask use "
            "calibrate=False, which gives probabilities too."
        )


def split(source: ArraySource) -> tuple[ArraySource, Block]:
    """Training rows, with at least one row of every class, and held-out rows."""
    n = source.n_rows
    is_held_out = np.zeros(n, dtype=bool)
    n_held_out = min(-(-n // HELD_OUT_EVERY), MAX_HELD_OUT)
    is_held_out[Stream(0).child("calibrate").subset(n, n_held_out)] = True
    is_held_out[np.unique(source.y, return_index=True)[1]] = False
    if not is_held_out.any():
        raise ValueError(
            f"{OWNER}: calibrate=True needs more rows than classes, because some rows "
            f"are held out; got {n} rows. Use calibrate=False."
        )
    training_rows = ArraySource(*source.take(np.flatnonzero(~is_held_out)))
    return training_rows, source.take(np.flatnonzero(is_held_out))


def temperature(S: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
    """The a > 0 that minimises the log loss of softmax(a s), or of 1/(1 + exp(−a s)).

    The targets are smoothed as if one further row belonged to all classes in equal
    parts. So a does not become infinite if every row is classified correctly.
    """
    from scipy.optimize import minimize_scalar  # slow to import

    S = S.astype(np.float64)
    S = np.hstack([-S, S]) / 2 if S.shape[1] == 1 else S
    n_classes = S.shape[1]
    loss = Multinomial(n_classes)
    smoothing = 1 / (len(S) + 1)
    T = (1 - smoothing) * loss.encode(y, np.float64) + smoothing / n_classes
    best = minimize_scalar(
        lambda a: loss.values(S * np.exp(a), T, weight).sum(),
        bounds=LOG_BOUNDS,
        method="bounded",
    )
    return float(np.exp(best.x))


def class_numbers(T: np.ndarray) -> np.ndarray:
    """Class numbers of ±1 codes T, (n, K), or (n, 1) for two classes."""
    return (T[:, 0] > 0).astype(int) if T.shape[1] == 1 else T.argmax(axis=1)


def probabilities(S: np.ndarray, a: float) -> np.ndarray:
    """Probabilities (n, K) from scores S (n, K), or (n, 2) from (n, 1)."""
    loss = log_loss(2 if S.shape[1] == 1 else S.shape[1])
    return loss.probabilities(S.astype(np.float64) * a)


def gives_probabilities(self: Any) -> bool:
    """Whether a classifier has `predict_proba`; raises AttributeError if not."""
    if getattr(self, "_temperature", 1.0) is not None:
        return True
    raise AttributeError(
        "predict_proba: this KernelClassifier was saved by an earlier version of "
        "bochner, which did not store the calibration; fit it again."
    )


def learns_in_parts(self: Any) -> bool:
    """Whether a classifier has `partial_fit`; raises AttributeError if not."""
    if not self.calibrate:
        return True
    raise AttributeError(
        "partial_fit cannot hold rows out, which calibrate=True requires; use "
        "calibrate=False, which gives probabilities too."
    )
