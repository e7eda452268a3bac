"""From the user's rows to numeric training and test rows, and a summary of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._core.validation import FLOATS, check_storage, check_unmasked
from ..data.column_readers import are_missing
from ..data.table_kinds import for_table, kinds, median_filler
from .results import Column, Summary
from .task import (
    CLASSIFICATION,
    Split,
    Step,
    file_bytes,
    imputer_step,
    numeric_target,
    table_step,
    task_of,
    timed_transform,
)

TEST_SHARE = 0.2
"""Share of the rows that is held out if there are no test rows."""

SHOWN_CATEGORIES = 3
"""Most frequent categories that the description of a column names."""


@dataclass(frozen=True)
class Dataset:
    """The user's rows and targets, optionally with test rows."""

    X: Any
    y: Any
    X_test: Any = None
    y_test: Any = None
    name: str = "data"
    target: str | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("X", "X_test"):
            check_storage(getattr(self, name), name)
        for name in ("y", "y_test"):
            check_unmasked(name, getattr(self, name))


@dataclass(frozen=True)
class EncodedRows:
    """Numeric rows, and the preprocessing that produced them."""

    X: Any
    X_test: Any
    preprocessing: tuple[Step, ...] = ()
    n_bytes: int = 0  # size of the preprocessing as files
    seconds: float = 0.0  # time of the preprocessing per row
    columns: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()


def prepare(
    dataset: Dataset, task: str | None, columns: dict[str, Any], seed: int
) -> tuple[Split, Summary]:
    """Training and test rows, and a summary of the data.

    `columns` are options of `preprocessing.for_table`: names of columns by their kind.
    """
    X, y = dataset.X, np.asarray(dataset.y)
    X_test, y_test = dataset.X_test, dataset.y_test
    _check_lengths(dataset)
    task = task_of(y, task)
    if X_test is None:
        X, X_test, y, y_test = hold_out(X, y, task, TEST_SHARE, seed)
    rows = _encode(X, X_test, columns)
    split = Split(
        task,
        _check_numbers(rows.X),
        numeric_target(y, task),
        _check_numbers(rows.X_test),
        numeric_target(np.asarray(y_test), task),
        rows.preprocessing,
        rows.n_bytes,
        rows.seconds,
    )
    classes = np.unique(y, return_counts=True) if task == CLASSIFICATION else ((), ())
    return split, Summary(
        name=dataset.name,
        task=task,
        n_train=split.X_train.shape[0],
        n_test=split.X_test.shape[0],
        n_features=split.X_train.shape[1],
        target=dataset.target,
        classes=tuple((str(c), int(n)) for c, n in zip(*classes, strict=True)),
        columns=rows.columns,
        notes=(*dataset.notes, *rows.notes),
    )


def _encode(X: Any, X_test: Any, columns: dict[str, Any]) -> EncodedRows:
    """Encode tables and fill in missing values; other numeric rows stay unchanged."""
    if hasattr(X, "columns"):
        return _encode_table(X, X_test, columns)
    if not (has_missing(X) or has_missing(X_test)):
        return EncodedRows(X, X_test)
    imputer = median_filler().fit(X)
    filled_test, seconds = timed_transform(imputer, X_test)
    return EncodedRows(
        imputer.transform(X),
        filled_test,
        (imputer_step(),),
        file_bytes(imputer),
        seconds,
        notes=("Missing values were filled in with medians.",),
    )


def _encode_table(X: Any, X_test: Any, columns: dict[str, Any]) -> EncodedRows:
    encoder = for_table(X, **columns_in_frame(columns, X)).fit(X)
    column_kinds = kinds(encoder)
    # the generated code names the dates: the user's own frame may hold them as text
    dates = [name for name, kind in column_kinds.items() if kind == "dates"]
    encoded_test, seconds = timed_transform(encoder, X_test)
    return EncodedRows(
        encoder.transform(X),
        encoded_test,
        (table_step({**columns, "dates": dates}),),
        file_bytes(encoder),
        seconds,
        tuple(_describe_column(X, name, kind) for name, kind in column_kinds.items()),
        tuple(_unused_columns_note(X, column_kinds)),
    )


def columns_in_frame(columns: dict[str, Any], X: Any) -> dict[str, list[str]]:
    """Options of `for_table` without the columns that the frame X does not have."""
    return {
        kind: [name for name in names if name in X.columns]
        for kind, names in columns.items()
    }


def has_missing(X: Any) -> bool:
    """Whether an array or CSR matrix has missing values."""
    values = X.data if sparse.issparse(X) else np.asarray(X)
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def hold_out(
    X: Any, y: np.ndarray, task: str, share: float, seed: int
) -> tuple[Any, Any, Any, Any]:
    """Split rows at random into (X, X_held_out, y, y_held_out).

    Classes are stratified unless a class has a single row or a part is too small to
    hold every class.
    """
    from sklearn.model_selection import train_test_split

    n = len(y)
    if n < 5:
        raise ValueError(
            f"X must have at least 5 rows, to learn from and to score on; got {n}."
        )
    labels = None
    if task == CLASSIFICATION:
        counts = np.unique(y, return_counts=True)[1]
        if counts.min() > 1 and len(counts) <= min(share, 1 - share) * n:
            labels = y
    return tuple(
        train_test_split(X, y, test_size=share, random_state=seed, stratify=labels)
    )


def _check_lengths(dataset: Dataset) -> None:
    """Refuse rows without targets, and rows and targets of different lengths."""
    if (dataset.X_test is None) != (dataset.y_test is None):
        raise ValueError("X_test and y_test must be given together, or neither.")
    for names, X, y in (
        ("X and y", dataset.X, dataset.y),
        ("X_test and y_test", dataset.X_test, dataset.y_test),
    ):
        if X is not None and X.shape[0] != np.shape(y)[0]:
            raise ValueError(
                f"{names} must have the same number of rows; got {X.shape[0]} and "
                f"{np.shape(y)[0]}."
            )


def _check_numbers(X: Any) -> Any:
    return check_array(X, accept_sparse="csr", dtype=FLOATS)


def _unused_columns_note(X: Any, used: dict[str, str]) -> list[str]:
    unused = [str(name) for name in X.columns if name not in used]
    if not unused:
        return []
    return [f"Columns left out because they are empty or dropped: {', '.join(unused)}."]


def _describe_column(X: Any, name: str, kind: str) -> Column:
    values = np.asarray(X[name], dtype=object)
    present = values[~are_missing(values)]
    missing = 1 - len(present) / max(len(values), 1)
    return Column(str(name), kind, float(missing), _describe_values(present, kind))


def _describe_values(values: np.ndarray, kind: str) -> str:
    if not len(values):
        return "nothing"
    if kind == "categories":
        categories, counts = np.unique(values.astype(str), return_counts=True)
        by_frequency = categories[np.argsort(-counts, kind="stable")]
        n_more = len(categories) - SHOWN_CATEGORIES
        more = f" and {n_more} more" if n_more > 0 else ""
        return ", ".join(by_frequency[:SHOWN_CATEGORIES]) + more
    if kind == "dates":
        return f"{min(values.astype(str))} to {max(values.astype(str))}"
    numbers = values.astype(np.float64)
    return (
        f"{numbers.min():.4g} to {numbers.max():.4g}, median {np.median(numbers):.4g}"
    )
