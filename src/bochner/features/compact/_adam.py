"""The compiled step of Adam: a function of arrays, without validation."""

from __future__ import annotations

import numpy as np

from ..._core._compiled import compiled


@compiled(fastmath={"contract"})
def adam(value, gradient, mean, square, average, rates, floors, decays, share):
    """One step of Adam, in place, on arrays (r, c), with a rate and a floor per row.

    mean ← β₁ mean + (1 − β₁) g,  square ← β₂ square + (1 − β₂) g²,
    value ← value − rate · mean / (√square + floor),
    average ← average + share · (value − average);  decays = (β₁, β₂).

    The rates and floors include the corrections for averages that start at zero.
    O(r c) time.
    """
    keep, fresh = decays[0], value.dtype.type(1) - decays[0]
    keep_square, fresh_square = decays[1], value.dtype.type(1) - decays[1]
    n = value.shape[1]
    for i in range(value.shape[0]):
        v, g = value[i, :n], gradient[i, :n]
        m, s, a = mean[i, :n], square[i, :n], average[i, :n]
        rate, floor = rates[i], floors[i]
        for j in range(n):
            m[j] = keep * m[j] + fresh * g[j]
            s[j] = keep_square * s[j] + fresh_square * (g[j] * g[j])
            v[j] -= rate * m[j] / (np.sqrt(s[j]) + floor)
            a[j] += share * (v[j] - a[j])
