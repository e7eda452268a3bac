"""Targets of each objective: what y becomes, and what scores become again."""

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
    """What y means."""

    def loss(self, name: str) -> Loss: ...

    def encode(self, y: Any) -> np.ndarray:
        """y of some rows as numbers to learn from, (n,) or (n, t)."""
        ...

    def strata(self, codes: Any) -> np.ndarray | None:
        """Groups that a held-out part takes in proportion, (n,)."""
        ...

    def decode(self, S: np.ndarray) -> np.ndarray:
        """The prediction that scores, (n, K), stand for."""
        ...

    def outputs(self, ops: Ops, S: Tensor) -> dict[str, Tensor]:
        """The same in the operations of any namespace, by name."""
        ...


@dataclass(frozen=True)
class Classes:
    """Labels of any type, as numbers from 0."""

    classes: np.ndarray

    @classmethod
    def of(cls, y: Any) -> Classes:
        """All labels that y holds, or that are named for rows to come."""
        classes = np.unique(_labels(y))
        if len(classes) < 2:
            raise ValueError(
                f"{OWNER}: objective='classification' needs at least 2 classes in y; "
                f"got one class only: {classes.tolist()}."
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
    """One or several numbers a row, learned with mean 0 and deviation 1."""

    mean: np.ndarray  # (t,)
    deviation: np.ndarray  # (t,), 1 where y is constant
    flat: bool

    @classmethod
    def of(cls, y: Any) -> Numbers:
        Y, flat = _numbers(y)
        largest = np.abs(Y).max(axis=0)
        unit = np.where(largest > 0, largest, 1)  # squares of Y may overflow
        deviation = unit * (Y / unit).std(axis=0)
        mean = unit * (Y / unit).mean(axis=0)
        return cls(mean, np.where(deviation > 0, deviation, 1), flat)

    def loss(self, name: str) -> Loss:
        if name != "squared":
            raise ValueError(
                f"{OWNER}: objective='regression' has the squared error; leave "
                f"loss=None, got {name!r}."
            )
        return Squared(len(self.mean))

    def encode(self, y: Any) -> np.ndarray:
        Y, _ = _numbers(y)
        if Y.shape[1] != len(self.mean):
            raise ValueError(
                f"{OWNER}: y has {Y.shape[1]} targets, and had {len(self.mean)} before."
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
"""What y means to each objective; None: nothing."""


def read(
    objective: str, X: Any, y: Any, targets: Targets | None = None
) -> tuple[Targets | None, TrainingRows]:
    """What y means, unless that is known already, and the rows with y as numbers."""
    kind = OBJECTIVES[objective]
    if kind is None:
        return None, TrainingRows.all(X, None)
    if y is None:
        raise ValueError(
            f"{OWNER} requires y to be passed, but the target y is None: "
            f"objective={objective!r} learns from it. Give y, or take "
            "objective='kernel'."
        )
    check_unmasked("y", y)
    targets = kind.of(y) if targets is None else targets
    codes = targets.encode(y)
    check_consistent_length(X, codes)
    return targets, TrainingRows.all(X, codes)


def _labels(y: Any) -> np.ndarray:
    y = column_or_1d(y)
    if y.dtype.kind == "f":
        check_array(y, ensure_2d=False, estimator=OWNER, input_name="y")
    if y.dtype.kind == "O" and any(label is None or label != label for label in y):
        raise ValueError(
            f"{OWNER}: y holds missing labels (None or NaN); leave those rows out."
        )
    if type_of_target(y).startswith("continuous"):
        raise ValueError(
            f"{OWNER}: Unknown label type: continuous. objective='classification' "
            "takes labels; for numbers take objective='regression'."
        )
    check_classification_targets(y)
    return y


def _numbers(y: Any) -> tuple[np.ndarray, bool]:
    """y in float64, (n, t), and whether it came as (n,)."""
    check_numeric_target(OWNER, y)
    y = check_array(
        y, ensure_2d=False, dtype=np.float64, estimator=OWNER, input_name="y"
    )
    return y.reshape(len(y), -1), y.ndim == 1
