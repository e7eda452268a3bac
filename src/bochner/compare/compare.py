"""`compare`: methods and sizes on the user's data, the default learner, references."""

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

from sklearn.exceptions import ConvergenceWarning

from .._core.validation import check_count, check_option, check_seed, did_you_mean
from .._core.version import __version__
from ..methods import METHODS
from ..solvers.losses import LOSSES
from . import metrics
from .contenders import Contender, default_contender, method_contenders, references
from .results import EXACT, METHOD, TREES, Comparison, Entry, Failure, Spread
from .rows import Given, prepared
from .task import Split, file_bytes, find_bandwidth

ERROR_ROWS = 1000
"""Rows whose kernel matrix is compared with the features' own."""

CALLS, CALL_SECONDS = 5, 0.1
"""Predictions that are timed, at most, and seconds that they may take."""


@dataclass(frozen=True)
class Run:
    """A fit and a prediction."""

    model: Any
    score: float
    fit_seconds: float
    row_seconds: float
    peak_bytes: int | None


def run(contender: Contender, split: Split, seed: int, traced: bool = False) -> Run:
    """Fit and judge; traced runs tell their memory, and take longer for it."""
    model = contender.estimator(split.task, seed)
    with _quiet(), _tracing(traced) as peak:
        start = time.perf_counter()
        model.fit(split.X_train, split.y_train)
        fit_seconds = time.perf_counter() - start
        score = float(model.score(split.X_test, split.y_test))
    row_seconds = _predict_seconds(model, split.X_test) / split.X_test.shape[0]
    row_seconds += split.before_seconds
    return Run(model, score, fit_seconds, row_seconds, peak())


def _predict_seconds(model: Any, X: Any) -> float:
    """The least of a few calls, where they are short and the clock is rough."""
    taken: list[float] = []
    while len(taken) < CALLS and sum(taken) < CALL_SECONDS:
        start = time.perf_counter()
        model.predict(X)
        taken.append(time.perf_counter() - start)
    return min(taken)


def kernel_error(contender: Contender, model: Any, split: Split) -> float | None:
    """Of the map's kernel on rows it has not seen, where it has one to approximate."""
    if contender.role == EXACT:
        return 0.0
    if contender.role != METHOD or contender.is_learned:
        return None
    return metrics.kernel_error(model.features_, split.X_test, n_points=ERROR_ROWS)


def model_bytes(model: Any, split: Split) -> int:
    """As a file of `save` with what stands before, or pickled if scikit-learn's."""
    known = hasattr(model, "features_")
    own = file_bytes(model) if known else len(pickle.dumps(model))
    return own + split.before_bytes


@contextmanager
def _quiet() -> Iterator[None]:
    """Few components and few steps are what a comparison asks for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        yield


@contextmanager
def _tracing(traced: bool) -> Iterator[Any]:
    """Bytes at the peak beside those before, asked for while it is traced."""
    if not traced:
        yield lambda: None
        return
    tracemalloc.start()
    found: list[int] = []
    try:
        yield lambda: found[0]
        found.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


SIZES = 64, 256, 512
REPEATS = 3
EXACT_ROWS = 4000
"""Rows that the exact machine learns from, at most: its time is cubic in them."""

Progress = Callable[[str, int, int], None]
"""Told what comes next, how many are done and how many there are."""


def compare(
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    methods: Iterable[str] | None = None,
    sizes: Iterable[int] = SIZES,
    repeats: int = REPEATS,
    task: str | None = None,
    loss: str = "squared",
    exact_rows: int = EXACT_ROWS,
    name: str = "data",
    progress: Progress = lambda what, done, total: None,
    random_state: int = 0,
) -> Comparison:
    """Fit every method at every size, and see how good, fast and large it is.

    All share one bandwidth and one scaling, found as `KernelClassifier` finds its own
    (by leave-one-out on 1000 rows, for classes refined on more), and learn with
    `KernelClassifier` or `KernelRegressor`. The default learner, `KernelClassifier()`
    or `KernelRegressor()`, takes part with its own choice of map, bandwidth and
    scaling. References are a linear model by the same learner, the exact kernel
    machine on at most `exact_rows` rows, and scikit-learn's boosted trees
    (`HistGradientBoosting…`, with its default parameters; they do not take sparse
    rows). The first draw of every map is fitted while memory is traced, so its time
    counts only where it is the only one.

    Time: methods × sizes × repeats fits of O(n M² + M³), and one exact machine of at
    most O(exact_rows³); memory of the largest of them.

    Parameters
    ----------
    X : array, CSR matrix or frame of shape (n, d)
        A frame's text, dates and missing values are dealt with by
        `preprocessing.for_table`.
    y : array of (n,)
    X_test, y_test : optional
        Rows to be judged on; by default a fifth of X.
    methods : names, optional
        Of `bochner.methods`; all by default.
    sizes : numbers of components
    repeats : int
        Draws of every random map.
    task : None, "classification" or "regression"
        None: as y suggests.
    loss : "squared", "hinge" or "log"
        Of classifiers. "squared" is solved by one factorisation; the others, as a rule
        a little more accurate, take many.
    exact_rows : int
        0 leaves the exact machine out.
    name : str
        What the data is called in tables.
    progress : callable
        Told what comes next, how many contenders are done, how many there are.
    random_state : int

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import bochner
    >>> digits = bochner.datasets.load("digits")
    >>> found = bochner.compare(
    ...     digits.X_train, digits.y_train, digits.X_test, digits.y_test,
    ...     methods=["rff", "sorf"], sizes=[128], repeats=1, exact_rows=500,
    ... )
    >>> [entry.label for entry in found.entries][:4]
    ['linear', 'exact kernel', 'boosted trees', 'default learner']
    >>> [entry.label for entry in found.entries][4:]
    ['rff, 128', 'sorf, 128']
    """
    return compare_rows(
        Given(X, y, X_test, y_test, name),
        methods=methods,
        sizes=sizes,
        repeats=repeats,
        task=task,
        loss=loss,
        exact_rows=exact_rows,
        progress=progress,
        random_state=random_state,
    )


def compare_rows(
    given: Given,
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
    found: Callable[[Entry], None] = lambda entry: None,
) -> Comparison:
    """`compare` for rows that are given; `found` is told every entry at once."""
    start = time.perf_counter()
    names = checked_names("compare", methods)
    sizes = checked_sizes("compare", sizes)
    check_count("compare", "repeats", repeats)
    check_option("compare", "loss", loss, tuple(LOSSES))
    check_seed("compare", random_state)
    split, summary = prepared(given, task, columns or {}, random_state)
    bandwidth = find_bandwidth(split)
    ground = split.scaled() if bandwidth.standardised else split
    contenders = [
        *references(bandwidth.gamma, loss, exact_rows > 0),
        default_contender(),
        *method_contenders(names, sizes, bandwidth.gamma, loss),
    ]
    entries, failures = _all_measured(
        contenders, split, ground, repeats, exact_rows, random_state, progress, found
    )
    return Comparison(
        data=summary,
        metric=split.metric,
        repeats=repeats,
        kernel=f"kernels.Gaussian({bandwidth.gamma})",
        entries=tuple(entries),
        failures=tuple(failures),
        seconds=time.perf_counter() - start,
        environment=environment(),
        command="",
    )


def _all_measured(
    contenders: list[Contender],
    unscaled: Split,
    scaled: Split,
    repeats: int,
    exact_rows: int,
    seed: int,
    progress: Progress,
    found: Callable[[Entry], None],
) -> tuple[list[Entry], list[Failure]]:
    """Every contender in turn; at least one must have been possible."""
    entries: list[Entry] = []
    failures: list[Failure] = []
    for done, contender in enumerate(contenders):
        progress(contender.name, done, len(contenders))
        ground = unscaled if contender.scales_itself else scaled
        is_exact = contender.role == EXACT
        rows = ground.some(exact_rows, seed) if is_exact else ground
        measured = _measured(contender, rows, repeats, seed)
        if isinstance(measured, Failure):
            failures.append(measured)
            continue
        code = contender.code(ground.task, ground.before, seed)
        entries.append(replace(measured, code=code))
        found(entries[-1])
    progress("", len(contenders), len(contenders))
    # trees take what nothing else does, such as a target of one class
    if all(entry.role == TREES for entry in entries):
        raise ValueError(
            f"compare: nothing could be fitted on these rows; {failures[0].name}: "
            f"{failures[0].reason}"
        )
    return entries, failures


def _measured(
    contender: Contender, split: Split, repeats: int, seed: int
) -> Entry | Failure:
    """All draws of one contender; what it does not take is no reason to stop."""
    # not Python's memory, or slow under tracing: fitted once, memory not measured
    once = contender.role in (EXACT, TREES)
    n_runs = 1 if once else repeats if contender.is_random else min(2, repeats)
    try:
        runs = [
            run(contender, split, seed + i, traced=i == 0 and not once)
            for i in range(n_runs)
        ]
        errors = [kernel_error(contender, r.model, split) for r in runs]
    except (ValueError, TypeError, MemoryError) as error:
        return Failure(contender.name, contender.size, str(error))
    timed = runs[1:] or runs
    known = [error for error in errors if error is not None]
    return Entry(
        name=contender.name,
        role=contender.role,
        size=contender.size,
        n_rows=split.X_train.shape[0],
        score=Spread.of(r.score for r in (runs if contender.is_random else runs[:1])),
        error=Spread.of(known) if known else None,
        fit_seconds=Spread.of(r.fit_seconds for r in timed),
        row_seconds=Spread.of(r.row_seconds for r in timed),
        memory_bytes=runs[0].peak_bytes,
        model_bytes=model_bytes(runs[0].model, split),
        code="",
    )


def checked_names(owner: str, names: Iterable[str] | None) -> list[str]:
    """Methods by name, each once; all where none are named."""
    found = list(dict.fromkeys(METHODS if names is None else names))
    unknown = [name for name in found if name not in METHODS]
    if unknown or not found:
        raise ValueError(
            f"{owner}: methods must be among {', '.join(METHODS)}; got "
            f"{', '.join(map(repr, unknown)) or 'none'}"
            f"{did_you_mean(unknown[0], METHODS) if unknown else ''}."
        )
    return found


def checked_sizes(owner: str, sizes: Iterable[int]) -> list[int]:
    """Numbers of components, from small to large, each once."""
    found = sorted(set(sizes))
    for size in found:
        check_count(owner, "sizes", size)
    if not found:
        raise ValueError(f"{owner}: sizes must name at least one number of columns.")
    return found


def environment() -> dict[str, str]:
    """Versions and the machine that figures are of."""
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
