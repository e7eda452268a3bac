"""Comparing contenders: the same ground for all, figures that are what they say."""

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
from bochner.compare.compare import kernel_error, model_bytes, run
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
from bochner.compare.rows import Given, prepared
from bochner.compare.task import (
    CLASSIFICATION,
    REGRESSION,
    Split,
    find_bandwidth,
    numeric,
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


def test_features_come_near_the_exact_machine_and_beat_the_line(moons):
    by = {entry.label: entry for entry in moons.entries}
    assert by["nystroem, 64"].score.mean > by["linear"].score.mean + 0.05
    assert abs(by["nystroem, 64"].score.mean - by["exact kernel"].score.mean) < 0.06
    assert by["rff, 64"].error.mean < by["rff, 16"].error.mean
    assert by["exact kernel"].error.mean == 0
    assert by["exact kernel"].memory_bytes is None  # its memory is not Python's


def test_figures_are_those_of_the_models(moons):
    """A test of the figures themselves: the same fit by hand."""
    entry = next(e for e in moons.entries if e.label == "nystroem, 64")
    names: dict = {}
    exec(entry.code, names)
    assert names["model"].get_params()  # an estimator, unfitted
    assert entry.fit_seconds.mean > 0 and entry.row_seconds.mean > 0
    assert entry.memory_bytes > 64 * 8 * moons.data.n_train / 2


def test_numbers_are_compared_by_r2():
    found = compare(X, NUMBERS, methods=["rff", "compact"], sizes=[32], repeats=1)
    assert found.metric == "R²" and found.data.task == REGRESSION
    by = {entry.name: entry for entry in found.entries}
    assert by["rff"].score.mean > 0.9 > by["linear"].score.mean
    assert by["compact"].error is None  # a learned map approximates no kernel
    assert by["rff"].score.deviation is None


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("task", [CLASSIFICATION, REGRESSION])
def test_the_code_of_every_method_makes_its_model(name, task):
    contender = Contender(name, METHOD, 16, 0.5)
    names: dict = {}
    exec(contender.code(task, (scaler_step(X),), seed=3), names)
    made = names["model"][-1]
    expected = contender.estimator(task, 3)
    assert repr(made) == repr(expected)
    assert names["model"][0].with_mean


@pytest.mark.parametrize("task", [CLASSIFICATION, REGRESSION])
def test_the_code_of_single_contenders_makes_their_models(task):
    single = [*references(0.5, "squared", True), default_contender()]
    for contender in single:
        names: dict = {}
        exec(contender.code(task), names)
        assert repr(names["model"]) == repr(contender.estimator(task, 0))


def test_exact_is_the_machine_of_scikit_learn():
    split = Split(CLASSIFICATION, X[:200], Y[:200], X[200:], Y[200:])
    found = run(Contender("exact kernel", EXACT, None, 2.0), split, 0)
    scores = [
        SVC(C=C, gamma=2.0).fit(X[:200], Y[:200]).score(X[200:], Y[200:])
        for C in (1, 10, 100)
    ]
    assert found.score in scores


def test_the_default_learner_is_plain_and_sees_rows_unscaled():
    """Scaling is its own choice, whatever the other contenders share."""
    scales = X * [1, 1e6]
    found = compare(scales, Y, methods=["rff"], sizes=[16], repeats=1)
    by = {entry.name: entry for entry in found.entries}
    assert "StandardScaler" in by["rff"].code
    code = "from bochner import KernelClassifier\n\n"
    assert (
        by["default learner"].code == f"{code}model = KernelClassifier(random_state=0)"
    )
    names: dict = {}
    exec(by["default learner"].code, names)
    split, _ = prepared(Given(scales, Y), None, {}, 0)
    model = names["model"].fit(split.X_train, split.y_train)
    score = model.score(split.X_test, split.y_test)
    assert by["default learner"].score.mean == score


def test_boosted_trees_are_those_of_scikit_learn(moons):
    split, _ = prepared(Given(X, Y), None, {}, 0)
    trees = HistGradientBoostingClassifier(random_state=0)
    score = trees.fit(split.X_train, split.y_train).score(split.X_test, split.y_test)
    assert moons.best_of(TREES).score.mean == score


def test_a_lead_of_boosted_trees_is_said():
    """Cuts of two columns among thirty, which trees have and distances do not."""
    rows = np.random.default_rng(0).uniform(-1, 1, (800, 30))
    steps = (rows[:, 0] > 0.1) | (rows[:, 1] > 0.5)
    words = {"methods": ["rff"], "sizes": [8], "repeats": 1, "exact_rows": 0}
    found = compare(rows, steps, **words)
    trees, own = found.best_of(TREES), found.best_of(METHOD, DEFAULT)
    points = 100 * (trees.score.mean - own.score.mean)
    assert f"Boosted trees are ahead by {points:.1f} points" in found.trees_lead()


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
def test_leads_in_words(trees, own, task, expected):
    said = trees_lead(trees, own, task)
    assert (said is None) if expected is None else (expected in said)


def test_the_exact_machine_sees_rows_of_all_kinds():
    order = np.argsort(Y)
    found = compare(
        X[order], Y[order], X, Y, methods=["rff"], sizes=[8], repeats=1, exact_rows=60
    )
    exact = next(e for e in found.entries if e.role == EXACT)
    assert exact.n_rows == 60 and exact.score.mean > 0.8


def test_the_line_is_ridge():
    split = Split(CLASSIFICATION, X[:200], Y[:200], X[200:], Y[200:])
    found = run(Contender("linear", LINEAR), split, 0)
    ridge = RidgeClassifier(alpha=found.model.alpha_).fit(X[:200], Y[:200])
    assert found.score == ridge.score(X[200:], Y[200:])


def test_the_bandwidth_is_one_that_serves():
    split = Split(CLASSIFICATION, X, Y, X, Y)
    found = find_bandwidth(split)
    K = rbf_kernel(X, gamma=found.gamma)
    assert 0.01 < K.mean() < 0.9
    scaled = Split(CLASSIFICATION, X * [1, 1e6], Y, X, Y)
    assert find_bandwidth(scaled).standardised


def test_sparse_rows_stay_sparse():
    rows = sparse.random(120, 40, density=0.2, format="csr", random_state=0)
    y = (rows.sum(axis=1).A1 if hasattr(rows.sum(axis=1), "A1") else rows.sum(1)) > 4
    found = compare(
        rows, np.asarray(y).ravel(), methods=["sorf"], sizes=[16], repeats=1
    )
    assert [e.role for e in found.entries] == [LINEAR, EXACT, DEFAULT, METHOD]
    assert [f.name for f in found.failures] == ["boosted trees"]
    assert "dense data is required" in found.failures[0].reason


def test_frames_are_encoded_and_described():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "up", "down")})
    frame.loc[3, "a"] = np.nan
    frame["nothing"] = np.nan
    found = compare(frame, Y, methods=["rff"], sizes=[16], repeats=1, exact_rows=0)
    assert [c.name for c in found.data.columns] == ["a", "b"]
    kinds = {c.name: c.kind for c in found.data.columns}
    assert kinds == {"a": "numbers", "b": "categories"}
    assert any("nothing" in note for note in found.data.notes)
    names: dict = {"X": frame}
    exec(found.entries[-1].code, names)  # for the user's own frame
    assert names["model"].fit(frame, Y).score(frame, Y) > 0.7
    assert "exact kernel" not in {e.name for e in found.entries}


def test_gaps_of_any_kind():
    frame = pd.DataFrame({"a": pd.array(np.arange(300) % 9, dtype="Int64")})
    frame.loc[::5, "a"] = pd.NA
    frame["b"] = pd.array(X[:, 0] > 0, dtype="boolean")
    found = compare(frame, Y, methods=["rff"], sizes=[16], repeats=1, exact_rows=0)
    assert found.data.columns[0].missing == pytest.approx(0.2, abs=0.05)
    gaps = X.copy()
    gaps[0, 0] = np.nan  # among the rows to be judged on alone
    words = {"methods": ["rff"], "sizes": [16], "repeats": 1, "exact_rows": 0}
    names = [entry.name for entry in compare(X, Y, gaps, Y, **words).entries]
    assert names == ["linear", "boosted trees", "default learner", "rff"]


def test_what_a_method_does_not_take_is_left_out_with_its_reason():
    found = compare(X, Y, methods=["sorf", "rff"], sizes=[33], repeats=1)
    assert [f.name for f in found.failures] == ["sorf", "rff"]
    assert "even" in found.failures[0].reason
    assert [e.role for e in found.entries] == [LINEAR, EXACT, TREES, DEFAULT]


def test_dictionaries_are_json(moons):
    told = json.loads(json.dumps(moons.to_dict()))
    roles = [e["role"] for e in told["entries"]]
    assert roles == [LINEAR, EXACT, TREES, DEFAULT, *[METHOD] * 4]
    assert sum(e["on_front"] for e in told["entries"]) == len(moons.front())


def entry(score: float, seconds: float) -> Entry:
    one = Spread(1.0, None)
    spent = Spread(seconds, None)
    return Entry("rff", METHOD, 2, 9, Spread(score, None), None, spent, one, 1, 1, "")


def test_the_front_has_what_nothing_beats(moons):
    entries = (
        entry(0.5, 1),
        entry(0.9, 3),
        entry(0.6, 2),
        entry(0.6, 4),
        entry(0.4, 1),
    )
    found = Comparison(moons.data, "accuracy", 1, "", entries, (), 1.0, {}, "")
    assert [(e.score.mean, e.fit_seconds.mean) for e in found.front()] == [
        (0.5, 1),
        (0.6, 2),
        (0.9, 3),
    ]
    assert found.best() is entries[1]


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b", "a"], CLASSIFICATION),
        ([True, False], CLASSIFICATION),
        ([0, 1] * 3, CLASSIFICATION),
        ([0.0, 1.0] * 3, CLASSIFICATION),
        ([0.5, 1.0] * 3, REGRESSION),
        (list(range(20)) * 10, CLASSIFICATION),
        (list(range(40)) * 10, CLASSIFICATION),  # as many rows of each: names
        (list(range(200)), REGRESSION),
        (np.random.default_rng(0).poisson(30, 2000), REGRESSION),
    ],
)
def test_the_task_is_told_by_the_target(y, task):
    assert task_of(np.array(y)) == task
    assert task_of(np.array(y), REGRESSION) == REGRESSION


def test_errors():
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


def test_models_are_as_large_as_their_files(tmp_path):
    model = bochner.KernelClassifier(16, random_state=0).fit(X, Y)
    bochner.save(model, tmp_path / "m.bochner")
    size = (tmp_path / "m.bochner").stat().st_size
    split = Split(CLASSIFICATION, X, Y, X, Y, before_bytes=100)
    assert model_bytes(model, split) == size + 100


def test_rows_and_targets_go_together():
    with pytest.raises(ValueError, match="X_test and y_test must be given together"):
        compare(X, Y, X)
    with pytest.raises(ValueError, match="X and y must have as many rows; got 300"):
        compare(X, Y[:-1])
    with pytest.raises(ValueError, match="finite numbers"):
        compare(X, np.full(300, np.nan), task="regression")
    with pytest.raises(ValueError, match=r"must be numbers .* holds 'b'"):
        compare(X, np.where(Y, "a", "b"), task="regression")
    with pytest.raises(ValueError, match="random_state must be a whole number"):
        compare(X, Y, random_state=None)


def test_where_nothing_can_be_fitted_the_reason_is_told():
    with pytest.raises(ValueError, match=r"nothing could be fitted .*2 classes"):
        compare(X, np.zeros(300, dtype=int), methods=["rff"], sizes=[16])


def test_text_of_numbers_is_no_class():
    prices = np.array([f"{i},50" for i in range(100)])
    with pytest.raises(ValueError, match="100 different ones in 100 rows"):
        task_of(prices)
    assert task_of(prices, CLASSIFICATION) == CLASSIFICATION


def test_errors_of_kernels_are_of_rows_not_seen():
    contender = Contender("nystroem", METHOD, 64, 0.5)
    split = Split(CLASSIFICATION, X[:200], Y[:200], X[200:], Y[200:])
    model = run(contender, split, 0).model
    unseen = bochner.metrics.kernel_error(model.features_, X[200:])
    assert kernel_error(contender, model, split) == unseen


def test_time_to_predict_has_the_preprocessing_in_it():
    split = Split(CLASSIFICATION, X[:200], Y[:200], X[200:], Y[200:])
    contender = Contender("linear", LINEAR)
    slow = replace(split, before_seconds=1.0)
    assert (
        run(contender, slow, 0).row_seconds > 1 > run(contender, split, 0).row_seconds
    )
    assert split.scaled().before_seconds > 0


def test_targets_that_are_no_numbers_are_shown():
    y = np.array(["1.5", "2", "x", "3"], dtype=object)
    with pytest.raises(ValueError, match="regression, and holds 'x';"):
        numeric(y, REGRESSION)
