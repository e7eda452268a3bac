"""Which preprocessing the columns of a table need, by their kinds."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import numpy as np

from .._core.remote_rows import is_lazy, is_stream
from .._core.validation import did_you_mean
from .column_readers import (
    DateParts,
    Numbers,
    Texts,
    are_missing,
    columns_of,
    exact,
    is_frame,
)
from .stream import row_bytes
from .tables import listed

MAX_CATEGORIES = 64
"""Columns that a categorical column becomes, at most: the 63 most frequent categories,
and one for all others. Kernels see distances: a thousand columns of rare categories
would drown the rest, and say little that 64 do not."""

NUMBER = (int, float, Decimal, np.number, np.bool_)
DATE = (datetime.date, np.datetime64)
REFUSED = (
    *(list, tuple, dict, set, bytes, complex, datetime.timedelta),
    *(np.ndarray, np.complexfloating, np.timedelta64),
)


def for_table(
    frame: Any,
    *,
    numbers: Iterable[str] = (),
    categories: Iterable[str] = (),
    dates: Iterable[str] = (),
    drop: Iterable[str] = (),
) -> Any:
    """The preprocessing that the columns of a table need, not yet fitted.

    - numbers and truth values: missing ones become the median, then standardised;
    - text, objects and categories: one-hot codes of at most 64 categories, missing
      cells being one of them where there are any; categories never seen count as rare
      ones, or where none are rare as none;
    - dates: year, month, day, weekday and hour, as numbers.

    Columns without any value are left out. Columns are found by name, so that later
    tables may have others besides, in any order. Time of a look at every cell.

    Parameters
    ----------
    frame : DataFrame of pandas or polars, `blocks` of frames, or Dask DataFrame
        The rows to learn from, or enough of them to tell the columns' kinds. A stream
        needs `blocks(…, frames=True)`; of a stream or Dask frame, a uniform sample of
        50,000 rows is read, here and in `fit`.
    numbers, categories, dates : names of columns
        Kinds that the columns' types do not tell, such as numbers that are codes, or
        text that holds dates (ISO 8601).
    drop : names of columns
        Left out; the target, for one.

    Returns
    -------
    ColumnTransformer
        With the parts "numbers", "categories" and "dates", where there are any. It
        takes streams and Dask frames as well as frames, and so do Pipelines that begin
        with it and end with a learner of bochner.

    Examples
    --------
    >>> import pandas
    >>> from sklearn.pipeline import make_pipeline
    >>> from bochner import KernelRegressor
    >>> from bochner.preprocessing import for_table, kinds
    >>> homes = pandas.DataFrame(
    ...     {
    ...         "rooms": [2, 3, None, 4],
    ...         "city": ["Ulm", None, "Bonn", "Ulm"],
    ...         "sold": pandas.to_datetime(["2024-05-01", "2025-01-31", None, None]),
    ...         "price": [210, 305, 180, 400],
    ...     }
    ... )
    >>> columns = for_table(homes, drop=["price"])
    >>> kinds(columns)
    {'rooms': 'numbers', 'city': 'categories', 'sold': 'dates'}
    >>> model = make_pipeline(columns, KernelRegressor(4, random_state=0))
    >>> model.fit(homes, homes["price"]).predict(homes).shape
    (4,)
    """
    from .table_transformer import TableTransformer, rows_in_memory  # heavy to import

    _check_table(frame)
    frame = rows_in_memory(frame)
    names = _names(frame)
    given = {"numbers": numbers, "categories": categories, "dates": dates, "drop": drop}
    told = _told(names, given)
    found: dict[str, list[str]] = {kind: [] for kind in _STEPS}
    for name, column in zip(names, columns_of(frame), strict=True):
        kind = told[name] if name in told else _kind(column, name)
        if kind in found:
            found[kind].append(name)
    if not any(found.values()):
        raise ValueError(
            f"for_table: none of the {len(names)} columns is left: those that drop "
            "does not name have no values."
        )
    chosen = [(kind, _STEPS[kind](), names) for kind, names in found.items() if names]
    return TableTransformer(chosen, verbose_feature_names_out=False)


def kinds(columns: Any) -> dict[str, str]:
    """What `for_table` took each column for: "numbers", "categories" or "dates".

    Parameters
    ----------
    columns : ColumnTransformer, fitted or not

    Returns
    -------
    dict
        Kinds by the columns' names; empty for what `for_table` has not made.

    Examples
    --------
    >>> import pandas
    >>> from bochner.preprocessing import for_table, kinds
    >>> kinds(for_table(pandas.DataFrame({"age": [31, 44], "name": ["Bo", "Cy"]})))
    {'age': 'numbers', 'name': 'categories'}
    """
    readers = {"numbers": Numbers, "categories": Texts, "dates": DateParts}
    found: dict[str, str] = {}
    for kind, steps, names in getattr(columns, "transformers", ()):
        first = steps.steps[0][1] if hasattr(steps, "steps") else None
        if kind not in readers or type(first) is not readers[kind]:
            return {}
        found |= dict.fromkeys(names, kind)
    return found


def median_filler() -> Any:
    """Medians in place of what is missing, unfitted.

    Empty columns are kept: one may be empty in a fold, and have values in the next.
    """
    from sklearn.impute import SimpleImputer

    return SimpleImputer(strategy="median", keep_empty_features=True)


def encoded_bytes(X: Any) -> float:
    """About what a row takes, encoded: a category may become many columns."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        texts = sum(getattr(kind, "kind", "") == "O" for kind in X.dtypes)
        return 8.0 * (X.shape[1] + MAX_CATEGORIES * texts)
    return row_bytes(X)


def _of_numbers(reader: type = Numbers) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(reader(), median_filler(), StandardScaler())


def _of_dates() -> Any:
    return _of_numbers(DateParts)


def _of_categories() -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MAX_CATEGORIES,
        sparse_output=False,
    )
    return make_pipeline(Texts(), encoder)


_STEPS: dict[str, Callable[[], Any]] = {
    "numbers": _of_numbers,
    "categories": _of_categories,
    "dates": _of_dates,
}


def _check_table(source: Any) -> None:
    """Refuse streams and Dask collections that are not of frames."""
    if is_stream(source) and not is_frame(source.first().X):
        raise TypeError(
            "for_table: the blocks of this stream are arrays, not frames; read the "
            "files with blocks(…, frames=True)."
        )
    if is_lazy(source) and not hasattr(source, "columns"):
        raise TypeError(
            "for_table: frame is a Dask array, which has no names and kinds of "
            "columns; give a Dask DataFrame."
        )


def _names(frame: Any) -> list[str]:
    if not is_frame(frame):
        raise TypeError(
            "for_table: frame must be a DataFrame of pandas, polars or Dask, or "
            f"blocks(…, frames=True); got {type(frame).__name__}. Make one: "
            "pandas.DataFrame(…)."
        )
    names = list(frame.columns)
    odd = [name for name in names if not isinstance(name, str)]
    twice = sorted({name for name in names if names.count(name) > 1}, key=str)
    if odd or twice:
        what = f"{odd[0]!r} is not text" if odd else f"{twice[0]!r} is there twice"
        raise ValueError(
            f"for_table: columns are found by name, and the name {what}; rename: "
            "frame.columns = […]."
        )
    return names


def _told(names: list[str], given: dict[str, Iterable[str]]) -> dict[str, str]:
    """Kinds that the caller gives, by column."""
    told: dict[str, str] = {}
    for kind, chosen in given.items():
        for name in [chosen] if isinstance(chosen, str) else chosen:
            if name not in names:
                raise ValueError(
                    f"for_table: {kind} names {name!r}, and there is no such column"
                    f"{did_you_mean(name, names)}; columns are {listed(names)}."
                )
            if told.setdefault(name, kind) != kind:
                raise ValueError(
                    f"for_table: {name!r} is in both {told[name]} and {kind}; name it "
                    "once."
                )
    return told


def _kind(column: Any, name: str) -> str:
    """Of a column by its type, and where that tells nothing by its cells."""
    cells = exact(column)
    present = cells[~are_missing(cells)]
    if not len(present):
        return "drop"
    if getattr(column.dtype, "name", "") == "category":
        return "categories"
    if cells.dtype.kind in "biuf":
        return "numbers"
    odd = next((cell for cell in present if isinstance(cell, REFUSED)), None)
    if odd is not None:
        raise ValueError(
            f"for_table: column {name!r} holds {odd!r}, which is neither a number nor "
            f"text nor a date; convert it, or leave it out: drop=[{name!r}]."
        )
    if all(isinstance(cell, DATE) for cell in present):
        return "dates"
    all_numbers = all(isinstance(cell, NUMBER) for cell in present)
    return "numbers" if all_numbers else "categories"
