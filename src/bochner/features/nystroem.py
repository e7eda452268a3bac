"""Nyström features: a kernel seen from landmarks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .._core.ops import Ops, Tensor
from .._core.parallel import Step, block_rows, for_row_blocks
from .._core.random import as_stream
from .._core.remote_rows import LazyRows
from .._core.rollback import restores_on_error
from .._core.validation import check_count, check_option, check_rows, check_unmasked
from ..kernels.base import Kernel
from ..kernels.shift_invariant import Gaussian
from .feature_map import floating_rows, rows_of
from .kernel_columns import Columns, Precomputed, columns_of
from .landmarks import LANDMARKS, Pool, pool_of
from .transformer import KernelTransformer

RELATIVE_CUT = {"float32": 1e-6, "float64": 1e-12}
"""Share of the largest k(l, l) below which what a landmark adds to the others is
rounding: it is left out, or its feature would be noise over √cut."""


@dataclass(frozen=True, eq=False)
class NystroemMap:
    """φ(x) = U⁻ᵀ k(landmarks, x) with UᵀU = k(landmarks, landmarks).

    An immutable, pure function of each row: ⟨φ(x), φ(y)⟩ is the projection of k on the
    span of the landmarks, and exact at them. O(m (d + m)) a row; learners that take
    the columns k(landmarks, x) themselves pay O(m d).

    Parameters
    ----------
    columns : Columns
        x → k(landmarks, x).
    mixing : array of (m, m)
        U⁻¹, upper triangular, in the map's floating type.
    """

    columns: Columns
    mixing: np.ndarray

    @property
    def n_components(self) -> int:
        return len(self.mixing)

    @property
    def dtype(self) -> np.dtype:
        return self.mixing.dtype

    def astype(self, dtype: Any) -> Self:
        """The same map computing in another floating type."""
        if self.dtype == dtype:
            return self
        return replace(
            self, columns=self.columns.astype(dtype), mixing=self.mixing.astype(dtype)
        )

    def __call__(self, X: Any) -> np.ndarray:
        """Features of dense or CSR rows X, (n, n_components), in X's floating type."""
        X = floating_rows(X, self.columns.n_features)
        return self.astype(X.dtype)._apply(X)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """Features of rows X in the operations of any namespace."""
        return ops.matmul(self.forward_columns(ops, X), self.mixing)

    def forward_columns(self, ops: Ops, X: Tensor) -> Tensor:
        """The columns k(x, landmarks), which learners read instead of features."""
        return self.columns.astype(ops.dtype).forward(ops, X)

    def _apply(self, X: Any) -> np.ndarray:
        rows = block_rows(self.n_components, self.dtype.itemsize)
        F = np.empty((X.shape[0], self.n_components), dtype=self.dtype)

        def make_step() -> Step:
            scratch = np.empty((min(rows, len(F)), F.shape[1]), dtype=self.dtype)

            def step(block: slice) -> None:
                C = scratch[: block.stop - block.start]
                self.columns.evaluate(rows_of(X, block), C)
                np.matmul(C, self.mixing, out=F[block])

            return step

        for_row_blocks(make_step, len(F), rows, self.n_components)
        return F


class Nystroem(KernelTransformer):
    """Nyström features: the kernel itself, projected on the span of m landmarks.

    φ(x) = U⁻ᵀ k(L, x), UᵀU = k(L, L), so that ⟨φ(x), φ(y)⟩ = k(x, L) k(L, L)⁻¹ k(L, y).
    Data-dependent: at equal size as a rule more accurate than random features.

    Parameters
    ----------
    n_components : int, default 1024
        Number of landmarks m, at most the number of distinct rows. What a landmark adds
        below rounding is left out, so that there may be fewer features.
    kernel : Kernel, name, callable or "precomputed"
        None: Gaussian. A callable k(X, Y) returns a Gram matrix; "precomputed": X is
        the Gram matrix in `fit`, and kernel values with its rows in `transform`.
    gamma : float, array of (n_features,) or rule, default "scale"
        Bandwidth where `kernel` is None or a name: see `kernels.Gaussian`.
    landmarks : rule or array of (m, n_features)
        "uniform" rows, "kmeans" means, "rpcholesky" (randomly pivoted Cholesky),
        "margin" (rows near a pilot's decision boundary; `fit` then needs classes y), or
        the landmarks themselves.
    random_state : int, RandomState or None

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, its bandwidth resolved.
    landmarks_ : array or CSR matrix of shape (m, n_features)
    landmark_indices_ : array of (m,) or None
        Their places in X, where they are rows of it.
    feature_map_ : NystroemMap
    n_features_in_ : int

    Notes
    -----
    `fit` takes O(m² (d + m)) time, O(m²) memory and what the rule costs (see
    `bochner.features.landmarks`); `transform` O(n m (d + m)).

    References
    ----------
    C. Williams and M. Seeger, Using the Nyström method to speed up kernel machines,
    NIPS 2000. Y. Chen, E. Epperly, J. Tropp and R. Webber, Randomly pivoted Cholesky,
    CPAM 2025; E. Epperly et al., Embrace rejection, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import Nystroem
    >>> X = np.linspace(0, 1, 60).reshape(30, 2)
    >>> features = Nystroem(12, gamma=1.0, random_state=0).fit(X)
    >>> bool(abs(features.approximate_kernel(X) - features.kernel_(X)).max() < 1e-6)
    True
    """

    def __init__(
        self,
        n_components: int = 1024,
        *,
        kernel: Any = None,
        gamma: Any = "scale",
        landmarks: Any = "uniform",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.landmarks = landmarks
        self.random_state = random_state

    @restores_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Resolve the bandwidth on X, choose landmarks and factor their Gram matrix.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
        y : array of (n,), optional
            Classes, for landmarks="margin".
        sample_weight : array of (n,), optional
            A row of weight w counts as w rows.

        Returns
        -------
        self
        """
        X, weight = self._weighted(self._validated(X, reset=True), sample_weight)
        check_count("Nystroem", "n_components", self.n_components)
        if self._precomputed:
            return self._fit_precomputed(X, weight)
        self.kernel_ = self._resolved_kernel(X, weight)
        if isinstance(self.landmarks, str):
            rows, index = self._choose(X, y, weight)
        else:
            rows, index = self._given(X), None
        kept, mixing = _factor(_gram(self.kernel_, rows), X.dtype)
        self.landmarks_ = rows[kept]
        self.landmark_indices_ = None if index is None else index[kept]
        columns = columns_of(self.kernel_, self.landmarks_)
        self.feature_map_ = NystroemMap(columns, mixing)
        return self

    def _choose(self, X: Any, y: Any, weight: Any) -> tuple[Any, np.ndarray | None]:
        check_option("Nystroem", "landmarks", self.landmarks, tuple(LANDMARKS))
        check_unmasked("y", y)
        lazy = X if isinstance(X, LazyRows) else None
        places = None
        if lazy is not None and self.landmarks == "margin":  # it scores every row
            X, places = lazy.sample()
            y = None if y is None else lazy.targets("Nystroem", y)[places]
            weight = None if weight is None else weight[places]
        classes = None
        if self.landmarks == "margin" and y is not None:
            y = column_or_1d(y)
            check_consistent_length(X, y)
            check_classification_targets(y)
            classes = np.unique(y, return_inverse=True)[1]
        pool = pool_of(X, classes, weight)
        chosen = self._places(pool)
        if chosen.ndim == 2:
            return chosen, None
        index = pool.places(chosen)
        index = index if places is None else places[index]
        return pool.X[chosen], index if lazy is None else lazy.index(index)

    def _places(self, pool: Pool) -> np.ndarray:
        rng = as_stream(self.random_state).child("landmarks")
        rule = LANDMARKS[self.landmarks]
        return rule(pool, self.n_components, self.kernel_, rng)

    def _given(self, X: Any) -> Any:
        if np.ndim(self.landmarks) != 2 and not sparse.issparse(self.landmarks):
            names = ", ".join(map(repr, LANDMARKS))
            raise TypeError(
                f"Nystroem: landmarks must be one of {names}, or an array of rows of "
                f"{X.shape[1]} features; got {self.landmarks!r}."
            )
        rows = check_rows(self.landmarks, "Nystroem (landmarks)", "landmarks")
        rows = rows.astype(X.dtype)
        if rows.shape[1] != X.shape[1]:
            raise ValueError(
                f"Nystroem: landmarks have {rows.shape[1]} features and X has "
                f"{X.shape[1]}; they must agree."
            )
        return rows

    def _fit_precomputed(self, K: Any, weight: Any) -> Self:
        if K.shape[0] != K.shape[1]:
            raise ValueError(
                "Nystroem: with kernel='precomputed', fit takes the square Gram matrix "
                f"of the training rows; got shape {K.shape}."
            )
        check_option("Nystroem", "landmarks", self.landmarks, ("uniform",))
        self.kernel_ = "precomputed"
        pool = pool_of(K, None, weight)
        index = pool.places(self._places(pool))
        block = K[index][:, index]
        block = block.toarray() if sparse.issparse(block) else block
        kept, mixing = _factor(block.astype(np.float64), K.dtype)
        self.landmark_indices_ = index[kept]
        self.landmarks_ = None
        columns = Precomputed(self.landmark_indices_, K.shape[1], K.dtype)
        self.feature_map_ = NystroemMap(columns, mixing)
        return self

    def _resolved_kernel(self, X: Any, weight: Any) -> Any:
        if self.kernel is None:
            return Gaussian(self.gamma).resolve(X, weight)
        if callable(self.kernel) and not hasattr(self.kernel, "resolve"):
            return self.kernel
        return self._named_kernel().resolve(X, weight)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        margin = isinstance(self.landmarks, str) and self.landmarks == "margin"
        tags.target_tags.required = margin
        return tags


def _gram(kernel: Any, rows: Any) -> np.ndarray:
    """k(rows, rows), float64; functions may need to be told so."""
    try:
        K = kernel(rows) if isinstance(kernel, Kernel) else kernel(rows, rows)
        K = np.asarray(K, dtype=np.float64)
    except TypeError as error:
        raise TypeError(
            "Nystroem: kernel must be a function of two arrays of rows that gives an "
            f"array of numbers; {kernel!r} fails: {error}."
        ) from error
    if K.shape != (rows.shape[0],) * 2 or not np.isfinite(K).all():
        raise ValueError(
            f"Nystroem: kernel must give finite numbers, one for each of the "
            f"{rows.shape[0]} × {rows.shape[0]} pairs of landmarks; {kernel!r} gives "
            f"shape {K.shape}, {np.count_nonzero(~np.isfinite(K))} of them not finite. "
            "Scale the data, or widen the kernel."
        )
    return K


def _factor(K: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Landmarks worth keeping, and U⁻¹ of their Gram matrix UᵀU in `dtype`.

    Pivoted Cholesky stops where the largest residual falls below the relative cut: the
    landmarks left out lie in the span of the others, to rounding.
    """
    cut = RELATIVE_CUT[np.dtype(dtype).name] * max(K.diagonal().max(), 0)
    U, pivots, rank, _ = lapack.dpstrf(K, lower=0, tol=cut)
    if rank == 0 or cut == 0:
        raise ValueError(
            "Nystroem: the kernel of the landmarks is zero; it must be positive on "
            "its diagonal."
        )
    mixing, _ = lapack.dtrtri(np.triu(U[:rank, :rank]), lower=0)
    return pivots[:rank] - 1, np.ascontiguousarray(mixing, dtype=dtype)
