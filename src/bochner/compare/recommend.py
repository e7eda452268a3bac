"""`recommend`: search for a map, a size and a bandwidth, and predict their score."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.random import Stream
from .._core.validation import check_option, check_seed
from ..solvers.losses import LOSSES
from .compare import (
    Progress,
    check_methods,
    check_sizes,
    contender_error,
    model_bytes,
    run,
)
from .contenders import Contender, default_contender, exact_machine, trees_contender
from .halving import FACTORS, Candidate, Search, candidates, default_sizes
from .recommendation import (
    Interval,
    Recommendation,
    Target,
    Trial,
    accuracy_interval,
    r2_interval,
)
from .rows import Dataset, hold_out, prepare
from .task import CLASSIFICATION, Split, guess_bandwidth

SELECTION_SHARE = 0.25
"""Share of the training rows that is held out for model selection: a fifth of all rows,
since another fifth is held out as test rows."""

MAX_SELECTION_ROWS = 5000
"""Most rows for model selection: enough to know accuracies to half a point."""

MAX_SPLITS, ENOUGH_ROWS = 3, 2500
"""If a split has fewer selection rows than this, scores are means over up to this many
random splits."""

EXACT_ROWS = 4000
"""Most training rows of the exact machine."""

MIN_ROWS = 10
"""Fewest rows for a search."""


def recommend(
    X: Any,
    y: ArrayLike,
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
    progress: Progress = lambda name, done, total: None,
    random_state: int = 0,
) -> Recommendation:
    """Search methods, sizes and bandwidths for the best model that meets a target.

    The search is successive halving. One method with five bandwidths, and all other
    methods with the best two of these, are fitted on about 1000 rows. The best quarter
    is fitted on three times as many rows, and so on, until at most three candidates are
    fitted on all rows and tried at smaller sizes.

    A fifth of the rows (at most 5000) is held out for model selection. Another fifth
    takes no part in the search; it gives the expected score of the chosen model and,
    for comparison, the score of scikit-learn's boosted trees.

    The default learner, `KernelClassifier()` or `KernelRegressor()`, is fitted on all
    rows and may be chosen, unless `kernel_error` is given. With `within` or
    `kernel_error` the fastest model is chosen, so the choice depends on measured times.

    Time: a few fits of O(n M² + M³) on all rows, and about as much for the smaller
    rungs. Memory: that of the largest single fit.

    Parameters
    ----------
    X : array-like, CSR matrix or DataFrame of shape (n, d)
        Rows to learn from. Text, dates and missing values of a frame are encoded by
        `preprocessing.for_table`.
    y : array-like of shape (n,)
        Class labels or numbers.
    within : float, default=None
        Choose the fastest model whose score is at most this many points of accuracy (or
        hundredths of R²) below the best. The exact kernel machine on up to 4000 rows
        counts among the best.
    kernel_error : float, default=None
        Choose the fastest model with at most this relative error of the kernel matrix.
    microseconds : float, default=None
        Longest time to predict one row of a large block.
    megabytes : float, default=None
        Largest size of the model as a file.
    methods : iterable of str, default=None
        Names from `bochner.methods`. None searches all of them.
    sizes : iterable of int, default=None
        Numbers of feature columns. None takes powers of two from 64 to about 16 √n.
    task : {None, "classification", "regression"}, default=None
        None infers the task from y.
    loss : {"squared", "hinge", "log"}, default="squared"
        Loss of the classifiers.
    name : str, default="data"
        Name of the data in tables.
    progress : callable, optional
        Called before every trial with its label, the number of trials done and about
        how many there will be (0 if unknown).
    random_state : int, default=0
        Seed of the splits and of all maps.

    Returns
    -------
    Recommendation
        The chosen model, its expected score, and all trials.

    Raises
    ------
    ValueError
        If a parameter is invalid, if there are fewer than 10 rows, or if no method
        could be fitted.

    See Also
    --------
    compare : Measure methods at fixed sizes and one bandwidth.

    References
    ----------
    K. Jamieson and A. Talwalkar, Non-stochastic best arm identification and
    hyperparameter optimization, AISTATS 2016 (successive halving).

    Examples
    --------
    >>> import bochner
    >>> digits = bochner.datasets.load("digits")
    >>> recommendation = bochner.recommend(
    ...     digits.X_train, digits.y_train, methods=["sorf", "nystroem"], sizes=[64]
    ... )
    >>> recommendation.choice.name
    'default learner'
    >>> score = recommendation.score
    >>> score.low < score.value < score.high
    True
    """
    return recommend_dataset(
        Dataset(X, y, name=name),
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


def recommend_dataset(
    dataset: Dataset,
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
    on_trial: Callable[[Trial], None] = lambda trial: None,
) -> Recommendation:
    """`recommend` for a `Dataset`, whose test rows are not used.

    `columns` are options of `preprocessing.for_table`. `on_trial` is called with every
    trial as soon as it is measured.
    """
    start = time.perf_counter()
    target = Target(within, kernel_error, microseconds, megabytes)
    dataset = replace(dataset, X_test=None, y_test=None)
    check_option("recommend", "loss", loss, tuple(LOSSES))
    check_seed("recommend", random_state)
    names = check_methods("recommend", methods)
    _check_n_rows(dataset)
    unscaled, summary = prepare(dataset, task, columns or {}, random_state)
    bandwidth = guess_bandwidth(unscaled)
    scaled = unscaled.scaled() if bandwidth.standardised else unscaled
    sizes = _sizes(sizes, scaled.X_train.shape[0])
    # kernel errors are compared for one bandwidth: wider kernels have smaller errors
    factors = FACTORS if kernel_error is None else (1.0,)
    splits = _selection_splits(scaled, random_state)
    search = Search(splits[0], splits[1:], target, random_state, progress, on_trial)
    trials = _final_trials(
        search, candidates(names, sizes, bandwidth.gamma, loss, factors)
    )
    trials += _default_trials(search, unscaled, len(splits))
    reference = None if within is None else _exact_score(splits, bandwidth.gamma)
    choice, met = _choose(trials, target, reference)
    split = unscaled if choice.contender.scales_itself else scaled
    evaluation = _evaluate(choice.contender, split, random_state)
    return Recommendation(
        data=summary,
        metric=split.metric,
        target=target.description(),
        met=met,
        choice=choice.contender,
        standardised=split is not unscaled,
        **vars(evaluation),
        row_seconds=choice.row_seconds,
        n_judged=split.X_test.shape[0],
        reference=reference,
        boosted_trees=_trees_score(unscaled, random_state),
        trials=tuple(search.trials),
        seconds=time.perf_counter() - start,
        code=choice.contender.code(split.task, split.preprocessing, random_state),
    )


def _check_n_rows(dataset: Dataset) -> None:
    n = np.shape(dataset.y)[0]
    if n < MIN_ROWS:
        raise ValueError(
            f"recommend: X must have at least {MIN_ROWS} rows, to learn from, to "
            f"select models with and to score on; got {n}."
        )


def _sizes(sizes: Iterable[int] | None, n_rows: int) -> list[int]:
    if sizes is None:
        return default_sizes(n_rows)
    return check_sizes("recommend", sizes)


def _selection_splits(split: Split, seed: int) -> list[Split]:
    """Splits of the training rows for model selection: several if rows are few."""
    first = selection_split(split, seed)
    n_splits = min(MAX_SPLITS, -(-ENOUGH_ROWS // len(first.y_test)))
    return [first, *(selection_split(split, seed + k) for k in range(1, n_splits))]


def selection_split(split: Split, seed: int) -> Split:
    """The training rows in random order, a part of them held out as test rows."""
    n = len(split.y_train)
    share = min(SELECTION_SHARE, MAX_SELECTION_ROWS / n)
    X, X_held, y, y_held = hold_out(
        split.X_train, split.y_train, split.task, share, seed
    )
    order = Stream(seed).child("rungs").permutation(len(y))
    return replace(
        split, X_train=X[order], y_train=y[order], X_test=X_held, y_test=y_held
    )


def _final_trials(search: Search, every: list[Candidate]) -> list[Trial]:
    """Trials on all rows, from which the model is chosen."""
    trials = [
        trial
        for finalist in search.finalists(every)
        for trial in search.size_trials(finalist)
    ]
    if not trials:
        raise ValueError(
            f"recommend: no method could be fitted on these rows: {search.last_error}"
        )
    return trials


def _default_trials(search: Search, unscaled: Split, n_splits: int) -> list[Trial]:
    """The trial of the default learner, which scales rows itself, on the same splits.

    Empty if a kernel error is requested: the default learner chooses its own kernel.
    """
    if search.target.kernel_error is not None:
        return []
    splits = [selection_split(unscaled, search.seed + k) for k in range(n_splits)]
    trial = search.trial_on(default_contender(), splits)
    return [] if trial is None else [trial]


def _exact_score(splits: list[Split], gamma: float) -> float | None:
    """Mean score of the exact machine over the splits; None if it cannot be fitted."""
    scores = []
    for split in splits:
        rows = split.first(EXACT_ROWS)
        try:
            machine = exact_machine(split.task, gamma).fit(rows.X_train, rows.y_train)
        except ValueError:  # for example, if a class has too few rows
            return None
        scores.append(machine.score(split.X_test, split.y_test))
    return float(np.mean(scores))


def _trees_score(unscaled: Split, seed: int) -> float | None:
    """Test score of boosted trees; None if they reject the rows."""
    try:
        return run(trees_contender(), unscaled, seed).score
    except (ValueError, TypeError):  # for example, sparse rows
        return None


def _choose(
    trials: list[Trial], target: Target, reference: float | None
) -> tuple[Trial, bool]:
    """The chosen trial, and whether it meets the target."""
    references = [] if reference is None else [reference]
    floor = target.floor(max([*references, *(trial.score for trial in trials)]))
    meeting = [trial for trial in trials if target.is_met(trial)]
    if target.within is not None:
        meeting = [trial for trial in meeting if trial.score >= floor]
    if not meeting:
        return min(trials, key=lambda t: (target.excess(t), -t.score)), False
    if target.wants_fastest:
        return min(meeting, key=lambda trial: trial.row_seconds), True
    return min(meeting, key=target.rank), True


@dataclass(frozen=True)
class Evaluation:
    """Figures of the chosen model, fitted on all training rows."""

    score: Interval
    error: float | None
    fit_seconds: float
    model_bytes: int


def _evaluate(contender: Contender, split: Split, seed: int) -> Evaluation:
    """Fit the chosen model, and score it on rows that took no part in the search."""
    result = run(contender, split, seed)
    model = result.model
    predicted = model.predict(split.X_test)
    if split.task == CLASSIFICATION:
        score = accuracy_interval(predicted == split.y_test)
    else:
        score = r2_interval(split.y_test, predicted)
    return Evaluation(
        score,
        contender_error(contender, model, split),
        result.fit_seconds,
        model_bytes(model, split),
    )
