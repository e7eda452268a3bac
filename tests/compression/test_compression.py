"""GIGA, Frank-Wolfe and JL: naive implementations, every map, invalid input."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls
from scipy.stats import chi2
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference
from bochner import (
    KernelClassifier,
    RandomFeatures,
    RandomProjection,
    compression,
    datasets,
    kernels,
    methods,
    metrics,
    projections,
)
from bochner._core.random import Stream
from bochner.compression import greedy, products
from bochner.compression.frank_wolfe import FrankWolfe
from bochner.compression.giga import GIGA
from bochner.compression.greedy import (
    SelectionState,
    minimise_non_negative,
    problem_of,
)
from checks import ALPHA, data

GREEDY = [compression.GIGA, compression.FrankWolfe]
NAIVE = {"GIGA": reference.giga, "FrankWolfe": reference.frank_wolfe}
PROJECTIONS = ["dense", "orthogonal", "sorf", "fastfood", "qmc", "circulant"]
N, D, CANDIDATES = 40, 6, 120


def all_candidates(nonlinearity="cos", projection="dense", X=None, seed=0):
    """Features of all candidates, with the seed that `compressed` uses."""
    return RandomFeatures(
        CANDIDATES,
        gamma=0.2,
        projection=projection,
        nonlinearity=nonlinearity,
        random_state=seed,
    ).fit(data(N, D) if X is None else X)


def compressed(spec, n=16, nonlinearity="cos", projection="dense", X=None, seed=0):
    """n features that a compression keeps of the candidates."""
    features = RandomFeatures(
        n,
        gamma=0.2,
        projection=projection,
        nonlinearity=nonlinearity,
        compression=spec,
        random_state=seed,
    )
    return features.fit(data(N, D) if X is None else X)


@pytest.mark.parametrize("target", ["kernel", "features"])
@pytest.mark.parametrize("nonlinearity", ["cos", "cos_sin"])
@pytest.mark.parametrize("spec", GREEDY)
def test_steps_equal_those_of_the_naive_algorithm(spec, nonlinearity, target):
    X, candidates = data(N, D), all_candidates(nonlinearity)
    n_units = candidates.feature_map_.nonlinearity.n_units
    R = reference.pair_functions(candidates.transform(X), n_units)
    r = candidates.kernel_(X).ravel() if target == "kernel" else R.sum(axis=0)
    compression_spec = spec(CANDIDATES, target=target, refit=False)
    pairs = products.all_pairs(
        candidates.feature_map_,
        X,
        np.ones(N),
        candidates.kernel_ if target == "kernel" else None,
    )
    no_units = np.empty(0, dtype=int), np.empty(0)
    steps = compression_spec.steps(problem_of(pairs), *no_units)
    w, count = np.zeros(n_units), 0
    naive_steps = NAIVE[spec.__name__](R, r, 25)
    for step, expected in zip(steps, naive_steps, strict=False):
        w = step.shrink * w
        w[step.unit] += step.added
        assert_allclose(w, expected, atol=1e-9 * expected.max())
        error = np.linalg.norm(expected @ R - r) / np.linalg.norm(r)
        assert step.error == pytest.approx(error, abs=1e-8)
        count += 1
    assert count == 25


@pytest.mark.parametrize("spec", GREEDY)
def test_sampled_pairs_equal_the_naive_algorithm(spec):
    X, candidates = data(N, D), all_candidates()
    i, j = greedy.distinct_pairs(N, 300, Stream(3))
    assert (i != j).all() and i.min() >= 0 and max(i.max(), j.max()) < N
    Z = candidates.transform(X)
    R, r = (Z[i] * Z[j]).T, candidates.kernel_(X)[i, j]
    pairs = products.sampled_pairs(
        candidates.feature_map_, X, (i, j), np.ones(300), candidates.kernel_
    )
    selection = spec(CANDIDATES, refit=False).select(problem_of(pairs), 12)
    steps = NAIVE[spec.__name__](R, r, 40)
    expected = next(w for w in steps if np.count_nonzero(w) == 12)
    w = np.zeros(CANDIDATES)
    w[selection.kept] = selection.weights
    assert_allclose(w, expected, atol=1e-9)


@pytest.mark.parametrize("n_pairs", [None, 200])
@pytest.mark.parametrize("spec", GREEDY)
def test_products_on_demand_select_the_same_units(monkeypatch, spec, n_pairs):
    in_memory = compressed(spec(CANDIDATES, n_pairs=n_pairs))
    monkeypatch.setattr(greedy, "GRAM_BYTES", 0)
    on_demand = compressed(spec(CANDIDATES, n_pairs=n_pairs))
    assert_array_equal(in_memory.compression_.kept, on_demand.compression_.kept)
    assert_allclose(in_memory.compression_.weights, on_demand.compression_.weights)


def test_products_computed_in_blocks(monkeypatch):
    X, candidates = data(N, D), all_candidates("cos_sin")
    map_, kernel = candidates.feature_map_, candidates.kernel_
    R = reference.pair_functions(candidates.transform(X), 60)
    monkeypatch.setattr(products, "GRAM_COLUMNS", 7)
    pairs = products.all_pairs(map_, X, np.ones(N), kernel)
    assert_allclose(products.gram(pairs), R @ R.T, atol=1e-12)
    assert_allclose(pairs.norms, np.linalg.norm(R, axis=1))
    assert_allclose(pairs.target, R @ kernel(X).ravel())
    assert pairs.target_norm == pytest.approx(np.linalg.norm(kernel(X)))
    monkeypatch.setattr(products, "PAIRS_AT_ONCE", 3)
    i, j = greedy.distinct_pairs(N, 20, Stream(3))
    sampled = products.sampled_pairs(map_, X, (i, j), np.ones(20), kernel)
    assert_allclose(products.gram(sampled), R[:, i * N + j] @ R[:, i * N + j].T)
    assert_allclose(sampled.target, R[:, i * N + j] @ kernel(X)[i, j])


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("nonlinearity", ["cos", "cos_sin"])
@pytest.mark.parametrize("spec", GREEDY)
def test_reported_error_is_the_kernel_error(spec, nonlinearity, refit):
    """All rows are sampled, so the reported error is the error of the kernel."""
    X = data(N, D)
    features = compressed(spec(CANDIDATES, refit=refit), nonlinearity=nonlinearity)
    selection = features.compression_
    assert selection.error == pytest.approx(metrics.kernel_error(features, X), rel=1e-6)
    assert (np.diff(selection.errors) <= 1e-12).all()
    assert selection.error <= selection.errors[-1] + 1e-12
    assert (selection.weights > 0).all() and (features.feature_map_.weights_ > 0).all()
    assert (
        len(set(selection.kept))
        == len(selection.kept)
        == features.transform(X).shape[1] / (2 if nonlinearity == "cos_sin" else 1)
    )


@pytest.mark.parametrize("spec", GREEDY)
def test_refit_is_non_negative_least_squares(spec):
    X, candidates = data(N, D), all_candidates()
    R = reference.pair_functions(candidates.transform(X), CANDIDATES)
    selection = compressed(spec(CANDIDATES)).compression_
    expected, _ = nnls(R[selection.kept].T, candidates.kernel_(X).ravel())
    assert_allclose(selection.weights, expected, rtol=1e-6)


@pytest.mark.parametrize("n, d", [(60, 12), (200, 150)])
def test_least_squares_with_active_bounds(n, d):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(n, d))
    b = A @ rng.normal(size=d)
    G, target = A.T @ A, A.T @ b
    w = minimise_non_negative(G, target)
    assert (w >= 0).all() and (w == 0).sum() > d / 5
    assert_allclose(w, nnls(A, b)[0], atol=1e-8)
    slope = G @ w - target  # the optimality conditions
    assert slope.min() > -1e-8 * n and abs(slope @ w) < 1e-7 * n


def test_least_squares_converges_when_variables_are_exchanged_one_by_one(monkeypatch):
    """With no patience the algorithm exchanges one variable at a time."""
    monkeypatch.setattr(greedy, "REFIT_PATIENCE", 0)
    A = np.random.default_rng(1).normal(size=(40, 30))
    b = A @ np.random.default_rng(2).normal(size=30)
    w = minimise_non_negative(A.T @ A, A.T @ b)
    assert_allclose(w, nnls(A, b)[0], atol=1e-8)


def test_refit_with_linearly_dependent_features():
    """On one column of data, features are soon linearly dependent.

    More features must not increase the error.
    """
    X = data(300, 1)
    errors = []
    for n in (10, 20, 30, 100):
        features = methods.giga(n, gamma=1.0, n_candidates=1000, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fewer may be kept
            errors.append(features.fit(X).compression_.error)
    assert errors[:3] == sorted(errors[:3], reverse=True)
    assert errors[-1] < 0.002  # 100 features are dependent in float64


def test_units_that_lose_their_weight_are_replaced():
    """With three columns and many units the refit drops units, which are replaced."""
    X, giga = data(N, 3), compression.GIGA(1000)
    features = methods.giga(64, gamma=0.2, n_candidates=1000, random_state=0).fit(X)
    assert features.transform(X).shape == (N, 64)
    everything = methods.rff(1000, gamma=0.2, nonlinearity="cos", random_state=0)
    map_, kernel = everything.fit(X).feature_map_, features.kernel_
    pairs = products.all_pairs(map_, X, np.ones(N), kernel)
    state = SelectionState(problem_of(pairs), giga.steps)
    state.extend(64)
    state.refit()
    assert len(state) < 64


@pytest.mark.parametrize("nonlinearity", ["cos", "cos_sin"])
@pytest.mark.parametrize("projection", [*PROJECTIONS, "block_diagonal", "compressive"])
def test_kept_features_are_weighted_candidates(projection, nonlinearity):
    """For every structure, features are √w_u z_u of candidates with the same seed."""
    X = data(N, D)
    features = compressed(
        compression.GIGA(CANDIDATES), nonlinearity=nonlinearity, projection=projection
    )
    everything = all_candidates(nonlinearity, projection).transform(X)
    selection, parts = features.compression_, 2 if nonlinearity == "cos_sin" else 1
    Z = everything.reshape(N, parts, -1)[:, :, selection.kept]
    expected = (np.sqrt(selection.weights) * Z).reshape(N, -1)
    assert_allclose(features.transform(X), expected, atol=1e-10)
    if nonlinearity == "cos_sin":  # one weight per frequency: the diagonal is constant
        assert np.ptp(np.diag(features.approximate_kernel(X))) < 1e-12


def test_amplitudes_of_the_projection_are_kept():
    """A bias correction multiplies the candidates, and so the kept features."""
    X = data(N, D)
    blocks = projections.BlockDiagonal(2, bias_correction="scalar")
    features = compressed(compression.GIGA(CANDIDATES), projection=blocks)
    assert features.projection_.amplitude != 1
    selection = features.compression_
    Z = all_candidates(projection=blocks).transform(X)[:, selection.kept]
    assert_allclose(features.transform(X), np.sqrt(selection.weights) * Z, atol=1e-12)


def test_selections_without_refit_are_nested():
    few = compressed(compression.GIGA(CANDIDATES, refit=False), 8).compression_
    more = compressed(compression.GIGA(CANDIDATES, refit=False), 20).compression_
    assert_array_equal(more.kept[:8], few.kept)
    assert_allclose(more.errors[:8], few.errors)


def test_float32_rows_select_the_same_units():
    X = data(N, D, np.float32)
    single = compressed(compression.GIGA(CANDIDATES), X=X)
    double = compressed(compression.GIGA(CANDIDATES), X=X.astype(np.float64))
    assert_array_equal(single.compression_.kept, double.compression_.kept)
    assert single.transform(X).dtype == single.feature_map_.amplitudes.dtype == X.dtype
    assert_allclose(single.transform(X), double.transform(X), atol=1e-5)


@pytest.mark.parametrize("target", ["kernel", "features"])
@pytest.mark.parametrize("spec", GREEDY)
def test_weighted_rows_equal_repeated_rows(spec, target):
    X, weight = data(N, D), np.arange(N) % 3
    features = RandomFeatures(
        16, gamma=0.2, compression=spec(CANDIDATES, target=target), random_state=0
    )
    weighted = features.fit(X, sample_weight=weight).compression_
    repeated = features.fit(np.repeat(X, weight, axis=0)).compression_
    assert_array_equal(weighted.kept, repeated.kept)
    assert_allclose(weighted.weights, repeated.weights, rtol=1e-6)


def test_weights_of_sampled_pairs():
    """Rows of weight zero are not used; the weight of a pair multiplies its product."""
    X, weight = data(N, D), np.repeat([1.0, 0.0], N // 2)
    giga = compression.GIGA(CANDIDATES, n_pairs=400)
    features = RandomFeatures(8, gamma=0.2, compression=giga, random_state=0)
    weighted = features.fit(X, sample_weight=weight).compression_
    first_half = features.fit(X[: N // 2]).compression_
    assert_array_equal(weighted.kept, first_half.kept)
    map_, kernel = all_candidates().feature_map_, kernels.Gaussian(0.2)
    places = np.arange(10), np.arange(10) + 10
    unweighted = products.sampled_pairs(map_, X, places, np.ones(10), kernel)
    weighted = products.sampled_pairs(map_, X, places, np.arange(10.0), kernel)
    repeated = np.repeat(np.arange(10), np.arange(10))
    places = repeated, repeated + 10
    expected = products.sampled_pairs(map_, X, places, np.ones(45), kernel)
    assert_allclose(weighted.target, expected.target)
    assert_allclose(products.gram(weighted), products.gram(expected), atol=1e-12)
    assert abs(weighted.target - unweighted.target).max() > 0.1


def test_pairs_are_uniform_and_distinct():
    """χ² of 20,000 pairs over the 30 ordered pairs of six rows."""
    i, j = greedy.distinct_pairs(6, 20_000, Stream(0))
    counts = np.bincount(6 * i + j, minlength=36).reshape(6, 6)
    assert not counts.diagonal().any()
    expected = 20_000 / 30
    statistic = ((counts[~np.eye(6, dtype=bool)] - expected) ** 2).sum() / expected
    assert statistic < chi2.isf(ALPHA, 29)


@pytest.mark.parametrize("spec", [*GREEDY, compression.JL])
def test_csr_rows_give_the_features_of_dense_rows(spec):
    X = data(N, D)
    dense = compressed(spec(CANDIDATES))
    csr = compressed(spec(CANDIDATES), X=sparse.csr_matrix(X))
    assert_allclose(csr.transform(sparse.csr_matrix(X)), dense.transform(X), atol=1e-10)


def test_giga_has_a_lower_error_than_rff_jl_and_frank_wolfe():
    X = datasets.load("digits").X_train[:700]
    errors = {}
    for name in ("rff", "jl", "frank_wolfe", "giga"):
        make = getattr(methods, name)
        for seed in range(2):
            features = make(
                100, gamma="median", nonlinearity="cos", random_state=seed
            ).fit(X)
            errors.setdefault(name, []).append(metrics.kernel_error(features, X))
    # plain features: relative error about 0.2 ± 0.02, GIGA's 0.1 ± 0.005
    assert max(errors["giga"]) < 0.7 * min(errors["rff"])
    assert max(errors["giga"]) < 0.7 * min(errors["jl"])
    assert np.mean(errors["giga"]) < np.mean(errors["frank_wolfe"])


def test_compression_after_a_sparse_projection():
    """A million sparse columns are projected to 50, then compressed by GIGA."""
    rng = np.random.default_rng(0)
    X = sparse.random(300, 1 << 20, density=2e-5, format="csr", rng=rng)
    pipeline = make_pipeline(
        RandomProjection(50, projection="sparse", random_state=0),
        methods.giga(32, n_candidates=500, random_state=0),
    )
    assert pipeline.fit_transform(X).shape == (300, 32)


def test_grid_search_names_and_learners():
    X, y = data(120, D), np.arange(120) % 2
    pipeline = make_pipeline(
        methods.giga(8, n_candidates=60, random_state=0), KernelClassifier(8)
    )
    grid = {
        "randomfeatures__compression__n_candidates": [40, 60],
        "randomfeatures__compression__target": ["kernel", "features"],
    }
    assert len(GridSearchCV(pipeline, grid, cv=2).fit(X, y).cv_results_["params"]) == 4
    by_name = RandomFeatures(8, compression="giga", random_state=0).fit(X)
    by_object = RandomFeatures(8, compression=compression.GIGA(), random_state=0).fit(X)
    assert_array_equal(by_name.transform(X), by_object.transform(X))
    model = KernelClassifier("giga", random_state=0).fit(X, X[:, 0] > 0)
    assert model.score(X, X[:, 0] > 0) > 0.9
    assert model.features_.n_components == 256


@parametrize_with_checks(
    [
        RandomFeatures(compression=compression.GIGA(40)),
        RandomFeatures(compression=compression.FrankWolfe(40), nonlinearity="cos"),
        RandomFeatures(compression=compression.JL(40)),
    ]
)
@pytest.mark.filterwarnings("ignore:.*kept . of n_components")
def test_scikit_learn_conventions(estimator, check):
    check(estimator.set_params(n_components=4))


@pytest.mark.parametrize("mixing", ["dense", "sorf", "sparse"])
def test_jl_mixes_the_candidates(mixing):
    X = data(N, D)
    features = compressed(compression.JL(CANDIDATES, mixing), 24)
    V = features.feature_map_.linear.to_dense()
    assert_array_equal(features.feature_map_.weights_, np.ones(24))
    assert V.shape == (24, CANDIDATES)
    assert_allclose(
        features.transform(X), all_candidates().transform(X) @ V.T, atol=1e-10
    )
    single = features.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, features.transform(X), atol=1e-4)


def test_compressed_compressive_features_can_be_split():
    X = data(N, D)
    for spec in (compression.GIGA(CANDIDATES), compression.JL(CANDIDATES)):
        features = compressed(spec, projection="compressive")
        P, second = features.feature_map_.split()
        assert P.shape == (2, D)
        assert_allclose(second(P.apply(X)), features.transform(X), atol=1e-12)


@pytest.mark.parametrize("spec", GREEDY)
def test_warning_if_fewer_columns_are_kept(spec):
    """On constant rows all candidates are proportional, and the largest is enough."""
    with pytest.warns(UserWarning, match="kept 1 of n_components=8 columns"):
        features = compressed(spec(CANDIDATES), 8, X=np.ones((20, 3)))
    assert features.transform(np.ones((2, 3))).shape == (2, 1)
    assert len(features.get_feature_names_out()) == 1
    assert features.compression_.weights < CANDIDATES
    with pytest.warns(UserWarning, match="kept 2 of n_components=8 columns"):
        compressed(spec(CANDIDATES), 8, nonlinearity="cos_sin", X=np.ones((20, 3)))


@pytest.mark.parametrize("spec", GREEDY)
def test_vanishing_candidates_are_never_selected(spec):
    """For instance, cos(ω·0 + b) with b = π/2 is zero on zero rows."""
    rng = np.random.default_rng(0)
    F = rng.normal(size=(10, 40))
    F[:, ::2] = 0
    pairs = products.AllPairs(F, np.eye(10), 40)
    no_units = np.empty(0, dtype=int), np.empty(0)
    steps = spec(40).steps(problem_of(pairs), *no_units)
    units = [step.unit for step, _ in zip(steps, range(50), strict=False)]
    assert len(units) > 2 and all(unit % 2 for unit in units)


def test_error_if_no_candidate_agrees_with_the_target(monkeypatch):
    monkeypatch.setattr(products.AllPairs, "_target", lambda self, K: np.zeros(120))
    with pytest.raises(ValueError, match="no candidate agrees with the target"):
        compressed(compression.GIGA(CANDIDATES))


def test_reprs_are_one_line():
    features = compressed(compression.GIGA(CANDIDATES))
    assert repr(features.feature_map_) == "FeatureMap(6 features → 16, float64)"
    assert repr(features.compression_).startswith("Selection(16 units kept, error 0.")


def test_plot_of_errors():
    pytest.importorskip("matplotlib").use("Agg")
    selection = compressed(compression.GIGA(CANDIDATES)).compression_
    axes = selection.plot()
    assert_array_equal(axes.lines[0].get_ydata(), selection.errors)
    assert selection.plot(axes) is axes


BAD = [
    (compression.GIGA(10), "GIGA: n_components=16 columns cannot be kept of n_cand"),
    (compression.JL(10), "JL: n_components=16 columns cannot be kept of n_candidates"),
    (compression.GIGA(0), "n_candidates must be a positive integer, got 0"),
    (compression.GIGA(120, n_pairs=0), "n_pairs must be a positive integer, got 0"),
    (compression.GIGA(120, n_pairs=-5), "n_pairs must be a positive integer, got -5"),
    (compression.GIGA(120, n_rows=0), "n_rows must be a positive integer, got 0"),
    (compression.FrankWolfe(120, target="y"), "target must be one of 'kernel', 'feat"),
    (compression.JL(120, "zip"), "JL: projection must be one of 'auto'.*got 'zip'"),
    (compression.GIGA(120, n_pairs=10**8), "n_pairs=100000000 with 120 columns do not"),
    (compression.GIGA(120).set_params(refit="yes"), "refit must be one of True, False"),
    (compression.GIGA(120, n_rows=1), "need at least 2 rows.*got 1 sample"),
]


@pytest.mark.parametrize("spec, message", BAD, ids=lambda b: str(b)[:40])
def test_invalid_parameters(spec, message):
    with pytest.raises(ValueError, match=message):
        compressed(spec)


@pytest.mark.parametrize("spec", GREEDY)
def test_invalid_rows(spec):
    with pytest.raises(ValueError, match=r"need at least 2 rows.*got 1 sample"):
        compressed(spec(CANDIDATES), X=data(1, D))
    one_row = np.eye(1, N)[0]
    for n_pairs in (None, 50):
        features = RandomFeatures(4, compression=spec(CANDIDATES, n_pairs=n_pairs))
        with pytest.raises(ValueError, match="at least 2"):
            features.fit(data(N, D), sample_weight=one_row)
    with pytest.raises(NotFittedError):
        features.transform(data(N, D))
    with pytest.raises(ValueError, match="n_candidates must be even"):
        compressed(spec(121), nonlinearity="cos_sin")


def test_weights_without_compression_are_one():
    features = all_candidates()
    assert_array_equal(features.feature_map_.weights_, np.ones(CANDIDATES))
    assert features.compression_ is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features.set_params(n_components=8, compression="giga").fit(data(N, D))
    assert features.feature_map_.weights_.shape == (8,)


def test_blocks_do_not_change_products(monkeypatch):
    """Targets and Gram matrices in blocks of three equal the naive sums."""
    monkeypatch.setattr(products, "GRAM_COLUMNS", 3)
    monkeypatch.setattr(products, "PAIRS_AT_ONCE", 3)
    rows = np.random.default_rng(0).normal(size=(7, 2))
    features = RandomFeatures(16, gamma=0.5, random_state=0).fit(rows)
    map_, n_units = features.feature_map_, 8
    weight = np.arange(1.0, 8.0)
    Z = map_(rows).reshape(7, 2, n_units)
    R = np.einsum("iau,jau->uij", Z, Z)  # contributions of units to the kernel
    pair_roots = np.sqrt(np.outer(weight, weight))
    pairs = products.all_pairs(map_, rows, weight, None)
    flat = (R * pair_roots).reshape(n_units, -1)
    target = flat.sum(axis=0)
    assert_allclose(products.gram(pairs), flat @ flat.T, atol=1e-12)
    assert_allclose(pairs.target, flat @ target, atol=1e-12)
    assert pairs.target_norm == pytest.approx(np.linalg.norm(target))
    i, j = np.array([0, 1, 2, 3, 6, 5, 4]), np.array([1, 2, 0, 6, 3, 4, 0])
    sampled = products.sampled_pairs(map_, rows, (i, j), weight, None)
    sampled_R = R[:, i, j] * np.sqrt(weight)
    assert_allclose(products.gram(sampled), sampled_R @ sampled_R.T, atol=1e-12)
    assert_allclose(sampled.target, sampled_R @ sampled_R.sum(axis=0), atol=1e-12)
    exact = features.kernel_(rows)[i, j] * np.sqrt(weight)
    with_kernel = products.sampled_pairs(map_, rows, (i, j), weight, features.kernel_)
    assert_allclose(with_kernel.target, sampled_R @ exact, atol=1e-12)


@pytest.mark.parametrize("n_pairs", [None, 40])
@pytest.mark.parametrize("target", ["kernel", "features"])
def test_target_and_pair_weights(target, n_pairs, monkeypatch):
    """Pairs have weight w_i w_j, and a common factor of all weights has no effect."""
    calls = []
    make_pairs = greedy.all_pairs if n_pairs is None else greedy.sampled_pairs

    def recorded(candidates, X, *rest):
        calls.append(rest)
        return make_pairs(candidates, X, *rest)

    monkeypatch.setattr(greedy, make_pairs.__name__, recorded)
    rows = np.random.default_rng(0).normal(size=(30, 2))
    weight = np.linspace(1, 3, 30)
    kept = []
    for factor in (1.0, 1e-200):
        spec = GIGA(n_candidates=40, target=target, n_pairs=n_pairs)
        model = RandomFeatures(8, gamma=0.5, compression=spec, random_state=0)
        kept.append(model.fit(rows, sample_weight=factor * weight).compression_.kept)
        assert (calls[-1][-1] is None) == (target == "features")
        used_weight = calls[-1][-2]
        assert used_weight.max() <= 1
        if n_pairs is not None:
            i, j = calls[-1][0]
            assert_allclose(used_weight, weight[i] * weight[j] / 9)
    assert_array_equal(*kept)


@pytest.mark.parametrize("spec", [GIGA, FrankWolfe])
def test_errors_name_the_parameter(spec):
    kind, rows = spec.__name__, np.random.default_rng(0).normal(size=(6, 2))

    def check_error(match, **parameters):
        with pytest.raises(ValueError, match=match):
            RandomFeatures(4, compression=spec(**parameters)).fit(rows)

    check_error(f"{kind}: target must be one of", target="nothing")
    check_error(f"{kind}: refit must be one of", refit="yes")
    check_error(f"{kind}: n_rows must be a positive integer", n_rows=0)
    check_error(rf"{kind}: n_pairs .*\(Or None: all pairs of n_rows", n_pairs=0)
    check_error(f"{kind}: n_candidates must be a positive integer", n_candidates=0)
    check_error(f"{kind}: features are compared on pairs", n_rows=1)


def test_error_if_the_sample_does_not_fit_into_memory(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(20, 2))
    monkeypatch.setattr(greedy, "SAMPLE_BYTES", 8 * 20 * 60 - 1)
    for parameters, match in (
        ({}, r"GIGA: n_rows=20 with 60 columns do not fit"),
        ({"n_pairs": 30}, r"GIGA: n_pairs=30 with 40 columns do not fit"),
    ):
        spec = GIGA(n_candidates=40, **parameters)
        with pytest.raises(ValueError, match=match):
            RandomFeatures(4, compression=spec).fit(rows)
    monkeypatch.setattr(greedy, "SAMPLE_BYTES", 8 * 20 * 60)
    RandomFeatures(4, compression=GIGA(n_candidates=40), random_state=0).fit(rows)
