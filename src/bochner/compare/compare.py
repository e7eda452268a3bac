"""`compare`: measure methods, the default learner and references on the user's data."""

from __future__ import annotations

import os
import pickle
import platform
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from .._core.validation import check_count, check_option, check_seed, did_you_mean
from .._core.version import __version__
from ..methods import METHODS
from ..solvers.losses import LOSSES
from . import metrics
from .contenders import Contender, default_contender, method_contenders, references
from .results import EXACT, METHOD, TREES, Comparison, Entry, Failure, Spread
from .rows import Dataset, prepare
from .task import Split, file_bytes, find_bandwidth

SIZES = 64, 256, 512
"""Default numbers of components."""

REPEATS = 3
"""Default number of draws of every random map."""

EXACT_ROWS = 4000
"""Most training rows of the exact machine, whose time is cubic in them."""

ERROR_ROWS = 1000
"""Rows on which the kernel matrix is compared with that of the features."""

MAX_CALLS, CALL_SECONDS = 5, 0.1
"""Timed calls of `predict`: at most this many, and no new call after this time."""

Progress = Callable[[str, int, int], None]
"""Called with the name of the next contender, the number done and the total."""


def compare(
    X: Any,
    y: ArrayLike,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    *,
    methods: Iterable[str] | None = None,
    sizes: Iterable[int] = SIZES,
    repeats: int = REPEATS,
    task: str | None = None,
    loss: str = "squared",
    exact_rows: int = EXACT_ROWS,
    name: str = "data",
    progress: Progress = lambda name, done, total: None,
    random_state: int = 0,
) -> Comparison:
    """Fit every method at every size; measure score, time, memory and model size.

    All methods share one bandwidth and one scaling, which are chosen as
    `KernelClassifier` chooses them (by leave-one-out on 1000 rows, and for classes
    refined on more rows), and learn with `KernelClassifier` or `KernelRegressor`. The
    default learner, `KernelClassifier()` or `KernelRegressor()`, takes part with its
    own choice of map, bandwidth and scaling.

    The references are a linear model with the same learner, the exact kernel machine on
    at most `exact_rows` rows, and scikit-learn's boosted trees (`HistGradientBoosting…`
    with default parameters; they do not accept sparse rows).

    Memory is traced during the fit of the first draw of every map. Tracing slows the
    fit down, so the time of that fit counts only if there is no other draw.

    Time: methods × sizes × repeats fits of O(n M² + M³), and one exact machine of
    O(exact_rows³). Memory: that of the largest single fit.

    Parameters
    ----------
    X : array-like, CSR matrix or DataFrame of shape (n, d)
        Rows to learn from. Text, dates and missing values of a frame are encoded by
        `preprocessing.for_table`.
    y : array-like of shape (n,)
        Class labels or numbers.
    X_test : array-like, CSR matrix or DataFrame of shape (n_test, d), optional
        Rows to score the models on. By default a random fifth of X is held out.
    y_test : array-like of shape (n_test,), optional
        Targets of X_test.
    methods : iterable of str, default=None
        Names from `bochner.methods`. None compares all of them.
    sizes : iterable of int, default=(64, 256, 512)
        Numbers of components of every method.
    repeats : int, default=3
        Number of draws of every random map.
    task : {None, "classification", "regression"}, default=None
        None infers the task from y.
    loss : {"squared", "hinge", "log"}, default="squared"
        Loss of the classifiers. "squared" is solved by one factorisation; the other
        two are usually a little more accurate and need many factorisations.
    exact_rows : int, default=4000
        Most training rows of the exact kernel machine; 0 leaves the machine out.
    name : str, default="data"
        Name of the data in tables and reports.
    progress : callable, optional
        Called before every contender with its name, the number of contenders done and
        their total number.
    random_state : int, default=0
        Seed of the split and of all maps.

    Returns
    -------
    Comparison
        One entry for every contender and size, and the contenders that failed.

    Raises
    ------
    ValueError
        If a parameter is invalid, or if nothing but boosted trees could be fitted.

    See Also
    --------
    recommend : Search for the best model that meets a target.
    metrics.kernel_error : The kernel error of one fitted map.

    Examples
    --------
    >>> import bochner
    >>> digits = bochner.datasets.load("digits")
    >>> comparison = bochner.compare(
    ...     digits.X_train, digits.y_train, digits.X_test, digits.y_test,
    ...     methods=["rff", "sorf"], sizes=[128], repeats=1, exact_rows=500,
    ... )
    >>> [entry.label for entry in comparison.entries][:4]
    ['linear', 'exact kernel', 'boosted trees', 'default learner']
    >>> [entry.label for entry in comparison.entries][4:]
    ['rff, 128', 'sorf, 128']
    """
    return compare_dataset(
        Dataset(X, y, X_test, y_test, name),
        methods=methods,
        sizes=sizes,
        repeats=repeats,
        task=task,
        loss=loss,
        exact_rows=exact_rows,
        progress=progress,
        random_state=random_state,
    )


def compare_dataset(
    dataset: Dataset,
    *,
    methods: Iterable[str] | None,
    sizes: Iterable[int],
    repeats: int,
    task: str | None,
    loss: str,
    exact_rows: int,
    progress: Progress,
    random_state: int,
    columns: dict[str, Any] | None = None,
    on_entry: Callable[[Entry], None] = lambda entry: None,
) -> Comparison:
    """`compare` for a `Dataset`.

    `columns` are options of `preprocessing.for_table`. `on_entry` is called with every
    entry as soon as it is measured.
    """
    start = time.perf_counter()
    names = check_methods("compare", methods)
    sizes = check_sizes("compare", sizes)
    check_count("compare", "repeats", repeats)
    check_option("compare", "loss", loss, tuple(LOSSES))
    check_seed("compare", random_state)
    unscaled, summary = prepare(dataset, task, columns or {}, random_state)
    bandwidth = find_bandwidth(unscaled)
    scaled = unscaled.scaled() if bandwidth.standardised else unscaled
    contenders = [
        *references(bandwidth.gamma, loss, exact_rows > 0),
        default_contender(),
        *method_contenders(names, sizes, bandwidth.gamma, loss),
    ]
    entries, failures = _measure_all(
        contenders,
        unscaled,
        scaled,
        repeats,
        exact_rows,
        random_state,
        progress,
        on_entry,
    )
    return Comparison(
        data=summary,
        metric=unscaled.metric,
        repeats=repeats,
        kernel=f"kernels.Gaussian({bandwidth.gamma})",
        entries=tuple(entries),
        failures=tuple(failures),
        seconds=time.perf_counter() - start,
        environment=environment(),
        command="",
    )


def _measure_all(
    contenders: list[Contender],
    unscaled: Split,
    scaled: Split,
    repeats: int,
    exact_rows: int,
    seed: int,
    progress: Progress,
    on_entry: Callable[[Entry], None],
) -> tuple[list[Entry], list[Failure]]:
    """Entries and failures; raises an error if only boosted trees could be fitted."""
    entries: list[Entry] = []
    failures: list[Failure] = []
    for n_done, contender in enumerate(contenders):
        progress(contender.name, n_done, len(contenders))
        split = unscaled if contender.scales_itself else scaled
        is_exact = contender.role == EXACT
        rows = split.subsample(exact_rows, seed) if is_exact else split
        result = _measure(contender, rows, repeats, seed)
        if isinstance(result, Failure):
            failures.append(result)
            continue
        code = contender.code(split.task, split.preprocessing, seed)
        entries.append(replace(result, code=code))
        on_entry(entries[-1])
    progress("", len(contenders), len(contenders))
    # trees accept targets that no other contender does, such as a single class
    if all(entry.role == TREES for entry in entries):
        raise ValueError(
            f"compare: nothing could be fitted on these rows; {failures[0].name}: "
            f"{failures[0].reason}"
        )
    return entries, failures


def _measure(
    contender: Contender, split: Split, repeats: int, seed: int
) -> Entry | Failure:
    """All draws of one contender. A contender that rejects the rows is a `Failure`."""
    # the memory of these is not Python's, and tracing would slow the trees down
    fit_once = contender.role in (EXACT, TREES)
    n_runs = 1 if fit_once else repeats if contender.is_random else min(2, repeats)
    try:
        runs = [
            run(contender, split, seed + i, traced=i == 0 and not fit_once)
            for i in range(n_runs)
        ]
        errors = [contender_error(contender, r.model, split) for r in runs]
    except (ValueError, TypeError, MemoryError) as error:
        return Failure(contender.name, contender.size, str(error))
    untraced = runs[1:] or runs
    known_errors = [error for error in errors if error is not None]
    return Entry(
        name=contender.name,
        role=contender.role,
        size=contender.size,
        n_rows=split.X_train.shape[0],
        score=Spread.of(r.score for r in (runs if contender.is_random else runs[:1])),
        error=Spread.of(known_errors) if known_errors else None,
        fit_seconds=Spread.of(r.fit_seconds for r in untraced),
        row_seconds=Spread.of(r.row_seconds for r in untraced),
        memory_bytes=runs[0].peak_bytes,
        model_bytes=model_bytes(runs[0].model, split),
        code="",
    )


@dataclass(frozen=True)
class Run:
    """A fitted model with its score, its times and the peak memory of its fit."""

    model: Any
    score: float
    fit_seconds: float
    row_seconds: float
    peak_bytes: int | None


def run(contender: Contender, split: Split, seed: int, traced: bool = False) -> Run:
    """Fit and score a contender; a traced run measures memory and takes longer."""
    model = contender.estimator(split.task, seed)
    with _ignore_expected_warnings(), _trace_memory(traced) as peak_bytes:
        start = time.perf_counter()
        model.fit(split.X_train, split.y_train)
        fit_seconds = time.perf_counter() - start
        score = float(model.score(split.X_test, split.y_test))
    row_seconds = _predict_seconds(model, split.X_test) / split.X_test.shape[0]
    row_seconds += split.preprocessing_seconds
    return Run(model, score, fit_seconds, row_seconds, peak_bytes())


def _predict_seconds(model: Any, X: Any) -> float:
    """The shortest of several calls; only one call if `predict` is slow."""
    seconds: list[float] = []
    while len(seconds) < MAX_CALLS and sum(seconds) < CALL_SECONDS:
        start = time.perf_counter()
        model.predict(X)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def contender_error(contender: Contender, model: Any, split: Split) -> float | None:
    """Kernel error on test rows; None if the map does not approximate a kernel."""
    if contender.role == EXACT:
        return 0.0
    if contender.role != METHOD or contender.is_learned:
        return None
    return metrics.kernel_error(model.features_, split.X_test, n_points=ERROR_ROWS)


def model_bytes(model: Any, split: Split) -> int:
    """Size of the model and its preprocessing as files.

    Models of bochner are measured as `save` writes them, other models as pickles.
    """
    is_ours = hasattr(model, "features_")
    n_bytes = file_bytes(model) if is_ours else len(pickle.dumps(model))
    return n_bytes + split.preprocessing_bytes


@contextmanager
def _ignore_expected_warnings() -> Iterator[None]:
    """Silence warnings about few components and few steps, which are intended here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        yield


@contextmanager
def _trace_memory(traced: bool) -> Iterator[Callable[[], int | None]]:
    """Give a function that returns the peak of the bytes allocated in the block.

    The function returns None if `traced` is false.
    """
    if not traced:
        yield lambda: None
        return
    tracemalloc.start()
    peaks: list[int] = []
    try:
        yield lambda: peaks[0]
        peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def check_methods(owner: str, names: Iterable[str] | None) -> list[str]:
    """Names of methods without repetitions; all methods for None."""
    unique = list(dict.fromkeys(METHODS if names is None else names))
    unknown = [name for name in unique if name not in METHODS]
    if unknown or not unique:
        raise ValueError(
            f"{owner}: methods must be among {', '.join(METHODS)}; got "
            f"{', '.join(map(repr, unknown)) or 'none'}"
            f"{did_you_mean(unknown[0], METHODS) if unknown else ''}."
        )
    return unique


def check_sizes(owner: str, sizes: Iterable[int]) -> list[int]:
    """Numbers of components in ascending order, without repetitions."""
    unique = sorted(set(sizes))
    for size in unique:
        check_count(owner, "sizes", size)
    if not unique:
        raise ValueError(
            f"{owner}: sizes must hold at least one number of components; got none."
        )
    return unique


def environment() -> dict[str, str]:
    """Versions of the libraries, and the machine that the figures were measured on."""
    import numpy
    import scipy
    import sklearn

    return {
        "bochner": __version__,
        "Python": platform.python_version(),
        "NumPy": numpy.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "processor": f"{platform.machine()}, {os.cpu_count()} cores",
        "system": platform.system(),
        "date": time.strftime("%Y-%m-%d"),
    }
