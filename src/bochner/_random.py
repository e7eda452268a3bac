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

MANY = 1 << 24
"""Numbers of which a few are drawn without a word for each."""


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

    def permutation(self, n: int) -> np.ndarray:
        """A uniform permutation of range(n), int64."""
        return np.argsort(self.words(n), kind="stable")

    def subset(self, n: int, k: int) -> np.ndarray:
        """min(n, k) distinct numbers of range(n), uniform and in order, int64."""
        if k >= n:
            return np.arange(n)
        if n > MANY and k < n // 64:
            return self._sparse_subset(n, k)
        return np.sort(np.argpartition(self.words(n), k)[:k])

    def _sparse_subset(self, n: int, k: int) -> np.ndarray:
        """A few of very many, in O(k) memory: drawn until k of them differ."""
        drawn, size = np.empty(0, dtype=np.uint64), k
        while len(drawn) < k:
            size += k
            # the remainder of a 64-bit word is uniform to n/2⁶⁴
            words = self.words(size) % np.uint64(n)
            first = np.sort(np.unique(words, return_index=True)[1])[:k]
            drawn = words[first]
        return np.sort(drawn.astype(np.int64))


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
