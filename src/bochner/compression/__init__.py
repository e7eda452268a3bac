"""Compression: draw many features, keep few.

| compression | keeps | rows read | features cost | error against J random features |
|---|---|---|---|---|
| `GIGA` | J weighted candidates | a sample | J columns | a fraction |
| `FrankWolfe` | J weighted candidates | a sample | J columns | above that of `GIGA` |
| `JL` | J mixtures of J₊ candidates | none | J₊ columns and mixing | above |

A compression is a spec. Its method `compress` turns the feature map of all J₊
candidates into a map of J features.
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
