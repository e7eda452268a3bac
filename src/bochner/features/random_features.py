"""RandomFeatures and RandomProjection: random maps as scikit-learn transformers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
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

RANGE_ROWS = 8
"""Rows whose projections are computed to check their size."""

SCALED_ROWS = 1000
"""Rows that are copied with scaled features, to resolve parameters on them."""


class RandomFeatures(KernelTransformer):
    """Random features φ with ⟨φ(x), φ(y)⟩ ≈ k(x, y), for a linear model on top.

    A projection draws frequencies ω_1 … ω_m from the spectral law of the kernel, and a
    nonlinearity turns the phases ω_iᵀx into features. By default these are
    [cos ω_iᵀx, sin ω_iᵀx]/√m for a Gaussian kernel.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of features; even for "cos_sin". One-hot codes have pool_size
        times as many columns.
    kernel : Kernel, str or None, default None
        Kernel to approximate. None is the Gaussian kernel for cosine maps, and the own
        kernel of any other nonlinearity. A kernel given by name takes its bandwidth
        from `gamma`.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored, with a warning, if `kernel` is a Kernel
        object.
    projection : Projection or str, default "auto"
        Distribution of the frequencies: see `projections`. "auto" chooses by measured
        cost and error: see `projections.auto.choose`.
    nonlinearity : Nonlinearity or str, default "cos_sin"
        "cos_sin" (all cosines, then all sines), "cos" (random phases), "maxout",
        "argmax_code", "relu" or "sign": see `nonlinearities`.
    compression : Compression, str or None, default None
        Reduces many candidate features to n_components: "giga", "frank_wolfe" or "jl"
        (see `compression`). None keeps all features that are drawn.
    random_state : int, RandomState or None, default None
        Seed of all random draws. The frequencies of a map of m frequencies are the
        first m of a map of 2m with the same seed.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel that the features approximate, with its bandwidth resolved.
    projection_ : Projection
        The projection in use, with all automatic choices resolved.
    compression_ : Selection or None
        The candidates that the compression kept, their weights and the error by number
        of candidates.
    feature_map_ : FeatureMap
        The sampled map, a function of rows. Its `weights_` are the weights of the
        features in inner products.
    n_features_in_ : int
        Number of features of X.

    See Also
    --------
    Nystroem : Features from landmarks of the data.
    CompactMap : Features that are learned.
    bochner.methods : Named combinations of projection, nonlinearity and compression.

    Notes
    -----
    The projection determines time and memory: O(n d M) and O(d M) for "dense",
    O(n M log d) and O(M + d) for "sorf". `transform` needs memory for the output and
    one cache block per thread (and float64 copies of rows that are neither float32 nor
    float64). float32 rows are computed in float32. Phases beyond 2^14 turns in float32
    (2^43 in float64) lose the fraction of a turn that the features depend on, and `fit`
    warns. In that case scale the data, use float64, or use
    ``nonlinearity=CosSin(phase_dtype="float64")``, which computes float32 features of
    float64 phases. Phases that overflow give NaN.

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
        kernel: Kernel | str | None = None,
        gamma: float | str | ArrayLike = "scale",
        projection: Projection | str = "auto",
        nonlinearity: Nonlinearity | str = "cos_sin",
        compression: Compression | str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.projection = projection
        self.nonlinearity = nonlinearity
        self.compression = compression
        self.random_state = random_state

    @restores_on_error
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Resolve the bandwidth on X and draw the map for its features.

        Parameters
        ----------
        X : array, CSR matrix or Dask collection of shape (n, n_features)
            Training rows. Only a compression and rules such as ``gamma="scale"`` read
            their values.
        y : ignored
            Present by convention.
        sample_weight : array of shape (n,) or None, default None
            A row of weight w counts as w rows in the rule for the bandwidth and in the
            compression.

        Returns
        -------
        self
        """
        X, weight = self._weighted(self._validated(X, reset=True), sample_weight)
        nonlinearity, projection, compression = self._parts()
        factors = projection.input_factors(X)
        unresolved = self._kernel(nonlinearity)
        self._check_projection(projection, unresolved)
        kernel = _resolve_kernel(unresolved, X, factors, weight)
        n_kept = n = int(self.n_components)
        if compression is not None:
            n = compression.n_drawn(n)
        rng = as_stream(self.random_state)
        projection = _resolve_projection(X, kernel, nonlinearity, projection, n, rng)
        drawn_map = _draw_map(X.shape[1], kernel, nonlinearity, projection, n, rng)
        nonlinearity.check_reach(_some_projections(drawn_map, X), X.dtype)
        feature_map: Any = drawn_map
        selection = None
        if compression is not None:
            feature_map, selection = compression.compress(
                drawn_map, n_kept, X, kernel, weight, rng.child("compression")
            )
        self.kernel_, self.projection_ = kernel, projection
        self._seed = rng.entropy
        self.compression_ = selection
        self.feature_map_ = feature_map.astype(X.dtype)
        return self

    def _check_projection(self, projection: Projection, kernel: Kernel) -> None:
        """Raise an error if the projection cannot draw the kernel's frequencies."""
        shown_kernel = kernel if self.kernel is None else self.kernel
        check_projection(
            "RandomFeatures",
            f"projection={self.projection!r}",
            projection,
            f"kernel={shown_kernel!r}",
            kernel.unit_law(),
            PROJECTIONS,
        )

    def _parts(self) -> tuple[Nonlinearity, Projection, Compression | None]:
        """The parts as objects; raises an error if they do not work together."""
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
                f"floating features, which {nonlinearity!r} does not give; set "
                "compression=None."
            )
        n_drawn = compression.n_drawn(self.n_components)
        owner = type(compression).__name__
        nonlinearity.check_components(owner, "n_candidates", n_drawn)
        nonlinearity.n_projections(n_drawn)
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
    """`feature_map_` of a fitted model in float64, redrawn from its seed."""
    nonlinearity, _, compression = model._parts()
    rng, n = Stream(model._seed), int(model.n_components)
    n_drawn = n if compression is None else compression.n_drawn(n)
    d, kernel, projection = model.n_features_in_, model.kernel_, model.projection_
    drawn_map = _draw_map(d, kernel, nonlinearity, projection, n_drawn, rng)
    if compression is None:
        return drawn_map
    return compression.again(drawn_map, n, model.compression_, rng.child("compression"))


class RandomProjection(RowTransformer):
    """A linear random projection x → V x with E‖V x‖² = ‖x‖².

    With Gaussian rows ("dense"), distances between n points are kept within 1 ± ε if
    n_components is at least `theory.johnson_lindenstrauss(n, eps=ε, eta=…)`. The
    variance for "orthogonal", "sorf" and "orthoprojector" is no larger. The default and
    "sparse" keep lengths on average only: their variance grows if the differences
    between rows are concentrated in few features.

    Parameters
    ----------
    n_components : int, default 256
        Number of rows of V.
    projection : Projection or str, default "block_diagonal"
        Distribution of V: any of `projections`, including "sparse" and
        "orthoprojector", which are linear only.
    random_state : int, RandomState or None, default None
        Seed of all random draws.

    Attributes
    ----------
    linear_map_ : LinearMap
        The sampled V.
    n_features_in_ : int
        Number of features of X.

    See Also
    --------
    RandomFeatures : Nonlinear features of random projections.
    bochner.theory.johnson_lindenstrauss : The size that keeps distances.

    Notes
    -----
    The default reads each feature once: O(n d) time and O(d) memory. A CSR row takes
    O(nnz + n_components) time.

    References
    ----------
    W. Johnson and J. Lindenstrauss, Extensions of Lipschitz mappings into a Hilbert
    space, Contemporary Mathematics 1984.

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
        projection: Projection | str = "block_diagonal",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.projection = projection
        self.random_state = random_state

    @restores_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw V for the number of features of X.

        Parameters
        ----------
        X : array, CSR matrix or Dask collection of shape (n, n_features)
            Training rows. Their values are read only if the projection normalises
            features.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
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
        """Compute V x for every row.

        Parameters
        ----------
        X : array, CSR matrix or Dask collection of shape (n, n_features)
            Rows to project.

        Returns
        -------
        array of shape (n, n_components), in X's floating type
        """
        check_is_fitted(self)
        return project(self.linear_map_, self._validated(X, reset=False))

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """The output of `transform` for rows X, in the operations of `ops`."""
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


def _resolve_projection(
    X: Any,
    kernel: Kernel,
    nonlinearity: Nonlinearity,
    projection: Projection,
    n_components: int,
    rng: Stream,
) -> Projection:
    """The projection with all choices that depend on the data made."""
    n = nonlinearity.n_projections(n_components) // nonlinearity.n_stages
    sample = _scaled_sample(X, kernel.input_scale)
    return projection.resolve(sample, kernel.spectral_law(), n, rng.child("resolve"))


def _draw_map(
    d: int,
    kernel: Kernel,
    nonlinearity: Nonlinearity,
    projection: Projection,
    n_components: int,
    rng: Stream,
) -> FeatureMap:
    """Draw a map of n_components columns for d features, in float64.

    All random draws of a feature map are made here.
    """
    n_stages = nonlinearity.n_stages
    n = nonlinearity.n_projections(n_components) // n_stages
    law, projection_rng = kernel.spectral_law(), rng.child("projection")
    linear: LinearMap
    if n_stages == 1:
        linear = projection.sample(law, n, d, projection_rng)
    else:
        # stages must be independent; the rows of one structured map are not
        streams = [projection_rng.child(j) for j in range(n_stages)]
        linear = Stack(tuple(projection.sample(law, n, d, rng_j) for rng_j in streams))
    if kernel.input_scale is not None:
        linear = linear.scale_columns(kernel.input_scale)
    linear = nonlinearity.prepared(linear)
    sampled = nonlinearity.sample(n_components, rng.child("nonlinearity"))
    amplitudes = None
    if projection.amplitude != 1:
        amplitudes = np.full(sampled.n_out, float(projection.amplitude))
    return FeatureMap(linear, sampled, amplitudes)


def _some_projections(feature_map: FeatureMap, X: Any) -> np.ndarray:
    """Projections of a few rows, spread evenly over X, in float64."""
    rows = X[:: max(1, -(-X.shape[0] // RANGE_ROWS))]
    return feature_map.linear.apply(rows.astype(np.float64))


def _resolve_kernel(kernel: Kernel, X: Any, factors: Any, weight: Any) -> Kernel:
    """The kernel with its bandwidth resolved on X.

    `factors` multiply the features of X before the kernel sees them; None means 1.
    """
    if factors is None:
        return kernel.resolve(X, weight)
    sample_weight = None if weight is None else weight[_scaled_rows(X)]
    return kernel.resolve(_scaled_sample(X, factors), sample_weight).rescaled(factors)


def _scaled_sample(X: Any, factors: np.ndarray | None) -> Any:
    """Some rows of X with their features multiplied; X itself without factors."""
    if factors is None:
        return X
    return Scale(factors.astype(X.dtype)).apply(X[_scaled_rows(X)])


def _scaled_rows(X: Any) -> np.ndarray:
    """Indices of the rows that `_scaled_sample` copies, the same in every call."""
    return Stream(0).child("scaled").subset(X.shape[0], SCALED_ROWS)
