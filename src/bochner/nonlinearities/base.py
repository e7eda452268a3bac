"""The two types every nonlinearity is made of: the spec and what it samples."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator

from .._core.ops import Ops, Tensor
from .._core.random import Stream
from .._core.validation import check_count
from ..kernels.base import Kernel
from ..projections.base import LinearMap, Projection


class ProjectedRows(Protocol):
    """A block of b rows, and what a nonlinearity may ask of it."""

    def project(self, stage: int = 0, out: np.ndarray | None = None) -> np.ndarray:
        """W x of every row, (b, n_in), by the linear map of a stage.

        C-contiguous, in `out` or in scratch that the next call overwrites.
        """
        ...

    def lengths(self) -> np.ndarray:
        """‖x‖ of every row, (b,), in the floating type of the projections."""
        ...


class TracedRows:
    """Rows as a nonlinearity's `forward` sees them, in the operations of a namespace.

    Parameters
    ----------
    ops : Ops
    X : tensor of shape (n, n_features)
    stages : tuple of LinearMap
    """

    def __init__(self, ops: Ops, X: Tensor, stages: tuple[LinearMap, ...]) -> None:
        self._ops, self._X, self._stages = ops, X, stages

    def project(self, stage: int = 0) -> Tensor:
        """W x of every row, (n, n_in), by the linear map of a stage."""
        return self._stages[stage].forward(self._ops, self._X)

    def lengths(self) -> Tensor:
        """‖x‖ of every row, (n, 1)."""
        return self._ops.sqrt(self._ops.sum_squares(self._X))


class SampledNonlinearity:
    """A pure function of projected rows to features, (n, n_out).

    Features come in n_units units that share a weight, such as the cosine and the sine
    of one frequency: the first part of every unit, then the second, and so on. They are
    divided by √n_units.
    """

    n_in: int
    """Projections that a stage takes."""

    @property
    def n_stages(self) -> int:
        """Linear maps behind the features, independent of each other."""
        return 1

    @property
    def n_units(self) -> int:
        return self.n_in

    @property
    def n_out(self) -> int:
        return self.n_units

    @property
    def takes_lengths(self) -> bool:
        """Whether features depend on ‖x‖ beside the projections."""
        return False

    @property
    def scratch_columns(self) -> int:
        """Numbers per row that a call holds beside projections and features."""
        return 0

    def __call__(self, rows: ProjectedRows, out: np.ndarray) -> None:
        """Write the features of a block into `out`, C-contiguous."""
        raise NotImplementedError

    def forward(self, ops: Ops, rows: TracedRows) -> Tensor:
        """The features of rows, (n, n_out), in the operations of any namespace."""
        raise NotImplementedError

    def empty(self, n: int, dtype: Any) -> np.ndarray:
        """What calls write n rows of features into, for projections of this type."""
        return np.empty((n, self.n_out), dtype=dtype)

    def features(self, written: np.ndarray, dtype: Any) -> Any:
        """The features, (n, n_out), of all that was written."""
        return written

    def astype(self, dtype: Any) -> Self:
        """The same function in another floating type."""
        return self

    def select(self, units: np.ndarray) -> tuple[SampledNonlinearity, np.ndarray]:
        """The nonlinearity of some units, and the projections that they take."""
        raise NotImplementedError


class Nonlinearity(BaseEstimator):
    """The spec: how many projections features need, and what is drawn for them."""

    can_be_compressed: ClassVar[bool] = True
    """Whether features are floating and dense, as compressions need them."""

    @property
    def is_floating(self) -> bool:
        """Whether features have the floating type of the data."""
        return True

    @property
    def n_stages(self) -> int:
        """Linear maps that the projections are drawn in, independent of each other."""
        return 1

    def resolve(self, n_components: int) -> Nonlinearity:
        """The nonlinearity that serves n_components features: itself, as a rule."""
        return self

    def check_components(self, owner: str, name: str, n_components: Any) -> None:
        """Refuse a number of features, the owner's parameter `name`, it cannot make."""
        check_count(owner, name, n_components)

    def n_projections(self, n_components: int) -> int:
        """Rows of all linear maps behind n_components features."""
        self.check_components(type(self).__name__, "n_components", n_components)
        return int(n_components)

    def sample(self, n_components: int, rng: Stream) -> SampledNonlinearity:
        """Draw the random parts of n_components features."""
        raise NotImplementedError

    def default_kernel(self, gamma: Any) -> Kernel:
        """The kernel whose law is drawn when the user names none."""
        raise NotImplementedError

    def check_kernel(self, kernel: Kernel) -> None:
        """Refuse a kernel that inner products of the features do not converge to."""
        raise NotImplementedError

    def served_by(self, projection: Projection) -> Projection:
        """The projection as it serves these features, or an error if it does not."""
        return projection

    def prepared(self, linear: LinearMap) -> LinearMap:
        """A linear map, drawn in float64, as these features take it."""
        return linear

    def check_reach(self, Z: np.ndarray, dtype: np.dtype) -> None:
        """Warn of projections Z, (n, m), whose features a floating type cannot tell."""


class OwnKernel(Nonlinearity):
    """A nonlinearity of N(0, I) projections, whose features have one kernel only.

    A unit takes `pool_size` projections, which must be independent of each other.
    """

    pool_size: int = 1

    def kernel(self) -> Kernel:
        """What inner products of the features converge to."""
        raise NotImplementedError

    def default_kernel(self, gamma: Any) -> Kernel:
        if not (isinstance(gamma, str) and gamma == "scale"):
            warnings.warn(
                f"{type(self).__name__}: gamma={gamma!r} is not used: the kernel of "
                "these features has no bandwidth. Scale the data instead.",
                stacklevel=5,
            )
        return self.kernel()

    def check_kernel(self, kernel: Kernel) -> None:
        own = self.kernel()
        same = type(kernel) is type(own) and kernel.get_params() == own.get_params()
        if not same:
            raise ValueError(
                f"{type(self).__name__}: these features estimate {own!r} and no other "
                f"kernel; leave kernel=None, or for {kernel!r} take "
                f"{kernel.made_by}."
            )

    def served_by(self, projection: Projection) -> Projection:
        parameters = projection.get_params().items()
        if any(k.endswith("bias_correction") and v is not None for k, v in parameters):
            raise ValueError(
                f"{type(self).__name__}: bias_correction is about features of cosines; "
                "leave it None and take a larger block_size."
            )
        if self.pool_size == 1:
            return projection
        return projection.for_units(self.n_stages)
