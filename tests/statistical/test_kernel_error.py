"""Kernel error against what theory derives for it."""

import numpy as np
import pytest
from scipy.stats import norm, t

from bochner import kernels, methods, metrics
from checks import ALPHA, check_unbiased, iid_variance

KERNELS = [
    kernels.Gaussian(0.4),
    kernels.Gaussian([0.1, 0.5, 1.0]),
    kernels.Laplacian(0.4),
    kernels.Cauchy(0.4),
    kernels.Matern(0.5, 1.3),
    kernels.Matern(1.5, 1.3),
    kernels.Matern(2.5, 1.3),
    kernels.Matern(3.7, 1.3),
    kernels.RationalQuadratic(0.6, 1.3),
    kernels.Spherical(2.5),
]


def cos(*args, **parts):
    return methods.rff(*args, nonlinearity="cos", **parts)


@pytest.mark.parametrize("make", [methods.rff, cos])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_unbiased(make, kernel, global_seed):
    check_unbiased(make, kernel, d=3, seed=global_seed)


def test_a_wrong_bandwidth_is_found():
    """Power: frequencies off by a tenth fail the bound above."""

    class Off(kernels.Gaussian):
        def spectral_law(self):
            return self._law(1.1 * self._scale())

    with pytest.raises(AssertionError):
        check_unbiased(methods.rff, Off(0.4), d=3, n_components=40_000)


@pytest.mark.parametrize("make", [methods.rff, cos])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_error_is_the_derived_one(make, kernel, global_seed):
    """E‖FFᵀ − K‖² is the sum of the entries' variances.

    Over 16 seeds the mean square lies within a normal bound whose standard error is
    estimated from the same seeds (t quantile, 15 degrees, at ALPHA).
    """
    X = np.random.default_rng(global_seed).normal(size=(80, 3))
    squares, seeds = [], 16
    for seed in range(seeds):
        features = make(512, kernel=kernel, random_state=1000 * global_seed + seed)
        features.fit(X)
        squares.append(metrics.kernel_error(features, X) ** 2)
    K = features.kernel_(X)
    doubled = features.kernel_(2 * X)
    variance = iid_variance(K, doubled, features)
    if make is cos:
        diagonal = np.arange(len(K))
        # x = y: √(2/M)² Σ cos² has variance ½ per feature, whatever the kernel
        variance[diagonal, diagonal] = 0.5 / 512
    else:
        np.fill_diagonal(variance, 0)
    derived = variance.sum() / (K**2).sum()
    z = (np.mean(squares) - derived) / (np.std(squares, ddof=1) / np.sqrt(seeds))
    assert abs(z) < t.isf(ALPHA / 2, seeds - 1)
    assert np.mean(squares) == pytest.approx(derived, rel=0.5)


def test_error_falls_as_one_over_root_m(global_seed):
    """Slope −½ of log error over M = 64 … 16384, RMS over 8 seeds.

    An RMS of 8 has a relative standard deviation of about 1/√16 where the error is
    one number (pairs move together), so the slope over ln 256 has one of about 0.03.
    """
    X = np.random.default_rng(global_seed).normal(size=(150, 6))
    sizes = [64, 256, 1024, 4096, 16384]
    logs = []
    for size in sizes:
        seeds = range(100 * global_seed, 100 * global_seed + 8)
        maps = [methods.rff(size, gamma=0.1, random_state=s).fit(X) for s in seeds]
        errors = [metrics.kernel_error(features, X) for features in maps]
        logs.append(0.5 * np.log(np.mean(np.square(errors))))
    slope = np.polyfit(np.log(sizes), logs, 1)[0]
    assert abs(slope + 0.5) < norm.isf(ALPHA / 2) * 0.03
