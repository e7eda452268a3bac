"""Maps as the seeds they were drawn from: kilobytes in place of matrices.

A map is stored so if drawing it anew gives it back to the bit. Draws are the same
everywhere to rounding (see `_random`), so a reader compares some of its features with
those that the writer saw, and refuses a map that has come out otherwise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .._core.random import Stream
from .._core.validation import FLOATS
from ..compression.jl import JL
from ..features.feature_map import project
from ..features.random_features import redrawn_features, redrawn_projection
from ..kernels.laws import Law, Normal
from ..nonlinearities.cosine import CosSin
from ..projections import PROJECTIONS
from ..projections.base import Projection
from .archive import Allowance, FileError
from .checks import expect
from .kinds import Kind

SEEN_ROWS = 2
SEEN_COLUMNS = 32
SEEN_TOLERANCE = 1e-6
"""Relative to the largest; another seed differs by as much as the features have."""

ROOM = 4
"""How far from the bytes declared a map may be: counts are refined from version to
version, and a file that was tampered with is off by far more."""


SMALL_BYTES = 1 << 23
"""What drawing takes however small the map is."""


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
    try:
        again = how.again(model)
    except Exception:  # parameters were changed since: the map itself is stored
        return None
    if not _equal(again.astype(held.dtype), held):
        return None
    seen = _seen(how, model, again)
    return Drawn(how.attribute, drawing_bytes(model), held.dtype, seen)


def with_drawn(
    kind: Kind, name: str, stored: Any, told: Any, allowance: Allowance
) -> dict[str, Any]:
    """What was stored, with the map drawn anew."""
    expect(name in DRAWABLE, f"{name} is not drawn from seeds")
    how, model = DRAWABLE[name], kind.make(stored)
    needed = drawing_bytes(model)
    expect(needed <= ROOM * told["bytes"], "a map is larger than declared")
    shape = (SEEN_ROWS, min(SEEN_COLUMNS, n_columns(model)))
    expect(np.shape(told["seen"]) == shape, "a map is of another size than declared")
    allowance.spend(peak_bytes(model), "drawing a map that is stored as a seed")
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


def n_columns(model: Any) -> int:
    """Columns of the map that is to be drawn."""
    kept = getattr(model, "compression_", None)
    n = int(model.n_components)
    if kept is not None:
        nonlinearity, _, _ = model._parts()
        n = len(kept.kept) * (2 if isinstance(nonlinearity, CosSin) else 1)
    onehot = getattr(getattr(model, "nonlinearity", None), "output", None) == "onehot"
    return n * model.nonlinearity.pool_size if onehot else n


def drawing_bytes(model: Any) -> int:
    """Float64 numbers of all that is drawn, before any of it is left out.

    Files declare it, so its meaning stays; `peak_bytes` is what drawing takes.
    """
    return _bytes(model, _drawn_numbers)


def peak_bytes(model: Any) -> int:
    """An upper bound on the memory of drawing a map and looking at its features."""
    rows = 8 * 4 * SEEN_ROWS * (n_columns(model) + int(model.n_features_in_))
    return SMALL_BYTES + rows + _bytes(model, _peak_numbers)


def _bytes(model: Any, count: Callable[[Projection, int, int, Law], int]) -> int:
    m, d = int(model.n_components), int(model.n_features_in_)
    if not hasattr(model, "nonlinearity"):
        spec = model._part("projection", PROJECTIONS, Projection)
        return 8 * count(spec, m, d, Normal(1.0))
    nonlinearity, _, compression = model._parts()
    n_drawn = m if compression is None else compression.n_drawn(m)
    n_phases = nonlinearity.n_projections(n_drawn)
    law = model.kernel_.spectral_law()
    numbers = count(model.projection_, n_phases, d, law)
    numbers += n_drawn * getattr(nonlinearity, "pool_size", 1)  # biases, or members
    if isinstance(compression, JL):
        numbers += count(compression.mixing, m, n_drawn, Normal(1.0))
    return 8 * numbers


def _drawn_numbers(projection: Projection, m: int, d: int, law: Law) -> int:
    """Numbers of a map from d to m that is drawn from a law."""
    return int(np.ceil(projection.cost(m, d, law).numbers))


def _peak_numbers(projection: Projection, m: int, d: int, law: Law) -> int:
    """Numbers in memory while that map is drawn."""
    return int(np.ceil(projection.drawing_numbers(m, d, law)))


def _seen(how: Drawable, model: Any, again: Any) -> np.ndarray:
    """Features of fixed rows, at columns over the whole width, float64."""
    rows = Stream(0).child("seen").normal(SEEN_ROWS, int(model.n_features_in_))
    F: Any = how.features(again, rows)
    F = F.toarray() if sparse.issparse(F) else F
    places = np.linspace(0, F.shape[1] - 1, min(SEEN_COLUMNS, F.shape[1]))
    return F[:, places.astype(np.intp)].astype(np.float64)


def _equal(a: Any, b: Any) -> bool:
    """Whether two maps are of the same parts, to the last bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if sparse.issparse(a):
        parts = ("shape", "data", "indices", "indptr")
        return all(_equal(getattr(a, part), getattr(b, part)) for part in parts)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    if dataclasses.is_dataclass(a):
        names = [field.name for field in dataclasses.fields(a)]
        return all(_equal(getattr(a, name), getattr(b, name)) for name in names)
    return bool(a == b)
