"""Targets of each objective: y as numbers, and predictions from scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from ..._core.ops import Ops, Tensor
from ..._core.steps import class_outputs
from ..._core.validation import (
    check_numeric_target,
    check_option,
    check_unmasked,
    class_codes,
)
from .losses import LOSSES, Loss, Squared
from .training import TrainingRows

OWNER = "CompactMap"


class Targets(Protocol):
    """The interpretation of y."""

    def loss(self, name: str) -> Loss:
        """The loss of this name, for these targets."""
        ...

    def encode(self, y: Any) -> np.ndarray:
        """y of some rows as numbers to learn from, (n,) or (n, t)."""
        ...

    def strata(self, codes: Any) -> np.ndarray | None:
        """Groups that are held out in proportion, (n,); None without groups."""
        ...

    def decode(self, S: np.ndarray) -> np.ndarray:
        """Predictions from scores, (n, K)."""
        ...

    def outputs(self, ops: Ops, S: Tensor) -> dict[str, Tensor]:
        """The outputs of an exported model, by name, in the operations of `ops`."""
        ...


@dataclass(frozen=True)
class Classes:
    """Class labels of any type, encoded as numbers from 0.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        The labels, sorted.
    """

    classes: np.ndarray

    @classmethod
    def of(cls, y: Any) -> Classes:
        """The distinct labels of y."""
        classes = np.unique(_labels(y))
        if len(classes) < 2:
            raise ValueError(
                f"{OWNER}: objective='classification' needs at least 2 classes in y; "
                f"got one class only: {classes.tolist()}. Pass rows of other classes "
                "too, or use objective='regression' or 'kernel'."
            )
        return cls(classes)

    def loss(self, name: str) -> Loss:
        check_option(OWNER, "loss", name, tuple(LOSSES))
        return LOSSES[name](len(self.classes))

    def encode(self, y: Any) -> np.ndarray:
        return class_codes(OWNER, self.classes, _labels(y))

    def strata(self, codes: Any) -> np.ndarray | None:
        return codes

    def decode(self, S: np.ndarray) -> np.ndarray:
        best = S[:, 0] > 0 if S.shape[1] == 1 else S.argmax(axis=1)
        return self.classes[best.astype(np.intp)]

    def outputs(self, ops: Ops, S: Tensor) -> dict[str, Tensor]:
        return class_outputs(ops, S, self.classes)


@dataclass(frozen=True)
class Numbers:
    """One or several numbers per row, standardised to mean 0 and deviation 1.

    Parameters
    ----------
    mean : array of shape (t,)
        Mean of each target.
    deviation : array of shape (t,)
        Standard deviation of each target; 1 for a constant target.
    flat : bool
        Whether y had one dimension, so that predictions have one too.
    """

    mean: np.ndarray
    deviation: np.ndarray
    flat: bool

    @classmethod
    def of(cls, y: Any) -> Numbers:
        """Mean and deviation of y."""
        Y, flat = _numbers(y)
        largest = np.abs(Y).max(axis=0)
        unit = np.where(largest > 0, largest, 1)  # squares of Y could overflow
        deviation = unit * (Y / unit).std(axis=0)
        mean = unit * (Y / unit).mean(axis=0)
        return cls(mean, np.where(deviation > 0, deviation, 1), flat)

    def loss(self, name: str) -> Loss:
        if name != "squared":
            raise ValueError(
                f"{OWNER}: loss must be None with objective='regression', which uses "
                f"the squared error; got {name!r}."
            )
        return Squared(len(self.mean))

    def encode(self, y: Any) -> np.ndarray:
        Y, _ = _numbers(y)
        if Y.shape[1] != len(self.mean):
            raise ValueError(
                f"{OWNER}: y must have {len(self.mean)} targets, as in the first fit; "
                f"got {Y.shape[1]}. Call fit to start again."
            )
        return (Y - self.mean) / self.deviation

    def strata(self, codes: Any) -> np.ndarray | None:
        return None

    def decode(self, S: np.ndarray) -> np.ndarray:
        Y = S * self.deviation + self.mean
        return (Y[:, 0] if self.flat else Y).astype(S.dtype)

    def outputs(self, ops: Ops, S: Tensor) -> dict[str, Tensor]:
        Y = ops.add(ops.multiply(S, self.deviation), self.mean)
        return {"prediction": ops.reshape(Y, -1) if self.flat else Y}


OBJECTIVES: dict[str, Any] = {
    "classification": Classes,
    "regression": Numbers,
    "kernel": None,
}
"""The class of targets of each objective; None if y is not used."""


def training_rows(
    objective: str, X: Any, y: Any, targets: Targets | None = None
) -> tuple[Targets | None, TrainingRows]:
    """The targets and the training rows of X and y.

    Parameters
    ----------
    objective : str
        A key of `OBJECTIVES`.
    X : array or CSR matrix of shape (n, n_features)
        Validated rows.
    y : array or None
        Labels or numbers.
    targets : Targets or None, default None
        Targets of an earlier fit; None derives them from y.

    Returns
    -------
    targets : Targets or None
        None if the objective does not use y.
    rows : TrainingRows
        X with y as numbers.
    """
    kind = OBJECTIVES[objective]
    if kind is None:
        return None, TrainingRows.all(X, None)
    if y is None:
        raise ValueError(
            f"{OWNER} requires y to be passed, but the target y is None: "
            f"objective={objective!r} learns from y. Pass y, or use "
            "objective='kernel'."
        )
    check_unmasked("y", y)
    targets = kind.of(y) if targets is None else targets
    codes = targets.encode(y)
    check_consistent_length(X, codes)
    return targets, TrainingRows.all(X, codes)


def _labels(y: Any) -> np.ndarray:
    """y as validated class labels, (n,)."""
    y = column_or_1d(y)
    if y.dtype.kind == "f":
        check_array(y, ensure_2d=False, estimator=OWNER, input_name="y")
    if y.dtype.kind == "O" and any(label is None or label != label for label in y):
        raise ValueError(
            f"{OWNER}: y has missing labels (None or NaN); remove those rows."
        )
    if type_of_target(y).startswith("continuous"):
        raise ValueError(
            f"{OWNER}: Unknown label type: continuous. objective='classification' "
            "needs class labels; for numbers, use objective='regression'."
        )
    check_classification_targets(y)
    return y


def _numbers(y: Any) -> tuple[np.ndarray, bool]:
    """y in float64, (n, t), and whether its shape was (n,)."""
    check_numeric_target(OWNER, y)
    y = check_array(
        y, ensure_2d=False, dtype=np.float64, estimator=OWNER, input_name="y"
    )
    return y.reshape(len(y), -1), y.ndim == 1
