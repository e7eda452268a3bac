"""From what the user gives to rows of features: validation, the map, the budget."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from .._core.memory import budget, machine_bytes, readable
from .._core.parallel import blas_threads_for
from .._core.progress import reporter, silent
from .._core.random import Stream, as_stream
from .._core.remote_rows import LazyRows, counted_places, is_lazy
from .._core.spread import TOO_COARSE, spread_of
from .._core.validation import check_count, did_you_mean
from ..data.stream import Blocks
from ..engines.checkpoint import Checkpoint
from ..engines.local import (
    CHUNK_BYTES,
    PASSING_BYTES,
    FeatureRows,
    RawFeatures,
    feature_rows,
    raw_features,
)
from ..engines.sources import ArraySource, Block, Source, validated
from ..features.landmarks import SORTED_ROWS, distinct
from ..features.transformer import RowTransformer, set_columns
from ..methods import METHODS
from ..solvers.preconditioner import FACTORED_COLUMNS, SAMPLED_ROWS
from .labels import label_counts

Check = Callable[..., Block]
"""Validates (X, y, weight); at the first block `reset` is true."""


def missing_target(owner: Any) -> ValueError:
    """What to raise where there is no y."""
    name = type(owner).__name__
    return ValueError(f"{name} requires y to be passed, but the target y is None.")


def check_alone(owner: Any, y: Any, weight: Any) -> None:
    """Refuse y and weights beside blocks, which carry theirs."""
    for name, value in (("y", y), ("sample_weight", weight)):
        if value is not None:
            raise ValueError(
                f"{type(owner).__name__}: {name} beside blocks, which carry theirs, as "
                "(X, y) or (X, y, sample_weight); give blocks(X, target=y, weight=…)."
            )


def first_block(source: Blocks, check: Check) -> Block:
    """The first block that has rows, validated."""
    return validated(source.first(), partial(check, reset=True))


def first_look(source: Blocks, check: Check) -> tuple[Block, list]:
    """The first block, and the labels of all with what they weigh: one pass."""
    first, counts = None, []
    for item in source.weighing():
        block = validated(item, partial(check, reset=first is None))
        first = block if first is None else first
        counts.append(label_counts(block.y, block.weight))
    if first is None:
        raise ValueError("blocks: there are no rows.")
    return first, counts


def gathered(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Rows of a small Dask collection at hand: they are sorted, as those of arrays are.

    Everything else stays as it is.
    """
    if not is_lazy(X):
        return X, y, weight
    if not hasattr(X, "columns") and np.isnan(X.shape[0]):
        X = X.compute_chunk_sizes()
    n = len(X) if hasattr(X, "columns") else X.shape[0]
    if n > SORTED_ROWS or n == 0:
        return X, y, weight
    parts = (a.compute() if is_lazy(a) else a for a in (X, y, weight))
    X, y, weight = parts
    return X, y, weight


def lazy_source(
    owner: Any,
    X: Any,
    y: Any,
    weight: Any,
    validate: Callable[[Any, Any, Any], Block],
    supervised: bool = False,
) -> Any:
    """The source of a Dask collection, whose features the owner will expect."""
    from ..engines.dask import dask_source

    set_columns(owner, X)
    if y is None and supervised:
        raise missing_target(owner)
    return dask_source(type(owner).__name__, X, y, weight, validate)


FIXED_BYTES = 32
"""Bytes per squared number of columns: a factor, a penalty, a sample of rows."""


SIZE_FACTOR = 16
SIZES = 256, 4000
"""Components of the default map: 16 √n, between these."""

CANDIDATES_PER_COMPONENT = 10
"""Candidates of compressed features for each that is kept, at least."""

LEARNED_COMPONENTS = 256
"""Components of a learned map, which needs few, where none are asked for."""

FEW_CLASSES = 100
"""Classes up to which features take more memory than the classes do."""

DEVIATION_ROWS = 20_000
"""Rows asked for the standard deviation of features."""


def canonical(X: Any, y: np.ndarray, weight: np.ndarray | None) -> ArraySource:
    """Rows of positive weight; few ones sorted, equal ones merged.

    So repeated rows and integer weights are one and the same to all that follows.
    """
    X, y, weight = Block(X, y, weight).present()
    n = X.shape[0]
    if n > SORTED_ROWS:
        return ArraySource(X, y, weight)
    if isinstance(X, LazyRows):
        X, y, weight = X[:], y[:], None if weight is None else weight[:]
    targets = y.reshape(n, -1).astype(np.float64)
    table = sparse.hstack([X, targets]).tocsr() if sparse.issparse(X) else None
    first, inverse = distinct(np.column_stack([X, targets]) if table is None else table)
    w = np.bincount(inverse, weights=np.ones(n) if weight is None else weight)
    # all weights one: the same as none, and faster
    return ArraySource(X[first], y[first], None if (w == 1).all() else w)


def rng_of(owner: Any) -> Stream | None:
    """The owner's stream; None leaves nested random states as they are."""
    return None if owner.random_state is None else as_stream(owner.random_state)


def seed(rng: Stream | None, role: str) -> int | None:
    """An integer seed for a part, or None."""
    return None if rng is None else int(rng.child(role).words(1)[0] >> np.uint64(33))


@dataclass
class Training:
    """A fitted map, its rows of features, and where a fit leaves its state."""

    transformer: Any
    raw: RawFeatures
    rows: Any  # Rows
    source: Source
    checkpoint: Checkpoint


def moment_bytes(source: Source, n_columns: int) -> int:
    """What moments of so many columns take, with their factorisation."""
    return FIXED_BYTES * n_columns**2


def solver_bytes(source: Source, n_columns: int) -> int:
    """What solvers take beside features: moments, or past their reach a sample's Gram.

    The sampled rows themselves are among the features that are kept.
    """
    if n_columns <= FACTORED_COLUMNS:
        return moment_bytes(source, n_columns)
    return FIXED_BYTES * min(source.n_rows, SAMPLED_ROWS) ** 2


def training(
    owner: Any,
    source: Source,
    transformer: Any,
    first: Block,
    fixed: Callable[[Source, int], int] = solver_bytes,
    checkpoint: Checkpoint | None = None,
) -> Training:
    """Rows of features under the owner's memory budget.

    `fixed`: bytes that the learner takes beside them, for these rows and so many
    columns.
    """
    checkpoint = Checkpoint(None) if checkpoint is None else checkpoint
    raw = raw_features(transformer, first.X)
    total = budget(type(owner).__name__, owner.memory)
    needed = fixed(source, raw.n_columns) + 64 * raw.n_columns * raw.dtype.itemsize
    if owner.memory is not None and needed > total:
        raise ValueError(
            f"{type(owner).__name__}: memory={owner.memory!r} is too little for "
            f"{raw.n_columns} features, which need {readable(needed)}; raise memory, "
            "or use fewer features."
        )
    if needed > machine_bytes():
        raise ValueError(
            f"{type(owner).__name__}: {raw.n_columns} features need "
            f"{readable(needed)}, and this process may use "
            f"{readable(machine_bytes())}; use fewer features."
        )
    left = max(total - needed, total // 4)
    report = reporter(owner) if hasattr(owner, "verbose") else silent
    rows = feature_rows(source, raw, left, report, checkpoint)
    return Training(transformer, raw, rows, source, checkpoint)


def kept_map(owner: Any, checkpoint: Checkpoint, fit: Callable[[], Any]) -> Any:
    """What an earlier process has fitted on the first block, or what `fit` gives."""
    if isinstance(owner.features, FrozenEstimator):  # the user keeps it
        return fit()
    return checkpoint.once("map", fit)


def check_class_memory(owner: Any, n_classes: int, first: Block) -> None:
    """Refuse more classes than there is memory for, before any work.

    The least that a fit takes for K classes: coefficients and their derivatives (M, K),
    codes of a chunk of rows (b, K), and but for "squared" the curvature (n, K), which
    counts as data where a budget is given. Rows of a Dask collection are elsewhere.
    """
    if n_classes <= FEW_CLASSES:
        return  # features take more than classes: their own check comes later
    size = first.X.dtype.itemsize
    n = 0 if isinstance(first.X, LazyRows) else first.X.shape[0]
    name, given = type(owner).__name__, owner.memory is not None
    limit = budget(name, owner.memory) if given else machine_bytes()
    n_columns = getattr(owner.features, "n_components", None)
    if not isinstance(n_columns, int | np.integer):
        n_columns = default_size(owner, first.X.shape[0])
    rows = min(n, max(64, min(CHUNK_BYTES, limit) // (n_columns * size)))
    curved = 0 if owner.loss == "squared" or given else n
    needed = n_classes * (24 * n_columns + (8 + size) * rows + size * curved)
    if needed > limit:
        allowed = f"memory={owner.memory!r} allows" if given else "this machine has"
        raise ValueError(
            f"{name}: y has {n_classes:,} classes, which take at least "
            f"{readable(needed)} with about {n_columns:,} features, and {allowed} "
            f"{readable(limit)}. Group rare classes, use fewer features, learn from "
            "blocks of fewer rows with loss='squared', or check that y holds labels "
            "and not numbers (KernelRegressor)."
        )


def default_size(owner: Any, n: int) -> int:
    """Components for n rows: as many as help, as fit, and as there are rows."""
    if isinstance(owner.features, int | np.integer):
        return check_count(type(owner).__name__, "features", owner.features)
    total = budget(type(owner).__name__, owner.memory)
    fitting = int((0.5 * total / FIXED_BYTES) ** 0.5)
    wanted = min(max(SIZE_FACTOR * int(n**0.5), SIZES[0]), SIZES[1])
    return max(1, min(wanted, fitting, n))


def on_few_threads(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method `fit`: where the problem is small, BLAS has one thread.

    A fit takes about n M² multiplications for n rows and M features. Rows of streams
    and Dask collections are not counted: they are read because they are many.
    """

    @functools.wraps(fit)
    def call(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        n = _about_rows(X)
        with blas_threads_for(n * _about_columns(self, n) ** 2):
            return fit(self, X, *args, **kwargs)

    return call


def _about_rows(X: Any) -> float:
    """The number of rows in memory; infinite where it is unknown."""
    if isinstance(X, list | tuple):
        return len(X)
    is_elsewhere = is_lazy(X) or isinstance(X, Blocks)
    shape = None if is_elsewhere else getattr(X, "shape", None)
    return shape[0] if shape else np.inf


def _about_columns(owner: Any, n: float) -> float:
    """The number of features, as far as it is known before the fit."""
    if is_automatic(owner.features):
        return min(max(SIZE_FACTOR * n**0.5, SIZES[0]), SIZES[1])
    size = getattr(owner.features, "n_components", None)
    return float(size) if isinstance(size, int | np.integer) else SIZES[1]


def is_automatic(features: Any) -> bool:
    """Whether the map is left to the estimator: None, or a number of components."""
    return features is None or (
        isinstance(features, int | np.integer) and not isinstance(features, bool)
    )


def given_features(owner: Any, n: int, rng: Stream | None) -> Any:
    """The map asked for by name or by object, unfitted unless it is frozen."""
    features = owner.features
    if isinstance(features, FrozenEstimator):
        return features
    if isinstance(features, str):
        if features not in METHODS:
            raise ValueError(
                f"{type(owner).__name__}: features must be one of "
                f"{', '.join(map(repr, METHODS))}, a number of components, a "
                f"transformer or None; got {features!r}"
                f"{did_you_mean(features, METHODS)}."
            )
        size = default_size(owner, n if features == "nystroem" else max(n, SIZES[0]))
        features = METHODS[features](size // 2 * 2 or 1)
        compression = getattr(features, "compression", None)
        if compression is not None:  # or there would be nothing to choose
            most = compression.n_candidates // CANDIDATES_PER_COMPONENT
            features.set_params(n_components=min(features.n_components, most))
        if hasattr(features, "objective"):
            _learn_for(owner, features)
    elif not hasattr(features, "transform") or not hasattr(features, "fit"):
        raise TypeError(
            f"{type(owner).__name__}: features must be a transformer, a method's name, "
            f"a number of components or None; got {features!r}."
        )
    _check_objective(owner, features)
    return seeded(clone(features), rng)


def _check_objective(owner: Any, features: Any) -> None:
    """Refuse a map that is learned for another task than the owner's."""
    wrong = "regression" if is_classifier(owner) else "classification"
    supervised = is_classifier(owner) or is_regressor(owner)
    if supervised and getattr(features, "objective", None) == wrong:
        right = "classification" if is_classifier(owner) else "regression"
        raise ValueError(
            f"{type(owner).__name__}: features={features!r} are learned for {wrong}; "
            f"take objective={right!r}."
        )


def _learn_for(owner: Any, features: Any) -> None:
    """Few learned components, with the objective that the owner has."""
    objective = "kernel"
    if is_classifier(owner) or is_regressor(owner):
        objective = "classification" if is_classifier(owner) else "regression"
    few = min(features.n_components, LEARNED_COMPONENTS)
    features.set_params(objective=objective, n_components=few)


def seeded(transformer: Any, rng: Stream | None) -> Any:
    """Nested random states that are None, filled from the owner's."""
    if rng is None:
        return transformer
    for name, value in sorted(transformer.get_params().items()):
        if name.split("__")[-1] == "random_state" and value is None:
            transformer.set_params(**{name: seed(rng, name)})
    return transformer


def fit_transformer(transformer: Any, X: Any, y: Any, weight: Any) -> Any:
    """Fit the map on rows of positive weight, with weights where it takes them."""
    if isinstance(transformer, FrozenEstimator):
        return transformer
    if isinstance(X, LazyRows) and not isinstance(transformer, RowTransformer):
        y = X.targets(type(transformer).__name__, y)
        X, places = X.sample()
        y = None if y is None else y[places]
        weight = None if weight is None else weight[places]
    if weight is None:
        return _fitted_quietly(transformer, X, y)
    kept = counted_places(weight)
    if kept is not None and len(kept) < len(weight):
        X, weight = X[kept], weight[kept]
        y = None if y is None else y[kept]
    steps = {"": transformer}
    if isinstance(transformer, Pipeline):
        steps = {f"{name}__": step for name, step in transformer.steps}
    weights = {
        f"{name}sample_weight": weight
        for name, step in steps.items()
        if has_fit_parameter(step, "sample_weight")
    }
    return _fitted_quietly(transformer, X, y, **weights)


def _fitted_quietly(transformer: Any, X: Any, y: Any, **weights: Any) -> Any:
    """The map fitted on rows that the learner has warned of already."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=TOO_COARSE)
        return transformer.fit(X, y, **weights)


def deviations(X: Any, weight: Any) -> np.ndarray:
    """Standard deviation of every feature, 1 where it is constant, (d,)."""
    places = Stream(0).child("deviations").subset(X.shape[0], DEVIATION_ROWS)
    w = None if weight is None else weight[places]
    deviation = spread_of(X[places], w).deviation
    return np.where(deviation > 0, deviation, 1.0)


def predicted(transformer: Any, B: np.ndarray, intercept: np.ndarray, X: Any) -> Any:
    """Scores of rows X, (n, K), never more than a chunk of features at a time.

    B are coefficients of the columns (`RawFeatures.to_columns`), found once in `fit`.
    """
    raw = raw_features(transformer, X)
    rows = FeatureRows(ArraySource(X, np.empty(X.shape[0])), raw, PASSING_BYTES)
    B = B.astype(raw.dtype)
    parts = [chunk.F @ B for chunk in rows.chunks()]
    return np.concatenate(parts) + intercept.astype(raw.dtype)
