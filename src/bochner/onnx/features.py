"""Feature maps as operators: nonlinearities of projections."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np

from ..compression.jl import SketchedMap
from ..feature_map import FeatureMap
from ..nonlinearities import SampledNonlinearity
from ..nonlinearities.argmax_code import SampledCodes, SampledOneHot
from ..nonlinearities.cosine import SampledCos, SampledCosSin
from ..nonlinearities.maxout import SampledMaxout, SampledPool
from ..nonlinearities.rectified import SampledReLU, SampledSign
from ..nystroem import NystroemMap
from .graph import Graph
from .kernels import columns
from .linear_maps import applied

Project = Callable[[int], str]
"""Projections of rows by the linear map of a stage."""


@singledispatch
def features(made: Any, graph: Graph, X: str) -> str:
    """φ(x) of rows X, (n, n_components)."""
    raise TypeError(f"onnx.export: {type(made).__name__} has no operators in ONNX.")


@features.register
def _feature_map(made: FeatureMap, graph: Graph, X: str) -> str:
    made = made.astype(graph.dtype)
    stages = made.stages
    F = bent(made.nonlinearity, graph, X, lambda j: applied(stages[j], graph, X))
    return F if made.amplitudes is None else graph("Mul", F, made.amplitudes)


@features.register
def _sketched(made: SketchedMap, graph: Graph, X: str) -> str:
    Z = features(made.candidates, graph, X)
    return applied(made.linear.astype(graph.dtype), graph, Z)


@features.register
def _nystroem(made: NystroemMap, graph: Graph, X: str) -> str:
    return graph("MatMul", columns(made.columns, graph, X), made.mixing)


@singledispatch
def bent(sampled: SampledNonlinearity, graph: Graph, X: str, project: Project) -> str:
    """Features of projections."""
    raise TypeError(f"onnx.export: {type(sampled).__name__} has no operators in ONNX.")


@bent.register
def _cos_sin(sampled: SampledCosSin, graph: Graph, X: str, project: Project) -> str:
    Z = project(0)
    both = graph("Concat", _cosine(graph, Z), graph("Sin", Z), axis=1)
    return graph.scaled(both, sampled.scale, sampled.n_out)


@bent.register
def _cos(sampled: SampledCos, graph: Graph, X: str, project: Project) -> str:
    phases = graph("Add", project(0), 2 * np.pi * sampled.biases.astype(np.float64))
    return graph.scaled(_cosine(graph, phases), sampled.scale, sampled.n_out)


def _cosine(graph: Graph, Z: str) -> str:
    """cos z; earlier versions of onnxruntime have none for float64, but a sine."""
    if graph.dtype == np.float32:
        return graph("Cos", Z)
    return graph("Sin", graph("Add", Z, np.pi / 2))


@bent.register
def _relu(sampled: SampledReLU, graph: Graph, X: str, project: Project) -> str:
    return graph.scaled(graph("Relu", project(0)), sampled.scale, sampled.n_out)


@bent.register
def _sign(sampled: SampledSign, graph: Graph, X: str, project: Project) -> str:
    above = graph.cast(graph("Greater", project(0), 0.0), graph.dtype)
    return graph.scaled(above, sampled.scale, sampled.n_out)


@bent.register
def _maxout(sampled: SampledMaxout, graph: Graph, X: str, project: Project) -> str:
    Z = [project(stage) for stage in range(sampled.n_stages)]
    return _finished(sampled, graph, X, graph("Max", *Z) if len(Z) > 1 else Z[0])


@bent.register
def _pool(sampled: SampledPool, graph: Graph, X: str, project: Project) -> str:
    Z = project(0)
    members = [graph("Gather", Z, m.astype(np.int64), axis=1) for m in sampled.members]
    largest = graph("Max", *members) if len(members) > 1 else members[0]
    return _finished(sampled, graph, X, largest)


def _finished(sampled: Any, graph: Graph, X: str, largest: str) -> str:
    """Divided by √M, and centred where that was asked for."""
    scale = sampled.n_units**-0.5
    F = graph.scaled(largest, scale, sampled.n_units)
    if not sampled.mean:
        return F
    # ReduceL2 of float64 is rounded to float32 in earlier versions of onnxruntime
    squares = graph("ReduceSumSquare", X, np.array([1]), keepdims=1)
    lengths = graph("Sqrt", squares)
    return graph("Sub", F, graph("Mul", lengths, float(sampled.mean * scale)))


@bent.register
def _codes(sampled: SampledCodes, graph: Graph, X: str, project: Project) -> str:
    code = np.min_scalar_type(sampled.n_stages - 1)
    return graph.cast(_winners(sampled, graph, project), code)


@bent.register
def _onehot(sampled: SampledOneHot, graph: Graph, X: str, project: Project) -> str:
    winners = graph("Unsqueeze", _winners(sampled, graph, project), np.array([2]))
    # the operator OneHot is not there for float64
    hot = graph.cast(graph("Equal", winners, np.arange(sampled.n_stages)), graph.dtype)
    hot = graph.reshape(hot, 0, sampled.n_out)
    return graph.scaled(hot, sampled.n_in**-0.5, sampled.n_out)


def _winners(sampled: SampledCodes, graph: Graph, project: Project) -> str:
    """The stage of the largest projection of every unit, the first of equal ones."""
    axis = np.array([1])
    stages = range(sampled.n_stages)
    Z = [graph("Unsqueeze", project(stage), axis) for stage in stages]
    return graph("ArgMax", graph("Concat", *Z, axis=1), axis=1, keepdims=0)
