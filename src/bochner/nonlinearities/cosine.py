"""Cosines and sines of phases: features of shift-invariant kernels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .._core.ops import Ops, Tensor
from .._core.random import Stream
from .._core.validation import check_option, read_only
from ..kernels.base import Kernel
from ..kernels.shift_invariant import Gaussian, ShiftInvariant
from ..projections.algebra import FLOAT64
from ..projections.base import LinearMap, checked_output
from ._cosine import cos_phase, cos_sin, take_turns
from .base import Nonlinearity, ProjectedRows, SampledNonlinearity, TracedRows


@dataclass(frozen=True, eq=False)
class ReducedPhases(LinearMap):
    """z = W x − 2π·rint(W x / 2π), computed in float64 and then rounded to `dtype`.

    Cosines do not depend on whole turns, and float32 represents the remaining phase
    with sufficient precision. If rows and features are float64, the map is W itself.
    The map is linear up to whole turns; `to_dense` and `apply_adjoint` are those of W.

    Parameters
    ----------
    wide : LinearMap
        W in float64.
    dtype : float32 or float64
        Type of the rows and phases.

    Notes
    -----
    Time is that of W in float64, about twice that of W in float32. Additional memory
    is one block of rows and their phases in float64.
    """

    wide: LinearMap
    dtype: np.dtype = FLOAT64

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.wide.shape

    @property
    def work_columns(self) -> int:
        if self.dtype == FLOAT64:
            return self.wide.work_columns
        # One float64 number takes the memory of two float32 numbers.
        return 2 * (self.wide.work_columns + self.shape[1]) + self.shape[0]

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        if self.dtype == FLOAT64:
            return self.wide.apply(X, out=out)
        out = checked_output(X, self, out)
        take_turns(read_only(self.wide.apply(X.astype(FLOAT64))), out)
        return out

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        if ops.dtype == np.float64:
            return self.wide.forward(ops, X)
        with ops.computing_in(np.float64):
            Z = self.wide.forward(ops, ops.cast(X, np.float64))
            turns = ops.round(ops.multiply(Z, 1 / (2 * np.pi)))
            Z = ops.subtract(Z, ops.multiply(turns, 2 * np.pi))
        return ops.cast(Z, ops.dtype)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return self.wide.apply_adjoint(Z.astype(FLOAT64)).astype(self.dtype)

    def astype(self, dtype: Any) -> Self:
        return replace(self, dtype=np.dtype(dtype))

    def scale_rows(self, factors: np.ndarray) -> ReducedPhases:
        return replace(self, wide=self.wide.scale_rows(factors))

    def scale_columns(self, factors: np.ndarray) -> ReducedPhases:
        return replace(self, wide=self.wide.scale_columns(factors))

    def select(self, kept: np.ndarray) -> ReducedPhases:
        return replace(self, wide=self.wide.select(kept))

    def to_dense(self) -> np.ndarray:
        return self.wide.to_dense().astype(self.dtype)


FRACTION_BITS = 9
"""Bits of the fraction of a turn that a phase must keep, so that features are exact to
about 1 %. This allows 2^14 turns in float32 and 2^43 turns in float64."""

LOST_SHARE = 0.01
"""Largest share of phases with fewer bits that causes no warning. Heavy-tailed laws
always draw some."""


class Cosines(Nonlinearity):
    """Base class of cosine features, which estimate the kernel of the sampled law."""

    def __init__(self, phase_dtype: str | None = None) -> None:
        self.phase_dtype = phase_dtype

    def n_projections(self, n_components: int) -> int:
        name = type(self).__name__
        check_option(name, "phase_dtype", self.phase_dtype, (None, "float64"))
        return super().n_projections(n_components)

    def prepared(self, linear: LinearMap) -> LinearMap:
        return linear if self.phase_dtype is None else ReducedPhases(linear)

    def check_reach(self, Z: np.ndarray, dtype: np.dtype) -> None:
        dtype = np.dtype(self.phase_dtype or dtype)
        sizes = np.nan_to_num(np.abs(Z), nan=np.inf)  # NaN: the phase has overflowed
        turns = np.sort(sizes.ravel())[-1 - int(LOST_SHARE * Z.size)] / (2 * np.pi)
        if turns <= 2.0 ** (np.finfo(dtype).nmant - FRACTION_BITS):
            return
        remedy = "Scale or centre the data, use a smaller gamma"
        if dtype == np.float32:
            remedy += (
                f", pass float64 rows, or use nonlinearity={type(self).__name__}"
                "(phase_dtype='float64'), which keeps the features in float32"
            )
        warnings.warn(
            f"RandomFeatures: phases reach {turns:.1e} turns, and rounding in {dtype} "
            f"loses the fractions of a turn that determine the features. {remedy}.",
            stacklevel=4,
        )

    def default_kernel(self, gamma: Any) -> Kernel:
        return Gaussian(gamma)

    def check_kernel(self, kernel: Kernel) -> None:
        if not isinstance(kernel, ShiftInvariant):
            raise ValueError(
                f"{type(self).__name__}: cosines estimate kernels of x − y, but "
                f"kernel={kernel!r} is not a function of x − y; use {kernel.made_by}."
            )


class CosSin(Cosines):
    """φ(x) = [cos ω_iᵀx, sin ω_iᵀx]_i / √m with M = 2m columns, all cosines first.

    ⟨φ(x), φ(y)⟩ = (1/m) Σ cos ω_iᵀ(x − y) is shift-invariant, and exactly 1 at x = y.
    For the Gaussian kernel its variance is (1 − k²)²/2m, which is less than that of
    `Cos` with the same M. M must be even, except that M = 1 gives one feature of `Cos`.

    Time is that of M/2 projections plus O(n M); memory is that of the output.

    Parameters
    ----------
    phase_dtype : {None, "float64"}, default None
        Floating type in which phases are computed and reduced to one turn. None is the
        type of the data. "float64" keeps float32 features of large phases exact.

    See Also
    --------
    Cos : One cosine with a random phase per frequency.

    References
    ----------
    D. J. Sutherland and J. Schneider, On the error of random Fourier features, UAI
    2015.

    Examples
    --------
    >>> from bochner import RandomFeatures
    >>> F = RandomFeatures(8, nonlinearity="cos_sin").fit_transform([[1.0]])
    >>> float((F**2).sum().round(12))
    1.0
    """

    def resolve(self, n_components: int) -> Nonlinearity:
        # scikit-learn requires every transformer to support one component.
        return Cos(self.phase_dtype) if n_components == 1 else self

    def check_components(self, owner: str, name: str, n_components: Any) -> None:
        super().check_components(owner, name, n_components)
        if n_components % 2:
            raise ValueError(
                f"{owner}: {name} must be even for nonlinearity='cos_sin', which gives "
                f"a cosine and a sine of every frequency; got {n_components}. Take "
                f"{n_components + 1}, or nonlinearity='cos'."
            )

    def n_projections(self, n_components: int) -> int:
        return super().n_projections(n_components) // 2

    def sample(self, n_components: int, rng: Stream) -> SampledCosSin:
        return SampledCosSin(self.n_projections(n_components))


class Cos(Cosines):
    """φ(x) = √(2/M) [cos(ω_iᵀx + b_i)]_i with b_i uniform on [0, 2π), M = m columns.

    ⟨φ(x), φ(y)⟩ is shift-invariant only on average over b, and ⟨φ(x), φ(x)⟩ fluctuates
    around 1. The variance is (1 + k(2δ)/2 − k²)/M.

    Time is that of M projections plus O(n M); memory is that of the output.

    Parameters
    ----------
    phase_dtype : {None, "float64"}, default None
        Floating type in which phases are computed and reduced to one turn. None is the
        type of the data. "float64" keeps float32 features of large phases exact.

    See Also
    --------
    CosSin : A cosine and a sine per frequency, with less variance.

    References
    ----------
    A. Rahimi and B. Recht, Random features for large-scale kernel machines, NIPS
    2007.

    Examples
    --------
    >>> from bochner import RandomFeatures
    >>> RandomFeatures(7, nonlinearity="cos").fit_transform([[1.0]]).shape
    (1, 7)
    """

    def sample(self, n_components: int, rng: Stream) -> SampledCos:
        return SampledCos(rng.uniform(n_components))


@dataclass(frozen=True, eq=False)
class SampledCosSin(SampledNonlinearity):
    """[cos Z, sin Z]/√m."""

    n_in: int

    @property
    def n_out(self) -> int:
        return 2 * self.n_in

    def __call__(self, rows: ProjectedRows, out: np.ndarray) -> None:
        Z = rows.project()
        cos_sin(Z, Z.dtype.type(self.scale), out)

    def forward(self, ops: Ops, rows: TracedRows) -> Tensor:
        Z = rows.project()
        return ops.scale(ops.concat([ops.cos(Z), ops.sin(Z)]), self.scale, self.n_out)

    @property
    def scale(self) -> float:
        """1/√m: each of the m frequencies adds cos² + sin² = 1 to ‖φ(x)‖²."""
        return self.n_in**-0.5

    def select(self, units: np.ndarray) -> tuple[SampledCosSin, np.ndarray]:
        return SampledCosSin(len(units)), units


@dataclass(frozen=True, eq=False)
class SampledCos(SampledNonlinearity):
    """√(2/M) cos(Z + 2π·biases), biases in turns."""

    biases: np.ndarray

    @property
    def n_in(self) -> int:  # type: ignore[override]
        return self.biases.size

    def __call__(self, rows: ProjectedRows, out: np.ndarray) -> None:
        Z = rows.project()
        cos_phase(Z, read_only(self.biases), Z.dtype.type(self.scale), out)

    def forward(self, ops: Ops, rows: TracedRows) -> Tensor:
        Z = ops.add(rows.project(), 2 * np.pi * self.biases.astype(np.float64))
        return ops.scale(ops.cos(Z), self.scale, self.n_out)

    @property
    def scale(self) -> float:
        """√(2/M): E cos² = ½ over the phases, so that ‖φ(x)‖² is 1 on average."""
        return (2 / self.n_in) ** 0.5

    def astype(self, dtype: Any) -> Self:
        return type(self)(self.biases.astype(dtype, copy=False))

    def select(self, units: np.ndarray) -> tuple[SampledCos, np.ndarray]:
        return SampledCos(self.biases[units]), units
