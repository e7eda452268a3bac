"""`compare`: all contenders share one task, and the figures are correct."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

import bochner
from bochner import compare
from bochner.compare.compare import contender_error, model_bytes, run
from bochner.compare.contenders import Contender, default_contender, references
from bochner.compare.results import (
    DEFAULT,
    EXACT,
    LINEAR,
    METHOD,
    TREES,
    Comparison,
    Entry,
    Spread,
)
from bochner.compare.rows import Dataset, prepare
from bochner.compare.task import (
    CLASSIFICATION,
    REGRESSION,
    Split,
    find_bandwidth,
    numeric_target,
    scaler_step,
    task_of,
    trees_lead,
)
from bochner.methods import METHODS

X, Y = make_moons(300, noise=0.2, random_state=0)
NUMBERS = np.sin(3 * X[:, 0]) + X[:, 1]


@pytest.fixture(scope="module")
def moons() -> Comparison:
    return compare(X, Y, methods=["rff", "nystroem"], sizes=[16, 64], repeats=2)


def test_every_contender_has_an_entry(moons):
    single = ["linear", "exact kernel", "boosted trees", "default learner"]
    names = [*single, "rff", "nystroem", "rff", "nystroem"]
    assert [entry.name for entry in moons.entries] == names
    assert [e.size for e in moons.entries] == [*[None] * 4, 16, 16, 64, 64]
    assert moons.data.n_train + moons.data.n_test == len(Y)
    assert moons.metric == "accuracy" and not moons.failures


def test_features_approach_the_exact_machine_and_beat_the_linear_model(moons):
    by = {entry.label: entry for entry in moons.entries}
    assert by["nystroem, 64"].score.mean > by["linear"].score.mean + 0.05
    assert abs(by["nystroem, 64"].score.mean - by["exact kernel"].score.mean) < 0.06
    assert by["rff, 64"].error.mean < by["rff, 16"].error.mean
    assert by["exact kernel"].error.mean == 0
    assert by["exact kernel"].memory_bytes is None  # not allocated by Python


def test_figures_and_code_of_an_entry(moons):
    entry = next(e for e in moons.entries if e.label == "nystroem, 64")
    namespace: dict = {}
    exec(entry.code, namespace)
    assert namespace["model"].get_params()  # an unfitted estimator
    assert entry.fit_seconds.mean > 0 and entry.row_seconds.mean > 0
    assert entry.memory_bytes > 64 * 8 * moons.data.n_train / 2


def test_regression_is_scored_by_r2():
    comparison = compare(X, NUMBERS, methods=["rff", "compact"], sizes=[32], repeats=1)
    assert comparison.metric == "R²" and comparison.data.task == REGRESSION
    by = {entry.name: entry for entry in comparison.entries}
    assert by["rff"].score.mean > 0.9 > by["linear"].score.mean
    assert by["compact"].error is None  # a learned map does not approximate a kernel
    assert by["rff"].score.deviation is None


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("task", [CLASSIFICATION, REGRESSION])
def test_code_of_every_method_builds_its_model(name, task):
    contender = Contender(name, METHOD, 16, 0.5)
    namespace: dict = {}
    exec(contender.code(task, (scaler_step(X),), seed=3), namespace)
    scaler, model = namespace["model"]
    assert repr(model) == repr(contender.estimator(task, 3))
    assert scaler.with_mean


@pytest.mark.parametrize("task", [CLASSIFICATION, REGRESSION])
def test_code_of_single_contenders_builds_their_models(task):
    single = [*references(0.5, "squared", True), default_contender()]
    for contender in single:
        namespace: dict = {}
        exec(contender.code(task), namespace)
        assert repr(namespace["model"]) == repr(contender.estimator(task, 0))


def test_exact_machine_is_scikit_learns_svc():
    split = Split(CLASSIFICATION, X[:200], Y[:200], X[200:], Y[200:])
    exact = run(Contender("exact kernel", EXACT, None, 2.0), split, 0)
    scores = [
        SVC(C=C, gamma=2.0).fit(X[:200], Y[:200]).score(X[200:], Y[200:])
        for C in (1, 10, 100)
    ]
    assert exact.score in scores


def test_default_learner_has_default_parameters_and_receives_unscaled_rows():
    """The default learner scales rows itself; the methods share a scaler."""
    unequal = X * [1, 1e6]
    comparison = compare(unequal, Y, methods=["rff"], sizes=[16], repeats=1)
    by = {entry.name: entry for entry in comparison.entries}
    assert "StandardScaler" in by["rff"].code
    code = by["default learner"].code
    assert code == (
        "from bochner import KernelClassifier\n\n"
        "model = KernelClassifier(random_state=0)"
    )
    namespace: dict = {}
    exec(code, namespace)
    split, _ = prepare(Dataset(unequal, Y), None, {}, 0)
    model = namespace["model"].fit(split.X_train, split.y_train)
    score = model.score(split.X_test, split.y_test)
    assert by["default learner"].score.mean == score


def test_boosted_trees_are_scikit_learns(moons):
    split, _ = prepare(Dataset(X, Y), None, {}, 0)
    trees = HistGradientBoostingClassifier(random_state=0)
    score = trees.fit(split.X_train, split.y_train).score(split.X_test, split.y_test)
    assert moons.best_of(TREES).score.mean == score


def test_a_lead_of_boosted_trees_is_reported():
    """Thresholds on two of thirty columns suit trees, and do not suit distances."""
    rows = np.random.default_rng(0).uniform(-1, 1, (800, 30))
    labels = (rows[:, 0] > 0.1) | (rows[:, 1] > 0.5)
    options = {"methods": ["rff"], "sizes": [8], "repeats": 1, "exact_rows": 0}
    comparison = compare(rows, labels, **options)
    trees, own = comparison.best_of(TREES), comparison.best_of(METHOD, DEFAULT)
    points = 100 * (trees.score.mean - own.score.mean)
    assert f"Boosted trees are ahead by {points:.1f} points" in comparison.trees_lead()


@pytest.mark.parametrize(
    ("trees", "own", "task", "expected"),
    [
        (0.71, 0.556, CLASSIFICATION, "by 15.4 points: HistGradientBoostingClassifier"),
        (0.9, 0.869, REGRESSION, "by 0.031 of R²: HistGradientBoostingRegressor"),
        (0.9, 0.9, CLASSIFICATION, None),
        (0.9004, 0.9, CLASSIFICATION, None),
        (0.8, 0.9, CLASSIFICATION, None),
        (float("nan"), 0.9, CLASSIFICATION, None),
    ],
)
def test_sentence_on_the_lead_of_trees(trees, own, task, expected):
    sentence = trees_lead(trees, own, task)
    assert (sentence is None) if expected is None else (expected in sentence)


def test_the_exact_machine_learns_from_random_rows():
    order = np.argsort(Y)
    comparison = compare(
        X[order], Y[order], X, Y, methods=["rff"], sizes=[8], repeats=1, exact_rows=60
    )
    exact = comparison.best_of(EXACT)
    assert exact.n_rows == 60 and exact.score.mean > 0.8


def test_the_linear_model_is_ridge():
    split = Split(CLASSIFICATION, X[:200], Y[:200], X[200:], Y[200:])
    linear = run(Contender("linear", LINEAR), split, 0)
    ridge = RidgeClassifier(alpha=linear.model.alpha_).fit(X[:200], Y[:200])
    assert linear.score == ridge.score(X[200:], Y[200:])


def test_bandwidth_suits_the_data():
    split = Split(CLASSIFICATION, X, Y, X, Y)
    K = rbf_kernel(X, gamma=find_bandwidth(split).gamma)
    assert 0.01 < K.mean() < 0.9
    unequal = Split(CLASSIFICATION, X * [1, 1e6], Y, X, Y)
    assert find_bandwidth(unequal).standardised


def test_sparse_rows_stay_sparse():
    rows = sparse.random(120, 40, density=0.2, format="csr", random_state=0)
    y = (rows.sum(axis=1).A1 if hasattr(rows.sum(axis=1), "A1") else rows.sum(1)) > 4
    comparison = compare(
        rows, np.asarray(y).ravel(), methods=["sorf"], sizes=[16], repeats=1
    )
    assert [e.role for e in comparison.entries] == [LINEAR, EXACT, DEFAULT, METHOD]
    assert [f.name for f in comparison.failures] == ["boosted trees"]
    assert "dense data is required" in comparison.failures[0].reason


def test_frames_are_encoded_and_described():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "up", "down")})
    frame.loc[3, "a"] = np.nan
    frame["empty"] = np.nan
    comparison = compare(frame, Y, methods=["rff"], sizes=[16], repeats=1, exact_rows=0)
    assert [c.name for c in comparison.data.columns] == ["a", "b"]
    kinds = {c.name: c.kind for c in comparison.data.columns}
    assert kinds == {"a": "numbers", "b": "categories"}
    assert any("dropped: empty." in note for note in comparison.data.notes)
    namespace: dict = {"X": frame}
    exec(comparison.entries[-1].code, namespace)  # for the user's own frame
    assert namespace["model"].fit(frame, Y).score(frame, Y) > 0.7
    assert "exact kernel" not in {e.name for e in comparison.entries}


def test_missing_values_of_any_type():
    frame = pd.DataFrame({"a": pd.array(np.arange(300) % 9, dtype="Int64")})
    frame.loc[::5, "a"] = pd.NA
    frame["b"] = pd.array(X[:, 0] > 0, dtype="boolean")
    options = {"methods": ["rff"], "sizes": [16], "repeats": 1, "exact_rows": 0}
    comparison = compare(frame, Y, **options)
    assert comparison.data.columns[0].missing == pytest.approx(0.2, abs=0.05)
    X_test = X.copy()
    X_test[0, 0] = np.nan  # missing in the test rows only
    names = [entry.name for entry in compare(X, Y, X_test, Y, **options).entries]
    assert names == ["linear", "boosted trees", "default learner", "rff"]


def test_methods_that_fail_are_reported_with_the_reason():
    comparison = compare(X, Y, methods=["sorf", "rff"], sizes=[33], repeats=1)
    assert [f.name for f in comparison.failures] == ["sorf", "rff"]
    assert "even" in comparison.failures[0].reason
    assert [e.role for e in comparison.entries] == [LINEAR, EXACT, TREES, DEFAULT]


def test_to_dict_can_be_written_as_json(moons):
    values = json.loads(json.dumps(moons.to_dict()))
    roles = [e["role"] for e in values["entries"]]
    assert roles == [LINEAR, EXACT, TREES, DEFAULT, *[METHOD] * 4]
    assert sum(e["on_front"] for e in values["entries"]) == len(moons.front())


def entry(score: float, seconds: float) -> Entry:
    row, fit = Spread(1.0, None), Spread(seconds, None)
    return Entry("rff", METHOD, 2, 9, Spread(score, None), None, fit, row, 1, 1, "")


def test_the_front_holds_the_entries_that_no_other_entry_beats(moons):
    entries = (
        entry(0.5, 1),
        entry(0.9, 3),
        entry(0.6, 2),
        entry(0.6, 4),
        entry(0.4, 1),
    )
    comparison = Comparison(moons.data, "accuracy", 1, "", entries, (), 1.0, {}, "")
    assert [(e.score.mean, e.fit_seconds.mean) for e in comparison.front()] == [
        (0.5, 1),
        (0.6, 2),
        (0.9, 3),
    ]
    assert comparison.best() is entries[1]


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b", "a"], CLASSIFICATION),
        ([True, False], CLASSIFICATION),
        ([0, 1] * 3, CLASSIFICATION),
        ([0.0, 1.0] * 3, CLASSIFICATION),
        ([0.5, 1.0] * 3, REGRESSION),
        (list(range(20)) * 10, CLASSIFICATION),
        (list(range(40)) * 10, CLASSIFICATION),  # equally many rows of each: labels
        (list(range(200)), REGRESSION),
        (np.random.default_rng(0).poisson(30, 2000), REGRESSION),
    ],
)
def test_the_task_is_inferred_from_the_target(y, task):
    assert task_of(np.array(y)) == task
    assert task_of(np.array(y), REGRESSION) == REGRESSION


def test_invalid_parameters_are_refused():
    with pytest.raises(ValueError, match="methods must be among rff"):
        compare(X, Y, methods=["rffs"])
    with pytest.raises(ValueError, match="at least one number"):
        compare(X, Y, sizes=[])
    with pytest.raises(ValueError, match="at least 5 rows"):
        compare(X[:3], Y[:3])
    with pytest.raises(ValueError, match="loss must be one of"):
        compare(X, Y, loss="none")
    with pytest.raises(ValueError, match="task must be one of"):
        compare(X, Y, task="guess")


def test_model_bytes_are_the_size_of_the_file(tmp_path):
    model = bochner.KernelClassifier(16, random_state=0).fit(X, Y)
    bochner.save(model, tmp_path / "m.bochner")
    size = (tmp_path / "m.bochner").stat().st_size
    split = Split(CLASSIFICATION, X, Y, X, Y, preprocessing_bytes=100)
    assert model_bytes(model, split) == size + 100


def test_rows_and_targets_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="X_test and y_test must be given together"):
        compare(X, Y, X)
    with pytest.raises(ValueError, match=r"X and y must have the same .*rows; got 300"):
        compare(X, Y[:-1])
    with pytest.raises(ValueError, match="finite numbers"):
        compare(X, np.full(300, np.nan), task="regression")
    with pytest.raises(ValueError, match=r"must hold numbers .* holds 'b'"):
        compare(X, np.where(Y, "a", "b"), task="regression")
    with pytest.raises(ValueError, match="random_state must be a whole number"):
        compare(X, Y, random_state=None)


def test_the_reason_is_reported_if_nothing_can_be_fitted():
    with pytest.raises(ValueError, match=r"nothing could be fitted .*2 classes"):
        compare(X, np.zeros(300, dtype=int), methods=["rff"], sizes=[16])


def test_numbers_written_as_text_are_not_classes():
    prices = np.array([f"{i},50" for i in range(100)])
    with pytest.raises(ValueError, match="100 distinct values in 100 rows"):
        task_of(prices)
    assert task_of(prices, CLASSIFICATION) == CLASSIFICATION


def test_kernel_errors_are_measured_on_test_rows():
    contender = Contender("nystroem", METHOD, 64, 0.5)
    split = Split(CLASSIFICATION, X[:200], Y[:200], X[200:], Y[200:])
    model = run(contender, split, 0).model
    expected = bochner.metrics.kernel_error(model.features_, X[200:])
    assert contender_error(contender, model, split) == expected


def test_time_to_predict_includes_the_preprocessing():
    split = Split(CLASSIFICATION, X[:200], Y[:200], X[200:], Y[200:])
    contender = Contender("linear", LINEAR)
    slow = replace(split, preprocessing_seconds=1.0)
    assert (
        run(contender, slow, 0).row_seconds > 1 > run(contender, split, 0).row_seconds
    )
    assert split.scaled().preprocessing_seconds > 0


def test_a_target_that_is_not_a_number_is_shown():
    y = np.array(["1.5", "2", "x", "3"], dtype=object)
    with pytest.raises(ValueError, match="regression; it holds 'x'"):
        numeric_target(y, REGRESSION)
