"""Memory that the parameters of a loaded learner would ask for in a later fit.

After `fit`, `partial_fit` starts from the beginning and fits the map that the
parameters describe. A forged file can describe a map of any size in a few bytes, so
`load` charges a map that is larger than the one in the file to its `memory=`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..features.nystroem import Nystroem
from ..kernels.laws import Normal
from ..learners.preparation import FIXED_BYTES
from ..projections.base import DRAWING
from .archive import Allowance

LARGER = 2
"""How many times the features of the fitted map the parameters may ask for without
being charged: a compression may keep fewer features than its parameter allows."""

PURPOSE = "the map that a later fit would draw by the parameters of the file"


def charge_later_fit(model: Any, allowance: Allowance) -> None:
    """Refuse a learner whose next fit would take more memory than is allowed.

    Nyström maps are not charged: their landmarks are at most the rows given to `fit`.

    Parameters
    ----------
    model : object
        A decoded object; anything but a learner with a map is accepted.
    allowance : Allowance
        What is left of the memory that `load` may take.
    """
    features = getattr(model, "features", None)
    if not isinstance(features, BaseEstimator):
        return
    n_held = _n_features(model)
    inner = features.get_params(deep=True).values()
    for part in [features, *inner]:
        size: Any = getattr(part, "n_components", None)
        is_map = isinstance(part, BaseEstimator) and isinstance(size, int | np.integer)
        if not is_map or isinstance(part, Nystroem):
            continue
        is_larger = size > LARGER * n_held
        if is_larger or getattr(part, "compression", None) is not None:
            allowance.spend(_drawing_bytes(part, model), PURPOSE)
        if is_larger:
            allowance.spend(FIXED_BYTES * int(size) ** 2, PURPOSE)


def _n_features(model: Any) -> int:
    """Features of the fitted map, as many as the coefficients of a target."""
    coefficients: Any = getattr(model, "coef_", getattr(model, "components_", None))
    return np.shape(coefficients)[-1] if np.ndim(coefficients) else 0


def _drawing_bytes(part: Any, model: Any) -> int:
    """Memory for drawing the map of an unfitted estimator, as it describes itself."""
    n, d = int(part.n_components), int(getattr(model, "n_features_in_", 1))
    if not hasattr(part, "_parts"):
        return 8 * DRAWING * n * d
    try:
        nonlinearity, projection, compression = part._parts()
    except (TypeError, ValueError):  # `fit` raises the same error before it draws
        return 0
    n_drawn = n if compression is None else compression.n_drawn(n)
    n_phases = nonlinearity.n_projections(n_drawn)
    numbers = projection.drawing_numbers(n_phases, d, Normal(1.0))
    members = n_drawn * getattr(nonlinearity, "pool_size", 1)
    return 8 * int(np.ceil(numbers + members))
