"""CompactMap: learned maps as a scikit-learn transformer."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import bochner
from bochner import (
    CompactMap,
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    RandomFeatures,
    datasets,
    kernels,
    methods,
    metrics,
    projections,
)
from bochner._core import parallel
from bochner.features.compact import training
from bochner.features.compact.model import Model
from checks import data

DIGITS = datasets.load("digits")


@parametrize_with_checks(
    [
        CompactMap(max_iter=2),
        CompactMap(4, objective="regression", max_iter=2),
        CompactMap(4, objective="kernel", max_iter=2),
        CompactMap(4, projection="circulant", nonlinearity="cos_sin", max_iter=2),
        CompactMap(4, solver="pegasos", max_iter=2),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def classes(n=400, d=5, dtype=np.float64, seed=0):
    """Rows in three rings around the origin, which are not linearly separable."""
    X = np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)
    y = np.digitize(np.linalg.norm(X, axis=1), [1.7, 2.4])
    return X, np.array(["near", "middle", "far"])[y]


@pytest.fixture(scope="module")
def fitted():
    return CompactMap(24, random_state=0).fit(*classes())


@pytest.mark.parametrize("nonlinearity", ["cos", "cos_sin"])
@pytest.mark.parametrize("projection", ["dense", "circulant"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_are_cosines_of_the_learned_map(projection, nonlinearity, dtype):
    X, y = classes(dtype=dtype)
    features = CompactMap(
        12,
        projection=projection,
        nonlinearity=nonlinearity,
        max_iter=2,
        random_state=0,
    ).fit(X, y)
    F, learned = features.transform(X), features.feature_map_
    assert F.dtype == dtype and F.shape == (400, 12)
    Z = X.astype(np.float64) @ learned.linear.to_dense().T
    if nonlinearity == "cos":
        Z = Z + 2 * np.pi * learned.nonlinearity.biases
        expected = np.cos(Z) * np.sqrt(2 / 12)
    else:
        expected = np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(6)
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    assert_allclose(F, expected, atol=tolerance)
    S = F @ features.coef_.T + features.intercept_
    assert_allclose(features.decision_function(X), S, atol=10 * tolerance)
    assert_array_equal(features.predict(X), features.classes_[S.argmax(axis=1)])
    assert_allclose(features.transform(sparse.csr_matrix(X)), F, atol=tolerance)


def test_the_initial_map_is_that_of_random_features():
    """With a learning rate of almost zero, the map stays at its initial draw."""
    X, y = classes()
    options = {"search": False, "learning_rate": 1e-30, "max_iter": 1}
    for name in ("dense", "circulant"):
        compact = CompactMap(16, projection=name, random_state=3, **options).fit(X, y)
        random = RandomFeatures(
            16, projection=name, nonlinearity="cos", random_state=3
        ).fit(X)
        # phases are relative to the centre
        centred = random.transform(X - X.mean(axis=0))
        assert_allclose(compact.transform(X), centred, atol=1e-12)
    start = projections.Orthogonal()
    compact = CompactMap(5, start=start, random_state=3, **options).fit(X, y)
    W = compact.feature_map_.linear.to_dense()
    W = W / np.linalg.norm(W, axis=1, keepdims=True)
    assert_allclose(W @ W.T, np.eye(5), atol=1e-12)
    for name in ("fastfood", "sorf", "qmc"):
        fast = CompactMap(8, start=name, random_state=3, **options).fit(X, y)
        random = RandomFeatures(
            8, projection=name, nonlinearity="cos", random_state=3
        ).fit(X)
        centred = random.transform(X - X.mean(axis=0))
        assert_allclose(fast.transform(X), centred, atol=1e-12)


@pytest.mark.parametrize("nonlinearity", ["cos", "cos_sin"])
@pytest.mark.parametrize("projection", ["dense", "circulant"])
def test_learning_is_shift_invariant(projection, nonlinearity):
    """Rows far from the origin give the same scores as rows around the origin."""
    X, y = classes()
    features = CompactMap(
        16,
        projection=projection,
        nonlinearity=nonlinearity,
        gamma=0.1,
        max_iter=10,
        random_state=0,
    )
    scores = clone(features).fit(X, y).decision_function(X)
    shifted = clone(features).fit(X + 256, y)
    assert_allclose(shifted.decision_function(X + 256), scores, atol=1e-3)
    csr = clone(features).fit(sparse.csr_matrix(X + 256), y)
    assert_allclose(csr.decision_function(X + 256), scores, atol=1e-3)


def test_few_learned_features_are_better_than_many_random_ones():
    learned = CompactMap(16, random_state=0).fit(DIGITS.X_train, DIGITS.y_train)
    random = KernelClassifier(methods.rff(64, gamma="scale", random_state=0))
    random.fit(DIGITS.X_train, DIGITS.y_train)
    score = (learned.predict(DIGITS.X_test) == DIGITS.y_test).mean()
    assert score > random.score(DIGITS.X_test, DIGITS.y_test)
    assert learned.history_["held_out_error"][learned.best_iter_] < 0.1


@pytest.mark.parametrize("loss", ["hinge", "linear_hinge", "log"])
def test_every_loss_learns(loss):
    X, y = classes(1500)
    features = CompactMap(24, loss=loss, random_state=0).fit(X[:1000], y[:1000])
    assert (features.predict(X[1000:]) == y[1000:]).mean() > 0.85


def test_regression():
    X = data(1500, 3)
    y = 50 + 10 * np.sin(2 * X[:, 0]) * np.cos(X[:, 1])
    features = CompactMap(32, objective="regression", random_state=0)
    features.fit(X[:1000], y[:1000])
    predicted = features.predict(X[1000:])
    assert predicted.shape == (500,)
    assert np.var(predicted - y[1000:]) < 0.05 * np.var(y[1000:])
    both = CompactMap(32, objective="regression", random_state=0)
    both.fit(X[:1000], np.column_stack([y, -y])[:1000])
    assert both.predict(X[1000:]).shape == (500, 2)
    assert_allclose(both.coef_.shape, (2, 32))


@pytest.mark.parametrize("nonlinearity", ["cos", "cos_sin"])
@pytest.mark.parametrize("projection", ["dense", "circulant"])
def test_learned_features_approximate_kernels_better_than_random_ones(
    projection, nonlinearity
):
    X = np.random.default_rng(0).normal(size=(1000, 4))
    kernel = kernels.Gaussian(0.2)
    learned = CompactMap(
        16,
        objective="kernel",
        kernel=kernel,
        projection=projection,
        nonlinearity=nonlinearity,
        max_iter=30,
        random_state=0,
    ).fit(X[:500])
    error = metrics.kernel_error(learned, X[500:])
    random = [
        metrics.kernel_error(
            RandomFeatures(
                16, kernel=kernel, nonlinearity=nonlinearity, random_state=seed
            ).fit(X),
            X[500:],
        )
        for seed in range(5)
    ]
    assert error < 0.7 * min(random)
    assert learned.feature_map_.amplitudes is not None
    assert not hasattr(learned, "predict") and not hasattr(learned, "coef_")
    assert_allclose(
        learned.approximate_kernel(X[:3]),
        learned.transform(X[:3]) @ learned.transform(X[:3]).T,
    )


def test_phases_or_pairs_make_a_map_shift_invariant():
    """cos x cos y = ½[cos(x − y) + cos(x + y)]: the paper's Proposition 1 fails."""
    X, y = classes()
    shift = np.ones(5)
    changes = {}
    for name, options in {
        "none": {"phases": False},
        "pairs": {"nonlinearity": "cos_sin"},
    }.items():
        features = CompactMap(16, max_iter=2, random_state=0, **options).fit(X, y)
        here = features.approximate_kernel(X[:20])
        there = features.approximate_kernel(X[:20] + shift)
        changes[name] = np.abs(there - here).max()
        if name == "none":
            assert_array_equal(features.feature_map_.nonlinearity.biases, 0)
    assert changes["pairs"] < 1e-12
    assert changes["none"] > 0.1


def test_results_do_not_depend_on_threads(monkeypatch):
    X = np.random.default_rng(0).standard_normal((1100, 300), dtype=np.float32)
    y = X[:, 0] * X[:, 1] > 0
    n_threads, run = [], parallel._run
    monkeypatch.setattr(
        parallel, "_run", lambda share, n: (n_threads.append(n), run(share, n))
    )
    for projection in ("dense", "circulant"):
        matrices = []
        for n in (1, 2, 3):
            features = CompactMap(
                1024,
                projection=projection,
                batch_size=500,
                max_iter=1,
                gamma=1e-3,
                random_state=0,
            )
            with bochner.threads(n):
                features.fit(X, y)
            matrices.append(features.feature_map_.linear.to_dense())
        assert {1, 2, 3} <= set(n_threads)  # the work is large enough to be split
        for other in matrices[1:]:
            assert_array_equal(matrices[0], other)


def test_random_state_determines_the_result(fitted):
    X, y = classes()
    same = clone(fitted).fit(X, y)
    assert_array_equal(same.transform(X), fitted.transform(X))
    assert_array_equal(same.history_["held_out_loss"], fitted.history_["held_out_loss"])
    other = clone(fitted).set_params(random_state=1).fit(X, y)
    assert np.abs(other.transform(X) - fitted.transform(X)).max() > 1e-3
    copy = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(copy.predict(X), fitted.predict(X))


def test_history(fitted):
    history = fitted.history_
    n = fitted.n_iter_ + 1
    assert {len(column) for column in history.values()} == {n}
    assert_array_equal(history["epoch"], np.arange(n))
    assert history["held_out_loss"].argmin() == fitted.best_iter_
    assert np.isnan(history["loss"][0]) and np.isfinite(history["loss"][1:]).all()
    assert history["held_out_loss"][fitted.best_iter_] < 0.7
    assert (np.diff(history["seconds"]) > 0).all()


def test_the_bandwidth_search_starts_from_the_rule():
    X, y = classes()
    searched = CompactMap(16, max_iter=1, random_state=0).fit(10 * X, y)
    base = kernels.Gaussian("scale").resolve(10 * X).gamma
    factor = searched.kernel_.gamma / base
    assert np.log2(factor) == pytest.approx(round(np.log2(factor)))
    narrow = CompactMap(16, max_iter=1, gamma="cnm", random_state=0).fit(X, y)
    assert narrow.kernel_.gamma < 0.9 * kernels.Gaussian("cnm").resolve(X).gamma
    fixed = CompactMap(16, max_iter=1, gamma=0.3, random_state=0).fit(X, y)
    assert fixed.kernel_.gamma == 0.3
    plain = CompactMap(16, max_iter=1, search=False, random_state=0).fit(X, y)
    assert plain.kernel_.gamma == kernels.Gaussian("scale").resolve(X).gamma
    matern = CompactMap(16, kernel="matern", max_iter=1, random_state=0).fit(X, y)
    assert isinstance(matern.kernel_, kernels.Matern)


def test_verbose_reports_progress(capsys):
    X, y = classes()
    CompactMap(4, max_iter=1, random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""
    CompactMap(4, max_iter=1, random_state=0, verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("[CompactMap] start × 0.0625: held out ")
    assert lines[-1].startswith("[CompactMap] pass 1 of 1: loss ")


def test_partial_fit_learns_from_blocks():
    X, y = classes(6000)
    features = CompactMap(32, random_state=0)
    for start in range(0, 5000, 500):
        features.partial_fit(X[start : start + 500], y[start : start + 500])
    first = (features.predict(X[5000:]) == y[5000:]).mean()
    for _ in range(5):
        for start in range(0, 5000, 500):
            features.partial_fit(X[start : start + 500], y[start : start + 500])
    assert (features.predict(X[5000:]) == y[5000:]).mean() > max(first, 0.85)
    copy = pickle.loads(pickle.dumps(features))
    features.partial_fit(X[:500], y[:500])
    copy.partial_fit(X[:500], y[:500])
    assert_array_equal(copy.transform(X), features.transform(X))


def test_partial_fit_resumes_after_fit(fitted):
    X, y = classes(2000, seed=1)
    features = pickle.loads(pickle.dumps(fitted))
    before = (features.predict(X) == y).mean()
    features.partial_fit(X[:32], y[:32])
    assert abs((features.predict(X) == y).mean() - before) < 0.1  # resumed
    with pytest.raises(ValueError, match="label 'nowhere', which is not among"):
        features.partial_fit(X[:2], ["nowhere", "near"])
    named = CompactMap(4, random_state=0)
    named.partial_fit(X[:50], np.full(50, "near"), classes=["near", "middle", "far"])
    assert_array_equal(named.classes_, ["far", "middle", "near"])


@pytest.mark.parametrize("objective", ["classification", "regression", "kernel"])
@pytest.mark.parametrize("projection", ["dense", "circulant"])
def test_partial_fit_starts_from_the_fitted_map(objective, projection):
    """With steps of almost zero, map, head, amplitudes and input scales stay."""
    X, y = classes()
    y = X[:, 0] if objective == "regression" else y
    features = CompactMap(
        8,
        objective=objective,
        projection=projection,
        gamma=np.linspace(0.05, 0.5, 5),
        max_iter=3,
        random_state=0,
    ).fit(X, y)
    before = features.transform(X)
    features.set_params(learning_rate=1e-30).partial_fit(X, y)
    assert_allclose(features.transform(X), before, atol=1e-12)
    if objective != "kernel":
        expected = before @ features.coef_.T + features.intercept_
        scores = np.asarray(features.decision_function(X)).reshape(len(X), -1)
        assert_allclose(scores, expected, atol=1e-12)


def test_partial_fit_keeps_step_sizes_relative_to_input_scales():
    scale = np.array([1, 1e-3])
    X = np.random.default_rng(0).normal(size=(1000, 2))
    y = X[:, 0] * X[:, 1] > 0
    features = CompactMap(32, gamma=1 / scale**2, random_state=0).fit(X * scale, y)
    features.partial_fit(X * scale, y)
    assert (features.predict(X * scale) == y).mean() > 0.93


def test_partial_fit_with_pegasos_resumes_after_fit():
    X, y = classes(1000)
    features = CompactMap(16, solver="pegasos", random_state=0).fit(X, y)
    before = features.coef_
    features.partial_fit(X[:64], y[:64])
    assert np.corrcoef(before.ravel(), features.coef_.ravel())[0, 1] > 0.9


def test_errors_of_partial_fit():
    X, y = classes()
    features = CompactMap(8, batch_size=100, random_state=0)
    with pytest.raises(ValueError, match="one class only"):
        features.partial_fit(X, np.full(len(X), "near"))
    assert not hasattr(features, "feature_map_")
    features.partial_fit(X[:200], y[:200]).partial_fit(X[200:250], y[200:250])
    for change in ({"n_components": 16}, {"nonlinearity": "cos_sin"}, {"loss": "log"}):
        changed = pickle.loads(pickle.dumps(features)).set_params(**change)
        with pytest.raises(ValueError, match=r"must have the parameters.*call fit"):
            changed.partial_fit(X, y)
    regression = CompactMap(8, objective="regression")
    with pytest.raises(ValueError, match="objective must be one of 'classification'"):
        regression.partial_fit(X, X[:, 0], classes=[0, 1])


def test_a_diverging_block_does_not_change_the_map():
    X, y = (A[:300] for A in classes())
    X = X.astype(np.float32)
    diverging = CompactMap(8, learning_rate=1e38, random_state=0)
    for _ in range(2):
        with pytest.warns(ConvergenceWarning, match="the loss has diverged"):
            diverging.partial_fit(X, y)
        assert not hasattr(diverging, "feature_map_")
    learned = CompactMap(8, max_iter=2, search=False, random_state=0).fit(X, y)
    before = learned.transform(X)
    with pytest.warns(ConvergenceWarning, match="the loss has diverged"):
        learned.set_params(learning_rate=1e38).partial_fit(X, y)
    assert_array_equal(learned.transform(X), before)


def test_refit_deletes_attributes_of_the_earlier_fit(fitted):
    X, _ = classes()
    features = pickle.loads(pickle.dumps(fitted))
    features.set_params(objective="kernel", max_iter=1).fit(X)
    assert not hasattr(features, "coef_") and not hasattr(features, "classes_")


def test_learners_reject_maps_for_another_task():
    X, y = classes()
    with pytest.raises(ValueError, match="classification; take objective='regression'"):
        KernelRegressor(CompactMap(8)).fit(X, np.arange(len(X)))
    with pytest.raises(ValueError, match="regression; take objective='classification'"):
        KernelClassifier(CompactMap(8, objective="regression")).fit(X, y)


def test_classifiers_refit_the_linear_layer():
    X, y = DIGITS.X_train, DIGITS.y_train
    learned = CompactMap(24, random_state=0).fit(X, y)
    own_score = (learned.predict(DIGITS.X_test) == DIGITS.y_test).mean()
    refitted = KernelClassifier(FrozenEstimator(learned)).fit(X, y)
    assert refitted.score(DIGITS.X_test, DIGITS.y_test) > own_score - 0.02
    joint = KernelClassifier(CompactMap(24), random_state=0).fit(X, y)
    assert joint.score(DIGITS.X_test, DIGITS.y_test) > 0.95
    assert joint.features_.random_state is not None


def test_learners_accept_compact_by_name():
    X, y = classes(120, 2)
    by_name = KernelClassifier("compact", random_state=0).fit(X, y)
    assert by_name.features_.n_components == 256
    regressor = KernelRegressor("compact", random_state=0).fit(X, X[:, 0])
    assert regressor.features_.objective == "regression"
    assert regressor.score(X, X[:, 0]) > 0.9
    pca = KernelPCA(2, features="compact_circulant", random_state=0).fit(X[:40])
    assert pca.features_.objective == "kernel"


def test_pipelines_grid_search_and_data_frames():
    X, y = classes()
    frame = pd.DataFrame(X, columns=list("abcde"))
    pipe = make_pipeline(StandardScaler(), CompactMap(8, max_iter=2, random_state=0))
    out = pipe.set_output(transform="pandas").fit_transform(frame, y)
    assert pipe.score(frame, y) == (pipe.predict(frame) == y).mean() > 0.4
    assert list(out.columns) == [f"compactmap{i}" for i in range(8)]
    grid = GridSearchCV(
        KernelClassifier(CompactMap(max_iter=2, gamma=0.1, random_state=0)),
        {"features__n_components": [2, 16]},
        cv=2,
    ).fit(X, y)
    assert grid.best_params_ == {"features__n_components": 16}


def test_sparse_rows_are_not_made_dense():
    n, d = 400, 20_000
    rng = np.random.default_rng(0)
    first = sparse.csr_matrix(30 * rng.normal(size=(n, 1)).astype(np.float32))
    X = sparse.hstack([first, sparse.random(n, d, 0.001, random_state=0)], "csr")
    X = X.astype(np.float32)
    y = (first.toarray()[:, 0] > 0).astype(int)
    tracemalloc.start()
    features = CompactMap(4, gamma=1e-4, max_iter=1, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * d * 4 / 2
    dense = CompactMap(4, gamma=1e-4, max_iter=1, random_state=0).fit(X.toarray(), y)
    assert_allclose(features.transform(X), dense.transform(X), atol=1e-3)


def test_rows_are_read_batch_by_batch(tmp_path):
    """Learning from a file never loads all of its rows into memory."""
    n, d = 200_000, 64
    path = tmp_path / "rows"
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    X.tofile(path)
    y = X[:, 0] > 0
    X = np.memmap(path, dtype=np.float32, mode="r", shape=(n, d))
    features = CompactMap(8, search=False, max_iter=1, random_state=0)
    features.fit(X[:500], y[:500])  # compile
    tracemalloc.start()
    features.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 2


def test_memory_of_circulant_maps():
    """Memory for six arrays of M numbers and one batch, not for d M numbers."""
    d, b = 4096, 32
    X = np.random.default_rng(0).normal(size=(3 * b, d)).astype(np.float32)
    y = X[:, 0] > 0
    features = methods.compact_circulant(
        d, gamma=1e-4, batch_size=b, max_iter=2, random_state=0
    )
    features.fit(X[:40], y[:40])  # compile
    tracemalloc.start()
    features.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < d * d * 4 / 4
    assert peak < 16 * b * d * 4


@pytest.mark.parametrize(
    "options, match",
    [
        ({"objective": "ranking"}, "objective must be one of 'classification'"),
        ({"solver": "sgd"}, "solver must be one of 'adam', 'pegasos'"),
        ({"projection": "sorf"}, "projection must be one of 'dense', 'circulant'"),
        ({"projection": projections.SORF()}, "projection must be 'dense' or 'circ"),
        ({"projection": "circulant", "start": "sorf"}, "start must be None"),
        ({"start": "unknown"}, "start must be one of 'auto', 'dense'"),
        ({"nonlinearity": "maxout"}, "nonlinearity must be one of 'cos', 'cos_sin'"),
        ({"nonlinearity": bochner.nonlinearities.ReLU()}, "'cos' or 'cos_sin'"),
        ({"nonlinearity": "cos_sin", "n_components": 7}, "must be even"),
        ({"loss": "squared"}, "loss must be one of 'hinge', 'linear_hinge', 'log'"),
        ({"objective": "kernel", "loss": "log"}, "objective='kernel'.*None; got 'log'"),
        ({"batch_size": 381}, "at most the 380 rows.*set batch_size=None"),
        ({"batch_size": 0}, "batch_size must be a positive integer"),
        ({"max_iter": -1}, "max_iter must be a positive integer"),
        ({"learning_rate": 0}, "learning_rate must be a positive number"),
        ({"alpha": -1.0}, "alpha must be a positive number"),
        ({"solver": "pegasos", "alpha": 0}, "alpha must be a positive number"),
        ({"validation_fraction": 1.5}, "share of the rows, below 1"),
        ({"kernel": kernels.ArcCosine(1)}, "kernels of x − y"),
        ({"n_components": 0}, "n_components must be a positive integer"),
    ],
)
def test_invalid_parameters(options, match):
    X, y = classes()
    with pytest.raises(ValueError, match=match):
        CompactMap(**{"validation_fraction": 0.05, **options}).fit(X, y)


def test_invalid_targets():
    X, y = classes()
    with pytest.raises(ValueError, match=r"requires y.*objective='kernel'"):
        CompactMap(4).fit(X)
    with pytest.raises(ValueError, match=r"at least 2 classes.*'near'"):
        CompactMap(4).fit(X, np.full(len(X), "near"))
    numbers = np.where(y == "near", np.nan, 1.0)
    for objective in ("classification", "regression"):
        with pytest.raises(ValueError, match="y contains NaN"):
            CompactMap(4, objective=objective).fit(X, numbers)
    for missing in (None, np.nan):
        labels = np.array(["near", missing] * 200, dtype=object)
        with pytest.raises(ValueError, match="missing labels"):
            CompactMap(4).fit(X, labels)
    with pytest.raises(ValueError, match=r"start=BlockDiagonal.*scales features"):
        start = projections.BlockDiagonal(normalize=True)
        CompactMap(4, start=start).fit(X, y)
    with pytest.raises(ValueError, match=r"continuous.*use objective='regression'"):
        CompactMap(4).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="loss must be None with objective="):
        CompactMap(4, objective="regression", loss="hinge").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CompactMap(4).fit(X, y[:-1])
    with pytest.raises(NotFittedError):
        CompactMap(4).transform(X)
    with pytest.raises(ValueError, match=r"one class only: \['near'\]"):
        CompactMap(4).partial_fit(X[:3], ["near"] * 3)


@pytest.mark.parametrize("solver", ["adam", "pegasos"])
def test_diverging_learning_keeps_the_best_iterate(solver):
    X, y = classes()
    options = {"learning_rate": 1e38} if solver == "adam" else {"alpha": 1e-38}
    X = X.astype(np.float32)
    features = CompactMap(8, solver=solver, gamma=0.3, random_state=0, **options)
    with pytest.warns(
        ConvergenceWarning, match=r"has diverged.*Lower learning_rate.*pass \d"
    ):
        features.fit(X, y)
    assert np.isfinite(features.transform(X)).all()
    assert np.isfinite(features.coef_).all()


def test_an_interrupt_keeps_the_best_iterate(monkeypatch):
    X, y = classes()
    calls, differentiate = [], Model.differentiate

    def interrupted(self, X, y):
        calls.append(1)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return differentiate(self, X, y)

    monkeypatch.setattr(Model, "differentiate", interrupted)
    features = CompactMap(8, gamma=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="interrupted after pass 3; the best"):
        features.fit(X, y)
    assert features.n_iter_ == 3
    calls.clear()
    with pytest.raises(KeyboardInterrupt):  # during the search for a bandwidth
        CompactMap(8, random_state=0).fit(X, y)
    assert np.isfinite(features.history_["held_out_loss"]).all()


def test_constant_rows_and_few_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = CompactMap(4, random_state=0).fit(np.ones((30, 3)), [0, 1, 1] * 10)
        assert_array_equal(features.predict(np.ones((2, 3))), [1, 1])
        few = CompactMap(4, random_state=0).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
        assert_array_equal(few.predict([[0.0], [2.0]]), ["a", "b"])
        constant = CompactMap(4, objective="regression", random_state=0)
        constant.fit(data(400, 3), np.ones(400))
        assert_allclose(constant.predict(data(5, 3)), 1, atol=0.1)
        large = CompactMap(4, objective="regression", max_iter=2, random_state=0)
        assert np.isfinite(large.fit(data(50, 3), 1e200 * np.arange(50)).coef_).all()
        most = CompactMap(4, validation_fraction=0.99, max_iter=2, random_state=0)
        most.fit(*classes(40))


def test_n_iter_no_change():
    X, y = classes()
    y = np.random.default_rng(0).permutation(y)  # labels are independent of the rows
    features = CompactMap(64, n_iter_no_change=2, gamma=1.0, random_state=0).fit(X, y)
    assert features.n_iter_ == features.best_iter_ + 2
    assert training.Schedule.of(360, None, None, None).patience > 2
