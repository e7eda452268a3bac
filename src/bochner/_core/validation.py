"""Checks of parameters and arrays, with errors that name a way out."""

from __future__ import annotations

import difflib
import itertools
import sys
import warnings
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

FLOATS = (np.float64, np.float32)
"""The two computing types, the default first: anything else becomes float64."""

FLOAT_NAMES = [np.dtype(kind).name for kind in FLOATS]


def check_rows(X: Any, owner: str, name: str = "X") -> Any:
    """X as a finite two-dimensional float array or CSR matrix."""
    X = check_storage(X, name)
    return check_array(X, accept_sparse="csr", dtype=FLOATS, estimator=owner)


def check_unmasked(name: str, value: Any) -> None:
    """Refuse masked entries: conversion to a plain array would drop the mask."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(
            f"{name} is a masked array with {np.ma.count_masked(value)} masked entries "
            f"of {value.size}. Replace them first ({name}.filled(np.nan), then an "
            "imputer such as sklearn.impute.SimpleImputer), or leave out rows that "
            "have any."
        )


def check_storage(X: Any, name: str = "X") -> Any:
    """X, safe to convert and to be read by compiled code, which checks no index.

    Refuses masked entries, and sparse matrices whose indices point outside of them.
    Sparse formats other than CSR, CSC, BSR and COO become CSR. O(n + stored entries).
    """
    check_unmasked(name, X)
    if not sparse.issparse(X) or X.ndim != 2:
        return X
    if X.format not in ("csr", "csc", "bsr", "coo"):
        X = X.tocsr()
    fault = _coo_fault(X) if X.format == "coo" else _compressed_fault(X)
    if fault:
        raise ValueError(
            f"{name} is a damaged {X.format.upper()} matrix of shape {X.shape}: "
            f"{fault}. Build it again, as scipy.sparse.csr_matrix((data, (rows, "
            "columns)), shape=…), which checks its parts."
        )
    return X


def _compressed_fault(X: Any) -> str:
    """What is wrong with the parts of a CSR, CSC or BSR matrix, in words; or ""."""
    block = X.blocksize if X.format == "bsr" else (1, 1)
    n, m = (length // size for length, size in zip(X.shape, block, strict=True))
    n, m = (m, n) if X.format == "csc" else (n, m)
    indptr, stored = X.indptr, min(len(X.indices), len(X.data))
    if indptr.dtype.kind not in "iu" or indptr.shape != (n + 1,):
        return f"indptr must hold {n + 1} whole numbers"
    if indptr[0] != 0 or indptr[-1] > stored or (indptr[1:] < indptr[:-1]).any():
        return f"indptr must begin at 0, never fall, and end within {stored} entries"
    # SciPy sorts indices in place, which must not change indptr
    if _overlap(X.indices, indptr, X.data):
        return "indptr, indices and data must not share memory"
    return _index_fault("indices", X.indices, m)


def _coo_fault(X: Any) -> str:
    """The same of a COO matrix."""
    if not len(X.row) == len(X.col) == len(X.data):
        return "row, col and data must have one length"
    n, m = X.shape
    return _index_fault("row", X.row, n) or _index_fault("col", X.col, m)


def _index_fault(name: str, indices: np.ndarray, n: int) -> str:
    if indices.dtype.kind not in "iu" or indices.ndim != 1:
        return f"{name} must hold whole numbers"
    unsigned = indices.view(f"u{indices.itemsize}")  # negative ones are large
    if indices.size and unsigned.max() >= n:
        worst = indices[unsigned.argmax()]
        return f"{name} must be from 0 to {n - 1}, and one is {worst}"
    return ""


def _overlap(*arrays: np.ndarray) -> bool:
    return any(np.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2))


PACKAGE = str(Path(__file__).parents[1])


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def did_you_mean(name: Any, known: Iterable[Any], cutoff: float = 0.6) -> str:
    """The known name that a misspelt one is close to, in brackets; empty for none.

    `cutoff`: how alike the two have to be, from 0 to 1 (see `difflib`).
    """
    if not isinstance(name, str):
        return ""
    by_lower = {word.lower(): word for word in known if isinstance(word, str)}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=cutoff)
    return f" (did you mean {by_lower[close[0]]!r}?)" if close else ""


LARGEST_COUNT = 2**31 - 1
"""Of rows, features, passes: what more of them would take, no machine has."""


def check_count(owner: str, name: str, value: Any, hint: str = "") -> int:
    """A positive integer, not absurdly large."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(
            f"{owner}: {name} must be a positive integer, got {value!r}.{hint}"
        )
    if int(value) > LARGEST_COUNT:
        raise ValueError(
            f"{owner}: {name} must be at most {LARGEST_COUNT}, got {value!r}.{hint}"
        )
    return int(value)


def check_seed(owner: str, value: Any) -> None:
    """Refuse what other draws cannot be counted from."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise ValueError(
            f"{owner}: random_state must be a whole number from 0 on; got {value!r}."
        )


def check_flags(owner: Any, *names: str) -> None:
    """Refuse parameters of an estimator that are neither true nor false."""
    for name in names:
        value = getattr(owner, name)
        if not isinstance(value, bool | np.bool_):
            raise TypeError(
                f"{type(owner).__name__}: {name} must be True or False; got {value!r}."
            )


def check_positive(owner: str, name: str, value: Any, hint: str = "") -> float:
    """A positive finite number."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and 0 < value < np.inf:
        return float(value)
    error = ValueError if number or isinstance(value, str) else TypeError
    raise error(f"{owner}: {name} must be a positive number{hint}; got {value!r}.")


def check_positive_array(owner: str, name: str, value: Any, hint: str = "") -> Any:
    """A positive finite number, or a one-dimensional array of them."""
    if np.ndim(value) == 0:
        return check_positive(owner, name, value, hint)
    array = np.asarray(value)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise TypeError(
            f"{owner}: {name} must be a positive number{hint}; got an array of shape "
            f"{array.shape} and type {array.dtype}."
        )
    if not array.size or not (np.isfinite(array) & (array > 0)).all():
        raise ValueError(
            f"{owner}: every entry of {name} must be positive, and one there must be; "
            f"got {value!r}."
        )
    return array.astype(np.float64)


def check_choice(
    owner: str, name: str, value: Any, known: Mapping[str, Any], kind: type
) -> Any:
    """The part asked for: an object of its kind, or one made from its name."""
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and value in known:
        return known[value]()
    names = ", ".join(repr(key) for key in known)
    error = ValueError if isinstance(value, str) else TypeError
    raise error(
        f"{owner}: {name} must be one of {names}, or a {kind.__name__} object; "
        f"got {value!r}{did_you_mean(value, known)}."
    )


def check_option(owner: str, name: str, value: Any, options: tuple) -> None:
    """One of a few fixed values."""
    one = np.ndim(value) == 0
    if not any(value is option or (one and value == option) for option in options):
        raise ValueError(
            f"{owner}: {name} must be one of {', '.join(map(repr, options))}; "
            f"got {value!r}{did_you_mean(value, options)}."
        )


def read_only(array: np.ndarray) -> np.ndarray:
    """A read-only view: compiled kernels then see one array type, whatever came."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def check_weight(owner: str, weight: Any, X: Any) -> np.ndarray | None:
    """One finite number ≥ 0 per row, float64, not all zero; None stays None."""
    if weight is None:
        return None
    check_unmasked("sample_weight", weight)
    if hasattr(weight, "compute"):  # a Dask collection, and X is in memory
        weight = weight.compute()
    if isinstance(weight, Real):
        weight = np.full(X.shape[0], weight)
    weight = check_array(
        weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weight.shape != (X.shape[0],):
        raise ValueError(
            f"{owner}: sample_weight must have one entry for each of the {X.shape[0]} "
            f"rows; got shape {weight.shape}."
        )
    check_weight_range(owner, weight.min(), weight.max())
    return weight


def check_weight_range(owner: str, least: float, largest: float) -> None:
    """Refuse weights of which one is negative, or none positive."""
    if least < 0 or largest == 0:
        raise ValueError(
            f"{owner}: sample_weight must be ≥ 0 and not all zero; got values from "
            f"{least} to {largest}."
        )


def check_numeric_target(owner: str, y: Any) -> None:
    """Refuse a target of text, or of objects that are no finite numbers."""
    values = np.atleast_1d(np.asarray(y))
    if values.dtype.kind not in "OUS":
        return
    try:
        if np.isfinite(values.astype(np.float64)).all():  # None becomes NaN
            return
    except (TypeError, ValueError):
        pass
    places = enumerate(values.ravel().tolist())
    place, odd = next((i, value) for i, value in places if not _is_finite(value))
    row = place // (values.size // len(values))
    raise ValueError(
        f"{owner}: y must hold numbers; row {row} holds {odd!r}. "
        "For classes use a classifier (KernelClassifier, objective='classification'); "
        "leave rows without a target out."
    )


def _is_finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except (TypeError, ValueError):
        return False


def class_codes(
    owner: str, classes: np.ndarray, y: np.ndarray, counted: Any = True
) -> np.ndarray:
    """Places of labels among sorted classes; unknown ones are refused if counted."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    unknown = (classes[codes] != y) & counted
    if np.any(unknown):
        raise ValueError(
            f"{owner}: y holds the label {y[unknown].tolist()[0]!r}, which is not "
            f"among the classes {classes.tolist()}; name all classes at the first "
            "call of partial_fit."
        )
    return codes
