"""Steps of models, ours and scikit-learn's, in the operations of any namespace.

Parts of bochner have a `forward` of their own; what scikit-learn's steps compute is
written in `scikit_learn.py`, which is imported on use because of what it imports.

Rows are one tensor of numbers, or a `Table` where a model takes columns of text or
dates; a ColumnTransformer makes one tensor of a table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from .ops import Ops, Tensor, Unsupported

NUMBERS, TEXT, DATES = "numbers", "text", "dates"
MISSING = ""
"""Text that stands for a missing cell."""

WAY_OUT = "export the last step (model[-1]), and transform rows before."


@dataclass(frozen=True)
class Table:
    """Columns of different types, each a tensor (n, 1).

    Parameters
    ----------
    tensors : tuple
        None for a column that no step uses.
    kinds : tuple of str
        Numbers in the namespace's type, text, or dates as int64 seconds since 1970.
    """

    tensors: tuple[Tensor, ...]
    kinds: tuple[str, ...]

    def chosen(self, ops: Ops, places: Iterable[int]) -> Tensor | Table:
        """Some of the columns: one tensor if all are numbers, as steps take it."""
        tensors = tuple(self.tensors[i] for i in places)
        kinds = tuple(self.kinds[i] for i in places)
        all_numbers = set(kinds) == {NUMBERS}
        return ops.concat(tensors) if all_numbers else Table(tensors, kinds)


def forward(step: Any, ops: Ops, X: Any) -> Any:
    """What `step.transform` gives for rows X, a tensor or a Table."""
    if has_forward(type(step)):
        compute = type(step).forward
        takes_tables = getattr(type(step), "takes_tables", False)
    else:
        from .sklearn_steps import operations

        compute, takes_tables = operations(step)
    column_kind = getattr(type(step), "column_kind", NUMBERS)
    if isinstance(X, Table) and column_kind == NUMBERS and not takes_tables:
        raise Unsupported(
            f"{type(step).__name__} takes numbers, and here columns of "
            f"{' and '.join(sorted(set(X.kinds)))}; {WAY_OUT}"
        )
    if not isinstance(X, Table) and column_kind != NUMBERS:
        raise Unsupported(
            f"{type(step).__name__} takes columns, and this model one tensor of "
            "numbers; put it into a ColumnTransformer at the beginning."
        )
    return compute(step, ops, X)


def has_forward(kind: type) -> bool:
    """Whether a class says what it computes, in `forward` or `outputs`.

    A subclass that overrides `transform` or `predict` alone computes something else.
    """
    for one in kind.__mro__:
        if {"forward", "outputs"} & vars(one).keys():
            return True
        if {"transform", "predict", "decision_function"} & vars(one).keys():
            return False
    return False


def forward_columns(step: Any, ops: Ops, X: Any) -> Any:
    """What learners read of a step: k(x, L) of Nyström features, else the features.

    As in `execution.features.RawFeatures`.
    """
    is_pipeline = isinstance(step, Pipeline) and len(step) > 1
    if is_pipeline and hasattr(step[-1], "feature_map_"):
        return forward_columns(step[-1], ops, forward(step[:-1], ops, X))
    feature_map: Any = getattr(step, "feature_map_", None)
    if hasattr(feature_map, "forward_columns") and has_forward(type(step)):
        return feature_map.forward_columns(ops, X)
    return forward(step, ops, X)


def forward_linear(
    step: Any, ops: Ops, X: Any, B: np.ndarray, intercept: np.ndarray
) -> Tensor:
    """Scores that are linear in what learners read of a step, with coefficients B."""
    return ops.add(ops.matmul(forward_columns(step, ops, X), B), intercept)


def class_outputs(ops: Ops, S: Tensor, classes: np.ndarray) -> dict[str, Tensor]:
    """Labels and scores: the class of the largest score; of a single one, its sign."""
    if len(classes) > 2:
        place = ops.argmax(S, 1)
    else:
        S = ops.reshape(S, -1)
        place = ops.cast(ops.greater(S, 0.0), np.int64)
    return {"label": ops.labels(classes, place), "scores": S}
