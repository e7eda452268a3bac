"""Transformers that read columns of numbers, text or dates from frames and arrays."""

from __future__ import annotations

import calendar
import datetime
import math
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.ops import Ops, Tensor
from .._core.steps import DATES, TEXT, Table

PARTS = ("year", "month", "day", "weekday", "hour")
"""Numbers of a date, in the order of their columns."""

NAT = np.iinfo(np.int64).min
"""What stands for a missing date among whole numbers, as in NumPy."""

THURSDAY = 3
"""The weekday of 1970-01-01."""


def is_frame(X: Any) -> bool:
    """Whether it is a DataFrame of pandas or polars with rows at hand."""
    known = hasattr(X, "iloc") or hasattr(X, "get_column")
    return known and hasattr(X, "columns") and not hasattr(X, "compute")


def columns_of(X: Any) -> Iterator[Any]:
    """Columns of a frame or of an array, one after the other."""
    for j in range(X.shape[1]):
        if hasattr(X, "iloc"):
            yield X.iloc[:, j]
        else:
            yield X.to_series(j) if hasattr(X, "to_series") else X[:, j]


def exact(column: Any) -> np.ndarray:
    """A column as an array that loses nothing: objects where NumPy has no type."""
    dtype = column.dtype
    if hasattr(column, "to_physical"):  # polars
        return _of_polars(column)
    if isinstance(column, np.ndarray):
        return column
    if getattr(dtype, "tz", None) is not None:
        return column.to_numpy(f"M8[{dtype.unit}]")
    # whole numbers with gaps would become floats, and large ones the same
    gaps = not isinstance(dtype, np.dtype) and dtype.kind in "iu" and column.hasnans
    return column.to_numpy(object) if gaps else column.to_numpy()


def _of_polars(column: Any) -> np.ndarray:
    dtype, name = column.dtype, str(column.dtype)
    if name == "Date" or hasattr(dtype, "time_zone"):
        # by way of whole numbers: dates of polars 1.0 crash with NumPy 2
        whole = column.to_physical().cast(int).fill_null(NAT).to_numpy()
        return whole.astype(f"M8[{getattr(dtype, 'time_unit', 'D')}]")
    plain = dtype.is_numeric() and not name.startswith("Decimal")
    if plain and not column.null_count():
        return column.to_numpy()
    return np.fromiter(column.to_list(), dtype=object, count=len(column))


def are_missing(cells: np.ndarray) -> np.ndarray:
    """Which of an array's cells are None, NaN, NaT or pandas.NA."""
    if cells.dtype.kind == "f":
        return np.isnan(cells)
    if cells.dtype.kind in "mM":
        return np.isnat(cells)
    if cells.dtype.kind == "O":
        return np.array([is_missing(cell) for cell in cells], dtype=bool)
    return np.zeros(len(cells), dtype=bool)


def is_missing(cell: Any) -> bool:
    if cell is None:
        return True
    if isinstance(cell, str):
        return False
    if isinstance(cell, float | np.floating | np.datetime64 | Decimal):
        return bool(cell != cell)
    # by name, since pandas need not be there
    return type(cell).__name__ in ("NAType", "NaTType")


def floats(column: Any, name: str) -> np.ndarray:
    """Numbers in any form as float64, NaN where missing."""
    cells = exact(column)
    if cells.dtype.kind in "biuf":
        found = cells.astype(np.float64)
    else:
        found = _each(cells, name, _float, "Numbers", "a number")
    infinite = np.flatnonzero(np.isinf(found))
    if len(infinite):
        raise ValueError(
            f"Numbers: column {name!r}, row {infinite[0] + 1} of these is infinite; "
            "correct it, or make it None if it is unknown."
        )
    return found


def _float(cell: Any) -> float:
    return math.nan if _is_empty(cell) else float(cell)


def _is_empty(cell: Any) -> bool:
    return is_missing(cell) or (isinstance(cell, str) and not cell.strip())


def texts(column: Any, name: str) -> np.ndarray:
    """Categories in any form as text, "" where missing."""
    cells = exact(column)
    if cells.dtype.kind in "biufM":
        distinct, places = np.unique(cells, return_inverse=True)
        found = np.array([_text(cell) for cell in distinct], dtype=object)
        return found[places]
    each = (cell if type(cell) is str else _text(cell) for cell in cells)
    return np.fromiter(each, dtype=object, count=len(cells))


def _text(cell: Any) -> str:
    if is_missing(cell):
        return ""
    if isinstance(cell, float | np.floating | Decimal):
        whole = math.isfinite(cell) and cell == int(cell)
        # "1" of 1.0 too: whole numbers become floats where some are missing
        return str(int(cell)) if whole else str(_plain(cell))
    if isinstance(cell, np.datetime64):
        return str(cell.astype("M8[s]"))
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(timespec="seconds")
    return str(cell)


def _plain(cell: Any) -> Any:
    return float(cell) if isinstance(cell, Decimal) else cell


def date_parts(column: Any, name: str) -> np.ndarray:
    """The PARTS of dates in any form, (n, 5), NaN where missing."""
    seconds = _seconds(column, name)
    days = seconds.astype("M8[D]")
    months = days.astype("M8[M]")
    whole = months.astype(np.int64)
    found = np.column_stack(
        [
            whole // 12 + 1970,
            whole % 12 + 1,
            (days - months).astype(np.int64) + 1,
            (days.astype(np.int64) + THURSDAY) % 7,
            (seconds - days).astype(np.int64) / 3600.0,
        ]
    )
    found[np.isnat(seconds)] = np.nan
    return found


def _seconds(column: Any, name: str) -> np.ndarray:
    """Moments as datetime64[s] of UTC."""
    cells = exact(column)
    kind = cells.dtype.kind
    if kind == "M":
        return cells.astype("M8[s]")
    if kind in "biuf" and not are_missing(cells).all():
        raise ValueError(
            f"DateParts: column {name!r} holds numbers ({cells.dtype}), which are not "
            'dates; convert them first, with pandas.to_datetime(…, unit="s") if they '
            "count seconds, or give the column as numbers."
        )
    found = _each(cells, name, _moment, "DateParts", "a date (text is ISO 8601)")
    return found.astype("M8[s]")


def _moment(cell: Any) -> int:
    """Seconds since 1970 in UTC."""
    if _is_empty(cell):
        return NAT
    if isinstance(cell, str):
        cell = datetime.datetime.fromisoformat(cell.strip())
    if isinstance(cell, np.datetime64):
        return int(cell.astype("M8[s]").astype(np.int64))
    if isinstance(cell, datetime.datetime):
        return calendar.timegm(cell.utctimetuple())
    if isinstance(cell, datetime.date):
        return calendar.timegm(cell.timetuple())
    raise TypeError("not a date")


def _each(
    cells: Iterable[Any], name: str, read: Callable[[Any], Any], part: str, what: str
) -> np.ndarray:
    """Every cell read by itself; one that cannot be is named."""
    found = []
    for i, cell in enumerate(cells):
        try:
            found.append(read(cell))
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"{part}: column {name!r}, row {i + 1} of these holds {cell!r}, which "
                f"is not {what}; correct it, or make it None if it is unknown."
            ) from None
    return np.array(found)


class _Cells(TransformerMixin, BaseEstimator):
    """What reads the cells of columns shares: nothing is learned but their names."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Remember the columns.

        Parameters
        ----------
        X : DataFrame (pandas or polars) or array of shape (n, n_features)
        y : ignored

        Returns
        -------
        self
        """
        validate_data(self, self._table(X), reset=True, skip_check_array=True)
        return self

    def _table(self, X: Any) -> Any:
        if is_frame(X):
            return X
        X = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
        if X.ndim != 2:
            raise ValueError(
                f"{type(self).__name__}: X must be a table or a 2-d array; got an "
                f"array of shape {X.shape}. Make one column of it: X.reshape(-1, 1)."
            )
        return X

    def _read(self, X: Any, read: Callable[[Any, str], Any], dtype: Any) -> np.ndarray:
        """Columns side by side, each read with its name."""
        check_is_fitted(self, "n_features_in_")
        X = self._table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        names = OneToOneFeatureMixin.get_feature_names_out(self)
        pairs = zip(columns_of(X), names, strict=True)
        parts = [np.asarray(read(column, name), dtype=dtype) for column, name in pairs]
        return np.column_stack(parts)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


class Numbers(OneToOneFeatureMixin, _Cells):
    """Columns of numbers in any form as float64, NaN where a cell is missing.

    Cells may be numbers, truth values, decimals or text of a number; nullable and
    arrow-backed columns serve too. None, NaN, `pandas.NA` and "" are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.preprocessing import Numbers
    >>> Numbers().fit_transform(np.array([[True], ["1.5"], [None]], dtype=object))
    array([[1. ],
           [1.5],
           [nan]])
    """

    def transform(self, X: Any) -> np.ndarray:
        """Numbers, (n, n_features) float64."""
        return self._read(X, floats, np.float64)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """Columns of numbers, which are numbers in any namespace."""
        return X


class Texts(OneToOneFeatureMixin, _Cells):
    """Columns of categories in any form as text, "" where a cell is missing.

    So an encoder sees one type, whatever came: 1 and 1.0 are both "1", truth values are
    "True" and "False"; None, NaN and `pandas.NA` are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.preprocessing import Texts
    >>> Texts().fit_transform(np.array([["a", 1], [None, 1.0]], dtype=object))
    array([['a', '1'],
           ['', '1']], dtype=object)
    """

    column_kind: ClassVar = TEXT

    def transform(self, X: Any) -> np.ndarray:
        """Text, (n, n_features) objects of type str."""
        return self._read(X, texts, object)

    def forward(self, ops: Ops, X: Table) -> Table:
        """Columns of text, which are text in a namespace that has any."""
        return X


class DateParts(_Cells):
    """Columns of dates as numbers: year, month, day, weekday and hour.

    Weekdays count from 0 (Monday); hours have minutes and seconds for a fraction, and
    what is less than a second is cut off. Times with a zone are converted to UTC. All
    five are NaN where a cell is missing.

    Cells are datetime64, dates or datetimes of Python, or text of ISO 8601; None, NaN,
    NaT, `pandas.NA` and "" are missing. Numbers are not dates, since nobody can tell
    what they count: convert them first, with `pandas.to_datetime(…, unit="s")`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.preprocessing import DateParts
    >>> dates = DateParts().fit([["2024-02-29"]])
    >>> dates.transform([["2026-11-16T18:30:00"], [None]])
    array([[2026. ,   11. ,   16. ,    0. ,   18.5],
           [   nan,    nan,    nan,    nan,    nan]])
    >>> dates.get_feature_names_out(["day"])[:2]
    array(['day_year', 'day_month'], dtype=object)
    """

    column_kind: ClassVar = DATES

    def transform(self, X: Any) -> np.ndarray:
        """The five numbers of each column, (n, 5 n_features) float64."""
        return self._read(X, date_parts, np.float64)

    def forward(self, ops: Ops, X: Table) -> Tensor:
        """The same of int64 seconds since 1970; NaN of the smallest int64."""
        seconds = ops.concat(X.tensors)
        absent = ops.equal(seconds, np.int64(NAT))
        seconds = ops.where(absent, np.int64(0), seconds)
        days, of_day = _divided(ops, seconds, 86_400)
        _, weekday = _divided(ops, ops.add(days, np.int64(THURSDAY)), 7)
        hour = ops.divide(ops.cast(of_day, ops.dtype), 3600.0)
        whole = [*_civil(ops, days), weekday]
        parts = [*(ops.cast(part, ops.dtype) for part in whole), hour]
        parts = [ops.where(absent, np.nan, part) for part in parts]
        deep = [ops.expand_dims(part, 2) for part in parts]
        return ops.reshape(ops.concat(deep, axis=2), 0, len(parts) * len(X.tensors))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names as "column_year", "column_month", …"""
        names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        found = [f"{name}_{part}" for name in names for part in PARTS]
        return np.array(found, dtype=object)


def _divided(ops: Ops, x: Tensor, by: int) -> tuple[Tensor, Tensor]:
    """⌊x/by⌋ and what is left, ≥ 0, also of negative x."""
    rest = ops.remainder(x, by)
    return ops.floor_divide(ops.subtract(x, rest), by), rest


def _civil(ops: Ops, days: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Year, month and day of days since 1970, all int64.

    Years begin on 1 March, so that a leap day is their last; 400 of them, an era, have
    146 097 days. H. Hinnant, "chrono-compatible low-level date algorithms" (2013).
    """
    div, minus = ops.floor_divide, ops.subtract

    def times(x: Tensor, factor: int) -> Tensor:
        return ops.multiply(x, np.int64(factor))

    def plus(x: Tensor, y: Any) -> Tensor:
        return ops.add(x, np.int64(y) if isinstance(y, int) else y)

    era, doe = _divided(ops, plus(days, 719_468), 146_097)  # day of the era
    leaps = minus(plus(div(doe, 1460), div(doe, 146_096)), div(doe, 36_524))
    yoe = div(minus(doe, leaps), 365)
    before = minus(plus(times(yoe, 365), div(yoe, 4)), div(yoe, 100))
    doy = minus(doe, before)
    mp = div(plus(times(doy, 5), 2), 153)  # months since March
    day = plus(minus(doy, div(plus(times(mp, 153), 2), 5)), 1)
    late = ops.cast(ops.greater(mp, np.int64(9)), np.int64)  # January, February
    month = minus(plus(mp, 3), times(late, 12))
    return plus(plus(yoe, times(era, 400)), late), month, day
