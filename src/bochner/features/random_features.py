"""RandomFeatures and RandomProjection: the scikit-learn face of the pipeline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.ops import Ops, Tensor
from .._core.random import Stream, as_stream
from .._core.remote_rows import over_chunks
from .._core.rollback import restores_on_error
from .._core.validation import check_count
from ..compression import COMPRESSIONS
from ..compression.base import Compression
from ..kernels.base import Kernel
from ..nonlinearities import NONLINEARITIES
from ..nonlinearities.base import Nonlinearity
from ..projections import PROJECTIONS
from ..projections.algebra import Scale, Stack
from ..projections.base import LinearMap, Projection, check_projection
from .feature_map import FeatureMap, project
from .transformer import KernelTransformer, RowTransformer

SEEN_ROWS = 8
"""Rows whose projections are looked at for their size."""

SCALED_ROWS = 1000
"""Rows that are copied with their features scaled, for what is learned from them."""


class RandomFeatures(KernelTransformer):
    """Random features φ with ⟨φ(x), φ(y)⟩ ≈ k(x, y), for a linear model on top.

    ω_1 … ω_m are drawn from the kernel's spectral law by a projection; a nonlinearity
    turns the phases ω_iᵀx into features. By default [cos ω_iᵀx, sin ω_iᵀx]/√m of a
    Gaussian kernel.

    Parameters
    ----------
    n_components : int, default 1024
        Number of features M; even for "cos_sin". One-hot codes have pool_size times
        as many columns.
    kernel : Kernel, name or None
        None: Gaussian for cosine maps, the nonlinearity's own kernel otherwise. A name
        takes its bandwidth from `gamma`.
    gamma : float, array of (n_features,) or rule, default "scale"
        Bandwidth where `kernel` is None or a name: see `kernels.Gaussian`.
    projection : Projection or name, default "auto"
        How frequencies are drawn: see `projections`. "auto" chooses by measured cost
        and error: see `projections.auto.choose`.
    nonlinearity : Nonlinearity or name, default "cos_sin"
        "cos_sin" (all cosines, then all sines), "cos" (random biases), "maxout",
        "argmax_code", "relu" or "sign": see `nonlinearities`.
    compression : Compression, name or None
        What makes fewer features of many candidates: "giga", "frank_wolfe" or "jl" (see
        `compression`). n_components is then what is kept.
    random_state : int, RandomState or None
        Fixes every draw. A map of m frequencies is a prefix of one of 2m.

    Attributes
    ----------
    kernel_ : Kernel
        The limit kernel, its bandwidth resolved.
    projection_ : Projection
        The projection used, with nothing left automatic.
    compression_ : Selection or None
        What was kept of the candidates, with weights and the error on the way.
    feature_map_ : FeatureMap
        The sampled map, a function of blocks of rows; its `weights_` are what features
        count for.
    n_features_in_ : int

    Notes
    -----
    Time and memory are the projection's: O(n d M) and O(d M) for "dense", O(n M log d)
    and O(M + d) for "sorf". `transform` takes the output plus one cache block per
    thread (and float64 copies of rows that are neither float32 nor float64). float32
    rows are computed in float32. Phases past 2^14 turns in float32 (2^43 in float64)
    lose the fractions that features are made of, and `fit` warns of them: scale the
    data, use float64, or ``nonlinearity=CosSin(phase_dtype="float64")``, which gives
    float32 features of phases in float64. Phases that overflow give NaN.

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

    @restores_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Resolve the bandwidth on X and draw the map for its features.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
        y : ignored
        sample_weight : array of (n,), optional
            A row of weight w counts as w rows in the rule for the bandwidth, and in
            what a compression learns.

        Returns
        -------
        self
        """
        X, weight = self._weighted(self._validated(X, reset=True), sample_weight)
        nonlinearity, projection, compression = self._parts()
        factors = projection.input_factors(X)
        asked = self._kernel(nonlinearity)
        self._check_projection(projection, asked)
        kernel = _resolved(asked, X, factors, weight)
        n_kept = n = int(self.n_components)
        if compression is not None:
            n = compression.n_drawn(n)
        rng = as_stream(self.random_state)
        projection = _settled(X, kernel, nonlinearity, projection, n, rng)
        drawn = _drawn(X.shape[1], kernel, nonlinearity, projection, n, rng)
        nonlinearity.check_reach(_seen_projections(drawn, X), X.dtype)
        feature_map: Any = drawn
        selection = None
        if compression is not None:
            feature_map, selection = compression.compress(
                drawn, n_kept, X, kernel, weight, rng.child("compression")
            )
        self.kernel_, self.projection_ = kernel, projection
        self._seed = rng.entropy
        self.compression_ = selection
        self.feature_map_ = feature_map.astype(X.dtype)
        return self

    def _check_projection(self, projection: Projection, kernel: Kernel) -> None:
        words = kernel if self.kernel is None else self.kernel
        check_projection(
            "RandomFeatures",
            f"projection={self.projection!r}",
            projection,
            f"kernel={words!r}",
            kernel.unit_law(),
            PROJECTIONS,
        )

    def _parts(self) -> tuple[Nonlinearity, Projection, Compression | None]:
        """The parts asked for, and an error before any work if they cannot be."""
        check_count("RandomFeatures", "n_components", self.n_components)
        nonlinearity = self._part("nonlinearity", NONLINEARITIES, Nonlinearity)
        nonlinearity = nonlinearity.resolve(self.n_components)
        nonlinearity.check_components(
            "RandomFeatures", "n_components", self.n_components
        )
        nonlinearity.n_projections(self.n_components)
        projection = self._part("projection", PROJECTIONS, Projection)
        projection = nonlinearity.served_by(projection)
        if self.compression is None:
            return nonlinearity, projection, None
        compression = self._part("compression", COMPRESSIONS, Compression)
        if not nonlinearity.can_be_compressed:
            raise ValueError(
                f"RandomFeatures: compression={self.compression!r} needs dense "
                f"floating features, which {nonlinearity!r} does not give; leave "
                "compression=None."
            )
        drawn = compression.n_drawn(self.n_components)
        owner = type(compression).__name__
        nonlinearity.check_components(owner, "n_candidates", drawn)
        nonlinearity.n_projections(drawn)
        return nonlinearity, projection, compression

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        nonlinearity: Any = self.nonlinearity
        if isinstance(nonlinearity, str) and nonlinearity in NONLINEARITIES:
            nonlinearity = NONLINEARITIES[nonlinearity]()
        if not getattr(nonlinearity, "is_floating", True):
            tags.transformer_tags.preserves_dtype = []
        return tags


def redrawn_features(model: RandomFeatures) -> Any:
    """`feature_map_` of a fitted model in float64, drawn anew from its seed."""
    nonlinearity, _, compression = model._parts()
    rng, n = Stream(model._seed), int(model.n_components)
    n_drawn = n if compression is None else compression.n_drawn(n)
    d, kernel, projection = model.n_features_in_, model.kernel_, model.projection_
    drawn = _drawn(d, kernel, nonlinearity, projection, n_drawn, rng)
    if compression is None:
        return drawn
    return compression.again(drawn, n, model.compression_, rng.child("compression"))


class RandomProjection(RowTransformer):
    """A linear random projection V with E‖V x‖² = ‖x‖².

    With Gaussian rows ("dense"), distances between n points survive within 1 ± ε once
    n_components reaches `theory.johnson_lindenstrauss(n, eps=ε, eta=…)`; "orthogonal",
    "sorf" and "orthoprojector" vary no more. The default, and "sparse", keep lengths on
    average only: their variance grows where differences sit in few features.

    Parameters
    ----------
    n_components : int, default 256
    projection : Projection or name, default "block_diagonal"
        Any of `projections`, the linear ones "sparse" and "orthoprojector" included.
    random_state : int, RandomState or None

    Attributes
    ----------
    linear_map_ : LinearMap
        The sampled V.
    n_features_in_ : int

    Notes
    -----
    The default reads each feature once: O(n d) time and O(d) memory; CSR rows
    O(nnz + n_components) each.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomProjection
    >>> X = np.random.default_rng(0).normal(size=(3, 1000))
    >>> RandomProjection(50, random_state=0).fit_transform(X).shape
    (3, 50)
    """

    def __init__(
        self,
        n_components: int = 256,
        *,
        projection: Any = "block_diagonal",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.projection = projection
        self.random_state = random_state

    @restores_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the projection for the features of X, whose values do not matter."""
        X = self._validated(X, reset=True)
        check_count("RandomProjection", "n_components", self.n_components)
        projection = self._part("projection", PROJECTIONS, Projection)
        self._seed = as_stream(self.random_state).entropy
        linear = redrawn_projection(self)
        factors = projection.input_factors(X)
        if factors is not None:
            linear = linear.scale_columns(factors)
        self.linear_map_: LinearMap = linear.astype(X.dtype)
        return self

    @over_chunks
    def transform(self, X: Any) -> np.ndarray:
        """V x of every row, (n, n_components), in X's floating type."""
        check_is_fitted(self)
        return project(self.linear_map_, self._validated(X, reset=False))

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """What `transform` gives for rows X, in the operations of any namespace."""
        return self.linear_map_.astype(ops.dtype).forward(ops, X)

    @property
    def _n_features_out(self) -> int:
        return self.linear_map_.shape[0]


def redrawn_projection(model: RandomProjection) -> LinearMap:
    """V in float64, drawn from the model's seed."""
    projection = model._part("projection", PROJECTIONS, Projection)
    rng = Stream(model._seed).child("projection")
    return projection.sample_isometry(
        int(model.n_components), model.n_features_in_, rng
    )


def _settled(
    X: Any,
    kernel: Kernel,
    nonlinearity: Nonlinearity,
    projection: Projection,
    n_components: int,
    rng: Stream,
) -> Projection:
    """The projection with nothing left to the data."""
    n = nonlinearity.n_projections(n_components) // nonlinearity.n_stages
    seen = _scaled_sample(X, kernel.input_scale)
    return projection.resolve(seen, kernel.spectral_law(), n, rng.child("resolve"))


def _drawn(
    d: int,
    kernel: Kernel,
    nonlinearity: Nonlinearity,
    projection: Projection,
    n_components: int,
    rng: Stream,
) -> FeatureMap:
    """A map of n_components columns for d features in float64: all that is random."""
    n_stages = nonlinearity.n_stages
    n = nonlinearity.n_projections(n_components) // n_stages
    law, rng_p = kernel.spectral_law(), rng.child("projection")
    linear: LinearMap
    if n_stages == 1:
        linear = projection.sample(law, n, d, rng_p)
    else:
        # independent of each other, whatever rows of one structured map are
        stages = [rng_p.child(j) for j in range(n_stages)]
        linear = Stack(tuple(projection.sample(law, n, d, stage) for stage in stages))
    if kernel.input_scale is not None:
        linear = linear.scale_columns(kernel.input_scale)
    linear = nonlinearity.prepared(linear)
    sampled = nonlinearity.sample(n_components, rng.child("nonlinearity"))
    amplitudes = _amplitudes(projection.amplitude, sampled.n_out)
    return FeatureMap(linear, sampled, amplitudes)


def _seen_projections(drawn: FeatureMap, X: Any) -> np.ndarray:
    """Projections of a few rows from first to last, in float64."""
    rows = X[:: max(1, -(-X.shape[0] // SEEN_ROWS))]
    return drawn.linear.apply(rows.astype(np.float64))


def _resolved(kernel: Kernel, X: Any, factors: Any, weight: Any) -> Kernel:
    """The kernel with its bandwidth settled on X, after factors that X takes first."""
    if factors is None:
        return kernel.resolve(X, weight)
    seen = None if weight is None else weight[_scaled_rows(X)]
    return kernel.resolve(_scaled_sample(X, factors), seen).rescaled(factors)


def _scaled_sample(X: Any, factors: np.ndarray | None) -> Any:
    """X, or some of its rows with their features multiplied."""
    if factors is None:
        return X
    return Scale(factors.astype(X.dtype)).apply(X[_scaled_rows(X)])


def _scaled_rows(X: Any) -> np.ndarray:
    return Stream(0).child("scaled").subset(X.shape[0], SCALED_ROWS)


def _amplitudes(amplitude: float, n_components: int) -> np.ndarray | None:
    return None if amplitude == 1 else np.full(n_components, float(amplitude))
