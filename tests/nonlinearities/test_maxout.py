"""Maxout, code and rectified features: formulas, pools, learners, invalid input."""

import pickle
from functools import partial
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import binom, chisquare, norm, t
from sklearn.base import clone
from sklearn.decomposition import KernelPCA as ExactPCA
from sklearn.neighbors import NearestNeighbors

import reference
from bochner import (
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    RandomFeatures,
    compression,
    kernels,
    methods,
    metrics,
    nonlinearities,
    projections,
    threads,
)
from bochner._core.random import Stream
from bochner.nonlinearities.maxout import distinct_subsets
from checks import ALPHA, data

PROJECTIONS = ("dense", "orthogonal", "sorf", "fastfood", "circulant", "block_diagonal")


def stages_of(features):
    """The matrices of all stages of a fitted map."""
    return [stage.to_dense() for stage in features.feature_map_.stages]


@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("q", [1, 2, 5])
def test_features_equal_the_formula(projection, q):
    X = data(30, 6)
    features = methods.maxout(16, pool_size=q, projection=projection, random_state=0)
    F = features.fit_transform(X)
    stages = stages_of(features)
    assert len(stages) == q
    assert_allclose(F, reference.maxout(stages, X), atol=1e-12)
    centred = features.set_params(nonlinearity__center=True).fit_transform(X)
    mean = reference.moment_of_maximum(q, 1) * np.linalg.norm(X, axis=1) / np.sqrt(16)
    assert_allclose(centred, F - mean[:, None], atol=1e-7)
    csr = features.transform(sparse.csr_matrix(X))
    assert_allclose(csr, centred, atol=1e-12)


@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("q", [1, 2, 5, 300])
def test_codes_equal_the_formula(projection, q):
    X = data(30, 6)
    codes = methods.maxout_codes(16, pool_size=q, projection=projection, random_state=0)
    C = codes.fit_transform(X)
    assert C.dtype == (np.uint8 if q <= 256 else np.uint16)
    assert_array_equal(C, reference.argmax_codes(stages_of(codes), X))
    assert_array_equal(codes.transform(sparse.csr_matrix(X)), C)


@pytest.mark.parametrize("q, kind", [(256, np.uint8), (257, np.uint16)])
def test_codes_have_the_smallest_type(q, kind):
    C = methods.maxout_codes(2, pool_size=q, random_state=0).fit_transform(data(50, 3))
    assert C.dtype == kind and C.max() > 200


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_onehot(dtype):
    X = data(50, 6, dtype)
    codes = methods.maxout_codes(40, pool_size=5, random_state=0).fit(X)
    onehot = clone(codes).set_params(nonlinearity__output="onehot").fit(X)
    C, F = codes.transform(X), onehot.transform(X)
    assert sparse.issparse(F) and F.format == "csr" and F.dtype == dtype
    assert F.shape == (50, 200) and F.has_canonical_format
    assert_array_equal(F.toarray().reshape(50, 40, 5).argmax(axis=2), C)
    assert_allclose(F.data, 1 / np.sqrt(40), rtol=1e-6)
    shares = reference.equal_codes(C, C)
    assert_allclose(codes.approximate_kernel(X), shares, atol=1e-6)
    assert_allclose(codes.approximate_kernel(X, X[:7]), shares[:, :7], atol=1e-6)
    assert_allclose(onehot.approximate_kernel(X), shares, atol=1e-6)
    assert len(onehot.get_feature_names_out()) == 200
    assert metrics.kernel_error(codes, X) == pytest.approx(
        metrics.kernel_error(onehot, X), rel=1e-5
    )


@pytest.mark.parametrize("M", [1, 127, 128, 1000])
@pytest.mark.parametrize("q", [3, 300])
def test_share_of_equal_codes(M, q):
    X = data(9, 4)
    C = methods.maxout_codes(M, pool_size=q, random_state=0).fit_transform(X)
    shares = reference.equal_codes(C, C)
    assert_allclose(metrics.equal_codes(C), shares, atol=1e-6)
    assert_allclose(metrics.equal_codes(C, C[::2]), shares[:, ::2], atol=1e-6)
    assert_allclose(metrics.equal_codes(C.tolist()), shares, atol=1e-6)
    bits = C > 0
    assert_allclose(metrics.equal_codes(bits), reference.equal_codes(bits, bits))


def test_share_of_equal_codes_rejects_other_arrays():
    with pytest.raises(ValueError, match=r"integers .* \(2, 3\) of float64"):
        metrics.equal_codes(np.ones((2, 3)))
    with pytest.raises(TypeError, match="got a sparse matrix"):
        metrics.equal_codes(sparse.csr_matrix(np.eye(3)))
    with pytest.raises(ValueError, match="A have 3 codes and rows of B have 4"):
        metrics.equal_codes(np.ones((2, 3), int), np.ones((2, 4), int))


def test_hamming_neighbours():
    """scikit-learn takes codes without conversion; scaled copies are neighbours."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    codes = methods.maxout_codes(128, pool_size=8, random_state=0).fit(X)
    neighbours = NearestNeighbors(n_neighbors=1, metric="hamming", algorithm="brute")
    neighbours.fit(codes.transform(X))
    nearest = neighbours.kneighbors(codes.transform(3 * X), return_distance=False)
    assert_array_equal(nearest[:, 0], np.arange(200))


UNIT = np.random.default_rng(0).normal(size=(40, 6))
UNIT /= np.linalg.norm(UNIT, axis=1, keepdims=True)
PAIRS = np.triu_indices(40)


def z_scores(features, K):
    """(⟨φ(x), φ(y)⟩ − K)/(standard deviation) for pairs of unit vectors.

    The variance is divided by M units: Var h(x)h(y) ≤ E h(x)²h(y)² − K² ≤ E max⁴ − K²
    by the Cauchy-Schwarz inequality.
    """
    q, M = features.kernel_.pool_size, features.n_components
    variance = (reference.moment_of_maximum(q, 4) - features.kernel_(UNIT) ** 2) / M
    z = (features.approximate_kernel(UNIT) - K) / np.sqrt(variance)
    return z[PAIRS]


LIMIT = norm.isf(ALPHA / (2 * len(PAIRS[0])))


@pytest.mark.parametrize("q", [2, 4, 8, 16])
def test_inner_products_converge(q, global_seed):
    features = methods.maxout(20_000, pool_size=q, random_state=global_seed).fit(UNIT)
    K = features.kernel_(UNIT)
    assert features.kernel_.pool_size == q
    assert np.abs(z_scores(features, K)).max() < LIMIT
    other = kernels.Maxout(q + 1)(UNIT)
    assert np.abs(z_scores(features, other)).max() > LIMIT


@pytest.mark.parametrize("q", [2, 4, 8, 16])
def test_printed_theorem_is_wrong(q):
    """Theorem 1, σ²⟨x, z⟩κ_q, leaves out pairs whose maxima have different indices."""
    features = methods.maxout(20_000, pool_size=q, random_state=0).fit(UNIT)
    square = reference.moment_of_maximum(q, 2)
    printed = square * (UNIT @ UNIT.T) * kernels.ArgmaxCode(q)(UNIT)
    z = np.abs(z_scores(features, printed))
    different = PAIRS[0] != PAIRS[1]
    assert np.median(z[different]) > LIMIT
    assert z[~different].max() < LIMIT  # the theorem holds for x = z


@pytest.mark.parametrize("q", [2, 4, 8, 16])
def test_hamming_distance_converges(q, global_seed):
    """The number of equal codes of M independent units is binomial for every pair."""
    M = 4000
    codes = methods.maxout_codes(M, pool_size=q, random_state=global_seed).fit(UNIT)
    different = PAIRS[0] != PAIRS[1]
    counts = (M * codes.approximate_kernel(UNIT)[PAIRS])[different].round()

    def rejected(kernel):
        p = kernel(UNIT)[PAIRS][different]
        tails = np.minimum(binom.cdf(counts, M, p), binom.sf(counts - 1, M, p))
        return tails.min() < ALPHA / (2 * different.sum())

    assert not rejected(codes.kernel_)
    assert rejected(kernels.ArgmaxCode(2 * q))


@pytest.mark.parametrize("make", [methods.maxout, methods.maxout_codes])
@pytest.mark.parametrize("projection", PROJECTIONS[1:5])
def test_structured_maps_are_unbiased(make, projection, global_seed):
    """Projections of one unit are independent; only different units are dependent."""
    X = np.random.default_rng(1).normal(size=(8, 24))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    maps = [
        make(256, projection=projection, random_state=1000 * global_seed + seed).fit(X)
        for seed in range(60)
    ]
    grams = np.array([features.approximate_kernel(X) for features in maps])
    assert not is_biased(grams, maps[0].kernel_(X))


def is_biased(grams, K):
    """Whether the mean of S independent Gram matrices differs significantly from K.

    Student's t test with S − 1 degrees of freedom, Bonferroni over pairs. The test is
    valid for any dependence between the units of one map.
    """
    pairs = np.triu_indices(len(K), 1)
    estimates = np.array([gram[pairs] for gram in grams])
    error = estimates.std(axis=0, ddof=1) / len(estimates) ** 0.5
    limit = t.isf(ALPHA / (2 * estimates.shape[1]), len(estimates) - 1)
    return (np.abs(estimates.mean(axis=0) - K[pairs]) / error).max() > limit


def test_units_within_one_structured_map_would_be_biased():
    """Taking the q rows of a unit from one map, instead of q maps, gives a bias."""
    X = np.random.default_rng(1).normal(size=(8, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    separate, together = [], []
    for seed in range(200):
        features = methods.maxout(64, projection="orthogonal", random_state=seed).fit(X)
        W = stages_of(features)
        assert (W[0] != W[1]).all()
        separate.append(features.approximate_kernel(X))
        linear = features.projection_.sample(
            features.kernel_.spectral_law(), 256, 4, Stream(seed)
        )
        rows = linear.to_dense().reshape(64, 4, 4)
        F = reference.maxout(list(rows.transpose(1, 0, 2)), X)
        together.append(F @ F.T)
    assert not is_biased(separate, features.kernel_(X))
    assert is_biased(together, features.kernel_(X))


@pytest.mark.parametrize(
    "spec", [nonlinearities.Maxout(4), nonlinearities.ArgmaxCode(4)]
)
def test_few_features_converge_by_default(spec, global_seed):
    """With Sobol points in every stage the error would stay above 0.1."""
    X = data(200, 5)
    features = RandomFeatures(16_384, nonlinearity=spec, random_state=global_seed)
    features.fit(X)
    assert isinstance(features.projection_, projections.Dense)
    plain = RandomFeatures(1024, nonlinearity=spec, random_state=global_seed).fit(X)
    # The expected ratio is a quarter; a half allows for the variance of two maps.
    assert metrics.kernel_error(features, X) < metrics.kernel_error(plain, X) / 2


def test_automatic_choice_counts_every_map():
    """One matrix of 0.94 GiB is allowed; 16 of them need a structured map."""
    wide = sparse.random(20, 2**20, density=2e-5, format="csr", random_state=0)
    law, rng = kernels.Maxout(16).spectral_law(), Stream(0)
    units = nonlinearities.Maxout(16)
    auto = projections.PROJECTIONS["auto"]()
    assert isinstance(auto.resolve(wide, law, 120, rng), projections.Dense)
    chosen = units.served_by(auto).resolve(wide, law, 120, rng)
    assert isinstance(chosen, projections.SORF)


def test_shared_pool_of_few_features_is_unbiased(global_seed):
    """Members of a unit must be independent, so "auto" must not choose Sobol points."""
    X = np.random.default_rng(1).normal(size=(8, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    units = nonlinearities.Maxout(4, pool=16)
    maps = [
        RandomFeatures(
            64, nonlinearity=units, random_state=1000 * global_seed + seed
        ).fit(X)
        for seed in range(400)
    ]
    assert isinstance(maps[0].projection_, projections.Dense)
    grams = [features.approximate_kernel(X) for features in maps]
    assert not is_biased(grams, maps[0].kernel_(X))


@pytest.mark.parametrize("name, degree", [("sign", 0), ("relu", 1)])
def test_rectified_features_converge(name, degree, global_seed):
    """Var 2Θ(…)zⁿz'ⁿ ≤ 2·E z^{4n} − k² = 2·{1, 3} − k² for unit vectors."""
    M = 20_000
    features = RandomFeatures(
        M, nonlinearity=name, projection="dense", random_state=global_seed
    ).fit(UNIT)
    assert features.kernel_.degree == degree
    K = features.kernel_(UNIT)
    variance = (2 * [1, 3][degree] - K**2) / M
    z = (features.approximate_kernel(UNIT) - K) / np.sqrt(variance)
    assert np.abs(z[PAIRS]).max() < LIMIT


def test_rectified_features_equal_the_formula():
    X = data(30, 6)
    relu = RandomFeatures(8, nonlinearity="relu", random_state=0).fit(X)
    (W,) = stages_of(relu)
    exact = np.sqrt(2 / 8) * np.maximum(X @ W.T, 0)
    assert_allclose(relu.transform(X), exact, atol=1e-12)
    sign = RandomFeatures(8, nonlinearity="sign", random_state=0).fit(X)
    assert_array_equal(sign.transform(X) > 0, exact > 0)


# shared pools


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.data())
def test_distinct_subsets(N, hypothesis_data):
    q = hypothesis_data.draw(st.integers(1, N))
    n = hypothesis_data.draw(st.integers(1, comb(N, q)))
    subsets = distinct_subsets(n, N, q, Stream(0))
    assert subsets.shape == (n, q)
    assert (np.diff(subsets, axis=1) > 0).all()
    assert subsets.min() >= 0 and subsets.max() < N
    assert len(np.unique(subsets, axis=0)) == n
    all_subsets = distinct_subsets(comb(N, q), N, q, Stream(0))
    assert_array_equal(all_subsets[:n], subsets)


def test_subsets_are_uniform(global_seed):
    """The first units of 6000 streams over the 20 subsets of three out of six."""
    root = Stream(global_seed)
    first = [distinct_subsets(1, 6, 3, root.child(i))[0] for i in range(6000)]
    _, counts = np.unique(first, axis=0, return_counts=True)
    assert len(counts) == 20
    assert chisquare(counts).pvalue > ALPHA


def test_shared_pool_equals_the_formula_and_is_a_prefix():
    X = data(30, 6)
    features = methods.maxout(50, pool_size=3, pool=20, random_state=0).fit(X)
    sampled = features.feature_map_.nonlinearity
    (W,) = stages_of(features)
    assert W.shape == (20, 6)
    Z = X @ W.T
    exact = reference.pool_max(Z, sampled.members)
    assert_allclose(features.transform(X), exact / np.sqrt(50), atol=1e-12)
    larger = methods.maxout(100, pool_size=3, pool=20, random_state=0).fit(X)
    assert_allclose(
        np.sqrt(2) * larger.transform(X)[:, :50], features.transform(X), atol=1e-12
    )


def test_fewer_units_are_a_prefix():
    X = data(30, 40)
    for projection in ("dense", "sorf", "circulant"):
        for make in (methods.maxout, methods.maxout_codes):
            few = make(50, projection=projection, random_state=0).fit_transform(X)
            many = make(100, projection=projection, random_state=0).fit_transform(X)
            factor = np.sqrt(2) if make is methods.maxout else 1
            assert_allclose(factor * many[:, :50], few, atol=1e-12)


@pytest.mark.parametrize("q", [2, 4, 8])
def test_shared_pool_converges(q, global_seed):
    """Units that share c projections have a covariance of at most (c/q) Var h h'.

    This is Hoeffding's inequality ζ_c/c ≤ ζ_q/q. The variance of the mean of M units is
    at most Var/(q M²) Σ_p n_p², where n_p is the number of units with projection p.
    """
    features = methods.maxout(
        12_000, pool_size=q, pool=3000, random_state=global_seed
    ).fit(UNIT)
    members = features.feature_map_.nonlinearity.members
    uses = np.bincount(members.ravel(), minlength=3000)
    inflation = (uses**2).sum() / (q * members.shape[1])
    K = features.kernel_(UNIT)
    z = z_scores(features, K) / np.sqrt(inflation)
    assert np.abs(z).max() < LIMIT
    other = z_scores(features, kernels.Maxout(2 * q)(UNIT)) / np.sqrt(inflation)
    assert np.abs(other).max() > LIMIT


# combinations with other parts


@pytest.mark.parametrize("pool", ["independent", 400])
@pytest.mark.parametrize("projection", ["dense", "sorf"])
def test_compression_selects_units(pool, projection):
    X = data(300, 20)
    few = methods.maxout(
        20,
        pool_size=3,
        pool=pool,
        projection=projection,
        random_state=0,
        compression=compression.GIGA(n_candidates=200),
    ).fit(X)
    uncompressed = methods.maxout(
        200, pool_size=3, pool=pool, projection=projection, random_state=0
    ).fit(X)
    selection = few.compression_
    candidates = uncompressed.transform(X)[:, selection.kept]
    exact = candidates * np.sqrt(selection.weights)
    assert_allclose(few.transform(X), exact, atol=1e-10)
    plain = methods.maxout(20, pool_size=3, random_state=0).fit(X)
    assert metrics.kernel_error(few, X) < metrics.kernel_error(plain, X)


def test_pca_of_maxout():
    """Points on an arc keep their order, and components match the exact kernel."""
    angle = np.linspace(0, np.pi / 4, 60)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    features = methods.maxout(2000, pool_size=12, random_state=0)
    first = KernelPCA(1, features=features).fit_transform(X)[:, 0]
    assert (np.diff(first) > 0).all() or (np.diff(first) < 0).all()
    exact = ExactPCA(1, kernel="precomputed").fit_transform(kernels.Maxout(12)(X))
    assert abs(np.corrcoef(first, exact[:, 0])[0, 1]) > 0.999


def test_learners_accept_onehot_and_reject_codes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = X[:, 0] * X[:, 1] > 0
    onehot = methods.maxout_codes(200, pool_size=4, output="onehot", random_state=0)
    for loss in ("hinge", "squared", "log"):
        learner = KernelClassifier(onehot, loss=loss).fit(X[:400], y[:400])
        assert learner.score(X[400:], y[400:]) > 0.85
    codes = methods.maxout_codes(64, random_state=0)
    for learner in (KernelClassifier(codes), KernelRegressor(codes), KernelPCA(2)):
        learner.set_params(features=codes)
        with pytest.raises(ValueError, match=r"uint8; learners need .*output='onehot'"):
            learner.fit(X, y)


def test_learner_with_maxout_by_name():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = X[:, 0] * X[:, 1] > 0
    learner = KernelClassifier("maxout", random_state=0).fit(X[:400], y[:400])
    assert learner.score(X[400:], y[400:]) > 0.9


def test_measurements_of_a_shared_pool():
    X = data(20, 30)
    features = methods.maxout(
        50, pool=40, projection=projections.Compressive(10), random_state=0
    ).fit(X)
    P, second = features.feature_map_.split()
    assert_allclose(second(P.apply(X)), features.transform(X), atol=1e-12)
    centred = features.set_params(nonlinearity__center=True).fit(X)
    with pytest.raises(TypeError, match="measurements; use center=False"):
        centred.feature_map_.split()
    independent = features.set_params(nonlinearity__pool="independent").fit(X)
    with pytest.raises(TypeError, match=r"only with a shared pool \(pool=N\)"):
        independent.feature_map_.split()


def test_rows_of_zeros():
    X = np.array([[0.0, 0.0, 0.0], [0.0, -0.0, 0.0], [1.0, 2.0, 3.0]])
    for projection in PROJECTIONS:
        F = methods.maxout(16, center=True, projection=projection).fit_transform(X)
        assert_array_equal(F[:2], 0)
        codes = methods.maxout_codes(4096, projection=projection, random_state=0).fit(X)
        assert_array_equal(codes.transform(X)[:2], 0)
        assert codes.approximate_kernel(X)[0, 1] == 1
    codes = methods.maxout_codes(4096, random_state=0).fit(X)
    equal = 4096 * codes.approximate_kernel(X)[0, 2]
    assert ALPHA < binom.cdf(equal, 4096, 1 / 4) < 1 - ALPHA


def test_codes_do_not_depend_on_threads_or_chunks():
    X = data(2000, 30)
    codes = methods.maxout_codes(64, projection="sorf", random_state=0).fit(X)
    C = codes.transform(X)
    with threads(1):
        assert_array_equal(codes.transform(X), C)
    chunks = [codes.transform(X[i : i + 7]) for i in range(0, 2000, 7)]
    assert_array_equal(np.vstack(chunks), C)
    assert_array_equal(pickle.loads(pickle.dumps(codes)).transform(X), C)
    assert codes.feature_map_(X[:0]).shape == (0, 64)
    onehot = methods.maxout_codes(64, output="onehot", random_state=0).fit(X)
    assert onehot.feature_map_(X[:0]).shape == (0, 256)


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int64])
def test_parameters_of_any_integer_type(kind):
    X = data(20, 6)
    for make, q in ((methods.maxout, 3), (methods.maxout_codes, 200)):
        plain = make(100, pool_size=q, random_state=0).fit(X)
        narrow = make(kind(100), pool_size=kind(min(q, 127)), random_state=0).fit(X)
        same = make(100, pool_size=min(q, 127), random_state=0).fit(X)
        assert_array_equal(narrow.transform(X), same.transform(X))
        assert plain.transform(X).shape == (20, 100)
    assert_allclose(
        kernels.ArgmaxCode(np.uint8(200))(X), kernels.ArgmaxCode(200)(X), atol=0
    )


@pytest.mark.parametrize("factor", [1e-170, 1e160])
def test_lengths_neither_underflow_nor_overflow(factor):
    X = data(20, 6)
    codes = kernels.ArgmaxCode(4)
    assert_allclose(codes(factor * X), codes(X), atol=1e-7)
    csr = sparse.csr_matrix(X)
    assert_allclose(codes(factor * csr), codes(X), atol=1e-7)
    centred = methods.maxout(16, center=True, random_state=0).fit(X)
    assert_allclose(
        centred.transform(factor * X), factor * centred.transform(X), rtol=1e-9
    )


# invalid input


@pytest.mark.parametrize(
    "make, message",
    [
        (partial(methods.maxout, pool_size=0), "Maxout: pool_size must be a positive"),
        (
            partial(methods.maxout, pool_size=2.0),  # type: ignore[arg-type]
            "Maxout: pool_size must be a posit",
        ),
        (partial(methods.maxout, pool=0), "Maxout: pool must be a positive integer"),
        (partial(methods.maxout, pool="all"), "pool must be a positive .*independent"),
        (partial(methods.maxout, pool=3), "pool=3 projections have 0 subsets of"),
        (partial(methods.maxout, pool=5), "have 5 subsets of pool_size=4, fewer than"),
        (
            partial(methods.maxout, center=2),  # type: ignore[arg-type]
            "Maxout: center must be one of False, Tr",
        ),
        (partial(methods.maxout_codes, pool_size=0), "ArgmaxCode: pool_size must be"),
        (
            partial(methods.maxout_codes, pool_size=65536),
            "pool_size must be at most 65535, .* got 65536. Use a smaller",
        ),
        (
            partial(methods.maxout_codes, output="bits"),
            "output must be one of 'codes', 'onehot'; got 'bits'",
        ),
        (
            partial(methods.maxout_codes, compression="giga"),
            "compression='giga' needs dense floating features, which ArgmaxCode",
        ),
        (
            partial(methods.maxout, kernel="gaussian"),
            r"estimate Maxout\(\) and no other kernel; got .*Leave kernel=.*cos_sin",
        ),
        (
            partial(methods.maxout, kernel=kernels.Maxout(5)),
            r"estimate Maxout\(\) and no other kernel",
        ),
        (
            partial(methods.rff, kernel=kernels.Maxout(4)),
            r"cosines estimate kernels of x − y, .* use nonlin.*Maxout\(4\)",
        ),
        (
            partial(
                methods.maxout,
                projection=projections.BlockDiagonal(2, bias_correction="scalar"),
            ),
            "bias_correction applies to cosine features only",
        ),
        (
            partial(methods.maxout, projection="qmc"),
            "QMC: points of low-discrepancy sequences depend .*projection='dense'",
        ),
        (
            partial(methods.maxout, projection=projections.Compressive(2, "qmc")),
            "QMC: points of low-discrepancy sequences depend .*projection='dense'",
        ),
        (
            partial(RandomFeatures, nonlinearity="relu", kernel=kernels.ArcCosine(2)),
            r"got kernel=ArcCosine\(degree=2\).*use Nystroem features",
        ),
        (
            partial(
                methods.maxout, projection=projections.BlockDiagonal(2, normalize=True)
            ),
            "no bandwidth per feature, which BlockDiagonal.normalize=True. needs",
        ),
    ],
)
def test_invalid_input(make, message):
    with pytest.raises(ValueError, match=message):
        make(8).fit(data(20, 6))


def test_kernel_object_of_the_nonlinearity_is_accepted():
    features = methods.maxout(8, kernel=kernels.Maxout(4)).fit(data(20, 6))
    assert repr(features.kernel_) == repr(kernels.Maxout(4))


def test_gamma_without_use_gives_a_warning():
    with pytest.warns(UserWarning, match="gamma=0.5 is not used: the kernel of these"):
        methods.maxout(8, gamma=0.5).fit(data(20, 6))


def test_specs_are_cloned_and_printed():
    for spec in (
        nonlinearities.Maxout(8, pool=100, center=True),
        nonlinearities.ArgmaxCode(16, output="onehot"),
    ):
        assert repr(clone(spec)) == repr(spec)
        assert clone(spec).get_params() == spec.get_params()
