"""Planning formulas against enumeration and simulation."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

import reference
from bochner import kernels, methods, projections, theory
from bochner._core.random import Stream
from bochner.kernels.laws import Normal
from checks import ALPHA


@pytest.mark.parametrize("b", [1, 2, 4, 7])
def test_block_mean_equals_the_enumeration(b):
    delta = np.random.default_rng(0).normal(size=7)
    moments = theory.block_diagonal_moments(delta, b, gamma=0.3)
    assert moments.mean == pytest.approx(reference.block_mean(delta, b, 0.3))
    assert moments.kernel == pytest.approx(np.exp(-0.3 * (delta**2).sum()))
    assert moments.mean >= moments.kernel - 1e-15  # by Jensen's inequality


def test_one_block_of_all_features_gives_the_kernel():
    moments = theory.block_diagonal_moments([0.5, 1.0, 2.0], 3, gamma=0.3)
    assert moments.mean == pytest.approx(moments.kernel)
    assert moments.distance_variance == 0
    # Without bias the variance is that of independent frequencies, (1 − k²)²/2.
    assert moments.variance == pytest.approx((1 - moments.kernel**2) ** 2 / 2)


def simulate(delta, b, gamma, seeds, rows):
    """Cosines of the phases of δ under independent maps of some rows, (seeds, rows)."""
    law = Normal(np.sqrt(2 * gamma))
    part = projections.BlockDiagonal(b)
    return np.cos(
        [
            part.sample(law, rows, len(delta), Stream(s)).apply(delta[None])[0]
            for s in range(seeds)
        ]
    )


def test_moments_against_simulation(global_seed):
    """Simulation confirms the corrected Theorem 4.1 and rejects the printed sign."""
    d, b, gamma, seeds = 24, 3, 0.15, 6000
    delta = np.random.default_rng(global_seed).normal(size=d) ** 3 / 2
    moments = theory.block_diagonal_moments(delta, b, gamma=gamma)
    rows = d // b
    cosines = simulate(delta, b, gamma, seeds, rows)
    bound = norm.isf(ALPHA / 2)
    error = cosines.mean(axis=1).std() / np.sqrt(seeds)
    assert abs(cosines.mean() - moments.mean) < bound * error

    first = cosines[:, 0]  # one row per map: independent blocks
    deviations = (first - moments.mean) ** 2
    error = deviations.std() / np.sqrt(seeds)
    assert abs(deviations.mean() - moments.variance) < bound * error
    # The paper prints ½ − ½E[k(2δ)] − E[k]².
    doubled = 2 * (moments.variance - 0.5 + moments.mean**2)
    printed = 0.5 - 0.5 * doubled - moments.mean**2
    assert abs(deviations.mean() - printed) > bound * error

    in_pass = rows * cosines.mean(axis=1).var()
    # The formula is approximate: given their sizes, blocks of a pass are dependent.
    assert 0.95 * moments.variance_in_pass < in_pass < 0.95 * moments.variance


def test_distance_variance_against_simulation():
    delta = np.random.default_rng(0).normal(size=20)
    moments = theory.block_diagonal_moments(delta, 4, gamma=1.0)
    rng = np.random.default_rng(1)
    distances = [5 * (rng.permutation(delta)[:4] ** 2).sum() for _ in range(40_000)]
    assert np.mean(distances) == pytest.approx(moments.distance_mean, rel=0.02)
    assert np.var(distances) == pytest.approx(moments.distance_variance, rel=0.05)


@pytest.mark.parametrize("n, eps, eta", [(2, 0.5, 0.1), (100, 0.2, 0.01)])
def test_johnson_lindenstrauss_holds(n, eps, eta):
    """The exact χ²_k tail over all pairs is below η; for k/4 components it is not."""
    k = theory.johnson_lindenstrauss(n, eps=eps, eta=eta)
    pairs = n * (n - 1) / 2

    def failure(k):
        return pairs * (chi2.sf(k * (1 + eps), k) + chi2.cdf(k * (1 - eps), k))

    assert failure(k) < eta
    assert failure(k // 4) > eta


INVALID = [
    (lambda: theory.johnson_lindenstrauss(1, eps=0.1, eta=0.1), "n must be at least 2"),
    (lambda: theory.johnson_lindenstrauss(9, eps=1.0, eta=0.1), "eps must lie between"),
    (lambda: theory.johnson_lindenstrauss(9, eps=0.1, eta=0), "eta must be a positive"),
    (lambda: theory.block_diagonal_moments([[1.0]], 1, gamma=1.0), "one finite vector"),
    (lambda: theory.block_diagonal_moments([1.0], 2, gamma=1.0), "delta, 1; got 2"),
    (lambda: theory.block_diagonal_moments([1.0], 1, gamma=-1), "gamma must be a pos"),
]


@pytest.mark.parametrize("call, message", INVALID)
def test_invalid_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_features_for_sparse_equals_the_formula():
    count = theory.features_for_sparse(
        3, 50, eps=0.2, delta=0.05, sigma=2.0, diameter=4.0
    )
    z = 6
    cover = np.log(4 * np.e * 50 * 2.0 * 4.0 / (z * 0.2))
    expected = 4 * (z + 2) / 0.2**2 * (2 * z / (z + 2) * cover + np.log(3 / 0.05))
    assert count == np.ceil(expected)
    by_kernel = theory.features_for_sparse(
        3, 50, eps=0.2, delta=0.05, sigma=kernels.Gaussian(0.04), diameter=4.0
    )
    assert by_kernel == count  # σ_p² = 2γd = 4
    dense = {"eps": 0.2, "delta": 0.05, "sigma": 2.0, "diameter": 4.0}
    assert theory.features_for_sparse(50, 50, **dense) == theory.features_for_sparse(
        25, 50, **dense
    )


def test_features_for_sparse_are_sufficient():
    """The largest error on 1-sparse points is below ε."""
    d, gamma, eps = 8, 0.5, 0.3
    kernel = kernels.Gaussian(gamma)
    m = theory.features_for_sparse(
        1, d, eps=eps, delta=1e-6, sigma=kernel, diameter=2**0.5 * 2
    )
    steps = np.linspace(-1, 1, 21)[:, None, None] * np.eye(d)
    X = steps.reshape(-1, d)
    features = methods.rff(2 * m, kernel=kernel, random_state=0).fit(X)
    assert abs(features.approximate_kernel(X) - kernel(X)).max() < eps


def test_measurements_for_rip_equal_the_formula_and_suffice():
    k, d, delta = 1, 2000, 0.9
    p = theory.measurements_for_rip(k, d, delta=delta, eta=1e-6)
    total = np.log(2e6) + np.log(12 / delta) + np.log(np.e * d)
    assert p == np.ceil(total / (delta**2 / 16 - delta**3 / 48)) < d
    # The images of 1-sparse unit vectors are the columns of P.
    P = projections.Orthoprojector().sample_isometry(p, d, Stream(0)).to_dense()
    assert abs(np.linalg.norm(P, axis=0) - 1).max() < delta
    assert theory.measurements_for_rip(5, 30, delta=0.1, eta=0.1) == 30


def test_compressive_failure_equals_the_formula():
    k, d, p, M, eps, sigma, L = 1, 4000, 3000, 10**6, 0.7, 1.0, 0.4
    bound = theory.compressive_failure(
        k,
        d,
        n_measurements=p,
        n_frequencies=M,
        eps=eps,
        sigma=sigma,
        radius=0.5,
        lipschitz=L,
    )
    D = 1.0
    first = 2**10 * d / p * (sigma * D / eps) ** 2
    first *= np.exp(-M * eps**2 / (16 * (p + 2)))
    second = 2 * (24 * D * L / eps) ** 2 * (np.e * d / 2) ** 2
    second *= np.exp(-(eps**2 / (64 * D**2 * L**2) - eps**3 / (384 * D**3 * L**3)) * p)
    assert bound == pytest.approx(min(1, first + second), rel=1e-9)
    assert 0 < bound < 1


def test_compressive_failure_at_its_limits():
    common = {"eps": 0.2, "sigma": 1.0, "radius": 5.0, "lipschitz": 0.1}
    few = theory.compressive_failure(
        2, 100, n_measurements=50, n_frequencies=10, **common
    )
    assert few == 1
    # With all measurements P is an isometry, so only the features can fail.
    certain = theory.compressive_failure(
        2, 100, n_measurements=100, n_frequencies=10**8, **common
    )
    assert certain == pytest.approx(0, abs=1e-300)


def test_spectral_second_moments():
    """E‖ω‖² by simulation: 1e5 draws, within five standard errors of the mean."""
    for kernel in (
        kernels.Gaussian(0.3),
        kernels.Cauchy(0.3),
        kernels.Matern(nu=4.0, length_scale=0.7),
        kernels.RationalQuadratic(alpha=2.0, length_scale=0.7),
    ):
        law = kernel.spectral_law()
        squares = (law.frequencies(100_000, 3, Stream(0)) ** 2).sum(axis=1)
        error = squares.std() / 100_000**0.5
        assert abs(squares.mean() - law.second_moment(3)) < 5 * error


SPARSE = {"eps": 0.1, "delta": 0.1, "sigma": 1.0, "diameter": 1.0}


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"eps": 0}, "eps must be a positive number"),
        ({"eps": 1.5}, "eps must lie between 0 and 1"),
        ({"delta": 1}, "delta must lie between 0 and 1"),
        ({"k": 9}, "k must be at most d=5; got 9"),
        ({"sigma": np.inf}, "must have a second moment"),
        ({"sigma": kernels.Laplacian(1.0)}, "must have a second moment"),
        ({"sigma": kernels.Matern(nu=0.5, length_scale=1.0)}, "Laplacian, spherical"),
        ({"sigma": kernels.Gaussian([1.0, 2.0])}, "one number as bandwidth"),
        ({"sigma": kernels.Gaussian()}, "not a rule or an array"),
    ],
)
def test_invalid_parameters_of_features_for_sparse(changed, message):
    with pytest.raises(ValueError, match=message):
        theory.features_for_sparse(**({"k": 2, "d": 5} | SPARSE | changed))


def test_invalid_parameters_of_compressive_failure():
    common = {"n_frequencies": 10, "sigma": 1.0, "radius": 1.0, "lipschitz": 0.1}
    with pytest.raises(ValueError, match=r"eps must be below 2DL = 0.4.*got 0.5"):
        theory.compressive_failure(1, 9, n_measurements=3, eps=0.5, **common)
    with pytest.raises(ValueError, match="n_measurements must be at most d=9; got 10"):
        theory.compressive_failure(1, 9, n_measurements=10, eps=0.1, **common)
