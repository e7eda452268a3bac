"""Spectral laws against the kernels that are their characteristic functions."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from bochner import kernels
from bochner._core.random import Stream
from bochner.kernels import laws
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
    """The mean of cos ωᵀδ lies within its standard error, at probability ALPHA."""
    m, pairs = 40_000, 40
    W = kernel.spectral_law().frequencies(m, d, Stream(global_seed))
    delta = np.random.default_rng(global_seed).normal(size=(pairs, d))
    origin = np.zeros((1, d))
    k, doubled = kernel(origin, delta)[0], kernel(origin, 2 * delta)[0]
    variance = (0.5 * (1 + doubled) - k**2) / m
    z = (np.cos(W @ delta.T).mean(axis=0) - k) / np.sqrt(variance)
    assert np.abs(z).max() < stats.norm.isf(ALPHA / (2 * pairs))


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_wrong_bandwidth_is_detected(factor):
    """The bound of the test above rejects a bandwidth that is wrong by 10 %."""
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
def test_fewer_frequencies_are_a_prefix(kernel):
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


def test_spherical_rejects_four_dimensions():
    with pytest.raises(ValueError, match=r"at most 3 features, got 4; use kernels"):
        kernels.Spherical(1.0).spectral_law().frequencies(2, 4, Stream(0))


@pytest.mark.parametrize("d", [1, 4])
def test_second_moments(d):
    assert laws.Normal(0.7).second_moment(d) == pytest.approx(0.49 * d)
    assert laws.VarianceGamma(0.7, 2.0).second_moment(d) == pytest.approx(0.49 * d)
    # E τ⁻¹ of Gamma(ν) is 1/(ν − 1)
    assert laws.Student(0.7, 3.0).second_moment(d) == pytest.approx(0.49 * 1.5 * d)
    assert laws.Student(0.7, 1.0).second_moment(d) == np.inf
    assert laws.CauchyProduct(0.7).second_moment(d) == np.inf


def test_second_moment_of_draws():
    """Within six standard errors; Student's fourth moment is 3ν²/((ν−1)(ν−2))."""
    m, scale, nu = 200_000, 0.7, 8.0
    law = laws.Student(scale, nu)
    squares = law.frequencies(m, 1, Stream(0))[:, 0] ** 2
    fourth = scale**4 * 3 * nu**2 / ((nu - 1) * (nu - 2))
    deviation = np.sqrt((fourth - law.second_moment(1) ** 2) / m)
    assert abs(squares.mean() - law.second_moment(1)) < 6 * deviation


def test_laws_on_blocks_of_coordinates():
    for law in (laws.Normal(0.7), laws.Student(0.7, 2.0), laws.Ball(0.7)):
        same, stretch = law.on_block(3, 2)
        assert same is law
        assert stretch == pytest.approx(np.sqrt(1.5))
    assert laws.CauchyProduct(0.7).on_block(3, 2)[1] == pytest.approx(1.5)
    with pytest.raises(ValueError, match="at most 3 features"):
        laws.Ball(0.7).on_block(4, 2)


def test_scales_of_characteristic_functions():
    D = np.array([0.0, 0.01, 0.3, 2.0])
    for make in (laws.Normal, laws.Ball, laws.CauchyProduct):
        power = 1 if make is laws.CauchyProduct else 2
        scaled, plain = make(0.5), make(1.0)
        expected = plain.characteristic(D * 0.5**power)
        np.testing.assert_allclose(scaled.characteristic(D.copy()), expected)


def test_ball_distribution_near_zero():
    """The series against the integral: near zero the closed form cancels."""

    def density(v):
        return (mpmath.sin(v) - v * mpmath.cos(v)) ** 2 / v**4

    for u in (1e-3, 0.015, 0.0199, 0.0201, 0.05, 1.0):
        with mpmath.workdps(40):
            exact = 6 / mpmath.pi * mpmath.quad(density, [0, u])
        value = laws._ball_cdf(np.array([u]))[0]
        # The closed form has lost digits to cancellation where it replaces the series.
        assert value == pytest.approx(float(exact), rel=1e-7 if u > 0.02 else 1e-9)


@pytest.mark.parametrize("nu", [49.0, 60.0, 200.0, 3000.0])
def test_matern_of_large_order(nu):
    """Debye's expansion against mpmath: the first omitted term is below 1/ν⁴."""
    t = np.array([0.1, 1.0, 5.0, 20.0, 100.0])
    for x, value in zip(t, laws._log_bessel(t, nu), strict=True):
        with mpmath.workdps(30):
            exact = float(mpmath.log(mpmath.besselk(nu, x)))
        assert value == pytest.approx(exact, abs=1e-2 / nu**4 + 1e-13 * abs(exact))


def test_matern_beyond_the_threshold_is_gaussian():
    nu, D = 2 * laws.GAUSSIAN_NU, np.array([0.0, 0.1, 1.0, 4.0])
    gaussian = laws.Student(0.7, nu).characteristic(D.copy())
    np.testing.assert_allclose(gaussian, np.exp(-0.5 * 0.49 * D), rtol=1e-7)
    below = laws.Student(0.7, laws.GAUSSIAN_NU / 2).characteristic(D.copy())
    np.testing.assert_allclose(gaussian, below, rtol=1e-6)
