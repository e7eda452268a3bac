"""Tables as they come: blocks are pandas frames of numbers, text and dates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .naming import ReadError
from .stream import Item
from .tables import check_names, check_present, numbers, target

NUMBERS, CATEGORIES, DATES = "numbers", "categories", "dates"
"""Kinds of columns."""


@dataclass(frozen=True)
class FramePlan:
    """The columns of a table that are read, each as one of the kinds.

    As `tables.Plan`, but for what becomes of them: nothing is refused or hashed.
    """

    kinds: Mapping[str, str]
    target: str | None
    weight: str | None

    @classmethod
    def of(cls, schema: Any, reading: Any, place: str) -> FramePlan:
        """For tables like the one of this schema."""
        others = [n for n in (reading.target, reading.weight) if n is not None]
        check_names(schema, others, reading.columns or (), place)
        wanted = reading.frames if isinstance(reading.frames, Mapping) else None
        names = wanted or reading.columns or schema.names
        features = [name for name in names if name not in others]
        check_present([*features, *others], schema.names, place)
        if not features:
            raise ValueError(f"blocks: {place} has no columns left to be features.")
        found = {n: (wanted or {}).get(n) or kind(schema.field(n)) for n in features}
        return cls(found, reading.target, reading.weight)

    @property
    def features(self) -> list[str]:
        return list(self.kinds)

    @property
    def names(self) -> list[str]:
        """All columns that are read."""
        more = [name for name in (self.target, self.weight) if name is not None]
        return [*self.kinds, *more]

    def check(self, schema: Any, place: str) -> None:
        """Refuse a file that lacks columns of the first."""
        check_present(self.names, schema.names, place)

    def item(self, table: Any, file: str, start: int) -> Item:
        """Rows of a table that begins behind row `start` of a file."""
        import pandas as pd

        place = f"{file}, rows {start + 1} to {start + table.num_rows}"
        y = None if self.target is None else target(table, self.target, file, start)
        w = None if self.weight is None else numbers(table, self.weight)
        cells = {n: _cells(table, n, k, file, start) for n, k in self.kinds.items()}
        return Item(pd.DataFrame(cells, copy=False), y, w, place, start)


def kinds_of(schema: Any) -> dict[str, str | None]:
    """What the columns of a schema hold; None: nothing that can be read."""
    found: dict[str, str | None] = {}
    for field in schema:
        try:
            found[field.name] = kind(field)
        except ReadError:
            found[field.name] = None
    return found


def kind(field: Any) -> str:
    """What a column of a schema holds."""
    import pyarrow as pa

    t, found = pa.types, field.type
    if t.is_dictionary(found):
        return CATEGORIES
    if t.is_timestamp(found) or t.is_date(found):
        return DATES
    plain = t.is_integer(found) or t.is_floating(found) or t.is_boolean(found)
    if plain or t.is_null(found) or t.is_decimal(found):
        return NUMBERS
    if t.is_nested(found) or t.is_binary(found) or t.is_large_binary(found):
        raise ReadError(
            f"column {field.name!r} holds {found}, which is neither numbers, text nor "
            "dates; leave it out, or convert it first."
        )
    return CATEGORIES


def arrow_type(kind: str, found: Any) -> Any:
    """The type to read a column of a CSV file as, which was `found` in the first rows.

    Times of day stay text, as do dates in a form that is not told by the first rows.
    """
    import pyarrow as pa

    if kind == NUMBERS:
        return found if pa.types.is_boolean(found) else pa.float64()
    temporal = pa.types.is_timestamp(found) or pa.types.is_date(found)
    return found if kind == DATES and temporal else pa.string()


def _cells(table: Any, name: str, kind: str, file: str, start: int) -> Any:
    import pyarrow as pa

    column = table.column(name)
    try:
        if kind == NUMBERS:
            return numbers(table, name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if kind == DATES and pa.types.is_temporal(column.type):
            return _dates(column)
        cells = column.to_pandas(integer_object_nulls=True)  # floats would round them
        return cells.astype(object).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(
            f"blocks: {file}, rows behind {start}: column {name!r} is to be read as "
            f"{kind}, and is not ({error}); correct it, or read it as another kind or "
            "not at all where the model is fitted."
        ) from error


def _dates(column: Any) -> np.ndarray:
    """Microseconds of UTC, NaT where missing."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp("us", "UTC"))
    column = column.cast(pa.timestamp("us"), safe=False)
    return column.to_numpy().astype("datetime64[us]")
