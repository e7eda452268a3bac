"""Transformers that take the cells of columns in any form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._ops import Ops, Tensor
from .._steps import DATES, TEXT, Table
from . import cells


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
        if cells.is_frame(X):
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
        pairs = zip(cells.columns_of(X), names, strict=True)
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
        return self._read(X, cells.floats, np.float64)

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
        return self._read(X, cells.texts, object)

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
        return self._read(X, cells.date_parts, np.float64)

    def forward(self, ops: Ops, X: Table) -> Tensor:
        """The same of int64 seconds since 1970; NaN of the smallest int64."""
        seconds = ops.concat(X.tensors)
        absent = ops.equal(seconds, np.int64(cells.NAT))
        seconds = ops.where(absent, np.int64(0), seconds)
        days, of_day = _divided(ops, seconds, 86_400)
        _, weekday = _divided(ops, ops.add(days, np.int64(cells.THURSDAY)), 7)
        hour = ops.divide(ops.cast(of_day, ops.dtype), 3600.0)
        whole = [*_civil(ops, days), weekday]
        parts = [*(ops.cast(part, ops.dtype) for part in whole), hour]
        parts = [ops.where(absent, np.nan, part) for part in parts]
        deep = [ops.expand_dims(part, 2) for part in parts]
        return ops.reshape(ops.concat(deep, axis=2), 0, len(parts) * len(X.tensors))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names as "column_year", "column_month", …"""
        names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        found = [f"{name}_{part}" for name in names for part in cells.PARTS]
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
