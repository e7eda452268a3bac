"""Columns k(x, landmarks) of kernels as operators."""

from __future__ import annotations

from functools import singledispatch
from math import factorial as f
from typing import Any

import numpy as np
from scipy import sparse

from .. import laws
from .._columns import Columns, Distance, Function, Precomputed
from .graph import Graph

LARGEST_ORDER = 20
"""ν − ½ of Matérn kernels whose polynomial is written out."""

DIFFERENCES = 1 << 14
"""Differences of coordinates that exist at a time, for each row."""


@singledispatch
def columns(made: Columns, graph: Graph, X: str) -> str:
    """k(x, landmarks) of rows X, (n, n_landmarks)."""
    raise TypeError(f"onnx.export: {type(made).__name__} has no operators in ONNX.")


@columns.register
def _precomputed(made: Precomputed, graph: Graph, X: str) -> str:
    return graph("Gather", X, made.indices.astype(np.int64), axis=1)


@columns.register
def _distance(made: Distance, graph: Graph, X: str) -> str:
    landmarks = _dense(made.landmarks)
    moved = X if made.origin is None else graph("Sub", X, made.origin)
    # onnxruntime would fuse one number for all columns with a product, in float32
    moved = graph("Mul", moved, np.broadcast_to(made.scale, made.n_features))
    last = np.array([-1])
    if made.law.metric == "cityblock":
        return kernel_of(made.law, graph, _cityblock(graph, moved, landmarks))
    squares = graph("ReduceSumSquare", moved, last, keepdims=1)
    crossed = graph("MatMul", moved, -2 * landmarks.T)
    D = graph("Add", graph("Add", crossed, squares), made.squares)
    return kernel_of(made.law, graph, graph("Max", D, 0.0))


def _cityblock(graph: Graph, X: str, landmarks: np.ndarray) -> str:
    """‖x − l‖₁, (n, m), of some landmarks at a time: all differences are n·m·d."""
    m, d = landmarks.shape
    step, last = max(1, DIFFERENCES // d), np.array([-1])
    rows = graph("Unsqueeze", X, np.array([1]))
    parts = []
    for start in range(0, m, step):
        apart = graph("Sub", rows, landmarks[start : start + step])
        parts.append(graph("ReduceL1", apart, last, keepdims=0))
    return graph("Concat", *parts, axis=1)


@columns.register
def _function(made: Function, graph: Graph, X: str) -> str:
    raise TypeError(
        f"onnx.export: columns of {made.function!r} have no operators in ONNX; take a "
        "kernel of distances, or random features."
    )


def _dense(landmarks: Any) -> np.ndarray:
    return landmarks.toarray() if sparse.issparse(landmarks) else landmarks


@singledispatch
def kernel_of(law: laws.Law, graph: Graph, D: str) -> str:
    """The kernel from distances in the law's metric."""
    raise TypeError(f"onnx.export: {type(law).__name__} has no operators in ONNX.")


@kernel_of.register
def _normal(law: laws.Normal, graph: Graph, D: str) -> str:
    return graph("Exp", graph("Mul", D, -0.5 * float(law.scale) ** 2))


@kernel_of.register
def _cauchy_product(law: laws.CauchyProduct, graph: Graph, D: str) -> str:
    return graph("Exp", graph("Mul", D, -float(law.scale)))


@kernel_of.register
def _variance_gamma(law: laws.VarianceGamma, graph: Graph, D: str) -> str:
    factor = float(law.scale) ** 2 / (2 * float(law.alpha))
    return graph("Pow", graph("Add", graph("Mul", D, factor), 1.0), -float(law.alpha))


@kernel_of.register
def _ball(law: laws.Ball, graph: Graph, D: str) -> str:
    r = graph("Min", graph("Mul", graph("Sqrt", D), float(law.scale)), 1.0)
    cubic = graph("Mul", graph("Sub", graph("Mul", graph("Mul", r, r), 0.5), 1.5), r)
    return graph("Add", cubic, 1.0)


@kernel_of.register
def _student(law: laws.Student, graph: Graph, D: str) -> str:
    """exp(−t) times a polynomial of degree p in t = √(2ν)‖δ‖s, for ν = p + ½."""
    p = float(law.nu) - 0.5
    if p != int(p) or not 0 <= p <= LARGEST_ORDER:
        raise TypeError(
            "onnx.export: Matérn kernels are made of ONNX operators for ν = ½, 1½, 2½, "
            f"… up to {LARGEST_ORDER + 0.5}; got ν = {law.nu}. Random features "
            "(methods.sorf) export with any."
        )
    t = graph("Mul", graph("Sqrt", D), float((2 * law.nu) ** 0.5 * law.scale))
    value = graph.constant(_coefficients(int(p))[-1])
    for coefficient in _coefficients(int(p))[-2::-1]:
        value = graph("Add", graph("Mul", value, t), float(coefficient))
    return graph("Mul", value, graph("Exp", graph("Neg", t)))


def _coefficients(p: int) -> list[float]:
    """Of t⁰, t¹, …: p!/(2p)! · Σ_i (p + i)!/(i! (p − i)!) (2t)^{p − i}."""
    lead = f(p) / f(2 * p)
    falling = [lead * f(p + i) / (f(i) * f(p - i)) * 2 ** (p - i) for i in range(p + 1)]
    return falling[::-1]
