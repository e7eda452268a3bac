"""Compression: fewer columns than were drawn, chosen by what the data needs."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from .._random import Stream
from .._validation import check_count
from ..feature_map import FeatureMap
from ..kernels import Kernel
from .selection import Selection

N_CANDIDATES = 5000
"""Columns drawn by default, as in the paper."""


class CompressedMap(Protocol):
    """What a compression makes of candidates: a feature map of its own."""

    @property
    def n_components(self) -> int: ...

    @property
    def weights_(self) -> np.ndarray: ...

    def __call__(self, X: Any) -> np.ndarray: ...

    def astype(self, dtype: Any) -> CompressedMap: ...


class Compression(BaseEstimator):
    """The spec: how many candidates are drawn, and how they become fewer."""

    n_candidates: int

    def n_drawn(self, n_components: int) -> int:
        """Columns to draw for n_components to keep."""
        owner = type(self).__name__
        drawn = check_count(owner, "n_candidates", self.n_candidates)
        if n_components > drawn:
            raise ValueError(
                f"{owner}: n_components={n_components} columns cannot be kept of "
                f"n_candidates={drawn}; draw more candidates (ten times n_components "
                "is usual), or keep fewer."
            )
        return drawn

    def compress(
        self,
        candidates: FeatureMap,
        n_components: int,
        X: Any,
        kernel: Kernel,
        weight: np.ndarray | None,
        rng: Stream,
    ) -> tuple[CompressedMap, Selection | None]:
        """The smaller map, and what was selected if anything was.

        Looks at rows X of these weights, and at the kernel to be approximated.
        """
        raise NotImplementedError

    def again(
        self,
        candidates: FeatureMap,
        n_components: int,
        selection: Selection | None,
        rng: Stream,
    ) -> CompressedMap:
        """The map that `compress` made, from what it selected and the same draws."""
        raise NotImplementedError
