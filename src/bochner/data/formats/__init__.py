"""Files as blocks of rows: which format, which reader, which rows."""

from __future__ import annotations

import glob
import importlib.util
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..._core.validation import did_you_mean
from ..read_errors import check_plain, check_text, named
from ..stream import Blocks, Item
from ..tables import PACKED, FramePlan, Plan, Reading, kinds_of, plan_rows
from . import csv as csv_files
from . import parquet as parquet_files
from . import svmlight as svmlight_files
from .arrays import npy_items, npy_rows, npz_items

FORMATS = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "svmlight": (".svmlight", ".svm", ".libsvm"),
    "npy": (".npy",),
    "npz": (".npz",),
}
"""Formats and the endings of their files' names."""

TABLES = {
    "parquet": parquet_files,
    "csv": csv_files,
    "tsv": csv_files,
}
"""Readers of tables: `schema(path, reading)`, `tables(path, plan, reading)` and
`about_rows(path)`."""


OPTIONS = {
    "parquet": ("target", "weight", "columns", "hashed", "frames"),
    "csv": (
        *("target", "weight", "columns", "hashed", "frames", "names", "delimiter"),
        "limit",
    ),
    "tsv": ("target", "weight", "columns", "hashed", "frames", "names", "limit"),
    "svmlight": ("n_features", "limit"),
    "npy": ("target", "weight"),
    "npz": ("target", "weight", "limit"),
}
"""Arguments of `blocks` that serve each format."""


def is_files(source: Any) -> bool:
    """Whether a source is a path, a pattern, or a list of them."""
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(s, str | os.PathLike) for s in source)
    return isinstance(source, str | os.PathLike)


def file_blocks(source: Any, reading: Reading, format: str | None) -> Blocks:
    """Blocks of one or more files of the same format, in order."""
    paths = _paths(source)
    formats = {_format(path) for path in paths} if format is None else {format}
    if len(formats) > 1 or not formats <= FORMATS.keys():
        raise ValueError(
            f"blocks: format must be one of {', '.join(FORMATS)}, the same for all "
            f"files; got {', '.join(sorted(formats))}{did_you_mean(format, FORMATS)}."
        )
    kind = formats.pop()
    reading = replace(reading, format=kind)
    reading.check_served(kind, OPTIONS[kind])
    if kind in TABLES:
        _check_arrow(f"{kind} files")
        module = TABLES[kind]
        items = partial(_table_items, paths, module, reading)
        return _ahead(items, paths, module, kind)
    if kind == "svmlight":
        read = svmlight_files.Reader(paths, reading)
        return _ahead(read.items, paths, svmlight_files, kind)
    if kind == "npz":
        return Blocks(lambda: npz_items(paths, reading), ahead=True)
    n_rows = sum(map(npy_rows, paths))
    read_npy = partial(npy_items, paths, reading)
    return Blocks(read_npy, n_rows=lambda: n_rows, ahead=True)


def frame_blocks(frame: Any, reading: Reading) -> Blocks:
    """Blocks of a pandas or polars frame, its columns by name."""
    reading.check_served("frames", OPTIONS["parquet"])
    _check_arrow("columns of frames")
    import pyarrow as pa

    check_text(getattr(frame, "columns", ()) if hasattr(frame, "dtypes") else ())
    if isinstance(frame, pa.Table):
        table = frame
    elif hasattr(frame, "to_arrow"):
        table = frame.to_arrow()
    else:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    plan = _plan_of(table.schema, reading, "the frame")

    def read() -> Iterator[Item]:
        size = plan_rows(plan, reading)
        for start in range(0, table.num_rows, size):
            yield plan.item(table.slice(start, size), "the frame", start)

    return Blocks(read, n_rows=lambda: table.num_rows)


def _check_arrow(what: str) -> None:
    if importlib.util.find_spec("pyarrow") is None:
        raise ImportError(
            f"blocks: {what} are read with pyarrow, which is not installed; "
            "pip install 'bochner[dask]', or pip install pyarrow."
        )


def _ahead(
    read: Callable[[], Iterator[Item]], paths: list[Path], module: Any, kind: str
) -> Blocks:
    def n_rows() -> int:
        count = 0
        for path in paths:
            with named(path, kind):
                count += module.about_rows(path)
        return count

    return Blocks(read, n_rows=n_rows, ahead=True)


def _paths(source: Any) -> list[Path]:
    found: list[Path] = []
    for given in source if isinstance(source, list | tuple) else [source]:
        path = Path(given)
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if _ending(p) is not None)
        elif path.exists():
            inside = [path]
        else:
            inside = sorted(map(Path, glob.glob(str(given))))
        if not inside:
            what = "file of a known format in" if path.is_dir() else "file"
            raise FileNotFoundError(f"blocks: there is no {what} {str(given)!r}.")
        for each in inside:
            check_plain(each)
        found += inside
    return found


def _ending(path: Path) -> str | None:
    """The format that a file's name tells."""
    name = path.name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    for kind, endings in FORMATS.items():
        if name.endswith(endings):
            return kind
    return None


def frame_kinds(source: Any) -> dict[str, str | None]:
    """Columns of a table, and what they hold, by the first rows of the first file."""
    path = _paths(source)[0]
    _check_arrow("tables")
    kind = _format(path)
    reading, module = Reading(format=kind, frames=True), TABLES[kind]
    with named(path, kind):
        return kinds_of(module.schema(path, reading))


def format_of(source: Any) -> str:
    """The format of files, by the name of the first."""
    return _format(_paths(source)[0])


def _format(path: Path) -> str:
    kind = _ending(path)
    if kind is None:
        known = ", ".join(e for endings in FORMATS.values() for e in endings)
        raise ValueError(
            f"blocks: the name of {str(path)!r} does not tell its format (known "
            f"endings: {known}); say format='csv', 'svmlight', …"
        )
    return kind


def _plan_of(schema: Any, reading: Reading, place: str) -> Any:
    """What is read of tables like this one: numbers, or frames of what they hold."""
    kind = Plan if reading.frames is None else FramePlan
    return kind.of(schema, reading, place)


def _table_items(paths: list[Path], module: Any, reading: Reading) -> Iterator[Item]:
    plan: Any = None
    for path in paths:
        with named(path, str(reading.format)):
            schema = module.schema(path, reading)
            if plan is None:
                plan = _plan_of(schema, reading, path.name)
            else:
                plan.check(schema, path.name)
            start = 0
            for table in module.tables(path, plan, reading):
                yield plan.item(table, path.name, start)
                start += table.num_rows
