"""Labels of any type as class numbers, their weights, and probabilities from scores.

Squared hinge and least squares on ±1 codes both estimate 2 P(class) − 1, up to scale,
so that one positive number a in softmax(a s) is as much as they need, and the most
probable class stays the one of the largest score. The scores are those of the model
without the row: by leave-one-out from the fit itself, or, with calibrate=True, of rows
that a second fit has never seen.
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


HELD = 5
HELD_ROWS = 10_000
"""One row in five is held out, at most this many."""

LOG_BOUNDS = np.log(1e-2), np.log(1e3)
"""Where the logarithm of a is searched."""


def check_in_memory(source: Source) -> None:
    """Refuse rows that are not in memory: a part of them has to be held out."""
    if not isinstance(source, ArraySource):
        raise ValueError(
            "KernelClassifier: calibrate=True needs rows in memory; leave "
            "calibrate=False, which has probabilities too, for blocks and Dask."
        )


def split(source: ArraySource) -> tuple[ArraySource, Block]:
    """Rows to learn from and rows held out, every class among the former."""
    n = source.n_rows
    out = np.zeros(n, dtype=bool)
    out[Stream(0).child("calibrate").subset(n, min(-(-n // HELD), HELD_ROWS))] = True
    out[np.unique(source.y, return_index=True)[1]] = False
    if not out.any():
        raise ValueError(
            "KernelClassifier: calibrate=True needs more rows than classes, to hold "
            f"some out; got {n} rows."
        )
    return ArraySource(*source.take(np.flatnonzero(~out))), source.take(
        np.flatnonzero(out)
    )


def temperature(S: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
    """a > 0 of the least log loss of softmax(a s), or of 1/(1 + exp(−a s)).

    One further row counts as one of every class in equal parts, so that rows without
    an error do not make the model certain of everything.
    """
    from scipy.optimize import minimize_scalar  # heavy to import

    S = S.astype(np.float64)
    S = np.hstack([-S, S]) / 2 if S.shape[1] == 1 else S
    n_classes = S.shape[1]
    loss = Multinomial(n_classes)
    unsure = 1 / (len(S) + 1)
    T = (1 - unsure) * loss.encode(y, np.float64) + unsure / n_classes
    best = minimize_scalar(
        lambda a: loss.values(S * np.exp(a), T, weight).sum(),
        bounds=LOG_BOUNDS,
        method="bounded",
    )
    return float(np.exp(best.x))


def class_numbers(T: np.ndarray) -> np.ndarray:
    """Class numbers of ±1 codes (n, K), or (n, 1) for two classes."""
    return (T[:, 0] > 0).astype(int) if T.shape[1] == 1 else T.argmax(axis=1)


def probabilities(S: np.ndarray, a: float) -> np.ndarray:
    """(n, K) from scores (n, K), or (n, 2) from (n, 1)."""
    loss = log_loss(2 if S.shape[1] == 1 else S.shape[1])
    return loss.probabilities(S.astype(np.float64) * a)


def gives_probabilities(self: Any) -> bool:
    """Whether a classifier has `predict_proba`."""
    if getattr(self, "_temperature", 1.0) is not None:
        return True
    raise AttributeError(
        "predict_proba: this KernelClassifier was saved by an earlier version of "
        "bochner, which kept no probabilities; fit it again."
    )


def learns_in_parts(self: Any) -> bool:
    """Whether it has `partial_fit`."""
    if not self.calibrate:
        return True
    raise AttributeError(
        "partial_fit cannot hold rows out as calibrate=True asks; leave "
        "calibrate=False, which has probabilities too."
    )
