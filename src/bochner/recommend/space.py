"""The space of methods, sizes and bandwidths that a search walks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..comparison.contenders import WITHOUT_BANDWIDTH, Contender
from ..comparison.results import METHOD
from ..estimators.training import SIZE_FACTOR

FACTORS = 0.25, 0.5, 1.0, 2.0, 4.0
"""Bandwidths γ tried, as multiples of what leave-one-out on 1000 rows has found."""

SMALLEST, LARGEST = 64, 4096
"""Columns of features, powers of two between these: up to about 16 √n."""

FEW = "giga", "frank_wolfe", "jl", "compact", "compact_circulant"
MOST_OF_FEW = 1024
"""Methods made for few columns, which take long for many."""


FAMILIES = {
    "nystroem": "landmarks",
    "maxout": "maxout",
    "maxout_codes": "maxout",
    "compact": "learned",
    "compact_circulant": "learned",
}
"""Methods of other kinds than random features of the kernel, which all do alike."""


@dataclass(frozen=True)
class Line:
    """A method with a bandwidth, at any of its sizes (ascending)."""

    method: str
    gamma: float
    sizes: tuple[int, ...]
    loss: str

    @property
    def family(self) -> str:
        return FAMILIES.get(self.method, "random")

    def at(self, size: int) -> Contender:
        return Contender(self.method, METHOD, size, self.gamma, self.loss)

    def up_to(self, size: int) -> Contender:
        """At the largest of its sizes that is not larger than this, or the smallest."""
        allowed = [own for own in self.sizes if own <= size]
        return self.at(allowed[-1] if allowed else self.sizes[0])


def default_sizes(n_rows: int) -> list[int]:
    """Powers of two up to about 16 √n."""
    sizes = [SMALLEST]
    while sizes[-1] < min(LARGEST, SIZE_FACTOR * n_rows**0.5 / 2):
        sizes.append(2 * sizes[-1])
    return sizes


def lines(
    names: Iterable[str],
    sizes: list[int],
    gamma: float,
    loss: str,
    factors: tuple[float, ...] = FACTORS,
) -> list[Line]:
    """Every method with every bandwidth."""
    found = []
    for name in names:
        few = [size for size in sizes if name not in FEW or size <= MOST_OF_FEW]
        for factor in (1.0,) if name in WITHOUT_BANDWIDTH else factors:
            width = float(f"{gamma * factor:.3g}")
            found.append(Line(name, width, tuple(few or sizes[:1]), loss))
    return found


def all_contenders(
    names: Iterable[str], sizes: list[int], gamma: float, loss: str
) -> list[Contender]:
    """What a full grid would try."""
    every = lines(names, sizes, gamma, loss)
    return [line.at(size) for line in every for size in line.sizes]
