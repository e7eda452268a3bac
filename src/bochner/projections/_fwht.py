"""Compiled Walsh-Hadamard transforms: functions on arrays, without validation.

Eight rows of data are transposed into a flat buffer T, in which T[8j : 8j + 8] holds
coordinate j of the eight rows. Every butterfly is then a vector operation. Stages are
computed three at a time, first inside chunks that fit into the first-level cache, then
across chunks, so that a long transform passes over memory only a few times.
"""

from __future__ import annotations

import numpy as np

from .._core._compiled import compiled
from ._simd import LANES, from_lanes, load, splat, store, to_lanes

CHUNK_BYTES = 1 << 14


@compiled()
def fwht_rows(X):
    """Each row of X, (n, 2^p), times the ±1 Hadamard matrix; n d log2(d) additions."""
    n, d = X.shape
    T = np.zeros(LANES * d, X.dtype)
    ones = np.ones(d, X.dtype)
    for r in range(0, n, LANES):
        rows = X[r : r + LANES]
        to_lanes(rows, T)
        _transform(T, d)
        from_lanes(T, ones, rows)


@compiled()
def chain_dense(X, orders, factors, scale, Z):
    """Z = X Wᵀ for the Hadamard chain W that `_chain` describes."""
    d = factors.shape[2]
    T = np.zeros(LANES * d, X.dtype)
    A, B = np.empty_like(T), np.empty_like(T)
    for r in range(0, X.shape[0], LANES):
        to_lanes(X[r : r + LANES], T)
        _chain(T, orders, factors, scale, A, B, Z[r : r + LANES])


@compiled()
def chain_csr(data, indices, indptr, orders, factors, scale, Z):
    """Z = X Wᵀ for X as CSR arrays: eight rows at a time are scattered into T."""
    n, d = Z.shape[0], factors.shape[2]
    T = np.zeros(LANES * d, data.dtype)
    A, B = np.empty_like(T), np.empty_like(T)
    for r in range(0, n, LANES):
        T[:] = 0
        for v in range(min(LANES, n - r)):
            for p in range(indptr[r + v], indptr[r + v + 1]):
                T[LANES * indices[p] + v] += data[p]
        _chain(T, orders, factors, scale, A, B, Z[r : r + LANES])


@compiled()
def _chain(T, orders, factors, scale, A, B, Z):
    """For each block: S · Π_k (H F_k P_k) on the eight rows in T, written to Z.

    orders (K, blocks or 1, d), factors (K, blocks, d), scale (n_out,). Permutations and
    diagonals are applied in the first two stages of the transform that follows them.
    """
    K, blocks, d = factors.shape
    n_out = scale.size
    for block in range(blocks):
        o = block if orders.shape[1] > 1 else 0
        _permute_scale_transform(T, orders[0, o], factors[0, block], A)
        for k in range(1, K):
            _permute_scale_transform(A, orders[k, o], factors[k, block], B)
            A, B = B, A
        start = block * d
        stop = min(start + d, n_out)
        from_lanes(A, scale[start:stop], Z[:, start:stop])


@compiled()
def _transform(T, d):
    """T = H T: all stages of one transform."""
    chunk = min(d, CHUNK_BYTES // (LANES * T.itemsize))
    for c in range(0, d, chunk):
        _stages(T[LANES * c : LANES * (c + chunk)], 1, chunk)
    _stages(T, chunk, d)


@compiled()
def _permute_scale_transform(source, order, factors, T):
    """T = H (factors ∘ source[order]); d ≥ 4."""
    d = order.size
    chunk = min(d, CHUNK_BYTES // (LANES * T.itemsize))
    for c in range(0, d, chunk):
        _first_stages(
            source, order[c : c + chunk], factors[c : c + chunk], T[LANES * c :]
        )
        _stages(T[LANES * c : LANES * (c + chunk)], 4, chunk)
    _stages(T, chunk, d)


@compiled()
def _first_stages(source, order, factors, T):
    """The first two stages, on permuted and scaled groups of four coordinates."""
    for j in range(0, order.size, 4):
        a = splat(factors[j]) * load(source, LANES * order[j])
        b = splat(factors[j + 1]) * load(source, LANES * order[j + 1])
        c = splat(factors[j + 2]) * load(source, LANES * order[j + 2])
        e = splat(factors[j + 3]) * load(source, LANES * order[j + 3])
        p, q, r, s = a + b, a - b, c + e, c - e
        i = LANES * j
        store(T, i, p + r)
        store(T, i + LANES, q + s)
        store(T, i + 2 * LANES, p - r)
        store(T, i + 3 * LANES, q - s)


@compiled()
def _stages(T, h, d):
    """All stages with distances h, 2h, … below d."""
    while 8 * h <= d:
        _radix8(T, LANES * h)
        h *= 8
    if 4 * h <= d:
        _radix4(T, LANES * h)
        h *= 4
    if 2 * h <= d:
        _radix2(T, LANES * h)


@compiled()
def _radix2(T, w):
    for start in range(0, T.size, 2 * w):
        for i in range(start, start + w, LANES):
            a, b = load(T, i), load(T, i + w)
            store(T, i, a + b)
            store(T, i + w, a - b)


@compiled()
def _radix4(T, w):
    for start in range(0, T.size, 4 * w):
        for i in range(start, start + w, LANES):
            a, b = load(T, i), load(T, i + w)
            c, e = load(T, i + 2 * w), load(T, i + 3 * w)
            p, q, r, s = a + b, a - b, c + e, c - e
            store(T, i, p + r)
            store(T, i + w, q + s)
            store(T, i + 2 * w, p - r)
            store(T, i + 3 * w, q - s)


@compiled()
def _radix8(T, w):
    for start in range(0, T.size, 8 * w):
        for i in range(start, start + w, LANES):
            a, b = load(T, i), load(T, i + w)
            c, e = load(T, i + 2 * w), load(T, i + 3 * w)
            p, q, r, s = a + b, a - b, c + e, c - e
            a0, a1, a2, a3 = p + r, q + s, p - r, q - s
            a, b = load(T, i + 4 * w), load(T, i + 5 * w)
            c, e = load(T, i + 6 * w), load(T, i + 7 * w)
            p, q, r, s = a + b, a - b, c + e, c - e
            b0, b1, b2, b3 = p + r, q + s, p - r, q - s
            store(T, i, a0 + b0)
            store(T, i + w, a1 + b1)
            store(T, i + 2 * w, a2 + b2)
            store(T, i + 3 * w, a3 + b3)
            store(T, i + 4 * w, a0 - b0)
            store(T, i + 5 * w, a1 - b1)
            store(T, i + 6 * w, a2 - b2)
            store(T, i + 7 * w, a3 - b3)
