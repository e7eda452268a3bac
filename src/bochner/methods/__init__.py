"""Methods: named compositions of parts, one short function per published method.

All take `n_components, *, gamma="scale", kernel=None, random_state=None` as
`RandomFeatures` does (maxout has no bandwidth and a kernel of its own), further parts
of it by keyword (``nonlinearity="cos"``), and return an unfitted transformer. Those of
`compact` are fitted with y.
"""

from .compressed import compact, compact_circulant, compressive, frank_wolfe, giga, jl
from .uncompressed import (
    block_diagonal,
    circulant,
    fastfood,
    maxout,
    maxout_codes,
    nystroem,
    orf,
    qmc,
    rff,
    sorf,
)

METHODS = {
    method.__name__: method
    for method in (
        rff,
        orf,
        sorf,
        fastfood,
        qmc,
        block_diagonal,
        circulant,
        compressive,
        giga,
        frank_wolfe,
        jl,
        maxout,
        maxout_codes,
        compact,
        compact_circulant,
        nystroem,
    )
}
"""Every method by its name."""

__all__ = [
    "METHODS",
    "block_diagonal",
    "circulant",
    "compact",
    "compact_circulant",
    "compressive",
    "fastfood",
    "frank_wolfe",
    "giga",
    "jl",
    "maxout",
    "maxout_codes",
    "nystroem",
    "orf",
    "qmc",
    "rff",
    "sorf",
]
