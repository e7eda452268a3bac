"""Feature maps as scikit-learn transformers.

`feature_map` is the value that they all fit: a linear map, a nonlinearity and weights.
`random_features` draws it from a law, `nystroem` from landmarks, `compact` learns it.
"""

from .compact.compact_map import CompactMap
from .nystroem import Nystroem
from .random_features import RandomFeatures, RandomProjection

__all__ = ["CompactMap", "Nystroem", "RandomFeatures", "RandomProjection"]
