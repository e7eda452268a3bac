"""CSV files, read by pyarrow a few rows at a time, errors with the row they are in."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..tables import Plan, Reading, arrow_type, kind, plan_rows, text_bytes

READ_BYTES = 1 << 22
"""Bytes parsed at a time; types are told by the first."""

SEEN_BYTES = 1 << 20
"""Bytes whose lines tell how many there are in all."""


def schema(path: Path, reading: Reading) -> Any:
    """Names of the columns, and types as the first megabytes tell them."""
    import pyarrow as pa

    try:
        with _opened(path, reading, None) as file:
            found = file.schema
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    except pa.ArrowInvalid as error:
        raise _located(path, reading, None, 0, error) from error
    if reading.frames is not None:
        return _as_frames(found, reading.frames)
    nothing = pa.float64() if reading.hashed is None else pa.string()
    return pa.schema([pa.field(f.name, _widened(f.type, nothing)) for f in found])


def _as_frames(found: Any, frames: Any) -> Any:
    """Columns of the kinds that were asked for, or that the first rows tell."""
    import pyarrow as pa

    asked = frames if isinstance(frames, Mapping) else {}
    wanted = {f.name: asked.get(f.name) or kind(f) for f in found}
    return pa.schema(
        [pa.field(f.name, arrow_type(wanted[f.name], f.type)) for f in found]
    )


def about_rows(path: Path) -> int:
    """Lines there are, about: from the length of the first."""
    with _stream(path) as file:
        seen = file.read(SEEN_BYTES)
    size = max(text_bytes(path), len(seen))
    return round(seen.count(b"\n") * size / max(len(seen), 1))


def tables(path: Path, plan: Plan, reading: Reading) -> Iterator[Any]:
    """Tables of some rows each, numbers as float64."""
    import pyarrow as pa

    found = schema(path, reading)
    types = {name: found.field(name).type for name in plan.names}
    whole = plan.target is not None and _is_whole(path, reading, plan.target)
    size = plan_rows(plan, reading)
    held: list[Any] = []
    for batch in _batches(path, reading, types):
        held.append(batch)
        while sum(b.num_rows for b in held) >= size:
            table = pa.Table.from_batches(held)
            held = table.slice(size).to_batches()
            yield _with_target(table.slice(0, size), plan, whole)
    if sum(b.num_rows for b in held):
        yield _with_target(pa.Table.from_batches(held), plan, whole)


def _batches(path: Path, reading: Reading, types: dict[str, Any]) -> Iterator[Any]:
    """Rows as they are parsed; opening parses the first."""
    import pyarrow as pa

    done = 0
    try:
        with _opened(path, reading, types) as file:
            for batch in file:
                yield batch
                done += batch.num_rows
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    except pa.ArrowInvalid as error:
        raise _located(path, reading, types, done, error) from error


def _not_utf8(path: Path) -> ValueError:
    return ValueError(f"blocks: {path.name} is not UTF-8 text; save it as such.")


def _with_target(table: Any, plan: Plan, whole: bool) -> Any:
    """Labels that are whole numbers are given as such."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not whole:
        return table
    at = table.column_names.index(plan.target)
    column = table.column(at)
    rounded = pc.equal(column, pc.round(column))
    if not pc.all(rounded, min_count=0).as_py():
        return table
    return table.set_column(at, plan.target, column.cast(pa.int64()))


def _is_whole(path: Path, reading: Reading, name: str) -> bool:
    import pyarrow as pa

    with _opened(path, reading, None) as file:
        return pa.types.is_integer(file.schema.field(name).type)


def _widened(kind: Any, nothing: Any) -> Any:
    """Any number may turn out to have a fraction; text stays text."""
    import pyarrow as pa

    if pa.types.is_null(kind):
        return nothing
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return pa.float64()
    return kind


def _stream(path: Path) -> Any:
    import pyarrow as pa

    return pa.input_stream(str(path), compression="detect")


def _has_text(reading: Reading) -> bool:
    return reading.hashed is not None or reading.frames is not None


def _delimiter(path: Path, reading: Reading) -> str:
    """As asked for; else as the name says, or the first line."""
    if reading.delimiter or reading.format == "tsv":
        return reading.delimiter or "\t"
    with _stream(path) as file:
        line = file.read(SEEN_BYTES).partition(b"\n")[0]
    # a line without commas that has others is not one column
    others = max((b";", b"\t", b"|"), key=line.count)
    return others.decode() if b"," not in line and others in line else ","


def _opened(path: Path, reading: Reading, types: dict[str, Any] | None) -> Any:
    from pyarrow import csv as arrow_csv

    names = None if reading.names is None else list(reading.names)
    return arrow_csv.open_csv(
        _stream(path),
        arrow_csv.ReadOptions(block_size=READ_BYTES, column_names=names),
        arrow_csv.ParseOptions(
            delimiter=_delimiter(path, reading),
            newlines_in_values=_has_text(reading),
        ),
        arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=None if types is None else list(types),
            strings_can_be_null=True,
        ),
    )


def _located(
    path: Path, reading: Reading, types: Any, before: int, error: Exception
) -> ValueError:
    """The error with the row and the cell it is about, found by reading it again."""
    import pyarrow as pa

    with io.TextIOWrapper(
        _stream(path), encoding="utf-8-sig", errors="replace", newline=""
    ) as text:
        table = csv.reader(text, delimiter=_delimiter(path, reading))
        lines = (row for row in table if row)
        names = reading.names or next(lines, [])
        for number, row in enumerate(lines, start=1):
            if len(row) != len(names):
                return ValueError(
                    f"blocks: {path.name}, row {number}: {len(row)} cells instead of "
                    f"the {len(names)} of the header ({', '.join(row)[:60]!r})."
                )
            if number <= before or types is None:
                continue
            for name, cell in zip(names, row, strict=True):
                number_wanted = types.get(name) == pa.float64()
                if number_wanted and not _reads(cell):
                    return ValueError(
                        f"blocks: {path.name}, row {number}: column {name!r} holds "
                        f"{cell!r}, which is not a number."
                    )
    return ValueError(f"blocks: {path.name} cannot be read after row {before}: {error}")


def _reads(cell: str) -> bool:
    """Whether a cell is a number, or missing."""
    from pyarrow import csv as arrow_csv

    if cell.strip() in arrow_csv.ConvertOptions().null_values:
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # which Python takes and files do not
