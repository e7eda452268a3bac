"""Compiled loops of maxout: functions on arrays, no validation."""

from __future__ import annotations

import numpy as np

from .._core._compiled import compiled

BYTE_RUN = 128
"""Number of codes compared at a time: the count of equal codes fits into one byte."""


@compiled()
def pool_max(Z, members, out):
    """out_u = max of Z over the members of unit u; members (q, m), n·m·q steps."""
    q, m = members.shape
    for i in range(Z.shape[0]):
        z, f = Z[i], out[i, :m]
        first = members[0, :m]
        for u in range(m):
            f[u] = z[np.uintp(first[u])]
        for k in range(1, q):
            member = members[k, :m]
            for u in range(m):
                f[u] = max(f[u], z[np.uintp(member[u])])


@compiled()
def equal_codes(A, B, out):
    """out_ij = number of equal codes among the m codes of A_i and B_j; n·n'·m steps."""
    m = A.shape[1]
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            total = 0
            for start in range(0, m, BYTE_RUN):
                width = min(BYTE_RUN, m - start)
                a, b = A[i, start : start + width], B[j, start : start + width]
                count = np.uint8(0)
                for k in range(width):
                    count = np.uint8(count + np.uint8(a[k] == b[k]))
                total += count
            out[i, j] = total
