"""What compiled code and owners take on trust, looked at before a file is believed.

A checksum tells accidents, not intent. Shapes that do not fit and indices that point
outside are refused here, so that no file makes compiled loops read or write where they
must not.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from .._core.validation import FLOATS
from ..compression.jl import SketchedMap
from ..features.feature_map import FeatureMap
from ..features.kernel_columns import Columns
from ..features.nystroem import NystroemMap
from ..kernels.base import Kernel
from ..kernels.laws import Law
from ..nonlinearities.base import SampledNonlinearity
from ..projections.base import LinearMap
from ..projections.hadamard import MIN_LENGTH
from .archive import FileError

AGREEING = 1e-6
"""How far coefficients of columns may be from those of features, relatively."""


def refused(reason: str) -> FileError:
    return FileError(f"it is not a model: {reason}")


def expect(fits: Any, reason: str) -> None:
    """Refuse what does not fit."""
    if not fits:
        raise refused(reason)


def nothing(made: Any) -> None:
    """Of what no loop depends on."""


def _kinds(values: Iterable[Any], kind: Any, what: str) -> None:
    for value in values:
        expect(isinstance(value, kind), f"{type(value).__name__} is not {what}")


def _floats(*arrays: Any, n_dims: int) -> None:
    """Floating arrays of one type and so many dimensions."""
    for array in arrays:
        expect(isinstance(array, np.ndarray), "an array is missing")
        expect(array.dtype in FLOATS, f"numbers of type {array.dtype} are not floats")
        expect(array.ndim == n_dims, f"an array has {array.ndim} dimensions")
        expect(array.dtype == arrays[0].dtype, "arrays are of different types")


def _places(array: Any, end: int, dtypes: tuple[type, ...]) -> None:
    """Whole numbers from 0 to end − 1."""
    expect(isinstance(array, np.ndarray), "an array of places is missing")
    expect(array.dtype in map(np.dtype, dtypes), f"places are of type {array.dtype}")
    inside = array.size == 0 or (array.min() >= 0 and array.max() < end)
    expect(inside, f"places reach beyond {end}")


def _linear(*maps: Any) -> None:
    _kinds(maps, LinearMap, "a linear map")
    for linear in maps:
        expect(linear.dtype == maps[0].dtype, "linear maps are of different types")


def law(made: Any) -> None:
    for value in vars(made).values():
        expect(isinstance(value, Real), "a law's parameter is not a number")


def matrix(made: Any) -> None:
    _floats(made.transposed, n_dims=2)


def scale(made: Any) -> None:
    _floats(made.factors, n_dims=1)


def compose(made: Any) -> None:
    _linear(made.outer, made.inner)
    expect(made.outer.shape[1] == made.inner.shape[0], "products do not fit")


def stack(made: Any) -> None:
    expect(isinstance(made.maps, tuple) and made.maps, "a stack of no maps")
    _linear(*made.maps)
    widths = {linear.shape[1] for linear in made.maps}
    expect(len(widths) == 1, "stacked maps have different inputs")


def rows(made: Any) -> None:
    _linear(made.linear)
    _places(made.kept, made.linear.shape[0], (np.int32, np.int64))


def reduced_phases(made: Any) -> None:
    _linear(made.wide)
    expect(made.wide.dtype == np.float64, "phases are not in float64")
    expect(made.dtype in FLOATS, f"maps do not compute in {made.dtype}")


def hadamard_chain(made: Any) -> None:
    _floats(made.factors, n_dims=3)
    _floats(made.scale, n_dims=1)
    expect(made.scale.dtype == made.factors.dtype, "arrays are of different types")
    n_steps, n_blocks, d = made.factors.shape
    expect(n_steps and n_blocks, "a chain has no steps")
    expect(d >= MIN_LENGTH and d & (d - 1) == 0, f"{d} is not a length of transforms")
    _places(made.orders, d, (np.int32,))
    shapes = (n_steps, n_blocks, d), (n_steps, 1, d)
    expect(made.orders.shape in shapes, f"orders have shape {made.orders.shape}")
    expect(-(-made.scale.size // d) <= n_blocks, "there are fewer blocks than rows")
    expect(isinstance(made.n_in, int) and 0 < made.n_in <= d, f"{made.n_in} inputs")


def circulant(made: Any) -> None:
    _floats(made.vectors, n_dims=2)
    _floats(made.signs, made.scale, n_dims=1)
    n_blocks, d = made.vectors.shape
    expect(made.signs.size <= d, "circulants are shorter than their input")
    expect(made.scale.size <= n_blocks * d, "there are fewer circulants than rows")


def sparse_matrix(made: Any) -> None:
    for part in (made.by_output, made.by_input):
        expect(sparse.issparse(part) and part.format == "csr", "a matrix is not CSR")
        expect(part.dtype in FLOATS, f"numbers of type {part.dtype} are not floats")
        expect(part.dtype == made.by_output.dtype, "matrices are of different types")
    n_out, n_in = made.by_output.shape
    expect(made.by_input.shape == (n_in, n_out), "a matrix does not fit its transpose")
    turned = sparse.csr_matrix(made.by_input.T)
    expect((turned != made.by_output).nnz == 0, "a matrix is not its transpose's")


def single_entry(made: Any) -> None:
    _floats(made.values, n_dims=1)
    expect(isinstance(made.n_out, int), "the number of outputs is missing")
    _places(made.outputs, made.n_out, (np.int32,))
    expect(made.outputs.shape == made.values.shape, "entries do not fit their outputs")


def sampled_cos(made: Any) -> None:
    _floats(made.biases, n_dims=1)


def sampled_pool(made: Any) -> None:
    _places(made.members, made.n_in, (np.int32,))
    expect(made.members.ndim == 2 and made.members.size, "units have no members")


def feature_map(made: Any) -> None:
    _linear(made.linear)
    _kinds([made.nonlinearity], SampledNonlinearity, "a nonlinearity")
    stages, nonlinearity = made.stages, made.nonlinearity
    expect(len(stages) == nonlinearity.n_stages, f"there are {len(stages)} stages")
    for stage in stages:
        expect(stage.shape[0] == nonlinearity.n_in, "projections do not fit features")
    biases = getattr(nonlinearity, "biases", None)
    if biases is not None:
        expect(biases.dtype == made.dtype, "biases are of another type")
    if made.amplitudes is not None:
        _floats(made.amplitudes, n_dims=1)
        expect(made.amplitudes.size == made.n_components, "weights do not fit features")
        expect(made.amplitudes.dtype == made.dtype, "weights are of another type")


def sketched_map(made: Any) -> None:
    _linear(made.linear)
    fits = made.linear.shape[1] == made.candidates.n_components
    expect(fits, "a sketch does not fit its candidates")


def nystroem_map(made: Any) -> None:
    _kinds([made.columns], Columns, "columns of a kernel")
    _floats(made.mixing, n_dims=2)
    n = made.columns.n_landmarks
    expect(made.mixing.shape == (n, n), "mixing does not fit the landmarks")


def distance(made: Any) -> None:
    _kinds([made.law], Law, "a spectral law")
    m, d = made.landmarks.shape
    expect(made.landmarks.dtype in FLOATS, "landmarks are not floats")
    expect(made.scale.dtype in FLOATS and made.scale.ndim < 2, "scales are not floats")
    _floats(made.squares, n_dims=1)
    expect(made.squares.size == m, "lengths do not fit the landmarks")
    expect(made.scale.size in (1, d), "scales do not fit the landmarks")
    if made.origin is not None:
        _floats(made.origin, n_dims=1)
        expect(made.origin.size == d, "the origin does not fit the landmarks")


def function(made: Any) -> None:
    _kinds([made.function], Kernel, "a kernel")


def precomputed(made: Any) -> None:
    _places(made.indices, made.n_features, (np.int32, np.int64))


def _width(made: Any, n_in: int) -> None:
    expect(made.n_features_in_ == n_in, f"{type(made).__name__} has another width")


def map_of_features(made: Any) -> None:
    if hasattr(made, "feature_map_"):
        found = made.feature_map_
        _kinds([found], FeatureMap | SketchedMap, "a feature map")
        _width(made, getattr(found, "candidates", found).linear.shape[1])


def map_of_projection(made: Any) -> None:
    if hasattr(made, "linear_map_"):
        _linear(made.linear_map_)
        _width(made, made.linear_map_.shape[1])


def map_of_landmarks(made: Any) -> None:
    if hasattr(made, "feature_map_"):
        _kinds([made.feature_map_], NystroemMap, "a map of landmarks")
        _width(made, made.feature_map_.columns.n_features)


def compact_map(made: Any) -> None:
    map_of_features(made)
    if hasattr(made, "coef_"):
        n_components = made.feature_map_.n_components
        _floats(made.coef_, n_dims=2)
        fits = made.coef_.shape == (*made.intercept_.shape, n_components)
        expect(fits, "coefficients do not fit the features")
    if hasattr(made, "classes_"):
        _classes(made)


def _classes(made: Any) -> None:
    """A row of coefficients for every class, or one for two."""
    expect(made.classes_.ndim == 1 and len(made.classes_) > 1, "classes are missing")
    n = 1 if len(made.classes_) == 2 else len(made.classes_)
    _floats(made.coef_, n_dims=2)
    _floats(made.intercept_, n_dims=1)
    fits = len(made.coef_) == len(made.intercept_) == n
    expect(fits, "coefficients do not fit the classes")


def classifier(made: Any) -> None:
    if hasattr(made, "coef_"):
        _classes(made)
        _head(made, made._columns, made.coef_)
        if made._temperature == 1 and made.loss != "log":
            made._temperature = None  # of a version without probabilities by default


def regressor(made: Any) -> None:
    if hasattr(made, "coef_"):
        _floats(made._b, n_dims=1)
        n_components = made.coef_.shape[-1]
        _head(made, made._B, made.coef_.reshape(len(made._b), n_components))
        if made._posterior is not None:
            root, shift = made._posterior.root, made._posterior.shift
            _floats(root, n_dims=2)
            _floats(shift, n_dims=1)
            fits = root.shape == (n_components, shift.size)
            expect(fits, "the posterior does not fit the features")


def components(made: Any) -> None:
    if hasattr(made, "components_"):
        _floats(made.components_, n_dims=2)
        _floats(made.mean_, n_dims=1)
        fits = made.mean_.size == made.components_.shape[1]
        expect(fits, "the mean does not fit the components")
        _head(made, made._columns, made.components_)


def _head(made: Any, columns: Any, coef: Any) -> None:
    """Coefficients (K, M) of features, and (M, K) of the columns behind them."""
    _floats(columns, coef, n_dims=2)
    expect(columns.shape == coef.shape[::-1], "coefficients do not fit each other")
    expect(isinstance(made.n_features_in_, int), "the number of features is missing")
    found = getattr(made.features_, "feature_map_", None)
    if found is None:
        return
    expect(found.n_components == coef.shape[1], "coefficients do not fit the features")
    fits = made.features_.n_features_in_ == made.n_features_in_
    expect(fits, "the features have another width")
    if isinstance(found, NystroemMap):
        wanted = found.mixing.astype(np.float64) @ coef.T
        near = AGREEING * np.abs(wanted).max(initial=0)
    else:
        wanted, near = coef.T, 0.0
    agree = np.allclose(columns, wanted, rtol=0, atol=near, equal_nan=True)
    expect(agree, "coefficients of columns and of features do not agree")


def check_csr(data: Any, indices: Any, indptr: Any, n: Any, m: Any) -> None:
    """Parts of a CSR matrix of shape (n, m) that fit each other."""
    for part in (data, indices, indptr):
        expect(isinstance(part, np.ndarray) and part.ndim == 1, "CSR parts are missing")
    for part in (indices, indptr):
        expect(part.dtype in (np.int32, np.int64), "CSR places are not whole numbers")
    expect(type(n) is int and type(m) is int, "a shape is not of whole numbers")
    expect(len(indptr) == n + 1, "CSR rows do not fit their shape")
    expect(len(indices) == len(data) == indptr[-1], "CSR parts do not fit each other")
    expect(indptr[0] == 0 and (np.diff(indptr) >= 0).all(), "CSR rows are not in order")
    inside = not indices.size or (indices.min() >= 0 and indices.max() < m)
    expect(inside, "CSR places are outside their shape")


def check_random_state(key: Any, position: Any, has_gauss: Any, gauss: Any) -> None:
    """The parts of a Mersenne twister, of which NumPy looks at the key alone."""
    expect(isinstance(key, np.ndarray) and key.shape == (624,), "a key is not one")
    expect(key.dtype == np.uint32, f"a key has the type {key.dtype}")
    expect(type(position) is int and 0 <= position <= 624, "a key has no such place")
    expect(has_gauss in (0, 1) and isinstance(gauss, float), "a state is not one")


def mended_imputer(made: Any) -> None:
    """Some versions of scikit-learn look at a type that earlier ones did not keep."""
    if hasattr(made, "_fit_dtype"):
        vars(made).setdefault("_fill_dtype", made._fit_dtype)


def passes_through(made: Any) -> None:
    plain = made.func is None and made.inverse_func is None
    expect(plain, "FunctionTransformer calls a function")


def power_transformer(made: Any) -> None:
    if not hasattr(made, "lambdas_"):
        return
    expect(made.method in ("yeo-johnson", "box-cox"), f"{made.method!r} is no power")
    _per_column(made, made.lambdas_)
    if made.standardize:
        scaler = made._scaler
        _kinds([scaler], StandardScaler, "a scaler")
        _per_column(made, scaler.mean_, scaler.scale_)


def _per_column(made: Any, *arrays: Any) -> None:
    """One number for every column that an estimator takes."""
    _floats(*arrays, n_dims=1)
    for array in arrays:
        expect(array.shape == (made.n_features_in_,), "numbers do not fit the columns")


def quantile_transformer(made: Any) -> None:
    if not hasattr(made, "quantiles_"):
        return
    shape = made.output_distribution
    expect(shape in ("uniform", "normal"), f"{shape!r} is no distribution")
    references, quantiles = made.references_, made.quantiles_
    _floats(references, n_dims=1)
    _floats(quantiles, n_dims=2)
    n = len(references)
    fits = n and quantiles.shape == (n, made.n_features_in_) and made.n_quantiles_ == n
    expect(fits, "quantiles do not fit the columns")
    inside = references[0] >= 0 and references[-1] <= 1
    rising = inside and (np.diff(references) > 0).all()
    expect(rising, "shares of quantiles do not rise from 0 to 1")
    missing = np.isnan(quantiles).all(axis=0)  # columns without a value
    rising = (np.diff(quantiles[:, ~missing], axis=0) >= 0).all()
    finite = np.isfinite(quantiles[:, ~missing]).all()
    expect(rising and finite, "quantiles do not rise")


def target_encoder(made: Any) -> None:
    if not hasattr(made, "encodings_"):
        return
    kind, n_each = made.target_type_, 1
    expect(kind in ("continuous", "binary", "multiclass"), f"{kind!r} is no target")
    expect(made._infrequent_enabled is False, "a TargetEncoder joins no categories")
    if kind != "continuous":
        classes = made.classes_
        expect(isinstance(classes, np.ndarray) and classes.ndim == 1, "no classes")
        n_each = len(classes) if kind == "multiclass" else 1
    if kind == "multiclass":
        _floats(made.target_mean_, n_dims=1)
        expect(made.target_mean_.size == n_each, "means do not fit the classes")
    else:
        expect(isinstance(made.target_mean_, Real), "the mean of targets is no number")
    _kinds([made.categories_, made.encodings_], list, "a list")
    _kinds(made.categories_, np.ndarray, "an array of categories")
    sizes = [array.shape for array in made.categories_ for _ in range(n_each)]
    expect(len(made.categories_) == made.n_features_in_, "columns have no categories")
    _floats(*made.encodings_, n_dims=1)
    fits = [array.shape for array in made.encodings_] == sizes
    expect(fits, "encodings do not fit the categories")
