"""KernelClassifier, KernelRegressor and KernelPCA: conventions, answers, bad input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_moons
from sklearn.decomposition import KernelPCA as ExactPCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import bochner
from bochner import (
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    Nystroem,
    RandomFeatures,
    blocks,
    datasets,
    kernels,
)
from bochner.kernels.shift_invariant import Gaussian
from bochner.learners import classifier, solving
from bochner.learners.automatic import evidence
from bochner.learners.automatic import leave_one_out as search
from checks import data

LOSSES = ["hinge", "squared", "log"]
MOONS, SIDES = make_moons(600, noise=0.2, random_state=0)
X3 = np.random.default_rng(0).normal(size=(300, 4))
Y3 = (X3[:, :3] + 0.3 * np.random.default_rng(1).normal(size=(300, 3))).argmax(axis=1)
WAVE = np.sin(2 * X3[:, 0]) + X3[:, 1] + 0.1 * np.random.default_rng(2).normal(size=300)
RNG = np.random.default_rng(5)
MAP = RandomFeatures(64, gamma=0.3, random_state=0)


@parametrize_with_checks(
    [
        KernelClassifier(),
        KernelClassifier(loss="squared"),
        KernelClassifier(32, loss="log"),
        KernelClassifier(RandomFeatures(32), calibrate=True),
        KernelRegressor(),
        KernelRegressor("sorf"),
        KernelPCA(),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("loss", LOSSES)
def test_as_accurate_as_the_exact_machine(loss):
    digits = datasets.load("digits")
    exact = SVC(C=10).fit(digits.X_train, digits.y_train)
    few = 400 if loss == "log" else None  # a joint loss takes longer
    model = KernelClassifier(few, loss=loss, random_state=0)
    model.fit(digits.X_train, digits.y_train)
    target = exact.score(digits.X_test, digits.y_test)
    # one standard deviation of the difference of 360 pairs is about half a percent
    assert model.score(digits.X_test, digits.y_test) > target - 0.015


def test_linear_parts_are_scikit_learns():
    """Same features, same alpha = 1/C: the same linear model."""
    F = MAP.fit(X3).transform(X3)
    ours = KernelClassifier(MAP, loss="log", alpha=0.5).fit(X3, Y3)
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=2000).fit(F, Y3)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert_allclose(ours.predict_proba(X3), theirs.predict_proba(F), atol=1e-5)
    ours = KernelClassifier(MAP, alpha=0.5, fit_intercept=False).fit(X3, Y3)
    theirs = LinearSVC(C=2.0, fit_intercept=False, tol=1e-10, max_iter=10**5)
    assert_allclose(ours.coef_, theirs.fit(F, Y3).coef_, atol=1e-4)
    ours = KernelClassifier(MAP, loss="squared", alpha=0.5).fit(X3, Y3)
    theirs = RidgeClassifier(alpha=0.5).fit(F, Y3)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    ours = KernelRegressor(MAP, alpha=0.5).fit(X3, WAVE)
    theirs = Ridge(alpha=0.5).fit(F, WAVE)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("classes", [2, 3])
def test_float32_stays_close(loss, classes):
    y = Y3 % classes
    double = KernelClassifier(MAP, loss=loss, alpha=0.3).fit(X3, y)
    single = KernelClassifier(MAP, loss=loss, alpha=0.3).fit(X3.astype(np.float32), y)
    scores = single.decision_function(X3.astype(np.float32))
    assert scores.dtype == np.float32
    assert scores.shape == ((300,) if classes == 2 else (300, 3))
    assert_allclose(scores, double.decision_function(X3), atol=5e-3)
    assert_array_equal(single.predict(X3), double.predict(X3))


SPLITS = [[300], [150, 300], [10, 20, 150, 300], list(range(30, 301, 30))]


@pytest.mark.parametrize("ends", SPLITS, ids=len)
@pytest.mark.parametrize("alpha", ["auto", 0.1])
def test_streaming_equals_batch(ends, alpha):
    """Any split gives the coefficients of `fit`, to 1e-6 relative."""
    whole = KernelRegressor(MAP, alpha=alpha).fit(X3, WAVE)
    parts = KernelRegressor(MAP, alpha=alpha)
    codes = KernelClassifier(FrozenEstimator(clone(MAP).fit(X3)), loss="squared")
    batch = clone(codes).set_params(alpha=alpha).fit(X3, Y3)
    codes.set_params(alpha=alpha)
    start = 0
    for end in ends:
        parts.partial_fit(X3[start:end], WAVE[start:end])
        codes.partial_fit(X3[start:end], Y3[start:end], classes=[0, 1, 2])
        start = end
    for a, b in ((parts, whole), (codes, batch)):
        assert a.alpha_ == b.alpha_
        assert abs(a.coef_ - b.coef_).max() < 1e-6 * abs(b.coef_).max()


@pytest.mark.parametrize("gram", ["float32", "float64"])
def test_streaming_in_float32(gram):
    rows = X3.astype(np.float32)
    whole = KernelRegressor(MAP, alpha=0.1, gram="float64").fit(rows, WAVE)
    parts = KernelRegressor(MAP, alpha=0.1, gram=gram)
    for i in range(0, 300, 50):
        parts.partial_fit(rows[i : i + 50], WAVE[i : i + 50])
    assert_allclose(parts.predict(rows), whole.predict(rows), atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "log"])
def test_streaming_comes_close_for_other_losses(loss):
    whole = KernelClassifier(MAP, loss=loss, alpha=0.3).fit(X3, Y3)
    parts = KernelClassifier(MAP, loss=loss, alpha=0.3)
    for i in range(0, 300, 60):
        part = slice(i, i + 60)
        parts.partial_fit(X3[part], Y3[part], classes=[0, 1, 2])
    assert parts.score(X3, Y3) > whole.score(X3, Y3) - 0.02


@pytest.mark.parametrize(
    "model, y",
    [
        (KernelClassifier(MAP, alpha=0.3), Y3),
        (KernelClassifier(MAP, loss="log", alpha=0.3), Y3),
        (KernelRegressor(MAP), WAVE),
        (KernelPCA(3, features=MAP), Y3),
    ],
    ids=repr,
)
def test_blocks_are_the_same_as_arrays(model, y):
    whole = clone(model).fit(X3, y)
    parts = [(X3[:100], y[:100]), (X3[100:100], y[100:100]), (X3[100:], y[100:])]
    stream = clone(model).fit(blocks(parts))
    name = "transform" if isinstance(model, KernelPCA) else "predict"
    a, b = getattr(whole, name)(X3), getattr(stream, name)(X3)
    assert_allclose(abs(a), abs(b), atol=1e-6)


def test_a_stream_that_passes_once():
    whole = KernelRegressor(MAP).fit(X3, WAVE)
    cut = ((X3[i : i + 50], WAVE[i : i + 50]) for i in range(0, 300, 50))
    assert_allclose(KernelRegressor(MAP).fit(blocks(cut)).coef_, whole.coef_, atol=1e-8)
    cut = ((X3[i : i + 50], Y3[i : i + 50]) for i in range(0, 300, 50))
    with pytest.raises(ValueError, match="walked only once"):
        KernelClassifier(MAP).fit(blocks(cut))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "features", [None, MAP, Nystroem(40, random_state=0)], ids=repr
)
def test_integer_weights_are_repeated_rows(loss, features):
    weight = np.random.default_rng(0).integers(0, 4, size=120)
    X, y = X3[:120], Y3[:120]
    model = KernelClassifier(features, loss=loss, random_state=0)
    a = clone(model).fit(X, y, sample_weight=weight)
    order = np.random.default_rng(1).permutation(weight.sum())
    b = clone(model).fit(np.repeat(X, weight, 0)[order], np.repeat(y, weight)[order])
    assert_allclose(
        a.decision_function(X), b.decision_function(X), rtol=1e-6, atol=1e-6
    )


def test_integer_weights_are_repeated_rows_for_regression():
    weight = np.random.default_rng(0).integers(0, 4, size=120)
    a = KernelRegressor(random_state=0).fit(X3[:120], WAVE[:120], weight)
    b = KernelRegressor(random_state=0).fit(
        np.repeat(X3[:120], weight, 0), np.repeat(WAVE[:120], weight)
    )
    mean, std = a.predict(X3, return_std=True)
    other, others = b.predict(X3, return_std=True)
    assert_allclose(mean, other, atol=1e-6)
    assert_allclose(std, others, rtol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_class_weights(loss):
    y = (X3[:, 0] > 1).astype(int)
    plain = KernelClassifier(MAP, loss=loss, alpha=1.0).fit(X3, y)
    heavy = KernelClassifier(MAP, loss=loss, alpha=1.0, class_weight={1: 10.0})
    rows = KernelClassifier(MAP, loss=loss, alpha=1.0)
    rows.fit(X3, y, sample_weight=np.where(y == 1, 10.0, 1.0))
    assert_allclose(heavy.fit(X3, y).coef_, rows.coef_, atol=1e-7)
    balanced = clone(plain).set_params(class_weight="balanced").fit(X3, y)
    for model in (heavy, balanced):
        assert model.predict(X3).sum() > plain.predict(X3).sum()


def test_features_can_be_given_in_five_ways():
    by_object = KernelClassifier(MAP, random_state=0).fit(X3, Y3)
    assert by_object.features_ is not MAP and not hasattr(MAP, "_")
    frozen = FrozenEstimator(clone(MAP).fit(X3))
    same = KernelClassifier(frozen, random_state=0).fit(X3, Y3)
    assert same.features_ is frozen
    assert_allclose(same.coef_, by_object.coef_, atol=1e-6)
    by_name = KernelClassifier("sorf", random_state=0).fit(X3, Y3)
    assert by_name.features_.get_params()["projection"] == "sorf"
    by_size = KernelClassifier(25, random_state=0).fit(X3, Y3)
    assert by_size.coef_.shape == (3, 25)
    pipeline = make_pipeline(StandardScaler(), Nystroem(30))
    piped = KernelClassifier(pipeline, random_state=0).fit(X3, Y3)
    assert piped.score(X3, Y3) > 0.8
    assert piped.features_[-1].random_state is not None  # filled from ours
    scores = piped.features_.transform(X3) @ piped.coef_.T + piped.intercept_
    assert_allclose(piped.decision_function(X3), scores, atol=1e-6)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, pd.DataFrame])
def test_input_forms(form):
    X = data(300, 8)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    dense = KernelClassifier(random_state=0).fit(X, y)
    other = KernelClassifier(random_state=0).fit(form(X), y)
    assert_allclose(
        other.decision_function(form(X)), dense.decision_function(X), atol=1e-4
    )
    number = KernelRegressor(random_state=0).fit(form(X), X[:, 0])
    assert number.score(form(X), X[:, 0]) > 0.99


def test_labels_of_any_kind():
    names = np.array(["left", "right"])[SIDES]
    model = KernelClassifier(random_state=0).fit(MOONS, names)
    assert_array_equal(model.classes_, ["left", "right"])
    assert model.score(MOONS, names) > 0.95
    parts = KernelClassifier(MAP, alpha=0.1)
    for i in range(0, 600, 200):
        part = slice(i, i + 200)
        parts.partial_fit(MOONS[part], names[part], classes=["left", "right"])
    assert parts.score(MOONS, names) > 0.95


@pytest.mark.parametrize("loss", ["hinge", "squared"])
@pytest.mark.parametrize("classes", [2, 4])
def test_calibrated_probabilities(loss, classes):
    X, y = make_classification(
        3000, 8, n_informative=5, n_classes=classes, flip_y=0.2, random_state=0
    )
    model = KernelClassifier(100, loss=loss, calibrate=True, random_state=0)
    model.fit(X[:2000], y[:2000])
    P = model.predict_proba(X[2000:])
    assert_allclose(P.sum(axis=1), 1)
    assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X[2000:]))
    logistic = KernelClassifier(100, loss="log", random_state=0).fit(X[:2000], y[:2000])
    proper = log_loss(y[2000:], logistic.predict_proba(X[2000:]))
    assert log_loss(y[2000:], P) < 1.05 * proper


def noisy_classes(n, n_classes, rng):
    """Rows, labels drawn with known probabilities, and those, (n, n_classes)."""
    X = rng.uniform(-2, 2, size=(n, 3))
    logits = np.column_stack(
        [2 * np.sin(2 * X[:, 0] + k) + X[:, 1] * k for k in range(n_classes)]
    )
    P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (rng.uniform(size=(n, 1)) > P.cumsum(axis=1)).sum(axis=1)
    return X, labels, P


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("way", ["fit", "blocks", "partial_fit", "calibrate"])
@pytest.mark.parametrize("loss", ["hinge", "squared", "log"])
def test_probabilities_are_calibrated(loss, way, n_classes):
    """Log loss near that of the true probabilities, far from that of the shares."""
    X, y, _ = noisy_classes(1200, n_classes, np.random.default_rng(0))
    test, labels, P = noisy_classes(2000, n_classes, np.random.default_rng(1))
    features = bochner.methods.sorf(256, gamma=0.5, random_state=0)
    model = KernelClassifier(features, loss=loss, calibrate=way == "calibrate")
    if way == "blocks":
        model.fit(bochner.blocks(X, target=y, rows=500))
    elif way == "partial_fit":
        for part in np.array_split(np.arange(1200), 3):
            model.partial_fit(X[part], y[part], classes=range(n_classes))
    else:
        model.fit(X, y)
    found = model.predict_proba(test)
    assert_allclose(found.sum(axis=1), 1)
    assert (model.predict(test) == found.argmax(axis=1)).all()
    least, reached = log_loss(labels, P), log_loss(labels, found)
    known = log_loss(labels, np.tile(np.bincount(y) / len(y), (2000, 1)))
    assert least < reached < least + 0.3 * (known - least)
    # of rows said to be right with probability p about p are: 2000 rows, 5 deviations
    sure = found.max(axis=1)
    right = (found.argmax(axis=1) == labels).mean()
    assert abs(sure.mean() - right) < 0.04 + 5 * 0.5 / np.sqrt(2000)


def test_no_errors_leave_some_doubt():
    """Classes that are far apart: sure, and never certain."""
    X = np.repeat([[-5.0], [5.0]], 20, axis=0) + np.linspace(0, 1, 40)[:, None]
    model = KernelClassifier(random_state=0).fit(X, X[:, 0] > 0)
    P = model.predict_proba(X)
    assert 0.8 < P.max(axis=1).min() and P.max() < 1 - 1e-4


def test_default_classifier_is_scored_by_its_probabilities():
    scores = cross_val_score(
        KernelClassifier(32, random_state=0), X3, Y3, scoring="neg_log_loss", cv=3
    )
    assert np.isfinite(scores).all()


def test_calibration_holds_rows_out_of_every_choice(monkeypatch):
    """The rows that calibrate=True holds out are in neither search, map nor fit."""
    seen = []
    original = classifier.search_bandwidth

    def watched(rows, *rest):
        seen.append(rows.n_rows)
        return original(rows, *rest)

    monkeypatch.setattr(classifier, "search_bandwidth", watched)
    KernelClassifier(calibrate=True, random_state=0).fit(X3, Y3)
    assert (
        seen[0] == 300 and len(seen) == 2 and seen[1] <= 243
    )  # a fifth, but a row of each class


def test_held_out_rows_are_no_landmarks(monkeypatch):
    """In the search for a bandwidth a held-out row is not its own landmark."""
    asked = []
    columns_of = search.columns_of

    def watched(kernel, landmarks):
        asked.append(landmarks)
        return columns_of(kernel, landmarks)

    monkeypatch.setattr(search, "columns_of", watched)
    rng = np.random.default_rng(0)
    rows, w = rng.normal(size=(2500, 2)), np.ones(2500)
    T = np.where(rng.uniform(size=(2500, 1)) > 0.5, 1.0, -1.0)
    narrow = search._held_out(Gaussian(1e6), rows, T, w)
    held = {tuple(row) for row in rows[:500]}
    assert asked and not held & {tuple(row) for row in asked[0]}
    # labels are noise: the loss of a kernel that knows nothing of held-out rows is 1
    assert_allclose(narrow, 1, atol=0.05)


def test_what_cannot_hold_rows_out_has_no_partial_fit():
    assert not hasattr(KernelClassifier(calibrate=True), "partial_fit")


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("gram", ["float64", "float32"])
def test_noise_is_that_of_most_rows(gram, offset):
    """Two rows in a hundred lie far off: the others keep their intervals."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(2000, 2))
    far = rng.uniform(size=2000) < 0.02
    y = offset + np.sin(2 * X[:, 0]) + np.where(far, 5, 0.1) * rng.normal(size=2000)
    model = KernelRegressor(64, random_state=0, gram=gram).fit(X[:1000], y[:1000])
    # robust σ: outliers count as 1.5 deviations, the bias of 2 % of them is below 15 %
    assert 0.1 < model.noise_**0.5 < 0.15
    mean, std = model.predict(X[1000:], return_std=True)
    distance = abs(y[1000:] - mean)
    # 1000 rows: 5 deviations of a share are 0.08 and 0.05; the fit bends to outliers
    assert abs((distance < 0.6745 * std).mean() - 0.5) < 0.13
    assert abs((distance < 1.645 * std).mean() - 0.9) < 0.08


def test_intervals_that_do_not_hold_are_said_to():
    """Noise in one half of the rows only: no single variance is right."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(1000, 1))
    y = np.where(X[:, 0] > 1, 1.0, 0.001) * rng.normal(size=1000)
    model = KernelRegressor(32, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="lie inside the interval that should hold"):
        model.predict(X[:5], return_std=True)


def test_warm_start_keeps_the_map_and_saves_steps():
    model = KernelClassifier(random_state=0, warm_start=True, alpha=0.1)
    model.fit(MOONS, SIDES)
    features, steps = model.features_, model.n_iter_
    model.fit(MOONS, SIDES)
    assert model.features_ is features
    assert model.n_iter_ < steps


def test_alpha_candidates():
    model = KernelClassifier(MAP, alpha=[0.01, 5.0]).fit(X3, Y3)
    assert model.alpha_ in (0.01, 5.0)
    number = KernelRegressor(MAP, alpha=[1e-3, 1e3]).fit(X3, WAVE)
    assert number.alpha_ == 1e-3


def test_many_features_go_by_conjugate_gradients(monkeypatch):
    """Past 8192 features ridge has no moments: the same answer to 1e-6."""
    exact = KernelRegressor(MAP, alpha=0.1).fit(X3, WAVE)
    codes = KernelClassifier(MAP, loss="squared", alpha=0.1).fit(X3, Y3)
    monkeypatch.setattr(solving, "FACTORED_COLUMNS", 10)
    found = KernelRegressor(MAP, alpha=0.1).fit(X3, WAVE)
    assert_allclose(found.coef_, exact.coef_, atol=1e-6 * abs(exact.coef_).max())
    other = KernelClassifier(MAP, loss="squared", alpha=0.1).fit(X3, Y3)
    assert_allclose(other.coef_, codes.coef_, atol=1e-6)
    assert KernelRegressor(MAP).fit(X3, WAVE).score(X3, WAVE) > 0.9  # α held out
    with pytest.raises(ValueError, match="standard deviations need"):
        found.predict(X3, return_std=True)
    with pytest.raises(ValueError, match=r"partial_fit keeps the square.*64"):
        KernelRegressor(MAP).partial_fit(X3, WAVE)


def test_gaussian_process_on_small_data():
    """All rows landmarks: mean, deviation and evidence of the exact process."""
    kernel = kernels.Gaussian(0.3)
    model = KernelRegressor(
        Nystroem(300, kernel=kernel), alpha=0.05, fit_intercept=False
    ).fit(X3, WAVE)
    noise = model.noise_
    exact = GaussianProcessRegressor(
        noise / 0.05 * RBF(1 / np.sqrt(0.6)) + WhiteKernel(noise), optimizer=None
    ).fit(X3, WAVE)
    new = np.random.default_rng(3).normal(size=(50, 4))
    mean, std = model.predict(new, return_std=True)
    their_mean, their_std = exact.predict(new, return_std=True)
    assert_allclose(mean, their_mean, atol=1e-4)
    # the landmarks know nothing of what is orthogonal to them
    assert (std <= their_std * (1 + 1e-6)).all()
    near = X3[:50] + 1e-3
    assert_allclose(
        model.predict(near, return_std=True)[1],
        exact.predict(near, return_std=True)[1],
        rtol=1e-3,
    )
    sigma = np.var(WAVE)  # any: the evidence is profiled over it
    K = kernel(X3) / 0.05 + np.eye(300)
    sigma = WAVE @ np.linalg.solve(K, WAVE) / 300
    _, volume = np.linalg.slogdet(2 * np.pi * sigma * K)
    assert_allclose(model.log_marginal_likelihood_, -0.5 * (volume + 300), rtol=1e-4)


def test_intervals_cover(global_seed):
    """90 % intervals of 2000 new rows hold 85 to 95 %."""
    rng = np.random.default_rng(global_seed)
    X = rng.uniform(-2, 2, size=(3000, 3))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.2 * rng.normal(size=3000)
    model = KernelRegressor(random_state=0).fit(X[:1000], y[:1000])
    mean, std = model.predict(X[1000:], return_std=True)
    assert 0.85 < (abs(y[1000:] - mean) < 1.645 * std).mean() < 0.95
    assert abs(np.sqrt(model.noise_) - 0.2) < 0.03


def test_bandwidths_find_the_features_that_matter():
    model = KernelRegressor(random_state=0).fit(X3, np.sin(2 * X3[:, 0]))
    kernel = model.features_.kernel_
    scale = kernel.scale
    assert scale[0] > 10 * scale[1:].max()


@pytest.mark.parametrize("profile", evidence.PROFILES, ids=lambda p: p.name)
@pytest.mark.parametrize("common", [True, False])
def test_evidence_slopes_are_derivatives(profile, common):
    rows, T = X3[:60], np.column_stack([WAVE, X3[:, 1]])[:60]
    w = np.random.default_rng(0).integers(1, 4, size=60).astype(float)
    theta = np.log([0.4, 0.2] if common else [0.4, 0.3, 0.2, 0.1, 0.2])
    given = evidence.distances(rows, rows, "sqeuclidean") if common else rows
    negative = evidence._common if common else evidence._per_feature
    _, slope = negative(theta, profile, given, T, w)
    for i, e in enumerate(1e-5 * np.eye(len(theta))):
        up, down = (negative(theta + s * e, profile, given, T, w)[0] for s in (1, -1))
        assert_allclose(slope[i], (up - down) / 2e-5, rtol=1e-4, atol=1e-4)


def test_wide_sparse_rows_stay_sparse():
    """Past 100 features one bandwidth for all, and no dense copy of the rows."""
    noise = sparse.random(400, 5000, density=0.001, format="csr", random_state=RNG)
    rows = sparse.hstack([sparse.csr_matrix(3 * data(400, 3)), noise]).tocsr()
    y = np.asarray(rows[:, :3].sum(axis=1)).ravel()
    model = KernelRegressor(random_state=0).fit(rows, y)
    assert sparse.issparse(model.features_.landmarks_)
    assert model.score(rows, y) > 0.8
    labels = (y > np.median(y)).astype(int)
    assert KernelClassifier(random_state=0).fit(rows, labels).score(rows, labels) > 0.8


def test_several_targets():
    Y = np.column_stack([WAVE, X3[:, 1]])
    model = KernelRegressor(MAP, alpha=0.1).fit(X3, Y)
    assert model.coef_.shape == (2, 64) and model.intercept_.shape == (2,)
    single = KernelRegressor(MAP, alpha=0.1).fit(X3, WAVE)
    assert_allclose(model.predict(X3)[:, 0], single.predict(X3), atol=1e-9)
    mean, std = model.predict(X3, return_std=True)
    assert mean.shape == std.shape == (300, 2)


def test_many_features_need_no_square_of_them():
    """32 bytes for each of 10,000² would be 3 GiB; gradients take a sketch."""
    features = RandomFeatures(10_000, nonlinearity="relu", random_state=0)
    model = KernelClassifier(features, alpha=1.0, memory="400 MiB")
    assert model.fit(X3, Y3).score(X3, Y3) > 0.75
    with pytest.raises(ValueError, match="10000 features, which need 3"):
        KernelPCA(2, features=features, memory="400 MiB").partial_fit(X3)


def test_kernel_pca_is_scikit_learns():
    model = KernelPCA(3, features=Nystroem(300, gamma=0.2)).fit(X3)
    exact = ExactPCA(3, kernel="rbf", gamma=0.2).fit(X3)
    ours, theirs = model.transform(X3), exact.transform(X3)
    signs = np.sign((ours * theirs).sum(axis=0))
    assert_allclose(ours * signs, theirs, atol=1e-6)
    assert_allclose(model.explained_variance_, exact.eigenvalues_ / 300, rtol=1e-6)
    parts = KernelPCA(3, features=FrozenEstimator(model.features_))
    for i in range(0, 300, 100):
        parts.partial_fit(X3[i : i + 100])
    assert_allclose(parts.transform(X3), ours, atol=1e-6)


@pytest.mark.parametrize("n", [3, 20, 32, 33])
def test_kernel_pca_of_few_rows(n):
    """Up to half as many rows as features, and past it, with weights, in blocks."""
    weight = np.linspace(1, 2, n)
    model = KernelPCA(2, features=MAP).fit(X3[:n], sample_weight=weight)
    frozen = FrozenEstimator(model.features_)
    parts = KernelPCA(2, features=frozen).partial_fit(X3[:n], sample_weight=weight)
    assert_allclose(parts.transform(X3), model.transform(X3), atol=1e-6)
    assert_allclose(parts.explained_variance_ratio_, model.explained_variance_ratio_)
    cut = [(X3[:n][i : i + 20], Y3[:n][i : i + 20]) for i in range(0, n, 20)]
    streamed = KernelPCA(2, features=frozen).fit(blocks(cut))
    plain = KernelPCA(2, features=frozen).fit(X3[:n])
    assert_allclose(streamed.transform(X3), plain.transform(X3), atol=1e-6)


def test_conveniences():
    model = KernelClassifier(MAP, random_state=0).fit(X3, Y3)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X3), model.predict(X3))
    grid = {"features__gamma": [0.1, 0.5], "alpha": [0.1, 1.0]}
    search = GridSearchCV(KernelClassifier(MAP), grid, cv=2).fit(X3, Y3)
    assert search.best_score_ > 0.7
    parts = KernelClassifier(MAP, alpha=0.1).partial_fit(X3, Y3, classes=[0, 1, 2])
    again = pickle.loads(pickle.dumps(parts)).partial_fit(X3, Y3)
    assert_allclose(again.coef_, parts.partial_fit(X3, Y3).coef_)


def test_verbose_reports_on_standard_error(capsys):
    KernelClassifier(verbose=1, random_state=0).fit(MOONS, SIDES)
    KernelRegressor(verbose=1, random_state=0).fit(X3, WAVE)
    out, err = capsys.readouterr()
    assert not out
    for word in ("bandwidth", "map", "penalty", "step", "kernel"):
        assert word in err


def test_not_converged_says_so():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 Newton steps; raise"):
        KernelClassifier(MAP, alpha=1e-3, max_iter=1).fit(X3, Y3)


BAD = [
    ({"loss": "zero-one"}, "loss must be one of 'hinge', 'squared', 'log'"),
    ({"alpha": 0}, "alpha must be a positive number, an array or 'auto'; got 0"),
    ({"alpha": [1.0, -1.0]}, "every entry of alpha must be positive"),
    ({"alpha": "best"}, "alpha must be 'auto', a positive number or an array"),
    ({"max_iter": 0}, "max_iter must be a positive integer"),
    ({"tol": -1}, "tol must be a positive number"),
    ({"memory": 1000}, "memory=1000 is too little for 64 features, which need 160 KiB"),
    ({"features": "wavelets"}, "features must be one of 'rff'.*got 'wavelets'"),
    ({"features": 0}, "features must be a positive integer, got 0"),
    ({"gram": "float16"}, "gram must be one of 'float64', 'float32'"),
    ({"class_weight": "even"}, "class_weight must be one of None, 'balanced'"),
    ({"class_weight": "a dict"}, "class_weight must be one of None, 'balanced'"),
    ({"class_weight": {7: 1.0}}, r"class_weight names \[7\].*classes \[0, 1, 2\]"),
]


@pytest.mark.parametrize("parameters, message", BAD, ids=lambda b: str(b))
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelClassifier(**{"features": MAP, **parameters}).fit(X3, Y3)


def test_bad_input():
    with pytest.raises(TypeError, match=r"features must be a transformer.*got <class"):
        KernelClassifier(object).fit(X3, Y3)
    with pytest.raises(ValueError, match=r"at least 2 classes in y; got one.*\[1\]"):
        KernelClassifier().fit(X3, np.ones(300, dtype=int))
    with pytest.raises(ValueError, match="contains NaN"):
        KernelClassifier().fit(X3, np.full(300, np.nan))
    with pytest.raises(ValueError, match="contains NaN"):
        KernelRegressor().fit(X3, np.full(300, np.nan))
    with pytest.raises(ValueError, match="Unknown label type"):
        KernelClassifier().fit(X3, WAVE)
    with pytest.raises(ValueError, match="requires y to be passed"):
        KernelRegressor().fit(X3)
    with pytest.raises(NotFittedError):
        KernelRegressor().predict(X3)
    with pytest.raises(ValueError, match="n_components=99 is more than the 64"):
        KernelPCA(99, features=MAP).fit(X3)
    with pytest.raises(ValueError, match="there are no rows"):
        KernelRegressor().fit(blocks([]))
    with pytest.raises(ValueError, match="y reaches 1e\\+40, beyond the range of pred"):
        KernelRegressor(MAP).fit(X3.astype(np.float32), np.full(300, 1e40))


def test_bad_streams():
    model = KernelClassifier(MAP)
    with pytest.raises(ValueError, match="first call of partial_fit needs classes"):
        model.partial_fit(X3, Y3)
    model.partial_fit(X3, Y3, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"label 5, .*not among.*\[0, 1, 2\]"):
        model.partial_fit(X3[:2], [5, 1])
    with pytest.raises(ValueError, match="X has 2 features, but KernelClassifier"):
        model.partial_fit(X3[:, :2], Y3)
    balanced = KernelClassifier(MAP, class_weight="balanced")
    with pytest.raises(ValueError, match=r"'balanced' needs all rows .*pass a dict"):
        balanced.partial_fit(X3, Y3, classes=[0, 1, 2])


def test_odd_shapes_of_data():
    """Constant features, as many classes as rows, fewer rows than classes."""
    X = np.column_stack([X3, np.ones(300)])
    assert KernelClassifier(random_state=0).fit(X, Y3).score(X, Y3) > 0.8
    assert KernelRegressor(random_state=0).fit(X, WAVE).score(X, WAVE) > 0.9
    few = KernelClassifier(random_state=0).fit(X3[:5], np.arange(5))
    assert few.score(X3[:5], np.arange(5)) == 1
    some = KernelClassifier(MAP, alpha=1.0)
    some.partial_fit(X3[:2], [0, 1], classes=np.arange(9))
    assert some.decision_function(X3).shape == (300, 9)
    constant = KernelRegressor(random_state=0).fit(X3, np.full(300, 2.0))
    assert_allclose(constant.predict(X3), 2)
    flat = KernelClassifier(random_state=0).fit(np.ones((20, 3)), np.arange(20) % 2)
    assert flat.predict(np.ones((3, 3))).shape == (3,)


NOISY = WAVE + 0.2 * np.random.default_rng(4).normal(size=300)


@pytest.mark.parametrize("features", [None, RandomFeatures(200, gamma=0.3)], ids=repr)
def test_the_scale_of_weights_does_not_choose_the_penalty(features):
    """Weights of 1/n, 2 or 10 for all, or a bootstrap: about the same model."""
    new = np.random.default_rng(9).normal(size=(500, 4))
    truth = np.sin(2 * new[:, 0]) + new[:, 1]
    model = KernelRegressor(features, random_state=0)
    plain = clone(model).fit(X3, NOISY).score(new, truth)
    for w in (1 / 300, 2.0, 10.0):
        fitted = clone(model).fit(X3, NOISY, sample_weight=np.full(300, w))
        assert fitted.score(new, truth) > plain - 0.05
    rows = np.random.default_rng(0).integers(0, 300, size=300)
    assert clone(model).fit(X3[rows], NOISY[rows]).score(new, truth) > plain - 0.2


def test_log_loss_at_tiny_penalties():
    y = (X3[:, 0] + X3[:, 1] > 0).astype(int)
    F = MAP.fit(X3).transform(X3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours = KernelClassifier(MAP, loss="log", alpha=1e-5).fit(X3, y)
    assert ours.score(X3, y) > 0.99
    theirs = LogisticRegression(C=1e5, max_iter=5000).fit(F, y)
    assert ours.score(X3, y) >= theirs.score(F, y) - 0.01


def test_rows_of_no_weight_are_not_there():
    weight = np.r_[np.ones(200), np.zeros(100)]
    for model, y in (
        (KernelClassifier(MAP), Y3),
        (KernelClassifier(make_pipeline(StandardScaler(), MAP)), Y3),
        (KernelRegressor(MAP), WAVE),
    ):
        some = clone(model).fit(X3[:200], y[:200])
        new = clone(model).fit(X3, y, sample_weight=weight)
        assert_allclose(new.coef_, some.coef_, atol=1e-6)
        streamed = clone(model).fit(blocks([(X3, y, weight)]))
        assert_allclose(streamed.coef_, some.coef_, atol=1e-6)
    parts = KernelClassifier(MAP).partial_fit(X3, Y3, [0, 1, 2], weight)
    assert np.isfinite(parts.coef_).all()
    heavy = KernelPCA(2, features=MAP).fit(X3, sample_weight=weight)
    light = KernelPCA(2, features=MAP).fit(X3[:200])
    assert_allclose(heavy.explained_variance_, light.explained_variance_)


def test_features_of_others_are_looked_at():
    log = FunctionTransformer(np.log)
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="contains NaN"):
        KernelClassifier(log, alpha=0.1).fit(X3, Y3)
    frame = StandardScaler().set_output(transform="pandas")
    assert KernelClassifier(frame, alpha=0.1).fit(X3, Y3).score(X3, Y3) > 0.8
    piped = make_pipeline(frame, Nystroem(30, random_state=0))
    assert KernelClassifier(piped, alpha=0.1).fit(X3, Y3).score(X3, Y3) > 0.8
    with pytest.raises(ValueError, match="class_weight must be numbers ≥ 0"):
        KernelClassifier(MAP, class_weight={0: -1.0}).fit(X3, Y3)


def test_failures_leave_streams_alone():
    model = KernelRegressor(MAP).partial_fit(X3, WAVE)
    before = model.coef_
    with pytest.raises(ValueError, match="blocks must agree"):
        model.partial_fit(X3, np.column_stack([WAVE, WAVE]))
    again = clone(model).partial_fit(X3, WAVE)
    assert_allclose(before, again.coef_)
    assert_allclose(
        model.partial_fit(X3, WAVE).coef_, again.partial_fit(X3, WAVE).coef_
    )


def test_warm_start_of_other_columns_begins_anew():
    model = KernelClassifier(MAP, warm_start=True, alpha=0.1).fit(X3, Y3)
    model.fit(X3[:, :2], Y3)
    assert model.features_.n_features_in_ == 2
    fresh = KernelClassifier(MAP, alpha=0.1).fit(X3[:, :2], Y3)
    assert_allclose(model.coef_, fresh.coef_)


def test_components_of_a_stream_of_lists_and_frames():
    rows = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 1.0]]
    make = KernelPCA(1, features=4, random_state=0)
    found = clone(make).partial_fit(rows).partial_fit(rows)
    frame = pd.DataFrame(rows, columns=["a", "b"])
    named = clone(make).partial_fit(frame).partial_fit(frame)
    assert_allclose(named.components_, found.components_)


def test_weights_of_one_size_scale_the_noise_alone():
    """With all weights and α times c the variance is c times as large, no more."""
    c, rng = 0.1, np.random.default_rng(0)
    T = WAVE + 0.1 * rng.normal(size=len(WAVE))
    plain = KernelRegressor(MAP, alpha=1.0).fit(X3, T)
    light = KernelRegressor(MAP, alpha=c).fit(X3, T, sample_weight=np.full(300, c))
    (_, std), (_, scaled) = (m.predict(X3, return_std=True) for m in (plain, light))
    assert_allclose(light.noise_, c * plain.noise_, rtol=1e-9)
    # of a new row: its own noise c σ², and the map's and the intercept's share of it
    ours = std**2 / plain.noise_ - 1
    assert_allclose(scaled**2 / light.noise_ - 1, ours / c, rtol=1e-6)


def test_warm_start_with_other_classes_begins_anew():
    model = KernelClassifier(MAP, warm_start=True, alpha=0.1).fit(X3, Y3)
    assert model.fit(X3, Y3 % 2).coef_.shape == (1, 64)


def test_targets_whose_squares_overflow():
    X = np.arange(8.0)[:, None]
    with pytest.raises(ValueError, match=r"y reaches 7e\+149.*divide y by a constant"):
        KernelRegressor(6).fit(X, 1e149 * X[:, 0])
