"""Positive parts and signs of projections: features of arc-cosine kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import kernels
from .._core.ops import Ops, Tensor
from .._core.random import Stream
from .base import OwnKernel, ProjectedRows, SampledNonlinearity, TracedRows


class ReLU(OwnKernel):
    """φ(x) = √(2/M) [max(0, ⟨w_i, x⟩)]_i, w ~ N(0, I): a random layer of a network.

    Inner products estimate `kernels.ArcCosine(1)`. Every feature takes one projection.
    The first M features of a map with 2M features are proportional to those of a map
    with M features.

    Time is that of M projections plus O(n M); memory is that of the output.

    See Also
    --------
    bochner.kernels.ArcCosine : The kernel that the features estimate, with degree 1.
    Sign : Features of the kernel with degree 0.

    References
    ----------
    Y. Cho and L. Saul, Kernel methods for deep learning, NIPS 2009.

    Examples
    --------
    >>> from bochner import RandomFeatures
    >>> F = RandomFeatures(8, nonlinearity="relu").fit_transform([[1.0, 2.0]])
    >>> bool((F >= 0).all())
    True
    """

    def kernel(self) -> kernels.ArcCosine:
        return kernels.ArcCosine(1)

    def sample(self, n_components: int, rng: Stream) -> SampledReLU:
        return SampledReLU(n_components)


class Sign(OwnKernel):
    """φ(x) = √(2/M) [1 if ⟨w_i, x⟩ > 0, else 0]_i, w ~ N(0, I).

    Every feature states on which side of a random hyperplane x lies. Inner products
    estimate `kernels.ArcCosine(0)`, 1 − θ/π. Every feature takes one projection. The
    first M features of a map with 2M features are proportional to those of a map with M
    features.

    Time is that of M projections plus O(n M); memory is that of the output.

    See Also
    --------
    bochner.kernels.ArcCosine : The kernel that the features estimate, with degree 0.
    ReLU : Features of the kernel with degree 1.

    References
    ----------
    Y. Cho and L. Saul, Kernel methods for deep learning, NIPS 2009.

    Examples
    --------
    >>> from bochner import RandomFeatures
    >>> F = RandomFeatures(2, nonlinearity="sign").fit_transform([[1.0, 2.0]])
    >>> set(F.ravel().tolist()) <= {0.0, 1.0}
    True
    """

    def kernel(self) -> kernels.ArcCosine:
        return kernels.ArcCosine(0)

    def sample(self, n_components: int, rng: Stream) -> SampledSign:
        return SampledSign(n_components)


@dataclass(frozen=True, eq=False)
class SampledReLU(SampledNonlinearity):
    """√(2/M) max(0, Z)."""

    n_in: int

    @property
    def scale(self) -> float:
        """√(2/M): half of the units are 0 on average, hence the factor 2."""
        return (2 / self.n_in) ** 0.5

    def __call__(self, rows: ProjectedRows, out: np.ndarray) -> None:
        rows.project(out=out)
        np.maximum(out, 0, out=out)
        out *= out.dtype.type(self.scale)

    def forward(self, ops: Ops, rows: TracedRows) -> Tensor:
        positive = ops.maximum(rows.project(), 0.0)
        return ops.scale(positive, self.scale, self.n_out)

    def select(self, units: np.ndarray) -> tuple[SampledReLU, np.ndarray]:
        return type(self)(len(units)), units


@dataclass(frozen=True, eq=False)
class SampledSign(SampledReLU):
    """√(2/M) where Z > 0, otherwise 0."""

    def __call__(self, rows: ProjectedRows, out: np.ndarray) -> None:
        rows.project(out=out)
        np.multiply(out > 0, out.dtype.type(self.scale), out=out)

    def forward(self, ops: Ops, rows: TracedRows) -> Tensor:
        positive = ops.cast(ops.greater(rows.project(), 0.0), ops.dtype)
        return ops.scale(positive, self.scale, self.n_out)
