"""Estimators: a feature map and a linear learner, tied together.

`training` makes rows of features from what the user gives; `search` (classes) and
`evidence` (numbers) choose the default map, `selection` the penalty; `solving` picks
the solver; `classifier`, `regressor` and `pca` are the scikit-learn faces, and
`planning` says what they will cost.
"""

from .classifier import KernelClassifier
from .estimate import estimate
from .pca import KernelPCA
from .regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelPCA", "KernelRegressor", "estimate"]
