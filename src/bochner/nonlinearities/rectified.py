"""Positive parts of projections: features of arc-cosine kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import kernels
from .._core.ops import Ops, Tensor
from .._core.random import Stream
from .base import OwnKernel, ProjectedRows, SampledNonlinearity, TracedRows


class ReLU(OwnKernel):
    """φ(x) = √(2/M) [max(0, ⟨w_i, x⟩)]_i, w ~ N(0, I): a random layer of a network.

    Inner products estimate `kernels.ArcCosine(1)`. One projection a feature; a map of M
    features is a prefix of one of 2M.

    Time of M projections and O(n M); memory of the output.

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

    Which side of random hyperplanes x lies on; inner products estimate
    `kernels.ArcCosine(0)`, 1 − θ/π. One projection a feature; a map of M features is a
    prefix of one of 2M.

    Time of M projections and O(n M); memory of the output.

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
    """√(2/M) max(0, Z): half of the units are zero on average, hence the 2."""

    n_in: int

    @property
    def scale(self) -> float:
        return (2 / self.n_in) ** 0.5

    def __call__(self, rows: ProjectedRows, out: np.ndarray) -> None:
        rows.project(out=out)
        np.maximum(out, 0, out=out)
        out *= out.dtype.type(self.scale)

    def forward(self, ops: Ops, rows: TracedRows) -> Tensor:
        above = ops.maximum(rows.project(), 0.0)
        return ops.scale(above, self.scale, self.n_out)

    def select(self, units: np.ndarray) -> tuple[SampledReLU, np.ndarray]:
        return type(self)(len(units)), units


@dataclass(frozen=True, eq=False)
class SampledSign(SampledReLU):
    """√(2/M) where Z > 0."""

    def __call__(self, rows: ProjectedRows, out: np.ndarray) -> None:
        rows.project(out=out)
        np.multiply(out > 0, out.dtype.type(self.scale), out=out)

    def forward(self, ops: Ops, rows: TracedRows) -> Tensor:
        above = ops.cast(ops.greater(rows.project(), 0.0), ops.dtype)
        return ops.scale(above, self.scale, self.n_out)
