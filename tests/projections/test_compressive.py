"""Compressive random features: two stages, together and apart."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import beta, norm

from bochner import RandomFeatures, kernels, methods, metrics, projections
from bochner._core.random import Stream
from bochner.projections.algebra import BlockMap, plain_rows
from checks import ALPHA, data

SECOND = ["dense", "orthogonal", "sorf", "fastfood", "qmc", "circulant"]
GAUSSIAN = kernels.Gaussian(0.3)


@pytest.mark.parametrize("ensemble", ["gaussian", "sign"])
@pytest.mark.parametrize("second", [*SECOND, "auto", "block_diagonal"])
def test_stages_apart_are_the_map(second, ensemble):
    X = data(50, 12)
    features = methods.compressive(
        64, n_measurements=5, projection=second, ensemble=ensemble, random_state=0
    ).fit(X)
    P, of_measurements = features.feature_map_.split()
    matrix = P.to_dense()
    assert P.shape == matrix.shape == (5, 12)
    # orthonormal rows times √(d/p)
    assert_allclose(matrix @ matrix.T, 12 / 5 * np.eye(5), atol=1e-12)
    assert_allclose(of_measurements(X @ matrix.T), features.transform(X), atol=1e-12)
    from_csr = of_measurements(P.apply(sparse.csr_matrix(X)))
    assert_allclose(from_csr, features.transform(X), atol=1e-12)
    from_lists = of_measurements(P.apply(X.tolist()).tolist())
    assert_allclose(from_lists, features.transform(X), atol=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "cauchy", "matern"])
@pytest.mark.parametrize("second", ["dense", "sorf"])
def test_second_stage_has_the_kernel_of_measurements(second, kernel):
    """Features of P x estimate k(‖P x − P y‖), k the kernel itself, in R^p."""
    X = data(40, 24)
    features = methods.compressive(
        8192,
        kernel=kernel,
        gamma=0.1,
        n_measurements=20,
        projection=second,
        random_state=0,
    ).fit(X)
    measured = features.feature_map_.split()[0].apply(X)
    error = features.approximate_kernel(X) - features.kernel_(measured)
    pairs = 40 * 39 / 2
    # Var cos ωᵀδ ≤ 1/2, and 4096 frequencies
    bound = norm.isf(ALPHA / pairs / 2) * (0.5 / 4096) ** 0.5
    assert abs(error).max() < bound


def test_measured_lengths_vary_as_they_should():
    """‖P u‖²/‖u‖² = (d/p)·Beta(p/2, (d−p)/2): mean 1, deviation √(2/p (1 − p/d))."""
    d, p, draws = 60, 15, 400
    u = np.linspace(-1, 2, d)
    spec = projections.Orthoprojector()
    maps = [spec.sample_isometry(p, d, Stream(seed)) for seed in range(draws)]
    ratios = np.array([(P.apply(u[None]) ** 2).sum() for P in maps]) / (u @ u)
    variance = 2 / p * (1 - p / d) * d / (d + 2)
    assert abs(ratios.mean() - 1) < norm.isf(ALPHA / 2) * (variance / draws) ** 0.5
    # Var s² = σ⁴(2 + κ)/n, κ the excess kurtosis of the Beta
    kurtosis = float(beta.stats(p / 2, (d - p) / 2, moments="k"))
    spread = ((2 + kurtosis) / draws) ** 0.5
    assert abs(ratios.var(ddof=1) / variance - 1) < norm.isf(ALPHA / 2) * spread


def test_all_measurements_lose_nothing():
    X = data(60, 10)
    whole = methods.compressive(64, gamma=0.3, n_measurements=10, random_state=0)
    P, _ = whole.fit(X).feature_map_.split()
    assert_allclose(GAUSSIAN(P.apply(X)), GAUSSIAN(X), atol=1e-12)


def test_error_falls_with_measurements():
    X = data(300, 64)
    errors = []
    for p in (2, 8, 32, 64):
        features = [
            methods.compressive(4096, gamma=0.02, n_measurements=p, random_state=s)
            for s in range(3)
        ]
        errors.append(np.mean([metrics.kernel_error(f.fit(X), X) for f in features]))
    assert errors == sorted(errors, reverse=True)


def test_ard_is_measured_after_scaling():
    """P = Q diag(√γ), Q orthonormal: with p = d the kernel is that of P x at γ = 1."""
    X, gamma = data(40, 6), np.linspace(0.1, 1, 6)
    features = methods.compressive(64, gamma=gamma, n_measurements=6, random_state=0)
    P, second = features.fit(X).feature_map_.split()
    assert_allclose(kernels.Gaussian(1.0)(P.apply(X)), features.kernel_(X), atol=1e-12)
    assert_allclose(second(P.apply(X)), features.transform(X), atol=1e-12)


def test_bandwidth_corrected_second_stage():
    """What the second stage settles on data it settles on measurements."""
    second = projections.BlockDiagonal(2, bias_correction="scalar")
    features = RandomFeatures(
        64, gamma=0.2, projection=projections.Compressive(6, second), random_state=0
    ).fit(data(80, 12))
    assert 0 < features.projection_.amplitude < 1
    assert_allclose(
        features.feature_map_.weights_, features.projection_.amplitude**2, rtol=1e-12
    )


BAD = [
    ({"n_measurements": 13}, ValueError, "at most the 12 features, got 13"),
    ({"n_measurements": 0}, ValueError, "n_measurements must be a positive integer"),
    ({"n_measurements": "few"}, ValueError, "positive integer, got 'few'.*Or 'auto'"),
    (
        {"kernel": "laplacian"},
        ValueError,
        "projection=Compressive.* needs an isotropic kernel.*='auto' or 'dense'",
    ),
    ({"ensemble": "cauchy"}, ValueError, "ensemble must be one of 'gaussian', 'sign'"),
    ({"projection": "sparse"}, ValueError, "Compressive: projection must be one of"),
    (
        {"projection": projections.BlockDiagonal(2, normalize=True)},
        ValueError,
        "cannot divide measurements by their ranges",
    ),
]


@pytest.mark.parametrize("parameters, error, message", BAD, ids=lambda b: str(b)[:40])
def test_bad_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        methods.compressive(16, **parameters).fit(data(20, 12))


def test_rows_that_are_not_there():
    with pytest.raises(IndexError, match="kept rows must be from 0 to 2"):
        projections.Rows(projections.Scale(np.ones(3)), np.array([-1, 1]))


def test_one_stage_cannot_be_split():
    features = methods.rff(16).fit(data(20, 3))
    with pytest.raises(TypeError, match="no stage of measurements; compressive"):
        features.feature_map_.split()


@pytest.mark.parametrize("kept", [1, 5, 300])
@pytest.mark.parametrize("projection", ["sorf", "fastfood", "circulant"])
def test_rows_of_structured_maps_whichever_way(projection, kept):
    """Whole blocks for many rows of wide data, plain rows for few."""
    spec = projections.PROJECTIONS[projection]()
    linear = spec.sample(GAUSSIAN.spectral_law(), 900, 200, Stream(0))
    assert isinstance(linear, BlockMap)
    places = Stream(1).permutation(900)[:kept]
    plain = plain_rows(linear, places).to_dense()
    assert_allclose(plain, linear.to_dense()[places], atol=1e-12)
    some = linear.select(places)
    assert_allclose(some.to_dense(), linear.to_dense()[places], atol=1e-12)
    again = some.select(np.arange(kept)[::-1])
    assert_allclose(again.to_dense(), linear.to_dense()[places[::-1]], atol=1e-12)


def test_many_kept_rows_stay_structured_and_few_do_not():
    linear = projections.SORF().sample(GAUSSIAN.spectral_law(), 4000, 900, Stream(0))
    assert isinstance(linear.select(np.arange(0, 4000, 2)), projections.Rows)
    assert isinstance(linear.select(np.arange(0, 4000, 80)), projections.Matrix)
    # blocks without a kept row are gone
    one_block = linear.select(np.arange(1024, 2048))
    assert one_block.linear.shape == (1024, 900)
