"""Nyström features: projection on landmarks, landmark rules, errors."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference
from bochner import Nystroem, kernels, methods, metrics
from bochner.features.landmarks import LANDMARKS, distinct, pool_of
from checks import data

RULES = list(LANDMARKS)
CLASSES = np.arange(200) % 3


@parametrize_with_checks([Nystroem(landmarks=rule) for rule in RULES])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "kernel",
    [
        kernels.Gaussian(0.2),
        kernels.Gaussian([0.1, 0.2, 0.3, 0.4, 0.5]),
        kernels.Laplacian(0.3),
        kernels.Matern(1.5, 2.0),
        kernels.RationalQuadratic(1.0, 1.0),
    ],
    ids=repr,
)
def test_inner_products_are_the_kernel_projected_on_landmarks(rule, kernel):
    X = data(200, 5)
    features = Nystroem(30, kernel=kernel, landmarks=rule, random_state=0)
    features.fit(X, CLASSES)
    assert features.landmarks_.shape == (30, 5)
    exact = reference.nystroem(features.kernel_, X, features.landmarks_)
    assert_allclose(features.approximate_kernel(X), exact, atol=1e-9)
    L = features.landmarks_
    assert_allclose(features.approximate_kernel(L), kernel(L), atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_float32_csr_chunks_and_pickle(rule):
    X = data(600, 5)
    y = np.arange(600) % 3
    for dtype, tolerance in ((np.float64, 1e-9), (np.float32, 3e-3)):
        rows = X.astype(dtype)
        features = Nystroem(64, gamma=0.3, landmarks=rule, random_state=0).fit(rows, y)
        F = features.transform(rows)
        assert F.dtype == dtype
        chunks = [features.transform(rows[i : i + 7]) for i in range(0, 600, 7)]
        assert_allclose(np.vstack(chunks), F, atol=tolerance)
        assert_allclose(features.transform(sparse.csr_matrix(rows)), F, atol=tolerance)
        assert_array_equal(pickle.loads(pickle.dumps(features)).transform(rows), F)
        K = features.kernel_(X)
        assert abs(features.approximate_kernel(rows) - K).max() < 1
        if rule != "kmeans":
            assert_array_equal(rows[features.landmark_indices_], features.landmarks_)


def test_fit_on_csr_rows():
    X = data(300, 20)
    dense = Nystroem(40, gamma=0.1, random_state=0).fit(X)
    csr = Nystroem(40, gamma=0.1, random_state=0).fit(sparse.csr_matrix(X))
    assert sparse.issparse(csr.landmarks_)
    exact = csr.kernel_(csr.landmarks_)
    assert_allclose(csr.approximate_kernel(csr.landmarks_), exact, atol=1e-9)
    assert metrics.kernel_error(csr, X) < 1.5 * metrics.kernel_error(dense, X)


def test_all_rows_as_landmarks_are_exact():
    X = data(80, 4)
    features = Nystroem(1000, gamma=0.5, random_state=0).fit(np.vstack([X, X[:20]]))
    assert len(features.landmarks_) == len(np.unique(X, axis=0))
    assert_allclose(features.approximate_kernel(X), features.kernel_(X), atol=1e-8)


def test_few_landmarks_are_a_subset_of_many():
    X = data(9000, 3)
    few = Nystroem(20, gamma=1.0, random_state=0).fit(X).landmark_indices_
    many = Nystroem(40, gamma=1.0, random_state=0).fit(X).landmark_indices_
    assert len(few) == 20 and len(many) == 40
    assert set(few) <= set(many)


@given(st.integers(1, 40), st.integers(1, 5), st.data())
@settings(max_examples=30, deadline=None)
def test_distinct_rows(n, d, draw):
    entries = st.lists(st.integers(0, 2), min_size=n * d, max_size=n * d)
    X = np.array(draw.draw(entries), dtype=float).reshape(n, d)
    first, inverse = distinct(X)
    assert_array_equal(X[first][inverse], X)
    assert_array_equal(X[first], np.unique(X, axis=0))
    first, inverse = distinct(sparse.csr_matrix(X))
    assert_array_equal(X[first][inverse], X)
    assert len(first) == len(np.unique(X, axis=0))


def test_uniform_landmarks_are_uniform(global_seed):
    """Each of 40 rows is one of 10 landmarks with probability 1/4; level 1e-6."""
    from scipy.stats import binom

    X = np.arange(40.0).reshape(-1, 1)
    counts = np.zeros(40)
    n = 400
    for seed in range(n):
        state = 1000 * global_seed + seed
        counts[
            Nystroem(10, gamma=100.0, random_state=state).fit(X).landmark_indices_
        ] += 1
    low, high = binom.ppf([1e-6 / 80, 1 - 1e-6 / 80], n, 0.25)
    assert low <= counts.min() and counts.max() <= high


def test_rows_are_drawn_in_proportion_to_weights(global_seed):
    """A row with half of the total weight is drawn first with probability ½."""
    from scipy.stats import binom

    X, w = np.array([[0.0], [1.0], [2.0]]), np.array([2.0, 1.0, 1.0])
    n = 300
    first = sum(
        Nystroem(1, gamma=1.0, random_state=1000 * global_seed + s)
        .fit(X, sample_weight=w)
        .landmark_indices_[0]
        == 0
        for s in range(n)
    )
    low, high = binom.ppf([5e-7, 1 - 5e-7], n, 0.5)
    assert low <= first <= high


def test_rpcholesky_finds_small_clusters():
    """12 landmarks find all of ten distant clusters of very different sizes."""
    rng = np.random.default_rng(0)
    sizes = [2000] + 9 * [5]
    X = np.vstack([rng.normal(30 * i, 0.1, size=(s, 2)) for i, s in enumerate(sizes)])
    features = Nystroem(12, gamma=0.1, landmarks="rpcholesky", random_state=0).fit(X)
    assert {round(row[0] / 30) for row in features.landmarks_} == set(range(10))
    uniform = Nystroem(12, gamma=0.1, random_state=0).fit(X)
    K = features.kernel_(X)
    errors = [abs(f.approximate_kernel(X) - K).max() for f in (features, uniform)]
    assert errors[0] < 0.1 < errors[1]


def test_rpcholesky_beyond_the_rank_in_float32():
    X = data(500, 1, np.float32)
    features = Nystroem(200, gamma=0.1, landmarks="rpcholesky", random_state=0).fit(X)
    assert metrics.kernel_error(features, X) < 1e-3


def test_margin_landmarks_are_near_the_boundary():
    X = np.random.default_rng(0).uniform(-1, 1, size=(3000, 2))
    y = X[:, 0] > 0
    features = Nystroem(100, gamma=3.0, landmarks="margin", random_state=0).fit(X, y)
    near = abs(features.landmarks_[:, 0]) < 0.1
    assert near.mean() > 0.5  # where a tenth of all rows is


def test_landmarks_passed_as_rows():
    X = data(50, 3)
    features = Nystroem(kernel="matern", gamma=0.5, landmarks=X[:7]).fit(X)
    assert features.landmark_indices_ is None
    exact = reference.nystroem(features.kernel_, X, X[:7])
    assert_allclose(features.approximate_kernel(X), exact, atol=1e-10)


def test_kernel_function():
    X = data(60, 3)
    features = Nystroem(20, kernel=polynomial_kernel, random_state=0).fit(X)
    exact = reference.nystroem(polynomial_kernel, X, features.landmarks_)
    assert_allclose(features.approximate_kernel(X), exact, atol=1e-8)
    plain = Nystroem(5, kernel=lambda A, B: (A @ B.T + 1) ** 2).fit(X)  # no default Y
    assert plain.transform(X).shape == (60, 5)
    rule = Nystroem(9, kernel=polynomial_kernel, landmarks="rpcholesky").fit(X)
    assert rule.transform(X).shape == (60, 9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_precomputed_kernel(form):
    X = data(60, 3)
    kernel = kernels.Gaussian(0.4)
    features = Nystroem(20, kernel="precomputed", random_state=0).fit(form(kernel(X)))
    L = X[features.landmark_indices_]
    exact = reference.nystroem(kernel, X, L)
    F = features.transform(form(kernel(X)))
    assert_allclose(F @ F.T, exact, atol=1e-9)


def test_nystroem_method():
    features = methods.nystroem(8, gamma=0.5, landmarks="kmeans", random_state=0)
    assert features.fit_transform(data(40, 3)).shape == (40, 8)


def test_pool_merges_repeated_rows():
    X = np.array([[1.0], [0.0], [1.0], [2.0]])
    pool = pool_of(X, None, np.array([1.0, 2.0, 3.0, 0.0]))
    assert_array_equal(pool.X, [[0.0], [1.0]])
    assert_array_equal(pool.weight, [2.0, 4.0])


BAD = [
    ({"n_components": 0}, "n_components must be a positive integer, got 0"),
    ({"landmarks": "far"}, "landmarks must be one of 'uniform', 'kmeans'.*got 'far'"),
    ({"landmarks": [[1.0, 2.0]]}, "landmarks have 2 features and X has 3"),
    ({"landmarks": "margin"}, "requires y to be passed.*'uniform' or 'rpcholesky'"),
    ({"kernel": "precomputed"}, r"square Gram matrix.*got shape \(10, 3\)"),
    ({"kernel": "wide"}, "kernel must be one of"),
]


@pytest.mark.parametrize("parameters, message", BAD, ids=lambda b: str(b))
def test_invalid_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        Nystroem(**parameters).fit(data(10, 3))


def test_invalid_rows():
    with pytest.raises(ValueError, match="contains NaN"):
        Nystroem().fit([[np.nan]])
    with pytest.raises(ValueError, match="kernel of the landmarks is zero"):
        Nystroem(kernel="precomputed").fit(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="one entry for each of the 10"):
        Nystroem().fit(data(10, 3), sample_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match="must be ≥ 0 and not all zero"):
        Nystroem().fit(data(3, 3), sample_weight=[1.0, -2.0, 1.0])
    with pytest.raises(ValueError, match="Unknown label type"):
        Nystroem(landmarks="margin").fit(data(3, 3), [0.5, 1.5, 2.5])


def test_constant_rows():
    features = Nystroem(5, random_state=0).fit(np.ones((10, 3)))
    assert_allclose(features.approximate_kernel(np.ones((2, 3))), 1)
