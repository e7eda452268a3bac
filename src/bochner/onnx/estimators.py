"""Whole models as operators: what goes in and what comes out."""

from __future__ import annotations

import json
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ..compact import CompactMap
from ..estimators import KernelClassifier, KernelPCA, KernelRegressor
from .graph import Graph
from .tables import Table, rows, working_steps
from .transformers import scores, transformed

Outputs = dict[str, tuple[str, Any, list[Any]]]
"""Tensors by name, with their types and shapes."""


def built(model: Any, dtype: Any, return_std: bool) -> Any:
    """The ONNX model of a fitted one."""
    found = _flat(model)
    *before, last = found
    graph = Graph(dtype, int(found[0].n_features_in_))
    X: Any = rows(found[0], graph)
    told = {"bochner.model": type(last).__name__} | _columns(model, X)
    for step in before:
        X = transformed(step, graph, X)
    results = said(last, graph, X)
    if return_std:
        results |= _deviations(last, graph, X)
    return graph.model(results, **told)


def _flat(model: Any) -> list[Any]:
    """The steps of a model that do something, those of Pipelines inside too."""
    while isinstance(model, FrozenEstimator):
        model = model.estimator
    if not isinstance(model, Pipeline):
        return [model]
    return [one for step in working_steps(model) for one in _flat(step)]


def _columns(model: Any, X: Any) -> dict[str, str]:
    """What the file tells of columns: their names, and kinds if they are inputs."""
    told = {}
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        told["bochner.columns"] = json.dumps(list(names))
    if isinstance(X, Table):
        pairs = zip(X.tensors, X.kinds, strict=True)
        told["bochner.kinds"] = json.dumps({n: kind for n, kind in pairs if n})
    return told


def said(model: Any, graph: Graph, X: str) -> Outputs:
    """What a model says of rows, by name."""
    # as for transformers, a subclass may say something else
    own = type(model) in outputs.registry
    return outputs(model, graph, X) if own else _features(model, graph, X)


def _features(model: Any, graph: Graph, X: str) -> Outputs:
    tensor = transformed(model, graph, X)
    return {"features": (tensor, _dtype_of_features(model, graph), ["n", None])}


@singledispatch
def outputs(model: Any, graph: Graph, X: str) -> Outputs:
    """Outputs by the type of the model."""
    raise NotImplementedError


def _dtype_of_features(model: Any, graph: Graph) -> Any:
    """Whole numbers of codes, or the graph's own type."""
    nonlinearity = getattr(getattr(model, "feature_map_", None), "nonlinearity", None)
    if nonlinearity is None:
        return graph.dtype
    empty = nonlinearity.features(nonlinearity.empty(0, graph.dtype), graph.dtype)
    return empty.dtype


@outputs.register
def _classifier(model: KernelClassifier, graph: Graph, X: str) -> Outputs:
    S = scores(graph, X, model.features_, model._columns, model.intercept_)
    found = _classes(model.classes_, graph, S, len(model.intercept_))
    if hasattr(model, "predict_proba"):
        P = _probabilities(graph, S, len(model.intercept_), model._temperature)
        found["probabilities"] = (P, graph.dtype, ["n", len(model.classes_)])
    return found


def _classes(labels: np.ndarray, graph: Graph, S: str, n_scores: int) -> Outputs:
    """Labels of the largest score; with one score of its sign."""
    if n_scores == 1:
        winner = graph.cast(graph("Greater", graph.reshape(S, -1), 0.0), np.int64)
    else:
        winner = graph("ArgMax", S, axis=1, keepdims=0)
    names, dtype = _labels(labels)
    label = graph("Gather", graph.exact(names), winner, axis=0)
    shape = ["n"] if n_scores == 1 else ["n", n_scores]
    S = graph.reshape(S, -1) if n_scores == 1 else S
    return {"label": (label, dtype, ["n"]), "scores": (S, graph.dtype, shape)}


def _labels(labels: np.ndarray) -> tuple[np.ndarray, Any]:
    """Labels as ONNX has them: whole numbers, floats, truth values or text."""
    if labels.dtype.kind in "iu" and labels.max() <= np.iinfo(np.int64).max:
        return labels.astype(np.int64), np.int64
    if labels.dtype.kind in "fb":
        return labels, labels.dtype
    if all(isinstance(label, str) for label in labels.tolist()):
        return labels.astype(object), str
    raise TypeError(
        "onnx.export: labels must be numbers (of at most 64 bits with their sign) or "
        f"text; got {labels!r}."
    )


def _probabilities(graph: Graph, S: str, n_scores: int, temperature: float) -> str:
    scaled = graph("Mul", S, float(temperature))
    if n_scores > 1:
        return graph("Softmax", scaled, axis=1)
    both = graph("Concat", graph("Neg", scaled), scaled, axis=1)
    return graph("Sigmoid", both)


@outputs.register
def _regressor(model: KernelRegressor, graph: Graph, X: str) -> Outputs:
    S = scores(graph, X, model.features_, model._B, model._b)
    return {"prediction": _numbers(graph, S, len(model._b), model._flat)}


def _numbers(graph: Graph, S: str, n: int, flat: bool) -> tuple[str, Any, list[Any]]:
    if flat:
        return graph.reshape(S, -1), graph.dtype, ["n"]
    return S, graph.dtype, ["n", n]


def _deviations(model: Any, graph: Graph, X: str) -> Outputs:
    """√(noise (1 + φᵀ(FᵀF + αI)⁻¹φ)), in float64 whatever the graph's type."""
    if not isinstance(model, KernelRegressor):
        raise ValueError(
            "onnx.export: return_std=True is for KernelRegressor; got "
            f"{type(model).__name__}."
        )
    if model._posterior is None:
        raise ValueError(
            "onnx.export: return_std=True needs the deviations that a KernelRegressor "
            f"of so many features ({model.coef_.shape[-1]}) does not keep; use fewer."
        )
    F = transformed(model.features_, graph, X)
    F = graph.cast(F, np.float64)
    posterior, noise = model._posterior, np.atleast_1d(model.noise_)
    with graph.computing_in(np.float64):
        A = graph("Sub", graph("MatMul", F, posterior.root), posterior.shift)
        spread = graph("ReduceSumSquare", A, np.array([1]), keepdims=1)
        spread = graph("Add", spread, 1.0 + float(posterior.constant))
        std = graph("Sqrt", graph("Mul", spread, noise.astype(np.float64)))
    std = graph.cast(std, graph.dtype)
    return {"std": _numbers(graph, std, len(noise), model._flat)}


@outputs.register
def _components(model: KernelPCA, graph: Graph, X: str) -> Outputs:
    shape = ["n", len(model.components_)]
    return {"components": (transformed(model, graph, X), graph.dtype, shape)}


@outputs.register
def _compact(model: CompactMap, graph: Graph, X: str) -> Outputs:
    """Features, and what the head that was learned along says of them."""
    F = transformed(model, graph, X)
    n_components = model.feature_map_.n_components
    found: Outputs = {"features": (F, graph.dtype, ["n", n_components])}
    targets: Any = model._fitted[-1]
    if targets is None:
        return found
    S = graph("Add", graph("MatMul", F, model.coef_.T), model.intercept_)
    if hasattr(model, "classes_"):
        return found | _classes(model.classes_, graph, S, len(model.intercept_))
    S = graph("Add", graph("Mul", S, targets.deviation), targets.mean)
    n_targets = len(model.intercept_)
    return found | {"prediction": _numbers(graph, S, n_targets, targets.flat)}
