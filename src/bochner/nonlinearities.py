"""Nonlinearities: what is done to the phases, and the normalisation of the features.

| nonlinearity | features of phases z_1 … z_m | limit kernel |
|---|---|---|
| `CosSin` | [cos z, sin z]/√m, M = 2m | the kernel of the law |
| `Cos` | √(2/M) cos(z + b), M = m | the kernel of the law |

A nonlinearity is a spec; `sample` draws what is random in it (the biases b).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from ._cosine import cos_phase, cos_sin
from ._random import Stream
from ._validation import check_count, read_only
from .kernels import Gaussian, Kernel


class SampledNonlinearity:
    """A pure function of projected rows: Z, (n, n_in), to features, (n, n_out).

    Features come in n_units units that share a weight, such as the cosine and the sine
    of one frequency: the first part of every unit, then the second, and so on. They are
    divided by √n_units.
    """

    n_in: int
    n_out: int
    n_units: int

    def __call__(self, Z: np.ndarray, out: np.ndarray) -> None:
        """Write the features of the C-contiguous block Z into `out`."""
        raise NotImplementedError

    def astype(self, dtype: Any) -> Self:
        """The same function in another floating type."""
        raise NotImplementedError

    def select(self, units: np.ndarray) -> tuple[SampledNonlinearity, np.ndarray]:
        """The nonlinearity of some units, and the projections that they take."""
        raise NotImplementedError


class Nonlinearity(BaseEstimator):
    """The spec: how many projections features need, and what is drawn for them."""

    def resolve(self, n_components: int) -> Nonlinearity:
        """The nonlinearity that serves n_components features: itself, as a rule."""
        return self

    def n_projections(self, n_components: int) -> int:
        """Rows of the projection behind n_components features."""
        return check_count(type(self).__name__, "n_components", n_components)

    def sample(self, n_projections: int, rng: Stream) -> SampledNonlinearity:
        """Draw the random parts for n_projections rows."""
        raise NotImplementedError

    def default_kernel(self, gamma: Any) -> Kernel:
        """The kernel whose law is drawn when the user names none."""
        return Gaussian(gamma)

    def limit_kernel(self, kernel: Kernel) -> Kernel:
        """What inner products of the features converge to under the kernel's law."""
        return kernel


class CosSin(Nonlinearity):
    """φ(x) = [cos ω_iᵀx, sin ω_iᵀx]_i / √m, all cosines first, M = 2m.

    ⟨φ(x), φ(y)⟩ = (1/m) Σ cos ω_iᵀ(x − y): shift-invariant, and exactly 1 at x = y. For
    the Gaussian kernel its variance is (1 − k²)²/2m, below that of `Cos` at equal M.
    M is even; a single feature has no room for a pair and is one of `Cos`.

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

    def sample(self, n_projections: int, rng: Stream) -> SampledCosSin:
        return SampledCosSin(n_projections)


class Cos(Nonlinearity):
    """φ(x) = √(2/M) [cos(ω_iᵀx + b_i)]_i, b_i uniform on [0, 2π) per feature, M = m.

    Shift-invariant on average over b only: ⟨φ(x), φ(x)⟩ fluctuates around 1. Variance
    (1 + k(2δ)/2 − k²)/M.

    Examples
    --------
    >>> from bochner import RandomFeatures
    >>> RandomFeatures(7, nonlinearity="cos").fit_transform([[1.0]]).shape
    (1, 7)
    """

    def sample(self, n_projections: int, rng: Stream) -> SampledCos:
        return SampledCos(rng.uniform(n_projections))


@dataclass(frozen=True, eq=False)
class SampledCosSin(SampledNonlinearity):
    """[cos Z, sin Z]/√m."""

    n_in: int

    @property
    def n_out(self) -> int:  # type: ignore[override]
        return 2 * self.n_in

    @property
    def n_units(self) -> int:  # type: ignore[override]
        return self.n_in

    def __call__(self, Z: np.ndarray, out: np.ndarray) -> None:
        # m frequencies, each with cos² + sin² = 1: divide by √m for unit length
        cos_sin(Z, Z.dtype.type(self.n_in**-0.5), out)

    def astype(self, dtype: Any) -> Self:
        return self

    def select(self, units: np.ndarray) -> tuple[SampledCosSin, np.ndarray]:
        return SampledCosSin(len(units)), units


@dataclass(frozen=True, eq=False)
class SampledCos(SampledNonlinearity):
    """√(2/M) cos(Z + 2π·biases), biases in turns."""

    biases: np.ndarray

    @property
    def n_in(self) -> int:  # type: ignore[override]
        return self.biases.size

    @property
    def n_out(self) -> int:  # type: ignore[override]
        return self.biases.size

    @property
    def n_units(self) -> int:  # type: ignore[override]
        return self.biases.size

    def __call__(self, Z: np.ndarray, out: np.ndarray) -> None:
        # E cos² = ½ over the phase: √(2/M) gives unit length on average
        scale = Z.dtype.type((2 / self.n_in) ** 0.5)
        cos_phase(Z, read_only(self.biases), scale, out)

    def astype(self, dtype: Any) -> Self:
        return type(self)(self.biases.astype(dtype, copy=False))

    def select(self, units: np.ndarray) -> tuple[SampledCos, np.ndarray]:
        return SampledCos(self.biases[units]), units


NONLINEARITIES: dict[str, type[Nonlinearity]] = {"cos_sin": CosSin, "cos": Cos}
"""Nonlinearities by name."""
