"""What learned features are for: scores under a loss, or a kernel.

A head compares the features of a batch with what they should give, and says how the
mean of its values changes with them.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .._threads import for_fixed_blocks
from ..kernels import Kernel
from .losses import Loss
from .parameters import Parameter

ROWS = 64
"""Rows of features that a thread takes at a time."""

COLUMNS = 256
"""Columns of features whose coefficients a thread differentiates at a time."""

FEW = 0.75
"""Share of rows with slopes below which the others are left out of what follows."""


HEAD_POWER = -2 / 3
"""f to this power is the size of a coefficient of f features: more features share the
scores. Of the powers that do well for f = 8 … 512, between −½ and −1."""


class Head(Protocol):
    """The end of the pipeline, with parameters of its own."""

    coefficients: Parameter | None
    """Those of a linear function of the features, where there is one."""

    @property
    def parameters(self) -> list[Parameter]: ...

    def targets(self, X: Any, y: Any) -> np.ndarray:
        """What the features of a batch are compared with, (b, …)."""
        ...

    def assess(self, F: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of every row of features its value, and what counts in the end, (b,)."""
        ...

    def compare(self, F: np.ndarray, T: np.ndarray) -> np.ndarray:
        """The value of every row, with own gradients written and slopes made ready."""
        ...

    def active(self) -> np.ndarray | None:
        """The rows of the batch that have slopes, where those are few; else None."""
        ...

    def slopes(self, rows: Any, out: np.ndarray) -> None:
        """Write ∂ mean value/∂F of some rows (a slice or an index) of the batch."""
        ...


class LinearHead:
    """Scores S = F B + b under a loss, and λ/2 ‖B‖² on the side.

    Parameters
    ----------
    loss : Loss
    coefficients : array of (f, K)
    intercept : array of (K,)
    penalty : float
        λ, for coefficients of these features.
    """

    coefficients: Parameter | None

    def __init__(
        self,
        loss: Loss,
        coefficients: np.ndarray,
        intercept: np.ndarray,
        penalty: float,
    ) -> None:
        self.loss, self.penalty = loss, penalty
        size = len(coefficients) ** HEAD_POWER
        self._B = Parameter(coefficients, np.full(len(coefficients), size))
        self._b = Parameter.row(intercept, size)
        self.coefficients = self._B
        self._G = np.empty((0, loss.n_outputs))

    @property
    def parameters(self) -> list[Parameter]:
        return [self._B, self._b]

    def targets(self, X: Any, y: Any) -> np.ndarray:
        return self.loss.encode(y, self._B.value.dtype)

    def scores(self, F: np.ndarray) -> np.ndarray:
        """F B + b, (b, K)."""
        S = np.empty((len(F), self.loss.n_outputs), dtype=F.dtype)

        def step(rows: slice) -> None:
            np.matmul(F[rows], self._B.value, out=S[rows])
            S[rows] += self._b.value

        for_fixed_blocks(step, len(F), ROWS, F.shape[1])
        return S

    def assess(self, F: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        S = self.scores(F)
        return self.loss(S, T)[0], self.loss.errors(S, T)

    def compare(self, F: np.ndarray, T: np.ndarray) -> np.ndarray:
        values, G = self.loss(self.scores(F), T)
        G /= len(F)
        self._G = G
        B, penalty = self._B, F.dtype.type(self.penalty)

        def step(columns: slice) -> None:
            np.matmul(F[:, columns].T, G, out=B.gradient[columns])
            B.gradient[columns] += B.value[columns] * penalty

        for_fixed_blocks(step, F.shape[1], COLUMNS, len(F))
        G.sum(axis=0, out=self._b.gradient[0])
        return values

    def active(self) -> np.ndarray | None:
        rows = np.flatnonzero(self._G.any(axis=1))
        return rows if len(rows) < FEW * len(self._G) else None

    def slopes(self, rows: Any, out: np.ndarray) -> None:
        np.matmul(self._G[rows], self._B.value.T, out=out)


class KernelHead:
    """(k(x, x') − Σ_j a_j² f_j(x) f_j(x'))², over all ordered pairs of a batch.

    Each frequency has an amplitude a of its own, learned along. b²·f multiply-adds
    twice, and the kernel of the batch.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    amplitudes : array of (m,)
    """

    coefficients: Parameter | None = None

    def __init__(self, kernel: Kernel, amplitudes: np.ndarray) -> None:
        self.kernel = kernel
        self.amplitudes = Parameter.row(amplitudes, float(np.abs(amplitudes).mean()))
        self._slopes = np.empty((0, 0))

    @property
    def parameters(self) -> list[Parameter]:
        return [self.amplitudes]

    def targets(self, X: Any, y: Any) -> np.ndarray:
        return self.kernel(X)

    def assess(self, F: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        A = F * self._factors(F)
        values = np.square(A @ A.T - T).mean(axis=1)
        return values, values

    def compare(self, F: np.ndarray, T: np.ndarray) -> np.ndarray:
        factors = self._factors(F)
        A, slopes = F * factors, np.empty(F.shape, dtype=F.dtype)
        values = np.empty(len(F), dtype=F.dtype)

        def step(rows: slice) -> None:
            error = A[rows] @ A.T - T[rows]
            # twice for the square, twice because a row is on both sides of pairs
            np.matmul(error * F.dtype.type(4 / len(F) ** 2), A, out=slopes[rows])
            np.square(error).mean(axis=1, out=values[rows])

        for_fixed_blocks(step, len(F), ROWS, len(F))
        parts = np.einsum("ij,ij->j", slopes, F).reshape(-1, self.amplitudes.value.size)
        parts.sum(axis=0, out=self.amplitudes.gradient[0])
        self._slopes = slopes * factors
        return values

    def active(self) -> np.ndarray | None:
        return None

    def slopes(self, rows: Any, out: np.ndarray) -> None:
        out[:] = self._slopes[rows]

    def _factors(self, F: np.ndarray) -> np.ndarray:
        """Amplitudes of all columns: those of cosines, then those of sines."""
        a = self.amplitudes.value[0]
        return np.tile(a, F.shape[1] // a.size)
