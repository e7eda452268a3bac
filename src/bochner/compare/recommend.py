"""`recommend`: the map, size and bandwidth to use, and what to expect of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._core.random import Stream
from .._core.validation import check_option, check_seed
from ..solvers.losses import LOSSES
from . import compare as measuring
from .compare import Progress, checked_names, checked_sizes, run
from .contenders import Contender, default_contender, exact_machine, trees_contender
from .halving import FACTORS, Line, Search, default_sizes, lines
from .recommendation import (
    Interval,
    Recommendation,
    Target,
    Trial,
    accuracy_interval,
    r2_interval,
)
from .rows import Given, parted, prepared
from .task import CLASSIFICATION, Split, guess_bandwidth

CHOOSING_SHARE = 0.25
"""Of the rows that are not for judging: a fifth of all."""

CHOOSING_ROWS = 5000
"""At most: accuracies are then known to half a point."""

CUTS, ENOUGH_ROWS = 3, 2500
"""Where rows to choose by are fewer than enough, they are drawn anew: so many times."""

EXACT_ROWS = 4000
FEWEST_ROWS = 10


def recommend(
    X: Any,
    y: Any,
    *,
    within: float | None = None,
    kernel_error: float | None = None,
    microseconds: float | None = None,
    megabytes: float | None = None,
    methods: Iterable[str] | None = None,
    sizes: Iterable[int] | None = None,
    task: str | None = None,
    loss: str = "squared",
    name: str = "data",
    progress: Progress = lambda what, done, total: None,
    random_state: int = 0,
) -> Recommendation:
    """Search methods, sizes and bandwidths for the best model that meets a target.

    One method with five bandwidths and all others with the best two of those are
    fitted on about 1000 rows; the better quarter goes on to three times as many, and so
    on, until at most three are fitted on all and tried at smaller sizes. A fifth of the
    rows (at most 5000) is kept for choosing. The default learner, `KernelClassifier()`
    or `KernelRegressor()`, is fitted on all rows and may be the choice, unless a
    `kernel_error` is asked for. Another fifth has no part in the search, and gives the
    score to expect of the choice and, on the same rows, that of scikit-learn's boosted
    trees.
    Where the fastest model is asked for, the clock has a say in which that is.

    Parameters
    ----------
    X : array, CSR matrix or frame of shape (n, d)
    y : array of (n,)
    within : float, optional
        Points of accuracy (or hundredths of R²) that may be lost against the best,
        the exact kernel machine on up to 4000 rows included, for a faster model.
    kernel_error : float, optional
        Relative error of the kernel matrix, at most: the fastest such model.
    microseconds : float, optional
        To predict a row of many, at most.
    megabytes : float, optional
        Of the model as a file, at most.
    methods : names, optional
        Of `bochner.methods`; all by default.
    sizes : numbers of columns, optional
        By default powers of two from 64 to about 16 √n.
    task, loss, name, progress, random_state
        As for `compare`.

    Returns
    -------
    Recommendation

    Examples
    --------
    >>> import bochner
    >>> digits = bochner.datasets.load("digits")
    >>> found = bochner.recommend(
    ...     digits.X_train, digits.y_train, methods=["sorf", "nystroem"], sizes=[64]
    ... )
    >>> found.choice.name
    'default learner'
    >>> found.score.low < found.score.value < found.score.high
    True
    """
    return recommend_rows(
        Given(X, y, name=name),
        within=within,
        kernel_error=kernel_error,
        microseconds=microseconds,
        megabytes=megabytes,
        methods=methods,
        sizes=sizes,
        task=task,
        loss=loss,
        progress=progress,
        random_state=random_state,
    )


def recommend_rows(
    given: Given,
    *,
    within: float | None,
    kernel_error: float | None,
    microseconds: float | None,
    megabytes: float | None,
    methods: Iterable[str] | None,
    sizes: Iterable[int] | None,
    task: str | None,
    loss: str,
    progress: Progress,
    random_state: int,
    columns: dict[str, Any] | None = None,
    tried: Callable[[Trial], None] = lambda trial: None,
) -> Recommendation:
    """`recommend` for rows that are given; `tried` is told every trial at once.

    Test rows that come with the data are left alone.
    """
    start = time.perf_counter()
    target = Target(within, kernel_error, microseconds, megabytes)
    given = replace(given, X_test=None, y_test=None)
    check_option("recommend", "loss", loss, tuple(LOSSES))
    check_seed("recommend", random_state)
    names = checked_names("recommend", methods)
    _check_rows(given)
    unscaled, summary = prepared(given, task, columns or {}, random_state)
    bandwidth = guess_bandwidth(unscaled)
    whole = unscaled.scaled() if bandwidth.standardised else unscaled
    asked = _sizes(sizes, whole.X_train.shape[0])
    # errors are compared of one kernel: the wider, the smaller they are
    factors = FACTORS if kernel_error is None else (1.0,)
    cuts = _cuts(whole, random_state)
    search = Search(cuts[0], cuts[1:], target, random_state, progress, tried)
    last = _last_trials(search, lines(names, asked, bandwidth.gamma, loss, factors))
    last += _default_trials(search, unscaled, len(cuts))
    reference = None if within is None else _exact_score(cuts, bandwidth.gamma)
    chosen, met = _choice(last, target, reference)
    rows = unscaled if chosen.contender.scales_itself else whole
    judged = _judged(chosen.contender, rows, random_state)
    return Recommendation(
        data=summary,
        metric=whole.metric,
        target=target.words(),
        met=met,
        choice=chosen.contender,
        standardised=rows is not unscaled,
        score=judged.score,
        error=judged.error,
        row_seconds=chosen.row_seconds,
        fit_seconds=judged.fit_seconds,
        model_bytes=judged.model_bytes,
        n_judged=whole.X_test.shape[0],
        reference=reference,
        boosted_trees=_trees_score(unscaled, random_state),
        trials=tuple(search.trials),
        seconds=time.perf_counter() - start,
        code=chosen.contender.code(rows.task, rows.before, random_state),
    )


@dataclass(frozen=True)
class Judged:
    """The choice, fitted on all rows but those it is judged on."""

    score: Interval
    error: float | None
    fit_seconds: float
    model_bytes: int


def _sizes(sizes: Iterable[int] | None, n_rows: int) -> list[int]:
    if sizes is None:
        return default_sizes(n_rows)
    return checked_sizes("recommend", sizes)


def _last_trials(search: Search, every: list[Line]) -> list[Trial]:
    """Those on all rows, among which the choice is made."""
    found = [t for line in search.finalists(every) for t in search.ladder(line)]
    if not found:
        raise ValueError(
            f"recommend: no method could be fitted on these rows: {search.refused}"
        )
    return found


def _default_trials(search: Search, unscaled: Split, n_cuts: int) -> list[Trial]:
    """The default learner, which scales rows itself, on the same cuts.

    None where a kernel error is asked for: it has a kernel of its own choice.
    """
    if search.target.kernel_error is not None:
        return []
    cuts = [choosing(unscaled, search.seed + k) for k in range(n_cuts)]
    trial = search.trial_on(default_contender(), cuts)
    return [] if trial is None else [trial]


def _trees_score(unscaled: Split, seed: int) -> float | None:
    """Of boosted trees on the rows that the choice is judged on."""
    try:
        return run(trees_contender(), unscaled, seed).score
    except (ValueError, TypeError):
        return None  # as for sparse rows


def _check_rows(given: Given) -> None:
    n = np.shape(given.y)[0]
    if n < FEWEST_ROWS:
        raise ValueError(
            f"recommend: to learn from, to choose by and to judge on, at least "
            f"{FEWEST_ROWS} rows are needed; got {n}."
        )


def _cuts(whole: Split, seed: int) -> list[Split]:
    """The rows cut in two, to learn from and to choose by, and again where few."""
    first = choosing(whole, seed)
    n_cuts = min(CUTS, -(-ENOUGH_ROWS // len(first.y_test)))
    return [first, *(choosing(whole, seed + k) for k in range(1, n_cuts))]


def choosing(whole: Split, seed: int) -> Split:
    """The training rows in random order, less those to choose by."""
    n = len(whole.y_train)
    share = min(CHOOSING_SHARE, CHOOSING_ROWS / n)
    parts = parted(whole.X_train, whole.y_train, whole.task, share, seed)
    X, X_held, y, y_held = parts
    order = Stream(seed).child("rungs").permutation(len(y))
    return replace(
        whole, X_train=X[order], y_train=y[order], X_test=X_held, y_test=y_held
    )


def _exact_score(cuts: list[Split], gamma: float) -> float | None:
    """Of the exact machine on some rows, a mean over cuts as trials are.

    None where it cannot be had.
    """
    scores = []
    for split in cuts:
        rows = split.first(EXACT_ROWS)
        try:
            machine = exact_machine(split.task, gamma).fit(rows.X_train, rows.y_train)
        except ValueError:
            return None  # as where a class has too few rows
        scores.append(machine.score(split.X_test, split.y_test))
    return float(np.mean(scores))


def _choice(
    trials: list[Trial], target: Target, reference: float | None
) -> tuple[Trial, bool]:
    """The trial to take, and whether it meets the target."""
    known = [] if reference is None else [reference]
    floor = target.floor(max([*known, *(trial.score for trial in trials)]))
    met = [trial for trial in trials if target.is_met(trial)]
    if target.within is not None:
        met = [trial for trial in met if trial.score >= floor]
    if not met:
        return min(trials, key=lambda t: (target.excess(t), -t.score)), False
    if target.wants_cheapest:
        return min(met, key=lambda trial: trial.row_seconds), True
    return min(met, key=target.rank), True


def _judged(contender: Contender, whole: Split, seed: int) -> Judged:
    """On the rows that had no part in anything before."""
    done = run(contender, whole, seed)
    model = done.model
    predicted = model.predict(whole.X_test)
    if whole.task == CLASSIFICATION:
        score = accuracy_interval(predicted == whole.y_test)
    else:
        score = r2_interval(whole.y_test, predicted)
    error = measuring.kernel_error(contender, model, whole)
    return Judged(score, error, done.fit_seconds, measuring.model_bytes(model, whole))
