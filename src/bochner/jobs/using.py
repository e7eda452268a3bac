"""Rows for a fitted model: what it was fitted on, looked for in what is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from ..execution.files import frame_kinds
from ..execution.stream import Blocks, Item
from ..preprocessing import kinds
from .opening import open_data

PREDICTED_ROWS = 8192
"""Rows that are encoded and predicted at a time."""


def columns_wanted(model: Any) -> dict[str, str]:
    """Columns of the tables that a model was fitted on, and what they hold.

    A learner without preprocessing that was fitted on a table takes numbers.
    """
    if isinstance(model, Pipeline):
        return kinds(model[0])
    return dict.fromkeys(getattr(model, "feature_names_in_", ()), "numbers")


def last_step(model: Any) -> Any:
    """The estimator itself."""
    return model[-1] if isinstance(model, Pipeline) else model


def rows_for(model: Any, source: str, target: str | None, supervised: bool) -> Blocks:
    """Blocks of rows that the model takes; of data sets, those held out for testing."""
    if not hasattr(model, "predict"):
        raise ValueError(
            f"A {type(model).__name__} predicts nothing; give a model that "
            "'bochner fit' has written."
        )
    wanted = columns_wanted(model)
    if target in wanted:
        raise ValueError(
            f"--target {target}: the model learned from that column, and does not "
            "predict it."
        )
    data = open_data(source, target=target, kinds=wanted or None, supervised=supervised)
    if wanted and not data.is_table:
        raise ValueError(
            f"The model was fitted on a table with the columns {', '.join(wanted)}; "
            f"{data.name} is not a table."
        )
    if data.is_table and not wanted:
        raise ValueError(
            f"The model was fitted on arrays without names of columns, and {data.name} "
            "is a table; give an array (npy, npz, svmlight), or fit on a table."
        )
    found = data.test or data.blocks
    found = found.cut(PREDICTED_ROWS)
    return found if data.is_table else found.transformed(_as_wide_as(model))


def unknown_columns(model: Any, source: str) -> list[str]:
    """Columns of a table that the model has no use for, the target among them."""
    wanted = columns_wanted(model)
    if not wanted:
        return []
    return [name for name in frame_kinds(source) if name not in wanted]


def _as_wide_as(model: Any) -> Any:
    """Sparse rows that end before the model's last column, made as wide."""
    n_columns = int(model.n_features_in_)

    def widened(X: Any) -> Any:
        if sparse.issparse(X) and X.shape[1] < n_columns:
            X = X.copy()
            X.resize(X.shape[0], n_columns)
        return X

    return widened


def walked(source: Blocks) -> Iterator[Item]:
    """Blocks that have rows."""
    for item in source.walk():
        if item.X.shape[0]:
            yield item


def told_of(item: Item, use: Callable[[Any], Any]) -> Any:
    """What `use` makes of a block's rows; errors say which those are."""
    try:
        return use(item.X)
    except ValueError as error:
        raise ValueError(f"{item.place}: {error}") from error


def labels_of(model: Any) -> np.ndarray | None:
    """Classes of a classifier."""
    return getattr(last_step(model), "classes_", None)
