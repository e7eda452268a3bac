"""Maxout features: the largest of several projections."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from .. import kernels
from .._core.ops import Ops, Tensor
from .._core.random import Stream
from .._core.validation import check_count, check_option, read_only
from ..kernels.angular import maxout_integrals
from ._maxout import pool_max
from .base import OwnKernel, ProjectedRows, SampledNonlinearity, TracedRows


class Maxout(OwnKernel):
    """φ(x) = [max_{j ≤ q} ⟨w_j^ℓ, x⟩]_ℓ / √M for M units of q projections each.

    w ~ N(0, I). Inner products estimate `kernels.Maxout(q)`, and a linear model of the
    features is piecewise linear in x. The q projections of a unit come from q
    independent linear maps, so every random projection can be used. Low-discrepancy
    points are not independent and cannot be used: where projection="auto" would choose
    them, it chooses "dense". The first M units of a map with 2M units are those of a
    map with M units.

    With a shared pool, every unit takes the largest of another random q-subset of the
    same N projections. This saves projections but increases the error, because units
    then depend on each other: on USPS the error is 1.5 times that of independent units
    even for N = M q. A shared pool is useful where M q projections are too expensive.

    Time is that of M q projections (N with a shared pool) plus O(n M q); projections
    are stored for one cache block of rows at a time. Drawing the members of a shared
    pool takes O(M q²).

    Parameters
    ----------
    pool_size : int, default 4
        q, the number of projections in a unit. With q = 1 the features are a linear
        random projection; larger q give more local kernels.
    pool : "independent" or int, default "independent"
        "independent" draws q projections for every unit. An integer N ≥ q is the number
        of projections that all units share.
    center : bool, default False
        Whether to subtract μ_q‖x‖, the mean of a unit, which depends on the length of x
        only.

    See Also
    --------
    bochner.kernels.Maxout : The kernel that the features estimate.
    ArgmaxCode : The index of the largest projection.

    References
    ----------
    Y. Mroueh, S. Rennie and V. Goel, Random maxout features, 2015.

    Examples
    --------
    >>> from bochner import RandomFeatures, nonlinearities
    >>> units = nonlinearities.Maxout(pool_size=3)
    >>> RandomFeatures(8, nonlinearity=units).fit_transform([[1.0, 2.0]]).shape
    (1, 8)
    """

    def __init__(
        self,
        pool_size: int = 4,
        pool: int | str = "independent",
        center: bool = False,
    ) -> None:
        self.pool_size = pool_size
        self.pool = pool
        self.center = center

    @property
    def n_stages(self) -> int:
        return int(self.pool_size) if self._independent else 1

    @property
    def _independent(self) -> bool:
        return isinstance(self.pool, str) and self.pool == "independent"

    def kernel(self) -> kernels.Maxout:
        return kernels.Maxout(self.pool_size, self.center)

    def n_projections(self, n_components: int) -> int:
        n_components = super().n_projections(n_components)
        q = check_count("Maxout", "pool_size", self.pool_size)
        check_option("Maxout", "center", self.center, (False, True))
        if self._independent:
            return n_components * q
        hint = " Or use 'independent', which draws q projections for every unit."
        N = check_count("Maxout", "pool", self.pool, hint)
        if comb(N, q) < n_components:
            raise ValueError(
                f"Maxout: pool={N} projections have {comb(N, q)} subsets of "
                f"pool_size={q}, fewer than n_components={n_components}; use a larger "
                "pool or fewer components."
            )
        return N

    def sample(self, n_components: int, rng: Stream) -> SampledNonlinearity:
        N, q = self.n_projections(n_components), int(self.pool_size)
        mean = maxout_integrals(q).mean if self.center else 0.0
        if self._independent:
            return SampledMaxout(n_components, q, mean)
        subsets = distinct_subsets(n_components, N, q, rng)
        return SampledPool(N, np.ascontiguousarray(subsets.T), mean)


class _Units(SampledNonlinearity):
    """Features (max_j z_j − mean · ‖x‖)/√M."""

    mean: float

    @property
    def takes_lengths(self) -> bool:
        return self.mean != 0

    def _finish(self, rows: ProjectedRows, out: np.ndarray) -> None:
        """Convert the largest projections in `out` to features, in place."""
        out *= out.dtype.type(self.n_units**-0.5)
        if self.mean:
            out -= (self.mean * self.n_units**-0.5 * rows.lengths())[:, None]

    def _forward_finish(self, ops: Ops, rows: TracedRows, largest: Tensor) -> Tensor:
        """Convert the largest projections to features, in any namespace."""
        scale = self.n_units**-0.5
        F = ops.scale(largest, scale, self.n_units)
        if not self.mean:
            return F
        return ops.subtract(F, ops.multiply(rows.lengths(), float(self.mean * scale)))


@dataclass(frozen=True, eq=False)
class SampledMaxout(_Units):
    """max_j Z_j over stages j.

    Parameters
    ----------
    n_in : int
        Number of units, M.
    pool_size : int
        Number of stages, q.
    mean : float
        Factor of ‖x‖ that is subtracted from every unit; 0 without centring.
    """

    n_in: int
    pool_size: int
    mean: float

    @property
    def n_stages(self) -> int:
        return self.pool_size

    def __call__(self, rows: ProjectedRows, out: np.ndarray) -> None:
        rows.project(0, out=out)
        for stage in range(1, self.n_stages):
            np.maximum(out, rows.project(stage), out=out)
        self._finish(rows, out)

    def forward(self, ops: Ops, rows: TracedRows) -> Tensor:
        Z = [rows.project(stage) for stage in range(self.n_stages)]
        return self._forward_finish(ops, rows, ops.largest(Z))

    def select(self, units: np.ndarray) -> tuple[SampledMaxout, np.ndarray]:
        return SampledMaxout(len(units), self.pool_size, self.mean), units


@dataclass(frozen=True, eq=False)
class SampledPool(_Units):
    """max of Z over the members of every unit.

    Parameters
    ----------
    n_in : int
        Number of projections in the pool, N.
    members : int32 array of shape (q, M)
        Indices of the projections of every unit.
    mean : float
        Factor of ‖x‖ that is subtracted from every unit; 0 without centring.
    """

    n_in: int
    members: np.ndarray
    mean: float

    @property
    def n_units(self) -> int:
        return self.members.shape[1]

    def __call__(self, rows: ProjectedRows, out: np.ndarray) -> None:
        pool_max(rows.project(), read_only(self.members), out)
        self._finish(rows, out)

    def forward(self, ops: Ops, rows: TracedRows) -> Tensor:
        Z = rows.project()
        candidates = [ops.take(Z, indices) for indices in self.members]
        return self._forward_finish(ops, rows, ops.largest(candidates))

    def select(self, units: np.ndarray) -> tuple[SampledPool, np.ndarray]:
        used, members = np.unique(self.members[:, units], return_inverse=True)
        members = members.reshape(-1, len(units)).astype(np.int32)
        return SampledPool(used.size, members, self.mean), used


def distinct_subsets(n: int, N: int, q: int, rng: Stream) -> np.ndarray:
    """Draw n different uniform q-subsets of range(N), each sorted, (n, q) int32.

    Repeated subsets are dropped, and the order of the draws is kept: n subsets are a
    prefix of 2n subsets.
    """
    distinct = np.empty((0, q), dtype=np.int32)
    while len(distinct) < n:
        subsets = np.sort(_random_subsets(n, N, q, rng), axis=1)
        candidates = np.concatenate([distinct, subsets])
        _, first = np.unique(candidates, axis=0, return_index=True)
        distinct = candidates[np.sort(first)]
    return distinct[:n]


def _random_subsets(n: int, N: int, q: int, rng: Stream) -> np.ndarray:
    """Draw n independent uniform q-subsets of range(N), (n, q): Floyd's algorithm."""
    U = rng.uniform(n, q)
    subsets = np.empty((n, q), dtype=np.int32)
    for j in range(q):
        last = N - q + j
        numbers = (U[:, j] * (last + 1)).astype(np.int32)  # uniform from 0 to last
        repeated = (subsets[:, :j] == numbers[:, None]).any(axis=1)
        subsets[:, j] = np.where(repeated, last, numbers)
    return subsets
