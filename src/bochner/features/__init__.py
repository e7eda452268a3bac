"""Feature maps as scikit-learn transformers.

Every transformer fits a feature map, which is a function of rows. `feature_map` defines
the one that random and learned features share: a linear map, a nonlinearity and
weights. `random_features` draws it from a spectral law and `compact` learns it;
`nystroem` builds its map from landmarks.
"""

from .compact.compact_map import CompactMap
from .nystroem import Nystroem
from .random_features import RandomFeatures, RandomProjection

__all__ = ["CompactMap", "Nystroem", "RandomFeatures", "RandomProjection"]
