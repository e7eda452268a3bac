"""The feature map: a linear map, a nonlinearity and weights, applied block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
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
"""Entries looked at in one step of the search for NaN."""

Writer = Callable[[Any, np.ndarray], None]
"""Writes the features of a block of rows into an array."""


@dataclass(frozen=True, eq=False, repr=False)
class FeatureMap:
    """φ(x) = √weights ∘ nonlinearity(W x): an immutable, pure function of each row.

    Rows are walked in blocks that fit the cache: project, apply the nonlinearity, write
    the output once. Memory: the output and one block of projections per thread; where
    rows come in another floating type than the map's, a copy of the map in theirs.
    Time: the linear map's, and O(n n_components).

    Parameters
    ----------
    linear : LinearMap of shape (n_projections, n_features)
        A `Stack` of as many maps as the nonlinearity has stages, where those are more
        than one.
    nonlinearity : SampledNonlinearity
    amplitudes : array of (n_components,), optional
        √weights, which multiplies the features; None for one.

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
        return self.nonlinearity.n_out

    @property
    def weights_(self) -> np.ndarray:
        """What each feature counts for in inner products, (n_components,): plain is 1.

        ⟨φ(x), φ(y)⟩ = Σ_j weights_j z_j(x) z_j(y), z normalised for n_components.
        """
        if self.amplitudes is None:
            return np.ones(self.n_components)
        return np.square(self.amplitudes, dtype=np.float64)

    @property
    def dtype(self) -> np.dtype:
        return self.linear.dtype

    @property
    def stages(self) -> tuple[LinearMap, ...]:
        """The linear maps that the nonlinearity takes one after the other."""
        several = isinstance(self.linear, Stack) and self.nonlinearity.n_stages > 1
        return self.linear.maps if several else (self.linear,)  # type: ignore

    @property
    def work_columns(self) -> int:
        """Numbers per row that a block holds at a time."""
        widest = max(stage.work_columns for stage in self.stages)
        return widest + self.nonlinearity.scratch_columns

    def astype(self, dtype: Any) -> Self:
        """The same map computing in another floating type."""
        if self.dtype == dtype:
            return self
        return type(self)(
            self.linear.astype(dtype),
            self.nonlinearity.astype(dtype),
            None if self.amplitudes is None else self.amplitudes.astype(dtype),
        )

    def __call__(self, X: Any) -> Any:
        """Features of dense or CSR rows X, (n, n_features), in X's floating type.

        Whole numbers become float64; NaN stays NaN, but for codes and signs, which have
        none. Codes are whole numbers, or CSR.
        """
        X = floating_rows(X, self.linear.shape[1])
        return self.astype(X.dtype)._apply(X)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """Features of rows X in the operations of any namespace."""
        own = self.astype(ops.dtype)
        F = own.nonlinearity.forward(ops, TracedRows(ops, X, own.stages))
        return F if own.amplitudes is None else ops.multiply(F, own.amplitudes)

    def keep(self, units: np.ndarray, weights: np.ndarray) -> FeatureMap:
        """√w_u φ_u of some units u alone: frequencies, or what else shares a weight.

        The others are never computed again where W's rows stand alone (see
        `LinearMap.select`).
        """
        kept, rows = self.nonlinearity.select(units)
        # both nonlinearities divide by √(their number of units): undo one, do the other
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
        """The two stages of compressive features: P, and the map of measurements P x.

        φ(x) = second(P x). `P.apply(X)` measures rows, `P.to_dense()` is the matrix,
        (p, n_features); `second` takes measurements made anywhere.
        """
        if not isinstance(self.linear, Compose):
            raise TypeError(
                "split: this feature map has no stage of measurements; compressive "
                "features have one: methods.compressive(…), or "
                "projection=projections.Compressive(p). Units of maxout have one for "
                "all with a shared pool only: pool=N; phases in float64 have none."
            )
        if self.nonlinearity.takes_lengths:
            raise TypeError(
                "split: centred maxout features take ‖x‖, which measurements do not "
                "tell; use center=False."
            )
        return self.linear.inner, replace(self, linear=self.linear.outer)

    def writer(self, rows: int) -> Writer:
        """A function that writes the features of up to `rows` rows, with own scratch.

        Rows are of the map's floating type, in a form that `check_all_rows` lets pass.
        """
        stages = self.stages
        scratch = np.empty((rows, stages[0].shape[0]), dtype=self.dtype)

        def write(X: Any, out: np.ndarray) -> None:
            self.nonlinearity(_Rows(X, stages, scratch[: X.shape[0]]), out)
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
class _Rows:
    """One block of rows for a nonlinearity: see `ProjectedRows`."""

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
    """X Wᵀ block by block, (n, n_out), in X's floating type."""
    check_all_rows(X, linear.shape[1])
    linear = linear.astype(X.dtype)
    Z = np.empty((X.shape[0], linear.shape[0]), dtype=X.dtype)
    rows = block_rows(linear.work_columns, Z.itemsize)

    def step(block: slice) -> None:
        linear.apply(rows_of(X, block), out=Z[block])

    # work is what is read or written, whichever is more
    for_row_blocks(lambda: step, len(Z), rows, max(linear.shape))
    return Z


def inner_products(F: Any, G: Any) -> np.ndarray:
    """⟨φ(x), φ(y)⟩ of features F and G, (n, n'); of codes, the share of equal ones."""
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
    """A block of rows without copying them: SciPy's own slices of CSR copy."""
    if not sparse.issparse(X):
        return X[block]
    stored = slice(X.indptr[block.start], X.indptr[block.stop])
    indptr = X.indptr[block.start : block.stop + 1] - stored.start
    parts = (X.data[stored], X.indices[stored], indptr)
    return sparse.csr_matrix(parts, shape=(indptr.size - 1, X.shape[1]), copy=False)


def all_finite(X: Any) -> bool:
    """Whether no entry is NaN or infinite, on all cores: as fast as X is read."""
    numbers = X.data[:, None] if sparse.issparse(X) else X
    finite = []

    def step(block: slice) -> None:
        part = numbers[block]
        # a sum is the fastest look at all of them; it may overflow by itself
        with np.errstate(over="ignore", invalid="ignore"):
            finite.append(np.isfinite(part.sum()) or np.isfinite(part).all())

    if numbers.size <= FINITE_ENTRIES:
        step(slice(None))
        return bool(finite[0])
    rows = max(1, FINITE_ENTRIES // max(1, numbers.shape[1]))
    for_row_blocks(lambda: step, len(numbers), rows, numbers.shape[1])
    return all(finite)


def floating_rows(X: Any, n_in: int) -> Any:
    """Rows that blocks may take on trust; whole numbers become float64."""
    check_unmasked("X", X)
    X = X if sparse.issparse(X) else np.asarray(X)
    X = X.astype(np.float64) if X.dtype.kind in "biu" else X
    check_all_rows(X, n_in)
    return X


def check_all_rows(X: Any, n_in: int) -> None:
    """What blocks take on trust: their form, and that CSR indices stay inside."""
    check_input(X, n_in)
    check_storage(X)
