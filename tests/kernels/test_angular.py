"""Kernels of lengths and angles: quadrature, closed forms, zero rows, invalid input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.svm import SVC

import reference
from bochner import Nystroem, kernels, projections
from bochner._core.random import Stream
from bochner.kernels.angular import maxout_integrals
from checks import data

POOLS = [1, 2, 3, 4, 8, 16, 64]
ANGULAR = [
    kernels.Maxout(1),
    kernels.Maxout(4),
    kernels.Maxout(4, center=True),
    kernels.ArgmaxCode(4),
    kernels.ArgmaxCode(16),
    *(kernels.ArcCosine(degree) for degree in (0, 1, 2)),
]


def at(kernel, rho):
    """The kernel of two unit vectors with inner product rho."""
    return kernel([[1.0, 0.0]], [[rho, np.sqrt(1 - rho**2)]])[0, 0]


@pytest.mark.parametrize("q", POOLS)
@pytest.mark.parametrize("rho", [-0.9, -0.4, 0.0, 0.5, 0.9])
def test_agreement_equals_the_integral(q, rho):
    assert_allclose(
        at(kernels.ArgmaxCode(q), rho), reference.agreement(q, rho), atol=1e-6
    )


def test_agreement_of_close_rows():
    expected = reference.agreement(8, 0.99, step=0.03)
    assert at(kernels.ArgmaxCode(8), 0.99) == pytest.approx(expected, abs=1e-6)


RHO = np.concatenate([np.linspace(-1, 1, 41), [1 - 1e-12, 1 - 1e-6, 1e-6 - 1, 1e-9]])


def test_closed_forms_for_pools_of_two():
    pair = maxout_integrals(2)
    assert_allclose(pair.agreement(RHO), 0.5 + np.arcsin(RHO) / np.pi, atol=1e-12)
    exact = RHO / 2 + (np.sqrt(1 - RHO**2) + RHO * np.arcsin(RHO)) / np.pi
    assert_allclose(pair.covariance(RHO) + pair.mean**2, exact, atol=1e-12)
    assert_allclose(kernels.Maxout(1)([[2.0, 1.0]], [[1.0, 3.0]]), [[5.0]])  # linear


@pytest.mark.parametrize("q", [2, 4, 8, 64, 1000, 65535])
def test_known_values_at_the_end_points(q):
    pool = maxout_integrals(q)
    assert_allclose(pool.agreement(np.array([-1.0, 0, 1])), [0, 1 / q, 1], atol=5e-8)
    mean, square = (reference.moment_of_maximum(q, power) for power in (1, 2))
    assert pool.mean == pytest.approx(mean, abs=1e-7)
    assert pool.covariance(np.ones(1)) == pytest.approx(square - mean**2, abs=1e-7)
    if 4 <= q <= 64:
        # The largest projection of x is minus the smallest projection of −x.
        opposite = -reference.maximum_times_minimum(q) - mean**2
        assert pool.covariance(-np.ones(1)) == pytest.approx(opposite, abs=1e-4)


def test_derivative_of_the_covariance_is_the_agreement():
    """d/dρ of the covariance of two maxima is the probability of equal indices."""
    rho, step = np.linspace(-0.95, 0.95, 39), 1e-5
    for q in POOLS:
        pool = maxout_integrals(q)
        slope = pool.covariance(rho + step) - pool.covariance(rho - step)
        assert_allclose(slope / (2 * step), pool.agreement(rho), atol=1e-8)


QUADRATURE = {
    (4, -0.5): 0.97494,
    (4, 0): 1.05961,
    (4, 0.5): 1.2339,
    (4, 0.9): 1.46812,
    (4, 1): 1.55133,
    (8, 0): 2.02664,
    (8, 0.5): 2.13422,
    (8, 0.9): 2.32207,
    (8, 1): 2.39953,
}


@pytest.mark.parametrize("q, rho", QUADRATURE)
def test_values_by_another_quadrature(q, rho):
    assert at(kernels.Maxout(q), rho) == pytest.approx(QUADRATURE[q, rho], abs=5.1e-6)


def test_arc_cosine_equals_its_expectation():
    """2 E ⟨w, x⟩₊ⁿ⟨w, y⟩₊ⁿ by quadrature over the angle and the length of w."""
    for degree in (0, 1, 2):
        for theta in (0.3, 1.2, 2.9):
            angle = np.linspace(-np.pi, np.pi, 200_001)[:-1]
            both = (np.cos(angle) > 0) & (np.cos(angle - theta) > 0)
            product = np.where(both, np.cos(angle) * np.cos(angle - theta), 0.0)
            mean = np.where(both, np.abs(product) ** degree, 0.0).mean()
            length = 2.0**degree * [1, 1, 2][degree]  # E‖w‖^{2n} in two dimensions
            value = at(kernels.ArcCosine(degree), np.cos(theta))
            assert value == pytest.approx(2 * mean * length, abs=1e-4)


@pytest.mark.parametrize("kernel", ANGULAR, ids=repr)
def test_gram(kernel):
    X, Y = data(60, 5), data(40, 5, seed=1)
    X, Y = X.copy(), Y.copy()
    X[3] = Y[7] = 0
    K = kernel(X, Y)
    for i, j in ((0, 0), (3, 7), (3, 1), (12, 7)):
        assert_allclose(kernel(X[[i]], Y[[j]]), K[[i]][:, [j]], atol=1e-12)
    assert_allclose(kernel(sparse.csr_matrix(X), sparse.csr_matrix(Y)), K, atol=1e-12)
    assert_allclose(kernel(sparse.csr_matrix(X), Y), K, atol=1e-12)
    assert kernel(X.astype(np.float32)).dtype == np.float32
    assert_allclose(kernel(X.astype(np.float32)), kernel(X), atol=2e-5)
    symmetric = kernel(X)
    assert_allclose(np.diag(symmetric), kernel.diagonal(X), atol=1e-9)
    assert_allclose(kernel(X, X), symmetric, atol=1e-6)
    spectrum = np.linalg.eigvalsh(symmetric)
    assert spectrum.min() > -1e-6 * spectrum.max()


def test_rows_of_zeros():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]])
    assert_allclose(kernels.Maxout(3)(X)[:2], 0)
    assert_array_equal(kernels.ArgmaxCode(4)(X)[:2, :2], kernels.ArgmaxCode(4)(X)[2, 2])
    assert_allclose(kernels.ArgmaxCode(4)(X)[0, 2], 1 / 4)
    assert_array_equal(kernels.ArcCosine(0)(X)[:2], 0)


@pytest.mark.parametrize("kernel", ANGULAR[1:], ids=repr)
def test_svc_learns_with_the_kernel(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    # Apart from a constant, features of degree 0 are odd functions: the labels must
    # be odd as well.
    odd = isinstance(kernel, kernels.ArcCosine) and kernel.degree == 0
    y = X[:, 0] ** 3 > X[:, 1] if odd else X[:, 0] * X[:, 1] > 0
    learner = SVC(kernel=kernel, C=100.0).fit(X[:200], y[:200])
    assert learner.score(X[200:], y[200:]) > 0.8


@pytest.mark.parametrize("landmarks", ["uniform", "rpcholesky", "kmeans"])
def test_nystroem_of_all_rows_is_exact(landmarks):
    X = data(40, 5)
    features = Nystroem(40, kernel=kernels.Maxout(4), landmarks=landmarks).fit(X)
    K = kernels.Maxout(4)(X)
    assert_allclose(features.approximate_kernel(X), K, atol=1e-6)
    with pytest.raises(ValueError, match="kernel of the landmarks is zero"):
        features.fit(np.zeros((20, 3)))


@pytest.mark.parametrize(
    "kernel, message",
    [
        (kernels.Maxout(0), "Maxout: pool_size must be a positive integer, got 0"),
        (
            kernels.Maxout(2.5),  # type: ignore[arg-type]
            "Maxout: pool_size must be a positive integer",
        ),
        (
            kernels.Maxout(2, center="yes"),  # type: ignore[arg-type]
            "Maxout: center must be one of False, True",
        ),
        (kernels.ArgmaxCode(-1), "ArgmaxCode: pool_size must be a positive"),
        (kernels.ArcCosine(3), "ArcCosine: degree must be one of 0, 1, 2; got 3"),
    ],
)
def test_invalid_parameters(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel([[1.0, 2.0]])
    with pytest.raises(ValueError, match=message):
        kernel.diagonal(np.ones((2, 2)))


def test_angular_kernels_cannot_be_rescaled():
    with pytest.raises(ValueError, match=r"no bandwidth per feature.* use normalize="):
        kernels.Maxout(4).rescaled(np.ones(3))


def test_law_is_standard_normal():
    law = kernels.Maxout(4).spectral_law()
    linear = projections.Dense().sample(law, 7, 3, Stream(0))
    assert linear.shape == (7, 3)
    assert law.second_moment(3) == 3
