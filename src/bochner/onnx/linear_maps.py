"""Linear maps as operators: structures stay structures.

| map | operators | a row |
|---|---|---|
| dense | one product | d·m |
| Hadamard | H_d = H_a ⊗ H_b: two products with small matrices | m·√d |
| circulant | an FFT of d = a·b in two steps, as products | (m + d)·√d |
| sparse, block-diagonal | gathered columns times their entries, summed | non-zeros |
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import hadamard

from ..nonlinearities.phases import ReducedPhases
from ..projections import Compose, LinearMap, Matrix, Pad, Permute, Rows, Scale, Stack
from ..projections.circulant import CirculantMap
from ..projections.hadamard import Hadamard, HadamardChain
from ..projections.sparse import SingleEntry, SparseMatrix
from .fourier import convolved, factors_of
from .graph import Graph

DENSE_SPEED = 8
"""Rows with one entry in so many are gathered: 1.6 times (float64: 3.4 times) slower
there than the matrix written out, and faster from 16 (64) on; the file is smaller."""


@singledispatch
def applied(linear: LinearMap, graph: Graph, X: str) -> str:
    """X Wᵀ, (n, n_out); a map without operators of its own is written out."""
    return graph("MatMul", X, linear.to_dense().T)


@applied.register
def _matrix(linear: Matrix, graph: Graph, X: str) -> str:
    return graph("MatMul", X, linear.transposed)


@applied.register
def _scale(linear: Scale, graph: Graph, X: str) -> str:
    return graph("Mul", X, linear.factors)


@applied.register
def _compose(linear: Compose, graph: Graph, X: str) -> str:
    return applied(linear.outer, graph, applied(linear.inner, graph, X))


@applied.register
def _stack(linear: Stack, graph: Graph, X: str) -> str:
    parts = [applied(part, graph, X) for part in linear.maps]
    return graph("Concat", *parts, axis=1)


@applied.register
def _pad(linear: Pad, graph: Graph, X: str) -> str:
    n_out, n_in = linear.shape
    if n_out <= n_in:
        return X if n_out == n_in else graph.first(X, n_out)
    return graph("Pad", X, np.array([0, 0, 0, n_out - n_in], dtype=np.int64))


@applied.register
def _permute(linear: Permute, graph: Graph, X: str) -> str:
    return graph("Gather", X, linear.order.astype(np.int64), axis=1)


@applied.register
def _rows(linear: Rows, graph: Graph, X: str) -> str:
    Z = applied(linear.linear, graph, X)
    return graph("Gather", Z, linear.kept.astype(np.int64), axis=1)


@applied.register
def _reduced(linear: ReducedPhases, graph: Graph, X: str) -> str:
    if graph.dtype == np.float64:
        return applied(linear.wide, graph, X)
    with graph.computing_in(np.float64):
        Z = applied(linear.wide, graph, graph.cast(X, np.float64))
        turns = graph("Round", graph("Mul", Z, 1 / (2 * np.pi)))
        Z = graph("Sub", Z, graph("Mul", turns, 2 * np.pi))
    return graph.cast(Z, graph.dtype)


@applied.register
def _hadamard(linear: Hadamard, graph: Graph, X: str) -> str:
    a, b = factors_of(linear.d)
    T = _transformed(graph, graph.reshape(X, 0, a, b), a, b)
    return graph.reshape(T, 0, linear.d)


@applied.register
def _chain(linear: HadamardChain, graph: Graph, X: str) -> str:
    n_steps, n_blocks, d = linear.factors.shape
    a, b = factors_of(d)
    T = applied(Pad((d, linear.n_in), linear.dtype), graph, X)
    if _moves(linear.orders[0]):
        orders = np.broadcast_to(linear.orders[0], (n_blocks, d)).ravel()
        T = graph("Gather", T, orders.astype(np.int64), axis=1)
        T = graph.reshape(T, 0, n_blocks, a, b)
    else:
        T = graph.reshape(T, 0, 1, a, b)
    for k in range(n_steps):
        if k > 0 and _moves(linear.orders[k]):
            order = (linear.orders[k] + d * np.arange(n_blocks)[:, None]).ravel()
            flat = graph.reshape(T, 0, n_blocks * d)
            T = graph("Gather", flat, order.astype(np.int64), axis=1)
            T = graph.reshape(T, 0, n_blocks, a, b)
        T = graph("Mul", T, linear.factors[k].reshape(n_blocks, a, b))
        T = _transformed(graph, T, a, b)
    Z = graph.first(graph.reshape(T, 0, n_blocks * d), linear.scale.size)
    return graph("Mul", Z, linear.scale)


def _moves(orders: np.ndarray) -> bool:
    return bool((orders != np.arange(orders.shape[-1])).any())


def _transformed(graph: Graph, T: str, a: int, b: int) -> str:
    """Walsh-Hadamard transform of (…, a, b): H_{ab} = H_a ⊗ H_b."""
    T = graph("MatMul", T, hadamard(b).astype(graph.dtype))
    return graph("MatMul", hadamard(a).astype(graph.dtype), T)


@applied.register
def _circulant(linear: CirculantMap, graph: Graph, X: str) -> str:
    n_out, d = linear.scale.size, linear.vectors.shape[1]
    signed = graph("Mul", X, linear.signs)
    T = applied(Pad((d, linear.signs.size), linear.dtype), graph, signed)
    rows = convolved(graph, T, linear.vectors)
    return graph("Mul", graph.first(rows, n_out), linear.scale)


@applied.register
def _sparse(linear: SparseMatrix, graph: Graph, X: str) -> str:
    return _gathered(linear.by_output, graph, X)


@applied.register
def _single(linear: SingleEntry, graph: Graph, X: str) -> str:
    n_in = linear.outputs.size
    parts = (linear.values, (linear.outputs, np.arange(n_in)))
    return _gathered(sparse.csr_matrix(parts, shape=linear.shape), graph, X)


def _gathered(W: Any, graph: Graph, X: str) -> str:
    """X Wᵀ for a sparse W, whose rows are filled up with zeros to one length.

    Some rows of W at a time, so that what is gathered is never larger than X: it stays
    in the cache.
    """
    W = sparse.csr_matrix(W)
    n_out, n_in = W.shape
    lengths = np.diff(W.indptr)
    width = max(1, int(lengths.max(initial=0)))
    if width * DENSE_SPEED > n_in:
        return graph("MatMul", X, W.toarray().T)
    filled = np.arange(width) < lengths[:, None]
    places = np.zeros((n_out, width), dtype=np.int64)
    values = np.zeros((n_out, 1, width), dtype=W.dtype)
    places[filled], values[:, 0][filled] = W.indices, W.data
    # columns of X are rows of Xᵀ: whole runs of memory are gathered
    turned = graph("Transpose", X, perm=[1, 0])
    parts, step = [], n_in // width
    for start in range(0, n_out, step):
        rows = slice(start, start + step)
        part = graph("Gather", turned, places[rows].ravel(), axis=0)
        part = graph.reshape(part, len(places[rows]), width, -1)
        parts.append(graph("MatMul", values[rows], part))
    sums = graph("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]
    return graph("Transpose", graph.reshape(sums, n_out, -1), perm=[1, 0])
