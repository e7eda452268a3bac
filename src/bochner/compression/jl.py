"""Johnson-Lindenstrauss compression: random mixtures of all candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from .._core.ops import Ops, Tensor
from .._core.parallel import Step, block_rows, for_row_blocks
from .._core.random import Stream
from .._core.validation import check_choice
from ..features.feature_map import FeatureMap, floating_rows, rows_of
from ..kernels.base import Kernel
from ..projections import PROJECTIONS
from ..projections.base import LinearMap, Projection
from .base import N_CANDIDATES, Compression, Selection


class JL(Compression):
    """V z(x): a random projection V of all candidates z, with E‖V z‖² = ‖z‖².

    The baseline for data-dependent compression. It reads no data, but computes every
    candidate for every row, and its error is never below that of the candidates.

    Time is O(n (d J₊ + J₊ J)) with dense parts and O(n J₊ log J₊) with "sorf" (the fast
    Hadamard transform) for V; memory is O(d J₊ + J₊ J) and O(J₊).

    Parameters
    ----------
    n_candidates : int, default 5000
        J₊, the number of columns drawn.
    projection : Projection or str, default "dense"
        Distribution of V: "dense" (Gaussian), "sorf" (Hadamard), or any other
        projection that `RandomProjection` accepts.

    See Also
    --------
    GIGA : Compression that selects candidates by their use on the data.
    bochner.methods.jl : Random features with this compression.

    References
    ----------
    N. Ailon and B. Chazelle, The fast Johnson-Lindenstrauss transform and approximate
    nearest neighbors, SIAM Journal on Computing 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatures, compression
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> spec = compression.JL(n_candidates=1000, projection="sorf")
    >>> RandomFeatures(32, compression=spec, random_state=0).fit_transform(X).shape
    (200, 32)
    """

    def __init__(
        self, n_candidates: int = N_CANDIDATES, projection: Projection | str = "dense"
    ) -> None:
        self.n_candidates = n_candidates
        self.projection = projection

    def compress(
        self,
        candidates: FeatureMap,
        n_components: int,
        X: Any,
        kernel: Kernel,
        weight: np.ndarray | None,
        rng: Stream,
    ) -> tuple[SketchedMap, None]:
        """Draw V for the candidates; X, kernel and weight are not used."""
        return self.again(candidates, n_components, None, rng), None

    def again(
        self,
        candidates: FeatureMap,
        n_components: int,
        selection: Selection | None,
        rng: Stream,
    ) -> SketchedMap:
        n_in = candidates.n_components
        V = self.mixing.sample_isometry(n_components, n_in, rng)
        return SketchedMap(candidates, V)

    @property
    def mixing(self) -> Projection:
        """The projection that draws V, as an object."""
        return check_choice(
            "JL", "projection", self.projection, PROJECTIONS, Projection
        )


@dataclass(frozen=True, eq=False)
class SketchedMap:
    """φ(x) = V z(x): features of all candidates, mixed block by block.

    Memory: the output and one block of candidates per thread.

    Parameters
    ----------
    candidates : FeatureMap
        z, the map of all candidates.
    linear : LinearMap of shape (n_components, n_candidates)
        V.
    """

    candidates: FeatureMap
    linear: LinearMap

    @property
    def n_components(self) -> int:
        """Number of features."""
        return self.linear.shape[0]

    @property
    def weights_(self) -> np.ndarray:
        """Weight of each feature in inner products, (n_components,): all 1."""
        return np.ones(self.n_components)

    @property
    def dtype(self) -> np.dtype:
        """Floating type in which the map computes."""
        return self.linear.dtype

    def astype(self, dtype: DTypeLike) -> Self:
        """The same map, computed in another floating type."""
        return replace(
            self,
            candidates=self.candidates.astype(dtype),
            linear=self.linear.astype(dtype),
        )

    def split(self) -> tuple[LinearMap, SketchedMap]:
        """The two stages of compressive candidates: see `FeatureMap.split`."""
        P, second = self.candidates.split()
        return P, replace(self, candidates=second)

    def __call__(self, X: Any) -> np.ndarray:
        """Features of dense or CSR rows X, (n, n_components), in X's floating type."""
        X = floating_rows(X, self.candidates.linear.shape[1])
        return self.astype(X.dtype)._apply(X)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """Features of rows X, in the operations of `ops`."""
        Z = self.candidates.forward(ops, X)
        return self.linear.astype(ops.dtype).forward(ops, Z)

    def _apply(self, X: Any) -> np.ndarray:
        n_candidates = self.candidates.n_components
        columns = self.candidates.work_columns + n_candidates + self.linear.work_columns
        rows = block_rows(columns, self.dtype.itemsize)
        F = np.empty((X.shape[0], self.n_components), dtype=self.dtype)

        def make_step() -> Step:
            write = self.candidates.writer(min(rows, len(F)))
            scratch = np.empty((min(rows, len(F)), n_candidates), dtype=self.dtype)

            def step(block: slice) -> None:
                part = scratch[: block.stop - block.start]
                write(rows_of(X, block), part)
                self.linear.apply(part, out=F[block])

            return step

        for_row_blocks(make_step, len(F), rows, n_candidates)
        return F
