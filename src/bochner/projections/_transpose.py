"""Compiled transposition of eight rows, into lanes and back: functions on arrays.

In lanes, coordinate j of the eight rows stands at T[8j : 8j + 8] of a flat buffer, so
that whatever is done to one row is a vector operation on eight.
"""

from __future__ import annotations

from .._compiled import compiled
from ._simd import LANES, load, store, transpose


@compiled()
def to_lanes(X, T):
    """Transpose up to eight rows of X into T."""
    rows, d = X.shape
    full = d - d % LANES if rows == LANES else 0
    if full:
        x0, x1, x2, x3, x4, x5, x6, x7 = X[0], X[1], X[2], X[3], X[4], X[5], X[6], X[7]
        for j in range(0, full, LANES):
            low = load(x0, j), load(x1, j), load(x2, j), load(x3, j)
            high = load(x4, j), load(x5, j), load(x6, j), load(x7, j)
            columns = transpose(*low, *high)
            for k in range(LANES):
                store(T, LANES * (j + k), columns[k])
    for v in range(rows):
        for j in range(full, d):
            T[LANES * j + v] = X[v, j]


@compiled()
def from_lanes(T, scale, Z):
    """Z = (scale ∘ T)ᵀ for up to eight rows of Z."""
    rows, n = Z.shape
    full = n - n % LANES if rows == LANES else 0
    if full:
        z0, z1, z2, z3, z4, z5, z6, z7 = Z[0], Z[1], Z[2], Z[3], Z[4], Z[5], Z[6], Z[7]
        for j in range(0, full, LANES):
            i = LANES * j
            low = load(T, i), load(T, i + 8), load(T, i + 16), load(T, i + 24)
            high = load(T, i + 32), load(T, i + 40), load(T, i + 48), load(T, i + 56)
            r = transpose(*low, *high)
            s = load(scale, j)
            store(z0, j, s * r[0])
            store(z1, j, s * r[1])
            store(z2, j, s * r[2])
            store(z3, j, s * r[3])
            store(z4, j, s * r[4])
            store(z5, j, s * r[5])
            store(z6, j, s * r[6])
            store(z7, j, s * r[7])
    for v in range(rows):
        for j in range(full, n):
            Z[v, j] = scale[j] * T[LANES * j + v]
