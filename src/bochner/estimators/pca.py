"""KernelPCA: principal components of features, at any number of rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from .._validation import FLOAT_NAMES, check_count
from ..execution.blocks import Blocks
from ..execution.sources import ArraySource, Block, BlockSource, Source
from ..linear.moments import Moments
from ..linear.pca import components
from ..linear.rows import mixed
from ..nystroem import Nystroem
from .training import (
    canonical,
    checked_rows,
    default_size,
    first_look,
    fit_transformer,
    given_features,
    is_automatic,
    predicted,
    rng_of,
    seed,
    training,
)


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
    One pass, O(n M (d + M)) time and O(M³); memory O(M²). Blocks and `partial_fit` give
    what `fit` gives on the same map, to rounding.

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
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.features = features
        self.memory = memory
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the map and the components.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features), or `blocks`
        y : optional
            Handed to the map.

        Returns
        -------
        self
        """
        check_count("KernelPCA", "n_components", self.n_components)
        source, first = self._source(X)
        self._moments: Moments | None = None
        self.features_ = self._fitted_map(first.X, y)
        self._add(source, first)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Take in one more block; the map is fitted on the first."""
        check_count("KernelPCA", "n_components", self.n_components)
        begun = getattr(self, "_moments", None) is not None
        X = checked_rows(self, X, reset=not begun)
        block = Block(X, np.empty(X.shape[0]), None)
        if not begun:
            self._moments = None
            self.features_ = self._fitted_map(X, y)
        self._add(ArraySource(*block), block)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates along the components, (n, n_components)."""
        check_is_fitted(self, "components_")
        X = checked_rows(self, X, reset=False)
        shift = -self.components_ @ self.mean_
        return predicted(self.features_, self._columns, shift, X)

    def _source(self, X: Any) -> tuple[Source, Block]:
        if isinstance(X, Blocks):
            first, _, n_rows = first_look(X, self._checked)
            return BlockSource(X, self._again, n_rows), first
        block = self._checked(X, None, None, True)
        return ArraySource(*block), block

    def _checked(self, X: Any, y: Any, weight: Any, reset: bool) -> Block:
        X = checked_rows(self, X, reset=reset)
        return Block(X, np.empty(X.shape[0]), None)

    def _again(self, X: Any, y: Any, weight: Any) -> Block:
        return self._checked(X, y, weight, False)

    def _fitted_map(self, X: Any, y: Any) -> Any:
        rng = rng_of(self)
        if not is_automatic(self.features):
            return fit_transformer(given_features(self, X.shape[0], rng), X, y, None)
        rows = canonical(X, np.zeros(X.shape[0]), None)
        size = default_size(self, rows.n_rows)
        features = Nystroem(size, gamma="median", random_state=seed(rng, "map"))
        return features.fit(X)

    def _add(self, source: Source, first: Block) -> None:
        parts = training(self, source, self.features_, first)
        for F, _, weight in parts.rows.chunks():
            if self._moments is None:
                self._moments = Moments.zero(F.shape[1], 0)
            F = mixed(F, parts.raw.mixing)
            self._moments.add(F, np.empty((F.shape[0], 0)), weight)
        assert self._moments is not None
        if self.n_components > parts.raw.n_columns:
            raise ValueError(
                f"KernelPCA: n_components={self.n_components} is more than the "
                f"{parts.raw.n_columns} features of the map; ask for fewer, or give a "
                "larger map."
            )
        found = components(self._moments, self.n_components)
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
