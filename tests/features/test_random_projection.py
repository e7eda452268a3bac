"""RandomProjection: expected lengths, every projection, errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats

from bochner import RandomProjection, projections
from bochner._core.random import Stream
from checks import ALPHA, data

CASES = [
    *[(name, 12, 30) for name in projections.PROJECTIONS],
    (projections.BlockDiagonal(7), 12, 30),  # uneven blocks, incomplete last pass
    ("block_diagonal", 12, 31),  # uneven blocks, complete
    ("block_diagonal", 70, 30),  # several passes
    (projections.Orthoprojector("sign"), 12, 30),
    (projections.Sparse(0.5), 12, 30),
]


@pytest.mark.parametrize("projection, n_out, d", CASES)
def test_lengths_are_kept_on_average(projection, n_out, d, global_seed):
    """Mean of ‖V u‖²/‖u‖² over seeds is 1 within its standard error, at ALPHA."""
    u = data(1, d)[0] + 0.1
    part = RandomProjection(n_out, projection=projection)._part(
        "projection", projections.PROJECTIONS, projections.Projection
    )
    rng = Stream(global_seed)
    seeds = 300
    ratios = np.array(
        [
            (part.sample_isometry(n_out, d, rng.child(s)).apply(u[None]) ** 2).sum()
            for s in range(seeds)
        ]
    ) / (u @ u)
    z = (ratios.mean() - 1) / (ratios.std(ddof=1) / np.sqrt(seeds))
    assert abs(z) < stats.t.isf(ALPHA / 2, seeds - 1)


@pytest.mark.parametrize("n_out", [5, 12])
def test_block_diagonal_variance_is_that_of_the_corrected_theorem(n_out, global_seed):
    """Var‖v‖² = (2/k)(μ² + σ²) over one pass (PAPERS: Theorem 4.7, corrected)."""
    d, seeds = 60, 4000
    u = np.random.default_rng(global_seed).normal(size=d) ** 3
    square = u**2
    b = d // n_out
    mu = square.sum()
    sigma2 = d**2 / b * (1 - b / d) * square.var(ddof=1)
    derived = 2 / n_out * (mu**2 + sigma2)
    rng = Stream(global_seed)
    part = projections.BlockDiagonal()
    lengths = [
        (part.sample_isometry(n_out, d, rng.child(s)).apply(u[None]) ** 2).sum()
        for s in range(seeds)
    ]
    deviations = (np.array(lengths) - mu) ** 2
    z = (deviations.mean() - derived) / (deviations.std() / np.sqrt(seeds))
    assert abs(z) < stats.norm.isf(ALPHA / 2)


@pytest.mark.parametrize("name", list(projections.PROJECTIONS))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_equals_the_matrix_product(name, dtype):
    X = data(40, 30, dtype)
    projection = RandomProjection(12, projection=name, random_state=0).fit(X)
    V = projection.linear_map_.to_dense()
    out = projection.transform(X)
    assert out.dtype == dtype and out.shape == (40, 12)
    assert_allclose(out, X @ V.T, atol=1e-5)
    assert_allclose(projection.transform(sparse.csr_matrix(X)), out, atol=1e-5)
    assert projection.get_feature_names_out()[0] == "randomprojection0"


def test_wide_rows_on_several_threads():
    X = data(64, 20_000, np.float32)
    projection = RandomProjection(500, random_state=0).fit(X)
    V = projection.linear_map_.to_dense()
    assert_allclose(projection.transform(X), X @ V.T, atol=1e-3)


BAD = [
    ({"n_components": 0}, ValueError, "n_components must be a positive integer, got 0"),
    ({"projection": "x"}, ValueError, "projection must be one of"),
    (
        {"projection": "orthoprojector", "n_components": 31},
        ValueError,
        "31 orthonormal rows do not fit 30 features; ask for at most 30",
    ),
    ({"projection": projections.Orthoprojector("x")}, ValueError, "'gaussian', 'sign'"),
    ({"projection": projections.Sparse(2.0)}, ValueError, "at most 1; got 2.0"),
    ({"projection": projections.Sparse(0)}, ValueError, "or 'auto'; got 0"),
]


@pytest.mark.parametrize("parameters, error, message", BAD, ids=str)
def test_invalid_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        RandomProjection(**{"n_components": 5, **parameters}).fit(data(10, 30))
