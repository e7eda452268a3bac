"""Spreads of columns: about a centre, so that an offset does not change them."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from bochner._core import spread as _spread
from bochner._core.spread import Spread, centre_of, spread_of, warn_of_resolution

GRID = 2.0**-20
RNG = np.random.default_rng(0)
ROWS = np.round(RNG.normal(size=(200, 4)) * [1, 10, 0.01, 0] / GRID) * GRID
WEIGHTS = RNG.integers(0, 4, size=200).astype(float)
FORMS = [np.asarray, sparse.csr_matrix]


@pytest.mark.parametrize("form", FORMS)
def test_spread_is_numpys(form):
    found = spread_of(form(ROWS))
    assert_allclose(found.mean, ROWS.mean(axis=0), atol=1e-12)
    assert_allclose(found.variance, ROWS.var(axis=0), rtol=1e-12)
    assert_allclose(found.deviation, ROWS.std(axis=0), rtol=1e-12)
    mean, variance = found.of_all
    assert_allclose([mean, variance], [ROWS.mean(), ROWS.var()], rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_weights_are_repeated_rows(form):
    repeated = ROWS[np.repeat(np.arange(200), WEIGHTS.astype(int))]
    found, wanted = spread_of(form(ROWS), WEIGHTS), spread_of(form(repeated))
    assert found.weight == wanted.weight
    assert_allclose(found.mean, wanted.mean, atol=1e-12)
    assert_allclose(found.variance, wanted.variance, rtol=1e-10, atol=1e-30)


@pytest.mark.parametrize("form", FORMS)
def test_parts_merge(form, monkeypatch):
    whole = spread_of(form(ROWS), WEIGHTS)
    monkeypatch.setattr(_spread, "BLOCK_ENTRIES", 100)
    parts = spread_of(form(ROWS), WEIGHTS)
    nothing = Spread.of(form(ROWS[:3]), np.zeros(3))
    for found in (parts, whole.merge(nothing), nothing.merge(whole)):
        assert_allclose(found.mean, whole.mean, atol=1e-12)
        assert_allclose(found.variance, whole.variance, rtol=1e-10, atol=1e-30)


@given(st.integers(0, 30), st.integers(1, 60))
def test_an_offset_leaves_the_spread(power, n):
    """Moved rows are exact here, and so are their differences from a centre."""
    shift = 2.0**power
    moved = spread_of(ROWS[:n] + shift)
    assert_array_equal(moved.deviation, spread_of(ROWS[:n]).deviation)
    assert_array_equal(centre_of(ROWS[:n] + shift), centre_of(ROWS[:n]) + shift)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 + 0.1, -1e300])
def test_constant_columns_have_no_deviation(value):
    with np.errstate(over="ignore"):
        assert_array_equal(spread_of(np.full((50, 2), value)).deviation, 0)


def test_rounding_is_no_deviation():
    column = np.array([[0.1 + 0.2], [0.3]] * 20)
    assert spread_of(column).deviation == 0


@pytest.mark.parametrize("n", [1, 2, 100, 101, 250])
def test_the_centre_is_a_value_of_the_column(n):
    centre = centre_of(ROWS[:n])
    assert all(c in column for c, column in zip(centre, ROWS[:n].T, strict=True))


def test_columns_that_a_type_cannot_resolve():
    rows = np.column_stack([RNG.normal(size=300), 1e5 + RNG.normal(size=300)])
    with pytest.warns(UserWarning, match=r"float32 is too coarse for column 1 of X"):
        warn_of_resolution(rows.astype(np.float32))
    with pytest.warns(UserWarning, match=r"float64 is too coarse for column 1 of X"):
        warn_of_resolution(rows + np.array([0, 1e14]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_resolution(rows)
        warn_of_resolution((rows - np.array([0, 9e4])).astype(np.float32))
        warn_of_resolution(np.full((9, 1), 1e9, dtype=np.float32))
        warn_of_resolution(sparse.csr_matrix(rows.astype(np.float32)))
