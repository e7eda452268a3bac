"""Cosines of phases: features of shift-invariant kernels."""

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
    """z = W x − 2π·rint(W x / 2π), made in float64 and rounded after: for cosines.

    Cosines do not see whole turns, and what is left of a phase is as good in float32 as
    in float64. Where rows and features are float64, it is W itself. Linear but for
    whole turns: `to_dense` and `apply_adjoint` are those of W.

    Parameters
    ----------
    wide : LinearMap in float64
    dtype : float32 or float64
        Of rows and phases.

    Notes
    -----
    Time of W in float64: about twice that in float32. Memory beside: a block of
    rows and of their phases in float64.
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
        # a number in float64 takes the room of two
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


BITS_OF_A_TURN = 9
"""A phase is worth its features to about a hundredth while so many bits of its
fraction are left: up to 2^14 turns in float32, 2^43 in float64."""

LOST_SHARE = 0.01
"""Phases that may lie beyond before a warning: laws of heavy tails have some."""


class Cosines(Nonlinearity):
    """Features of phases, which estimate the kernel whose law is drawn."""

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
        sizes = np.nan_to_num(np.abs(Z), nan=np.inf)  # of what has overflowed
        turns = np.sort(sizes.ravel())[-1 - int(LOST_SHARE * Z.size)] / (2 * np.pi)
        if turns <= 2.0 ** (np.finfo(dtype).nmant - BITS_OF_A_TURN):
            return
        narrow = dtype == np.float32
        wider = (
            f"give float64 rows, or take nonlinearity={type(self).__name__}"
            "(phase_dtype='float64'), which keeps features float32"
        )
        warnings.warn(
            f"RandomFeatures: phases reach {turns:.1e} turns, and in {dtype} their "
            "fractions, which features are made of, are lost to rounding. Scale or "
            f"centre the data, take a smaller gamma{', ' + wider if narrow else ''}.",
            stacklevel=4,
        )

    def default_kernel(self, gamma: Any) -> Kernel:
        return Gaussian(gamma)

    def check_kernel(self, kernel: Kernel) -> None:
        if not isinstance(kernel, ShiftInvariant):
            raise ValueError(
                f"{type(self).__name__}: cosines estimate kernels of x − y, which "
                f"{kernel!r} is not; take {kernel.made_by}."
            )


class CosSin(Cosines):
    """φ(x) = [cos ω_iᵀx, sin ω_iᵀx]_i / √m, all cosines first, M = 2m.

    ⟨φ(x), φ(y)⟩ = (1/m) Σ cos ω_iᵀ(x − y): shift-invariant, and exactly 1 at x = y. For
    the Gaussian kernel its variance is (1 − k²)²/2m, below that of `Cos` at equal M.
    M is even; a single feature has no room for a pair and is one of `Cos`.

    Parameters
    ----------
    phase_dtype : "float64" or None
        The floating type that phases are made and reduced in; None: that of the data.
        "float64" keeps float32 features of large phases exact: see `ReducedPhases`.

    Notes
    -----
    Time of M/2 projections and O(n M); memory of the output.

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
        # scikit-learn's conventions ask for one component of every transformer
        return Cos(self.phase_dtype) if n_components == 1 else self

    def check_components(self, owner: str, name: str, n_components: Any) -> None:
        super().check_components(owner, name, n_components)
        if n_components % 2:
            raise ValueError(
                f"{owner}: {name} must be even for nonlinearity='cos_sin', which makes "
                f"a cosine and a sine of every frequency; got {n_components}. Take "
                f"{n_components + 1}, or nonlinearity='cos'."
            )

    def n_projections(self, n_components: int) -> int:
        return super().n_projections(n_components) // 2

    def sample(self, n_components: int, rng: Stream) -> SampledCosSin:
        return SampledCosSin(self.n_projections(n_components))


class Cos(Cosines):
    """φ(x) = √(2/M) [cos(ω_iᵀx + b_i)]_i, b_i uniform on [0, 2π) per feature, M = m.

    Shift-invariant on average over b only: ⟨φ(x), φ(x)⟩ fluctuates around 1. Variance
    (1 + k(2δ)/2 − k²)/M.

    Parameters
    ----------
    phase_dtype : "float64" or None
        As in `CosSin`.

    Notes
    -----
    Time of M projections and O(n M); memory of the output.

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
        """What plain cosines and sines are multiplied by."""
        # m frequencies, each with cos² + sin² = 1: divide by √m for unit length
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
        """What plain cosines are multiplied by."""
        # E cos² = ½ over the phase: √(2/M) gives unit length on average
        return (2 / self.n_in) ** 0.5

    def astype(self, dtype: Any) -> Self:
        return type(self)(self.biases.astype(dtype, copy=False))

    def select(self, units: np.ndarray) -> tuple[SampledCos, np.ndarray]:
        return SampledCos(self.biases[units]), units
