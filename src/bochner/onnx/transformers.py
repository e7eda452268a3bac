"""Fitted transformers as operators: bochner's maps, and what stands before them."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from ..compact import CompactMap
from ..estimators import KernelPCA
from ..maps import RandomFeatures, RandomProjection
from ..nystroem import Nystroem, NystroemMap
from ..preprocessing import DateParts, Numbers, Texts
from . import tables
from .features import features
from .graph import Graph
from .kernels import columns
from .linear_maps import applied
from .tables import Table, working_steps

ON_TABLES = (
    *(ColumnTransformer, FrozenEstimator, Pipeline),
    *(DateParts, OneHotEncoder, SimpleImputer, Texts),
)
"""Steps that take columns of different types; others take a tensor of numbers."""


def transformed(step: Any, graph: Graph, X: Any) -> Any:
    """What `step.transform` makes of rows X, a tensor's name or a Table."""
    # a subclass may have methods of its own, which no operator knows of
    if type(step) not in steps.registry:
        searched = " Export its best_estimator_." * hasattr(step, "best_estimator_")
        raise TypeError(
            f"onnx.export: {type(step).__name__} has no operators here.{searched} "
            "Exported are bochner's maps and estimators, alone or at the end of "
            "Pipelines with scalers, SimpleImputer, ColumnTransformer, OneHotEncoder "
            "and bochner.preprocessing; of other Pipelines export the last step "
            "(model[-1]), and transform rows before."
        )
    if isinstance(X, Table) and type(step) not in ON_TABLES:
        raise TypeError(
            f"onnx.export: {type(step).__name__} takes numbers, and here columns of "
            f"{' and '.join(sorted(set(X.kinds)))}; {tables.WAY_OUT}"
        )
    if isinstance(X, str) and isinstance(step, DateParts | Texts):
        raise TypeError(
            f"onnx.export: {type(step).__name__} takes columns, and the graph one "
            "tensor of numbers; put it into a ColumnTransformer at the beginning."
        )
    return steps(step, graph, X)


@singledispatch
def steps(step: Any, graph: Graph, X: str) -> str:
    """Operators by the type of the step."""
    raise NotImplementedError


@steps.register(RandomFeatures)
@steps.register(Nystroem)
@steps.register(CompactMap)
def _map(step: Any, graph: Graph, X: str) -> str:
    return features(step.feature_map_, graph, X)


@steps.register
def _projection(step: RandomProjection, graph: Graph, X: str) -> str:
    return applied(step.linear_map_.astype(graph.dtype), graph, X)


@steps.register
def _components(step: KernelPCA, graph: Graph, X: str) -> str:
    shift = -step.components_ @ step.mean_
    return scores(graph, X, step.features_, step._columns, shift)


def scores(
    graph: Graph, X: str, step: Any, B: np.ndarray, intercept: np.ndarray
) -> str:
    """Linear in the features of a step; B are coefficients of its raw columns."""
    return graph("Add", graph("MatMul", raw_columns(step, graph, X), B), intercept)


def raw_columns(step: Any, graph: Graph, X: str) -> str:
    """What learners read, as in `execution.features`: k(x, L) of Nyström features.

    Of other maps, and of pipelines that do not end with one, the features.
    """
    pipeline = isinstance(step, Pipeline) and len(step) > 1
    if pipeline and hasattr(step[-1], "feature_map_"):
        return raw_columns(step[-1], graph, transformed(step[:-1], graph, X))
    found = getattr(step, "feature_map_", None)
    if isinstance(found, NystroemMap):
        return columns(found.astype(graph.dtype).columns, graph, X)
    return transformed(step, graph, X)


@steps.register
def _pipeline(step: Pipeline, graph: Graph, X: Any) -> Any:
    for one in working_steps(step):
        X = transformed(one, graph, X)
    return X


@steps.register
def _frozen(step: FrozenEstimator, graph: Graph, X: Any) -> Any:
    return transformed(step.estimator, graph, X)


@steps.register
def _nothing(step: FunctionTransformer, graph: Graph, X: str) -> str:
    if step.func is not None:
        raise TypeError(
            f"onnx.export: FunctionTransformer calls {step.func!r}, which a graph "
            "cannot."
        )
    return X


@steps.register
def _standard(step: StandardScaler, graph: Graph, X: str) -> str:
    X = graph("Sub", X, step.mean_) if step.with_mean else X
    return graph("Div", X, step.scale_) if step.with_std else X


@steps.register
def _robust(step: RobustScaler, graph: Graph, X: str) -> str:
    X = graph("Sub", X, step.center_) if step.with_centering else X
    return graph("Div", X, step.scale_) if step.with_scaling else X


@steps.register
def _min_max(step: MinMaxScaler, graph: Graph, X: str) -> str:
    X = graph("Add", graph("Mul", X, step.scale_), step.min_)
    if step.clip:
        low, high = map(float, step.feature_range)
        X = graph("Max", graph("Min", X, high), low)
    return X


@steps.register
def _max_abs(step: MaxAbsScaler, graph: Graph, X: str) -> str:
    X = graph("Div", X, step.scale_)
    if getattr(step, "clip", False):
        X = graph("Max", graph("Min", X, 1.0), -1.0)
    return X


@steps.register
def _imputed(step: SimpleImputer, graph: Graph, X: Any) -> Any:
    if isinstance(X, Table):
        return tables.filled_text(step, graph, X)
    try:
        numbers = np.asarray(step.statistics_, dtype=np.float64)
    except ValueError:
        raise TypeError(
            f"onnx.export: SimpleImputer fills in text, {step.statistics_!r}, and the "
            f"graph takes one tensor of numbers; {tables.WAY_OUT}"
        ) from None
    absent = _absent(graph, X, step.missing_values)
    kept = np.flatnonzero(~np.isnan(numbers))
    filled = graph("Where", absent, np.nan_to_num(numbers), X)
    if len(kept) < len(numbers) and not step.keep_empty_features:
        filled = graph("Gather", filled, kept, axis=1)
    if step.indicator_ is None:
        return filled
    return graph("Concat", filled, transformed(step.indicator_, graph, X), axis=1)


@steps.register
def _indicator(step: MissingIndicator, graph: Graph, X: str) -> str:
    marks = graph.cast(_absent(graph, X, step.missing_values), graph.dtype)
    return graph("Gather", marks, step.features_.astype(np.int64), axis=1)


def _absent(graph: Graph, X: str, mark: Any) -> str:
    is_nan = isinstance(mark, float) and np.isnan(mark)
    return graph("IsNaN", X) if is_nan else graph("Equal", X, float(mark))


@steps.register
def _one_hot(step: OneHotEncoder, graph: Graph, X: Any) -> str:
    return tables.one_hot(step, graph, X)


@steps.register
def _read_numbers(step: Numbers, graph: Graph, X: str) -> str:
    return X


@steps.register
def _read_texts(step: Texts, graph: Graph, X: Any) -> Any:
    return X


@steps.register
def _read_dates(step: DateParts, graph: Graph, X: Any) -> str:
    return tables.date_parts(graph, X)


@steps.register
def _by_columns(step: ColumnTransformer, graph: Graph, X: Any) -> str:
    parts = []
    for name, one, chosen in step.transformers_:
        is_word = isinstance(one, str)
        places = tables.places(step, [] if is_word and one == "drop" else chosen)
        if len(places):
            part = _chosen(graph, X, places)
            parts.append(part if is_word else transformed(one, graph, part))
            if isinstance(parts[-1], Table):
                raise TypeError(
                    f"onnx.export: the part {name!r} of a ColumnTransformer gives text "
                    f"or dates, and what follows takes numbers; {tables.WAY_OUT}"
                )
    return graph("Concat", *parts, axis=1)


def _chosen(graph: Graph, X: Any, places: np.ndarray) -> Any:
    if isinstance(X, Table):
        return X.chosen(graph, places)
    return graph("Gather", X, places, axis=1)
