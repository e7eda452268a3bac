"""Exact Gram matrices against pairwise references, bandwidth rules, invalid input."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise
from sklearn.svm import SVC

import bochner
import reference
from bochner import kernels
from bochner.kernels import laws

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(13, 3)), RNG.normal(size=(11, 3))
ARD = np.array([0.3, 1.0, 2.0])
CASES = [
    (kernels.Gaussian(0.7), lambda d: reference.gaussian(d, 0.7)),
    (kernels.Gaussian(ARD), lambda d: reference.gaussian(d, ARD)),
    (kernels.Laplacian(0.4), lambda d: reference.laplacian(d, 0.4)),
    (kernels.Laplacian(ARD), lambda d: reference.laplacian(d, ARD)),
    (kernels.Cauchy(0.7), lambda d: reference.cauchy(d, 0.7)),
    (kernels.Cauchy(ARD), lambda d: reference.cauchy(d, ARD)),
    *[
        (kernels.Matern(nu, ell), partial(reference.matern, nu=nu, length_scale=ell))
        for nu in (0.5, 0.8, 1.5, 2.5, 7.0)
        for ell in (1.3, ARD)
    ],
    (
        kernels.RationalQuadratic(0.6, 1.3),
        lambda d: reference.rational_quadratic(d, 0.6, 1.3),
    ),
    (
        kernels.RationalQuadratic(0.6, ARD),
        lambda d: reference.rational_quadratic(d, 0.6, ARD),
    ),
    (kernels.Spherical(2.5), lambda d: reference.spherical(d, 2.5)),
    (kernels.Spherical(ARD), lambda d: reference.spherical(d, ARD)),
]


@pytest.mark.parametrize("kernel, profile", CASES, ids=[repr(c[0]) for c in CASES])
def test_gram_is_the_formula(kernel, profile):
    assert_allclose(kernel(X, Y), reference.gram(profile, X, Y), atol=1e-12)
    K = kernel(X)
    assert_allclose(K, reference.gram(profile, X, X), atol=1e-12)
    assert_array_equal(np.diag(K), 1)
    assert_allclose(
        kernel(sparse.csr_matrix(X), sparse.csr_matrix(Y)), kernel(X, Y), atol=1e-12
    )


@pytest.mark.parametrize("kernel", [c[0] for c in CASES], ids=repr)
def test_gram_in_float32_and_in_blocks(kernel):
    rows = np.random.default_rng(1).normal(size=(700, 3))
    K = kernel(rows)
    assert_allclose(kernel(rows[300:350], rows), K[300:350], atol=1e-7)
    K32 = kernel(rows.astype(np.float32))
    assert K32.dtype == np.float32
    assert_allclose(K32, K, atol=1e-5)


def test_gram_equals_scikit_learn():
    assert_allclose(kernels.Gaussian(0.7)(X), pairwise.rbf_kernel(X, gamma=0.7))
    assert_allclose(kernels.Laplacian(0.7)(X), pairwise.laplacian_kernel(X, gamma=0.7))
    assert_allclose(kernels.Matern(1.5, 0.8)(X), gp.Matern(0.8, nu=1.5)(X))
    assert_allclose(
        kernels.RationalQuadratic(0.6, 0.8)(X), gp.RationalQuadratic(0.8, 0.6)(X)
    )


@pytest.mark.parametrize("nu", [30.0, 49.9, 50.1, 300.0, 1000.0])
def test_matern_of_large_nu_approaches_the_gaussian(nu):
    """The kernel is close to the Gaussian, never overflows, and is 1 at zero."""
    r = np.concatenate([[0.0], np.logspace(-160, 2, 200)])[:, None]
    K = kernels.Matern(nu, 1.0)(np.zeros((1, 1)), r)[0]
    assert np.isfinite(K).all() and K[0] == 1
    assert_allclose(K, np.exp(-(r[:, 0] ** 2) / 2), atol=1 / nu)


def test_bessel_function_and_its_expansion_agree(monkeypatch):
    t = np.linspace(0.5, 60, 50)
    expansion = laws._log_bessel(t, laws.LARGE_NU)
    monkeypatch.setattr(laws, "LARGE_NU", np.inf)
    assert_allclose(expansion, laws._log_bessel(t, 50.0), atol=1e-7)


@pytest.mark.parametrize("nu", [0.5, 0.8, 1.5, 2.5, 300.0])
def test_matern_vanishes_far_away(nu):
    far = [[1e5], [1e9], [1e150]]
    assert_array_equal(kernels.Matern(nu, 1.0)([[0.0]], far), 0)


@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_data_far_from_the_origin(offset):
    """The kernel depends on differences only; X + 1e8 keeps eight of their digits."""
    for kernel in (kernels.Gaussian(1.0), kernels.Laplacian(1.0)):
        assert_allclose(kernel(X + offset, Y + offset), kernel(X, Y), atol=1e-6)
    assert kernels.Gaussian("median").resolve(X + offset).gamma == pytest.approx(
        kernels.Gaussian("median").resolve(X).gamma, rel=1e-6
    )


@pytest.mark.parametrize("kernel", [kernels.Gaussian(0.3), kernels.Laplacian(0.1)])
def test_csr_with_duplicates_and_unsorted_indices(kernel):
    """Duplicates are summed in a copy before threads share the rows."""
    rng = np.random.default_rng(0)
    n, stored = 600, 40
    columns = rng.integers(0, 50, size=(n, stored))
    values = rng.normal(size=(n, stored))
    parts = (values.ravel(), columns.ravel(), np.arange(0, n * stored + 1, stored))
    csr = sparse.csr_matrix(parts, shape=(n, 50))
    dense = csr.toarray()
    with bochner.threads(4):
        assert_allclose(kernel(csr), kernel(dense), atol=1e-10)
    for rule in ("scale", "median", "knn"):
        by_rule = type(kernel)(rule)
        gamma = by_rule.resolve(csr).gamma
        assert gamma == pytest.approx(by_rule.resolve(dense).gamma)


def test_scale_rule_of_float32_csr_does_not_cancel():
    rows = np.random.default_rng(0).normal(1e4, 1, size=(200, 5)).astype(np.float32)
    dense = kernels.Gaussian("scale").resolve(rows).gamma
    csr = kernels.Gaussian("scale").resolve(sparse.csr_matrix(rows)).gamma
    assert csr == pytest.approx(dense, rel=1e-6)


def test_scale_rule_equals_scikit_learn():
    gamma = 1 / (3 * X.var())
    assert kernels.Gaussian("scale").resolve(X).gamma == pytest.approx(gamma)
    csr = sparse.csr_matrix(X)
    assert kernels.Gaussian("scale").resolve(csr).gamma == pytest.approx(gamma)
    assert kernels.Laplacian("scale").resolve(X).gamma == pytest.approx(gamma)


def test_median_rule():
    middle = np.median(pdist(X, "sqeuclidean"))
    assert kernels.Gaussian("median").resolve(X).gamma == pytest.approx(1 / middle)
    middle = np.median(pdist(X, "cityblock"))
    assert kernels.Laplacian("median").resolve(X).gamma == pytest.approx(1 / middle)


def test_knn_and_cnm_rules():
    rows = np.random.default_rng(2).normal(size=(200, 3))
    D = np.sort(squareform(pdist(rows)), axis=1)
    sigma = D[:, 50].mean()  # column 0 is the row itself
    knn = kernels.Gaussian("knn").resolve(rows).gamma
    assert knn == pytest.approx(1 / (2 * sigma**2))
    assert kernels.Gaussian("cnm").resolve(rows).gamma == pytest.approx(2 / sigma**2)
    sigma = np.sort(squareform(pdist(rows, "cityblock")), axis=1)[:, 50].mean()
    assert kernels.Laplacian("knn").resolve(rows).gamma == pytest.approx(0.5 / sigma)


@pytest.mark.parametrize("kernel", [kernels.Matern, kernels.RationalQuadratic])
@pytest.mark.parametrize("rule", ["scale", "median", "knn", "cnm"])
def test_length_scale_rules_match_gamma(kernel, rule):
    gamma = kernels.Gaussian(rule).resolve(X).gamma
    ell = kernel(length_scale=rule).resolve(X).length_scale
    assert gamma == pytest.approx(1 / (2 * ell**2))


@pytest.mark.parametrize("rule", ["scale", "median", "knn", "cnm"])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1 / 3, 1e5 + 0.1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_data_gives_one(rule, value, dtype):
    for n in (1, 5, 60):
        rows = np.full((n, 3), value, dtype=dtype)
        for kernel in (kernels.Gaussian(rule), kernels.Laplacian(rule)):
            assert kernel.resolve(rows).gamma == 1
        assert kernels.Gaussian("scale").resolve(sparse.csr_matrix(rows)).gamma == 1


def test_median_of_mostly_equal_rows_ignores_equal_pairs():
    rows = np.zeros((20, 1))
    rows[0] = 2
    assert kernels.Gaussian("median").resolve(rows).gamma == pytest.approx(1 / 4)


def test_large_data_is_subsampled_reproducibly():
    rows = np.random.default_rng(3).normal(size=(5000, 2))
    first = kernels.Gaussian("median").resolve(rows).gamma
    assert first == kernels.Gaussian("median").resolve(rows).gamma
    # The squared length of N(0, 2I) in the plane has the median 4 ln 2.
    assert first == pytest.approx(1 / (4 * np.log(2)), rel=0.1)


def test_resolve_does_not_change_the_kernel():
    kernel = kernels.Gaussian("median")
    assert kernel.resolve(X) is not kernel
    assert kernel.gamma == "median"
    assert clone(kernel).get_params() == kernel.get_params()


@pytest.mark.parametrize("kernel", [c[0] for c in CASES], ids=repr)
def test_rescaled_is_the_kernel_of_scaled_inputs(kernel):
    factors = np.array([0.5, 2.0, 1.0])
    expected = kernel(X * factors, Y * factors)
    assert_allclose(kernel.rescaled(factors)(X, Y), expected, atol=1e-12)


def test_kernel_as_callable_in_svc():
    """In prediction, a rule keeps the bandwidth of the training rows."""
    y = (X[:, 0] > 0).astype(int)
    ours = SVC(kernel=kernels.Gaussian("scale")).fit(X, y)
    theirs = SVC(kernel="rbf", gamma="scale").fit(X, y)
    assert_allclose(ours.decision_function(Y), theirs.decision_function(Y))


INVALID = [
    (kernels.Gaussian(0.0), ValueError, "Gaussian: gamma must be a positive number"),
    (kernels.Gaussian(-1), ValueError, r"positive number.*'scale'.*got -1"),
    (kernels.Gaussian(np.inf), ValueError, "got inf"),
    (kernels.Gaussian(None), TypeError, "got None"),  # type: ignore[arg-type]
    (kernels.Gaussian("wide"), ValueError, "'median', 'knn', 'cnm'; got 'wide'"),
    (kernels.Gaussian([1.0, 2.0]), ValueError, "2 entries, but X has 3 features"),
    (kernels.Gaussian([1.0, -2.0, 1]), ValueError, "every entry of gamma"),
    (kernels.Gaussian([["a"]]), TypeError, "an array of shape"),
    (kernels.Matern(nu=0), ValueError, "Matern: nu must be a positive number; got 0"),
    (kernels.Matern(length_scale=-1), ValueError, "Matern: length_scale"),
    (kernels.RationalQuadratic(alpha=-1), ValueError, "RationalQuadratic: alpha"),
    (kernels.Spherical("scale"), ValueError, "Spherical: radius .* got 'scale'"),
]


@pytest.mark.parametrize(
    "kernel, error, message", INVALID, ids=[repr(b[0]) for b in INVALID]
)
def test_invalid_parameters(kernel, error, message):
    with pytest.raises(error, match=message):
        kernel(X)


def test_invalid_rows():
    with pytest.raises(ValueError, match="at most 3 features, got 4"):
        kernels.Spherical(1.0)(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="X has 3 features and Y has 2"):
        kernels.Gaussian(1.0)(X, Y[:, :2])
    with pytest.raises(ValueError, match="contains NaN"):
        kernels.Gaussian(1.0)([[np.nan]])
