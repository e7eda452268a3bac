"""Compiled products with sparse matrices: functions on arrays, without validation."""

from __future__ import annotations

import numpy as np

from .._core._compiled import compiled
from ._simd import LANES, fma, from_lanes, load, splat, store, to_lanes, transpose

COLUMNS = 512
"""Columns of a wide matrix that are transposed into lanes at a time."""


@compiled()
def csr_times_dense(data, indices, indptr, B, out):
    """out = A B for A as CSR arrays, B (d, m) and out (n, m); nnz·m multiply-adds."""
    m = B.shape[1]
    for i in range(indptr.size - 1):
        z = out[i, :m]
        z[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            b = B[indices[p], :m]
            value = data[p]
            for j in range(m):
                z[j] += value * b[j]


@compiled()
def csr_times_csr(data, indices, indptr, values, columns, starts, out):
    """out = A B, dense, for A and B as CSR arrays; one step per pair of entries."""
    for i in range(indptr.size - 1):
        z = out[i]
        z[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            for q in range(starts[j], starts[j + 1]):
                z[np.uintp(columns[q])] += data[p] * values[q]


@compiled()
def dense_times_rows(X, values, columns, starts, out):
    """out = X Wᵀ for W as CSR arrays, output by output, with random reads of columns.

    For few columns, eight rows of X in lanes stay in the cache.
    """
    n_out = starts.size - 1
    T = np.zeros(LANES * X.shape[1], X.dtype)
    Z, ones = np.empty(LANES * n_out, X.dtype), np.ones(n_out, X.dtype)
    zero = splat(X.dtype.type(0))
    for r in range(0, X.shape[0], LANES):
        to_lanes(X[r : r + LANES], T)
        for i in range(n_out):
            even, odd = zero, zero  # two sums, to hide the latency of the addition
            start, stop = starts[i], starts[i + 1]
            for p in range(start, stop - 1, 2):
                even = fma(splat(values[p]), load(T, LANES * columns[p]), even)
                odd = fma(splat(values[p + 1]), load(T, LANES * columns[p + 1]), odd)
            if (stop - start) % 2:
                p = stop - 1
                even = fma(splat(values[p]), load(T, LANES * columns[p]), even)
            store(Z, LANES * i, even + odd)
        from_lanes(Z, ones, out[r : r + LANES])


@compiled()
def dense_times_columns(X, values, rows, starts, out):
    """out = X Wᵀ for Wᵀ as CSR arrays, input by input; X is read once and in order.

    For many columns, eight rows of the output in lanes stay in the cache.
    """
    n_out, d = out.shape[1], X.shape[1]
    T = np.zeros(LANES * COLUMNS, X.dtype)
    Z, ones = np.empty(LANES * n_out, X.dtype), np.ones(n_out, X.dtype)
    for r in range(0, X.shape[0], LANES):
        Z[:] = 0
        for c in range(0, d, COLUMNS):
            stop = min(c + COLUMNS, d)
            to_lanes(X[r : r + LANES, c:stop], T)
            for j in range(c, stop):
                x = load(T, LANES * (j - c))
                for p in range(starts[j], starts[j + 1]):
                    z = LANES * rows[p]
                    store(Z, z, fma(splat(values[p]), x, load(Z, z)))
        from_lanes(Z, ones, out[r : r + LANES])


@compiled()
def csr_times_single(data, indices, indptr, values, outputs, out):
    """out = A Wᵀ for A as CSR arrays and W with one entry per input; nnz steps."""
    for i in range(indptr.size - 1):
        z = out[i]
        z[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            # Unsigned indices skip the check for negative ones.
            j = np.uintp(indices[p])
            z[np.uintp(outputs[j])] += data[p] * values[j]


@compiled()
def dense_times_single(X, values, outputs, out):
    """out = X Wᵀ for W with one entry per input; X is read once and in order."""
    n_out = out.shape[1]
    Z, ones = np.empty(LANES * n_out, X.dtype), np.ones(n_out, X.dtype)
    for r in range(0, X.shape[0], LANES):
        Z[:] = 0
        _add_single(X[r : r + LANES], values, outputs, Z)
        from_lanes(Z, ones, out[r : r + LANES])


@compiled()
def _add_single(X, values, outputs, Z):
    """Add values ∘ X, for up to eight rows, to the lanes of the outputs."""
    rows, d = X.shape
    full = d - d % LANES if rows == LANES else 0
    if full:
        x0, x1, x2, x3, x4, x5, x6, x7 = X[0], X[1], X[2], X[3], X[4], X[5], X[6], X[7]
        for j in range(0, full, LANES):
            low = load(x0, j), load(x1, j), load(x2, j), load(x3, j)
            high = load(x4, j), load(x5, j), load(x6, j), load(x7, j)
            columns = transpose(*low, *high)
            for k in range(LANES):
                z = LANES * outputs[j + k]
                store(Z, z, fma(splat(values[j + k]), columns[k], load(Z, z)))
    for v in range(rows):
        for j in range(full, d):
            Z[LANES * outputs[j] + v] += values[j] * X[v, j]
