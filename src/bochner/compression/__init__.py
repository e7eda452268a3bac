"""Compression: draw many features, keep few.

| compression | keeps | reads data | features cost | kernel error at J of J₊ |
|---|---|---|---|---|
| `GIGA` | J candidates, weighted | some rows | J columns | a fraction of J's |
| `FrankWolfe` | J candidates, weighted | some rows | J columns | above GIGA's |
| `JL` | J mixtures of candidates | none | J₊ columns, mixing | above J's |

A compression is a spec; `compress` turns the feature map of all candidates into a
smaller one.
"""

from .base import Compression, Selection
from .frank_wolfe import FrankWolfe
from .giga import GIGA
from .jl import JL

COMPRESSIONS: dict[str, type[Compression]] = {
    "giga": GIGA,
    "frank_wolfe": FrankWolfe,
    "jl": JL,
}
"""Compressions by name."""

__all__ = [
    "COMPRESSIONS",
    "GIGA",
    "JL",
    "Compression",
    "FrankWolfe",
    "Selection",
]
