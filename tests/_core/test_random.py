"""Streams: reproducible, independent by role, prefixes of one another."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from bochner._core.random import PERMUTED, Stream, as_stream, earliest
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


def test_a_few_of_a_permutation():
    whole = Stream(0).permutation(5000)
    assert_array_equal(Stream(0).permutation(5000, 70), whole[:70])
    assert_array_equal(Stream(0).subset(5000, 70), np.sort(whole[:70]))
    assert_array_equal(np.sort(Stream(0).permutation(9, 12)), np.arange(9))
    assert len(Stream(0).permutation(5000, 0)) == 0


def test_a_few_of_very_many(global_seed):
    n, k = 10**12, 20_000
    tracemalloc.start()
    drawn = Stream(global_seed).permutation(n, k)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * k, "a few numbers for each that is drawn"
    assert len(set(drawn)) == k and drawn.min() >= 0 and drawn.max() < n
    assert_array_equal(Stream(global_seed).permutation(n, k // 2), drawn[: k // 2])
    assert_array_equal(Stream(global_seed).subset(n, k), np.sort(drawn))
    assert stats.kstest(drawn / n, "uniform").pvalue > ALPHA
    early = stats.ks_2samp(drawn[: k // 2], drawn[k // 2 :])
    assert early.pvalue > ALPHA, "in random order"


def test_numbers_that_are_drawn_twice_are_drawn_again():
    n = PERMUTED + 8  # the densest draw without a permutation
    drawn = Stream(0).permutation(n, PERMUTED // 8)
    assert len(np.unique(drawn)) == PERMUTED // 8
    assert len(np.unique(Stream(0).permutation(n, n // 2))) == n // 2


@pytest.mark.parametrize("start", [0, 1, 3, 4, 17, 1000])
def test_a_stream_from_a_later_word_on(start):
    words = Stream(3).child("race").words(1100)
    assert_array_equal(
        Stream(3).child("race").after(start).words(100), words[start : start + 100]
    )


def test_arrivals_of_parts_are_parts_of_all(global_seed):
    weight = np.random.default_rng(0).random(999) + 0.1
    whole = Stream(global_seed).arrivals(weight)
    parts = [
        Stream(global_seed).arrivals(weight[i : i + 70], i) for i in range(0, 999, 70)
    ]
    assert_array_equal(np.concatenate(parts), whole)
    # exponential with the weight for its rate
    assert stats.kstest(whole * weight, "expon").pvalue > ALPHA


def test_earliest():
    times = np.array([3.0, 1.0, 2.0, 1.0, 0.0, 1.0])
    for k in range(8):
        wanted = np.argsort(times, kind="stable")[:k]
        assert_array_equal(earliest(times, k), wanted)


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
