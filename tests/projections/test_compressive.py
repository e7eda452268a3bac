"""Compressive random features: both stages, together and separately."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import beta, norm

from bochner import RandomFeatures, kernels, methods, metrics, projections
from bochner._core.random import Stream
from bochner.projections.block_map import BlockMap, rows_as_matrix
from checks import ALPHA, data

SECOND = ["dense", "orthogonal", "sorf", "fastfood", "qmc", "circulant"]
GAUSSIAN = kernels.Gaussian(0.3)


@pytest.mark.parametrize("ensemble", ["gaussian", "sign"])
@pytest.mark.parametrize("second", [*SECOND, "auto", "block_diagonal"])
def test_separate_stages_equal_the_map(second, ensemble):
    X = data(50, 12)
    features = methods.compressive(
        64, n_measurements=5, projection=second, ensemble=ensemble, random_state=0
    ).fit(X)
    P, of_measurements = features.feature_map_.split()
    matrix = P.to_dense()
    assert P.shape == matrix.shape == (5, 12)
    # P is √(d/p) times orthonormal rows.
    assert_allclose(matrix @ matrix.T, 12 / 5 * np.eye(5), atol=1e-12)
    assert_allclose(of_measurements(X @ matrix.T), features.transform(X), atol=1e-12)
    from_csr = of_measurements(P.apply(sparse.csr_matrix(X)))
    assert_allclose(from_csr, features.transform(X), atol=1e-12)
    from_lists = of_measurements(P.apply(X.tolist()).tolist())
    assert_allclose(from_lists, features.transform(X), atol=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "cauchy", "matern"])
@pytest.mark.parametrize("second", ["dense", "sorf"])
def test_second_stage_estimates_the_kernel_of_measurements(second, kernel):
    """Features of P x estimate k(‖P x − P y‖) in R^p, with the same kernel k."""
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
    # Var cos ωᵀδ ≤ 1/2 for each of 4096 frequencies.
    bound = norm.isf(ALPHA / pairs / 2) * (0.5 / 4096) ** 0.5
    assert abs(error).max() < bound


def test_distribution_of_measured_lengths():
    """‖P u‖²/‖u‖² = (d/p)·Beta(p/2, (d−p)/2): mean 1, deviation √(2/p (1 − p/d))."""
    d, p, draws = 60, 15, 400
    u = np.linspace(-1, 2, d)
    spec = projections.Orthoprojector()
    maps = [spec.sample_isometry(p, d, Stream(seed)) for seed in range(draws)]
    ratios = np.array([(P.apply(u[None]) ** 2).sum() for P in maps]) / (u @ u)
    variance = 2 / p * (1 - p / d) * d / (d + 2)
    assert abs(ratios.mean() - 1) < norm.isf(ALPHA / 2) * (variance / draws) ** 0.5
    # Var s² = σ⁴(2 + κ)/n, where κ is the excess kurtosis of the Beta distribution.
    kurtosis = float(beta.stats(p / 2, (d - p) / 2, moments="k"))
    spread = ((2 + kurtosis) / draws) ** 0.5
    assert abs(ratios.var(ddof=1) / variance - 1) < norm.isf(ALPHA / 2) * spread


def test_all_measurements_preserve_the_kernel():
    X = data(60, 10)
    features = methods.compressive(64, gamma=0.3, n_measurements=10, random_state=0)
    P, _ = features.fit(X).feature_map_.split()
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


def test_inputs_are_scaled_before_they_are_measured():
    """P = Q diag(√γ), Q orthonormal: for p = d the kernel is that of P x at γ = 1."""
    X, gamma = data(40, 6), np.linspace(0.1, 1, 6)
    features = methods.compressive(64, gamma=gamma, n_measurements=6, random_state=0)
    P, second = features.fit(X).feature_map_.split()
    assert_allclose(kernels.Gaussian(1.0)(P.apply(X)), features.kernel_(X), atol=1e-12)
    assert_allclose(second(P.apply(X)), features.transform(X), atol=1e-12)


def test_second_stage_is_resolved_on_measurements():
    """A bias correction of the second stage is computed on measurements."""
    second = projections.BlockDiagonal(2, bias_correction="scalar")
    features = RandomFeatures(
        64, gamma=0.2, projection=projections.Compressive(6, second), random_state=0
    ).fit(data(80, 12))
    assert 0 < features.projection_.amplitude < 1
    assert_allclose(
        features.feature_map_.weights_, features.projection_.amplitude**2, rtol=1e-12
    )


INVALID = [
    ({"n_measurements": 13}, ValueError, "at most the 12 features, got 13"),
    ({"n_measurements": 0}, ValueError, "n_measurements must be a positive integer"),
    (
        {"n_measurements": "few"},
        ValueError,
        "integer, got 'few'.*Or use 'auto'",
    ),
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


@pytest.mark.parametrize(
    "parameters, error, message", INVALID, ids=lambda b: str(b)[:40]
)
def test_invalid_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        methods.compressive(16, **parameters).fit(data(20, 12))


def test_row_indices_out_of_range():
    with pytest.raises(IndexError, match=r"kept rows must be from 0 to 2; got .* -1"):
        projections.Rows(projections.Scale(np.ones(3)), np.array([-1, 1]))


def test_one_stage_cannot_be_split():
    features = methods.rff(16).fit(data(20, 3))
    with pytest.raises(TypeError, match="no stage of measurements; compressive"):
        features.feature_map_.split()


@pytest.mark.parametrize("kept", [1, 5, 300])
@pytest.mark.parametrize("projection", ["sorf", "fastfood", "circulant"])
def test_selected_rows_of_structured_maps(projection, kept):
    """Many rows are selected by complete blocks, few rows as a dense matrix."""
    spec = projections.PROJECTIONS[projection]()
    linear = spec.sample(GAUSSIAN.spectral_law(), 900, 200, Stream(0))
    assert isinstance(linear, BlockMap)
    indices = Stream(1).permutation(900)[:kept]
    matrix = rows_as_matrix(linear, indices).to_dense()
    assert_allclose(matrix, linear.to_dense()[indices], atol=1e-12)
    selected = linear.select(indices)
    assert_allclose(selected.to_dense(), linear.to_dense()[indices], atol=1e-12)
    reverse = selected.select(np.arange(kept)[::-1])
    assert_allclose(reverse.to_dense(), linear.to_dense()[indices[::-1]], atol=1e-12)


def test_many_selected_rows_stay_structured_and_few_become_a_matrix():
    linear = projections.SORF().sample(GAUSSIAN.spectral_law(), 4000, 900, Stream(0))
    assert isinstance(linear.select(np.arange(0, 4000, 2)), projections.Rows)
    assert isinstance(linear.select(np.arange(0, 4000, 80)), projections.Matrix)
    # Blocks without a selected row are dropped.
    one_block = linear.select(np.arange(1024, 2048))
    assert one_block.linear.shape == (1024, 900)
