"""Recommending: the search finds what a grid finds, and its promises hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import binom
from sklearn.datasets import make_moons
from sklearn.ensemble import HistGradientBoostingClassifier

from bochner import datasets, recommend
from bochner.compare.contenders import Contender, default_contender
from bochner.compare.halving import (
    FINALISTS,
    Line,
    Search,
    all_contenders,
    default_sizes,
    lines,
)
from bochner.compare.recommend import recommend_rows
from bochner.compare.recommendation import (
    Interval,
    Recommendation,
    Target,
    Trial,
    accuracy_interval,
    r2_interval,
)
from bochner.compare.results import METHOD
from bochner.compare.rows import Given, prepared
from bochner.compare.task import Split

X, Y = make_moons(900, noise=0.25, random_state=0)
FEW: dict[str, Any] = {"methods": ["rff", "nystroem"], "sizes": [16, 64]}


@pytest.fixture(scope="module")
def best() -> Recommendation:
    return recommend(X, Y, **FEW)


def test_the_choice_is_near_the_best_of_the_grid(best):
    """Of the same candidates on the same rows, by a fit of each."""
    rest = slice(600, None)
    split = Split("classification", X[:600], Y[:600], X[rest], Y[rest])
    from bochner.compare.compare import run

    grid = all_contenders(FEW["methods"], FEW["sizes"], best.choice.gamma, "squared")
    scores = [run(contender, split, 0).score for contender in grid]
    ours = run(best.choice, split, 0).score
    assert ours > max(scores) - 0.03


def test_the_code_makes_the_choice(best):
    names: dict = {}
    exec(best.code, names)
    model = names["model"]
    last = model[-1] if hasattr(model, "steps") else model
    assert last.features.n_components == best.choice.size
    assert last.random_state == 0


def test_what_was_tried_is_told(best):
    rows = sorted({trial.n_rows for trial in best.trials})
    assert len(rows) > 1  # growing subsamples
    first = [t for t in best.trials if t.n_rows == rows[0]]
    last = [t for t in best.trials if t.n_rows == rows[-1]]
    assert len(first) == 7  # five bandwidths of one method, the best two of another
    assert len({t.contender.gamma for t in last}) <= FINALISTS
    assert any(t.kept for t in first) and not all(t.kept for t in first)
    assert best.n_judged == pytest.approx(len(Y) / 5, abs=1)
    assert best.to_dict()["choice"]["name"] == best.choice.name


@pytest.fixture(scope="module")
def digits() -> Recommendation:
    rows = datasets.load("digits")
    return recommend(rows.X_train, rows.y_train, methods=["sorf"], sizes=[32])


def test_the_default_learner_takes_part(digits):
    """And is recommended where nothing that was searched is as good."""
    assert digits.choice == default_contender()
    last = max(digits.trials, key=lambda trial: trial.n_rows).n_rows
    scores = {t.contender.name: t.score for t in digits.trials if t.n_rows == last}
    assert scores["default learner"] == max(scores.values()) > scores["sorf"]
    names: dict = {}
    exec(digits.code, names)
    assert repr(names["model"]) == "KernelClassifier(random_state=0)"
    assert not digits.standardised
    assert digits.to_dict()["choice"]["role"] == "default"


def test_the_default_learner_has_unscaled_rows():
    """It is fitted as its code says, whatever scaling the methods share."""
    scales = X * [1, 1e6]
    found = recommend(scales, Y, methods=["rff"], sizes=[8])
    assert found.choice == default_contender() and not found.standardised
    assert "StandardScaler" not in found.code
    split, _ = prepared(Given(scales, Y), None, {}, 0)
    names: dict = {}
    exec(found.code, names)
    model = names["model"].fit(split.X_train, split.y_train)
    assert found.score.value == model.score(split.X_test, split.y_test)


def test_a_kernel_error_leaves_the_default_learner_out():
    found = recommend(X, Y, kernel_error=0.5, **FEW)
    assert default_contender() not in [trial.contender for trial in found.trials]


def test_boosted_trees_are_a_reference_on_the_rows_of_the_choice(digits):
    rows = datasets.load("digits")
    split, _ = prepared(Given(rows.X_train, rows.y_train), None, {}, 0)
    trees = HistGradientBoostingClassifier(random_state=0)
    trees.fit(split.X_train, split.y_train)
    assert digits.boosted_trees == trees.score(split.X_test, split.y_test)
    assert digits.to_dict()["boosted_trees"] == digits.boosted_trees
    assert digits.trees_lead() is None  # the choice is ahead
    behind = replace(digits, score=Interval(digits.boosted_trees - 0.031, 0.0, 1.0))
    assert "ahead by 3.1 points" in behind.trees_lead()


def test_sparse_rows_have_no_boosted_trees():
    found = recommend(sparse.csr_matrix(X), Y, methods=["rff"], sizes=[16])
    assert found.boosted_trees is None and found.trees_lead() is None


def test_cheap_models_are_found_where_they_will_do():
    found = recommend(X, Y, within=30.0, **FEW)
    assert found.met and found.reference is not None
    tried = [t for t in found.trials if t.n_rows == max(t.n_rows for t in found.trials)]
    assert found.row_seconds == min(t.row_seconds for t in tried)


def test_limits_hold():
    small = recommend(X, Y, megabytes=0.01, **FEW)
    assert small.met and small.model_bytes <= 10_000
    close = recommend(X, Y, kernel_error=0.2, methods=["nystroem"], sizes=[16, 64])
    assert close.met and close.error <= 0.25  # measured again, on other rows
    none = recommend(X, Y, megabytes=0.001, **FEW)
    assert not none.met and none.choice.size == 16  # the nearest to it


def test_kernel_errors_are_met_by_maps_that_have_one():
    some = ["compact", "compact_circulant", "rff"]
    found = recommend(X, Y, kernel_error=0.3, methods=some, sizes=[8, 64])
    assert found.met and found.choice.name == "rff"


def test_the_same_state_gives_the_same_choice(best):
    assert recommend(X, Y, **FEW).choice == best.choice


def test_numbers():
    target = np.sin(3 * X[:, 0]) + 0.1 * X[:, 1]
    found = recommend(X, target, methods=["rff"], sizes=[64])
    assert found.metric == "R²" and found.score.low < found.score.value
    assert found.score.value > 0.9


def trial(score: float, seconds: float = 1.0, size: int = 2) -> Trial:
    contender = Contender("rff", METHOD, size, 1.0)
    return Trial(contender, 10, score, 0.1, 1.0, seconds, 1000)


def test_targets():
    assert Target().words() == "the best score"
    assert Target(within=1).floor(0.9) == pytest.approx(0.89)
    assert Target(microseconds=2e6).is_met(trial(0.9))
    assert not Target(microseconds=0.5e6).is_met(trial(0.9))
    assert not Target(megabytes=0.0005).is_met(trial(0.9))
    assert Target(kernel_error=0.1).is_met(trial(0.9))
    assert not Target(kernel_error=0.09).is_met(trial(0.9))
    with pytest.raises(ValueError, match="megabytes must be a positive number"):
        Target(megabytes=0)


def test_space():
    assert default_sizes(100) == [64, 128]
    assert default_sizes(10**9)[-1] == 4096
    found = lines(["rff", "maxout", "giga"], [64, 2048], 0.5, "squared")
    assert len(found) == 5 + 1 + 5
    assert {line.sizes for line in found if line.method == "giga"} == {(64,)}
    line = Line("rff", 0.5, (64, 256), "squared")
    assert line.up_to(300).size == 256 and line.up_to(10).size == 64


def test_no_method_fills_all_places():
    search = Search(Split("classification", X, Y, X, Y), [], Target(), 0)
    every = [Line("rff", g, (4,), "squared") for g in (1, 2, 3)]
    every.append(Line("orf", 1.0, (4,), "squared"))
    found = []
    for line, score in zip(every, (0.9, 0.8, 0.7, 0.1), strict=True):
        tried = Trial(line.at(4), 10, score, None, 1.0, 1.0, 1)
        search.trials.append(tried)
        found.append((line, tried))
    kept = search._kept(found, 3, lambda line: line.method, 2)
    assert [line.method for line in kept] == ["rff", "rff", "orf"]
    assert [t.kept for t in search.trials] == [True, True, False, True]


def test_finalists_are_of_different_families():
    search = Search(Split("classification", X, Y, X, Y), [], Target(), 0)
    found = []
    for name, score in (("rff", 0.9), ("orf", 0.8), ("maxout", 0.7), ("compact", 0.6)):
        line = Line(name, 1.0, (4,), "squared")
        tried = Trial(line.at(4), 10, score, None, 1.0, 1.0, 1)
        search.trials.append(tried)
        found.append((line, tried))
    kept = search._kept(found, 3, lambda line: line.family, 1)
    assert [line.method for line in kept] == ["rff", "maxout", "compact"]
    assert [t.kept for t in search.trials] == [True, False, True, True]


@pytest.mark.parametrize("p", [0.5, 0.9, 0.99])
def test_accuracy_intervals_hold_19_times_in_20(p):
    """Accuracies of m rows against m others, both binomial.

    4000 pairs: a true coverage of 0.93 or less is below 0.935 with probability 0.9,
    one of 0.95 is not, but with probability 1e-5.
    """
    m, draws = 400, 4000
    rng = np.random.default_rng(0)
    judged, new = rng.binomial(m, p, draws), rng.binomial(m, p, draws)
    inside = 0
    for a, b in zip(judged, new, strict=True):
        found = accuracy_interval(np.arange(m) < a)
        inside += found.low <= b / m <= found.high
    assert inside / draws > 0.935
    assert binom.cdf(int(0.935 * draws), draws, 0.95) < 1e-4


def test_r2_intervals_hold():
    """60 pairs of samples: 19 in 20 leaves 48 or fewer with probability 1e-5."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(60):
        y, other = rng.normal(size=(2, 300))
        error, again = 0.5 * rng.normal(size=(2, 300))
        found = r2_interval(y, y + error)
        value = 1 - (again**2).sum() / ((other - other.mean()) ** 2).sum()
        inside += found.low <= value <= found.high
    assert binom.cdf(48, 60, 0.95) < 1e-4
    assert inside > 48


def test_few_rows_promise_little():
    found = accuracy_interval(np.ones(10, dtype=bool))
    assert found.value == found.high == 1.0 and found.low < 0.8


def test_kernel_errors_are_compared_of_one_kernel():
    """A wider kernel is easier to approximate, and might be of no use."""
    found = recommend(X, Y, kernel_error=0.5, **FEW)
    assert len({trial.contender.gamma for trial in found.trials}) == 1


def test_trials_count_what_stands_before_the_map():
    frame = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "kind": np.where(Y, "a", "b")})
    found = recommend(frame, Y, **FEW)
    last = [t for t in found.trials if t.contender == found.choice]
    assert last[-1].model_bytes == pytest.approx(found.model_bytes, rel=0.02)


def test_every_trial_is_told_at_once():
    told: list[Trial] = []
    given = Given(X, Y)
    asked = {"within": None, "kernel_error": None, "task": None, "loss": "squared"}
    limits = {"microseconds": None, "megabytes": None}
    silent = {"progress": lambda *_: None, "random_state": 0}
    found = recommend_rows(given, **FEW, **asked, **limits, **silent, tried=told.append)
    assert len(told) == len(found.trials)


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(ValueError, match="at least 10 rows are needed; got 5"):
        recommend(X[:5], Y[:5])
    with pytest.raises(ValueError, match="random_state must be a whole number"):
        recommend(X, Y, random_state=None)
    twice = recommend(X, Y, methods=["rff", "rff"], sizes=[16])
    assert twice.choice.name == "rff"
