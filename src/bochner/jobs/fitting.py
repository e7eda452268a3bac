"""Fit a model on data at hand, or on a stream of it, with what has to come before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ..comparison.data import has_missing
from ..comparison.task import numeric, task_of
from ..execution import Blocks
from ..preprocessing import kinds
from .doubts import doubts
from .gathering import gathered, sampled
from .learning import STREAM_LOSS, Learning
from .opening import Data

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
    source = data.blocks.watched(read)
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
    model.fit(X, numeric(np.asarray(y), task))
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
    estimator = _learned(estimator, rows, numeric(np.asarray(y), task), stream, say)
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
            found += doubts(X, used, asked)
        elif name == "missing":
            found.append("missing values are filled in with medians")
    return tuple(found)


def _few(names: list[str], most: int = 8) -> str:
    more = f", … ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + more
