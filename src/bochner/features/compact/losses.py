"""Losses of rows of scores: values and gradients, computed together.

With more than two classes, all scores are compared with each other. Maps of few
features need this: one class against the rest would need a half-space per class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, log_expit, logsumexp


class Loss(Protocol):
    """A loss of K scores per row."""

    @property
    def n_outputs(self) -> int:
        """K."""
        ...

    def encode(self, y: np.ndarray, dtype: Any) -> np.ndarray:
        """Targets in the form that the loss compares with scores, (b, …)."""
        ...

    def __call__(self, S: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The loss of every row, (b,), and its gradient ∂/∂S, (b, K)."""
        ...

    def errors(self, S: np.ndarray, T: np.ndarray) -> np.ndarray:
        """The error of every row, (b,): 1 for a wrong class, or the loss itself."""
        ...


@dataclass(frozen=True)
class Squared:
    """½ ‖s − t‖², for any number of targets."""

    n_outputs: int = 1

    def encode(self, y: np.ndarray, dtype: Any) -> np.ndarray:
        return y.reshape(len(y), -1).astype(dtype)

    def __call__(self, S: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        R = S - T
        return 0.5 * (R * R).sum(axis=1), R

    def errors(self, S: np.ndarray, T: np.ndarray) -> np.ndarray:
        return self(S, T)[0]


@dataclass(frozen=True)
class _ClassLoss:
    """Base class: one score for two classes, otherwise one score per class."""

    n_classes: int

    @property
    def n_outputs(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    def encode(self, y: np.ndarray, dtype: Any) -> np.ndarray:
        """−1 and +1 for two classes, (b, 1); otherwise the class numbers, (b,)."""
        return (2 * y[:, None] - 1).astype(dtype) if self.n_classes == 2 else y

    def errors(self, S: np.ndarray, T: np.ndarray) -> np.ndarray:
        """1 if another class has the best score, otherwise 0, (b,)."""
        correct = (T * S)[:, 0] > 0 if S.shape[1] == 1 else S.argmax(axis=1) == T
        return 1.0 - correct


@dataclass(frozen=True)
class Hinge(_ClassLoss):
    """Σ_{k ≠ y} max(0, 1 − m_k)^power with margins m_k = s_y − s_k.

    For two classes this is one term, with m = t s for t = ±1. Power 2 is bochner's
    hinge: at its minimum the most likely class has the largest score, even if that
    class has a probability below ½. This does not hold if scores are compared with the
    best other class only, nor for power 1 as in the paper, whose gradient jumps at the
    margin.

    References
    ----------
    J. Weston and C. Watkins, Support vector machines for multi-class pattern
    recognition, ESANN 1999. T. Zhang, Statistical analysis of some multi-category large
    margin classification methods, JMLR 2004.
    """

    power: int = 2

    def __call__(self, S: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.n_classes == 2:
            values, slopes = self._of_shortfall(np.maximum(1 - T * S, 0))
            return values[:, 0], -T * slopes
        rows = np.arange(len(T))
        shortfall = np.maximum(S - S[rows, T][:, None] + 1, 0)
        shortfall[rows, T] = 0
        values, slopes = self._of_shortfall(shortfall)
        slopes[rows, T] = -slopes.sum(axis=1)
        return values.sum(axis=1), slopes

    def _of_shortfall(self, shortfall: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """shortfall^power and its derivative, for the shortfall max(0, 1 − margin)."""
        if self.power == 1:
            return shortfall, (shortfall > 0).astype(shortfall.dtype)
        return shortfall * shortfall, 2 * shortfall


@dataclass(frozen=True)
class Log(_ClassLoss):
    """log Σ_k exp s_k − s_y; for two classes log(1 + exp(−t s)) of one score s."""

    def __call__(self, S: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.n_classes == 2:
            return -log_expit(T * S)[:, 0], -T * expit(-T * S)
        rows = np.arange(len(T))
        total = logsumexp(S, axis=1)
        P = np.exp(S - total[:, None])
        P[rows, T] -= 1
        return total - S[rows, T], P


def linear_hinge(n_classes: int) -> Hinge:
    """The hinge loss of the paper, of power 1."""
    return Hinge(n_classes, power=1)


LOSSES: dict[str, Callable[[int], Loss]] = {
    "hinge": Hinge,
    "linear_hinge": linear_hinge,
    "log": Log,
}
"""Losses of classification by name."""
