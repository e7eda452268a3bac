"""CSV files, read by pyarrow a few rows at a time, errors with the row they are in."""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..read_errors import ReadError, check_text, shown, too_long
from ..stream import BLOCK_BYTES
from ..tables import Plan, Reading, arrow_type, kind, plan_rows, text_bytes

READ_BYTES = 1 << 22
"""Bytes parsed at a time, and of the longest line; types are told by the first."""

LARGEST_BYTES = (1 << 31) - 1
"""The most that pyarrow parses at a time."""

COLUMNS = 100_000
"""The most columns of a table of text: pyarrow takes 10 KiB for each."""

PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""Compressions by the endings of files' names."""

STRADDLING = "straddling object"
"""What pyarrow says of a row that is longer than what it parses at a time."""

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
    if plan.target is not None and whole:
        types[plan.target] = pa.string()  # numbers of 64 bits are exact as text alone
    size, done = plan_rows(plan, reading), 0
    held: list[Any] = []
    for batch in _batches(path, reading, types):
        held.append(batch)
        while n := _enough(held, size, reading):
            table = pa.Table.from_batches(held)
            held = table.slice(n).to_batches()
            yield _with_target(table.slice(0, n), plan.target, whole, path, done)
            done += n
    if sum(b.num_rows for b in held):
        yield _with_target(pa.Table.from_batches(held), plan.target, whole, path, done)


def _enough(held: list[Any], size: int, reading: Reading) -> int:
    """Rows of a block, once there are as many; fewer where their text is long."""
    n = sum(batch.num_rows for batch in held)
    if n >= size:
        return size
    held_bytes = sum(batch.nbytes for batch in held)
    is_long = reading.rows is None and held_bytes > 2 * BLOCK_BYTES
    return n if is_long else 0


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


def _with_target(table: Any, name: Any, whole: bool, path: Path, before: int) -> Any:
    """Targets that were whole numbers in the first rows, as int64 while they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not whole:
        return table
    at = table.column_names.index(name)
    cells = pc.utf8_trim_whitespace(table.column(at))
    for wanted in (pa.int64(), pa.float64()):
        try:
            return table.set_column(at, name, cells.cast(wanted))
        except pa.ArrowInvalid:
            continue
    bad = (i for i, cell in enumerate(cells.to_pylist()) if not _reads(cell or ""))
    row = next(bad, 0)
    raise _not_a_number(path, before + row + 1, name, str(cells[row]))


def _is_whole(path: Path, reading: Reading, name: str) -> bool:
    import pyarrow as pa

    with _opened(path, reading, None) as file:
        return pa.types.is_integer(file.schema.field(name).type)


def _not_a_number(path: Path, row: int, name: str, cell: str) -> ValueError:
    return ValueError(
        f"blocks: {path.name}, row {row}: column {name!r} holds {shown(cell)}, which "
        "is not a number."
    )


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

    packed = PACKED.get(path.suffix.lower())
    # by its bytes, since not all names of files are text
    return pa.input_stream(pa.OSFile(os.fsencode(path)), compression=packed)


def _text(path: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        _stream(path), encoding="utf-8-sig", errors="replace", newline=""
    )


def _line_bytes(reading: Reading) -> int:
    """Bytes of the longest line."""
    return min(reading.limit or READ_BYTES, LARGEST_BYTES)


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


def _check_width(path: Path, reading: Reading) -> None:
    """Refuse a first row of more columns than there is memory for."""
    with _text(path) as text, contextlib.suppress(csv.Error):
        lines = _Lines(text, _line_bytes(reading))
        rows = csv.reader(lines, delimiter=_delimiter(path, reading))
        n = len(next(filter(None, rows), []))
        if n > COLUMNS:
            raise ReadError(
                f" has {n:,} columns, and {COLUMNS:,} are the most of a table of text; "
                "save wider rows as .npy, .npz or svmlight.",
                path,
            )


def _opened(path: Path, reading: Reading, types: dict[str, Any] | None) -> Any:
    from pyarrow import csv as arrow_csv

    names = None if reading.names is None else list(reading.names)
    check_text(names or ())
    if types is None:
        _check_width(path, reading)
    return arrow_csv.open_csv(
        _stream(path),
        arrow_csv.ReadOptions(block_size=_line_bytes(reading), column_names=names),
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
    with _text(path) as text:
        lines = _Lines(text, _line_bytes(reading))
        try:
            found = _bad_row(lines, path, reading, types, before)
        except csv.Error:  # a cell that is too long for Python's reader
            found = None
    if (found is None and lines.n_long) or STRADDLING in str(error):
        where = f"line {lines.n_long}" if lines.n_long else f"a row behind row {before}"
        return too_long(path, where, _line_bytes(reading))
    if found is not None:
        return found
    return ValueError(f"blocks: {path.name} cannot be read after row {before}: {error}")


class _Lines:
    """Lines of a text, up to the first that is too long, which is not read whole."""

    def __init__(self, text: Any, limit: int) -> None:
        self._text, self._limit = text, limit
        self._n, self.n_long = 0, 0

    def __iter__(self) -> Iterator[str]:
        while line := self._text.readline(self._limit + 1):
            self._n += 1
            if len(line) > self._limit:
                self.n_long = self._n
                return
            yield line


def _bad_row(
    text: Iterable[str], path: Path, reading: Reading, types: Any, before: int
) -> ValueError | None:
    """The first row of another length, or behind those read with a cell of words."""
    import pyarrow as pa

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
            if types.get(name) == pa.float64() and not _reads(cell):
                return _not_a_number(path, number, name, cell)
    return None


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
