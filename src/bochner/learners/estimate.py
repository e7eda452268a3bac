"""`estimate`: bytes and operations of a fit before it runs, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from .._core.memory import budget, machine_bytes, readable
from .._core.validation import check_count, check_option, check_positive
from ..compression.jl import JL
from ..data.stream import BLOCK_BYTES
from ..engines.local import IN_MEMORY, PASSING_BYTES
from ..features.compact.compact_map import CompactMap
from ..features.nystroem import Nystroem
from ..features.random_features import RandomFeatures, RandomProjection
from ..projections import PROJECTIONS
from ..projections.base import Projection
from ..solvers.left_out import left_out_bytes
from ..solvers.moments import GRAM_ROWS
from ..solvers.preconditioner import FACTORED_COLUMNS, SAMPLED_ROWS
from ..solvers.rows import FEW_ROWS
from ..solvers.rows import ROWS as CHOSEN_BY
from .classifier import KernelClassifier
from .pca import KernelPCA
from .preparation import FIXED_BYTES, default_size, given_features, is_automatic
from .regressor import KernelRegressor
from .solving import is_chosen

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


PASSES = 60
"""Passes of Newton steps with conjugate gradients, about; hard problems take more."""

SEARCH_ROWS, SEARCH_FITS = 1000, 40
"""Rows and factorisations of the search for a default map's bandwidths, about."""


@dataclass(frozen=True)
class Stage:
    """A part of a fit: bytes it holds and floating-point operations it takes."""

    name: str
    bytes: int
    flops: float
    note: str = ""


@dataclass(frozen=True)
class Estimate:
    """Stages of a fit, what they come to, and what to change where it does not fit.

    Attributes
    ----------
    stages : tuple of Stage
    peak_bytes : int
        Data, map and the larger of what learns and what solves, together.
    flops : float
        Of all stages.
    fits : bool
        Whether that is within the machine's memory, and the learner within its budget.
    advice : tuple of str
    """

    stages: tuple[Stage, ...]
    peak_bytes: int
    advice: tuple[str, ...]
    fits: bool

    @property
    def flops(self) -> float:
        return sum(stage.flops for stage in self.stages)

    def __str__(self) -> str:
        rows = [
            (s.name, readable(s.bytes), f"{s.flops:.1e}", s.note) for s in self.stages
        ]
        total = (
            "together",
            readable(self.peak_bytes),
            f"{self.flops:.1e}",
            "at a time",
        )
        lines = [
            f"{name:<10}{size:>12}{flops:>12}  {note}".rstrip()
            for name, size, flops, note in (
                ("stage", "memory", "flops", ""),
                *rows,
                total,
            )
        ]
        return "\n".join([*lines, *self.advice])

    __repr__ = __str__


def estimate(
    estimator: Any, n: int, d: int, *, density: float = 1.0, dtype: Any = np.float64
) -> Estimate:
    """Bytes and operations of `estimator.fit` on n rows of d columns, before it runs.

    Counted from the formulas in the docstrings, not measured: arrays within a factor of
    two (libraries take some 100 MiB besides), operations of Newton's method within a
    few.

    Parameters
    ----------
    estimator : KernelClassifier, KernelRegressor, KernelPCA, or a map
        Not fitted.
    n, d : int
    density : float
        Share of entries that are not zero; below 1 rows are CSR.
    dtype : float64 or float32

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import bochner
    >>> plan = bochner.estimate(bochner.KernelRegressor(1024), n=10**9, d=40)
    >>> plan.fits
    False
    >>> print(plan.advice[0])
    The data take 298.0 GiB: give them as bochner.blocks(…) or a Dask collection, ...
    """
    check_count("estimate", "n", n)
    check_count("estimate", "d", d)
    if check_positive("estimate", "density", density) > 1:
        raise ValueError(f"estimate: density must be at most 1; got {density!r}.")
    check_option("estimate", "dtype", np.dtype(dtype).name, ("float64", "float32"))
    size = np.dtype(dtype).itemsize
    filled = density * d
    data = n * d * size if density == 1 else round(n * filled * (size + 4))
    learner = isinstance(estimator, KernelClassifier | KernelRegressor | KernelPCA)
    features = _features(estimator, n) if learner else estimator
    cost = map_cost(features, n, d, filled)
    stages = [Stage("data", data, 0.0), _map_stage(estimator, cost, learner)]
    if learner:
        stages += _learning(estimator, cost, n, size)
    else:
        whole = n * cost.n_columns * size
        stages.append(Stage("features", whole, n * cost.a_row, "the output"))
    return _judged(estimator, tuple(stages), cost, learner)


def _features(owner: Any, n: int) -> Any:
    """The map that the owner would fit, unfitted."""
    if not is_automatic(owner.features):
        return given_features(owner, n, None)
    return Nystroem(default_size(owner, n))


def _map_stage(estimator: Any, cost: MapCost, learner: bool) -> Stage:
    search = 0.0
    if learner and is_automatic(estimator.features):
        search = SEARCH_FITS * SEARCH_ROWS**3
    held = round(8 * (cost.numbers + cost.while_fitting))
    note = f"{cost.n_columns} features"
    return Stage("map", held, cost.to_fit + search, note)


def _learning(owner: Any, cost: MapCost, n: int, size: int) -> list[Stage]:
    m = cost.n_columns
    chunk = min(PASSING_BYTES, n * m * size) + 8 * m * min(n, GRAM_ROWS["float64"])
    making = n * cost.a_row
    if m <= FACTORED_COLUMNS and getattr(owner, "loss", "squared") == "squared":
        chosen = is_chosen(getattr(owner, "alpha", 1.0))
        sample = 16 * min(n, CHOSEN_BY if chosen else FEW_ROWS) * m
        return [
            Stage("features", chunk, making, "one pass, a chunk at a time"),
            Stage("sums", 8 * m**2 + sample, n * m**2, "one pass"),
            Stage("solve", FIXED_BYTES * m**2, 5 / 3 * m**3),
        ]
    total = budget(type(owner).__name__, owner.memory)
    whole = n * m * size
    kept = whole <= IN_MEMORY.kept * total
    passes = 1 if kept else PASSES
    note = "kept" if kept else f"made anew in some {PASSES} passes"
    sample = min(n, m if m <= FACTORED_COLUMNS else SAMPLED_ROWS)
    square = m if m <= FACTORED_COLUMNS else sample
    outputs = "a class" if is_classifier(owner) else "a target"
    stages = [
        Stage("features", min(whole, total), passes * making, note),
        Stage("passes", 0, PASSES * 4.0 * n * m, f"operations for {outputs}"),
        Stage("solve", FIXED_BYTES * square**2, sample * m * square + square**3),
    ]
    if is_classifier(owner) and owner.loss != "log":
        scored = left_out_bytes(n, m, size)
        stages.append(Stage("scores", scored, 0.0, "of rows left out"))
    return stages


def _judged(
    owner: Any, stages: tuple[Stage, ...], cost: MapCost, learner: bool
) -> Estimate:
    """Stages with their sum, and what to change."""
    held = {stage.name: stage.bytes for stage in stages}
    data, map_bytes = held.pop("data"), held.pop("map")
    working = held.pop("features") + held.pop("sums", 0) + held.pop("scores", 0)
    working = max(working, held.get("solve", 0))
    peak = data + map_bytes + working
    machine, advice = machine_bytes(), []
    if data > machine // 2:
        advice.append(
            f"The data take {readable(data)}: give them as bochner.blocks(…) or a Dask "
            f"collection, and a block of about {readable(BLOCK_BYTES)} is in memory "
            "at a time."
        )
    if map_bytes > machine // 4:
        advice.append(
            f"The map takes {readable(map_bytes)}: use methods.sorf or "
            "methods.fastfood, which keep a few numbers a feature, or fewer features."
        )
    total = budget(type(owner).__name__, owner.memory) if learner else machine // 2
    if working > total:
        most = int((total / FIXED_BYTES) ** 0.5)
        advice.append(
            f"Learning takes {readable(working)} and may take {readable(total)}: use "
            f"at most {most} features, or memory='{readable(2 * working)}'."
            if learner
            else f"The features take {readable(working)}: transform them in parts."
        )
    if any("made anew" in stage.note for stage in stages):
        once = is_classifier(owner) and cost.n_columns <= FACTORED_COLUMNS
        more = f"at most {FACTORED_COLUMNS} features, which take one pass"
        way = "loss='squared', which takes one pass" if once else more
        advice.append(
            "Features do not fit the budget and are made anew in every pass: raise "
            f"memory, or take {way}."
        )
    fits = peak <= machine and working <= total
    return Estimate(stages, peak, tuple(advice), fits)
