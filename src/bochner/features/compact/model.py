"""The model that is learned: weights, phases and a head, with exact gradients.

    z = W x + b,   f = cos z or [cos z, sin z],   value = head(f)
    ∂/∂z = −sin z ∘ ∂/∂f_cos + cos z ∘ ∂/∂f_sin,   ∂/∂W = Σ_rows (∂/∂z) xᵀ

One evaluation gives both the cosine and the sine, of which one is the feature and the
other its derivative.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..._core.parallel import for_fixed_blocks
from ..._core.validation import read_only
from ...kernels.base import Kernel
from ...nonlinearities._cosine import cos_sin_phase
from .losses import Loss
from .weights import WEIGHT_BLOCK_ROWS, Parameter, Weights

HEAD_BLOCK_ROWS = 64
"""Rows of features that a thread processes at a time."""

HEAD_BLOCK_COLUMNS = 256
"""Columns of features whose coefficients a thread differentiates at a time."""

ACTIVE_SHARE = 0.75
"""Rows with zero gradient are skipped if the share of the other rows is below this."""

HEAD_POWER = -2 / 3
"""The typical size of a coefficient of f features is f to this power, because more
features share the scores. Powers between −½ and −1 work well for f = 8 … 512."""


class Head(Protocol):
    """The last stage of a model, which turns features into a value per row.

    A value is the loss of a row, or its squared kernel error.
    """

    coefficients: Parameter | None
    """Coefficients of a linear function of the features; None without one."""

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters of the head."""
        ...

    def targets(self, X: Any, y: Any) -> np.ndarray:
        """The targets that the features of a batch are compared with, (b, …)."""
        ...

    def assess(self, F: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The value and the error of every row of features, (b,) each.

        The error is the final measure of quality, for instance 1 for a wrong class.
        """
        ...

    def compare(self, F: np.ndarray, T: np.ndarray) -> np.ndarray:
        """The value of every row; writes the head's gradients and prepares `slopes`."""
        ...

    def active(self) -> np.ndarray | None:
        """Rows of the batch with a non-zero gradient, if they are few; else None."""
        ...

    def slopes(self, rows: Any, out: np.ndarray) -> None:
        """Write ∂ mean value/∂F of some rows (a slice or indices) of the batch."""
        ...


class LinearHead:
    """The loss of scores S = F B + b, with the penalty λ/2 ‖B‖².

    Parameters
    ----------
    loss : Loss
        Loss of a row of scores.
    coefficients : array of shape (f, K)
        Initial B.
    intercept : array of shape (K,)
        Initial b.
    penalty : float
        λ, for features without any factor.
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

        for_fixed_blocks(step, len(F), HEAD_BLOCK_ROWS, F.shape[1])
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

        for_fixed_blocks(step, F.shape[1], HEAD_BLOCK_COLUMNS, len(F))
        G.sum(axis=0, out=self._b.gradient[0])
        return values

    def active(self) -> np.ndarray | None:
        rows = np.flatnonzero(self._G.any(axis=1))
        return rows if len(rows) < ACTIVE_SHARE * len(self._G) else None

    def slopes(self, rows: Any, out: np.ndarray) -> None:
        np.matmul(self._G[rows], self._B.value.T, out=out)


class KernelHead:
    """(k(x, x') − Σ_j a_j² f_j(x) f_j(x'))², over all ordered pairs of a batch.

    Each frequency has its own amplitude a, which is learned too. A batch takes two
    products of b²·f multiply-adds, and the kernel of its rows.

    Parameters
    ----------
    kernel : Kernel
        The kernel to approximate, with its bandwidth resolved.
    amplitudes : array of shape (m,)
        Initial amplitudes.
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
            # a factor 2 for the square, and 2 because a row is on both sides of pairs
            np.matmul(error * F.dtype.type(4 / len(F) ** 2), A, out=slopes[rows])
            np.square(error).mean(axis=1, out=values[rows])

        for_fixed_blocks(step, len(F), HEAD_BLOCK_ROWS, len(F))
        parts = np.einsum("ij,ij->j", slopes, F).reshape(-1, self.amplitudes.value.size)
        parts.sum(axis=0, out=self.amplitudes.gradient[0])
        self._slopes = slopes * factors
        return values

    def active(self) -> np.ndarray | None:
        return None

    def slopes(self, rows: Any, out: np.ndarray) -> None:
        out[:] = self._slopes[rows]

    def _factors(self, F: np.ndarray) -> np.ndarray:
        """Amplitudes of all columns: of the cosines, then of the sines."""
        a = self.amplitudes.value[0]
        return np.tile(a, F.shape[1] // a.size)


RADIANS = 2 * np.pi
"""Radians per turn; the compiled cosines take phases in turns."""


class Model:
    """Cosines of learned frequencies and phases, followed by a head.

    Parameters
    ----------
    weights : Weights
        W, (m, d).
    biases : array of shape (m,)
        Phases b, in radians.
    head : Head
        Turns features into values.
    pairs : bool
        Whether sines are features too.
    learns_biases : bool
        Whether the phases are learned.
    """

    def __init__(
        self,
        weights: Weights,
        biases: np.ndarray,
        head: Head,
        *,
        pairs: bool,
        learns_biases: bool,
    ) -> None:
        self.weights, self.head = weights, head
        self.biases = Parameter.row(biases)
        self._pairs = pairs
        self._learns_biases = learns_biases
        self._scratch_arrays: dict[int, np.ndarray] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scratch_arrays": {}}

    @property
    def dtype(self) -> np.dtype:
        """Floating type in which the model computes."""
        return self.biases.value.dtype

    @property
    def map_parameters(self) -> list[Parameter]:
        """The learned parameters of the features."""
        if self._learns_biases:
            return [self.weights.parameter, self.biases]
        return [self.weights.parameter]

    @property
    def parameters(self) -> list[Parameter]:
        """All learned parameters: of the features, then of the head."""
        return self.map_parameters + self.head.parameters

    def differentiate(self, X: Any, y: Any) -> float:
        """Write the gradients of all parameters; returns the batch's mean value."""
        batch = self.weights.prepare(X)
        both = self._cosines(batch, X.shape[0])
        value = self._compare(X, y, both)
        active = self.head.active()
        if active is not None:  # the slopes of the other rows are zero
            batch, both = self.weights.select(batch, active), both[active]
        slopes = self._phase_slopes(both, active)
        self.weights.differentiate(batch, slopes)
        if self._learns_biases:
            slopes.sum(axis=0, out=self.biases.gradient[0])
        return value

    def differentiate_head(self, X: Any, y: Any) -> float:
        """Write the gradients of the head only, in less than half of the time."""
        both = self._cosines(self.weights.prepare(X), X.shape[0])
        return self._compare(X, y, both)

    def _compare(self, X: Any, y: Any, both: np.ndarray) -> float:
        """The mean value of a batch; writes the head's gradients."""
        T = self.head.targets(X, y)
        values = self.head.compare(self._features(both), T)
        return float(values.mean(dtype=np.float64))

    def assess(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """The value and the error of every row of a batch, (b,) each."""
        return self.head.assess(self.features(X), self.head.targets(X, y))

    def features(self, X: Any) -> np.ndarray:
        """Features f of every row of a batch, (b, m) or (b, 2m), without any factor."""
        both = self._cosines(self.weights.prepare(X), X.shape[0])
        return self._features(both)

    def _cosines(self, batch: Any, n: int) -> np.ndarray:
        """[cos z, sin z] of every row, (b, 2m)."""
        biases = read_only(self.biases.value[0] / RADIANS)
        Z = self._scratch(0, n, biases.size)
        self.weights.project(batch, Z)
        both = self._scratch(1, n, 2 * biases.size)

        def step(rows: slice) -> None:
            cos_sin_phase(Z[rows], biases, both[rows])

        for_fixed_blocks(step, n, WEIGHT_BLOCK_ROWS, 2 * biases.size)
        return both

    def _features(self, both: np.ndarray) -> np.ndarray:
        """The features among [cos z, sin z]."""
        return both if self._pairs else both[:, : both.shape[1] // 2]

    def _phase_slopes(self, both: np.ndarray, active: np.ndarray | None) -> np.ndarray:
        """∂ mean value/∂z, (b, m), from the head's slopes, for the rows of `both`.

        `active` holds the indices of these rows in the batch; None means all rows.
        """
        m = both.shape[1] // 2
        slopes = self._scratch(2, len(both), self._features(both).shape[1])
        out = slopes[:, :m]

        def step(rows: slice) -> None:
            self.head.slopes(rows if active is None else active[rows], slopes[rows])
            np.multiply(out[rows], -both[rows, m:], out=out[rows])
            if self._pairs:
                out[rows] += slopes[rows, m:] * both[rows, :m]

        for_fixed_blocks(step, len(both), WEIGHT_BLOCK_ROWS, m)
        return out

    def _scratch(self, place: int, n: int, n_columns: int) -> np.ndarray:
        """An array that is reused for every batch, because new pages are slow."""
        size = n * n_columns
        scratch = self._scratch_arrays.get(place)
        if scratch is None or scratch.size < size:
            scratch = np.empty(size, dtype=self.dtype)
            self._scratch_arrays[place] = scratch
        return scratch[:size].reshape(n, n_columns)
