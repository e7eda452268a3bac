"""Compiled sparse-dense product: functions on arrays, no validation."""

from __future__ import annotations

from numba import njit


@njit(nogil=True, cache=True)
def csr_times_dense(data, indices, indptr, B, out):
    """out = A B for A in CSR parts, B (d, m) and out (n, m); nnz·m multiply-adds."""
    m = B.shape[1]
    for i in range(indptr.size - 1):
        z = out[i, :m]
        z[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            b = B[indices[p], :m]
            value = data[p]
            for j in range(m):
                z[j] += value * b[j]
