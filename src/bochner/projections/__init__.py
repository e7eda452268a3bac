"""Projections: distributions over the linear maps that turn data into phases.

| projection | required law | time per row | memory | error relative to `Dense` |
|---|---|---|---|---|
| `Dense` | any | m d | m d | 1 |
| `Orthogonal` | isotropic | m d | m d | 0.5 to 0.85 |
| `SORF` | mixture of normals | m log d | m + d | 0.5 to 0.85 |
| `Fastfood` | mixture of normals | m log d | m + d | 0.95 to 1.3 |
| `QMC` | any | m d | m d | 0.6 (d ≤ 16) to 1 |
| `BlockDiagonal` | any (spherical: d ≤ 3) | m b | m b | biased by 1/b |
| `Circulant` | product, or mixture of normals | m log d | m + d | 1 to 1.35 |
| `Compressive` | isotropic | p d + second stage | p d + second stage | biased by 1/p |
| `Sparse`, `Orthoprojector` | linear only | m √d, m d | m √d, m d | |

A projection is a spec. `sample(law, n_out, n_in, rng)` draws an immutable linear map,
and `sample_isometry(n_out, n_in, rng)` draws a map that preserves lengths on average.
"auto" chooses a projection from the data, the law and measured costs.
"""

from .algebra import Compose, Matrix, Pad, Permute, Rows, Scale, Stack
from .auto import Auto
from .base import LinearMap, Projection
from .block_diagonal import BlockDiagonal
from .circulant import Circulant
from .compressive import SECOND_STAGES, Compressive
from .dense import Dense
from .hadamard import SORF, Fastfood, fwht
from .orthogonal import Orthogonal, Orthoprojector
from .qmc import QMC
from .sparse import Sparse

PROJECTIONS: dict[str, type[Projection]] = {
    **SECOND_STAGES,
    "compressive": Compressive,
    "sparse": Sparse,
    "orthoprojector": Orthoprojector,
}
"""Projections by name."""

__all__ = [
    "PROJECTIONS",
    "QMC",
    "SORF",
    "Auto",
    "BlockDiagonal",
    "Circulant",
    "Compose",
    "Compressive",
    "Dense",
    "Fastfood",
    "LinearMap",
    "Matrix",
    "Orthogonal",
    "Orthoprojector",
    "Pad",
    "Permute",
    "Projection",
    "Rows",
    "Scale",
    "Sparse",
    "Stack",
    "fwht",
]
