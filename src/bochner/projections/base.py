"""Base classes: the spec `Projection`, and the value `LinearMap` that it samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from .._core.ops import Ops, Tensor
from .._core.random import Stream
from .._core.validation import FLOATS, check_count
from ..kernels.laws import Law, Normal

DENSE_NS, CSR_NS = 0.012, 0.155
"""Nanoseconds per multiply-add with a dense matrix, for dense and for CSR rows."""

BUTTERFLY_NS = 0.031
"""Nanoseconds per output and per stage of a Hadamard transform."""

FFT_NS = 2.5
"""Nanoseconds per output of a circulant map."""

DENSE_BYTES = 1 << 30
"""Largest dense matrix that is chosen where a structured map is possible."""


def dense_rows(X: Any) -> np.ndarray:
    """Convert rows to a dense array. Call this on single blocks of rows only."""
    return X.toarray() if sparse.issparse(X) else X


CAPABILITY_MEANINGS = {
    "radii": "an isotropic kernel",
    "multipliers": "a kernel that is isotropic in any number of features",
    "coordinates": "a kernel that is isotropic in any number of features, or Laplacian",
    "ppf": "a kernel whose frequencies have known quantiles",
    "on_block": "a kernel that can be estimated from some of the features",
}
"""Capabilities of laws in terms of kernels, which users know, for error messages."""


def check_input(X: Any, n_in: int) -> None:
    """Raise an error unless X is a dense or CSR float array of n_in columns.

    Compiled code relies on this check.
    """
    if X.dtype not in FLOATS or X.ndim != 2 or X.shape[1] != n_in:
        raise ValueError(
            f"A map of {n_in} features takes two-dimensional float32 or float64 rows; "
            f"got an array of shape {X.shape} and type {X.dtype}."
        )
    if sparse.issparse(X) and X.format != "csr":
        raise ValueError(f"Sparse rows must be CSR, got {X.format}; use X.tocsr().")


def checked_output(X: Any, linear: LinearMap, out: np.ndarray | None) -> np.ndarray:
    """Check the rows X and `out`; return `out`, or a new array if it is None."""
    check_input(X, linear.shape[1])
    shape = (X.shape[0], linear.shape[0])
    if out is None:
        out = np.empty(shape, dtype=linear.dtype)
    if out.shape != shape or not out.flags.c_contiguous:
        raise ValueError(
            f"out must be a C-contiguous array of shape {shape}; got {out.shape}."
        )
    if not X.dtype == out.dtype == linear.dtype:
        raise ValueError(
            f"A map in {linear.dtype} needs rows and out in {linear.dtype}; got rows "
            f"of {X.dtype} and out of {out.dtype}. Use linear.astype(X.dtype)."
        )
    return out


class LinearMap:
    """One sampled matrix W of shape (n_out, n_in), in any storage format.

    A linear map is an immutable value. Rows of X and Z are points, so W acts from the
    right. Subclasses implement `apply`, `apply_adjoint` and the methods that return a
    modified map.

    See Also
    --------
    Projection : The spec that samples linear maps.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import projections
    >>> linear = projections.Scale(np.array([1.0, 2.0]))
    >>> linear.apply(np.array([[3.0, 4.0]]))
    array([[3., 8.]])
    >>> linear.to_dense()
    array([[1., 0.],
           [0., 2.]])
    """

    shape: tuple[int, int]
    """(n_out, n_in)."""

    dtype: np.dtype
    """Floating type of the rows and of the output."""

    @property
    def work_columns(self) -> int:
        """Numbers per row that `apply` stores at a time, including the output."""
        return self.shape[0]

    def apply(
        self, X: np.ndarray | sparse.csr_matrix, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute X Wᵀ.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_in)
            Rows in the type of this map.
        out : array of shape (n, n_out), optional
            C-contiguous array for the result.

        Returns
        -------
        array of shape (n, n_out)
        """
        raise NotImplementedError

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """Compute X Wᵀ in any array namespace; by default with a dense W."""
        return ops.matmul(X, self.to_dense().T)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        """Compute Z W, (n, n_in), for Z of shape (n, n_out)."""
        raise NotImplementedError

    def astype(self, dtype: DTypeLike) -> Self:
        """Return the same map in another type; arrays of that type are not copied."""
        raise NotImplementedError

    def scale_rows(self, factors: np.ndarray) -> LinearMap:
        """Return diag(factors) W, for factors of shape (n_out,)."""
        raise NotImplementedError

    def scale_columns(self, factors: np.ndarray) -> LinearMap:
        """Return W diag(factors), for factors of shape (n_in,)."""
        raise NotImplementedError

    def select(self, kept: np.ndarray) -> LinearMap:
        """Return the map of the rows W[kept], in the order of `kept`."""
        raise NotImplementedError

    def to_dense(self) -> np.ndarray:
        """Return W as an array, (n_out, n_in)."""
        return self.apply(np.eye(self.shape[1], dtype=self.dtype)).T

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.to_dense(), dtype=dtype)


DRAWING = 6
"""Numbers held at the peak of drawing a map, per number that it stores: random words,
uniform and normal numbers, the map and its transpose. At most 5.3 were measured."""


class Cost(NamedTuple):
    """The cost of a linear map."""

    flops: float
    """Floating-point operations per row of data."""
    numbers: float
    """Numbers that the map stores."""


class Projection(BaseEstimator):
    """A distribution over linear maps: parameters only, without a sample.

    Subclasses implement `_sample`, declare the capabilities that they need of a law,
    and implement `cost` if they have a structure.

    See Also
    --------
    LinearMap : The value that `sample` returns.

    Examples
    --------
    >>> from bochner import projections
    >>> isinstance(projections.SORF(), projections.Projection)
    True
    """

    needs: ClassVar[tuple[str, ...]] = ()
    """Capabilities of a law, besides `frequencies`, that this projection needs."""

    instead: ClassVar[str] = "projection='dense', which takes every kernel"
    """The alternative that error messages suggest for other laws."""

    is_linear: ClassVar[bool] = False
    """Whether this projection preserves lengths only and has no frequencies."""

    amplitude: float = 1.0
    """Factor of the features; not 1 if a bias is corrected."""

    def for_units(self, n_maps: int) -> Projection:
        """Return the projection to use if a feature takes several projections.

        The projections of one feature are rows of one map, or rows of n_maps maps.

        Low-discrepancy points work for features of one projection. Several points of
        one sequence, or the points at one position of several sequences, are not
        independent: low-discrepancy projections raise an error here.
        """
        return self

    def input_factors(self, X: Any) -> np.ndarray | None:
        """Return factors by which inputs are multiplied first, or None.

        Parameters
        ----------
        X : array, CSR matrix or LazyRows of shape (n, n_in)
            Training rows.

        Returns
        -------
        array of shape (n_in,), or None
        """
        return None

    def resolve(self, X: Any, law: Law, n_out: int, rng: Stream) -> Projection:
        """Return a copy whose data-dependent parameters are set.

        Parameters
        ----------
        X : array, CSR matrix or LazyRows of shape (n, n_in)
            Rows, or a sample of rows, after any input scaling.
        law : Law
            The law to draw from.
        n_out : int
            Number of frequencies.
        rng : Stream
            Random stream.

        Returns
        -------
        Projection
        """
        return clone(self)

    def sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        """Draw one linear map in float64, at the natural scale of the law.

        Parameters
        ----------
        law : Law
            The law of the rows.
        n_out, n_in : int
            Number of rows of the map, and number of features.
        rng : Stream
            Random stream.

        Returns
        -------
        LinearMap
            Of shape (n_out, n_in).

        Raises
        ------
        ValueError
            If the law lacks a capability that this projection needs.
        """
        self._check_counts(n_out, n_in)
        for capability in self.lacking(law):
            raise ValueError(
                f"{type(self).__name__} needs {capability} from the spectral law "
                f"({_meaning(capability)}), which {type(law).__name__} does not have; "
                f"use {self.instead}."
            )
        return self._sample(law, n_out, n_in, rng)

    def lacking(self, law: Law) -> list[str]:
        """Return the capabilities that this projection needs and the law lacks."""
        return [name for name in self.needs if not hasattr(law, name)]

    def cost(
        self,
        n_out: int,
        n_in: int,
        law: Law | None = None,
        filled: float | None = None,
    ) -> Cost:
        """Return the cost of a map of this projection, before the map is drawn.

        The default is the cost of a dense matrix, an upper bound for every structure.
        Projections with a structure override it.

        Parameters
        ----------
        n_out, n_in : int
            Number of rows of the map, and number of features.
        law : Law, optional
            The law to draw from. None stands for a map of `sample_isometry`.
        filled : float, optional
            Average number of stored entries in a CSR row. None stands for dense rows.

        Returns
        -------
        Cost
            Operations per row, and stored numbers.
        """
        return Cost(2 * n_out * (n_in if filled is None else filled), n_out * n_in)

    def drawing_numbers(self, n_out: int, n_in: int, law: Law | None = None) -> float:
        """An upper bound on the numbers in memory while a map is drawn.

        Parameters
        ----------
        n_out, n_in : int
        law : Law, optional
            As for `cost`.

        Returns
        -------
        float
        """
        return DRAWING * self.cost(n_out, n_in, law).numbers

    def sample_isometry(self, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        """Draw a map V with E‖V u‖² = ‖u‖².

        By default the rows are those of the standard normal law, divided by √n_out:
        each row w of that law has E w wᵀ = I, so the sum over n_out rows is n_out‖u‖².

        Parameters
        ----------
        n_out, n_in : int
            Number of rows of the map, and number of features.
        rng : Stream
            Random stream.

        Returns
        -------
        LinearMap
            Of shape (n_out, n_in).
        """
        self._check_counts(n_out, n_in)
        return self._sample_isometry(n_out, n_in, rng)

    def _check_counts(self, n_out: int, n_in: int) -> None:
        check_count(type(self).__name__, "n_out", n_out)
        check_count(type(self).__name__, "n_in", n_in)

    def _sample_isometry(self, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        linear = self.sample(Normal(1.0), n_out, n_in, rng)
        return linear.scale_rows(np.full(n_out, n_out**-0.5))

    def _sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        raise NotImplementedError


def check_projection(
    owner: str,
    parameter: str,
    projection: Projection,
    kernel: str,
    law: Law,
    known: Mapping[str, type[Projection]],
) -> None:
    """Raise an error if the projection cannot draw frequencies of the kernel.

    Parameters
    ----------
    owner, parameter, kernel : str
        The user's object, its parameter, such as "projection='sorf'", and the kernel.
    projection : Projection
        The projection to check.
    law : Law
        The law of the kernel.
    known : mapping
        Projections by name that the parameter accepts; the message lists the
        compatible ones.
    """
    for capability in projection.lacking(law):
        specs = ((name, spec()) for name, spec in known.items() if not spec.is_linear)
        compatible = [name for name, spec in specs if not spec.lacking(law)]
        raise ValueError(
            f"{owner}: {parameter} needs {_meaning(capability)}, which {kernel} is "
            f"not; use {parameter.partition('=')[0]}="
            f"{' or '.join(map(repr, compatible))}."
        )


def _meaning(capability: str) -> str:
    """The kernels whose laws have a capability, for error messages."""
    return CAPABILITY_MEANINGS.get(capability, f"a kernel whose law has {capability}")


def linear_only_error(projection: Projection) -> TypeError:
    """The error for random features of a projection that has no frequencies."""
    return TypeError(
        f"{type(projection).__name__} is a linear projection only; use it in "
        "RandomProjection, or use another projection for random features, such as "
        "'sorf' or 'dense'."
    )
