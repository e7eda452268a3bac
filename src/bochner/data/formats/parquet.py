"""Parquet files, read by pyarrow a few rows at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..tables import Plan, Reading, plan_rows


def schema(path: Path, reading: Reading) -> Any:
    """Names and types of the columns."""
    return _opened(path).schema_arrow


def about_rows(path: Path) -> int:
    """Rows there are."""
    return _opened(path).metadata.num_rows


def tables(path: Path, plan: Plan, reading: Reading) -> Iterator[Any]:
    """Tables of some rows each."""
    import pyarrow as pa

    file, done = _opened(path), 0
    batches = file.iter_batches(plan_rows(plan, reading), columns=plan.names)
    while True:
        try:
            batch = next(batches, None)
        except (OSError, pa.ArrowException) as error:
            raise ValueError(
                f"blocks: {path.name}, {_group(file, done)} cannot be read ({error}); "
                "write the file again, or leave those rows out."
            ) from error
        if batch is None:
            return
        done += batch.num_rows
        yield pa.Table.from_batches([batch])


def _opened(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        found = parquet.ParquetFile(pa.OSFile(os.fsencode(path)))
        if found.metadata.num_rows < 0:
            raise pa.ArrowInvalid(f"it declares {found.metadata.num_rows} rows")
        return found
    except (OSError, pa.ArrowException) as error:
        raise ValueError(
            f"blocks: {path.name} is not a Parquet file, or its end is missing "
            f"({error})."
        ) from error


def _group(file: Any, row: int) -> str:
    """The row group that holds a row, with its rows."""
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    ends = np.cumsum(sizes)
    i = min(int(np.searchsorted(ends, row, side="right")), len(sizes) - 1)
    return f"row group {i}, rows {ends[i] - sizes[i] + 1} to {ends[i]},"
