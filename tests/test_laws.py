"""Laws against the kernels whose characteristic functions they are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from bochner import kernels, laws
from bochner._random import Stream
from checks import ALPHA

KERNELS = [
    kernels.Gaussian(0.7),
    kernels.Laplacian(0.4),
    kernels.Cauchy(0.7),
    kernels.Matern(0.5, 1.3),
    kernels.Matern(1.5, 1.3),
    kernels.Matern(0.8, 1.3),
    kernels.RationalQuadratic(0.6, 1.3),
    kernels.Spherical(2.5),
]
ISOTROPIC = [k for k in KERNELS if not isinstance(k, kernels.Laplacian)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_characteristic_function_is_the_kernel(kernel, d, global_seed):
    """Mean of cos ωᵀδ within its standard error, at probability ALPHA."""
    m, pairs = 40_000, 40
    W = kernel.spectral_law().frequencies(m, d, Stream(global_seed))
    delta = np.random.default_rng(global_seed).normal(size=(pairs, d))
    origin = np.zeros((1, d))
    k, doubled = kernel(origin, delta)[0], kernel(origin, 2 * delta)[0]
    variance = (0.5 * (1 + doubled) - k**2) / m
    z = (np.cos(W @ delta.T).mean(axis=0) - k) / np.sqrt(variance)
    assert np.abs(z).max() < stats.norm.isf(ALPHA / (2 * pairs))


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_test_has_power(factor):
    """A bandwidth off by a tenth is found by the bound above."""
    m, d = 40_000, 3
    W = factor * kernels.Gaussian(0.7).spectral_law().frequencies(m, d, Stream(0))
    delta = np.random.default_rng(0).normal(size=(40, d))
    k = kernels.Gaussian(0.7)(np.zeros((1, d)), delta)[0]
    z = (np.cos(W @ delta.T).mean(axis=0) - k) / ((1 - k**2) / np.sqrt(2 * m))
    assert np.abs(z).max() > stats.norm.isf(ALPHA / 80)


@pytest.mark.parametrize("kernel", ISOTROPIC, ids=repr)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_radii_are_the_lengths_of_frequencies(kernel, d, global_seed):
    law = kernel.spectral_law()
    radii = law.radii(5000, d, Stream(global_seed).child("radii"))
    W = law.frequencies(5000, d, Stream(global_seed))
    assert stats.ks_2samp(radii, np.linalg.norm(W, axis=1)).pvalue > ALPHA


def test_radii_in_high_dimension():
    law = kernels.Gaussian(0.5).spectral_law()
    radii = law.radii(5000, 784, Stream(0))
    assert stats.kstest(radii, stats.chi(784).cdf).pvalue > ALPHA


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_prefix(kernel):
    law = kernel.spectral_law()
    small = law.frequencies(5, 3, Stream(0))
    assert_array_equal(law.frequencies(10, 3, Stream(0))[:5], small)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_ppf_gives_finite_frequencies_at_the_ends(kernel):
    law = kernel.spectral_law()
    ends = np.array([2.0**-53, 1 - 2.0**-53])
    U = np.array(np.meshgrid(*[ends] * law.n_uniforms(2))).reshape(
        law.n_uniforms(2), -1
    )
    assert np.isfinite(law.ppf(U.T, 2)).all()


def test_laplacian_has_no_radii():
    assert not hasattr(kernels.Laplacian(1.0).spectral_law(), "radii")


def test_ball_quantiles_invert_the_distribution():
    p = np.array([1e-9, 0.01, 0.3, 0.7, 0.999, 1 - 1e-9])
    assert_allclose(laws._ball_cdf(laws._ball_ppf(p)), p, rtol=1e-9)


def test_spherical_refuses_four_dimensions():
    with pytest.raises(ValueError, match=r"at most 3 features, got 4; use kernels"):
        kernels.Spherical(1.0).spectral_law().frequencies(2, 4, Stream(0))
