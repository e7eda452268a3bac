"""Losses of rows of scores: values and slopes, from one look at the scores.

Of more than two classes all scores are compared with each other, which few features
need: one class against the rest asks for a half-space per class.
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
class _OfClasses:
    """What losses of classes share: one score for two of them, one for each of more."""

    n_classes: int

    @property
    def n_outputs(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    def encode(self, y: np.ndarray, dtype: Any) -> np.ndarray:
        return _signs(y, dtype) if self.n_classes == 2 else y

    def errors(self, S: np.ndarray, T: np.ndarray) -> np.ndarray:
        """1 where the best score is of another class, (b,)."""
        right = (T * S)[:, 0] > 0 if S.shape[1] == 1 else S.argmax(axis=1) == T
        return 1.0 - right


@dataclass(frozen=True)
class Hinge(_OfClasses):
    """Σ over other classes k of max(0, 1 − m_k)^power, m_k = s_y − s_k the margin.

    Of two classes it is one term with m = t s. power 2 is bochner's hinge: its minimum
    has the most likely class on top, also where none is likelier than all others
    together (comparing with the best other class alone does not keep that, nor does
    power 1, the paper's, which has no slope at the margin).

    References
    ----------
    J. Weston and C. Watkins, Support vector machines for multi-class pattern
    recognition, ESANN 1999. T. Zhang, Statistical analysis of some multi-category large
    margin classification methods, JMLR 2004.
    """

    power: int = 2

    def __call__(self, S: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.n_classes == 2:
            values, slopes = self._of_missing(np.maximum(1 - T * S, 0))
            return values[:, 0], -T * slopes
        rows = np.arange(len(T))
        missing = np.maximum(S - S[rows, T][:, None] + 1, 0)
        missing[rows, T] = 0
        values, slopes = self._of_missing(missing)
        slopes[rows, T] = -slopes.sum(axis=1)
        return values.sum(axis=1), slopes

    def _of_missing(self, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The function of what is missing to a margin of 1, and its slope."""
        if self.power == 1:
            return missing, (missing > 0).astype(missing.dtype)
        return missing * missing, 2 * missing


@dataclass(frozen=True)
class Log(_OfClasses):
    """log Σ_k exp s_k − s_y: for two classes log(1 + exp(−t s)) of one score."""

    def __call__(self, S: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.n_classes == 2:
            return -log_expit(T * S)[:, 0], -T * expit(-T * S)
        rows = np.arange(len(T))
        total = logsumexp(S, axis=1)
        P = np.exp(S - total[:, None])
        P[rows, T] -= 1
        return total - S[rows, T], P


def linear_hinge(n_classes: int) -> Hinge:
    """The hinge as the paper has it."""
    return Hinge(n_classes, power=1)


LOSSES: dict[str, Callable[[int], Loss]] = {
    "hinge": Hinge,
    "linear_hinge": linear_hinge,
    "log": Log,
}
"""Losses of classification by their names."""
