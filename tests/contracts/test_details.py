"""Details of parts that larger tests pass by: types, shapes, edges, corrections."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from bochner import RandomFeatures, nonlinearities, projections
from bochner._core.random import Stream
from bochner.kernels import laws
from bochner.nonlinearities.maxout import SampledMaxout, SampledPool
from bochner.nonlinearities.rectified import SampledReLU
from bochner.projections import PROJECTIONS
from bochner.projections import block_diagonal as block_bias
from bochner.projections.base import LinearMap

X = np.random.default_rng(0).normal(size=(60, 24))
LINEAR = ("sparse", "orthoprojector")


def sampled(name: str, n_out: int = 20, n_in: int = 24) -> LinearMap:
    rng = Stream(0)
    return (
        PROJECTIONS[name]()
        .resolve(X, laws.Normal(1.0), n_out, rng)
        .sample_isometry(n_out, n_in, rng)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PROJECTIONS)
def test_operations_keep_type_and_matrix(name, dtype):
    """Rows scaled, columns scaled and rows selected, beside the matrix written out."""
    linear = sampled(name).astype(dtype)
    W = linear.to_dense()
    rows = np.random.default_rng(1).normal(size=20)
    columns = np.random.default_rng(2).normal(size=24)
    kept = np.array([19, 3, 3, 0])
    atol = 1e-5 if dtype is np.float32 else 1e-12
    for found, exact in (
        (linear.scale_rows(rows), rows[:, None] * W),
        (linear.scale_columns(columns), W * columns),
        (linear.select(kept), W[kept]),
        (linear.select(kept).scale_rows(rows[:4]), rows[:4, None] * W[kept]),
    ):
        assert found.dtype == dtype
        assert found.shape == exact.shape
        assert found.apply(X.astype(dtype)).dtype == dtype
        assert_allclose(found.to_dense(), exact, rtol=0, atol=atol)
        assert_allclose(np.asarray(found, dtype=np.float16), exact, atol=0.05)
        Z = np.ones((2, exact.shape[0]), dtype)
        assert_allclose(found.apply_adjoint(Z), Z @ exact, rtol=0, atol=20 * atol)
    again = linear.astype(dtype)
    assert_array_equal(again.to_dense(), W)


@pytest.mark.parametrize("n_out", [5, 12, 20, 31])
@pytest.mark.parametrize("block_size", [4, 5, "paper"])
def test_isometries_of_uneven_blocks(block_size, n_out):
    """E‖V u‖² = ‖u‖²: the mean squared length of columns, over draws, is one."""
    draws, d = 400, 12
    projection = projections.BlockDiagonal(block_size)
    squares = []
    for seed in range(draws):
        V = projection.sample_isometry(n_out, d, Stream(seed)).to_dense()
        squares.append((V**2).sum() / d)
    bound = np.std(squares) / draws**0.5 * 6  # exceeded with probability 2e-9
    assert abs(np.mean(squares) - 1) < bound + 1e-12


def test_ensembles_of_measurements_differ():
    kinds = map(projections.Orthoprojector, ("gaussian", "sign"))
    P = [kind.sample_isometry(4, 12, Stream(0)).to_dense() for kind in kinds]
    assert np.abs(P[0] - P[1]).max() > 0.1
    for one in P:
        assert_allclose(one @ one.T, 3 * np.eye(4), atol=1e-12)


@pytest.mark.parametrize("law", [laws.Normal(0.6), laws.CauchyProduct(0.2)], ids=repr)
def test_frequency_scales_are_the_best_there_are(law):
    """The correction by frequencies, beside a search over a grid."""
    sizes = np.full(4, 3)
    found = block_bias.frequency_scale_for(X, law, sizes, Stream(1))
    exact, blocks = block_bias._kernel_and_block_distances(X, law, sizes, Stream(1))
    power = 2 if law.metric == "sqeuclidean" else 1
    grid = np.exp(np.linspace(0, block_bias.LARGEST_LOG_SCALE, 4001))
    errors = [
        ((law.characteristic(blocks * s**power).mean(axis=1) - exact) ** 2).sum()
        for s in grid
    ]
    assert found == pytest.approx(grid[np.argmin(errors)], rel=1e-3)
    assert found > 1.01  # blocks over-estimate the kernel


def test_corrections_of_rows_that_are_all_alike():
    same = np.ones((10, 6))
    sizes = np.full(2, 3)
    law = laws.Normal(1.0)
    assert block_bias.frequency_scale_for(same, law, sizes, Stream(0)) == 1.0
    assert block_bias.amplitude_for(same, law, sizes, Stream(0)) == 1.0


def test_differences_of_pairs():
    delta = block_bias.differences(X + 100.0, Stream(0))
    assert np.abs(delta).max() < 20
    csr = block_bias.differences(sparse.csr_matrix(X.astype(np.float32)), Stream(0))
    assert sparse.issparse(csr) and csr.dtype == np.float64


def test_units_that_are_kept():
    units = np.array([4, 1])
    kept, rows = SampledReLU(6).select(units)
    assert (kept.n_in, kept.n_out) == (2, 2)
    assert_array_equal(rows, units)
    maxout, _ = SampledMaxout(6, 3, 0.7).select(units)
    assert (maxout.n_in, maxout.pool_size, maxout.mean) == (2, 3, 0.7)
    members = np.array([[0, 2, 4], [1, 2, 5]], dtype=np.int32)
    pool, used = SampledPool(6, members, 0.7).select(np.array([1, 2]))
    assert_array_equal(used[pool.members], members[:, [1, 2]])
    assert (pool.n_in, pool.mean) == (used.size, 0.7)
    assert pool.members.dtype == np.int32


def test_signs_of_nothing_are_none():
    model = RandomFeatures(8, nonlinearity="sign", random_state=0).fit(X)
    assert_array_equal(model.transform(np.zeros((2, 24))), 0)


def test_defaults():
    assert nonlinearities.Maxout().get_params() == {
        "pool_size": 4,
        "pool": "independent",
        "center": False,
    }
    assert nonlinearities.ArgmaxCode().get_params() == {
        "pool_size": 4,
        "output": "codes",
    }


def test_onehot_indices_are_small():
    onehot = nonlinearities.ArgmaxCode(3, output="onehot")
    F = RandomFeatures(5, nonlinearity=onehot, random_state=0).fit_transform(X)
    assert F.indices.dtype == F.indptr.dtype == np.int32


@pytest.mark.parametrize("name", LINEAR)
def test_linear_projections_say_who_they_are(name):
    kind = type(PROJECTIONS[name]()).__name__
    with pytest.raises(TypeError, match=f"{kind} is a linear projection only"):
        RandomFeatures(4, projection=name).fit(X)


@pytest.mark.parametrize("name", PROJECTIONS)
def test_sizes_are_checked_by_name(name):
    projection = PROJECTIONS[name]()
    kind = type(projection).__name__
    for given, parameter in (((0, 12), "n_out"), ((4, 0), "n_in")):
        with pytest.raises(ValueError, match=f"{kind}: {parameter} must be a positive"):
            projection.sample_isometry(*given, Stream(0))


def test_entries_of_sparse_projections():
    """Each is there with the stated probability, up to the last one of the matrix."""
    n_out, n_in, density = 50, 400, 0.1
    V = projections.Sparse(density).sample_isometry(n_out, n_in, Stream(0)).to_dense()
    there = V != 0
    n = n_out * n_in
    deviation = np.sqrt(density * (1 - density) / n)
    assert abs(there.mean() - density) < 6 * deviation  # fails once in 5e8
    assert there[-1].any() and there[0].any()
    value = (density * n_out) ** -0.5
    assert_allclose(np.unique(np.abs(V[there])), value)
    signs = np.sign(V[there])
    assert abs(signs.mean()) < 6 / np.sqrt(signs.size)
