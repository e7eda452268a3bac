"""kernel_error: its definition, its scaling, its points and its error messages."""

import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import FunctionTransformer

from bochner import RandomFeatures, kernels, methods, metrics
from checks import data

X = data(300, 4)
FEATURES = RandomFeatures(64, gamma=0.2, random_state=0).fit(X)


def test_error_is_the_relative_frobenius_norm():
    A, K = FEATURES.approximate_kernel(X), FEATURES.kernel_(X)
    expected = np.linalg.norm(A - K) / np.linalg.norm(K)
    assert metrics.kernel_error(FEATURES, X) == pytest.approx(expected)
    best = min(np.linalg.norm(a * A - K) for a in np.linspace(0.5, 1.5, 2001))
    scaled = metrics.kernel_error(FEATURES, X, scaled=True)
    assert scaled == pytest.approx(best / np.linalg.norm(K), rel=1e-4)


def test_points_are_fixed_unless_a_seed_is_given():
    first = metrics.kernel_error(FEATURES, X, n_points=50)
    assert first == metrics.kernel_error(FEATURES, X, n_points=50)
    other = metrics.kernel_error(FEATURES, X, n_points=50, random_state=1)
    assert first != other


def test_transformers_without_a_kernel_need_one():
    sampler = RBFSampler(gamma=0.2, n_components=64, random_state=0).fit(X)
    assert 0 < metrics.kernel_error(sampler, X, kernel=kernels.Gaussian(0.2)) < 1
    with pytest.raises(TypeError, match=r"RBFSampler has no kernel_; .* kernel="):
        metrics.kernel_error(sampler, X)


def test_zero_points_are_refused():
    with pytest.raises(ValueError, match="n_points must be a positive integer, got 0"):
        metrics.kernel_error(FEATURES, X, n_points=0)


def test_rows_whose_kernel_is_zero_are_refused():
    features = methods.maxout(8, random_state=0).fit(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="the kernel is zero for all of these rows"):
        metrics.kernel_error(features, np.zeros((5, 2)))


def test_sparse_features_of_other_transformers():
    from scipy import sparse

    X = sparse.random(50, 20, density=0.2, format="csr", random_state=0)
    error = metrics.kernel_error(
        FunctionTransformer(accept_sparse=True).fit(X), X, kernel=_linear_kernel
    )
    assert error < 1e-12


def _linear_kernel(X, Y=None):
    G = X @ (X if Y is None else Y).T
    return G.toarray()
