"""Streams: reproducible, independent by role, prefixes of one another."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from bochner._random import Stream, as_stream
from checks import ALPHA


def test_fixed_values():
    """The bit stream is part of the file format: it may never change."""
    words = Stream(7).child("projection").words(2)
    assert words.tolist() == [7861639972736409868, 16603499732606134252]
    uniforms = Stream(7).child("projection").uniform(2)
    assert uniforms.tolist() == [0.42618035688698497, 0.9000775240477031]


def test_children_do_not_depend_on_what_was_drawn():
    root = Stream(3)
    before = root.child("a").uniform(5)
    root.uniform(100)
    root.child("b").uniform(7)
    assert_array_equal(root.child("a").uniform(5), before)
    assert not np.array_equal(root.child("b").uniform(5), before)
    assert not np.array_equal(root.child(0).uniform(5), root.child(1).uniform(5))


def test_successive_draws_are_one_draw():
    pieces = Stream(3)
    joined = np.vstack([pieces.normal(2, 4), pieces.normal(3, 4)])
    assert_array_equal(joined, Stream(3).normal(5, 4))


@pytest.mark.parametrize("draw, law", [("uniform", "uniform"), ("normal", "norm")])
def test_distribution(draw, law, global_seed):
    sample = getattr(Stream(global_seed), draw)(20_000)
    assert stats.kstest(sample, law).pvalue > ALPHA


def test_uniform_is_inside_the_open_interval():
    class Extreme(Stream):
        def words(self, *shape):
            return np.array([0, 2**64 - 1], dtype=np.uint64)

    low, high = Extreme(0).uniform(2)
    assert 0 < low < 2.0**-52 and 1 - 2.0**-52 < high < 1


def test_signs_and_permutations(global_seed):
    signs = Stream(global_seed).signs(10_000)
    assert set(signs) == {-1.0, 1.0}
    assert abs(signs.sum()) < stats.norm.isf(ALPHA / 2) * 100
    assert_array_equal(np.sort(Stream(global_seed).permutation(50)), np.arange(50))
    first = [Stream(s).permutation(4)[0] for s in range(4000)]
    assert stats.chisquare(np.bincount(first)).pvalue > ALPHA


def test_subset():
    subset = Stream(0).subset(100, 10)
    assert len(set(subset)) == 10 and (np.diff(subset) > 0).all()
    assert_array_equal(Stream(0).subset(5, 10), np.arange(5))


def test_as_stream():
    assert_array_equal(as_stream(5).words(3), as_stream(np.int64(5)).words(3))
    state = np.random.RandomState(0)
    first, second = as_stream(state).words(3), as_stream(state).words(3)
    assert not np.array_equal(first, second)
    assert_array_equal(as_stream(np.random.RandomState(0)).words(3), first)
    np.random.seed(0)  # noqa: NPY002
    assert_array_equal(as_stream(None).words(3), first)


@pytest.mark.parametrize("bad", [-1, "seed", 1.5, np.random.default_rng(0)])
def test_bad_random_state(bad):
    with pytest.raises(ValueError, match=r"must not be neg|cannot be used to"):
        as_stream(bad)
