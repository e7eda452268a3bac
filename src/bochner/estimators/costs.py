"""What maps cost: operations a row, operations to fit, numbers they hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ..compact import CompactMap
from ..compression import JL
from ..laws import Normal
from ..maps import RandomFeatures, RandomProjection
from ..nystroem import Nystroem
from ..projections import PROJECTIONS, BlockDiagonal, Compressive, Projection
from ..projections.auto import FEW_FEATURES, choose
from ..projections.hadamard import padded

COSINE_FLOPS = 12
"""Operations of a cosine: reduction and polynomial."""

KERNEL_FLOPS = 20
"""Operations of a kernel value, its inner product aside."""

DENSE = "dense", "orthogonal", "qmc", "orthoprojector"
"""Projections that are a product with a matrix of all their entries."""

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
        flops, numbers = projection_cost(features.projection, m, d, filled, linear=True)
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
    nonlinearity, _, compression = features._parts()
    m = features.n_components
    drawn = m if compression is None else compression.n_drawn(m)
    n_phases = nonlinearity.n_projections(drawn)
    flops, numbers = projection_cost(features.projection, n_phases, d, filled)
    each = COSINE_FLOPS * nonlinearity.n_projections(m)
    if compression is None:
        onehot = getattr(nonlinearity, "output", None) == "onehot"
        columns = m * nonlinearity.pool_size if onehot else m
        return MapCost(columns, flops + each, numbers, numbers, numbers)
    if isinstance(compression, JL):  # every candidate for every row, then mixed
        mixing, more = projection_cost(
            compression.projection, m, drawn, drawn, linear=True
        )
        row, held = flops + COSINE_FLOPS * n_phases + mixing, numbers + more
        return MapCost(m, row, held, held, held)
    # products of the candidates on a sample of rows, then a walk among them
    seen = min(n, getattr(compression, "n_rows", n))
    to_fit = seen * flops + 2 * seen * drawn**2 + m * drawn * seen
    share = m / drawn
    return MapCost(m, flops * share + each, to_fit, numbers * share, 2 * drawn**2)


def projection_cost(
    projection: Any, m: int, d: int, filled: float, linear: bool = False
) -> tuple[float, float]:
    """Operations a row and numbers of a projection from d to m.

    `linear` is for projections that keep lengths, not a kernel: their blocks are small.
    """
    name = _name(projection, m, d)
    p = padded(d)
    blocks = -(-m // p)
    if name == "compressive":
        spec = projection if isinstance(projection, Compressive) else Compressive()
        q = spec.measurements(d)
        flops, numbers = projection_cost(spec.projection, m, q, q)
        return 2 * q * filled + flops, q * d + numbers
    if name == "block_diagonal":
        spec = projection if isinstance(projection, BlockDiagonal) else BlockDiagonal()
        entries = m * d / spec.blocks_per_pass(m, d, linear)
        return 2 * entries * filled / d, 2 * entries
    transforms: dict[str, tuple[float, float]] = {
        "sorf": (3 * blocks * p * np.log2(p), 4 * blocks * p),
        "fastfood": (2 * blocks * p * np.log2(p), 4 * blocks * p),
        "circulant": (10 * blocks * p * np.log2(p), 3 * blocks * p),
        "sparse": (2 * m * filled / np.sqrt(d), m * np.sqrt(d)),
    }
    transforms |= dict.fromkeys(DENSE, (2 * m * filled, m * d))
    return transforms[name]


def _name(projection: Any, m: int, d: int) -> str:
    """A projection's name; the one that "auto" comes to."""
    names: dict[Callable, str] = {kind: name for name, kind in PROJECTIONS.items()}
    if isinstance(projection, str) and projection != "auto":
        return projection
    if isinstance(projection, Projection) and type(projection) in names:
        return names[type(projection)]
    if d <= FEW_FEATURES:
        return "qmc"
    return names[type(choose(np.empty((0, d)), Normal(1.0), m))]
