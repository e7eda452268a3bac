"""RandomFeatures: the scikit-learn face of law → projection → nonlinearity."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from ._random import as_stream
from ._validation import FLOATS, check_choice
from .feature_map import FeatureMap
from .kernels import KERNELS, Kernel
from .nonlinearities import NONLINEARITIES, Nonlinearity
from .projections import PROJECTIONS, Compose, LinearMap, Projection, Scale


class RandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Random features φ with ⟨φ(x), φ(y)⟩ ≈ k(x, y), for a linear model on top.

    ω_1 … ω_m are drawn from the kernel's spectral law by a projection; a nonlinearity
    turns the phases ω_iᵀx into features. By default [cos ω_iᵀx, sin ω_iᵀx]/√m of a
    Gaussian kernel.

    Parameters
    ----------
    n_components : int, default 1024
        Number of features M; even for "cos_sin".
    kernel : Kernel, name or None
        None: Gaussian for cosine maps. A name takes its bandwidth from `gamma`.
    gamma : float, array of (n_features,) or rule, default "scale"
        Bandwidth where `kernel` is None or a name: see `kernels.Gaussian`.
    projection : Projection or name, default "auto"
        How frequencies are drawn: see `projections`.
    nonlinearity : Nonlinearity or name, default "cos_sin"
        "cos_sin" (all cosines, then all sines) or "cos" (random phases).
    compression : None
        No further compression of the drawn features.
    random_state : int, RandomState or None
        Fixes every draw. A map of m frequencies is a prefix of one of 2m.

    Attributes
    ----------
    kernel_ : Kernel
        The limit kernel, its bandwidth resolved.
    projection_ : Projection
        The projection used, with nothing left automatic.
    feature_map_ : FeatureMap
        The sampled map, a function of blocks of rows.
    n_features_in_ : int

    Notes
    -----
    Dense projection: O(n d M) time, O(d M) memory for the map, and for `transform` the
    output plus one cache block per thread. float32 rows are computed in float32. Phases
    past 2^17 turns in float32 (2^46 in float64) keep features bounded and deterministic
    but meaningless: use float64 for heavy-tailed kernels on wide data.

    References
    ----------
    A. Rahimi and B. Recht, Random features for large-scale kernel machines, NIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatures
    >>> X = np.linspace(0, 1, 6).reshape(3, 2)
    >>> features = RandomFeatures(2048, gamma=1.0, random_state=0).fit(X)
    >>> F = features.transform(X)
    >>> bool(abs(F @ F.T - features.kernel_(X)).max() < 0.1)
    True
    """

    def __init__(
        self,
        n_components: int = 1024,
        *,
        kernel: Any = None,
        gamma: Any = "scale",
        projection: Any = "auto",
        nonlinearity: Any = "cos_sin",
        compression: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.projection = projection
        self.nonlinearity = nonlinearity
        self.compression = compression
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Resolve the bandwidth on X and draw the map for its features."""
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        nonlinearity, projection = self._parts()
        kernel = self._kernel(nonlinearity).resolve(X)
        n_projections = nonlinearity.n_projections(self.n_components)

        rng = as_stream(self.random_state)
        law = kernel.spectral_law()
        self.projection_ = projection.resolve(
            X, law, n_projections, rng.child("resolve")
        )
        linear = self.projection_.sample(
            law, n_projections, X.shape[1], rng.child("projection")
        )
        sampled = nonlinearity.sample(n_projections, rng.child("nonlinearity"))
        linear = _after_scale(linear, kernel.input_scale)
        self.kernel_ = nonlinearity.limit_kernel(kernel)
        self.feature_map_ = FeatureMap(linear, sampled).astype(X.dtype)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Features of X, (n, n_components), in X's floating type."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return self.feature_map_(X)

    def approximate_kernel(self, X: Any, Y: Any = None) -> np.ndarray:
        """⟨φ(x), φ(y)⟩ for all rows of X and Y (X itself if None), (n, n')."""
        F = self.transform(X)
        return F @ (F if Y is None else self.transform(Y)).T

    def _parts(self) -> tuple[Nonlinearity, Projection]:
        name = type(self).__name__
        if self.compression is not None:
            raise ValueError(
                f"{name}: compression must be None, got {self.compression!r}."
            )
        nonlinearity = check_choice(
            name, "nonlinearity", self.nonlinearity, NONLINEARITIES, Nonlinearity
        )
        projection = check_choice(
            name, "projection", self.projection, PROJECTIONS, Projection
        )
        return nonlinearity.resolve(self.n_components), projection

    def _kernel(self, nonlinearity: Nonlinearity) -> Kernel:
        if self.kernel is None:
            return nonlinearity.default_kernel(self.gamma)
        known = {name: partial(k.with_gamma, self.gamma) for name, k in KERNELS.items()}
        return check_choice(type(self).__name__, "kernel", self.kernel, known, Kernel)

    @property
    def _n_features_out(self) -> int:
        return self.feature_map_.n_components

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _after_scale(linear: LinearMap, factors: np.ndarray | None) -> LinearMap:
    """The map of inputs that are first multiplied by one factor per feature (ARD)."""
    return linear if factors is None else Compose(linear, Scale(factors))
