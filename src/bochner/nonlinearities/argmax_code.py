"""Argmax codes: the index of the largest of several projections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from .. import kernels
from .._core.ops import Ops, Tensor
from .._core.random import Stream
from .._core.validation import check_count, check_option
from .base import OwnKernel, ProjectedRows, SampledNonlinearity, TracedRows

OUTPUTS = ("codes", "onehot")

LARGEST_POOL = 65535
"""Largest pool size: codes have at most two bytes."""


class ArgmaxCode(OwnKernel):
    """φ(x) = [argmax_{j ≤ q} ⟨w_j^ℓ, x⟩]_ℓ: M codes with values 0 to q − 1 per row.

    w ~ N(0, I). Codes are labels, not quantities. The codes of two rows are equal with
    probability κ_q (`kernels.ArgmaxCode`), so the codes are a hash whose Hamming
    distance estimates the angle. With output="onehot", inner products are the share of
    equal codes, and linear learners can be fitted. Ties, for example of a row of zeros,
    give the smallest code; so does a row whose projections overflow. The projections of
    a unit are drawn as for `Maxout` without a shared pool. The first M codes of a map
    with 2M codes are those of a map with M codes.

    Time is that of q linear maps of M rows, plus O(n M q), so pools of thousands of
    projections are slow. A row of codes takes M bytes (2M bytes for q > 256), a one-hot
    row 8M to 12M bytes.

    Parameters
    ----------
    pool_size : int, default 4
        q, the number of projections that a code compares, at most 65,535.
    output : {"codes", "onehot"}, default "codes"
        "codes" gives an array (n, M) of the smallest unsigned integer type, "onehot" a
        CSR matrix (n, M q) with 1/√M in column ℓ q + code.

    See Also
    --------
    bochner.kernels.ArgmaxCode : The kernel that codes estimate.
    bochner.metrics.equal_codes : The share of equal codes of pairs of rows.
    Maxout : The largest projection itself.

    References
    ----------
    Y. Mroueh, S. Rennie and V. Goel, Random maxout features, 2015.

    Examples
    --------
    >>> from bochner import RandomFeatures, nonlinearities
    >>> codes = nonlinearities.ArgmaxCode(pool_size=16)
    >>> RandomFeatures(8, nonlinearity=codes).fit_transform([[1.0, 2.0]]).dtype
    dtype('uint8')
    """

    can_be_compressed: ClassVar = False

    def __init__(self, pool_size: int = 4, output: str = "codes") -> None:
        self.pool_size = pool_size
        self.output = output

    @property
    def n_stages(self) -> int:
        return int(self.pool_size)

    @property
    def is_floating(self) -> bool:
        return isinstance(self.output, str) and self.output == "onehot"

    def kernel(self) -> kernels.ArgmaxCode:
        return kernels.ArgmaxCode(self.pool_size)

    def n_projections(self, n_components: int) -> int:
        q = check_count("ArgmaxCode", "pool_size", self.pool_size)
        check_option("ArgmaxCode", "output", self.output, OUTPUTS)
        if q > LARGEST_POOL:
            raise ValueError(
                f"ArgmaxCode: pool_size must be at most {LARGEST_POOL}, as codes have "
                f"two bytes; got {q}. Use a smaller pool_size and more components."
            )
        return super().n_projections(n_components) * q

    def sample(self, n_components: int, rng: Stream) -> SampledCodes:
        self.n_projections(n_components)
        kind = SampledCodes if self.output == "codes" else SampledOneHot
        return kind(n_components, self.n_stages)


@dataclass(frozen=True, eq=False)
class SampledCodes(SampledNonlinearity):
    """argmax_j Z_j over stages j.

    Parameters
    ----------
    n_in : int
        Number of units, M.
    pool_size : int
        Number of stages, q.
    """

    n_in: int
    pool_size: int

    @property
    def n_stages(self) -> int:
        return self.pool_size

    @property
    def scratch_columns(self) -> int:
        return 2 * self.n_in  # the largest projections, and their stages

    def __call__(self, rows: ProjectedRows, out: np.ndarray) -> None:
        best = rows.project(0).copy()
        out[...] = 0
        for stage in range(1, self.n_stages):
            Z = rows.project(stage)
            # A later stage has a larger code, so a maximum replaces a branch.
            np.maximum(out, (Z > best) * out.dtype.type(stage), out=out)
            np.maximum(best, Z, out=best)

    def forward(self, ops: Ops, rows: TracedRows) -> Tensor:
        dtype = np.min_scalar_type(self.n_stages - 1)
        return ops.cast(self._largest_stages(ops, rows), dtype)

    def _largest_stages(self, ops: Ops, rows: TracedRows) -> Tensor:
        """Return the first stage with the largest projection, for every unit."""
        stages = range(self.n_stages)
        Z = [ops.expand_dims(rows.project(stage), 1) for stage in stages]
        return ops.argmax(ops.concat(Z), 1)

    def empty(self, n: int, dtype: Any) -> np.ndarray:
        return np.empty((n, self.n_in), dtype=np.min_scalar_type(self.n_stages - 1))


@dataclass(frozen=True, eq=False)
class SampledOneHot(SampledCodes):
    """1/√M in the column of the largest projection of every unit, CSR."""

    @property
    def n_out(self) -> int:
        return self.n_in * self.n_stages

    def forward(self, ops: Ops, rows: TracedRows) -> Tensor:
        stages = ops.expand_dims(self._largest_stages(ops, rows), 2)
        one_hot = ops.cast(ops.equal(stages, np.arange(self.n_stages)), ops.dtype)
        one_hot = ops.reshape(one_hot, 0, self.n_out)
        return ops.scale(one_hot, self.n_in**-0.5, self.n_out)

    def features(self, written: np.ndarray, dtype: Any) -> Any:
        n, m = written.shape
        index_type = np.int32 if max(n * m, self.n_out) < 2**31 else np.int64
        indices = np.arange(0, self.n_out, self.n_stages, dtype=index_type) + written
        values = np.full(n * m, m**-0.5, dtype=dtype)
        starts = np.arange(0, n * m + 1, m, dtype=index_type)
        parts = (values, indices.astype(index_type, copy=False).ravel(), starts)
        return sparse.csr_matrix(parts, shape=(n, self.n_out), copy=False)
