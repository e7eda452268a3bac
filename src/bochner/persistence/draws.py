"""Maps as the seeds they were drawn from: kilobytes in place of matrices.

A map is stored so if drawing it anew gives it back to the bit. Draws are the same
everywhere to rounding (see `_random`), so a reader compares some of its features with
those that the writer saw, and refuses a map that has come out otherwise.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .._random import Stream
from .._validation import FLOATS
from ..compression import Compression
from ..estimators.costs import projection_cost
from ..execution.memory import machine_bytes, readable
from ..feature_map import project
from ..maps import redrawn_features, redrawn_projection
from .archive import FileError
from .checks import expect
from .kinds import Kind

SEEN_ROWS = 2
SEEN_COLUMNS = 32
SEEN_TOLERANCE = 1e-6
"""Relative to the largest; another seed differs by as much as the features have."""


@dataclasses.dataclass(frozen=True)
class Drawable:
    """Where a model keeps what was drawn, and how it is drawn again."""

    attribute: str
    again: Callable[[Any], Any]
    features: Callable[[Any, np.ndarray], np.ndarray]


DRAWABLE = {
    "RandomFeatures": Drawable(
        "feature_map_", redrawn_features, lambda drawn, X: drawn(X)
    ),
    "RandomProjection": Drawable("linear_map_", redrawn_projection, project),
}


@dataclasses.dataclass(frozen=True)
class Drawn:
    """What is stored in place of an attribute.

    Parameters
    ----------
    attribute : str
    n_bytes : int
        What drawing takes.
    dtype : numpy type
    seen : array
        Some features of fixed rows.
    """

    attribute: str
    n_bytes: int
    dtype: np.dtype
    seen: np.ndarray


def drawn(name: str, model: Any) -> Drawn | None:
    """What stands in for a model's map; None where nothing but the map itself does."""
    how = DRAWABLE.get(name)
    held = getattr(model, how.attribute, None) if how else None
    if how is None or held is None:
        return None
    again = how.again(model)
    if _bits(again.astype(held.dtype)) != _bits(held):
        return None
    seen = _seen(how, model, again)
    return Drawn(how.attribute, drawing_bytes(model), held.dtype, seen)


def with_drawn(kind: Kind, name: str, stored: Any, told: Any) -> dict[str, Any]:
    """What was stored, with the map drawn anew."""
    expect(name in DRAWABLE, f"{name} is not drawn from seeds")
    how, model = DRAWABLE[name], kind.make(stored)
    needed = drawing_bytes(model)
    expect(needed == told["bytes"], "a map is larger than declared")
    if needed > machine_bytes():
        raise FileError(
            f"its map is stored as a seed, and drawing it takes {readable(needed)}, "
            "more memory than this machine has"
        )
    dtype = np.dtype(str(told["dtype"]))
    expect(dtype in FLOATS, f"maps do not compute in {dtype}")
    again = how.again(model)
    seen = _seen(how, model, again)
    largest = np.abs(told["seen"]).max(initial=0)
    if not np.allclose(seen, told["seen"], rtol=0, atol=SEEN_TOLERANCE * largest):
        raise FileError(
            "its map is stored as a seed, which draws another map with these versions "
            "of NumPy and SciPy; save the model with seeds=False where it was made"
        )
    return stored | {how.attribute: again.astype(dtype)}


def drawing_bytes(model: Any) -> int:
    """Float64 numbers of a map as it is drawn, before any are left out."""
    m, d = int(model.n_components), int(model.n_features_in_)
    projection = getattr(model, "projection_", model.projection)
    compression = getattr(model, "compression", None)
    if isinstance(compression, Compression):
        m = compression.n_drawn(m)
    if hasattr(model, "nonlinearity"):
        nonlinearity, _, _ = model._parts()
        m = nonlinearity.n_projections(m)
    numbers = projection_cost(projection, m, d, d)[1]
    size = getattr(projection, "block_size", 1)
    numbers = max(numbers, m * size if isinstance(size, int) else 0)
    return 8 * int(np.ceil(numbers))


def _seen(how: Drawable, model: Any, again: Any) -> np.ndarray:
    """Features of fixed rows, at columns over the whole width, float64."""
    rows = Stream(0).child("seen").normal(SEEN_ROWS, int(model.n_features_in_))
    F: Any = how.features(again, rows)
    F = F.toarray() if sparse.issparse(F) else F
    places = np.linspace(0, F.shape[1] - 1, min(SEEN_COLUMNS, F.shape[1]))
    return F[:, places.astype(np.intp)].astype(np.float64)


def _bits(value: Any) -> list[bytes]:
    return [hashlib.sha256(array.tobytes()).digest() for array in _arrays(value)]


def _arrays(value: Any) -> Iterator[np.ndarray]:
    """All arrays that a map is made of, in the order of its fields."""
    if isinstance(value, np.ndarray):
        yield value
    elif sparse.issparse(value):
        yield from (value.data, value.indices, value.indptr)
    elif isinstance(value, tuple):
        for part in value:
            yield from _arrays(part)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _arrays(getattr(value, field.name))
