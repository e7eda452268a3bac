"""Compiled cosine and sine of phases: functions on arrays, no validation.

A phase z is reduced to turns: r = z/2π + b − n with n the nearest integer. The fused
multiply-adds use 1/2π in two parts, so that the product z·(1/2π) is never rounded and r
is as exact as z. Then cos 2πr = sin 2π(¼ − |r|) and sin 2πr are evaluated by one odd
polynomial on a quarter turn. The largest error is 1e-6 in float32 up to 2^17 turns, and
1e-14 in float64 up to 2^46 turns. Larger phases give meaningless values in [−1, 1].
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from .._core._compiled import compiled

TURNS = 1 / (2 * np.pi)
TURNS_TAIL = -9.839338337591243e-18  # 1/2π − TURNS, beyond float64
REACH = 0.515625
# ^ |r| may exceed ½ by the rounding of n. Where the excess is above 2^-6, the phase is
# too large to be reduced.

# sin(2πq)/q as a polynomial in q² on |q| ≤ ¼, lowest first (Chebyshev fits).
F0, F1 = np.float32(6.283185280154407), np.float32(-41.34168061334652)
F2, F3 = np.float32(81.60247636892518), np.float32(-76.58117264427872)
F4 = np.float32(39.7598270853191)
D0, D1, D2 = 6.283185307179585, -41.341702240398284, 81.60524927557977
D3, D4, D5 = -76.70585968962867, 42.05868995395094, -15.09450614073429
D6, D7 = 3.817365633469135, -0.6925067010720717

# 'contract' allows a·b + c as one instruction. Options that reorder sums are not used,
# so that an element has the same bits in a vector lane and in the tail of a row.
CONTRACT = {"fastmath": {"contract"}}


@intrinsic
def _fma(typingctx, a, b, c):
    """a·b + c, rounded once."""
    return a(a, a, a), lambda context, builder, sig, args: builder.fma(*args)


def _coefficients(scale):
    """Coefficients of the polynomial times the scale: five in float32, else eight."""


@overload(_coefficients)
def _coefficients_of_type(scale):
    if scale == types.float32:

        def coefficients(scale):
            return (scale * F0, scale * F1, scale * F2, scale * F3, scale * F4)

    else:

        def coefficients(scale):
            low = (scale * D0, scale * D1, scale * D2, scale * D3)
            return (*low, scale * D4, scale * D5, scale * D6, scale * D7)

    return coefficients


def _sine(q, c):
    """scale · sin 2πq on |q| ≤ ¼."""


@overload(_sine, jit_options=CONTRACT)
def _sine_of_type(q, c):
    if q == types.float32:

        def sine(q, c):
            y = q * q
            return q * ((((c[4] * y + c[3]) * y + c[2]) * y + c[1]) * y + c[0])

    else:

        def sine(q, c):
            y = q * q
            high = ((c[7] * y + c[6]) * y + c[5]) * y + c[4]
            return q * ((((high * y + c[3]) * y + c[2]) * y + c[1]) * y + c[0])

    return sine


@compiled(**CONTRACT)
def take_turns(Z, out):
    """out = Z − 2π·rint(Z/2π), in out's floating type; Z float64, both (n, m)."""
    for i in range(Z.shape[0]):
        z, f = Z[i], out[i]
        for j in range(z.size):
            n = np.rint(z[j] * TURNS)
            r = _fma(z[j], TURNS_TAIL, _fma(z[j], TURNS, -n))
            f[j] = r / TURNS


@compiled(**CONTRACT)
def cos_phase(Z, biases, scale, out):
    """out = scale · cos(Z + 2π·biases), biases in turns; Z, out (n, m); n·m steps."""
    real = Z.dtype.type
    head = real(TURNS)
    tail = real((TURNS - head) + TURNS_TAIL)
    quarter, reach = real(0.25), real(REACH)
    scaled = _coefficients(scale)
    m = biases.size
    for i in range(Z.shape[0]):
        z, f = Z[i, :m], out[i, :m]
        for j in range(m):
            n = np.rint(_fma(z[j], head, biases[j]))
            r = _fma(z[j], tail, _fma(z[j], head, -n)) + biases[j]
            f[j] = _sine(quarter - min(abs(r), reach), scaled)


@compiled(**CONTRACT)
def cos_sin(Z, scale, out):
    """out = scale · [cos Z, sin Z]; Z (n, m), out (n, 2m); n·m steps."""
    real = Z.dtype.type
    head = real(TURNS)
    tail = real((TURNS - head) + TURNS_TAIL)
    quarter, half, one, reach = real(0.25), real(0.5), real(1), real(REACH)
    scaled = _coefficients(scale)
    m = Z.shape[1]
    for i in range(Z.shape[0]):
        z, c, s = Z[i], out[i, :m], out[i, m:]
        for j in range(m):
            n = np.rint(z[j] * head)
            r = _fma(z[j], tail, _fma(z[j], head, -n))
            a = min(abs(r), reach)
            c[j] = _sine(quarter - a, scaled)
            s[j] = np.copysign(one, r) * _sine(min(a, half - a), scaled)


@compiled(**CONTRACT)
def cos_sin_phase(Z, biases, out):
    """out = [cos, sin](Z + 2π·biases), biases in turns; Z (n, m), out (n, 2m)."""
    real = Z.dtype.type
    head = real(TURNS)
    tail = real((TURNS - head) + TURNS_TAIL)
    quarter, half, one, reach = real(0.25), real(0.5), real(1), real(REACH)
    unit = _coefficients(one)
    m = biases.size
    for i in range(Z.shape[0]):
        z, c, s = Z[i, :m], out[i, :m], out[i, m:]
        for j in range(m):
            n = np.rint(_fma(z[j], head, biases[j]))
            r = _fma(z[j], tail, _fma(z[j], head, -n)) + biases[j]
            a = min(abs(r), reach)
            c[j] = _sine(quarter - a, unit)
            s[j] = np.copysign(one, r) * _sine(min(a, half - a), unit)
