"""The contract suite for every linear map, with sizes chosen by Hypothesis."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

import reference
from bochner import kernels, projections
from bochner._core.random import Stream
from bochner.projections._product import csr_times_dense
from bochner.projections.algebra import (
    Compose,
    Matrix,
    Pad,
    Permute,
    Rows,
    Scale,
    Stack,
)
from bochner.projections.base import Projection
from bochner.projections.hadamard import Hadamard
from checks import check_linear_map

GAUSSIAN = kernels.Gaussian(0.5).spectral_law()

PROJECTIONS = [
    projections.Dense(),
    projections.Orthogonal(),
    projections.SORF(),
    projections.Fastfood(),
    projections.QMC("halton"),
    projections.QMC("sobol"),
    projections.BlockDiagonal(),
    projections.BlockDiagonal("paper"),
    projections.BlockDiagonal(1),
    projections.Circulant(),
    projections.Compressive(),
    projections.Compressive(1, "sorf", "sign"),
    projections.PROJECTIONS["auto"](),
]
"""Every projection that samples from a law: a line here runs the contract suite."""

ALGEBRA = [
    Matrix(np.arange(6.0).reshape(2, 3)),
    Scale(np.array([1.0, -2.0, 0.5])),
    Compose(Matrix(np.arange(6.0).reshape(3, 2)), Scale(np.array([1.0, -2.0, 0.5]))),
    Stack((Matrix(np.arange(6.0).reshape(3, 2)), Scale(np.array([1.0, -2.0, 0.5])))),
    Pad((5, 3)),
    Pad((2, 3)),
    Permute(np.array([2, 0, 1])),
    Hadamard(8),
    Rows(Hadamard(8), np.array([7, 0, 3, 0])),
    projections.Sparse().sample_isometry(11, 40, Stream(0)),
    projections.Orthoprojector().sample_isometry(11, 40, Stream(0)),
]


@pytest.mark.parametrize("projection", PROJECTIONS, ids=repr)
@settings(max_examples=20, deadline=None)
@given(n_out=st.integers(1, 40), n_in=st.integers(1, 40))
def test_contract_of_projections(projection, n_out, n_in):
    linear = projection.sample(GAUSSIAN, n_out, n_in, Stream(0))
    assert linear.shape == (n_out, n_in)
    check_linear_map(linear)


@pytest.mark.parametrize("linear", ALGEBRA, ids=lambda a: type(a).__name__)
def test_contract_of_algebra(linear):
    check_linear_map(linear)


def test_dense_rows_are_frequencies_of_the_law():
    linear = projections.Dense().sample(GAUSSIAN, 7, 3, Stream(5))
    assert_allclose(linear.to_dense(), GAUSSIAN.frequencies(7, 3, Stream(5)))


def test_dense_draws_in_pieces(monkeypatch):
    at_once = projections.Dense().sample(GAUSSIAN, 50, 3, Stream(5)).to_dense()
    monkeypatch.setattr(projections.dense, "DRAW_ENTRIES", 10)
    pieces = projections.Dense().sample(GAUSSIAN, 50, 3, Stream(5)).to_dense()
    assert_allclose(pieces, at_once, rtol=0)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_product(index):
    A = sparse.random(30, 20, density=0.2, format="csr", random_state=0)
    B = np.random.default_rng(0).normal(size=(20, 11))
    out = np.full((30, 11), np.nan)
    parts = (A.data, A.indices.astype(index), A.indptr.astype(index))
    csr_times_dense(*parts, B, out)
    assert_allclose(out, reference.csr_times_dense(A, B))


class NeedsRadii(Projection):
    needs = ("radii",)


def test_missing_capability_suggests_a_projection():
    law = kernels.Laplacian(1.0).spectral_law()
    with pytest.raises(ValueError, match=r"NeedsRadii needs radii .* use .*='dense'"):
        NeedsRadii().sample(law, 2, 2, Stream(0))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2.5, 3)])
def test_invalid_shapes(shape):
    with pytest.raises(ValueError, match="must be a positive integer"):
        projections.Dense().sample(GAUSSIAN, *shape, Stream(0))
