"""What GIGA and Frank-Wolfe share: the sample, the walk to J units, the refits."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._lazy import counted_places, drawn_places
from .._random import Stream
from .._validation import check_count, check_option
from ..feature_map import FeatureMap
from ..kernels import Kernel
from .base import N_CANDIDATES, Compression
from .problem import Problem, problem_of
from .products import SAMPLE_BYTES, Pairs, all_pairs, sampled_pairs
from .selection import Selection
from .walk import Step, Walk

TARGETS = ("kernel", "features")

N_ROWS = 2000
"""Rows sampled by default: their four million pairs are as good as all."""

PATIENCE = 4
"""Rounds of steps and refits that may bring no more units than there were."""

GROWTH = 1.25
"""Weights are fitted again each time so many times as many units are kept."""


class Greedy(Compression):
    """Keep a weighted subset of the candidates, one more at a time.

    Subclasses give the steps; parameters are documented there.
    """

    def __init__(
        self,
        n_candidates: int = N_CANDIDATES,
        target: str = "kernel",
        refit: bool = True,
        n_rows: int = N_ROWS,
        n_pairs: int | None = None,
    ) -> None:
        self.n_candidates = n_candidates
        self.target = target
        self.refit = refit
        self.n_rows = n_rows
        self.n_pairs = n_pairs

    def steps(
        self, problem: Problem, kept: np.ndarray, weights: np.ndarray
    ) -> Iterator[Step]:
        """Steps from kept units and their weights on, until none helps any more."""
        raise NotImplementedError

    def compress(
        self,
        candidates: FeatureMap,
        n_components: int,
        X: Any,
        kernel: Kernel,
        weight: np.ndarray | None,
        rng: Stream,
    ) -> tuple[FeatureMap, Selection]:
        owner, nonlinearity = type(self).__name__, candidates.nonlinearity
        self._check()
        pairs = self._pairs(candidates, X, kernel, weight, rng)
        if not (pairs.target_norm > 0 and pairs.target.max() > 0):
            raise ValueError(
                f"{owner}: no candidate agrees with the target on the rows sampled, as "
                "when all of them are zero; check the data, or leave compression=None."
            )
        wanted = n_components * nonlinearity.n_units // nonlinearity.n_out
        found = self.select(problem_of(pairs), wanted)
        kept = self.again(candidates, n_components, found, rng)
        if kept.n_components < n_components:
            more = "n_rows" if self.n_pairs is None else "n_pairs"
            warnings.warn(
                f"{owner}: kept {kept.n_components} of the {n_components} columns "
                "asked for: further steps found no other that lowers the relative "
                f"error, {found.error:.2g} on the rows sampled. Ask for fewer; if the "
                f"error is large elsewhere, raise {more} or n_candidates; if it is 0 "
                "here, look for constant or repeated rows, or a far too wide kernel.",
                stacklevel=4,
            )
        return kept, found

    def again(
        self,
        candidates: FeatureMap,
        n_components: int,
        selection: Any,
        rng: Stream,
    ) -> FeatureMap:
        return candidates.keep(selection.kept, selection.weights)

    def select(self, problem: Problem, wanted: int) -> Selection:
        """Steps until `wanted` different units have weight, refitted on the way."""
        walk = Walk(problem, self.steps)
        if not self.refit:
            walk.until(wanted)
            return walk.selection()
        most, patience = 0, PATIENCE
        while len(walk) < wanted and patience:
            walk.until(min(wanted, int(GROWTH * len(walk)) + 1))
            walk.refit()
            # where what comes goes again, more have no use
            patience = PATIENCE if len(walk) > most else patience - 1
            most = max(most, len(walk))
        return walk.selection()

    def _check(self) -> None:
        owner = type(self).__name__
        check_option(owner, "target", self.target, TARGETS)
        check_option(owner, "refit", self.refit, (True, False))
        check_count(owner, "n_rows", self.n_rows)
        if self.n_pairs is not None:
            hint = " (Or None: all pairs of n_rows rows.)"
            check_count(owner, "n_pairs", self.n_pairs, hint)

    def _pairs(
        self, candidates: FeatureMap, X: Any, kernel: Kernel, weight: Any, rng: Stream
    ) -> Pairs:
        owner = type(self).__name__
        target = kernel if self.target == "kernel" else None
        n = X.shape[0]
        if self.n_pairs is None:
            rows = drawn_places(rng, n, self.n_rows, weight)
            _check_rows(owner, len(rows))
            _check_size(owner, "n_rows", len(rows), len(rows) + candidates.n_components)
            return all_pairs(candidates, X[rows], _relative(weight, rows), target)
        present = counted_places(weight)
        n = n if present is None else len(present)
        _check_rows(owner, min(n, self.n_rows))
        _check_size(owner, "n_pairs", self.n_pairs, candidates.n_components)
        i, j = distinct_pairs(n, self.n_pairs, rng)
        if present is not None:
            i, j = present[i], present[j]
        both = _relative(weight, i) * _relative(weight, j)
        return sampled_pairs(candidates, X, (i, j), both, target)


def _relative(weight: Any, places: np.ndarray) -> np.ndarray:
    """Weights of some rows up to a factor, which keeps their products in range."""
    if weight is None:
        return np.ones(len(places))
    chosen = weight[places]
    return chosen / chosen.max()


def distinct_pairs(n: int, count: int, rng: Stream) -> tuple[np.ndarray, np.ndarray]:
    """Pairs i ≠ j of n rows, uniform, with replacement."""
    i = (rng.child("first").uniform(count) * n).astype(np.int64)
    j = (rng.child("second").uniform(count) * (n - 1)).astype(np.int64)
    return i, j + (j >= i)


def _check_rows(owner: str, n: int) -> None:
    if n < 2:
        raise ValueError(
            f"{owner}: features are compared on pairs of rows, and 1 sample has none; "
            "fit on at least 2 (of positive weight, with n_rows ≥ 2), or leave "
            "compression=None."
        )


def _check_size(owner: str, name: str, count: int, columns: int) -> None:
    if 8 * count * columns > SAMPLE_BYTES:
        raise ValueError(
            f"{owner}: {name}={count} with {columns} columns do not fit "
            f"{SAMPLE_BYTES >> 30} GiB; take fewer (2000 rows, whose pairs all count, "
            "serve as well as millions), or fewer candidates."
        )
