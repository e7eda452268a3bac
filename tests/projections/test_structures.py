"""The defining property of each structure, and its errors."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

import bochner
import reference
from bochner import RandomFeatures, kernels, projections
from bochner._core.random import Stream
from bochner.kernels.laws import Normal
from bochner.projections.hadamard import HadamardChain, fwht, padded_length
from checks import ALPHA, data

NORMAL = Normal(1.0)


@pytest.mark.parametrize("projection", [projections.Orthogonal(), projections.SORF()])
def test_rows_of_a_block_are_orthogonal(projection):
    W = projection.sample(NORMAL, 40, 16, Stream(0)).to_dense()
    for block in (W[:16], W[16:32], W[32:]):
        N = block / np.linalg.norm(block, axis=1, keepdims=True)
        assert_allclose(N @ N.T, np.eye(len(N)), atol=1e-12)


def test_rotations_are_uniform(global_seed):
    """The first coordinate of a row is that of a uniform point on the sphere (Haar)."""
    d, seeds = 5, 400
    rng = Stream(global_seed)
    maps = [
        projections.Orthogonal().sample(NORMAL, 1, d, rng.child(s))
        for s in range(seeds)
    ]
    W = np.vstack([linear.to_dense() for linear in maps])
    x = W[:, 0] / np.linalg.norm(W, axis=1)
    # For a uniform direction in R^d, x² is Beta(1/2, (d − 1)/2) and the sign is fair.
    assert stats.kstest(x**2, stats.beta(0.5, (d - 1) / 2).cdf).pvalue > ALPHA
    assert stats.binomtest(int((x > 0).sum()), seeds).pvalue > ALPHA


@pytest.mark.parametrize("projection", [projections.SORF(), projections.Fastfood()])
@pytest.mark.parametrize("kernel", [kernels.Gaussian(0.5), kernels.Matern(1.5, 1.0)])
def test_hadamard_rows_have_lengths_drawn_from_the_law(projection, kernel):
    law = kernel.spectral_law()
    W = projection.sample(law, 50, 16, Stream(3)).to_dense()
    radii = law.radii(50, 16, Stream(3).child("radii"))
    assert_allclose(np.linalg.norm(W, axis=1), radii)


def test_sorf_equals_the_formula():
    linear = projections.SORF().sample(NORMAL, 40, 13, Stream(1))
    blocks = [
        reference.sorf_block(linear.factors[:, i], linear.scale[16 * i : 16 * i + 16])
        for i in range(2)
    ]
    assert_allclose(linear.to_dense()[:32], np.vstack(blocks)[:, :13], atol=1e-12)


def test_fastfood_equals_the_formula():
    linear = projections.Fastfood().sample(NORMAL, 32, 13, Stream(1))
    blocks = [
        reference.fastfood_block(
            linear.factors[0, i],
            linear.orders[1, i],
            linear.factors[1, i],
            linear.scale[16 * i : 16 * i + 16],
        )
        for i in range(2)
    ]
    assert_allclose(linear.to_dense(), np.vstack(blocks)[:, :13], atol=1e-12)


@pytest.mark.parametrize("n_in, n_out", [(3, 5), (16, 16), (33, 200), (2000, 100)])
@pytest.mark.parametrize("projection", [projections.SORF(), projections.Fastfood()])
def test_fused_chain_equals_its_algebra(projection, n_in, n_out):
    linear = projection.sample(NORMAL, n_out, n_in, Stream(0))
    assert isinstance(linear, HadamardChain)
    X = data(19, n_in)
    assert_allclose(linear.apply(X), linear.algebra().apply(X), atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=25, deadline=None)
@given(power=st.integers(0, 11), n=st.integers(0, 20))
def test_fwht_equals_the_hadamard_matrix(dtype, power, n):
    d = 1 << power
    X = np.random.default_rng(0).normal(size=(n, d)).astype(dtype)
    Y = X.copy()
    assert fwht(Y) is Y
    tolerance = d * (1e-6 if dtype == np.float32 else 1e-14)
    assert_allclose(Y, X @ reference.hadamard(d), atol=tolerance)
    assert_allclose(fwht(Y), d * X, atol=d * tolerance)  # H² = d I


def test_fwht_of_long_rows_in_threads():
    X = np.random.default_rng(0).normal(size=(9, 1 << 15))
    with bochner.threads(3):
        twice = fwht(fwht(X.copy()))
    assert_allclose(twice / (1 << 15), X, atol=1e-12)


INVALID_FWHT = [
    (np.zeros((2, 3)), ValueError, "power of two, got 3; pad with zeros"),
    (np.zeros((2, 0)), ValueError, "power of two, got 0"),
    (np.zeros(4), TypeError, "two-dimensional .* got 1 dimensions of float64"),
    (np.zeros((2, 4), int), TypeError, "float32 or float64 .* int64"),
    ([[1.0, 2.0]], TypeError, "got list"),
    (np.zeros((4, 4)).T[::2], ValueError, "C-contiguous and writeable"),
    (data(4, 4), ValueError, "C-contiguous and writeable"),
]


@pytest.mark.parametrize("X, error, message", INVALID_FWHT)
def test_invalid_input_of_fwht(X, error, message):
    with pytest.raises(error, match=message):
        fwht(X)


def test_padded_length():
    assert [padded_length(d) for d in (1, 15, 16, 17, 784, 1024)] == [
        16,
        16,
        16,
        32,
        1024,
        1024,
    ]


def test_circulant_is_shift_equivariant():
    linear = projections.Circulant().sample(NORMAL, 12, 12, Stream(0))
    W = linear.to_dense() * linear.signs  # undo the sign flips
    assert_allclose(np.roll(W, (1, 1), axis=(0, 1)), W, atol=1e-12)
    assert_allclose(W, reference.circulant(linear.vectors[0]), atol=1e-12)


def test_stacked_circulants_share_the_sign_flips():
    linear = projections.Circulant().sample(NORMAL, 20, 12, Stream(0))
    W = linear.to_dense() * linear.signs
    assert_allclose(W[12:], reference.circulant(linear.vectors[1])[:8], atol=1e-12)


def test_circulant_of_a_mixture_has_one_multiplier_per_row():
    law = kernels.Matern(1.5, 1.0).spectral_law()
    linear = projections.Circulant().sample(law, 12, 12, Stream(0))
    lengths = np.linalg.norm(linear.to_dense(), axis=1)
    assert_allclose(lengths / linear.scale, np.linalg.norm(linear.vectors[0]))
    assert len(np.unique(linear.scale)) == 12


@pytest.mark.parametrize("sequence", ["halton", "sobol"])
def test_qmc_has_low_discrepancy(sequence):
    points = projections.QMC(sequence)._points(512, 4, Stream(0))
    independent = Stream(0).uniform(512, 4)
    discrepancy = stats.qmc.discrepancy
    assert discrepancy(points) < discrepancy(independent) / 5


def test_sobol_with_too_many_features_suggests_alternatives():
    with pytest.raises(ValueError, match=r"at most 21201 .* QMC\('halton'\) or .*sorf"):
        projections.QMC("sobol").sample(NORMAL, 2, 21202, Stream(0))


def test_sparse_density_and_values():
    W = projections.Sparse(0.1).sample_isometry(50, 2000, Stream(0)).by_output
    sd = np.sqrt(100_000 * 0.1 * 0.9)
    assert abs(W.nnz - 10_000) < stats.norm.isf(ALPHA / 2) * sd
    assert_allclose(abs(W.data), (0.1 * 50) ** -0.5)
    full = projections.Sparse(1.0).sample_isometry(5, 7, Stream(0)).by_output
    assert full.nnz == 35


@pytest.mark.parametrize("ensemble", ["gaussian", "sign"])
def test_orthoprojector_rows_are_orthonormal(ensemble):
    P = (
        projections.Orthoprojector(ensemble)
        .sample_isometry(6, 24, Stream(0))
        .to_dense()
    )
    assert_allclose(P @ P.T, 24 / 6 * np.eye(6), atol=1e-12)


def test_block_diagonal_reads_each_feature_once_per_pass():
    W = projections.BlockDiagonal(4).sample(NORMAL, 13, 22, Stream(0)).to_dense() != 0
    k = round(22 / 4)
    assert_array_equal(W[:k].sum(axis=0), 1)
    assert_array_equal(W[k : 2 * k].sum(axis=0), 1)
    assert set(W.sum(axis=1)) == {22 // k, 22 // k + 1}
    assert not np.array_equal(W[:k], W[k : 2 * k])  # each pass has another shuffle


def test_block_size_of_the_paper_is_one_pass():
    W = projections.BlockDiagonal("paper").sample(NORMAL, 5, 22, Stream(0)).to_dense()
    assert_array_equal((W != 0).sum(axis=0), 1)
    many = (
        projections.BlockDiagonal("paper").sample(NORMAL, 50, 22, Stream(0)).to_dense()
    )
    assert_array_equal((many != 0).sum(axis=1), 1)


@pytest.mark.parametrize("n_out, n_in", [(40, 700), (700, 40), (9, 9000)])
def test_sparse_product_by_outputs_and_by_inputs(n_out, n_in):
    W = sparse.random(n_out, n_in, density=0.05, random_state=0)
    linear = projections.sparse.sparse_matrix(W)
    X = data(21, n_in)
    assert_allclose(linear.apply(X), X @ W.toarray().T, atol=1e-12)


def test_auto_block_size_grows_with_kurtosis():
    rng = np.random.default_rng(0)
    even = rng.choice([-1.0, 1.0], size=(200, 400))
    spiky = even * (rng.random((200, 400)) < 0.02)
    sizes = []
    for X in (even, spiky, sparse.csr_matrix(spiky)):
        features = RandomFeatures(64, gamma=0.01, projection="block_diagonal")
        sizes.append(features.set_params(random_state=0).fit(X).projection_.block_size)
    assert sizes[0] < sizes[1] == sizes[2]
    constant = RandomFeatures(64, projection="block_diagonal").fit(np.ones((5, 9)))
    assert constant.projection_.block_size == 1


@pytest.mark.parametrize("kernel", [kernels.Gaussian(0.05), kernels.Laplacian(0.02)])
def test_bias_corrections_reduce_the_error(kernel):
    X = np.random.default_rng(0).standard_t(3, size=(300, 64)) / 2
    errors = {}
    for correction in (None, "scalar", "bandwidth"):
        blocks = projections.BlockDiagonal(2, bias_correction=correction)
        features = RandomFeatures(
            8192, kernel=kernel, projection=blocks, random_state=0
        ).fit(X)
        errors[correction] = bochner.metrics.kernel_error(features, X)
    assert errors["bandwidth"] < 0.9 * errors[None]
    assert errors["scalar"] < errors[None]


def test_normalize_divides_by_the_range():
    X = data(50, 3) * np.array([1.0, 10.0, 0.0])
    blocks = projections.BlockDiagonal(3, normalize=True)
    features = RandomFeatures(16, gamma=1.0, projection=blocks, random_state=0).fit(X)
    ranges = np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1)
    # kernel_ includes the ranges: it is the kernel that the features estimate.
    assert_allclose(features.kernel_.gamma, 1 / ranges**2)
    plain = RandomFeatures(
        16, gamma=1.0, projection=projections.BlockDiagonal(3), random_state=0
    ).fit(X)
    assert_allclose(features.transform(X), plain.transform(X / ranges), atol=1e-12)
    csr = RandomFeatures(16, gamma=1.0, projection=blocks, random_state=0)
    assert_allclose(csr.fit_transform(sparse.csr_matrix(X)), features.transform(X))


ISOTROPIC_ONLY = ["orthogonal", "sorf", "fastfood"]
NOT_ISOTROPIC = "an isotropic kernel, which kernel='laplacian' is not; use .*'auto'"
INVALID = [
    *[(name, "laplacian", 20, ValueError, NOT_ISOTROPIC) for name in ISOTROPIC_ONLY],
    ("sorf", kernels.Spherical(1.0), 3, ValueError, "projection='sorf' needs a"),
    ("circulant", kernels.Spherical(1.0), 3, ValueError, "'circulant' needs a"),
    ("block_diagonal", kernels.Spherical(1.0), 4, ValueError, "at most 3 features"),
    (projections.BlockDiagonal(21), None, 20, ValueError, "at most .* 20; got 21"),
    (projections.BlockDiagonal(0), None, 20, ValueError, "positive integer, got 0"),
    (projections.BlockDiagonal("big"), None, 20, ValueError, "'auto' or 'paper'"),
    (
        projections.BlockDiagonal(bias_correction="x"),
        None,
        20,
        ValueError,
        "bias_correction must be one of None, 'scalar', 'bandwidth'; got 'x'",
    ),
    (
        projections.QMC("random"),
        None,
        20,
        ValueError,
        "'halton', 'sobol'; got 'random'",
    ),
    ("sparse", None, 20, TypeError, "linear projection only; use it in RandomProj"),
    ("orthoprojector", None, 20, TypeError, "linear projection only"),
]


@pytest.mark.parametrize("projection, kernel, d, error, message", INVALID)
def test_invalid_projections(projection, kernel, d, error, message):
    features = RandomFeatures(16, kernel=kernel, projection=projection)
    with pytest.raises(error, match=message):
        features.fit(data(10, d))


@pytest.mark.parametrize("name", list(projections.PROJECTIONS)[:-2])
@pytest.mark.parametrize("n_components", [1, 2, 6])
@pytest.mark.parametrize("d", [1, 2])
def test_smallest_sizes(name, n_components, d):
    features = RandomFeatures(n_components, projection=name, random_state=0)
    assert np.isfinite(features.fit_transform(data(5, d))).all()


AUTO = [
    (data(20, 5), None, 64, projections.QMC),
    (data(20, 5), "laplacian", 64, projections.QMC),
    (data(20, 200), None, 4096, projections.SORF),
    (data(20, 200), "matern", 4096, projections.SORF),
    (data(20, 200), "laplacian", 4096, projections.Dense),
    (data(20, 2000), None, 16, projections.Dense),
    (sparse.csr_matrix((2, 10**6)), "laplacian", 512, projections.Circulant),
    (sparse.random(20, 10**5, density=1e-4, format="csr"), None, 64, projections.Dense),
    (sparse.csr_matrix(([1.0], ([0], [0])), (2, 10**6)), None, 512, projections.SORF),
]


@pytest.mark.parametrize("X, kernel, n_components, expected", AUTO)
def test_choice_of_auto(X, kernel, n_components, expected):
    features = RandomFeatures(n_components, kernel=kernel, random_state=0).fit(X)
    assert type(features.projection_) is expected


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern"])
def test_normalised_map_estimates_its_kernel(kernel):
    """The bandwidth rule is evaluated on the normalised rows."""
    X = np.random.default_rng(0).uniform(0, 255, size=(300, 20))
    X[:, 0] *= 100
    blocks = projections.BlockDiagonal(20, normalize=True)
    features = RandomFeatures(
        4096, kernel=kernel, gamma="median", projection=blocks, random_state=0
    )
    error = bochner.metrics.kernel_error(features.fit(X), X)
    assert error < 0.1
    assert 0.01 < np.median(features.kernel_(X)) < 0.9


@pytest.mark.parametrize("correction", ["scalar", "bandwidth"])
def test_corrections_agree_for_scalar_and_constant_ard_bandwidths(correction):
    X = np.random.default_rng(0).standard_t(3, size=(300, 64))
    resolved = []
    for gamma in (0.05, np.full(64, 0.05)):
        blocks = projections.BlockDiagonal(4, bias_correction=correction)
        features = RandomFeatures(64, gamma=gamma, projection=blocks, random_state=0)
        resolved.append(features.fit(X).projection_)
    assert resolved[0].amplitude == pytest.approx(resolved[1].amplitude)
    assert resolved[0].frequency_scale == pytest.approx(resolved[1].frequency_scale)


@pytest.mark.parametrize("scale", [1e-13, 1.0, 1e9])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_auto_block_size_does_not_depend_on_the_scale(scale, form):
    X = np.random.default_rng(0).normal(size=(100, 300)).astype(np.float32)
    features = RandomFeatures(64, projection="block_diagonal", random_state=0)
    expected = features.fit(X).projection_.block_size
    scaled = form(X * np.float32(scale))
    assert features.fit(scaled).projection_.block_size == expected


def test_corrections_keep_sparse_rows_sparse():
    X = sparse.random(
        300, 200_000, density=2e-5, format="csr", random_state=np.random.default_rng(0)
    )
    blocks = projections.BlockDiagonal(1000, bias_correction="bandwidth")
    features = RandomFeatures(16, gamma=0.1, projection=blocks, random_state=0)
    tracemalloc.start()
    features.fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20


def test_orthoprojector_of_few_signs_treats_features_alike():
    """E‖P e_j‖² = 1 for every feature j, although a few ±1 rows are often dependent."""
    part, seeds = projections.Orthoprojector("sign"), 3000
    squares = np.array(
        [
            (part.sample_isometry(2, 3, Stream(s)).to_dense() ** 2).sum(0)
            for s in range(seeds)
        ]
    )
    z = (squares.mean(axis=0) - 1) / (squares.std(axis=0) / np.sqrt(seeds))
    assert abs(z).max() < stats.norm.isf(ALPHA / 6)


COMPILED = [
    projections.SORF().sample(NORMAL, 16, 16, Stream(0)),
    projections.BlockDiagonal("paper").sample(NORMAL, 8, 16, Stream(0)),
    projections.BlockDiagonal(4).sample(NORMAL, 16, 16, Stream(0)),
]


@pytest.mark.parametrize("linear", COMPILED, ids=lambda m: type(m).__name__)
def test_compiled_maps_check_their_input(linear):
    n_out = linear.shape[0]
    for rows in (np.ones((8, 65536)), np.ones((8, 16), int), np.ones(16)):
        with pytest.raises(ValueError, match="A map of 16 features takes"):
            linear.apply(rows)
    with pytest.raises(ValueError, match=r"got rows of float32 .* Use linear.astype"):
        linear.apply(np.ones((8, 16), np.float32))
    with pytest.raises(ValueError, match="out must be a C-contiguous array"):
        linear.apply(np.ones((8, 16)), out=np.empty((8, n_out), order="F"))
    with pytest.raises(ValueError, match="out must be a C-contiguous array"):
        linear.apply(np.ones((8, 16)), out=np.empty((7, n_out)))


@pytest.mark.parametrize("name", ["dense", "sorf", "block_diagonal", "circulant"])
def test_csr_indices_out_of_range_are_rejected(name):
    X = sparse.csr_matrix(data(5, 20))
    features = RandomFeatures(16, projection=name, random_state=0).fit(X)
    for outside in (20, 20_000_000, -1):
        X.indices[3] = outside
        with pytest.raises(
            ValueError, match=f"indices must be from 0 to 19, and one is {outside}"
        ):
            features.transform(X)


def test_random_projection_uses_the_options_of_its_projection():
    X = np.abs(data(50, 12)) * np.arange(1, 13)
    plain = bochner.RandomProjection(4, random_state=0).fit(X)
    blocks = projections.BlockDiagonal(normalize=True)
    scaled = bochner.RandomProjection(4, projection=blocks, random_state=0).fit(X)
    ranges = np.ptp(X, axis=0)
    assert_allclose(
        scaled.linear_map_.to_dense(), plain.linear_map_.to_dense() / ranges
    )
    for part in (projections.Sparse(), projections.BlockDiagonal()):
        with pytest.raises(ValueError, match="n_out must be a positive integer, got 0"):
            part.sample_isometry(0, 5, Stream(0))
