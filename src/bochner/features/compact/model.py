"""The model that is learned: weights, phases and a head, with exact gradients.

    z = W x + b,   f = cos z or [cos z, sin z],   value = head(f)
    ∂/∂z = −sin z ∘ ∂/∂f_cos + cos z ∘ ∂/∂f_sin,   ∂/∂W = Σ_rows (∂/∂z) xᵀ

One evaluation gives cosine and sine, of which one is the feature and the other the
slope.
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
        """Amplitudes of all columns: those of cosines, then those of sines."""
        a = self.amplitudes.value[0]
        return np.tile(a, F.shape[1] // a.size)


RADIANS = 2 * np.pi
"""Of one turn, in which compiled cosines take phases."""


class Model:
    """Cosines of learned frequencies and phases, under a head.

    Parameters
    ----------
    weights : Weights
        W, (m, d).
    biases : array of (m,)
        Phases b, in radians.
    head : Head
    pairs : bool
        Whether sines are features too.
    learns_biases : bool
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
        self._kept: dict[int, np.ndarray] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}}  # scratch

    @property
    def dtype(self) -> np.dtype:
        return self.biases.value.dtype

    @property
    def map_parameters(self) -> list[Parameter]:
        """Those of the features."""
        learned = [self.weights.parameter]
        return [*learned, self.biases] if self._learns_biases else learned

    @property
    def parameters(self) -> list[Parameter]:
        return self.map_parameters + self.head.parameters

    def differentiate(self, X: Any, y: Any) -> float:
        """Write all gradients of the mean value of a batch, and return that."""
        batch = self.weights.prepare(X)
        both = self._cosines(batch, X.shape[0])
        value = self._compare(X, y, both)
        active = self.head.active()
        if active is not None:  # the others' slopes are zero
            batch, both = self.weights.select(batch, active), both[active]
        through = self._through(both, active)
        self.weights.differentiate(batch, through)
        if self._learns_biases:
            through.sum(axis=0, out=self.biases.gradient[0])
        return value

    def differentiate_head(self, X: Any, y: Any) -> float:
        """Write the gradients of the head alone, which saves the longer half."""
        both = self._cosines(self.weights.prepare(X), X.shape[0])
        return self._compare(X, y, both)

    def _compare(self, X: Any, y: Any, both: np.ndarray) -> float:
        T = self.head.targets(X, y)
        values = self.head.compare(self._features(both), T)
        return float(values.mean(dtype=np.float64))

    def assess(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Of every row of a batch its value, and what counts in the end, (b,)."""
        return self.head.assess(self.features(X), self.head.targets(X, y))

    def features(self, X: Any) -> np.ndarray:
        """f of every row of a batch, (b, m) or (b, 2m), without any factor."""
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
        return both if self._pairs else both[:, : both.shape[1] // 2]

    def _through(self, both: np.ndarray, active: np.ndarray | None) -> np.ndarray:
        """Slopes ∂/∂z of the head's slopes, (b, m), for the rows that `both` has."""
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
        """An array that is kept from batch to batch: fresh pages are slow."""
        size = n * n_columns
        if place not in self._kept or self._kept[place].size < size:
            self._kept[place] = np.empty(size, dtype=self.dtype)
        return self._kept[place][:size].reshape(n, n_columns)
