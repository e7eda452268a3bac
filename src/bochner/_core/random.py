"""Reproducible random numbers: raw Philox bits and our own transforms.

NumPy fixes the bit stream of `Philox` and the hashing of `SeedSequence` across
versions, but not the methods of its `Generator`. Every draw here is therefore raw
64-bit words put through a transform of ours (the quantile functions are SciPy's), so a
seed means the same matrix, to rounding, for as long as this file does, and can stand in
for it.

A `Stream` is addressed by a path of roles. Children depend on the path alone, never
on what was drawn before, so changing one part leaves the draws of the others alone.
"""

from __future__ import annotations

import zlib
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils import check_random_state

PERMUTED = 1 << 20
"""Numbers up to which all are permuted where some of them are drawn."""

SPARSE = 8
"""Where n ≥ SPARSE · k, draws are with replacement and the few equal ones drawn again:
no array of all numbers is needed."""


class Stream:
    """A source of random numbers at one path below a seed.

    Successive draws continue the stream: drawing m rows and then m more gives the
    rows of one draw of 2m. That is what makes a small map a prefix of a large one.

    Examples
    --------
    >>> root = Stream(0)
    >>> bool((root.child("a").uniform(3) == Stream(0).child("a").uniform(3)).all())
    True
    """

    def __init__(self, entropy: int, path: tuple[int, ...] = ()) -> None:
        self._entropy = entropy
        self._path = path
        seed = np.random.SeedSequence(entropy, spawn_key=path)
        self._bits = np.random.Philox(seed)

    @property
    def entropy(self) -> int:
        """The seed at the root, from which all can be drawn again."""
        return self._entropy

    def child(self, role: str | int) -> Stream:
        """The independent stream of a role (a name) or of a block (its number)."""
        key = zlib.crc32(role.encode()) if isinstance(role, str) else role
        return Stream(self._entropy, (*self._path, key))

    def generator(self) -> np.random.Generator:
        """A NumPy generator on this stream's bits, for libraries that ask for one."""
        return np.random.Generator(self._bits)

    def words(self, *shape: int) -> np.ndarray:
        """Raw 64-bit words, uint64."""
        return np.asarray(self._bits.random_raw(int(np.prod(shape)))).reshape(shape)

    def uniform(self, *shape: int) -> np.ndarray:
        """Uniform in the open interval (0, 1): midpoints of a 2^-52 grid, float64."""
        U = (self.words(*shape) >> np.uint64(12)).astype(np.float64)
        U += 0.5  # exact: 52 bits and a half fit the 53 of a double
        U *= 2.0**-52
        return U

    def normal(self, *shape: int) -> np.ndarray:
        """Standard normal by inversion, float64."""
        U = self.uniform(*shape)
        return ndtri(U, out=U)

    def signs(self, *shape: int) -> np.ndarray:
        """−1 or +1 with equal probability, float64."""
        return 1.0 - 2.0 * (self.words(*shape) >> np.uint64(63))

    def permutation(self, n: int, k: int | None = None) -> np.ndarray:
        """A uniform permutation of range(n), or k of its numbers in random order.

        Up to 2²⁰ numbers those are the first k of the permutation; of more, k numbers
        take O(k) time and memory.
        """
        if k is None or n <= PERMUTED or SPARSE * k >= n:
            return earliest(self.words(n), n if k is None else min(k, n))
        drawn = self._remainders(k + k // SPARSE, n)
        while True:
            first = np.sort(np.unique(drawn, return_index=True)[1])[:k]
            if len(first) == k:
                return drawn[first]
            drawn = np.concatenate([drawn, self._remainders(k, n)])

    def subset(self, n: int, k: int) -> np.ndarray:
        """min(n, k) distinct numbers of range(n), uniform and in order, int64."""
        return np.arange(n) if k >= n else np.sort(self.permutation(n, k))

    def _remainders(self, k: int, n: int) -> np.ndarray:
        """k numbers of range(n), uniform to n/2⁶⁴, int64."""
        return (self.words(k) % np.uint64(n)).astype(np.int64)

    def after(self, n_words: int) -> Stream:
        """This stream as it is after its first n_words words, which are not drawn."""
        later = Stream(self._entropy, self._path)
        later._bits.advance(n_words // 4)  # Philox makes four words at a time
        later.words(n_words % 4)
        return later

    def arrivals(self, weight: np.ndarray, start: int = 0) -> np.ndarray:
        """Exponential arrival times of the places from `start` on, float64.

        Time i is −log(U)/w with the stream's i-th word for U: the first m to arrive are
        m draws without replacement in proportion to the weights. The times of a part of
        the places are that part of the times of all.
        """
        return -np.log(self.after(start).uniform(len(weight))) / weight


def earliest(times: np.ndarray, k: int) -> np.ndarray:
    """The places of the k least entries, in their order, equal ones by place; int64."""
    if k >= len(times):
        return np.argsort(times, kind="stable")
    places = np.flatnonzero(times <= np.partition(times, k)[k])
    return places[np.argsort(times[places], kind="stable")][:k]


def as_stream(random_state: Any) -> Stream:
    """Turn scikit-learn's `random_state` into the root stream, once per fit.

    An integer is the seed itself. A `RandomState` (or None: NumPy's global one) gives
    128 bits and advances, as scikit-learn's convention asks.
    """
    if isinstance(random_state, Integral):
        seed = int(random_state)
        if seed < 0:
            raise ValueError(f"random_state must not be negative, got {seed}.")
        return Stream(seed)
    words = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
    return Stream(int.from_bytes(words.astype("<u4").tobytes(), "little"))
