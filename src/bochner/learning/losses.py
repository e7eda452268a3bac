"""Losses of rows of scores: values and slopes, from one look at the scores.

`hinge` and `log` of more than two classes are joint: the scores of all classes are
compared with each other, which few features need (one class against the rest asks
for a half-space per class).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, log_expit, logsumexp


class Loss(Protocol):
    """A loss of K scores a row."""

    @property
    def n_outputs(self) -> int:
        """K."""
        ...

    def encode(self, y: np.ndarray, dtype: Any) -> np.ndarray:
        """Targets, (b, …), as scores are compared with them."""
        ...

    def __call__(self, S: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The value of every row, (b,), and its slopes ∂/∂S, (b, K)."""
        ...

    def errors(self, S: np.ndarray, T: np.ndarray) -> np.ndarray:
        """What counts in the end, (b,): 1 for a wrong class, or the value itself."""
        ...


def _signs(y: np.ndarray, dtype: Any) -> np.ndarray:
    """−1 and +1 for classes 0 and 1, (b, 1)."""
    return (2 * y[:, None] - 1).astype(dtype)


def _best_other(S: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every row the class ≠ y of the largest score, and s_y minus that score."""
    rows = np.arange(len(y))
    others = S.copy()
    others[rows, y] = -np.inf
    other = others.argmax(axis=1)
    return other, S[rows, y] - S[rows, other]


def _pair_slopes(
    S: np.ndarray, y: np.ndarray, other: np.ndarray, slope: np.ndarray
) -> np.ndarray:
    """∂/∂S of a function of s_y − s_other with this slope."""
    G = np.zeros_like(S)
    rows = np.arange(len(y))
    G[rows, y], G[rows, other] = slope, -slope
    return G


def _mistakes(S: np.ndarray, T: np.ndarray) -> np.ndarray:
    """1 where the best score is of another class, (b,)."""
    right = (T * S)[:, 0] > 0 if S.shape[1] == 1 else S.argmax(axis=1) == T
    return 1.0 - right


@dataclass(frozen=True)
class Squared:
    """½ ‖s − t‖², of any number of targets."""

    n_outputs: int = 1

    def encode(self, y: np.ndarray, dtype: Any) -> np.ndarray:
        return y.reshape(len(y), -1).astype(dtype)

    def __call__(self, S: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        R = S - T
        return 0.5 * (R * R).sum(axis=1), R

    def errors(self, S: np.ndarray, T: np.ndarray) -> np.ndarray:
        return self(S, T)[0]


@dataclass(frozen=True)
class Hinge:
    """max(0, 1 − m)^power, m the margin: t s for two classes, s_y − max s_other for K.

    power 2 is bochner's hinge; 1 is the paper's, which has no slope at the margin.

    References
    ----------
    K. Crammer and Y. Singer, On the algorithmic implementation of multiclass
    kernel-based vector machines, JMLR 2001.
    """

    n_classes: int
    power: int = 2

    @property
    def n_outputs(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    def encode(self, y: np.ndarray, dtype: Any) -> np.ndarray:
        return _signs(y, dtype) if self.n_classes == 2 else y

    def __call__(self, S: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.n_classes == 2:
            value, slope = self._of_margin((T * S)[:, 0])
            return value, T * slope[:, None]
        other, margin = _best_other(S, T)
        value, slope = self._of_margin(margin)
        return value, _pair_slopes(S, T, other, slope)

    def _of_margin(self, margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        missing = np.maximum(1 - margin, 0)
        if self.power == 1:
            return missing, -(missing > 0).astype(margin.dtype)
        return missing * missing, -2 * missing

    def errors(self, S: np.ndarray, T: np.ndarray) -> np.ndarray:
        return _mistakes(S, T)


@dataclass(frozen=True)
class Log:
    """log Σ_k exp s_k − s_y: for two classes log(1 + exp(−t s)) of one score."""

    n_classes: int

    @property
    def n_outputs(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    def encode(self, y: np.ndarray, dtype: Any) -> np.ndarray:
        return _signs(y, dtype) if self.n_classes == 2 else y

    def __call__(self, S: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.n_classes == 2:
            return -log_expit(T * S)[:, 0], -T * expit(-T * S)
        rows = np.arange(len(T))
        total = logsumexp(S, axis=1)
        P = np.exp(S - total[:, None])
        P[rows, T] -= 1
        return total - S[rows, T], P

    def errors(self, S: np.ndarray, T: np.ndarray) -> np.ndarray:
        return _mistakes(S, T)


def hinge(n_classes: int) -> Hinge:
    """The squared hinge of so many classes."""
    return Hinge(n_classes)


def linear_hinge(n_classes: int) -> Hinge:
    """The hinge as the paper has it."""
    return Hinge(n_classes, power=1)


LOSSES: dict[str, Callable[[int], Loss]] = {
    "hinge": hinge,
    "linear_hinge": linear_hinge,
    "log": Log,
}
"""Losses of classification by their names."""
