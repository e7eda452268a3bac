"""Cells of columns, read from frames and arrays of any type."""

from __future__ import annotations

import calendar
import datetime
import math
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np

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
