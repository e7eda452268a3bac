"""Fingerprints of parameters: whether two objects ask for the same computation.

A fingerprint is a hash of contents, so that it is small, holds no reference to the
user's arrays, and notices their changes in place. Estimators are compared by their
parameters, since a fit clones them; only a `FrozenEstimator` counts with what it has
learned.
"""

from __future__ import annotations

import functools
import hashlib
import types
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator


def fingerprint(value: Any) -> str | None:
    """A hash of all that a parameter holds, None where it cannot be read.

    Equal fingerprints mean equal parameters; different ones may belong to parameters
    that differ in form alone, as 1 and `numpy.int64(1)`.
    """
    digest = hashlib.blake2b(digest_size=16)
    try:
        _add(digest, value)
    except Exception:  # an object that cannot be pickled: whatever its class raises
        return None
    return digest.hexdigest()


def matches(fitted: str | None, value: Any) -> bool:
    """Whether a fingerprint of an earlier fit is that of a parameter as it is now."""
    return fitted is not None and fitted == fingerprint(value)


def _add(digest: Any, value: Any) -> None:
    parts = _parts(value)
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    digest.update(f"({name}".encode())
    if parts is None:
        digest.update(str(joblib.hash(value)).encode())
    else:
        for part in parts:
            _add(digest, part)
    digest.update(b")")


def _parts(value: Any) -> list[Any] | None:
    """What a value is made of; None for a value that is hashed as a whole."""
    if isinstance(value, BaseEstimator) and not isinstance(value, FrozenEstimator):
        return _items(value.get_params(deep=False))
    if isinstance(value, dict):
        return _items(value)
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [value.shape, value.ravel().tolist()]
    if sparse.issparse(value):  # whose objects keep notes of their own use
        rows = value.tocsr()
        return [value.format, value.shape, rows.data, rows.indices, rows.indptr]
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        names = [value.__module__, value.__qualname__, value.__defaults__]
        return [*names, value.__kwdefaults__, value.__code__, cells]
    if isinstance(value, types.CodeType):
        return [value.co_code, value.co_consts, value.co_names, value.co_varnames]
    return None


def _items(pairs: dict[Any, Any]) -> list[Any]:
    """Keys with their values, in an order that does not depend on insertion."""
    return sorted(pairs.items(), key=lambda pair: repr(pair[0]))
