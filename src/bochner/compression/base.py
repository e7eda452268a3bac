"""Compression: fewer columns than were drawn, chosen by what the data needs."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from .._random import Stream
from .._validation import check_count
from ..feature_map import FeatureMap
from ..kernels import Kernel


class CompressedMap(Protocol):
    """What a compression makes of candidates: a feature map of its own."""

    @property
    def n_components(self) -> int: ...

    def __call__(self, X: Any) -> np.ndarray: ...

    def astype(self, dtype: Any) -> CompressedMap: ...


class Learned(Protocol):
    """What a compression learned: a value that turns candidates into a smaller map."""

    def compressed(self, candidates: FeatureMap) -> CompressedMap:
        """The smaller map."""


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

    def learn(
        self,
        candidates: FeatureMap,
        n_components: int,
        X: Any,
        kernel: Kernel,
        weight: np.ndarray | None,
        rng: Stream,
    ) -> Learned:
        """What the rows X, of these weights, say about candidates for a kernel."""
        raise NotImplementedError
