"""Predictions of a model for rows of a stream, written as CSV."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._atomic import new_file
from ..execution import Blocks
from .using import labels_of, last_step, told_of, walked


def columns_of(model: Any, X: Any, probabilities: bool = False) -> dict[str, Any]:
    """`prediction`, then `score_<class>` (or `probability_<class>`), or `std`."""
    classes = labels_of(model)
    if classes is None:
        return _numbers(model, X)
    if probabilities:
        S, word = model.predict_proba(X), "probability"
    else:
        S, word = np.asarray(model.decision_function(X)), "score"
        S = np.column_stack([-S, S]) if S.ndim == 1 else S
    # what `predict` would make of the same scores, whose features take the time
    found: dict[str, Any] = {"prediction": classes[S.argmax(axis=1)]}
    return found | {f"{word}_{_name(c)}": S[:, k] for k, c in enumerate(classes)}


def _name(label: Any) -> str:
    """A label in a column's name: 1 of svmlight's 1.0."""
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label) if whole else label)


def write_predictions(
    model: Any,
    source: Blocks,
    path: Any,
    *,
    probabilities: bool = False,
    read: Callable[[int], None] = lambda n: None,
) -> int:
    """A CSV file of predictions, block by block, and how many rows it has.

    It takes the place of an old one as a whole, or not at all.
    """
    with new_file("predict", path) as file:
        return stream_predictions(model, source, file, probabilities, read)


def stream_predictions(
    model: Any,
    source: Blocks,
    file: Any,
    probabilities: bool = False,
    read: Callable[[int], None] = lambda n: None,
) -> int:
    """The same to a binary file that is open."""
    import pyarrow as pa
    from pyarrow import csv

    if probabilities:
        _check_probabilities(model)
    of_rows = partial(columns_of, model, probabilities=probabilities)
    writer, n_rows = None, 0
    for item in walked(source):
        table = pa.table(told_of(item, of_rows))
        if writer is None:
            writer = csv.CSVWriter(file, table.schema)
        writer.write_table(table)
        n_rows += table.num_rows
        read(table.num_rows)
    if writer is None:
        raise ValueError("predict: there are no rows.")
    writer.close()
    return n_rows


def _numbers(model: Any, X: Any) -> dict[str, Any]:
    """Means, and deviations where the model keeps them."""
    if getattr(last_step(model), "_posterior", None) is None:
        return {"prediction": model.predict(X)}
    mean, std = model.predict(X, return_std=True)
    return {"prediction": mean, "std": std}


def _check_probabilities(model: Any) -> None:
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            "predict: this model has no probabilities: it is no classifier, or was "
            "saved by an earlier version; fit it again."
        )
