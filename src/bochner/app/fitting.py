"""Fit a model on data in memory or on a stream, with the preprocessing it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from .._core.validation import check_count, did_you_mean
from ..compare.contenders import Contender
from ..compare.results import METHOD
from ..compare.rows import columns_in_frame, has_missing
from ..compare.task import CLASSIFICATION, numeric_target, standard_scaler, task_of
from ..data.stream import Blocks
from ..data.table_kinds import for_table, kinds, median_filler
from ..learners.classifier import KernelClassifier
from ..learners.regressor import KernelRegressor
from ..methods import METHODS
from .opening import Data, gathered, sampled

LOOKED_AT = 1000
"""Rows whose cells are looked at."""

FEWEST = 50
"""Cells that a doubt needs."""

MOSTLY = 0.9
"""Share of numbers among texts that makes them look like numbers with a slip."""


def suspicious_columns(X: Any, kinds: dict[str, str], asked: set[str]) -> list[str]:
    """Notes on categories that nobody has asked for."""
    found = []
    for name, kind in kinds.items():
        if kind != "categories" or name in asked:
            continue
        cells = [str(cell) for cell in X[name][:LOOKED_AT].dropna()]
        odd = [cell for cell in cells if not _is_number(cell)]
        if len(cells) < FEWEST:
            continue
        if 0 < len(odd) <= (1 - MOSTLY) * len(cells):
            found.append(
                f"{name} is taken for categories: {odd[0]!r} is not a number, as most "
                "of its cells are"
            )
        elif len(np.unique(cells)) == len(cells):
            found.append(
                f"{name} has another text in every row; if it is a name, leave it out "
                f"(--drop {name})"
            )
    return found


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


DEFAULT_LOSS, STREAM_LOSS = "hinge", "squared"

DEFAULT_SIZE = 1024
"""Columns of a method's features where a bandwidth is given and no size."""


@dataclass(frozen=True)
class Learning:
    """Options of a fit; None leaves a choice to the estimator.

    `loss` None: the hinge, or for rows that are streamed "squared", which takes one
    pass where the others take tens.
    """

    task: str | None = None
    features: str | None = None
    size: int | None = None
    gamma: Any = None
    loss: str | None = None
    alpha: Any = "auto"
    calibrate: bool = False
    standardise: bool = False
    memory: str | None = None
    checkpoint: str | None = None
    seed: int = 0
    verbose: int = 0
    columns: dict[str, Any] = field(default_factory=dict)

    def estimator(self, task: str) -> Any:
        """Unfitted."""
        common = {
            "features": self._features(task),
            "alpha": self.alpha,
            "memory": self.memory,
            "checkpoint": self.checkpoint,
            "verbose": self.verbose,
            "random_state": self.seed,
        }
        if self.calibrate and task != CLASSIFICATION:
            raise ValueError("--calibrate is for classes; numbers have a std.")
        if task == CLASSIFICATION:
            return KernelClassifier(
                loss=self.loss or DEFAULT_LOSS, calibrate=self.calibrate, **common
            )
        return KernelRegressor(**common)

    def _features(self, task: str) -> Any:
        if self.size is not None:
            check_count("fit", "--size", self.size)
        if self.features is None:
            if self.gamma is None:
                return self.size
            name = "nystroem"
        else:
            name = self.features
            if self.gamma is None and self.size is None and name != "maxout_codes":
                return name  # at a size that the estimator chooses
        if name not in METHODS:
            raise ValueError(
                f"--features must be one of {', '.join(METHODS)}; got {name!r}"
                f"{did_you_mean(name, METHODS)}."
            )
        size = DEFAULT_SIZE if self.size is None else self.size
        return Contender(name, METHOD, size, self.gamma).features(task)

    def before(self, X: Any, gaps: bool) -> list[tuple[str, Any]]:
        """Unfitted steps that turn rows as they come into rows of numbers.

        `gaps`: whether values of arrays may be missing.
        """
        steps: list[tuple[str, Any]] = []
        if hasattr(X, "columns"):
            steps.append(("columns", for_table(X, **columns_in_frame(self.columns, X))))
        elif any(self.columns.values()):
            raise ValueError(
                "numbers, categories, dates and drop name columns of tables; these "
                "rows have none."
            )
        elif gaps and not sparse.issparse(X):
            steps.append(("missing", median_filler()))
        if self.standardise:
            steps.append(("scale", standard_scaler(X)))
        return steps


STREAM_MEMORY = "128 MiB"
"""Budget of a fit that streams, where none is given."""

ENCODED_ROWS = 8192
"""Rows that are encoded at a time: categories become many columns."""

Rows = Callable[[int], None]
"""Told that so many rows were read."""


@dataclass(frozen=True)
class Fitted:
    """A model, and how it came about."""

    model: Any
    task: str
    n_rows: int
    streamed: bool
    notes: tuple[str, ...]


def fit(
    data: Data,
    learning: Learning,
    say: Callable[[str], None] = lambda line: None,
    read: Rows = lambda n: None,
) -> Fitted:
    """A fitted estimator, or a Pipeline that ends with one.

    Rows of up to 256 MiB are learned from as one, as `Pipeline.fit` would. Of more, a
    uniform sample of 50,000 teaches preprocessing and the map, and all are streamed
    through the learner.
    """
    say("reading")
    source = data.blocks.with_progress(read)
    whole = gathered(source)
    if whole is None:
        return _streamed(source, learning, say)
    X, y = whole
    _check_target(y)
    task = task_of(y, learning.task)
    steps = learning.before(X, has_missing(X))
    learning = replace(learning, checkpoint=None)  # nothing to go on with: it is short
    model = _assembled(steps, learning.estimator(task))
    say(f"fitting on {len(y):,} rows")
    model.fit(X, numeric_target(np.asarray(y), task))
    return Fitted(model, task, len(y), False, _notes(X, steps, learning))


def _streamed(source: Blocks, learning: Learning, say: Callable[[str], None]) -> Fitted:
    if learning.calibrate:
        raise ValueError(
            "--calibrate needs rows in memory, and these are streamed; leave it out: "
            "the model has probabilities without it."
        )
    say("sampling")
    X, y, n_rows = sampled(source)
    _check_target(y)
    task = task_of(y, learning.task)
    learning = replace(
        learning,
        memory=learning.memory or STREAM_MEMORY,
        loss=learning.loss or STREAM_LOSS,
    )
    steps = learning.before(X, gaps=True)  # rows to come may have some
    encode = Pipeline(steps).fit(X) if steps else None
    rows = X if encode is None else encode.transform(X)
    say(f"fitting the map on {len(y):,} rows")
    stream = source
    if encode is not None:
        stream = source.cut(ENCODED_ROWS).transformed(encode.transform)
    estimator = learning.estimator(task)
    estimator = _learned(
        estimator, rows, numeric_target(np.asarray(y), task), stream, say
    )
    return Fitted(
        _assembled(steps, estimator), task, n_rows, True, _notes(X, steps, learning)
    )


def _learned(
    estimator: Any, X: Any, y: Any, stream: Blocks, say: Callable[[str], None]
) -> Any:
    """With the map of a sample, from all rows.

    The sample also tells α, but for least squares, which find it on the way.
    """
    asked = {name: getattr(estimator, name) for name in ("features", "alpha")}
    sample = clone(estimator).set_params(checkpoint=None).fit(X, y)
    given = {"features": FrozenEstimator(sample.features_)}
    if getattr(estimator, "loss", "squared") != "squared":
        given["alpha"] = sample.alpha_
    say("learning from all rows")
    return estimator.set_params(**given).fit(stream).set_params(**asked)


def _assembled(steps: list[tuple[str, Any]], estimator: Any) -> Any:
    return Pipeline([*steps, ("model", estimator)]) if steps else estimator


def _check_target(y: Any) -> None:
    if y is None:
        raise ValueError(
            "There is nothing to predict: say which column or entry it is (--target)."
        )
    if np.ndim(y) != 1:
        raise ValueError(
            f"The target must be one column; got an array of shape {np.shape(y)}."
        )
    if len(y) < 2:
        raise ValueError(f"One cannot learn from {len(y)} row; give more.")


def _notes(X: Any, steps: list[tuple[str, Any]], learning: Learning) -> tuple[str, ...]:
    """What preprocessing does that a user should know of."""
    found = []
    asked = {name for names in learning.columns.values() for name in names}
    for name, step in steps:
        if name == "columns":
            used = kinds(step)
            left = [str(column) for column in X.columns if column not in used]
            for kind in ("numbers", "categories", "dates"):
                named = [column for column, own in used.items() if own == kind]
                if named:
                    found.append(f"{len(named)} {kind}: {_few(named)}")
            if left:
                found.append(f"left out: {_few(left)}")
            found += suspicious_columns(X, used, asked)
        elif name == "missing":
            found.append("missing values are filled in with medians")
    return tuple(found)


def _few(names: list[str], most: int = 8) -> str:
    more = f", … ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + more
