"""`estimate`: memory and operations of every stage of a fit, before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier
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
from ..solvers.rows import ROWS as SAMPLE_ROWS
from .classifier import KernelClassifier
from .pca import KernelPCA
from .preparation import FIXED_BYTES, default_size, given_features, is_automatic
from .regressor import KernelRegressor
from .solving import is_chosen

COSINE_FLOPS = 12
"""Operations of a cosine: range reduction and polynomial."""

KERNEL_FLOPS = 20
"""Operations of a kernel value, without its inner product."""

LEARNING_PASSES = 60
"""Passes of the fit of a learned map over its rows, approximately."""

NEWTON_PASSES = 60
"""Passes of Newton's method with conjugate gradients, approximately; hard problems need
more."""

SEARCH_ROWS, SEARCH_FITS = 1000, 40
"""Rows and factorisations of the search for the bandwidth of a default map."""

RECOMPUTED = "recomputed in about"
"""Start of the note on features that do not fit the budget."""


@dataclass(frozen=True)
class MapCost:
    """Operations and stored numbers of a map from d columns to `n_columns` features."""

    n_columns: int
    row_flops: float  # operations to compute one row of features
    fit_flops: float
    numbers: float  # numbers stored in the fitted map
    fit_numbers: float  # further numbers in memory during the fit


def map_cost(features: Any, n: int, d: int, filled: float) -> MapCost:
    """The cost of a transformer on n rows of d columns, `filled` of them nonzero."""
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
        f"{type(features).__name__} is not known; pass a KernelClassifier, "
        "KernelRegressor, KernelPCA, one of bochner's maps, or a Pipeline of maps."
    )


def _unknown_cost(features: Any, n: int, d: int, filled: float) -> MapCost:
    """The cost of a foreign map: a matrix with n_components columns, or a scaler."""
    m = getattr(features, "n_components", None)
    if isinstance(m, int):
        return MapCost(m, 2 * m * filled, 2 * n * m * filled, m * d, m * d)
    return MapCost(d, 2 * filled, 2 * n * filled, 4 * d, 4 * d)


def _pipeline_cost(steps: list[Any], n: int, d: int, filled: float) -> MapCost:
    """The sum of the costs of all steps."""
    total = np.zeros(4)
    for step in steps:
        if step is None or step == "passthrough":
            continue
        cost = map_cost(step, n, d, filled)
        total += cost.row_flops, cost.fit_flops, cost.numbers, cost.fit_numbers
        filled = filled if cost.n_columns == d else cost.n_columns
        d = cost.n_columns
    return MapCost(d, *total.tolist())


def _random_cost(features: RandomFeatures, n: int, d: int, filled: float) -> MapCost:
    nonlinearity, projection, compression = features._parts()
    law = features._kernel(nonlinearity).unit_law()
    m = features.n_components
    n_candidates = m if compression is None else compression.n_drawn(m)
    n_phases = nonlinearity.n_projections(n_candidates)
    n_stages = nonlinearity.n_stages
    stage = projection.cost(n_phases // n_stages, d, law, _csr_entries(filled, d))
    flops, numbers = n_stages * stage.flops, n_stages * stage.numbers
    cosines = COSINE_FLOPS * nonlinearity.n_projections(m)
    if compression is None:
        is_onehot = getattr(nonlinearity, "output", None) == "onehot"
        columns = m * nonlinearity.pool_size if is_onehot else m
        return MapCost(columns, flops + cosines, numbers, numbers, numbers)
    if isinstance(compression, JL):  # computes all candidates of a row, then mixes them
        mixing_flops, mixing_numbers = compression.mixing.cost(m, n_candidates)
        row_flops = flops + COSINE_FLOPS * n_phases + mixing_flops
        numbers += mixing_numbers
        return MapCost(m, row_flops, numbers, numbers, numbers)
    # Gram matrix of the candidates on a sample of rows, then a greedy selection
    n_rows = min(n, getattr(compression, "n_rows", n))
    fit_flops = n_rows * (flops + 2 * n_candidates**2 + m * n_candidates)
    share = m / n_candidates
    return MapCost(
        m, flops * share + cosines, fit_flops, numbers * share, 2 * n_candidates**2
    )


def _csr_entries(filled: float, d: int) -> float | None:
    """Nonzero entries of a CSR row; None for rows without zeros, which are dense."""
    return filled if filled < d else None


@dataclass(frozen=True)
class Stage:
    """A stage of a fit: its memory in bytes and its floating-point operations."""

    name: str
    bytes: int
    flops: float
    note: str = ""


@dataclass(frozen=True)
class Estimate:
    """The result of `estimate`: stages, their sum, and advice if the fit is too large.

    Attributes
    ----------
    stages : tuple of Stage
        Data, map, and the stages of learning.
    peak_bytes : int
        Memory of the data, the map, and the larger of the features with their sums and
        the solver.
    advice : tuple of str
        Changes that make the fit smaller; empty if it fits.
    fits : bool
        Whether the peak is within the memory of the machine, and the learner within its
        budget.
    flops : float
        Operations of all stages.

    See Also
    --------
    estimate : Returns an `Estimate`.

    Examples
    --------
    >>> import bochner
    >>> plan = bochner.estimate(bochner.KernelRegressor(1024), n=10**5, d=40)
    >>> [stage.name for stage in plan.stages]
    ['data', 'map', 'features', 'sums', 'solve']
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
            "total",
            readable(self.peak_bytes),
            f"{self.flops:.1e}",
            "peak memory",
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
    estimator: BaseEstimator,
    n: int,
    d: int,
    *,
    density: float = 1.0,
    dtype: DTypeLike = np.float64,
) -> Estimate:
    """Memory and operations of `estimator.fit` on n rows of d columns, before it runs.

    The numbers follow from the formulas in the docstrings and are not measured. Memory
    is accurate within a factor of two (imported libraries take about 100 MiB more),
    the operations of Newton's method within a small factor.

    Parameters
    ----------
    estimator : KernelClassifier, KernelRegressor, KernelPCA or transformer
        The unfitted estimator or map.
    n : int
        Number of rows.
    d : int
        Number of columns.
    density : float, default=1.0
        Share of nonzero entries; rows are CSR if it is below 1.
    dtype : {float64, float32}, default=float64
        Type of the entries of X.

    Returns
    -------
    Estimate
        Stages with bytes and operations, and advice if the fit is too large.

    Raises
    ------
    TypeError
        If the estimator is neither a learner of bochner nor a transformer.
    ValueError
        If n, d, density or dtype is invalid.

    Examples
    --------
    >>> import bochner
    >>> plan = bochner.estimate(bochner.KernelRegressor(1024), n=10**9, d=40)
    >>> plan.fits
    False
    >>> print(plan.advice[0])
    The data take 298.0 GiB: pass them as bochner.blocks(…) or a Dask collection, ...
    """
    check_count("estimate", "n", n)
    check_count("estimate", "d", d)
    if check_positive("estimate", "density", density) > 1:
        raise ValueError(f"estimate: density must be at most 1; got {density!r}.")
    check_option("estimate", "dtype", np.dtype(dtype).name, ("float64", "float32"))
    itemsize = np.dtype(dtype).itemsize
    filled = density * d
    # an entry of a CSR matrix also has an index of 4 bytes
    data = n * d * itemsize if density == 1 else round(n * filled * (itemsize + 4))
    is_learner = isinstance(estimator, KernelClassifier | KernelRegressor | KernelPCA)
    features = _unfitted_map(estimator, n) if is_learner else estimator
    cost = map_cost(features, n, d, filled)
    stages = [Stage("data", data, 0.0), _map_stage(estimator, cost, is_learner)]
    if is_learner:
        stages += _learning_stages(estimator, cost, n, itemsize)
    else:
        output = n * cost.n_columns * itemsize
        stages.append(Stage("features", output, n * cost.row_flops, "the output"))
    return _with_advice(estimator, tuple(stages), cost, is_learner)


def _unfitted_map(owner: Any, n: int) -> Any:
    """The map that the learner would fit on n rows."""
    if not is_automatic(owner.features):
        return given_features(owner, n, None)
    return Nystroem(default_size(owner, n))


def _map_stage(estimator: Any, cost: MapCost, is_learner: bool) -> Stage:
    search = 0.0
    if is_learner and is_automatic(estimator.features):
        search = SEARCH_FITS * SEARCH_ROWS**3
    n_bytes = round(8 * (cost.numbers + cost.fit_numbers))
    note = f"{cost.n_columns} features"
    return Stage("map", n_bytes, cost.fit_flops + search, note)


def _learning_stages(owner: Any, cost: MapCost, n: int, itemsize: int) -> list[Stage]:
    m = cost.n_columns
    feature_bytes, feature_flops = n * m * itemsize, n * cost.row_flops
    if m <= FACTORED_COLUMNS and getattr(owner, "loss", "squared") == "squared":
        chunk = min(PASSING_BYTES, feature_bytes)
        chunk += 8 * m * min(n, GRAM_ROWS["float64"])
        chooses_alpha = is_chosen(getattr(owner, "alpha", 1.0))
        sample = 16 * min(n, SAMPLE_ROWS if chooses_alpha else FEW_ROWS) * m
        return [
            Stage("features", chunk, feature_flops, "one pass, a chunk at a time"),
            Stage("sums", 8 * m**2 + sample, n * m**2, "one pass"),
            Stage("solve", FIXED_BYTES * m**2, 5 / 3 * m**3),
        ]
    total = budget(type(owner).__name__, owner.memory)
    is_kept = feature_bytes <= IN_MEMORY.kept * total
    n_computed = 1 if is_kept else NEWTON_PASSES
    note = "kept in memory" if is_kept else f"{RECOMPUTED} {NEWTON_PASSES} passes"
    sample = min(n, m if m <= FACTORED_COLUMNS else SAMPLED_ROWS)
    square = m if m <= FACTORED_COLUMNS else sample
    output = "class" if is_classifier(owner) else "target"
    stages = [
        Stage("features", min(feature_bytes, total), n_computed * feature_flops, note),
        Stage("passes", 0, NEWTON_PASSES * 4.0 * n * m, f"operations per {output}"),
        Stage("solve", FIXED_BYTES * square**2, sample * m * square + square**3),
    ]
    if is_classifier(owner) and owner.loss != "log":
        scores = left_out_bytes(n, m, itemsize)
        stages.append(Stage("scores", scores, 0.0, "leave-one-out scores"))
    return stages


def _with_advice(
    owner: Any, stages: tuple[Stage, ...], cost: MapCost, is_learner: bool
) -> Estimate:
    """The estimate of the stages, with advice if a part of the fit is too large."""
    n_bytes = {stage.name: stage.bytes for stage in stages}
    data, map_bytes = n_bytes["data"], n_bytes["map"]
    working = n_bytes["features"] + n_bytes.get("sums", 0) + n_bytes.get("scores", 0)
    working = max(working, n_bytes.get("solve", 0))
    peak = data + map_bytes + working
    machine, advice = machine_bytes(), []
    if data > machine // 2:
        advice.append(
            f"The data take {readable(data)}: pass them as bochner.blocks(…) or a Dask "
            f"collection, of which one block of about {readable(BLOCK_BYTES)} is in "
            "memory at a time."
        )
    if map_bytes > machine // 4:
        advice.append(
            f"The map takes {readable(map_bytes)}: use methods.sorf or "
            "methods.fastfood, which store few numbers per feature, or fewer features."
        )
    limit = budget(type(owner).__name__, owner.memory) if is_learner else machine // 2
    if working > limit:
        max_features = int((limit / FIXED_BYTES) ** 0.5)
        advice.append(
            f"Learning takes {readable(working)}, and the budget is {readable(limit)}: "
            f"use at most {max_features} features, or memory='{readable(2 * working)}'."
            if is_learner
            else f"The features take {readable(working)}: transform the rows in parts."
        )
    if any(stage.note.startswith(RECOMPUTED) for stage in stages):
        one_pass = f"at most {FACTORED_COLUMNS} features, which take one pass"
        if is_classifier(owner) and cost.n_columns <= FACTORED_COLUMNS:
            one_pass = "loss='squared', which takes one pass"
        advice.append(
            "The features exceed the budget and are recomputed in every pass: raise "
            f"memory, or use {one_pass}."
        )
    fits = peak <= machine and working <= limit
    return Estimate(stages, peak, tuple(advice), fits)
