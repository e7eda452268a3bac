"""KernelPCA: principal components of features, for any number of rows."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from .._core.ops import Ops, Tensor
from .._core.remote_rows import is_lazy, over_chunks
from .._core.rollback import restores_on_error
from .._core.steps import forward_linear
from .._core.validation import FLOAT_NAMES, check_count, check_weight
from ..data.stream import Blocks
from ..engines.checkpoint import checkpoint_of
from ..engines.sources import ArraySource, Block, BlockSource, Source
from ..features.nystroem import Nystroem
from ..features.transformer import checked_rows
from ..solvers.moments import Moments
from ..solvers.pca import Components, components, components_of_rows
from ..solvers.rows import Chunk, mixed
from .preparation import (
    Training,
    canonical,
    check_alone,
    default_size,
    first_block,
    fit_transformer,
    gathered,
    given_features,
    is_automatic,
    kept_map,
    lazy_source,
    moment_bytes,
    on_few_threads,
    predicted,
    rng_of,
    seed,
    training,
)

ROW_BYTES = 80
"""Bytes per entry of the features if components are computed from the rows: copies and
singular vectors."""


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Kernel principal components from the covariance of features.

        C = Σ_i (φ(x_i) − μ)(φ(x_i) − μ)ᵀ / n = V Λ Vᵀ,   x → (φ(x) − μ)ᵀ V

    If the inner products of the M features are the kernel, these are the components of
    scikit-learn's `KernelPCA`, with O(M²) memory instead of O(n²).

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most the number of features.
    features : None, int, str or transformer, default=None
        The feature map, as for `KernelClassifier`. None or an int (the number of
        features) takes Nyström features of a Gaussian kernel, with γ by the median
        rule. Features are not standardised, because there is no score to validate
        that choice.
    memory : None, float or str, default=None
        Memory budget of a fit in addition to the data: a number of bytes, or a string
        such as "2 GiB". None allows 2 GiB, or a quarter of the machine's memory if that
        is less.
    checkpoint : str or path-like, default=None
        File for the state of a fit on `blocks`, as for `KernelRegressor`.
    checkpoint_every : int, default=16
        Number of blocks between two writes of the checkpoint file.
    verbose : int, default=0
        Positive values report progress on standard error.
    random_state : int, RandomState or None, default=None
        Seed of the feature map.

    Attributes
    ----------
    features_ : transformer
        The fitted feature map.
    components_ : ndarray of shape (n_components, M)
        Vᵀ, the components as combinations of features.
    mean_ : ndarray of shape (M,)
        μ, the mean of the features.
    explained_variance_ : ndarray of shape (n_components,)
        Variances along the components, the largest first.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Shares of the components in the total variance.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X, if X is a frame.

    See Also
    --------
    sklearn.decomposition.KernelPCA : Exact components with O(n²) memory.
    KernelClassifier, KernelRegressor : Supervised learners on the same features.

    Notes
    -----
    A fit is one pass over the rows, with O(n M (d + M) + M³) time and O(M²) memory. For
    n ≤ M/2 rows in memory it takes O(n M (d + n)) time and O(n M) memory. Fits on
    blocks and `partial_fit` give the result of `fit` with the same map, up to rounding.

    References
    ----------
    B. Schölkopf, A. Smola and K.-R. Müller, Nonlinear component analysis as a kernel
    eigenvalue problem, Neural Computation 10, 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> KernelPCA(2, random_state=0).fit_transform(X).shape
    (200, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        features: int | str | BaseEstimator | None = None,
        memory: float | str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 16,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.features = features
        self.memory = memory
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose
        self.random_state = random_state

    @restores_on_error
    @on_few_threads
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the map and the components.

        Parameters
        ----------
        X : array-like, CSR matrix, Dask collection or `blocks`, shape (n, d)
            Rows to learn from.
        y : array-like of shape (n,), default=None
            Targets, which only supervised maps use.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows; None weights all rows equally. `blocks` carry their own
            targets and weights.

        Returns
        -------
        self : KernelPCA
            The fitted estimator.
        """
        check_count("KernelPCA", "n_components", self.n_components)
        source, first = self._source(X, sample_weight)
        self._moments: Moments | None = None
        checkpoint = checkpoint_of(self, first if isinstance(X, Blocks) else None)
        y = first.y if isinstance(X, Blocks) else y
        features = kept_map(
            self, checkpoint, lambda: self._fitted_map(first.X, y, first.weight)
        )
        parts = training(self, source, features, first, _solver_bytes, checkpoint)
        if _has_few_rows(source, parts.raw.n_columns, self.n_components):
            self._from_rows(parts)
        else:
            self._from_moments(parts)
        self._moments = None
        checkpoint.clear()
        return self

    @restores_on_error
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Update the components with one more block of rows.

        The first block fits the map. The first call after `fit` starts from the
        beginning, with a new map.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            A block of rows.
        y : array-like of shape (n,), default=None
            Targets, which only supervised maps use.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows; None weights all rows equally.

        Returns
        -------
        self : KernelPCA
            The updated estimator.
        """
        check_count("KernelPCA", "n_components", self.n_components)
        continues = getattr(self, "_moments", None) is not None
        block = self._validate(X, None, sample_weight, reset=not continues)
        if continues:
            features = self.features_
        else:
            self._moments = None
            features = self._fitted_map(block.X, y, block.weight)
        parts = training(self, ArraySource(*block), features, block, moment_bytes)
        self._from_moments(parts)
        return self

    @over_chunks
    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of rows along the components.

        Parameters
        ----------
        X : array-like, CSR matrix or Dask collection of shape (n, d)
            Rows to transform.

        Returns
        -------
        ndarray of shape (n, n_components)
            The coordinates; a Dask array for a Dask collection.
        """
        check_is_fitted(self, "components_")
        X = checked_rows(self, X, reset=False)
        shift = -self.components_ @ self.mean_
        return predicted(self.features_, self._columns, shift, X)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """`transform` of rows X, written in the operations of the namespace `ops`."""
        shift = -self.components_ @ self.mean_
        return forward_linear(self.features_, ops, X, self._columns, shift)

    def outputs(self, ops: Ops, X: Tensor) -> dict[str, Tensor]:
        """The outputs of an exported model for rows X, by name."""
        return {"components": self.forward(ops, X)}

    def _source(self, X: Any, sample_weight: Any) -> tuple[Source, Block]:
        if isinstance(X, Blocks):
            check_alone(self, None, sample_weight)
            first = first_block(X, self._validate)
            return BlockSource(X, self._validate_again), first
        X, _, sample_weight = gathered(X, None, sample_weight)
        if is_lazy(X):
            lazy = lazy_source(self, X, None, sample_weight, self._validate_again)
            return lazy, Block(lazy.X, _no_targets(lazy.n_rows), lazy.weight)
        block = self._validate(X, None, sample_weight, reset=True)
        return ArraySource(*block), block

    def _validate(self, X: Any, y: Any, weight: Any, reset: bool) -> Block:
        X = checked_rows(self, X, reset=reset)
        y = np.zeros(X.shape[0]) if y is None else np.asarray(y)
        return Block(X, y, check_weight("KernelPCA", weight, X))

    def _validate_again(self, X: Any, y: Any, weight: Any) -> Block:
        """Validate a later block, whose columns must be those of the first."""
        return self._validate(X, y, weight, reset=False)

    def _fitted_map(self, X: Any, y: Any, weight: Any) -> Any:
        rng = rng_of(self)
        if not is_automatic(self.features):
            features = given_features(self, X.shape[0], rng)
            return fit_transformer(features, X, y, weight)
        rows = canonical(X, _no_targets(X.shape[0]), weight)
        size = default_size(self, rows.n_rows)
        features = Nystroem(size, gamma="median", random_state=seed(rng, "map"))
        return features.fit(X, sample_weight=weight)

    def _from_rows(self, parts: Training) -> None:
        """Compute components from the rows, which are far fewer than the features."""
        chunks = list(parts.rows.chunks())
        rows = [mixed(chunk.F, parts.raw.mixing) for chunk in chunks]
        F = np.concatenate([R.toarray() if sparse.issparse(R) else R for R in rows])
        has_weights = chunks[0].weight is not None
        weight = np.concatenate([c.weight for c in chunks]) if has_weights else None
        result = components_of_rows(F.astype(np.float64), weight, self.n_components)
        self._set_components(result, parts)

    def _from_moments(self, parts: Training) -> None:
        """Add the moments of the rows to those so far, and compute the components."""
        if self.n_components > parts.raw.n_columns:
            raise ValueError(
                f"KernelPCA: n_components={self.n_components} is more than the "
                f"{parts.raw.n_columns} features of the map; reduce n_components, or "
                "pass a map with more features."
            )
        mixing, n_columns = parts.raw.mixing, parts.raw.n_columns

        def add(moments: Moments, chunk: Chunk) -> None:
            F = mixed(chunk.F, mixing)
            moments.add(F, np.empty((F.shape[0], 0)), chunk.weight)

        moments = parts.rows.fold(lambda place: Moments.zero(n_columns, 0), add)
        if self._moments is not None:
            moments.merge(self._moments)
        self._moments = moments
        self._set_components(components(moments, self.n_components), parts)

    def _set_components(self, result: Components, parts: Training) -> None:
        self.features_ = parts.transformer
        self.components_ = result.vectors.T
        self._columns = parts.raw.to_columns(result.vectors)
        self.mean_ = result.mean
        self.explained_variance_ = result.variances
        total = result.total if result.total > 0 else 1.0
        self.explained_variance_ratio_ = result.variances / total

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = FLOAT_NAMES.copy()
        return tags


def _no_targets(n: int) -> np.ndarray:
    """Zeros for n rows, as a view of a single number."""
    return np.broadcast_to(0.0, n)


def _has_few_rows(source: Source, n_columns: int, n_components: int) -> bool:
    """Whether singular vectors of the rows are cheaper than moments of the columns."""
    in_memory = isinstance(source, ArraySource)
    return in_memory and n_components <= source.n_rows <= n_columns // 2


def _solver_bytes(source: Source, n_columns: int) -> int:
    """Memory of the solver in addition to the features."""
    if _has_few_rows(source, n_columns, 1):
        return ROW_BYTES * source.n_rows * n_columns
    return moment_bytes(source, n_columns)
