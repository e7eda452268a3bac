"""The two types every projection is made of: the spec and the linear map it samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from .._core.ops import Ops, Tensor
from .._core.random import Stream
from .._core.validation import FLOATS, check_count
from ..kernels.laws import Law, Normal

DENSE_NS, CSR_NS = 0.012, 0.155
"""Nanoseconds per multiply-add of a matrix, for dense and for CSR rows."""

BUTTERFLY_NS = 0.031
"""Nanoseconds per output and stage of a Hadamard transform."""

FFT_NS = 2.5
"""Nanoseconds per output of a circulant."""

DENSE_BYTES = 1 << 30
"""A dense matrix beyond this is no choice where a structured map will do."""


def dense_rows(X: Any) -> np.ndarray:
    """One block of rows as a dense array; never called on more than a block."""
    return X.toarray() if sparse.issparse(X) else X


MEANING = {
    "radii": "an isotropic kernel",
    "multipliers": "a kernel that is isotropic in any number of features",
    "coordinates": "a kernel that is isotropic in any number of features, or Laplacian",
    "ppf": "a kernel whose frequencies have known quantiles",
    "on_block": "a kernel that can be estimated from some of the features",
}
"""Capabilities in the words of a user, who knows kernels and not their laws."""


def check_input(X: Any, n_in: int) -> None:
    """Rows that compiled code may take on trust: floats of the right width, or CSR."""
    if X.dtype not in FLOATS or X.ndim != 2 or X.shape[1] != n_in:
        raise ValueError(
            f"A map of {n_in} features takes two-dimensional float32 or float64 rows; "
            f"got shape {X.shape} of {X.dtype}."
        )
    if sparse.issparse(X) and X.format != "csr":
        raise ValueError(f"Sparse rows must be CSR, got {X.format}; use X.tocsr().")


def checked_output(X: Any, linear: LinearMap, out: np.ndarray | None) -> np.ndarray:
    """`out` for the rows X of a compiled map, made where it is None."""
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
            f"A map in {linear.dtype} takes and gives just that; got rows of {X.dtype} "
            f"and out of {out.dtype}. Use linear.astype(X.dtype)."
        )
    return out


class LinearMap:
    """One sampled matrix W of shape (n_out, n_in), in whatever form it is stored.

    An immutable value. Rows of X and Z are points, so W acts from the right.
    """

    shape: tuple[int, int]
    dtype: np.dtype

    @property
    def work_columns(self) -> int:
        """Numbers per row that `apply` holds at a time, output included."""
        return self.shape[0]

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        """X Wᵀ, (n, n_out), for dense or CSR rows X, (n, n_in), of this map's type."""
        raise NotImplementedError

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """X Wᵀ in the operations of any namespace; here with W written out."""
        return ops.matmul(X, self.to_dense().T)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        """Z W, (n, n_in), for Z, (n, n_out)."""
        raise NotImplementedError

    def astype(self, dtype: Any) -> Self:
        """The same map in another floating type, sharing what already has it."""
        raise NotImplementedError

    def scale_rows(self, factors: np.ndarray) -> LinearMap:
        """diag(factors) W, for factors of shape (n_out,)."""
        raise NotImplementedError

    def scale_columns(self, factors: np.ndarray) -> LinearMap:
        """W diag(factors), for factors of shape (n_in,)."""
        raise NotImplementedError

    def select(self, kept: np.ndarray) -> LinearMap:
        """The rows W[kept], in that order."""
        raise NotImplementedError

    def to_dense(self) -> np.ndarray:
        """W as an array, (n_out, n_in)."""
        return self.apply(np.eye(self.shape[1], dtype=self.dtype)).T

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.to_dense(), dtype=dtype)


DRAWING = 6
"""Numbers held at the peak of drawing a map, per number that it stores: random words,
uniform and normal numbers, the map and its transpose. At most 5.3 were measured."""


class Cost(NamedTuple):
    """Operations that a linear map takes for a row, and numbers that it stores."""

    flops: float
    numbers: float


class Projection(BaseEstimator):
    """A distribution over linear maps: hyper-parameters only, never a sample.

    `needs` names the capabilities it asks of a law beyond `frequencies`, `instead` what
    serves a kernel without them; `amplitude` is a factor that its features take (one,
    unless a bias is corrected).
    """

    needs: ClassVar[tuple[str, ...]] = ()
    instead: ClassVar[str] = "projection='dense', which takes every kernel"
    is_linear: ClassVar[bool] = False
    """Whether it keeps lengths only, and draws no frequencies of a law."""

    amplitude: float = 1.0

    def for_units(self, n_maps: int) -> Projection:
        """This projection where one feature takes several projections, or an error.

        They are rows of one map, or of as many as n_maps.

        Points that are spread evenly are fine one by one. Several of one sequence, or
        those of one place in several sequences, are not what independent draws are.
        """
        return self

    def input_factors(self, X: Any) -> np.ndarray | None:
        """One factor per feature that inputs take first, learned from X, or None."""
        return None

    def resolve(self, X: Any, law: Law, n_out: int, rng: Stream) -> Projection:
        """A copy with everything that depends on the data settled.

        X is what the law is about: rows (perhaps a sample) after any input scaling.
        """
        return clone(self)

    def sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        """Draw one linear map, (n_out, n_in), in float64 at the law's natural scale."""
        self._check_counts(n_out, n_in)
        for capability in self.lacking(law):
            raise ValueError(
                f"{type(self).__name__} needs {capability} from the spectral law "
                f"({_meaning(capability)}), which {type(law).__name__} does not have; "
                f"use {self.instead}."
            )
        return self._sample(law, n_out, n_in, rng)

    def lacking(self, law: Law) -> list[str]:
        """Capabilities that this projection needs and the law does not have."""
        return [name for name in self.needs if not hasattr(law, name)]

    def cost(
        self,
        n_out: int,
        n_in: int,
        law: Law | None = None,
        filled: float | None = None,
    ) -> Cost:
        """What a map (n_out, n_in) of this projection costs, before it is drawn.

        Here the cost of its matrix with all entries written out, which bounds that of
        any structure; projections with a structure give their own.

        Parameters
        ----------
        n_out, n_in : int
        law : Law, optional
            The law to draw from; None for a map that keeps lengths, as
            `sample_isometry` draws.
        filled : float, optional
            Entries of a row that are not zero, where rows are CSR.

        Returns
        -------
        Cost
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
        """Draw V with E‖V u‖² = ‖u‖²: rows of the standard normal law over √n_out.

        Each row w of that law has E w wᵀ = I, so n_out of them add up to n_out‖u‖².
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


def check_serves(
    owner: str,
    asked: str,
    projection: Projection,
    kernel: str,
    law: Law,
    known: Mapping[str, type[Projection]],
) -> None:
    """Refuse a projection that cannot draw frequencies of a kernel.

    Parameters
    ----------
    owner, asked, kernel : str
        The user's object, its parameter, as "projection='sorf'", and the kernel.
    projection : Projection
    law : Law
        The kernel's.
    known : mapping
        Projections by name that the parameter takes.
    """
    for capability in projection.lacking(law):
        kinds = ((name, kind()) for name, kind in known.items() if not kind.is_linear)
        serving = [name for name, kind in kinds if not kind.lacking(law)]
        raise ValueError(
            f"{owner}: {asked} needs {_meaning(capability)}, which {kernel} is not; "
            f"use {asked.partition('=')[0]}={' or '.join(map(repr, serving))}."
        )


def _meaning(capability: str) -> str:
    return MEANING.get(capability, f"a kernel whose law has {capability}")


def linear_only(projection: Projection) -> TypeError:
    """The error of a projection that has no frequencies to offer."""
    return TypeError(
        f"{type(projection).__name__} is a linear projection only; use it in "
        "RandomProjection, or take another projection for random features, such as "
        "'sorf' or 'dense'."
    )
