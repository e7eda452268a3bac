"""What compiled code and owners take on trust, looked at before a file is believed.

A checksum tells accidents, not intent. Shapes that do not fit and indices that point
outside are refused here, so that no file makes compiled loops read or write where they
must not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from .._core.validation import FLOATS
from ..compression.jl import SketchedMap
from ..features.compact.targets import Classes, Numbers
from ..features.feature_map import FeatureMap
from ..features.kernel_columns import Columns
from ..features.nystroem import NystroemMap
from ..kernels.base import Kernel
from ..kernels.laws import Law
from ..nonlinearities.base import SampledNonlinearity
from ..projections.base import LinearMap
from ..projections.hadamard import MIN_LENGTH
from ..solvers.ridge import Posterior
from .archive import FileError

WIDTH = 1 << 20
"""Outputs that a map may have in addition to one for each number that it holds."""

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


def _optional(value: Any, kind: Any, what: str) -> None:
    if value is not None:
        _kinds([value], kind, what)


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
        expect(min(linear.shape) > 0, "a linear map has no inputs or no outputs")


def _check_width(linear: LinearMap) -> None:
    """Refuse a map whose rows take far more memory than the numbers it holds.

    A few bytes can declare any number of outputs, or name one matrix many times.
    """
    arrays: dict[int, int] = {}
    n_outputs = _outputs(linear, arrays)
    n_held = sum(arrays.values())
    fits = n_outputs <= WIDTH + n_held
    expect(fits, f"a map of {n_held} numbers has {n_outputs} outputs")


def _outputs(part: Any, arrays: dict[int, int]) -> int:
    """Outputs of all maps inside a map; sizes of their arrays, each counted once."""
    if isinstance(part, np.ndarray):
        arrays[id(part)] = part.size
    elif sparse.issparse(part):
        arrays[id(part)] = part.nnz + part.shape[0]
    elif isinstance(part, tuple):
        return sum(_outputs(inner, arrays) for inner in part)
    elif isinstance(part, LinearMap):
        inner = sum(_outputs(value, arrays) for value in vars(part).values())
        return inner + part.shape[0]
    return 0


def columns(made: Any) -> None:
    """What every fit keeps of the columns: their number, their names, the output."""
    held = getattr(made, "__dict__", {})
    n = held.get("n_features_in_", 0)
    expect(type(n) is int and n >= 0, "the number of features is not a number")
    names = held.get("feature_names_in_")
    if names is not None:
        fits = isinstance(names, np.ndarray) and names.shape == (n,)
        expect(fits, "names do not fit the features")
        _kinds(names.tolist(), str, "a name")
    config = held.get("_sklearn_output_config", {})
    expect(isinstance(config, dict), "the form of outputs is not known")
    _kinds([*config, *config.values()], str, "a form of outputs")


def law(made: Any) -> None:
    for value in vars(made).values():
        expect(isinstance(value, Real), "a law's parameter is not a number")


def _rows_in_order(*arrays: np.ndarray) -> None:
    """Arrays in C order, for which loops are compiled and read whole runs."""
    for array in arrays:
        expect(array.flags.c_contiguous, "an array is stored by columns")


def matrix(made: Any) -> None:
    _floats(made.transposed, n_dims=2)
    _rows_in_order(made.transposed)


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
    _rows_in_order(made.factors, made.orders)
    shapes = (n_steps, n_blocks, d), (n_steps, 1, d)
    expect(made.orders.shape in shapes, f"orders have shape {made.orders.shape}")
    expect(-(-made.scale.size // d) <= n_blocks, "there are fewer blocks than rows")
    expect(isinstance(made.n_in, int) and 0 < made.n_in <= d, f"{made.n_in} inputs")


def circulant(made: Any) -> None:
    _floats(made.vectors, n_dims=2)
    _floats(made.signs, made.scale, n_dims=1)
    _rows_in_order(made.vectors)
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


def sampled(made: Any) -> None:
    for name, value in vars(made).items():
        if name == "mean":
            expect(isinstance(value, Real), "the mean of units is not a number")
        elif name in ("n_in", "pool_size"):
            expect(type(value) is int and value > 0, f"{name} is not a count")


def sampled_cos(made: Any) -> None:
    _floats(made.biases, n_dims=1)


def sampled_pool(made: Any) -> None:
    sampled(made)
    _places(made.members, made.n_in, (np.int32,))
    expect(made.members.ndim == 2 and made.members.size, "units have no members")
    _rows_in_order(made.members)


def feature_map(made: Any) -> None:
    _linear(made.linear)
    _check_width(made.linear)
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
    _kinds([made.candidates], FeatureMap, "a feature map")
    _linear(made.linear)
    _check_width(made.linear)
    fits = made.linear.shape[1] == made.candidates.n_components
    expect(fits, "a sketch does not fit its candidates")


def nystroem_map(made: Any) -> None:
    _kinds([made.columns], Columns, "columns of a kernel")
    _floats(made.mixing, n_dims=2)
    n = made.columns.n_landmarks
    expect(made.mixing.shape == (n, n), "mixing does not fit the landmarks")


def _landmarks(found: Any) -> None:
    dense = isinstance(found, np.ndarray) and found.ndim == 2
    expect(dense or sparse.issparse(found), "landmarks are not rows")
    expect(found.dtype in FLOATS, "landmarks are not floats")
    expect(min(found.shape) > 0, "there are no landmarks")


def distance(made: Any) -> None:
    _kinds([made.law], Law, "a spectral law")
    _landmarks(made.landmarks)
    m, d = made.landmarks.shape
    expect(isinstance(made.scale, np.ndarray), "scales are not floats")
    expect(made.scale.dtype in FLOATS and made.scale.ndim < 2, "scales are not floats")
    _floats(made.squares, n_dims=1)
    expect(made.squares.size == m, "lengths do not fit the landmarks")
    expect(made.scale.size in (1, d), "scales do not fit the landmarks")
    if made.origin is not None:
        _floats(made.origin, n_dims=1)
        expect(made.origin.size == d, "the origin does not fit the landmarks")


def function(made: Any) -> None:
    _kinds([made.function], Kernel, "a kernel")
    _landmarks(made.landmarks)


def precomputed(made: Any) -> None:
    expect(type(made.n_features) is int, "the number of features is missing")
    expect(isinstance(made.indices, np.ndarray), "an array of places is missing")
    expect(made.indices.ndim == 1 and made.dtype in FLOATS, "landmarks are not rows")
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
        _check_width(made.linear_map_)
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
        targets = made._fitted[-1]
        _optional(targets, Classes | Numbers, "targets")
        if isinstance(targets, Classes):
            expect(np.ndim(targets.classes) == 1, "classes are missing")
        if isinstance(targets, Numbers):
            _floats(targets.mean, targets.deviation, n_dims=1)
            fits = targets.mean.shape == targets.deviation.shape
            same = targets.mean.shape == made.intercept_.shape
            expect(fits and same, "targets do not fit the coefficients")
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
        _optional(made._temperature, Real, "a temperature")
        if made._temperature == 1 and made.loss != "log":
            made._temperature = None  # of a version without probabilities by default


def regressor(made: Any) -> None:
    if hasattr(made, "coef_"):
        _floats(made._b, n_dims=1)
        n_components = made.coef_.shape[-1]
        shape = made._target_shape
        _kinds(shape, int, "a number of targets")
        fits = isinstance(shape, tuple) and math.prod(shape) == len(made._b)
        expect(fits, "targets do not fit the coefficients")
        expect(np.shape(made.noise_) in ((), made._b.shape), "noise does not fit")
        _optional(made._posterior, Posterior, "a posterior")
        _head(made, made._B, made.coef_.reshape(len(made._b), n_components))
        if made._posterior is not None:
            root, shift = made._posterior.root, made._posterior.shift
            _floats(root, n_dims=2)
            _floats(shift, n_dims=1)
            _kinds([made._posterior.constant], Real, "a number")
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
    """Parts of a CSR matrix of shape (n, m), whose rows may be in any order."""
    for part in (data, indices, indptr):
        expect(isinstance(part, np.ndarray) and part.ndim == 1, "CSR parts are missing")
    for part in (indices, indptr):
        expect(part.dtype in (np.int32, np.int64), "CSR places are not whole numbers")
    apart = len({id(data), id(indices), id(indptr)}) == 3
    expect(apart, "two CSR parts are one array")
    expect(type(n) is int and type(m) is int, "a shape is not of whole numbers")
    expect(m <= np.iinfo(np.int64).max, "a shape is too large")
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
