"""`recommend`: the search is as good as a grid, and its intervals hold."""

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
from bochner.compare.compare import run
from bochner.compare.contenders import Contender, default_contender
from bochner.compare.halving import (
    FINALISTS,
    Candidate,
    Search,
    all_contenders,
    candidates,
    default_sizes,
)
from bochner.compare.recommend import recommend_dataset
from bochner.compare.recommendation import (
    Interval,
    Recommendation,
    Target,
    Trial,
    accuracy_interval,
    r2_interval,
)
from bochner.compare.results import METHOD
from bochner.compare.rows import Dataset, prepare
from bochner.compare.task import Split

X, Y = make_moons(900, noise=0.25, random_state=0)
FEW: dict[str, Any] = {"methods": ["rff", "nystroem"], "sizes": [16, 64]}


@pytest.fixture(scope="module")
def best() -> Recommendation:
    return recommend(X, Y, **FEW)


def test_the_choice_is_close_to_the_best_of_a_grid(best):
    """The grid fits every candidate of the search on the same rows."""
    rest = slice(600, None)
    split = Split("classification", X[:600], Y[:600], X[rest], Y[rest])
    grid = all_contenders(FEW["methods"], FEW["sizes"], best.choice.gamma, "squared")
    scores = [run(contender, split, 0).score for contender in grid]
    ours = run(best.choice, split, 0).score
    assert ours > max(scores) - 0.03


def test_the_code_builds_the_choice(best):
    namespace: dict = {}
    exec(best.code, namespace)
    model = namespace["model"]
    last = model[-1] if hasattr(model, "steps") else model
    assert last.features.n_components == best.choice.size
    assert last.random_state == 0


def test_trials_are_reported(best):
    rows = sorted({trial.n_rows for trial in best.trials})
    assert len(rows) > 1  # growing numbers of rows
    first = [t for t in best.trials if t.n_rows == rows[0]]
    last = [t for t in best.trials if t.n_rows == rows[-1]]
    assert len(first) == 7  # five bandwidths of one method, the best two of the other
    assert len({t.contender.gamma for t in last}) <= FINALISTS
    assert any(t.kept for t in first) and not all(t.kept for t in first)
    assert best.n_judged == pytest.approx(len(Y) / 5, abs=1)
    assert best.to_dict()["choice"]["name"] == best.choice.name


@pytest.fixture(scope="module")
def digits() -> Recommendation:
    rows = datasets.load("digits")
    return recommend(rows.X_train, rows.y_train, methods=["sorf"], sizes=[32])


def test_the_default_learner_takes_part(digits):
    """The default learner is recommended if it scores highest."""
    assert digits.choice == default_contender()
    last = max(digits.trials, key=lambda trial: trial.n_rows).n_rows
    scores = {t.contender.name: t.score for t in digits.trials if t.n_rows == last}
    assert scores["default learner"] == max(scores.values()) > scores["sorf"]
    namespace: dict = {}
    exec(digits.code, namespace)
    assert repr(namespace["model"]) == "KernelClassifier(random_state=0)"
    assert not digits.standardised
    assert digits.to_dict()["choice"]["role"] == "default"


def test_the_default_learner_receives_unscaled_rows():
    """The default learner scales rows itself; the methods share a scaler."""
    unequal = X * [1, 1e6]
    recommendation = recommend(unequal, Y, methods=["rff"], sizes=[8])
    assert recommendation.choice == default_contender()
    assert not recommendation.standardised
    assert "StandardScaler" not in recommendation.code
    split, _ = prepare(Dataset(unequal, Y), None, {}, 0)
    namespace: dict = {}
    exec(recommendation.code, namespace)
    model = namespace["model"].fit(split.X_train, split.y_train)
    assert recommendation.score.value == model.score(split.X_test, split.y_test)


def test_the_default_learner_is_left_out_if_a_kernel_error_is_requested():
    trials = recommend(X, Y, kernel_error=0.5, **FEW).trials
    assert default_contender() not in [trial.contender for trial in trials]


def test_boosted_trees_are_scored_on_the_test_rows_of_the_choice(digits):
    rows = datasets.load("digits")
    split, _ = prepare(Dataset(rows.X_train, rows.y_train), None, {}, 0)
    trees = HistGradientBoostingClassifier(random_state=0)
    trees.fit(split.X_train, split.y_train)
    assert digits.boosted_trees == trees.score(split.X_test, split.y_test)
    assert digits.to_dict()["boosted_trees"] == digits.boosted_trees
    assert digits.trees_lead() is None  # the choice is ahead
    behind = replace(digits, score=Interval(digits.boosted_trees - 0.031, 0.0, 1.0))
    assert "ahead by 3.1 points" in behind.trees_lead()


def test_sparse_rows_have_no_boosted_trees():
    recommendation = recommend(sparse.csr_matrix(X), Y, methods=["rff"], sizes=[16])
    assert recommendation.boosted_trees is None
    assert recommendation.trees_lead() is None


def test_the_fastest_model_within_a_margin_is_chosen():
    recommendation = recommend(X, Y, within=30.0, **FEW)
    assert recommendation.met and recommendation.reference is not None
    trials = recommendation.trials
    n_rows = max(t.n_rows for t in trials)
    fastest = min(t.row_seconds for t in trials if t.n_rows == n_rows)
    assert recommendation.row_seconds == fastest


def test_limits_hold():
    small = recommend(X, Y, megabytes=0.01, **FEW)
    assert small.met and small.model_bytes <= 10_000
    close = recommend(X, Y, kernel_error=0.2, methods=["nystroem"], sizes=[16, 64])
    assert close.met and close.error <= 0.25  # measured on test rows
    unmet = recommend(X, Y, megabytes=0.001, **FEW)
    assert not unmet.met and unmet.choice.size == 16  # the closest to the limit


def test_kernel_errors_are_met_by_maps_that_approximate_a_kernel():
    methods = ["compact", "compact_circulant", "rff"]
    recommendation = recommend(X, Y, kernel_error=0.3, methods=methods, sizes=[8, 64])
    assert recommendation.met and recommendation.choice.name == "rff"


def test_the_same_seed_gives_the_same_choice(best):
    assert recommend(X, Y, **FEW).choice == best.choice


def test_regression():
    y = np.sin(3 * X[:, 0]) + 0.1 * X[:, 1]
    recommendation = recommend(X, y, methods=["rff"], sizes=[64])
    assert recommendation.metric == "R²"
    assert recommendation.score.low < recommendation.score.value
    assert recommendation.score.value > 0.9


def trial(score: float, seconds: float = 1.0, size: int = 2) -> Trial:
    contender = Contender("rff", METHOD, size, 1.0)
    return Trial(contender, 10, score, 0.1, 1.0, seconds, 1000)


def test_targets():
    assert Target().description() == "the best score"
    assert Target(within=1).floor(0.9) == pytest.approx(0.89)
    assert Target(microseconds=2e6).is_met(trial(0.9))
    assert not Target(microseconds=0.5e6).is_met(trial(0.9))
    assert not Target(megabytes=0.0005).is_met(trial(0.9))
    assert Target(kernel_error=0.1).is_met(trial(0.9))
    assert not Target(kernel_error=0.09).is_met(trial(0.9))
    with pytest.raises(ValueError, match="megabytes must be a positive number"):
        Target(megabytes=0)


def test_candidates_and_their_sizes():
    assert default_sizes(100) == [64, 128]
    assert default_sizes(10**9)[-1] == 4096
    every = candidates(["rff", "maxout", "giga"], [64, 2048], 0.5, "squared")
    assert len(every) == 5 + 1 + 5
    assert {c.sizes for c in every if c.method == "giga"} == {(64,)}
    rff = Candidate("rff", 0.5, (64, 256), "squared")
    assert rff.up_to(300).size == 256 and rff.up_to(10).size == 64


def search_with_scores(scored):
    """A search with a trial for every (candidate, score), and pairs of them."""
    search = Search(Split("classification", X, Y, X, Y), [], Target(), 0)
    pairs = []
    for candidate, score in scored:
        search.trials.append(Trial(candidate.at(4), 10, score, None, 1.0, 1.0, 1))
        pairs.append((candidate, search.trials[-1]))
    return search, pairs


def test_no_method_takes_all_promotions():
    methods = [("rff", 1, 0.9), ("rff", 2, 0.8), ("rff", 3, 0.7), ("orf", 1, 0.1)]
    search, pairs = search_with_scores(
        (Candidate(name, gamma, (4,), "squared"), score)
        for name, gamma, score in methods
    )
    promoted = search._promote(pairs, 3, lambda c: c.method, 2)
    assert [c.method for c in promoted] == ["rff", "rff", "orf"]
    assert [t.kept for t in search.trials] == [True, True, False, True]


def test_finalists_are_of_different_families():
    methods = [("rff", 0.9), ("orf", 0.8), ("maxout", 0.7), ("compact", 0.6)]
    search, pairs = search_with_scores(
        (Candidate(name, 1.0, (4,), "squared"), score) for name, score in methods
    )
    promoted = search._promote(pairs, 3, lambda c: c.family, 1)
    assert [c.method for c in promoted] == ["rff", "maxout", "compact"]
    assert [t.kept for t in search.trials] == [True, False, True, True]


@pytest.mark.parametrize("p", [0.5, 0.9, 0.99])
def test_accuracy_intervals_hold_19_times_in_20(p):
    """Binomial accuracies on m rows, compared with those on m new rows.

    With 4000 pairs, the share inside is below 0.935 with probability 0.9 if the true
    coverage is 0.93 or less, and with probability 1e-5 if it is 0.95.
    """
    m, draws = 400, 4000
    rng = np.random.default_rng(0)
    hits, new_hits = rng.binomial(m, p, draws), rng.binomial(m, p, draws)
    inside = 0
    for a, b in zip(hits, new_hits, strict=True):
        interval = accuracy_interval(np.arange(m) < a)
        inside += interval.low <= b / m <= interval.high
    assert inside / draws > 0.935
    assert binom.cdf(int(0.935 * draws), draws, 0.95) < 1e-4


def test_r2_intervals_hold():
    """With 60 pairs and coverage 0.95, 48 or fewer are inside with probability 1e-5."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(60):
        y, new_y = rng.normal(size=(2, 300))
        error, new_error = 0.5 * rng.normal(size=(2, 300))
        interval = r2_interval(y, y + error)
        value = 1 - (new_error**2).sum() / ((new_y - new_y.mean()) ** 2).sum()
        inside += interval.low <= value <= interval.high
    assert binom.cdf(48, 60, 0.95) < 1e-4
    assert inside > 48


def test_intervals_of_few_rows_are_wide():
    interval = accuracy_interval(np.ones(10, dtype=bool))
    assert interval.value == interval.high == 1.0 and interval.low < 0.8


def test_kernel_errors_are_compared_for_one_bandwidth():
    """A wider kernel is easier to approximate, but may be useless."""
    trials = recommend(X, Y, kernel_error=0.5, **FEW).trials
    assert len({trial.contender.gamma for trial in trials}) == 1


def test_model_bytes_of_trials_include_the_preprocessing():
    frame = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "kind": np.where(Y, "a", "b")})
    recommendation = recommend(frame, Y, **FEW)
    last = [t for t in recommendation.trials if t.contender == recommendation.choice]
    assert last[-1].model_bytes == pytest.approx(recommendation.model_bytes, rel=0.02)


def test_every_trial_is_reported_at_once():
    reported: list[Trial] = []
    recommendation = recommend_dataset(
        Dataset(X, Y),
        **FEW,
        within=None,
        kernel_error=None,
        microseconds=None,
        megabytes=None,
        task=None,
        loss="squared",
        progress=lambda *_: None,
        random_state=0,
        on_trial=reported.append,
    )
    assert len(reported) == len(recommendation.trials)


def test_invalid_rows_and_seeds_are_refused():
    with pytest.raises(ValueError, match=r"at least 10 rows, .*; got 5"):
        recommend(X[:5], Y[:5])
    with pytest.raises(ValueError, match="random_state must be a whole number"):
        recommend(X, Y, random_state=None)


def test_repeated_methods_count_once():
    recommendation = recommend(X, Y, methods=["rff", "rff"], sizes=[16])
    assert recommendation.choice.name == "rff"
