"""`recommend`: the map, size and bandwidth to use, and what to expect of them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .._random import Stream
from .._validation import check_count, check_option
from ..comparison import measuring
from ..comparison.compare import Progress, checked_names
from ..comparison.contenders import Contender
from ..comparison.data import Given, parted, prepared
from ..comparison.exact import exact_machine
from ..comparison.measuring import run
from ..comparison.setting import Split, find_bandwidth
from ..comparison.task import CLASSIFICATION
from ..linear.losses import LOSSES
from .judging import accuracy_interval, r2_interval
from .results import Interval, Recommendation, Trial
from .search import Search
from .space import default_sizes, lines
from .targets import Target

CHOOSING_SHARE = 0.25
"""Of the rows that are not for judging: a fifth of all."""

CHOOSING_ROWS = 5000
"""At most: accuracies are then known to half a point."""

CUTS, ENOUGH_ROWS = 3, 2500
"""Where rows to choose by are fewer than enough, they are drawn anew: so many times."""

EXACT_ROWS = 4000


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

    Every method with five bandwidths is fitted on about 1000 rows; the better quarter
    goes on to three times as many, and so on, until at most three are fitted on all and
    tried at smaller sizes. A fifth of the rows (at most 5000) is kept for choosing.
    Another fifth has no part in the search, and tells what to expect of the choice.
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
    >>> found.choice.name, found.choice.size
    ('nystroem', 64)
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
) -> Recommendation:
    """`recommend` for rows that are given, of which test rows are left alone."""
    start = time.perf_counter()
    target = Target(within, kernel_error, microseconds, megabytes)
    given = replace(given, X_test=None, y_test=None)
    check_option("recommend", "loss", loss, tuple(LOSSES))
    names = checked_names("recommend", methods)
    whole, summary = prepared(given, task, columns or {}, random_state)
    bandwidth = find_bandwidth(whole)
    whole = whole.scaled() if bandwidth.standardised else whole
    split, *more = _cuts(whole, random_state)
    search = Search(split, more, target, random_state, progress)
    asked = _checked_sizes(sizes, whole.X_train.shape[0])
    finalists = search.finalists(lines(names, asked, bandwidth.gamma, loss))
    last = [trial for line in finalists for trial in search.ladder(line)]
    if not last:
        raise ValueError(
            f"recommend: no method could be fitted on these rows: {search.refused}"
        )
    reference = (
        _exact_score(search.split, bandwidth.gamma) if within is not None else None
    )
    chosen, met = _choice(last, target, reference)
    judged = _judged(chosen.contender, whole, random_state)
    return Recommendation(
        data=summary,
        metric=whole.metric,
        target=target.words(),
        met=met,
        choice=chosen.contender,
        standardised=bandwidth.standardised,
        score=judged.score,
        error=judged.error,
        row_seconds=chosen.row_seconds,
        fit_seconds=judged.fit_seconds,
        model_bytes=judged.model_bytes,
        n_judged=whole.X_test.shape[0],
        reference=reference,
        trials=tuple(search.trials),
        seconds=time.perf_counter() - start,
        code=chosen.contender.code(whole.task, whole.before, random_state),
    )


@dataclass(frozen=True)
class Judged:
    """The choice, fitted on all rows but those it is judged on."""

    score: Interval
    error: float | None
    fit_seconds: float
    model_bytes: int


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
    return Split(whole.task, X[order], y[order], X_held, y_held)


def _checked_sizes(sizes: Iterable[int] | None, n_rows: int) -> list[int]:
    found = default_sizes(n_rows) if sizes is None else sorted(set(sizes))
    for size in found:
        check_count("recommend", "sizes", size)
    if not found:
        raise ValueError("recommend: sizes must name at least one number of columns.")
    return found


def _exact_score(split: Split, gamma: float) -> float | None:
    """Of the exact machine on some rows; None where it cannot be had."""
    rows = split.first(EXACT_ROWS)
    try:
        machine = exact_machine(split.task, gamma).fit(rows.X_train, rows.y_train)
    except ValueError:
        return None  # as where a class has too few rows
    return float(machine.score(split.X_test, split.y_test))


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
