"""The ONNX model of a fitted model: its inputs, its steps, its results."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from .._core.sklearn_steps import column_kinds, column_names, working_steps
from .._core.steps import DATES, NUMBERS, TEXT, Table, forward, has_forward
from .onnx_graph import INPUT, Graph


def written(model: Any, dtype: np.dtype, return_std: bool) -> Any:
    """The ONNX model of a fitted one."""
    steps = _flat_steps(model)
    *before, last = steps
    graph = Graph(dtype, int(steps[0].n_features_in_))
    X = _inputs(steps[0], graph)
    metadata = {"bochner.model": type(last).__name__} | _columns(model, X)
    for step in before:
        X = forward(step, graph, X)
    if hasattr(last, "outputs") and has_forward(type(last)):
        results = last.outputs(graph, X)
    else:
        results = {"features": forward(last, graph, X)}
    if return_std:
        if not hasattr(last, "forward_std"):
            raise ValueError(
                "onnx.export: return_std=True is for KernelRegressor; got "
                f"{type(last).__name__}."
            )
        results["std"] = last.forward_std(graph, X)
    return graph.model(results, **metadata)


def _flat_steps(model: Any) -> list[Any]:
    """The steps of a model that do something, those of Pipelines inside too."""
    while isinstance(model, FrozenEstimator):
        model = model.estimator
    if not isinstance(model, Pipeline):
        return [model]
    return [one for step in working_steps(model) for one in _flat_steps(step)]


def _inputs(step: Any, graph: Graph) -> str | Table:
    """What the first step takes: the tensor X, or columns if some are not numbers."""
    kinds = column_kinds(step) if isinstance(step, ColumnTransformer) else []
    if not {TEXT, DATES} & set(kinds):
        return INPUT
    types = {NUMBERS: graph.dtype, TEXT: str, DATES: np.int64}
    pairs = zip(column_names(step), kinds, strict=True)
    tensors = [graph.column(n, types[k]) if k else None for n, k in pairs]
    return Table(tuple(tensors), tuple(kinds))


def _columns(model: Any, X: Any) -> dict[str, str]:
    """Names of columns for the file's metadata, and kinds if they are inputs."""
    metadata = {}
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        metadata["bochner.columns"] = json.dumps(list(names))
    if isinstance(X, Table):
        pairs = zip(X.tensors, X.kinds, strict=True)
        metadata["bochner.kinds"] = json.dumps({n: kind for n, kind in pairs if n})
    return metadata
