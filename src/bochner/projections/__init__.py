"""Projections: distributions over the linear map that turns data into phases.

| projection | needs of the law | time per row | memory | prefix |
|---|---|---|---|---|
| `Dense` | frequencies | m d | m d | yes |

A projection is a spec: `sample(law, n_out, n_in, rng)` draws an immutable linear map.
"""

from .algebra import Compose, Matrix, Scale
from .base import LinearMap, Projection
from .dense import Dense

PROJECTIONS: dict[str, type[Projection]] = {
    # Dense takes every law and every shape, so it is also the automatic choice.
    "auto": Dense,
    "dense": Dense,
}
"""Projections by name."""

__all__ = [
    "PROJECTIONS",
    "Compose",
    "Dense",
    "LinearMap",
    "Matrix",
    "Projection",
    "Scale",
]
