"""What maps cost: operations a row, operations to fit, numbers they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ..compact import CompactMap
from ..compression import JL
from ..maps import RandomFeatures, RandomProjection
from ..nystroem import Nystroem
from ..projections import PROJECTIONS, Projection

COSINE_FLOPS = 12
"""Operations of a cosine: reduction and polynomial."""

KERNEL_FLOPS = 20
"""Operations of a kernel value, its inner product aside."""

LEARNING_PASSES = 60
"""Passes of a learned map over its rows, each with a gradient, about."""


@dataclass(frozen=True)
class MapCost:
    """Operations and numbers of a map from d to `n_columns` features."""

    n_columns: int
    a_row: float  # operations to make a row of features
    to_fit: float
    numbers: float  # that are kept
    while_fitting: float  # numbers held meanwhile, beside those


def map_cost(features: Any, n: int, d: int, filled: float) -> MapCost:
    """The cost of a transformer on n rows of d columns, `filled` of them not zero."""
    if isinstance(features, FrozenEstimator):
        return map_cost(features.estimator, n, d, filled)
    if isinstance(features, Pipeline):
        return _pipeline_cost([step for _, step in features.steps], n, d, filled)
    if isinstance(features, RandomFeatures):
        return _random_cost(features, n, d, filled)
    if isinstance(features, RandomProjection):
        m = features.n_components
        projection: Projection = features._part("projection", PROJECTIONS, Projection)
        flops, numbers = projection.cost(m, d, filled=_csr_entries(filled, d))
        return MapCost(m, flops, numbers, numbers, numbers)
    if isinstance(features, Nystroem):
        m = min(features.n_components, n)
        row = m * (2 * filled + KERNEL_FLOPS)
        return MapCost(m, row + m**2, m * row + m**3, m * d + m**2, 3 * m**2)
    if isinstance(features, CompactMap):
        m = features.n_components
        row = m * (2 * filled + COSINE_FLOPS)
        return MapCost(m, row, 3 * LEARNING_PASSES * n * row, m * d, 4 * m * d)
    if isinstance(features, TransformerMixin):
        return _unknown_cost(features, n, d, filled)
    raise TypeError(
        "estimate: the cost of "
        f"{type(features).__name__} is not known; give KernelClassifier, "
        "KernelRegressor, KernelPCA, one of bochner's maps, or a Pipeline of maps."
    )


def _unknown_cost(features: Any, n: int, d: int, filled: float) -> MapCost:
    """Of a scaler, or a product with as many columns as it says."""
    m = getattr(features, "n_components", None)
    if isinstance(m, int):
        return MapCost(m, 2 * m * filled, 2 * n * m * filled, m * d, m * d)
    return MapCost(d, 2 * filled, 2 * n * filled, 4 * d, 4 * d)


def _pipeline_cost(steps: list[Any], n: int, d: int, filled: float) -> MapCost:
    total = [0.0, 0.0, 0.0, 0.0]
    for step in steps:
        if step is None or step == "passthrough":
            continue
        cost = map_cost(step, n, d, filled)
        parts = cost.a_row, cost.to_fit, cost.numbers, cost.while_fitting
        total = [a + b for a, b in zip(total, parts, strict=True)]
        filled = filled if cost.n_columns == d else cost.n_columns
        d = cost.n_columns
    return MapCost(d, *total)


def _random_cost(features: RandomFeatures, n: int, d: int, filled: float) -> MapCost:
    nonlinearity, projection, compression = features._parts()
    law = features._kernel(nonlinearity).unit_law()
    m = features.n_components
    drawn = m if compression is None else compression.n_drawn(m)
    n_phases = nonlinearity.n_projections(drawn)
    n_stages = nonlinearity.n_stages
    stage = projection.cost(n_phases // n_stages, d, law, _csr_entries(filled, d))
    flops, numbers = n_stages * stage.flops, n_stages * stage.numbers
    each = COSINE_FLOPS * nonlinearity.n_projections(m)
    if compression is None:
        onehot = getattr(nonlinearity, "output", None) == "onehot"
        columns = m * nonlinearity.pool_size if onehot else m
        return MapCost(columns, flops + each, numbers, numbers, numbers)
    if isinstance(compression, JL):  # every candidate for every row, then mixed
        mixing, more = compression.mixing.cost(m, drawn)
        row, held = flops + COSINE_FLOPS * n_phases + mixing, numbers + more
        return MapCost(m, row, held, held, held)
    # products of the candidates on a sample of rows, then a walk among them
    seen = min(n, getattr(compression, "n_rows", n))
    to_fit = seen * flops + 2 * seen * drawn**2 + m * drawn * seen
    share = m / drawn
    return MapCost(m, flops * share + each, to_fit, numbers * share, 2 * drawn**2)


def _csr_entries(filled: float, d: int) -> float | None:
    """Entries of a row where that is CSR, which a row without zeros is not."""
    return filled if filled < d else None
