"""Methods: named compositions of parts, one short function per published method.

Every method takes `n_components, *, gamma="scale", kernel=None, random_state=None` like
`RandomFeatures`, and returns an unfitted transformer. Further parameters of the
transformer are keyword arguments (``nonlinearity="cos"``). `maxout` and `maxout_codes`
have neither `gamma` nor `kernel`: they have no bandwidth and a kernel of their own. The
transformers of `compact` and `compact_circulant` are fitted with y.
"""

from .compressed import compressive, frank_wolfe, giga, jl
from .data_dependent import compact, compact_circulant, nystroem
from .fourier import block_diagonal, circulant, fastfood, orf, qmc, rff, sorf
from .maxout_units import maxout, maxout_codes

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
