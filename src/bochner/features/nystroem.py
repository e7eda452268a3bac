"""Nyström features: a kernel, projected on the span of landmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
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
"""Residuals below this share of the largest k(l, l) are rounding errors. Landmarks with
such a residual are dropped, because their feature would be noise divided by √cut."""


@dataclass(frozen=True, eq=False)
class NystroemMap:
    """φ(x) = U⁻ᵀ k(landmarks, x) with UᵀU = k(landmarks, landmarks).

    An immutable, pure function of each row: ⟨φ(x), φ(y)⟩ is the projection of k on the
    span of the landmarks, and is exact at the landmarks. A row takes O(m (d + m)) time,
    and O(m d) for learners that use the columns k(landmarks, x) directly.

    Parameters
    ----------
    columns : Columns
        The function x → k(landmarks, x).
    mixing : array of shape (m, m)
        U⁻¹, upper triangular, in the map's floating type.
    """

    columns: Columns
    mixing: np.ndarray

    @property
    def n_components(self) -> int:
        """Number of features."""
        return len(self.mixing)

    @property
    def dtype(self) -> np.dtype:
        """Floating type in which the map computes."""
        return self.mixing.dtype

    def astype(self, dtype: DTypeLike) -> Self:
        """The same map, computed in another floating type."""
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
        """Features of rows X, in the operations of `ops`."""
        return ops.matmul(self.forward_columns(ops, X), self.mixing)

    def forward_columns(self, ops: Ops, X: Tensor) -> Tensor:
        """The columns k(x, landmarks), which learners use instead of the features."""
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
    """Nyström features: the kernel, projected on the span of m landmarks.

    φ(x) = U⁻ᵀ k(L, x) with UᵀU = k(L, L) for landmarks L, so that
    ⟨φ(x), φ(y)⟩ = k(x, L) k(L, L)⁻¹ k(L, y). The map depends on the data, and is
    usually more accurate than the same number of random features.

    Parameters
    ----------
    n_components : int, default 1024
        Number of landmarks m, at most the number of distinct rows. Landmarks that lie
        in the span of the others, up to rounding, are dropped, so that the map can have
        fewer features.
    kernel : Kernel, str, callable or None, default None
        Kernel to approximate. None is the Gaussian kernel. A callable k(X, Y) returns a
        Gram matrix. With "precomputed", X is the Gram matrix of the training rows in
        `fit`, and the kernel of other rows with the training rows in `transform`.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored, with a warning, if `kernel` is a Kernel
        object.
    landmarks : str or array of shape (m, n_features), default "uniform"
        The rule that chooses landmarks, or the landmarks themselves. The rules are
        "uniform" (random rows), "kmeans" (cluster means), "rpcholesky" (randomly
        pivoted Cholesky) and "margin" (rows near the decision boundary of a small
        pilot model; `fit` then needs class labels y).
    random_state : int, RandomState or None, default None
        Seed of all random draws.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, with its bandwidth resolved.
    landmarks_ : array or CSR matrix of shape (m, n_features), or None
        The landmarks; None for a precomputed kernel.
    landmark_indices_ : array of shape (m,) or None
        Indices of the landmarks in X; None if the landmarks are not rows of X.
    feature_map_ : NystroemMap
        The fitted map, a function of rows.
    n_features_in_ : int
        Number of features of X.

    See Also
    --------
    RandomFeatures : Features that do not depend on the data.
    bochner.features.landmarks : The rules, and their costs.

    Notes
    -----
    `fit` takes O(m² (d + m)) time and O(m²) memory in addition to the cost of the rule,
    `transform` O(n m (d + m)) time.

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
        kernel: Kernel | str | Callable[[Any, Any], np.ndarray] | None = None,
        gamma: float | str | ArrayLike = "scale",
        landmarks: str | ArrayLike = "uniform",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.landmarks = landmarks
        self.random_state = random_state

    @restores_on_error
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Resolve the bandwidth on X, choose landmarks and factor their Gram matrix.

        Parameters
        ----------
        X : array, CSR matrix or Dask collection of shape (n, n_features)
            Training rows, or their Gram matrix of shape (n, n) for
            ``kernel="precomputed"``.
        y : array of shape (n,) or None, default None
            Class labels; used by ``landmarks="margin"`` only.
        sample_weight : array of shape (n,) or None, default None
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
            rows, index = self._choose_landmarks(X, y, weight)
        else:
            rows, index = self._check_landmarks(X), None
        kept, mixing = _factor(_gram(self.kernel_, rows), X.dtype)
        self.landmarks_ = rows[kept]
        self.landmark_indices_ = None if index is None else index[kept]
        columns = columns_of(self.kernel_, self.landmarks_)
        self.feature_map_ = NystroemMap(columns, mixing)
        return self

    def _choose_landmarks(
        self, X: Any, y: Any, weight: Any
    ) -> tuple[Any, np.ndarray | None]:
        """Apply the rule; returns the landmarks, and their indices if they are rows."""
        check_option("Nystroem", "landmarks", self.landmarks, tuple(LANDMARKS))
        check_unmasked("y", y)
        lazy = X if isinstance(X, LazyRows) else None
        places = None
        if lazy is not None and self.landmarks == "margin":  # this rule reads every row
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
        chosen = self._apply_rule(pool)
        if chosen.ndim == 2:
            return chosen, None
        index = pool.places(chosen)
        index = index if places is None else places[index]
        return pool.X[chosen], index if lazy is None else lazy.index(index)

    def _apply_rule(self, pool: Pool) -> np.ndarray:
        """Indices of landmarks in the pool, or rows that are landmarks."""
        rng = as_stream(self.random_state).child("landmarks")
        rule = LANDMARKS[str(self.landmarks)]
        return rule(pool, self.n_components, self.kernel_, rng)

    def _check_landmarks(self, X: Any) -> Any:
        """The landmarks that the user passed as rows, in X's floating type."""
        if np.ndim(self.landmarks) != 2 and not sparse.issparse(self.landmarks):
            names = ", ".join(map(repr, LANDMARKS))
            raise TypeError(
                f"Nystroem: landmarks must be one of {names}, or an array of rows with "
                f"{X.shape[1]} features; got {self.landmarks!r}."
            )
        rows = check_rows(self.landmarks, "Nystroem (landmarks)", "landmarks")
        rows = rows.astype(X.dtype)
        if rows.shape[1] != X.shape[1]:
            raise ValueError(
                f"Nystroem: landmarks have {rows.shape[1]} features and X has "
                f"{X.shape[1]}; pass landmarks with {X.shape[1]} columns."
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
        index = pool.places(self._apply_rule(pool))
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
    """k(rows, rows) in float64; a plain function may not accept a single argument."""
    try:
        K = kernel(rows) if isinstance(kernel, Kernel) else kernel(rows, rows)
        K = np.asarray(K, dtype=np.float64)
    except TypeError as error:
        raise TypeError(
            "Nystroem: kernel must be a function of two arrays of rows that returns an "
            f"array of numbers; {kernel!r} fails: {error}."
        ) from error
    if K.shape != (rows.shape[0],) * 2 or not np.isfinite(K).all():
        raise ValueError(
            f"Nystroem: kernel must return finite numbers, one for each of the "
            f"{rows.shape[0]} × {rows.shape[0]} pairs of landmarks; {kernel!r} returns "
            f"shape {K.shape} with {np.count_nonzero(~np.isfinite(K))} numbers that "
            "are not finite. Scale the data, or widen the kernel."
        )
    return K


def _factor(K: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the landmarks to keep, and U⁻¹ of their Gram matrix UᵀU in `dtype`.

    Pivoted Cholesky stops when the largest residual falls below the relative cut. The
    landmarks that it leaves out lie in the span of the others, up to rounding.
    """
    cut = RELATIVE_CUT[np.dtype(dtype).name] * max(K.diagonal().max(), 0)
    U, pivots, rank, _ = lapack.dpstrf(K, lower=0, tol=cut)
    if rank == 0 or cut == 0:
        raise ValueError(
            "Nystroem: the kernel of the landmarks is zero, but k(x, x) must be "
            "positive; check the data, or use another kernel."
        )
    mixing, _ = lapack.dtrtri(np.triu(U[:rank, :rank]), lower=0)
    return pivots[:rank] - 1, np.ascontiguousarray(mixing, dtype=dtype)
