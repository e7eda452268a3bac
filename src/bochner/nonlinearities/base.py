"""Base classes: the spec `Nonlinearity`, and the value that it samples."""

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
    """A block of b rows, with the quantities that nonlinearities compute from.

    See Also
    --------
    SampledNonlinearity : Maps projected rows to features.
    """

    def project(self, stage: int = 0, out: np.ndarray | None = None) -> np.ndarray:
        """Return W x of every row, (b, n_in), where W is the linear map of the stage.

        The result is C-contiguous. It is `out`, or a buffer that the next call
        overwrites.
        """
        ...

    def lengths(self) -> np.ndarray:
        """Return ‖x‖ of every row, (b,), in the floating type of the projections."""
        ...


class TracedRows:
    """The projected rows that `SampledNonlinearity.forward` takes.

    Parameters
    ----------
    ops : Ops
        The array namespace that computes.
    X : tensor of shape (n, n_features)
        Rows.
    stages : tuple of LinearMap
        The linear map of every stage.
    """

    def __init__(self, ops: Ops, X: Tensor, stages: tuple[LinearMap, ...]) -> None:
        self._ops, self._X, self._stages = ops, X, stages

    def project(self, stage: int = 0) -> Tensor:
        """Return W x of every row, (n, n_in), for the linear map W of the stage."""
        return self._stages[stage].forward(self._ops, self._X)

    def lengths(self) -> Tensor:
        """Return ‖x‖ of every row, (n, 1)."""
        return self._ops.sqrt(self._ops.sum_squares(self._X))


class SampledNonlinearity:
    """A pure function from projected rows to features, (n, n_out).

    Features are grouped into n_units units. All features of a unit share one weight;
    for example, the cosine and the sine of one frequency form a unit. The columns hold
    the first feature of every unit, then the second feature of every unit, and so on.
    Features are divided by √n_units.

    See Also
    --------
    Nonlinearity : The spec that samples this value.

    Examples
    --------
    >>> from bochner import RandomFeatures
    >>> features = RandomFeatures(8, nonlinearity="cos_sin").fit([[1.0, 2.0]])
    >>> sampled = features.feature_map_.nonlinearity
    >>> sampled.n_in, sampled.n_units, sampled.n_out
    (4, 4, 8)
    """

    n_in: int
    """Number of projections in a stage."""

    @property
    def n_stages(self) -> int:
        """Number of independent linear maps that give the projections."""
        return 1

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.n_in

    @property
    def n_out(self) -> int:
        """Number of feature columns."""
        return self.n_units

    @property
    def takes_lengths(self) -> bool:
        """Whether features depend on ‖x‖ in addition to the projections."""
        return False

    @property
    def scratch_columns(self) -> int:
        """Numbers per row that a call stores besides the projections and features."""
        return 0

    def __call__(self, rows: ProjectedRows, out: np.ndarray) -> None:
        """Write the features of a block of rows into the C-contiguous array `out`."""
        raise NotImplementedError

    def forward(self, ops: Ops, rows: TracedRows) -> Tensor:
        """Compute the features, (n, n_out), with the operations of any namespace."""
        raise NotImplementedError

    def empty(self, n: int, dtype: Any) -> np.ndarray:
        """Return an array for n rows of output, for projections of this type."""
        return np.empty((n, self.n_out), dtype=dtype)

    def features(self, written: np.ndarray, dtype: Any) -> Any:
        """Convert the filled array of `empty` to the features, (n, n_out)."""
        return written

    def astype(self, dtype: Any) -> Self:
        """Return the same function in another floating type."""
        return self

    def select(self, units: np.ndarray) -> tuple[SampledNonlinearity, np.ndarray]:
        """Return the nonlinearity of some units, and the indices of its projections."""
        raise NotImplementedError


class Nonlinearity(BaseEstimator):
    """The spec of a nonlinearity: its parameters, without any random draw.

    Subclasses state how many projections n_components features need, sample the random
    parts, and name the kernel that inner products of the features estimate.

    See Also
    --------
    SampledNonlinearity : The value that `sample` returns.

    Examples
    --------
    >>> from bochner import nonlinearities
    >>> nonlinearities.CosSin().n_projections(8)
    4
    >>> nonlinearities.Maxout(pool_size=3).n_projections(8)
    24
    """

    can_be_compressed: ClassVar[bool] = True
    """Whether features are dense floating-point numbers, which compressions need."""

    @property
    def is_floating(self) -> bool:
        """Whether features have the floating type of the data."""
        return True

    @property
    def n_stages(self) -> int:
        """Number of independent linear maps that give the projections."""
        return 1

    def resolve(self, n_components: int) -> Nonlinearity:
        """Return the nonlinearity to use for n_components features, usually itself."""
        return self

    def check_components(self, owner: str, name: str, n_components: Any) -> None:
        """Raise an error if this number of features is impossible.

        Parameters
        ----------
        owner, name : str
            The object and the parameter that the user has set, for the message.
        n_components : int
            Number of features.
        """
        check_count(owner, name, n_components)

    def n_projections(self, n_components: int) -> int:
        """Return the number of projections, over all stages, for n_components features.

        Raises
        ------
        ValueError
            If n_components, or a parameter of the nonlinearity, is invalid.
        """
        self.check_components(type(self).__name__, "n_components", n_components)
        return int(n_components)

    def sample(self, n_components: int, rng: Stream) -> SampledNonlinearity:
        """Draw the random parts of n_components features.

        Parameters
        ----------
        n_components : int
            Number of features.
        rng : Stream
            Random stream.

        Returns
        -------
        SampledNonlinearity
        """
        raise NotImplementedError

    def default_kernel(self, gamma: Any) -> Kernel:
        """Return the kernel to use when the user does not set one."""
        raise NotImplementedError

    def check_kernel(self, kernel: Kernel) -> None:
        """Raise an error if inner products of the features do not estimate `kernel`."""
        raise NotImplementedError

    def served_by(self, projection: Projection) -> Projection:
        """Return the projection adapted to these features, or raise an error."""
        return projection

    def prepared(self, linear: LinearMap) -> LinearMap:
        """Return the linear map, drawn in float64, in the form these features need."""
        return linear

    def check_reach(self, Z: np.ndarray, dtype: np.dtype) -> None:
        """Warn if projections Z, (n, m), are too large for features of this type."""


class OwnKernel(Nonlinearity):
    """A nonlinearity of N(0, I) projections that estimates exactly one kernel.

    A unit takes `pool_size` projections, which must be independent of each other.
    """

    pool_size: int = 1

    def kernel(self) -> Kernel:
        """Return the kernel that inner products of the features converge to."""
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
                f"kernel; got kernel={kernel!r}. Leave kernel=None, or use "
                f"{kernel.made_by}."
            )

    def served_by(self, projection: Projection) -> Projection:
        parameters = projection.get_params().items()
        if any(
            name.endswith("bias_correction") and value is not None
            for name, value in parameters
        ):
            raise ValueError(
                f"{type(self).__name__}: bias_correction applies to cosine features "
                "only; use bias_correction=None and a larger block_size."
            )
        if self.pool_size == 1:
            return projection
        return projection.for_units(self.n_stages)
