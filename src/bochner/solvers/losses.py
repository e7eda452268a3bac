"""Losses of rows of scores: values, slopes and curvatures.

A loss turns targets y of a block into what it compares scores S with, and gives the sum
of its values, its slopes ∂/∂S and the curvature that `curve` multiplies directions by.
`separable` losses treat every column by itself, so that each has its own step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from scipy.special import expit, log_expit


class Loss(Protocol):
    """A convex loss of K scores a row."""

    @property
    def separable(self) -> bool: ...

    @property
    def quadratic(self) -> bool: ...

    @property
    def typical_curvature(self) -> float:
        """For preconditioners, which only need its size."""
        ...

    @property
    def origin(self) -> Any:
        """What targets are measured from; an intercept takes it up."""
        ...

    def about(self, y: np.ndarray) -> Loss:
        """The same loss with targets measured from the mean of y, where they can be."""
        ...

    def encode(self, y: np.ndarray, dtype: Any) -> np.ndarray:
        """Targets as scores are compared with them, (b, K)."""
        ...

    def values(self, S: np.ndarray, T: np.ndarray, weight: Any) -> np.ndarray:
        """Σ of values per column, (K,) float64; in full in the first if joint."""
        ...

    def slopes(
        self, S: np.ndarray, T: np.ndarray, weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """∂/∂S, (b, K), and the curvature of the rows, (b, …)."""
        ...

    def curve(self, curvature: np.ndarray, Q: np.ndarray) -> np.ndarray:
        """∂²/∂S² times Q, (b, K)."""
        ...

    def most_curved(self, curvature: np.ndarray) -> np.ndarray:
        """One curvature a row, (b,), that none of its columns exceeds."""
        ...


def signs(y: np.ndarray, n_classes: int, dtype: Any) -> np.ndarray:
    """+1 for a row's class and −1 elsewhere, (b, K); one column for two classes."""
    if n_classes == 2:
        return (2 * y[:, None] - 1).astype(dtype)
    return np.where(y[:, None] == np.arange(n_classes), 1, -1).astype(dtype)


def _weighted(A: np.ndarray, weight: Any) -> np.ndarray:
    return A if weight is None else A * weight[:, None].astype(A.dtype)


def log_partition(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log Σ exp s of every row, (b,), and its slopes, the softmax, (b, K).

    Small blocks by the hundred are the rule here: SciPy's own functions of that name
    take ten times as long for them.
    """
    largest = S.max(axis=1, keepdims=True)
    P = np.exp(S - largest)
    total = P.sum(axis=1, keepdims=True)
    P /= total
    return (largest + np.log(total))[:, 0], P


@dataclass(frozen=True)
class Squared:
    """½ w (s − t)², t the target, or ±1 for each of `n_classes`.

    Targets that are numbers are measured from `origin`: float32 keeps few digits of
    targets far from zero.
    """

    n_classes: int | None = None
    origin: Any = 0.0  # or (K,)
    separable = True
    quadratic = True
    typical_curvature = 1.0

    def about(self, y: np.ndarray) -> Squared:
        if self.n_classes is not None:
            return self
        return replace(self, origin=y.reshape(len(y), -1).mean(axis=0))

    def encode(self, y: np.ndarray, dtype: Any) -> np.ndarray:
        if self.n_classes is not None:
            return signs(y, self.n_classes, dtype)
        return (y.reshape(len(y), -1) - self.origin).astype(dtype)

    def values(self, S: np.ndarray, T: np.ndarray, weight: Any) -> np.ndarray:
        return 0.5 * _weighted((S - T) ** 2, weight).sum(axis=0, dtype=np.float64)

    def slopes(
        self, S: np.ndarray, T: np.ndarray, weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        return _weighted(S - T, weight), _weighted(np.ones_like(S), weight)

    def curve(self, curvature: np.ndarray, Q: np.ndarray) -> np.ndarray:
        return curvature * Q

    def most_curved(self, curvature: np.ndarray) -> np.ndarray:
        return curvature.max(axis=1)


class ClassLoss:
    """What losses of classes share: their targets are codes, and have no origin."""

    origin = 0.0

    def about(self, y: np.ndarray) -> Self:
        return self


@dataclass(frozen=True)
class SquaredHinge(ClassLoss):
    """w max(0, 1 − t s)², t = ±1: LIBLINEAR's, one class against the rest."""

    n_classes: int
    separable = True
    quadratic = False
    typical_curvature = 0.2  # 2 where a row is active, which one in ten is

    def encode(self, y: np.ndarray, dtype: Any) -> np.ndarray:
        return signs(y, self.n_classes, dtype)

    def values(self, S: np.ndarray, T: np.ndarray, weight: Any) -> np.ndarray:
        missing = np.maximum(1 - T * S, 0)
        return _weighted(missing**2, weight).sum(axis=0, dtype=np.float64)

    def slopes(
        self, S: np.ndarray, T: np.ndarray, weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        missing = np.maximum(1 - T * S, 0)
        active = np.where(missing > 0, 2, 0).astype(S.dtype)
        return _weighted(-2 * T * missing, weight), _weighted(active, weight)

    def curve(self, curvature: np.ndarray, Q: np.ndarray) -> np.ndarray:
        return curvature * Q

    def most_curved(self, curvature: np.ndarray) -> np.ndarray:
        return curvature.max(axis=1)


@dataclass(frozen=True)
class Logistic(ClassLoss):
    """w log(1 + exp(−t s)), t = ±1: two classes, one score."""

    n_classes: int = 2
    separable = True
    quadratic = False
    typical_curvature = 0.1  # p (1 − p)

    def encode(self, y: np.ndarray, dtype: Any) -> np.ndarray:
        return signs(y, 2, dtype)

    def values(self, S: np.ndarray, T: np.ndarray, weight: Any) -> np.ndarray:
        return -_weighted(log_expit(T * S), weight).sum(axis=0, dtype=np.float64)

    def slopes(
        self, S: np.ndarray, T: np.ndarray, weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        wrong = expit(-T * S)
        return _weighted(-T * wrong, weight), _weighted(wrong * (1 - wrong), weight)

    def curve(self, curvature: np.ndarray, Q: np.ndarray) -> np.ndarray:
        return curvature * Q

    def most_curved(self, curvature: np.ndarray) -> np.ndarray:
        return curvature.max(axis=1)

    def probabilities(self, S: np.ndarray) -> np.ndarray:
        """(n, 2) from scores (n, 1)."""
        return np.hstack([expit(-S), expit(S)])


@dataclass(frozen=True)
class Multinomial(ClassLoss):
    """w (log Σ exp s − s_y): K > 2 classes, jointly."""

    n_classes: int
    separable = False
    quadratic = False
    typical_curvature = 0.05  # p (1 − p), over all classes

    def encode(self, y: np.ndarray, dtype: Any) -> np.ndarray:
        return (y[:, None] == np.arange(self.n_classes)).astype(dtype)

    def values(self, S: np.ndarray, T: np.ndarray, weight: Any) -> np.ndarray:
        value = log_partition(S)[0] - (S * T).sum(axis=1)
        total = np.zeros(S.shape[1])
        total[0] = value.sum(dtype=np.float64) if weight is None else value @ weight
        return total

    def slopes(
        self, S: np.ndarray, T: np.ndarray, weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        P = log_partition(S)[1]
        w = np.ones(len(S)) if weight is None else weight
        # the weight rides along as one more column
        return _weighted(P - T, weight), np.column_stack([P, w]).astype(S.dtype)

    def curve(self, curvature: np.ndarray, Q: np.ndarray) -> np.ndarray:
        P, w = curvature[:, :-1], curvature[:, -1:]
        PQ = P * Q
        return w * (PQ - P * PQ.sum(axis=1, keepdims=True))

    def most_curved(self, curvature: np.ndarray) -> np.ndarray:
        P, w = curvature[:, :-1], curvature[:, -1]
        return 2 * w * (P * (1 - P)).max(axis=1)  # Gershgorin

    def probabilities(self, S: np.ndarray) -> np.ndarray:
        """(n, K) from scores (n, K)."""
        return log_partition(S)[1]


def log_loss(n_classes: int) -> Logistic | Multinomial:
    """The logistic loss for so many classes."""
    return Logistic() if n_classes == 2 else Multinomial(n_classes)


LOSSES: dict[str, Callable[[int], Loss]] = {
    "hinge": SquaredHinge,
    "squared": Squared,
    "log": log_loss,
}
"""Losses of classifiers by name, for so many classes."""
