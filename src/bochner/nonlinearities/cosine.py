"""Cosines of phases: features of shift-invariant kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._cosine import cos_phase, cos_sin
from .._random import Stream
from .._validation import read_only
from ..kernels import Gaussian, Kernel, ShiftInvariant
from .base import Nonlinearity, ProjectedRows, SampledNonlinearity


class Cosines(Nonlinearity):
    """Features of phases, which estimate the kernel whose law is drawn."""

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
        return Cos() if n_components == 1 else self

    def n_projections(self, n_components: int) -> int:
        n_components = super().n_projections(n_components)
        if n_components % 2:
            raise ValueError(
                "CosSin: n_components, and n_candidates where there are any, must be "
                "even, one cosine and one sine per frequency; got "
                f"{n_components}; take {n_components + 1}, or nonlinearity='cos'."
            )
        return n_components // 2

    def sample(self, n_components: int, rng: Stream) -> SampledCosSin:
        return SampledCosSin(self.n_projections(n_components))


class Cos(Cosines):
    """φ(x) = √(2/M) [cos(ω_iᵀx + b_i)]_i, b_i uniform on [0, 2π) per feature, M = m.

    Shift-invariant on average over b only: ⟨φ(x), φ(x)⟩ fluctuates around 1. Variance
    (1 + k(2δ)/2 − k²)/M.

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

    @property
    def scale(self) -> float:
        """What plain cosines are multiplied by."""
        # E cos² = ½ over the phase: √(2/M) gives unit length on average
        return (2 / self.n_in) ** 0.5

    def astype(self, dtype: Any) -> Self:
        return type(self)(self.biases.astype(dtype, copy=False))

    def select(self, units: np.ndarray) -> tuple[SampledCos, np.ndarray]:
        return SampledCos(self.biases[units]), units
