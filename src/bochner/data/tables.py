"""Tables: blocks of rows of numbers with text hashed, or pandas frames as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._core.validation import did_you_mean
from .read_errors import ReadError, shown
from .stream import Item, block_rows

NUMBER, TEXT = "numbers", "text"

PACKED = (".gz", ".bz2", ".zst")
"""Endings of compressed files, which CSV and svmlight (not .zst) may be."""

PACKED_SHARE = 3
"""How many times its size compressed text is, about."""


def text_bytes(path: Path) -> int:
    """Characters of a text file, about, if it is compressed."""
    return path.stat().st_size * (PACKED_SHARE if path.suffix in PACKED else 1)


@dataclass(frozen=True)
class Reading:
    """What of a file is read: the arguments of `blocks`."""

    target: Any = None
    weight: Any = None
    columns: Any = None
    hashed: int | None = None
    names: Any = None
    n_features: int | None = None
    rows: int | None = None
    delimiter: str | None = None
    format: str | None = None
    frames: Any = None
    limit: int | None = None

    @property
    def is_of_tables(self) -> bool:
        """Whether it speaks of columns by name."""
        named = isinstance(self.target, str) or isinstance(self.weight, str)
        others = self.columns, self.hashed, self.frames
        return named or any(value is not None for value in others)

    def check_served(self, what: str, served: tuple[str, ...]) -> None:
        """Refuse arguments that would be left unused."""
        for field in fields(self):
            value = getattr(self, field.name)
            unused = field.name not in (*served, "rows", "format")
            if unused and value is not None:
                raise ValueError(
                    f"blocks: {field.name}={value!r} does not serve {what}; what does "
                    f"is {', '.join((*served, 'rows'))}."
                )


@dataclass(frozen=True)
class Plan:
    """The columns of a table: which are features, of what kind, and which are not."""

    features: tuple[str, ...]
    kinds: tuple[str, ...]
    target: str | None
    weight: str | None
    hashed: int | None
    all_named: bool

    @classmethod
    def of(cls, schema: Any, reading: Reading, place: str) -> Plan:
        """For tables like the one of this schema."""
        others = [n for n in (reading.target, reading.weight) if n is not None]
        check_names(schema, others, reading.columns or (), place)
        features = reading.columns
        if features is None:
            features = [name for name in schema.names if name not in others]
        check_present([*features, *others], schema.names, place)
        if not features:
            raise ValueError(f"blocks: {place} has no columns left to be features.")
        kinds = tuple(_kind(schema.field(name), place) for name in features)
        return cls(
            tuple(features),
            kinds,
            reading.target,
            reading.weight,
            reading.hashed,
            reading.columns is not None,
        )

    @property
    def names(self) -> list[str]:
        """All columns that are read."""
        more = [name for name in (self.target, self.weight) if name is not None]
        return [*self.features, *more]

    def check(self, schema: Any, place: str) -> None:
        """Refuse a file whose columns are not those of the first."""
        names, read = set(schema.names), set(self.names)
        missing = [name for name in self.names if name not in names]
        new = [name for name in schema.names if name not in read]
        if missing or (new and not self.all_named):
            what = "lacks" if missing else "has the new column"
            raise ValueError(
                f"blocks: {place} {what} {listed(missing or new)}; all files must "
                "have the columns of the first (or name those to read in columns)."
            )
        for name, kind in zip(self.features, self.kinds, strict=True):
            now = _kind(schema.field(name), place)
            if now != kind:
                raise ValueError(
                    f"blocks: {place}: column {name!r} holds {now}, and held {kind} "
                    "before."
                )

    def item(self, table: Any, file: str, start: int) -> Item:
        """Rows of a table that begins behind row `start` of a file."""
        place = f"{file}, rows {start + 1} to {start + table.num_rows}"
        self._check_text(table, file, start)
        y = None if self.target is None else target(table, self.target, file, start)
        w = None if self.weight is None else numbers(table, self.weight)
        if self.hashed is not None:
            X: Any = hashed(table, self.features, self.kinds, self.hashed)
            return Item(X, y, w, place, start)
        X = np.column_stack([numbers(table, name) for name in self.features])
        return Item(X, y, w, place, start, self.features)

    def _check_text(self, table: Any, file: str, start: int) -> None:
        """Refuse text that is not to be hashed, naming the first cell."""
        if self.hashed is not None:
            return
        for name, kind in zip(self.features, self.kinds, strict=True):
            cells = table.column(name).to_pylist() if kind == TEXT else []
            at = next((i for i, c in enumerate(cells) if not _is_number(c)), None)
            if at is not None:
                raise ValueError(
                    f"blocks: {file}, row {start + at + 1}: column {name!r} holds "
                    f"{shown(cells[at])}, which is not a number. Hash text with "
                    "hashed=2**20, or leave the column out of columns."
                )


def plan_rows(plan: Any, reading: Reading) -> int:
    """Rows of a block: as asked for, or as many as fit."""
    return block_rows(reading.rows, 8 * len(plan.features))


def check_present(wanted: Iterable[str], names: list[str], place: str) -> None:
    """Refuse a table without some columns."""
    present = set(names)
    missing = [name for name in wanted if name not in present]
    if missing:
        hint = did_you_mean(missing[0], names) if len(missing) == 1 else ""
        raise ValueError(
            f"blocks: {place} has no column {listed(missing)}{hint}; its columns are "
            f"{listed(names)}."
        )


def check_names(schema: Any, others: list[Any], columns: Any, place: str) -> None:
    for name in others:
        if not isinstance(name, str):
            raise TypeError(
                f"blocks: target and weight of {place} must be names of columns; got "
                f"{type(name).__name__}."
            )
        if name in columns:
            raise ValueError(
                f"blocks: {name!r} is the target or the weight, and among columns; a "
                "model would learn from what it is to predict."
            )
    twice = [name for name, n in Counter(schema.names).items() if n > 1]
    if twice:
        raise ValueError(
            f"blocks: {place} has several columns called {listed(sorted(twice))}; "
            "names must differ."
        )


def hashed(
    table: Any, names: tuple[str, ...], kinds: tuple[str, ...], n_columns: int
) -> sparse.csr_matrix:
    """All columns as signed hashed features, (n, n_columns) CSR.

    A text t of column c is the feature "c=t"; different texts are hashed once a block.
    """
    from sklearn.feature_extraction import FeatureHasher  # heavy to import

    hasher = FeatureHasher(n_columns, input_type="pair")
    n, rows, indices, values = table.num_rows, [], [], []
    for name, kind in zip(names, kinds, strict=True):
        if kind == TEXT:
            codes, distinct = _coded(table.column(name))
            if not distinct:  # all are missing
                continue
            found = hasher.transform([(f"{name}={text}", 1.0)] for text in distinct)
            at = np.flatnonzero(codes >= 0)
            index, value = found.indices[codes[at]], found.data[codes[at]]
        else:
            column = numbers(table, name).astype(np.float64)
            at = np.flatnonzero(~np.isnan(column) & (column != 0))
            found = hasher.transform([[(name, 1.0)]])
            index = np.full(len(at), found.indices[0])
            value = found.data[0] * column[at]
        rows.append(at)
        indices.append(index)
        values.append(value)
    if not rows:
        return sparse.csr_matrix((n, n_columns))
    where = np.concatenate(rows), np.concatenate(indices)
    X = sparse.coo_matrix((np.concatenate(values), where), shape=(n, n_columns))
    return X.tocsr()


def _coded(column: Any) -> tuple[np.ndarray, list[str]]:
    """Places of a text column's cells among its different texts, −1 where missing."""
    import pyarrow as pa

    encoded = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    places = encoded.indices.cast(pa.int64()).fill_null(-1)
    codes = places.to_numpy(zero_copy_only=False)
    return codes, [str(text) for text in encoded.dictionary.to_pylist()]


def _kind(field: Any, place: str) -> str:
    import pyarrow as pa

    kind = field.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    t = pa.types
    if t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind):
        return NUMBER
    if t.is_null(kind) or t.is_decimal(kind):
        return NUMBER
    if t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind):
        return TEXT
    what = f"{field.type}, which is neither numbers nor text"
    if t.is_binary(kind) or t.is_large_binary(kind):
        what = "bytes that are not UTF-8 text"
    raise ValueError(
        f"blocks: {place}: column {field.name!r} holds {what}; leave it out of "
        "columns, or convert it first."
    )


def numbers(table: Any, name: str) -> np.ndarray:
    """A column as float32 where it is, else as float64; NaN where it is missing."""
    import pyarrow as pa

    column = table.column(name)
    kind = pa.float32() if column.type == pa.float32() else pa.float64()
    return column.cast(kind, safe=False).to_numpy()


def target(table: Any, name: str, file: str, start: int) -> np.ndarray:
    """The target: whole numbers, numbers or text; every row must have one."""
    import pyarrow as pa

    _kind(table.schema.field(name), file)  # no dates, no lists
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    missing = np.flatnonzero(column.is_null(nan_is_null=True).to_numpy())
    if len(missing):
        raise ValueError(
            f"blocks: {file}, row {start + missing[0] + 1}: the target {name!r} is "
            f"missing, as in {len(missing)} rows of this block."
        )
    return np.asarray(column.to_numpy())


def _is_number(cell: Any) -> bool:
    if cell is None:
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


def listed(names: list[str], most: int = 12) -> str:
    more = f", … ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(map(shown, names[:most])) + more


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
