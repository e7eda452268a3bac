"""KernelPCA: principal components of features, at any number of rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
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
    predicted,
    rng_of,
    seed,
    training,
)

ROW_BYTES = 80
"""Bytes for each entry of the features of few rows: copies and singular vectors."""


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Kernel principal components from the covariance of features.

        C = Σ_i (φ(x_i) − μ)(φ(x_i) − μ)ᵀ / n = V Λ Vᵀ,   x → (φ(x) − μ)ᵀ V

    With features whose inner products are the kernel these are the components of
    scikit-learn's `KernelPCA`, at O(M²) memory instead of O(n²).

    Parameters
    ----------
    n_components : int
        Components kept, at most the number of features.
    features : None, int, method's name or transformer
        As for `KernelClassifier`. None or an int: Nyström features of a Gaussian
        kernel, γ by the median rule; nothing is standardised, as there is nothing to
        validate it by.
    memory : None, int or str
        Budget beside the data, as "2 GiB" (the default, or a quarter of the machine).
    checkpoint : path, optional
        A file for the state of a fit on `blocks`, as for `KernelRegressor`.
    checkpoint_every : int
        Blocks between two writings.
    verbose : int
        Report progress on standard error.
    random_state : int, RandomState or None

    Attributes
    ----------
    features_ : fitted transformer
    components_ : array of (n_components, n_map_features)
    mean_ : array of (n_map_features,)
    explained_variance_ : array of (n_components,)
    explained_variance_ratio_ : array of (n_components,)
    n_features_in_ : int

    Notes
    -----
    One pass, O(n M (d + M)) time and O(M³), memory O(M²); of n ≤ M/2 rows
    O(n M (d + n)) and O(n M). Blocks and `partial_fit` give what `fit` gives on the
    same map, to rounding.

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
        features: Any = None,
        memory: Any = None,
        checkpoint: Any = None,
        checkpoint_every: int = 16,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.features = features
        self.memory = memory
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose
        self.random_state = random_state

    @restores_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the map and the components.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features), Dask collection or `blocks`
        y : optional
            Handed to the map.
        sample_weight : array of (n,), optional

        Returns
        -------
        self
        """
        check_count("KernelPCA", "n_components", self.n_components)
        source, first = self._source(X, sample_weight)
        self._moments: Moments | None = None
        checkpoint = checkpoint_of(self, first if isinstance(X, Blocks) else None)
        y = first.y if isinstance(X, Blocks) else y
        features = kept_map(
            self, checkpoint, lambda: self._fitted_map(first.X, y, first.weight)
        )
        parts = training(self, source, features, first, _bytes, checkpoint)
        if _are_few(source, parts.raw.n_columns, self.n_components):
            self._from_rows(parts)
        else:
            self._add(parts)
        self._moments = None
        checkpoint.clear()
        return self

    @restores_on_error
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take in one more block; the map is fitted on the first.

        After `fit` a new stream begins.
        """
        check_count("KernelPCA", "n_components", self.n_components)
        begun = getattr(self, "_moments", None) is not None
        block = self._checked(X, None, sample_weight, not begun)
        if not begun:
            self._moments = None
        features = (
            self.features_ if begun else self._fitted_map(block.X, y, block.weight)
        )
        parts = training(self, ArraySource(*block), features, block, moment_bytes)
        self._add(parts)
        return self

    @over_chunks
    def transform(self, X: Any) -> np.ndarray:
        """Coordinates along the components, (n, n_components)."""
        check_is_fitted(self, "components_")
        X = checked_rows(self, X, reset=False)
        shift = -self.components_ @ self.mean_
        return predicted(self.features_, self._columns, shift, X)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """What `transform` gives for rows X, in the operations of any namespace."""
        shift = -self.components_ @ self.mean_
        return forward_linear(self.features_, ops, X, self._columns, shift)

    def outputs(self, ops: Ops, X: Tensor) -> dict[str, Tensor]:
        """Everything an exported model says of rows X, by name."""
        return {"components": self.forward(ops, X)}

    def _source(self, X: Any, sample_weight: Any) -> tuple[Source, Block]:
        if isinstance(X, Blocks):
            check_alone(self, None, sample_weight)
            first = first_block(X, self._checked)
            return BlockSource(X, self._again), first
        X, _, sample_weight = gathered(X, None, sample_weight)
        if is_lazy(X):
            lazy = lazy_source(self, X, None, sample_weight, self._again)
            return lazy, Block(lazy.X, _no_targets(lazy.n_rows), lazy.weight)
        block = self._checked(X, None, sample_weight, True)
        return ArraySource(*block), block

    def _checked(self, X: Any, y: Any, weight: Any, reset: bool) -> Block:
        X = checked_rows(self, X, reset=reset)
        y = np.zeros(X.shape[0]) if y is None else np.asarray(y)
        return Block(X, y, check_weight("KernelPCA", weight, X))

    def _again(self, X: Any, y: Any, weight: Any) -> Block:
        return self._checked(X, y, weight, False)

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
        """Of far fewer rows than features: from the rows, not from M² moments."""
        chunks = list(parts.rows.chunks())
        rows = [mixed(chunk.F, parts.raw.mixing) for chunk in chunks]
        F = np.concatenate([R.toarray() if sparse.issparse(R) else R for R in rows])
        weighted = chunks[0].weight is not None
        weight = np.concatenate([c.weight for c in chunks]) if weighted else None
        found = components_of_rows(F.astype(np.float64), weight, self.n_components)
        self._set(found, parts)

    def _add(self, parts: Training) -> None:
        if self.n_components > parts.raw.n_columns:
            raise ValueError(
                f"KernelPCA: n_components={self.n_components} is more than the "
                f"{parts.raw.n_columns} features of the map; ask for fewer, or give a "
                "larger map."
            )
        mixing, n_columns = parts.raw.mixing, parts.raw.n_columns

        def add(moments: Moments, chunk: Chunk) -> None:
            F = mixed(chunk.F, mixing)
            moments.add(F, np.empty((F.shape[0], 0)), chunk.weight)

        found = parts.rows.fold(lambda place: Moments.zero(n_columns, 0), add)
        if self._moments is not None:
            found.merge(self._moments)
        self._moments = found
        self._set(components(found, self.n_components), parts)

    def _set(self, found: Components, parts: Training) -> None:
        self.features_ = parts.transformer
        self.components_ = found.vectors.T
        self._columns = parts.raw.to_columns(found.vectors)
        self.mean_ = found.mean
        self.explained_variance_ = found.variances
        total = found.total if found.total > 0 else 1.0
        self.explained_variance_ratio_ = found.variances / total

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = FLOAT_NAMES.copy()
        return tags


def _no_targets(n: int) -> np.ndarray:
    """Zeros for n rows, which take no memory."""
    return np.broadcast_to(0.0, n)


def _are_few(source: Source, n_columns: int, n_components: int) -> bool:
    """Whether singular vectors of the rows are cheaper than moments of the columns."""
    at_hand = isinstance(source, ArraySource)
    return at_hand and n_components <= source.n_rows <= n_columns // 2


def _bytes(source: Source, n_columns: int) -> int:
    if _are_few(source, n_columns, 1):
        return ROW_BYTES * source.n_rows * n_columns
    return moment_bytes(source, n_columns)
