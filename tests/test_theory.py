"""Planning formulas against enumeration and simulation."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

import reference
from bochner import projections, theory
from bochner._random import Stream
from bochner.laws import Normal
from checks import ALPHA


@pytest.mark.parametrize("b", [1, 2, 4, 7])
def test_block_mean_is_the_enumeration(b):
    delta = np.random.default_rng(0).normal(size=7)
    moments = theory.block_diagonal_moments(delta, b, gamma=0.3)
    assert moments.mean == pytest.approx(reference.block_mean(delta, b, 0.3))
    assert moments.kernel == pytest.approx(np.exp(-0.3 * (delta**2).sum()))
    assert moments.mean >= moments.kernel - 1e-15  # Jensen


def test_block_of_everything_is_the_kernel():
    moments = theory.block_diagonal_moments([0.5, 1.0, 2.0], 3, gamma=0.3)
    assert moments.mean == pytest.approx(moments.kernel)
    assert moments.distance_variance == 0
    # no bias: the variance of independent frequencies, (1 − k²)²/2
    assert moments.variance == pytest.approx((1 - moments.kernel**2) ** 2 / 2)


def simulate(delta, b, gamma, seeds, rows):
    """cos of the phases of δ under `rows` rows of independent maps, (seeds, rows)."""
    law = Normal(np.sqrt(2 * gamma))
    part = projections.BlockDiagonal(b)
    return np.cos(
        [
            part.sample(law, rows, len(delta), Stream(s)).apply(delta[None])[0]
            for s in range(seeds)
        ]
    )


def test_moments_against_simulation(global_seed):
    """Mean and variances of the corrected Theorem 4.1; the printed sign fails."""
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
    # as printed: ½ − ½E[k(2δ)] − E[k]²
    doubled = 2 * (moments.variance - 0.5 + moments.mean**2)
    printed = 0.5 - 0.5 * doubled - moments.mean**2
    assert abs(deviations.mean() - printed) > bound * error

    in_pass = rows * cosines.mean(axis=1).var()
    # the blocks of a pass are not quite independent given their sizes: "about"
    assert 0.95 * moments.variance_in_pass < in_pass < 0.95 * moments.variance


def test_distance_variance_against_simulation():
    delta = np.random.default_rng(0).normal(size=20)
    moments = theory.block_diagonal_moments(delta, 4, gamma=1.0)
    rng = np.random.default_rng(1)
    seen = [5 * (rng.permutation(delta)[:4] ** 2).sum() for _ in range(40_000)]
    assert np.mean(seen) == pytest.approx(moments.distance_mean, rel=0.02)
    assert np.var(seen) == pytest.approx(moments.distance_variance, rel=0.05)


@pytest.mark.parametrize("n, eps, eta", [(2, 0.5, 0.1), (100, 0.2, 0.01)])
def test_johnson_lindenstrauss_holds(n, eps, eta):
    """The exact tail of χ²_k, over all pairs, stays below η; far fewer would not do."""
    k = theory.johnson_lindenstrauss(n, eps=eps, eta=eta)
    pairs = n * (n - 1) / 2

    def failure(k):
        return pairs * (chi2.sf(k * (1 + eps), k) + chi2.cdf(k * (1 - eps), k))

    assert failure(k) < eta
    assert failure(k // 4) > eta


BAD = [
    (lambda: theory.johnson_lindenstrauss(1, eps=0.1, eta=0.1), "n must be at least 2"),
    (lambda: theory.johnson_lindenstrauss(9, eps=1.0, eta=0.1), "eps must lie between"),
    (lambda: theory.johnson_lindenstrauss(9, eps=0.1, eta=0), "eta must be a positive"),
    (lambda: theory.block_diagonal_moments([[1.0]], 1, gamma=1.0), "one finite vector"),
    (lambda: theory.block_diagonal_moments([1.0], 2, gamma=1.0), "at most 1; got 2"),
    (lambda: theory.block_diagonal_moments([1.0], 1, gamma=-1), "gamma must be a pos"),
]


@pytest.mark.parametrize("call, message", BAD)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
