"""RandomFeatures: contract of feature maps, scikit-learn conventions, errors."""

import contextlib
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference
from bochner import (
    Nystroem,
    RandomFeatures,
    RandomProjection,
    kernels,
    methods,
    metrics,
    nonlinearities,
    projections,
)
from bochner.features.feature_map import all_finite
from checks import check_feature_map, check_prefix, data

COMPRESSED = ("giga", "frank_wolfe", "jl")
UP_TO_ROUNDING = [
    pytest.param(methods.rff, id="rff"),
    pytest.param(partial(methods.rff, nonlinearity="cos"), id="rff-cos"),
    pytest.param(partial(methods.rff, gamma=[1, 2, 3, 4, 5]), id="rff-ard"),
    pytest.param(partial(methods.rff, kernel="laplacian"), id="rff-l1"),
    pytest.param(methods.orf, id="orf"),
    pytest.param(methods.qmc, id="qmc"),
    pytest.param(partial(methods.qmc, sequence="sobol"), id="sobol"),
    pytest.param(methods.circulant, id="circulant"),
    pytest.param(methods.compressive, id="compressive"),
    pytest.param(
        partial(methods.compressive, projection="sorf", ensemble="sign"),
        id="compressive-sorf",
    ),
    *(
        pytest.param(partial(getattr(methods, name), n_candidates=300), id=name)
        for name in COMPRESSED
    ),
    pytest.param(methods.maxout, id="maxout"),
    pytest.param(partial(methods.maxout, pool=50, center=True), id="maxout-pool"),
    pytest.param(partial(RandomFeatures, nonlinearity="relu"), id="relu"),
]
BITWISE = [
    pytest.param(methods.sorf, id="sorf"),
    pytest.param(partial(methods.sorf, gamma=[1, 2, 3, 4, 5]), id="sorf-ard"),
    pytest.param(methods.fastfood, id="fastfood"),
    pytest.param(partial(methods.block_diagonal, block_size=2), id="block"),
    pytest.param(partial(methods.block_diagonal, block_size="paper"), id="block-paper"),
    pytest.param(partial(methods.maxout, projection="sorf"), id="maxout-sorf"),
    pytest.param(
        partial(RandomFeatures, nonlinearity="sign", projection="sorf"), id="sign-sorf"
    ),
]
METHODS = UP_TO_ROUNDING + BITWISE
"""Every method. UP_TO_ROUNDING lists methods whose results depend on how BLAS splits
the work; results of BITWISE methods do not depend on blocks or threads."""


@pytest.mark.parametrize("make", UP_TO_ROUNDING)
def test_contract(make):
    check_feature_map(make)


@pytest.mark.parametrize("make", BITWISE)
def test_bitwise_contract(make):
    check_feature_map(make, exact=True)


@pytest.mark.parametrize(
    "make", [m for m in METHODS if m.id not in {"block-paper", *COMPRESSED}]
)
def test_small_map_is_a_prefix_of_a_large_map(make):
    check_prefix(make)


@parametrize_with_checks(
    [
        RandomFeatures(),
        RandomFeatures(nonlinearity="cos"),
        RandomFeatures(nonlinearity="maxout"),
        RandomFeatures(nonlinearity="argmax_code"),
        RandomFeatures(nonlinearity=nonlinearities.ArgmaxCode(3, "onehot")),
        RandomFeatures(nonlinearity="relu"),
        RandomFeatures(nonlinearity="sign"),
        RandomProjection(),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_equal_the_formula(dtype):
    X = data(40, 6, dtype)
    features = RandomFeatures(64, gamma=0.3, random_state=0).fit(X)
    Z = X.astype(float) @ features.feature_map_.linear.to_dense().astype(float).T
    turns = abs(Z).max() / (2 * np.pi)
    bound = 1e-5 * (1 + turns) if dtype == np.float32 else 1e-13
    error = abs(features.transform(X) - reference.cos_sin(Z)).max()
    assert np.sqrt(32) * error < bound
    features = RandomFeatures(64, gamma=0.3, nonlinearity="cos", random_state=0).fit(X)
    Z = X.astype(float) @ features.feature_map_.linear.to_dense().astype(float).T
    exact = reference.cos_phase(Z, features.feature_map_.nonlinearity.biases)
    assert np.sqrt(64) * abs(features.transform(X) - exact).max() < bound


def test_frequencies_do_not_depend_on_the_nonlinearity_or_dtype():
    X = data(40, 6)
    pairs = methods.rff(64, gamma=0.5, random_state=0).fit(X)
    cosines = methods.rff(32, gamma=0.5, random_state=0, nonlinearity="cos").fit(X)
    single = methods.rff(64, gamma=0.5, random_state=0).fit(X.astype(np.float32))
    W = pairs.feature_map_.linear.to_dense()
    assert_array_equal(cosines.feature_map_.linear.to_dense(), W)
    assert_array_equal(single.feature_map_.linear.to_dense(), W.astype(np.float32))


def test_bandwidth_scales_the_frequencies():
    X = data(40, 6)
    one = methods.rff(64, gamma=1.0, random_state=0).fit(X).feature_map_
    four = methods.rff(64, gamma=4.0, random_state=0).fit(X).feature_map_
    assert_allclose(four.linear.to_dense(), 2 * one.linear.to_dense())


def test_ard_is_input_scaling():
    X, gamma = data(40, 3), np.array([0.1, 1.0, 2.0])
    ard = methods.rff(64, gamma=gamma, random_state=0).fit(X)
    scaled = methods.rff(64, gamma=1.0, random_state=0).fit(X)
    assert_allclose(ard.transform(X), scaled.transform(X * np.sqrt(gamma)), atol=1e-12)
    csr = sparse.csr_matrix(X)
    assert_allclose(ard.transform(csr), ard.transform(X), atol=1e-12)
    assert_array_equal(ard.kernel_.gamma, gamma)


def test_output_type_follows_the_input():
    X = data(40, 6)
    features = RandomFeatures(32, random_state=0).fit(X)
    assert features.transform(X.astype(np.float32)).dtype == np.float32
    integers = np.arange(12).reshape(2, 6)
    assert features.transform(integers).dtype == np.float64


@pytest.mark.parametrize("columns", ["abc", "cba"])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames(frame, columns):
    X = data(20, 3)
    table = frame({c: X[:, i].copy() for i, c in enumerate("abc")})
    features = RandomFeatures(16, gamma=1.0, random_state=0).fit(table)
    if columns == "cba":
        with pytest.raises(ValueError, match="feature names"):
            features.transform(table[list(columns)])
        return
    assert_array_equal(features.transform(table), features.fit(table).transform(table))
    output = "pandas" if frame is pd.DataFrame else "polars"
    out = features.set_output(transform=output).transform(table)
    assert isinstance(out, frame)
    assert list(out.columns) == list(features.get_feature_names_out())
    assert out.columns[0] == "randomfeatures0"


def test_parts_by_name_and_by_object_are_equal():
    X = data(20, 3)
    by_name = RandomFeatures(
        16, kernel="matern", gamma=0.5, projection="dense", random_state=0
    )
    by_object = RandomFeatures(
        16,
        kernel=kernels.Matern(length_scale=1.0),
        projection=projections.Dense(),
        nonlinearity=nonlinearities.CosSin(),
        random_state=0,
    )
    assert_array_equal(by_name.fit_transform(X), by_object.fit_transform(X))
    assert isinstance(by_name.projection_, projections.Dense)


def test_fit_does_not_change_parameters():
    kernel = kernels.Gaussian("median")
    features = RandomFeatures(16, kernel=kernel, random_state=0).fit(data(20, 3))
    assert features.kernel is kernel and kernel.gamma == "median"
    assert features.kernel_.gamma > 0
    assert clone(features).get_params()["kernel__gamma"] == "median"


def test_grid_search_over_names_and_nested_parameters():
    X, y = data(60, 3), np.arange(60) % 2
    pipeline = make_pipeline(
        RandomFeatures(16, kernel=kernels.Gaussian(), random_state=0), RidgeClassifier()
    )
    grid = {
        "randomfeatures__kernel__gamma": [0.1, "median"],
        "randomfeatures__projection": ["dense", projections.Dense()],
        "randomfeatures__nonlinearity": ["cos", "cos_sin"],
    }
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 8


def test_approximate_kernel_is_the_inner_product():
    X, Y = data(30, 3), data(20, 3, seed=1)
    features = RandomFeatures(64, random_state=0).fit(X)
    expected = features.transform(X) @ features.transform(Y).T
    assert_allclose(features.approximate_kernel(X, Y), expected)
    assert_allclose(np.diag(features.approximate_kernel(X)), 1)


def test_one_component_is_a_cosine_with_a_phase():
    features = RandomFeatures(1, random_state=0).fit(data(20, 3))
    assert features.transform(data(20, 3)).shape == (20, 1)
    assert features.feature_map_.nonlinearity.biases.shape == (1,)


BAD = [
    ({"n_components": 0}, ValueError, "n_components must be a positive integer, got 0"),
    ({"n_components": -4}, ValueError, "positive integer, got -4"),
    ({"n_components": 2.0}, ValueError, "positive integer, got 2.0"),
    ({"n_components": 7}, ValueError, "must be even.* Take 8, or nonlinearity='cos'"),
    ({"gamma": 0}, ValueError, "Gaussian: gamma must be a positive number"),
    ({"gamma": -1, "kernel": "matern"}, ValueError, "Matern: gamma must be a positive"),
    ({"gamma": "wide"}, ValueError, "'scale', 'median', 'knn', 'cnm'; got 'wide'"),
    ({"kernel": "poly"}, ValueError, "kernel must be one of 'gaussian'.*got 'poly'"),
    ({"kernel": 3}, TypeError, "kernel must be one of"),
    (
        {"projection": "x"},
        ValueError,
        "projection must be one of 'auto', 'dense', 'orth",
    ),
    ({"projection": projections.Dense}, TypeError, "or a Projection object"),
    ({"nonlinearity": "tanh"}, ValueError, "nonlinearity must be one of 'cos_sin'"),
    (
        {"compression": "zip"},
        ValueError,
        "compression must be one of 'giga', 'frank_wolfe', 'jl', or a Comp",
    ),
    ({"random_state": -3}, ValueError, "random_state must not be negative"),
    ({"kernel": kernels.Spherical(1.0)}, ValueError, "at most 3 features, got 4"),
]


@pytest.mark.parametrize("parameters, error, message", BAD, ids=lambda b: str(b))
def test_invalid_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        RandomFeatures(**parameters).fit(data(10, 4))


BAD_ROWS = [
    ([[np.nan]], "contains NaN"),
    ([[np.inf]], "contains infinity"),
    ([1.0, 2.0], "Expected 2D array, got 1D array"),
    (np.zeros((2, 2, 2)), "Found array with dim 3"),
    (np.empty((0, 3)), "0 sample"),
    (np.empty((3, 0)), "0 feature"),
    ([["a", "b"]], "could not convert string to float"),
    (sparse.csr_matrix([[np.nan, 0.0]]), "contains NaN"),
]


@pytest.mark.parametrize("rows, message", BAD_ROWS, ids=[b[1] for b in BAD_ROWS])
def test_invalid_rows(rows, message):
    with pytest.raises(ValueError, match=message):
        RandomFeatures().fit(rows)


def test_errors_of_transform():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        RandomFeatures().transform(data(3, 3))
    with pytest.raises(ValueError, match="X has 2 features, but RandomFeatures"):
        RandomFeatures().fit(data(3, 3)).transform(data(3, 2))


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_approximate_kernel_and_kernel_error_of_data_frames(output):
    X = data(20, 3)
    table = pd.DataFrame({c: X[:, i].copy() for i, c in enumerate("abc")})
    features = RandomFeatures(16, gamma=1.0, random_state=0).fit(table)
    features.set_output(transform=output)
    K = features.approximate_kernel(table)
    assert isinstance(K, np.ndarray)
    error = metrics.kernel_error(features, table)
    assert error == pytest.approx(
        np.linalg.norm(K - features.kernel_(X)) / np.linalg.norm(features.kernel_(X))
    )


def test_feature_map_validates_its_input():
    """The feature map is public and runs compiled code, so it checks its input."""
    features = RandomFeatures(16, random_state=0).fit(data(20, 3)).feature_map_
    integers = data(5, 3).astype(int)
    assert_array_equal(features(integers), features(integers.astype(np.float64)))
    assert_array_equal(features(integers.tolist()), features(integers))
    for rows in (data(5, 4), data(5, 3).astype(np.float16)):
        with pytest.raises(ValueError, match="A map of 3 features takes"):
            features(rows)
    with pytest.raises(ValueError, match=r"must be CSR, got csc; use X.tocsr\(\)"):
        features(sparse.csc_matrix(data(5, 3)))


def test_sampled_maps_are_read_only():
    linear = RandomFeatures(16, projection="dense").fit(data(20, 3)).feature_map_.linear
    with pytest.raises(ValueError, match="read-only"):
        linear.to_dense()[:] = 0
    assert linear != linear.astype(np.float32)  # compared by identity


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_invalid_entry_among_many_is_found(bad):
    X = np.ones((3000, 200), dtype=np.float32)
    features = RandomFeatures(4, gamma=1.0, random_state=0).fit(X)
    X[2999, 199] = bad
    with pytest.raises(ValueError, match="Input X contains"):
        features.transform(X)
    with sklearn.config_context(assume_finite=True):
        features.transform(X)
    X[:] = 3e38  # finite, but the sum overflows
    assert np.isfinite(features.transform(X * np.float32(1e-30))).all()
    assert all_finite(X)


def test_gamma_with_a_kernel_object_warns():
    features = RandomFeatures(8, kernel=kernels.Gaussian(2.0), gamma=1.0)
    with pytest.warns(UserWarning, match=r"gamma=1.0 is not used.*kernel__"):
        features.fit(data(10, 3))
    assert features.kernel_.gamma == 2


@pytest.mark.parametrize(
    "features",
    [methods.rff(4), methods.jl(4, n_candidates=8), Nystroem(2)],
    ids=["rff", "jl", "nystroem"],
)
def test_maps_accept_integers(features):
    X = np.array([[0, 1, 2], [3, 1, 0], [1, 1, 1]])
    apply = features.set_params(random_state=0).fit(X).feature_map_
    np.testing.assert_array_equal(apply(X), apply(X.astype(float)))
    np.testing.assert_array_equal(apply(sparse.csr_matrix(X)), apply(X))


def test_warnings_point_to_the_caller():
    X = data(30, 4)
    wide = 1e7 * X.astype(np.float32)
    for model, rows in (
        (RandomFeatures(8, gamma=1.0, random_state=0), wide),
        (RandomFeatures(8, nonlinearity="relu", gamma=2.0, random_state=0), X),
        (RandomFeatures(8, kernel=kernels.Gaussian(1.0), gamma=2.0), X),
        (RandomFeatures(8, compression="giga", random_state=0), np.ones((9, 2))),
    ):
        with warnings.catch_warnings(record=True) as recorded:
            warnings.simplefilter("always")
            with contextlib.suppress(ValueError):
                model.fit(rows)
        assert [w.filename for w in recorded] == [__file__]
