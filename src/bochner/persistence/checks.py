"""What compiled code and owners take on trust, looked at before a file is believed.

A checksum tells accidents, not intent. Shapes that do not fit and indices that point
outside are refused here, so that no file makes compiled loops read or write where they
must not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from .._columns import Columns
from .._validation import FLOATS
from ..kernels import Kernel
from ..laws import Law
from ..nonlinearities import SampledNonlinearity
from ..projections import LinearMap
from .archive import FileError

TRIED_BYTES = 1 << 28
"""A row of features up to which a map is tried."""


def refused(reason: str) -> FileError:
    return FileError(f"it is not a model: {reason}")


def expect(fits: Any, reason: str) -> None:
    """Refuse what does not fit."""
    if not fits:
        raise refused(reason)


def nothing(made: Any) -> None:
    """Of what no loop depends on."""


def _kinds(values: Iterable[Any], kind: type, what: str) -> None:
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


def permute(made: Any) -> None:
    _places(made.order, made.order.size, (np.int32, np.int64))


def rows(made: Any) -> None:
    _linear(made.linear)
    _places(made.kept, made.linear.shape[0], (np.int32, np.int64))


def hadamard_chain(made: Any) -> None:
    _floats(made.factors, n_dims=3)
    _floats(made.scale, n_dims=1)
    expect(made.scale.dtype == made.factors.dtype, "arrays are of different types")
    n_steps, n_blocks, d = made.factors.shape
    expect(d > 0 and d & (d - 1) == 0, f"{d} is not a power of two")
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
    turned = sparse.csr_matrix(made.by_input.T)
    expect(turned.shape == made.by_output.shape, "a matrix does not fit its transpose")
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
    if made.amplitudes is not None:
        _floats(made.amplitudes, n_dims=1)
        expect(made.amplitudes.size == made.n_components, "weights do not fit features")


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
    _floats(made.squares, n_dims=1)
    expect(made.squares.size == m, "lengths do not fit the landmarks")
    expect(made.scale.size in (1, d), "scales do not fit the landmarks")
    fits = made.origin is None or made.origin.shape == (d,)
    expect(fits, "the origin does not fit the landmarks")


def function(made: Any) -> None:
    _kinds([made.function], Kernel, "a kernel")


def precomputed(made: Any) -> None:
    _places(made.indices, made.n_features, (np.int32, np.int64))


def _tried(made: Any, found: Any, n_in: int) -> None:
    """The map has the width that its owner says, and takes a row."""
    expect(made.n_features_in_ == n_in, f"{type(made).__name__} has another width")
    if found.n_components * found.dtype.itemsize <= TRIED_BYTES:
        with np.errstate(all="ignore"):
            found(np.zeros((1, n_in), dtype=found.dtype))


def map_of_features(made: Any) -> None:
    if hasattr(made, "feature_map_"):
        found = made.feature_map_
        _tried(made, found, getattr(found, "candidates", found).linear.shape[1])


def map_of_projection(made: Any) -> None:
    if hasattr(made, "linear_map_"):
        _linear(made.linear_map_)
        n_in = made.linear_map_.shape[1]
        expect(made.n_features_in_ == n_in, "RandomProjection has another width")


def map_of_landmarks(made: Any) -> None:
    if hasattr(made, "feature_map_"):
        _tried(made, made.feature_map_, made.feature_map_.columns.n_features)


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
        _head(made, made._columns, made.coef_.shape)


def regressor(made: Any) -> None:
    if hasattr(made, "coef_"):
        _floats(made._b, n_dims=1)
        n_components = made.coef_.shape[-1]
        _head(made, made._B, (len(made._b), n_components))
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
        _head(made, made._columns, made.components_.shape)


def _head(made: Any, columns: Any, shape: tuple[int, int]) -> None:
    """Coefficients (K, M) of features, and (M, K) of the columns behind them."""
    _floats(columns, n_dims=2)
    expect(columns.shape == shape[::-1], "coefficients do not fit each other")
    expect(isinstance(made.n_features_in_, int), "the number of features is missing")
    found = getattr(made.features_, "feature_map_", None)
    if found is not None:
        fits = found.n_components == shape[1]
        expect(fits, "coefficients do not fit the features")
        fits = made.features_.n_features_in_ == made.n_features_in_
        expect(fits, "the features have another width")


def complete_imputer(made: Any) -> None:
    """Some versions of scikit-learn look at a type that earlier ones did not keep."""
    if hasattr(made, "_fit_dtype"):
        vars(made).setdefault("_fill_dtype", made._fit_dtype)


def passes_through(made: Any) -> None:
    plain = made.func is None and made.inverse_func is None
    expect(plain, "FunctionTransformer calls a function")
