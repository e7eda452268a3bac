"""Maxout: the largest of several projections."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from .. import kernels
from .._core.ops import Ops, Tensor
from .._core.random import Stream
from .._core.validation import check_count, check_option, read_only
from ..kernels.angular import maxout_integrals
from ._maxout import pool_max
from .base import OwnKernel, ProjectedRows, SampledNonlinearity, TracedRows


class Maxout(OwnKernel):
    """φ(x) = [max_{j ≤ q} ⟨w_j^ℓ, x⟩]_ℓ / √M: a linear model of it is piecewise linear.

    w ~ N(0, I); inner products estimate `kernels.Maxout(q)`. The q projections of a
    unit come from q independent linear maps, so that any random projection serves (low-
    discrepancy points, which are not independent, do not: "auto" is "dense" where it
    would be those); a map of M units is a prefix of one of 2M. With a shared pool, M
    units take the largest of different random q-subsets of the same N projections:
    less work for more error, as units then depend on each other (1.5 times that of
    independent units even for N = M q, on USPS). It pays where M is large beyond the
    projections that can be afforded.

    Time of M q projections, or of N, plus O(n M q); no more of them are kept than a
    cache block. Drawing members takes O(M q²).

    Parameters
    ----------
    pool_size : int, default 4
        q. 1 is a random projection, and linear; larger ones are more local.
    pool : "independent" or int
        N ≥ q, projections that all units share.
    center : bool
        Subtract μ_q‖x‖, the mean of a unit, which carries the length of x alone.

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
        self, pool_size: int = 4, pool: Any = "independent", center: bool = False
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
        hint = " 'independent' draws q projections for every unit."
        N = check_count("Maxout", "pool", self.pool, hint)
        if comb(N, q) < n_components:
            raise ValueError(
                f"Maxout: a pool of {N} projections has {comb(N, q)} subsets of "
                f"pool_size={q}, fewer than the {n_components} units asked for; raise "
                "pool, or ask for fewer."
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
    """Largest projections, over √M, minus mean · ‖x‖/√M."""

    mean: float

    @property
    def takes_lengths(self) -> bool:
        return self.mean != 0

    def _finish(self, rows: ProjectedRows, out: np.ndarray) -> None:
        """From the largest projections of each unit to its features."""
        out *= out.dtype.type(self.n_units**-0.5)
        if self.mean:
            out -= (self.mean * self.n_units**-0.5 * rows.lengths())[:, None]

    def _forward_finish(self, ops: Ops, rows: TracedRows, largest: Tensor) -> Tensor:
        scale = self.n_units**-0.5
        F = ops.scale(largest, scale, self.n_units)
        if not self.mean:
            return F
        return ops.subtract(F, ops.multiply(rows.lengths(), float(self.mean * scale)))


@dataclass(frozen=True, eq=False)
class SampledMaxout(_Units):
    """max_j Z_j over stages j."""

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
    """max of Z over each unit's members.

    Parameters
    ----------
    n_in : int
        N, projections in the pool.
    members : int32 array of shape (q, M)
    mean : float
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
        members = [ops.take(Z, places) for places in self.members]
        return self._forward_finish(ops, rows, ops.largest(members))

    def select(self, units: np.ndarray) -> tuple[SampledPool, np.ndarray]:
        used, members = np.unique(self.members[:, units], return_inverse=True)
        members = members.reshape(-1, len(units)).astype(np.int32)
        return SampledPool(used.size, members, self.mean), used


def distinct_subsets(n: int, N: int, q: int, rng: Stream) -> np.ndarray:
    """n different q-subsets of range(N), uniform and sorted, (n, q) int32.

    Random ones are taken in the order in which they first come: n are a prefix of 2n.
    """
    found = np.empty((0, q), dtype=np.int32)
    while len(found) < n:
        drawn = np.concatenate([found, np.sort(_subsets(n, N, q, rng), axis=1)])
        _, first = np.unique(drawn, axis=0, return_index=True)
        found = drawn[np.sort(first)]
    return found[:n]


def _subsets(n: int, N: int, q: int, rng: Stream) -> np.ndarray:
    """n independent uniform q-subsets of range(N) by Floyd's algorithm, (n, q)."""
    U = rng.uniform(n, q)
    chosen = np.empty((n, q), dtype=np.int32)
    for j in range(q):
        last = N - q + j  # a number up to here, or, if it was taken, this one
        drawn = (U[:, j] * (last + 1)).astype(np.int32)
        taken = (chosen[:, :j] == drawn[:, None]).any(axis=1)
        chosen[:, j] = np.where(taken, last, drawn)
    return chosen
