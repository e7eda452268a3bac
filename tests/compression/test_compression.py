"""GIGA, Frank-Wolfe and JL: against naive vectors, on every map, with bad input."""

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
from bochner.compression import greedy as problem
from bochner.compression import greedy as refit
from bochner.compression.frank_wolfe import FrankWolfe
from bochner.compression.giga import GIGA
from bochner.compression.greedy import Walk, non_negative
from checks import ALPHA, data

GREEDY = [compression.GIGA, compression.FrankWolfe]
NAIVE = {"GIGA": reference.giga, "FrankWolfe": reference.frank_wolfe}
PROJECTIONS = ["dense", "orthogonal", "sorf", "fastfood", "qmc", "circulant"]
N, D, CANDIDATES = 40, 6, 120


def drawn(nonlinearity="cos", projection="dense", X=None, seed=0):
    """All candidates, of the same seed as those behind a compression."""
    return RandomFeatures(
        CANDIDATES,
        gamma=0.2,
        projection=projection,
        nonlinearity=nonlinearity,
        random_state=seed,
    ).fit(data(N, D) if X is None else X)


def compressed(spec, n=16, nonlinearity="cos", projection="dense", X=None, seed=0):
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
def test_gram_form_is_the_naive_walk_step_by_step(spec, nonlinearity, target):
    X, all_of_them = data(N, D), drawn(nonlinearity)
    n_units = all_of_them.feature_map_.nonlinearity.n_units
    R = reference.pair_functions(all_of_them.transform(X), n_units)
    r = all_of_them.kernel_(X).ravel() if target == "kernel" else R.sum(axis=0)
    few = spec(CANDIDATES, target=target, refit=False)
    pairs = products.all_pairs(
        all_of_them.feature_map_,
        X,
        np.ones(N),
        all_of_them.kernel_ if target == "kernel" else None,
    )
    nothing = np.empty(0, dtype=int), np.empty(0)
    steps = few.steps(problem.problem_of(pairs), *nothing)
    w, count = np.zeros(n_units), 0
    walk = zip(steps, NAIVE[spec.__name__](R, r, 25), strict=False)
    for step, expected in walk:
        w = step.shrink * w
        w[step.unit] += step.added
        assert_allclose(w, expected, atol=1e-9 * expected.max())
        error = np.linalg.norm(expected @ R - r) / np.linalg.norm(r)
        assert step.error == pytest.approx(error, abs=1e-8)
        count += 1
    assert count == 25


@pytest.mark.parametrize("spec", GREEDY)
def test_sampled_pairs_are_the_naive_walk(spec):
    X, all_of_them = data(N, D), drawn()
    i, j = greedy.distinct_pairs(N, 300, Stream(3))
    assert (i != j).all() and i.min() >= 0 and max(i.max(), j.max()) < N
    Z = all_of_them.transform(X)
    R, r = (Z[i] * Z[j]).T, all_of_them.kernel_(X)[i, j]
    pairs = products.sampled_pairs(
        all_of_them.feature_map_, X, (i, j), np.ones(300), all_of_them.kernel_
    )
    found = spec(CANDIDATES, refit=False).select(problem.problem_of(pairs), 12)
    steps = NAIVE[spec.__name__](R, r, 40)
    expected = next(w for w in steps if np.count_nonzero(w) == 12)
    w = np.zeros(CANDIDATES)
    w[found.kept] = found.weights
    assert_allclose(w, expected, atol=1e-9)


@pytest.mark.parametrize("n_pairs", [None, 200])
@pytest.mark.parametrize("spec", GREEDY)
def test_products_on_demand_choose_the_same(monkeypatch, spec, n_pairs):
    whole = compressed(spec(CANDIDATES, n_pairs=n_pairs))
    monkeypatch.setattr(problem, "GRAM_BYTES", 0)
    on_demand = compressed(spec(CANDIDATES, n_pairs=n_pairs))
    assert_array_equal(whole.compression_.kept, on_demand.compression_.kept)
    assert_allclose(whole.compression_.weights, on_demand.compression_.weights)


def test_blocks_of_products(monkeypatch):
    X, all_of_them = data(N, D), drawn("cos_sin")
    map_, kernel = all_of_them.feature_map_, all_of_them.kernel_
    R = reference.pair_functions(all_of_them.transform(X), 60)
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
def test_the_error_it_tells_is_the_error_it_has(spec, nonlinearity, refit):
    """All rows are sampled, so the reported error is that of the kernel itself."""
    X = data(N, D)
    features = compressed(spec(CANDIDATES, refit=refit), nonlinearity=nonlinearity)
    found = features.compression_
    assert found.error == pytest.approx(metrics.kernel_error(features, X), rel=1e-6)
    assert (np.diff(found.errors) <= 1e-12).all()
    assert found.error <= found.errors[-1] + 1e-12
    assert (found.weights > 0).all() and (features.feature_map_.weights_ > 0).all()
    assert (
        len(set(found.kept))
        == len(found.kept)
        == features.transform(X).shape[1] / (2 if nonlinearity == "cos_sin" else 1)
    )


@pytest.mark.parametrize("spec", GREEDY)
def test_refit_is_non_negative_least_squares(spec):
    X, all_of_them = data(N, D), drawn()
    R = reference.pair_functions(all_of_them.transform(X), CANDIDATES)
    found = compressed(spec(CANDIDATES)).compression_
    expected, _ = nnls(R[found.kept].T, all_of_them.kernel_(X).ravel())
    assert_allclose(found.weights, expected, rtol=1e-6)


@pytest.mark.parametrize("n, d", [(60, 12), (200, 150)])
def test_least_squares_where_bounds_hold(n, d):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(n, d))
    b = A @ rng.normal(size=d)
    G, target = A.T @ A, A.T @ b
    w = non_negative(G, target)
    assert (w >= 0).all() and (w == 0).sum() > d / 5
    assert_allclose(w, nnls(A, b)[0], atol=1e-8)
    slope = G @ w - target  # the optimality conditions
    assert slope.min() > -1e-8 * n and abs(slope @ w) < 1e-7 * n


def test_least_squares_gives_up_nothing_when_exchanges_cycle(monkeypatch):
    """With no patience at all it exchanges one at a time, and gets there."""
    monkeypatch.setattr(refit, "PATIENCE", 0)
    A = np.random.default_rng(1).normal(size=(40, 30))
    b = A @ np.random.default_rng(2).normal(size=30)
    assert_allclose(non_negative(A.T @ A, A.T @ b), nnls(A, b)[0], atol=1e-8)


def test_dependent_features_are_refitted_too():
    """One column of data: features soon depend on each other, and more cannot hurt."""
    X = data(300, 1)
    errors = []
    for n in (10, 20, 30, 100):
        features = methods.giga(n, gamma=1.0, n_candidates=1000, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fewer may be kept
            errors.append(features.fit(X).compression_.error)
    assert errors[:3] == sorted(errors[:3], reverse=True)
    assert errors[-1] < 0.002  # where 100 are too many for float64 to tell apart


def test_units_that_lose_their_weight_are_replaced():
    """Three features, many units: the refit drops some, and others come in."""
    X, few = data(N, 3), compression.GIGA(1000)
    features = methods.giga(64, gamma=0.2, n_candidates=1000, random_state=0).fit(X)
    assert features.transform(X).shape == (N, 64)
    everything = methods.rff(1000, gamma=0.2, nonlinearity="cos", random_state=0)
    map_, kernel = everything.fit(X).feature_map_, features.kernel_
    pairs = products.all_pairs(map_, X, np.ones(N), kernel)
    once = Walk(problem.problem_of(pairs), few.steps)
    once.until(64)
    once.refit()
    assert len(once) < 64


@pytest.mark.parametrize("nonlinearity", ["cos", "cos_sin"])
@pytest.mark.parametrize("projection", [*PROJECTIONS, "block_diagonal", "compressive"])
def test_kept_features_are_weighted_candidates(projection, nonlinearity):
    """Whatever the structure: √w_u z_u of the candidates with the same seed."""
    X = data(N, D)
    features = compressed(
        compression.GIGA(CANDIDATES), nonlinearity=nonlinearity, projection=projection
    )
    everything = drawn(nonlinearity, projection).transform(X)
    found, parts = features.compression_, 2 if nonlinearity == "cos_sin" else 1
    Z = everything.reshape(N, parts, -1)[:, :, found.kept]
    expected = (np.sqrt(found.weights) * Z).reshape(N, -1)
    assert_allclose(features.transform(X), expected, atol=1e-10)
    if nonlinearity == "cos_sin":  # one weight per frequency: the diagonal is constant
        assert np.ptp(np.diag(features.approximate_kernel(X))) < 1e-12


def test_amplitudes_of_the_projection_are_kept():
    """A bias correction multiplies candidates; what is kept of them has it too."""
    X = data(N, D)
    blocks = projections.BlockDiagonal(2, bias_correction="scalar")
    features = compressed(compression.GIGA(CANDIDATES), projection=blocks)
    assert features.projection_.amplitude != 1
    found = features.compression_
    Z = drawn(projection=blocks).transform(X)[:, found.kept]
    assert_allclose(features.transform(X), np.sqrt(found.weights) * Z, atol=1e-12)


def test_the_path_is_nested():
    few = compressed(compression.GIGA(CANDIDATES, refit=False), 8).compression_
    more = compressed(compression.GIGA(CANDIDATES, refit=False), 20).compression_
    assert_array_equal(more.kept[:8], few.kept)
    assert_allclose(more.errors[:8], few.errors)


def test_single_precision_keeps_the_same():
    X = data(N, D, np.float32)
    single = compressed(compression.GIGA(CANDIDATES), X=X)
    double = compressed(compression.GIGA(CANDIDATES), X=X.astype(np.float64))
    assert_array_equal(single.compression_.kept, double.compression_.kept)
    assert single.transform(X).dtype == single.feature_map_.amplitudes.dtype == X.dtype
    assert_allclose(single.transform(X), double.transform(X), atol=1e-5)


@pytest.mark.parametrize("target", ["kernel", "features"])
@pytest.mark.parametrize("spec", GREEDY)
def test_weights_are_repetitions(spec, target):
    X, weight = data(N, D), np.arange(N) % 3
    few = spec(CANDIDATES, target=target)
    features = RandomFeatures(16, gamma=0.2, compression=few, random_state=0)
    weighted = features.fit(X, sample_weight=weight).compression_
    repeated = features.fit(np.repeat(X, weight, axis=0)).compression_
    assert_array_equal(weighted.kept, repeated.kept)
    assert_allclose(weighted.weights, repeated.weights, rtol=1e-6)


def test_weights_of_sampled_pairs():
    """Rows of no weight take no part; a pair counts by the product of its weights."""
    X, weight = data(N, D), np.repeat([1.0, 0.0], N // 2)
    few = compression.GIGA(CANDIDATES, n_pairs=400)
    features = RandomFeatures(8, gamma=0.2, compression=few, random_state=0)
    one = features.fit(X, sample_weight=weight).compression_
    other = features.fit(X[: N // 2]).compression_
    assert_array_equal(one.kept, other.kept)
    map_, kernel, places = drawn().feature_map_, kernels.Gaussian(0.2), np.arange(10)
    places = places, places + 10
    plain = products.sampled_pairs(map_, X, places, np.ones(10), kernel)
    counted = products.sampled_pairs(map_, X, places, np.arange(10.0), kernel)
    twice = np.repeat(np.arange(10), np.arange(10))
    expected = products.sampled_pairs(map_, X, (twice, twice + 10), np.ones(45), kernel)
    assert_allclose(counted.target, expected.target)
    assert_allclose(products.gram(counted), products.gram(expected), atol=1e-12)
    assert abs(counted.target - plain.target).max() > 0.1


def test_pairs_are_uniform_and_distinct():
    """χ² of 20,000 pairs over the 30 ordered pairs of six rows."""
    i, j = greedy.distinct_pairs(6, 20_000, Stream(0))
    counts = np.bincount(6 * i + j, minlength=36).reshape(6, 6)
    assert not counts.diagonal().any()
    expected = 20_000 / 30
    statistic = ((counts[~np.eye(6, dtype=bool)] - expected) ** 2).sum() / expected
    assert statistic < chi2.isf(ALPHA, 29)


@pytest.mark.parametrize("spec", [*GREEDY, compression.JL])
def test_csr_is_dense(spec):
    X = data(N, D)
    dense = compressed(spec(CANDIDATES))
    csr = compressed(spec(CANDIDATES), X=sparse.csr_matrix(X))
    assert_allclose(csr.transform(sparse.csr_matrix(X)), dense.transform(X), atol=1e-10)


def test_lower_error_than_plain_and_mixed_features_of_the_same_size():
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


def test_sparse_projection_first():
    """A million columns to 50, then GIGA, without a dense row of the data."""
    rng = np.random.default_rng(0)
    X = sparse.random(300, 1 << 20, density=2e-5, format="csr", rng=rng)
    pipeline = make_pipeline(
        RandomProjection(50, projection="sparse", random_state=0),
        methods.giga(32, n_candidates=500, random_state=0),
    )
    assert pipeline.fit_transform(X).shape == (300, 32)


def test_names_grids_and_learners():
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
@pytest.mark.filterwarnings("ignore:.*columns asked for")
def test_scikit_learn(estimator, check):
    check(estimator.set_params(n_components=4))


@pytest.mark.parametrize("mixing", ["dense", "sorf", "sparse"])
def test_jl_mixes_the_candidates(mixing):
    X = data(N, D)
    features = compressed(compression.JL(CANDIDATES, mixing), 24)
    V = features.feature_map_.linear.to_dense()
    assert_array_equal(features.feature_map_.weights_, np.ones(24))
    assert V.shape == (24, CANDIDATES)
    assert_allclose(features.transform(X), drawn().transform(X) @ V.T, atol=1e-10)
    single = features.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, features.transform(X), atol=1e-4)


def test_compressions_of_measurements_split():
    X = data(N, D)
    for spec in (compression.GIGA(CANDIDATES), compression.JL(CANDIDATES)):
        features = compressed(spec, projection="compressive")
        P, second = features.feature_map_.split()
        assert P.shape == (2, D)
        assert_allclose(second(P.apply(X)), features.transform(X), atol=1e-12)


@pytest.mark.parametrize("spec", GREEDY)
def test_fewer_than_asked_for_is_said(spec):
    """Constant rows: all candidates are alike, and the largest is enough."""
    with pytest.warns(UserWarning, match="kept 1 of the 8 columns asked for"):
        features = compressed(spec(CANDIDATES), 8, X=np.ones((20, 3)))
    assert features.transform(np.ones((2, 3))).shape == (2, 1)
    assert len(features.get_feature_names_out()) == 1
    assert features.compression_.weights < CANDIDATES
    with pytest.warns(UserWarning, match="kept 2 of the 8 columns asked for"):
        compressed(spec(CANDIDATES), 8, nonlinearity="cos_sin", X=np.ones((20, 3)))


@pytest.mark.parametrize("spec", GREEDY)
def test_candidates_that_vanish_are_never_chosen(spec):
    """cos(ω·0 + b) with b = π/2 is zero on zero rows, whatever the frequency."""
    rng = np.random.default_rng(0)
    F = rng.normal(size=(10, 40))
    F[:, ::2] = 0
    pairs = products.AllPairs(F, np.eye(10), 40)
    nothing = np.empty(0, dtype=int), np.empty(0)
    steps = spec(40).steps(problem.problem_of(pairs), *nothing)
    units = [step.unit for step, _ in zip(steps, range(50), strict=False)]
    assert len(units) > 2 and all(unit % 2 for unit in units)


def test_nothing_to_choose_from(monkeypatch):
    monkeypatch.setattr(products.AllPairs, "_target", lambda self, K: np.zeros(120))
    with pytest.raises(ValueError, match="no candidate agrees with the target"):
        compressed(compression.GIGA(CANDIDATES))


def test_values_are_shown_in_a_line():
    features = compressed(compression.GIGA(CANDIDATES))
    assert repr(features.feature_map_) == "FeatureMap(6 features → 16, float64)"
    assert repr(features.compression_).startswith("Selection(16 units kept, error 0.")


def test_curve_is_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    found = compressed(compression.GIGA(CANDIDATES)).compression_
    axes = found.plot()
    assert_array_equal(axes.lines[0].get_ydata(), found.errors)
    assert found.plot(axes) is axes


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
    (compression.GIGA(120, n_rows=1), "1 sample has none; fit on at least 2"),
]


@pytest.mark.parametrize("spec, message", BAD, ids=lambda b: str(b)[:40])
def test_bad_parameters(spec, message):
    with pytest.raises(ValueError, match=message):
        compressed(spec)


@pytest.mark.parametrize("spec", GREEDY)
def test_bad_rows(spec):
    with pytest.raises(ValueError, match="1 sample has none; fit on at least 2"):
        compressed(spec(CANDIDATES), X=data(1, D))
    one = np.eye(1, N)[0]
    for n_pairs in (None, 50):
        features = RandomFeatures(4, compression=spec(CANDIDATES, n_pairs=n_pairs))
        with pytest.raises(ValueError, match="at least 2"):
            features.fit(data(N, D), sample_weight=one)
    with pytest.raises(NotFittedError):
        features.transform(data(N, D))
    with pytest.raises(ValueError, match="n_candidates must be even"):
        compressed(spec(121), nonlinearity="cos_sin")


def test_plain_maps_weigh_one():
    features = drawn()
    assert_array_equal(features.feature_map_.weights_, np.ones(CANDIDATES))
    assert features.compression_ is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features.set_params(n_components=8, compression="giga").fit(data(N, D))
    assert features.feature_map_.weights_.shape == (8,)


def test_products_of_blocks_are_those_of_the_whole(monkeypatch):
    """Targets and Gram matrices cut into blocks of three, beside the naive sums."""
    monkeypatch.setattr(products, "GRAM_COLUMNS", 3)
    monkeypatch.setattr(products, "PAIRS_AT_ONCE", 3)
    rows = np.random.default_rng(0).normal(size=(7, 2))
    features = RandomFeatures(16, gamma=0.5, random_state=0).fit(rows)
    drawn, n_units = features.feature_map_, 8
    weight = np.arange(1.0, 8.0)
    Z = drawn(rows).reshape(7, 2, n_units)
    R = np.einsum("iau,jau->uij", Z, Z)  # a unit's share of the kernel
    counts = np.sqrt(np.outer(weight, weight))
    pairs = products.all_pairs(drawn, rows, weight, None)
    flat = (R * counts).reshape(n_units, -1)
    whole = flat.sum(axis=0)
    assert_allclose(products.gram(pairs), flat @ flat.T, atol=1e-12)
    assert_allclose(pairs.target, flat @ whole, atol=1e-12)
    assert pairs.target_norm == pytest.approx(np.linalg.norm(whole))
    i, j = np.array([0, 1, 2, 3, 6, 5, 4]), np.array([1, 2, 0, 6, 3, 4, 0])
    sampled = products.sampled_pairs(drawn, rows, (i, j), weight, None)
    some = R[:, i, j] * np.sqrt(weight)
    assert_allclose(products.gram(sampled), some @ some.T, atol=1e-12)
    assert_allclose(sampled.target, some @ some.sum(axis=0), atol=1e-12)
    exact = features.kernel_(rows)[i, j] * np.sqrt(weight)
    aimed = products.sampled_pairs(drawn, rows, (i, j), weight, features.kernel_)
    assert_allclose(aimed.target, some @ exact, atol=1e-12)


@pytest.mark.parametrize("n_pairs", [None, 40])
@pytest.mark.parametrize("target", ["kernel", "features"])
def test_targets_are_what_was_asked_for(target, n_pairs, monkeypatch):
    """… and a common factor of all weights changes nothing, a pair counting w_i w_j."""
    seen = []
    made = greedy.all_pairs if n_pairs is None else greedy.sampled_pairs

    def watched(candidates, X, *rest):
        seen.append(rest)
        return made(candidates, X, *rest)

    monkeypatch.setattr(greedy, made.__name__, watched)
    rows = np.random.default_rng(0).normal(size=(30, 2))
    weight = np.linspace(1, 3, 30)
    kept = []
    for factor in (1.0, 1e-200):
        spec = GIGA(n_candidates=40, target=target, n_pairs=n_pairs)
        model = RandomFeatures(8, gamma=0.5, compression=spec, random_state=0)
        kept.append(model.fit(rows, sample_weight=factor * weight).compression_.kept)
        assert (seen[-1][-1] is None) == (target == "features")
        counts = seen[-1][-2]
        assert counts.max() <= 1
        if n_pairs is not None:
            i, j = seen[-1][0]
            assert_allclose(counts, weight[i] * weight[j] / 9)
    assert_array_equal(*kept)


@pytest.mark.parametrize("spec", [GIGA, FrankWolfe])
def test_parameters_are_refused_by_name(spec):
    kind, rows = spec.__name__, np.random.default_rng(0).normal(size=(6, 2))

    def refused(match, **given):
        with pytest.raises(ValueError, match=match):
            RandomFeatures(4, compression=spec(**given)).fit(rows)

    refused(f"{kind}: target must be one of", target="nothing")
    refused(f"{kind}: refit must be one of", refit="yes")
    refused(f"{kind}: n_rows must be a positive integer", n_rows=0)
    refused(rf"{kind}: n_pairs .*\(Or None: all pairs of n_rows", n_pairs=0)
    refused(f"{kind}: n_candidates must be a positive integer", n_candidates=0)
    refused(f"{kind}: features are compared on pairs", n_rows=1)


def test_samples_that_do_not_fit_are_refused(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(20, 2))
    monkeypatch.setattr(greedy, "SAMPLE_BYTES", 8 * 20 * 60 - 1)
    for given, match in (
        ({}, r"GIGA: n_rows=20 with 60 columns do not fit"),
        ({"n_pairs": 30}, r"GIGA: n_pairs=30 with 40 columns do not fit"),
    ):
        spec = GIGA(n_candidates=40, **given)
        with pytest.raises(ValueError, match=match):
            RandomFeatures(4, compression=spec).fit(rows)
    monkeypatch.setattr(greedy, "SAMPLE_BYTES", 8 * 20 * 60)
    RandomFeatures(4, compression=GIGA(n_candidates=40), random_state=0).fit(rows)
