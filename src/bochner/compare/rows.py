"""From rows as the user has them to rows as maps see them, and what is in them."""

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
    numeric,
    table_step,
    task_of,
    timed,
)

TEST_SHARE = 0.2


@dataclass(frozen=True)
class Given:
    """Rows as the user has them, and those to be judged on where there are any."""

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
class Encoded:
    """Rows of numbers, and how they came about."""

    X: Any
    X_test: Any
    before: tuple[Step, ...] = ()
    n_bytes: int = 0  # of what made them, as a file
    seconds: float = 0.0  # of that for a row
    columns: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()


def prepared(
    given: Given, task: str | None, columns: dict[str, Any], seed: int
) -> tuple[Split, Summary]:
    """Rows to learn from and to be judged on, and a summary of them.

    `columns`: what is known of a table's, as for `preprocessing.for_table`.
    """
    X, y = given.X, np.asarray(given.y)
    X_test, y_test = given.X_test, given.y_test
    _check_parts(given)
    found = task_of(y, task)
    if X_test is None:
        X, X_test, y, y_test = parted(X, y, found, TEST_SHARE, seed)
    rows = _encoded(X, X_test, columns)
    train, test = _rows(rows.X), _rows(rows.X_test)
    y_train, y_test = numeric(y, found), numeric(np.asarray(y_test), found)
    split = Split(
        found,
        train,
        y_train,
        test,
        y_test,
        rows.before,
        rows.n_bytes,
        rows.seconds,
    )
    classes = np.unique(y, return_counts=True) if found == CLASSIFICATION else ((), ())
    return split, Summary(
        name=given.name,
        task=found,
        n_train=train.shape[0],
        n_test=test.shape[0],
        n_features=train.shape[1],
        target=given.target,
        classes=tuple((str(c), int(n)) for c, n in zip(*classes, strict=True)),
        columns=rows.columns,
        notes=(*given.notes, *rows.notes),
    )


def _encoded(X: Any, X_test: Any, columns: dict[str, Any]) -> Encoded:
    """Tables and gaps as numbers; what is numbers already stays as it is."""
    if hasattr(X, "columns"):
        encoder = for_table(X, **present(columns, X)).fit(X)
        held = kinds(encoder)
        # named: where the user's frame has them as text, they are dates all the same
        dates = [name for name, kind in held.items() if kind == "dates"]
        test, seconds = timed(encoder.transform, X_test)
        return Encoded(
            encoder.transform(X),
            test,
            (table_step({**columns, "dates": dates}),),
            file_bytes(encoder),
            seconds,
            tuple(_column(X, name, kind) for name, kind in held.items()),
            tuple(_left_out(X, held)),
        )
    if not (has_missing(X) or has_missing(X_test)):
        return Encoded(X, X_test)
    filler = median_filler().fit(X)
    test, seconds = timed(filler.transform, X_test)
    return Encoded(
        filler.transform(X),
        test,
        (imputer_step(),),
        file_bytes(filler),
        seconds,
        notes=("Missing values were filled in with medians.",),
    )


def present(columns: dict[str, Any], X: Any) -> dict[str, list[str]]:
    """What is said of columns that a frame has; others were not read."""
    return {kind: [n for n in ns if n in X.columns] for kind, ns in columns.items()}


def has_missing(X: Any) -> bool:
    """Whether an array or CSR matrix has gaps."""
    values = X.data if sparse.issparse(X) else np.asarray(X)
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def parted(
    X: Any, y: np.ndarray, task: str, share: float, seed: int
) -> tuple[Any, Any, Any, Any]:
    """A random part held out; of classes, some of each unless one has a single row."""
    from sklearn.model_selection import train_test_split

    n = len(y)
    if n < 5:
        raise ValueError(
            f"To learn from and to be judged on, at least 5 rows are needed; got {n}."
        )
    labels = None
    if task == CLASSIFICATION:
        counts = np.unique(y, return_counts=True)[1]
        if counts.min() > 1 and len(counts) <= min(share, 1 - share) * n:
            labels = y
    return tuple(
        train_test_split(X, y, test_size=share, random_state=seed, stratify=labels)
    )


def _check_parts(given: Given) -> None:
    """Refuse rows and targets that do not go together."""
    if (given.X_test is None) != (given.y_test is None):
        raise ValueError("X_test and y_test must be given together, or neither.")
    for names, X, y in (
        ("X and y", given.X, given.y),
        ("X_test and y_test", given.X_test, given.y_test),
    ):
        if X is not None and X.shape[0] != np.shape(y)[0]:
            raise ValueError(
                f"{names} must have as many rows; got {X.shape[0]} and "
                f"{np.shape(y)[0]}."
            )


def _rows(X: Any) -> Any:
    return check_array(X, accept_sparse="csr", dtype=FLOATS)


def _left_out(X: Any, used: dict[str, str]) -> list[str]:
    rest = [str(name) for name in X.columns if name not in used]
    if not rest:
        return []
    return [f"Left out, as they hold nothing or were named to be: {', '.join(rest)}."]


def _column(X: Any, name: str, kind: str) -> Column:
    values = np.asarray(X[name], dtype=object)
    there = values[~are_missing(values)]
    missing = 1 - len(there) / max(len(values), 1)
    return Column(str(name), kind, float(missing), _about(there, kind))


def _about(values: np.ndarray, kind: str) -> str:
    if not len(values):
        return "nothing"
    if kind == "categories":
        found, counts = np.unique(values.astype(str), return_counts=True)
        common = found[np.argsort(-counts, kind="stable")][:3]
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        return ", ".join(common) + more
    if kind == "dates":
        return f"{min(values.astype(str))} to {max(values.astype(str))}"
    numbers = values.astype(np.float64)
    return (
        f"{numbers.min():.4g} to {numbers.max():.4g}, median {np.median(numbers):.4g}"
    )
