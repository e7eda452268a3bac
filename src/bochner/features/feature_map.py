"""The feature map: a linear map, a nonlinearity and weights, applied block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from .._core.ops import Ops, Tensor
from .._core.parallel import Step, block_rows, for_row_blocks
from .._core.validation import check_storage, check_unmasked, read_only
from ..kernels.distances import lengths
from ..nonlinearities._maxout import equal_codes
from ..nonlinearities.base import SampledNonlinearity, TracedRows
from ..projections.algebra import Compose, Stack
from ..projections.base import LinearMap, check_input

FINITE_ENTRIES = 1 << 18
"""Entries that one step of the search for NaN reads."""

Writer = Callable[[Any, np.ndarray], None]
"""Writes the features of a block of rows into an array."""


@dataclass(frozen=True, eq=False, repr=False)
class FeatureMap:
    """φ(x) = √weights ∘ nonlinearity(W x): an immutable, pure function of each row.

    Rows are processed in blocks that fit into the cache: project, apply the
    nonlinearity, write the output once. Memory: the output, one block of projections
    per thread and, if the rows have another floating type than the map, a copy of the
    map in that type. Time: that of the linear map, and O(n n_components).

    Parameters
    ----------
    linear : LinearMap of shape (n_projections, n_features)
        W. If the nonlinearity has more than one stage, W is a `Stack` of one map per
        stage.
    nonlinearity : SampledNonlinearity
        Turns projections into features.
    amplitudes : array of shape (n_components,) or None, default None
        √weights, which multiplies the features; None means that all weights are 1.

    Examples
    --------
    >>> from bochner import methods
    >>> methods.rff(8, random_state=0).fit([[0.0, 1.0]]).feature_map_
    FeatureMap(2 features → 8, float64)
    """

    linear: LinearMap
    nonlinearity: SampledNonlinearity
    amplitudes: np.ndarray | None = None

    def __repr__(self) -> str:
        name, n_in = type(self).__name__, self.linear.shape[1]
        return f"{name}({n_in} features → {self.n_components}, {self.dtype})"

    @property
    def n_components(self) -> int:
        """Number of features."""
        return self.nonlinearity.n_out

    @property
    def weights_(self) -> np.ndarray:
        """Weight of each feature in inner products, (n_components,); 1 by default.

        ⟨φ(x), φ(y)⟩ = Σ_j weights_j z_j(x) z_j(y), with z normalised for n_components.
        """
        if self.amplitudes is None:
            return np.ones(self.n_components)
        return np.square(self.amplitudes, dtype=np.float64)

    @property
    def dtype(self) -> np.dtype:
        """Floating type in which the map computes."""
        return self.linear.dtype

    @property
    def stages(self) -> tuple[LinearMap, ...]:
        """The linear maps that the nonlinearity uses, one per stage."""
        several = isinstance(self.linear, Stack) and self.nonlinearity.n_stages > 1
        return self.linear.maps if several else (self.linear,)  # type: ignore

    @property
    def work_columns(self) -> int:
        """Numbers per row that a block holds at a time."""
        widest = max(stage.work_columns for stage in self.stages)
        return widest + self.nonlinearity.scratch_columns

    def astype(self, dtype: DTypeLike) -> Self:
        """The same map, computed in another floating type."""
        if self.dtype == dtype:
            return self
        return type(self)(
            self.linear.astype(dtype),
            self.nonlinearity.astype(dtype),
            None if self.amplitudes is None else self.amplitudes.astype(dtype),
        )

    def __call__(self, X: Any) -> Any:
        """Compute the features of rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
            float32, float64 or integers; integers are converted to float64.

        Returns
        -------
        array of shape (n, n_components), in X's floating type
            Integers or a CSR matrix if the features are codes. Features of NaN are NaN,
            except codes and signs, which cannot represent it.
        """
        X = floating_rows(X, self.linear.shape[1])
        return self.astype(X.dtype)._apply(X)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """Features of rows X, in the operations of `ops`."""
        typed = self.astype(ops.dtype)
        F = typed.nonlinearity.forward(ops, TracedRows(ops, X, typed.stages))
        return F if typed.amplitudes is None else ops.multiply(F, typed.amplitudes)

    def keep(self, units: np.ndarray, weights: np.ndarray) -> FeatureMap:
        """The map √w_u φ_u of some units u.

        A unit is the set of features that share one weight, for instance those of one
        frequency. The projections of the other units are no longer computed if the rows
        of W are independent of each other (see `LinearMap.select`).

        Parameters
        ----------
        units : int array of shape (n_kept,)
            Indices of the units to keep.
        weights : array of shape (n_kept,)
            Weight w of each kept unit, relative to its share among all units.

        Returns
        -------
        FeatureMap
        """
        kept, rows = self.nonlinearity.select(units)
        # a nonlinearity divides by √(its number of units): undo the old, apply the new
        share = kept.n_units / self.nonlinearity.n_units
        n_parts = kept.n_out // kept.n_units
        amplitudes = np.tile(np.sqrt(share * weights), n_parts)
        if self.amplitudes is not None:
            parts = self.amplitudes.reshape(n_parts, -1)
            amplitudes *= parts[:, units].ravel()
        stages = tuple(stage.select(rows) for stage in self.stages)
        linear = Stack(stages) if len(stages) > 1 else stages[0]
        return FeatureMap(linear, kept, amplitudes.astype(self.dtype))

    def split(self) -> tuple[LinearMap, FeatureMap]:
        """The two stages of compressive features: φ(x) = second(P x).

        Returns
        -------
        P : LinearMap of shape (p, n_features)
            Takes the measurements: `P.apply(X)` measures rows, `P.to_dense()` is the
            matrix.
        second : FeatureMap
            Features of measurements, wherever those were taken.

        Raises
        ------
        TypeError
            If the map has no stage of measurements, or needs more than measurements.
        """
        if not isinstance(self.linear, Compose):
            raise TypeError(
                "split: this feature map has no stage of measurements; compressive "
                "features have one: methods.compressive(…), or "
                "projection=projections.Compressive(p). Maxout features have one only "
                "with a shared pool (pool=N), and phases in float64 have none."
            )
        if self.nonlinearity.takes_lengths:
            raise TypeError(
                "split: centred maxout features need ‖x‖, which cannot be computed "
                "from measurements; use center=False."
            )
        return self.linear.inner, replace(self, linear=self.linear.outer)

    def writer(self, rows: int) -> Writer:
        """A function that writes the features of up to `rows` rows, with own scratch.

        The function takes rows that have the map's floating type and have passed
        `check_all_rows`.
        """
        stages = self.stages
        scratch = np.empty((rows, stages[0].shape[0]), dtype=self.dtype)

        def write(X: Any, out: np.ndarray) -> None:
            self.nonlinearity(_BlockRows(X, stages, scratch[: X.shape[0]]), out)
            if self.amplitudes is not None:
                out *= self.amplitudes

        return write

    def _apply(self, X: Any) -> Any:
        rows = block_rows(self.work_columns, self.dtype.itemsize)
        F = self.nonlinearity.empty(X.shape[0], self.dtype)

        def make_step() -> Step:
            write = self.writer(min(rows, len(F)))
            return lambda block: write(rows_of(X, block), F[block])

        work = max(self.n_components, self.linear.shape[0])
        for_row_blocks(make_step, len(F), rows, work)
        return self.nonlinearity.features(F, self.dtype)


@dataclass(frozen=True, eq=False)
class _BlockRows:
    """One block of rows, projected for a nonlinearity: see `ProjectedRows`."""

    X: Any
    stages: tuple[LinearMap, ...]
    scratch: np.ndarray

    def project(self, stage: int = 0, out: np.ndarray | None = None) -> np.ndarray:
        Z = self.scratch if out is None else out
        self.stages[stage].apply(self.X, out=Z)
        return Z

    def lengths(self) -> np.ndarray:
        return lengths(self.X).astype(self.scratch.dtype)


def project(linear: LinearMap, X: Any) -> np.ndarray:
    """X Wᵀ, computed block by block, (n, n_out), in X's floating type."""
    check_all_rows(X, linear.shape[1])
    linear = linear.astype(X.dtype)
    Z = np.empty((X.shape[0], linear.shape[0]), dtype=X.dtype)
    rows = block_rows(linear.work_columns, Z.itemsize)

    def step(block: slice) -> None:
        linear.apply(rows_of(X, block), out=Z[block])

    # the work per row is the larger of the numbers read and the numbers written
    for_row_blocks(lambda: step, len(Z), rows, max(linear.shape))
    return Z


def inner_products(F: Any, G: Any) -> np.ndarray:
    """⟨φ(x), φ(y)⟩ of features F and G, (n, n'); for codes, the share that is equal."""
    if sparse.issparse(F):
        return (F @ G.T).toarray()
    if F.dtype.kind == "f":
        return F @ G.T
    shares = np.empty((len(F), len(G)), dtype=np.float32)
    A, B = read_only(F), read_only(G)

    def step(block: slice) -> None:
        equal_codes(A[block], B, shares[block])

    rows = block_rows(len(G), shares.itemsize)
    for_row_blocks(lambda: step, len(F), rows, len(G) * F.shape[1])
    shares /= F.shape[1]
    return shares


def rows_of(X: Any, block: slice) -> Any:
    """A block of rows without a copy; SciPy's slices of CSR matrices copy."""
    if not sparse.issparse(X):
        return X[block]
    stored = slice(X.indptr[block.start], X.indptr[block.stop])
    indptr = X.indptr[block.start : block.stop + 1] - stored.start
    parts = (X.data[stored], X.indices[stored], indptr)
    return sparse.csr_matrix(parts, shape=(indptr.size - 1, X.shape[1]), copy=False)


def all_finite(X: Any) -> bool:
    """Whether no entry is NaN or infinite, on all cores, at the speed of reading X."""
    numbers = X.data[:, None] if sparse.issparse(X) else X
    finite = []

    def step(block: slice) -> None:
        part = numbers[block]
        # the sum is the fastest test; if it overflows, test every entry
        with np.errstate(over="ignore", invalid="ignore"):
            finite.append(np.isfinite(part.sum()) or np.isfinite(part).all())

    if numbers.size <= FINITE_ENTRIES:
        step(slice(None))
        return bool(finite[0])
    rows = max(1, FINITE_ENTRIES // max(1, numbers.shape[1]))
    for_row_blocks(lambda: step, len(numbers), rows, numbers.shape[1])
    return all(finite)


def floating_rows(X: Any, n_in: int) -> Any:
    """X as checked rows of a floating type; integers are converted to float64."""
    check_unmasked("X", X)
    X = X if sparse.issparse(X) else np.asarray(X)
    X = X.astype(np.float64) if X.dtype.kind in "biu" else X
    check_all_rows(X, n_in)
    return X


def check_all_rows(X: Any, n_in: int) -> None:
    """Check what compiled code relies on: shape, type, and column indices of CSR."""
    check_input(X, n_in)
    check_storage(X)
