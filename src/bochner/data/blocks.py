"""`blocks`: rows from whatever holds them, as a stream of blocks."""

from __future__ import annotations

from typing import Any

from .._core.remote_rows import is_lazy
from .._core.validation import check_count
from .formats import file_blocks, frame_blocks, is_files
from .stream import Blocks, cut
from .tables import Reading


def blocks(
    source: Any,
    *,
    target: Any = None,
    rows: int | None = None,
    columns: Any = None,
    weight: Any = None,
    hashed: int | None = None,
    names: Any = None,
    n_features: int | None = None,
    delimiter: str | None = None,
    format: str | None = None,
    frames: Any = None,
    limit: int | None = None,
) -> Blocks:
    """Blocks of rows for `fit`, from arrays, files, iterables or a function.

    Files are read block by block, the next one while a learner works on the last:
    Parquet and CSV (with pyarrow, the extra "dask"; compressed CSV too), svmlight,
    `.npy` and `.npz`. A sparse matrix in an `.npz` file is in memory as a whole.

    Parameters
    ----------
    source : array, CSR matrix, frame, path, iterable or callable
        Rows; or a file, a folder of files, a pattern such as "day-*.parquet" or a list
        of files; or blocks, each X, (X, y) or (X, y, sample_weight); or a function that
        returns a fresh iterator over such blocks.
    target : name or array, optional
        The column of a table or entry of an `.npz` file (by default "y") that is the
        target, or y beside an array or `.npy` files (there also a path). svmlight files
        have their own.
    rows : int, optional
        Rows of a block cut from an array or file: by default 65,536, or what fits 128
        MiB.
    columns : list of names, optional
        Columns of a table that are features: by default all others.
    weight : name or array, optional
        Sample weights, as `target`.
    hashed : int, optional
        Hash all columns of a table to so many sparse ones, by scikit-learn's
        `FeatureHasher`: a text t in column c is the feature "c=t", a number its own
        value (make codes of categories text first), what is missing is zero. Without it
        text is refused.
    names : list of names, optional
        Columns of a CSV file that has no header.
    n_features : int, optional
        Columns of svmlight files, whose indices then begin at 1: spares a pass that
        finds out.
    delimiter : str, optional
        Between the cells of a CSV file: by default a comma.
    format : name, optional
        "parquet", "csv", "tsv", "svmlight", "npy" or "npz", where a file's name does
        not tell.
    frames : True, or dict of names and kinds, optional
        Blocks are pandas frames of the columns of a table as they come, or of those
        named, each read as "numbers", "categories" or "dates": for Pipelines that begin
        with a `ColumnTransformer` (`preprocessing.for_table`).
    limit : int, optional
        Bytes that a file may make one piece of memory: by default 4 MiB for a line of
        CSV or svmlight, and 256 MiB, or 64 times the file, for what is read whole of an
        `.npz` file. Raise it for files that you trust.

    Returns
    -------
    Blocks

    Examples
    --------
    >>> import numpy as np
    >>> import bochner
    >>> def read():
    ...     for seed in range(3):
    ...         X = np.random.default_rng(seed).normal(size=(100, 4))
    ...         yield X, X.sum(axis=1)
    >>> model = bochner.KernelRegressor(16, random_state=0).fit(bochner.blocks(read))
    """
    if isinstance(source, Blocks):
        return source
    _check(source, rows=rows, hashed=hashed, n_features=n_features, limit=limit)
    reading = Reading(
        target,
        weight,
        columns,
        hashed,
        names,
        n_features,
        rows,
        _checked_delimiter(delimiter),
        format,
        frames or None,
        limit,
    )
    if is_files(source):
        return file_blocks(source, reading, format)
    if format is not None:
        raise ValueError(f"blocks: format={format!r} is for files; leave it out.")
    if reading.is_of_tables and hasattr(source, "columns"):
        return frame_blocks(source, reading)
    reading.check_served("blocks as they are", ("target", "weight"))
    if hasattr(source, "shape"):
        return Blocks(
            lambda: cut(source, target, weight, rows), n_rows=lambda: source.shape[0]
        )
    if target is not None or weight is not None:
        raise ValueError(
            "blocks: target and weight belong to an array of rows or to files; blocks "
            "of an iterable carry theirs, as (X, y) or (X, y, sample_weight)."
        )
    if callable(source):
        return Blocks(lambda: iter(source()))
    if not hasattr(source, "__iter__") or isinstance(source, bytes):
        raise TypeError(
            "blocks: source must be an array, a path, an iterable of blocks, or a "
            f"function that returns an iterator of blocks; got {source!r}."
        )
    return Blocks(lambda: iter(source), once=iter(source) is source)


def _checked_delimiter(delimiter: Any) -> str | None:
    if delimiter is None:
        return None
    one = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    if not one or delimiter in '"\r\n':
        raise ValueError(
            "blocks: delimiter must be one ASCII character, and neither a quote nor "
            f"the end of a line; got {delimiter!r}."
        )
    return delimiter


def _check(source: Any, **counts: Any) -> None:
    """Refuse what cannot be read here, and counts that are none."""
    for name, count in counts.items():
        if count is not None:
            check_count("blocks", name, count)
    if hasattr(source, "collect"):
        raise TypeError(
            f"blocks: {type(source).__name__} is lazy; give source.collect(), or the "
            "files it reads."
        )
    if is_lazy(source):
        raise TypeError(
            "blocks: this is a Dask collection; give it to fit and predict as it is."
        )
