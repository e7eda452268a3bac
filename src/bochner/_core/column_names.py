"""Columns by name: later rows of a stream are put in the order of the fit.

scikit-learn keeps the names of a frame's columns as `feature_names_in_` and refuses a
later frame whose columns are in another order. Files have names too, but their blocks
are arrays. `NamedRows` carries the names of a block to the place where rows are
validated. A learner that was fitted on a stream of named tables takes later frames,
too, by name; one that was fitted on a frame keeps scikit-learn's rule.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

BY_NAME = "_columns_by_name"
"""Attribute of an estimator whose names come from a stream."""


@dataclass(frozen=True)
class NamedRows:
    """Rows of a stream, an array or a frame, and the names of their columns."""

    X: Any
    names: tuple[str, ...]


def named_rows(X: Any, names: tuple[str, ...] | None) -> Any:
    """Rows of a block with the names given or those of a frame; X if it has none."""
    names = _frame_names(X) if names is None else names
    return X if names is None else NamedRows(X, names)


def remember_names(owner: Any, X: Any) -> None:
    """Set the names of a fit, and whether they come from a stream.

    Names of frames are set by scikit-learn's `validate_data`.
    """
    vars(owner).pop(BY_NAME, None)
    if isinstance(X, NamedRows):
        owner.feature_names_in_ = np.array(X.names, dtype=object)
        setattr(owner, BY_NAME, True)


def in_order(owner: Any, X: Any) -> Any:
    """Rows with their columns in the order of the fit, where they go by name.

    Rows of a stream always do; frames do where the owner was fitted on a stream, and
    the names that they lack or have besides are then refused by scikit-learn.
    """
    known = getattr(owner, "feature_names_in_", None)
    wanted = None if known is None else tuple(known)
    if isinstance(X, NamedRows):
        if wanted is None:
            owner_name = type(owner).__name__
            warnings.warn(
                f"X has feature names, but {owner_name} was fitted without feature "
                "names",
                stacklevel=5,
            )
            return X
        _check_same(X.names, wanted)
        return NamedRows(_taken(X.X, X.names, wanted), wanted)
    names = _frame_names(X) if getattr(owner, BY_NAME, False) else None
    if names is None or wanted is None or set(names) != set(wanted):
        return X
    return _taken(X, names, wanted)


@contextlib.contextmanager
def text_refused(owner: Any, X: Any) -> Iterator[None]:
    """Where rows cannot be validated because a frame's column holds text, name it."""
    try:
        yield
    except ValueError as error:
        name = _text_column(X)
        if name is None:
            raise
        owner_name = type(owner).__name__
        raise ValueError(
            f"{owner_name}: column {name!r} of X holds text or other values that are "
            "not numbers. Encode them first: make_pipeline(preprocessing.for_table(X), "
            f"{owner_name}(…)), which takes blocks(…, frames=True) and Dask frames, "
            "too."
        ) from error


def _text_column(X: Any) -> str | None:
    """The first column of a frame that cannot be read as numbers."""
    for name in _frame_names(X) or ():
        try:
            np.asarray(X[name], dtype=np.float64)
        except (TypeError, ValueError):
            return name
    return None


def _frame_names(X: Any) -> tuple[str, ...] | None:
    """Names of the columns of a frame in memory, where all are text."""
    columns = getattr(X, "columns", None)
    if columns is None or hasattr(X, "dask"):
        return None
    names = tuple(columns)
    return names if names and all(isinstance(n, str) for n in names) else None


def _taken(X: Any, names: tuple[str, ...], wanted: tuple[str, ...]) -> Any:
    """The columns of X, which have these names, in the order wanted."""
    if names == wanted:
        return X
    if hasattr(X, "columns"):
        return X[list(wanted)]
    places = {name: place for place, name in enumerate(names)}
    return X[:, [places[name] for name in wanted]]


def _check_same(names: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    """Refuse columns that are not those of the fit."""
    missing = [name for name in wanted if name not in names]
    unseen = [name for name in names if name not in wanted]
    if not missing and not unseen:
        return
    words = "The feature names should match those that were passed during fit."
    if unseen:
        words += f" Feature names unseen at fit time: {_listed(unseen)}."
    if missing:
        words += f" Feature names seen at fit time, yet now missing: {_listed(missing)}"
        words += "."
    if not missing:
        words += " Name the columns to read, blocks(…, columns=[…]), or the target."
    raise ValueError(words)


def _listed(names: list[str], most: int = 12) -> str:
    more = f", … ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
