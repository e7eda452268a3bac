"""`recommend` beside a full grid of the same methods, sizes and bandwidths.

Both choose by the same rows, the grid with a fit on all others for every candidate.
Test scores are of the choices, fitted on all training rows. Printed besides: the best
test score among the grid's 20 best, which nobody could have known; and whether scores
on other rows were inside the interval that `recommend` gave.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from bochner import datasets
from bochner.compare.compare import run as fitted
from bochner.compare.halving import all_contenders, default_sizes
from bochner.compare.recommend import recommend, selection_split
from bochner.compare.rows import Dataset, prepare
from bochner.compare.task import Split, guess_bandwidth
from bochner.methods import METHODS

SETS = "magic04", "ijcnn1", "house_8L"
SETTLED_ON = "letter", "digits", "spambase", "usps"
"""Sets that the search was developed on, and which prove nothing."""

LEARNED_FROM = 5000
"""Rows that both searches have; all others, which are many, judge their choices."""

SPLITS = 4


def run(quick: bool) -> None:
    for name in SETS[:1] if quick else SETS:
        _beside_grid(name, quick)
    print("\ntest score inside the interval that recommend gave")
    hits = [
        _inside(name, seed) for name in SETS for seed in range(1 if quick else SPLITS)
    ]
    print(f"in all: {sum(hits)} of {len(hits)}")


def _beside_grid(name: str, quick: bool) -> None:
    data = _cut(name, 0)
    names = ["rff", "sorf", "nystroem"] if quick else list(METHODS)
    _warm(names, data)
    start = time.perf_counter()
    found = recommend(data.X_train, data.y_train, methods=names)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    whole, _ = prepare(Dataset(data.X_train, data.y_train), None, {}, 0)
    task = whole.task
    bandwidth = guess_bandwidth(whole)
    test = Split(task, data.X_train, data.y_train, data.X_test, data.y_test)
    unscaled = test
    if bandwidth.standardised:
        whole, test = whole.scaled(), test.scaled()
    split = selection_split(whole, 0)
    grid = all_contenders(
        names, default_sizes(len(whole.y_train)), bandwidth.gamma, "squared"
    )
    scores = []
    for contender in grid:
        try:
            scores.append((fitted(contender, split, 0).score, contender))
        except ValueError:
            continue
    grid_seconds = time.perf_counter() - start
    best = max(scores, key=lambda pair: pair[0])[1]
    own = unscaled if found.choice.scales_itself else test
    ours = fitted(found.choice, own, 0).score
    theirs = fitted(best, test, 0).score
    near = sorted(scores, key=lambda pair: -pair[0])[:20]
    oracle = max(fitted(contender, test, 0).score for _, contender in near)
    print(f"\n{name}: {len(data.y_train)} rows, {len(grid)} candidates in the grid")
    print(f"  recommend  {found.choice.name}, {found.choice.size}: test {ours:.4f}")
    print(f"  grid       {best.name}, {best.size}: test {theirs:.4f}")
    print(f"  best test score among the 20 best of the grid: {oracle:.4f}")
    print(f"  points behind the grid's choice: {100 * (theirs - ours):+.2f}")
    print(f"  points behind the best of those: {100 * (oracle - ours):+.2f}")
    share = seconds / grid_seconds
    print(f"  time {seconds:.0f} s of {grid_seconds:.0f} s: {100 * share:.0f} %")


def _warm(names: list[str], data: Any) -> None:
    """Compile what either search would, so that the first does not pay for it."""
    few = slice(0, 300)
    recommend(data.X_train[few], data.y_train[few], methods=names, sizes=[64])


def _cut(name: str, seed: int) -> Any:
    """Rows to learn from at random, and the rest: the set's own cut is undone.

    Promises are of rows of the same kind, which a set's own cut need not keep.
    """
    data = datasets.load(name)
    X = np.concatenate([data.X_train, data.X_test])
    y = np.concatenate([data.y_train, data.y_test])
    parts = train_test_split(X, y, train_size=LEARNED_FROM, random_state=seed)
    return Bunch(X_train=parts[0], X_test=parts[1], y_train=parts[2], y_test=parts[3])


def _inside(name: str, seed: int) -> bool:
    """A quick search, and whether its interval holds on as many other rows."""
    data = _cut(name, seed)
    X, y = data.X_train, data.y_train
    found = recommend(X, y, methods=["sorf", "nystroem", "rff"], random_state=seed)
    new = slice(0, found.n_judged)
    split = Split(found.data.task, X, y, data.X_test[new], data.y_test[new])
    split = split.scaled() if found.standardised else split
    score = fitted(found.choice, split, seed).score
    inside = found.score.low <= score <= found.score.high
    low, high = found.score.low, found.score.high
    print(f"  {name}, split {seed}: {score:.4f} in [{low:.4f}, {high:.4f}] {inside}")
    return inside
