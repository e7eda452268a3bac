"""Nonlinearities: functions of projections, and the normalisation of the features.

| nonlinearity | features of projections z_1 … z_m | limit kernel |
|---|---|---|
| `CosSin` | [cos z, sin z]/√m, M = 2m | the kernel of the law |
| `Cos` | √(2/M) cos(z + b), M = m | the kernel of the law |
| `Maxout` | the largest of q projections, divided by √M | `kernels.Maxout(q)` |
| `ArgmaxCode` | index of the largest of q, or one-hot | `kernels.ArgmaxCode(q)` |
| `ReLU` | √(2/M) max(0, z) | `kernels.ArcCosine(1)` |
| `Sign` | √(2/M) [z > 0] | `kernels.ArcCosine(0)` |

A nonlinearity is a spec. Its `sample` draws the random parts (biases, members of a
shared pool) and returns a `SampledNonlinearity`.
"""

from .argmax_code import ArgmaxCode
from .base import Nonlinearity, ProjectedRows, SampledNonlinearity
from .cosine import Cos, CosSin
from .maxout import Maxout
from .rectified import ReLU, Sign

NONLINEARITIES: dict[str, type[Nonlinearity]] = {
    "cos_sin": CosSin,
    "cos": Cos,
    "maxout": Maxout,
    "argmax_code": ArgmaxCode,
    "relu": ReLU,
    "sign": Sign,
}
"""Nonlinearities by name."""

__all__ = [
    "NONLINEARITIES",
    "ArgmaxCode",
    "Cos",
    "CosSin",
    "Maxout",
    "Nonlinearity",
    "ProjectedRows",
    "ReLU",
    "SampledNonlinearity",
    "Sign",
]
