"""The compiled cosine against extended precision, and its behaviour for huge phases."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import reference
from bochner.nonlinearities._cosine import (
    TURNS,
    TURNS_TAIL,
    cos_phase,
    cos_sin,
    cos_sin_phase,
)

BOUND = {np.float32: 2e-6, np.float64: 1e-14}
LARGEST_TURNS = {np.float32: 2.0**17, np.float64: 2.0**46}


def evaluate(Z, phases=None):
    """Cosines and sines of Z, or cosines of Z plus phases in turns."""
    Z = np.ascontiguousarray(Z)
    scale = Z.dtype.type(1)
    if phases is None:
        out = np.empty((len(Z), 2 * Z.shape[1]), Z.dtype)
        cos_sin(Z, scale, out)
    else:
        out = np.empty_like(Z)
        cos_phase(Z, phases, scale, out)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 30.0, 1e3, 1e5])
def test_error_is_within_its_bound(dtype, spread):
    rng = np.random.default_rng(0)
    Z = rng.normal(0, spread, (50, 1001)).astype(dtype)
    phases = rng.random(1001).astype(dtype)
    exact = reference.cos_sin(Z) * np.sqrt(np.longdouble(1001))
    assert abs(evaluate(Z) - exact).max() < BOUND[dtype]
    exact = reference.cos_phase(Z, phases) * np.sqrt(np.longdouble(1001) / 2)
    # The reference rounds the sum of phases to 2^-64 of its size.
    slack = 1e-18 * spread
    assert abs(evaluate(Z, phases) - exact).max() < BOUND[dtype] + slack
    both = np.empty((50, 2 * 1001), dtype)
    cos_sin_phase(Z, phases, both)
    assert_array_equal(both[:, :1001], evaluate(Z, phases))
    # sin z = cos(z − ¼ turn)
    exact = reference.cos_phase(Z, phases - dtype(0.25)) * np.sqrt(
        np.longdouble(1001) / 2
    )
    slack += np.finfo(dtype).eps  # rounding of phases − ¼
    assert abs(both[:, 1001:] - exact).max() < BOUND[dtype] + 7 * slack


def test_both_parts_of_the_reciprocal_of_two_pi():
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(50):
        exact = 1 / (2 * mpmath.pi)
        assert TURNS == float(exact)
        assert pytest.approx(float(exact - mpmath.mpf(TURNS)), rel=1e-12) == TURNS_TAIL


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_accuracy_within_the_range_and_bounds_beyond(dtype):
    mpmath = pytest.importorskip("mpmath")
    turns = LARGEST_TURNS[dtype] * np.random.default_rng(0).uniform(0.5, 1, size=200)
    Z = (2 * np.pi * turns).astype(dtype)[None]
    with mpmath.workdps(60):
        cos = [float(mpmath.cos(mpmath.mpf(float(z)))) for z in Z[0]]
        sin = [float(mpmath.sin(mpmath.mpf(float(z)))) for z in Z[0]]
    assert abs(evaluate(Z)[0] - np.array(cos + sin)).max() < BOUND[dtype]
    huge = np.array([[1e9, 1e15, -1e25, 1e30, 3e38]], dtype=dtype)
    bounded = np.hstack([evaluate(huge), evaluate(huge, np.zeros(5, dtype))])
    assert (abs(bounded) <= 1 + BOUND[dtype]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 7, 33])
def test_same_bits_in_any_position(dtype, width):
    """A result does not depend on the position of the element in its row."""
    z = np.random.default_rng(0).normal(0, 10, 64).astype(dtype)
    b = np.random.default_rng(1).random(64).astype(dtype)
    plain, shifted = evaluate(z[None])[0], evaluate(z[None], b)[0]
    for start in range(0, 64 - width):
        piece = z[None, start : start + width]
        assert_array_equal(evaluate(piece)[0, :width], plain[start : start + width])
        assert_array_equal(
            evaluate(piece)[0, width:], plain[64 + start : 64 + start + width]
        )
        part = evaluate(piece, b[start : start + width].copy())[0]
        assert_array_equal(part, shifted[start : start + width])
