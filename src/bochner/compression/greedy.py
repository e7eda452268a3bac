"""What GIGA and Frank-Wolfe share: the problem, the walk to J units, the refit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._distances import as_float64
from .._random import Stream
from .._validation import check_count, check_option
from ..feature_map import FeatureMap
from ..kernels import Kernel
from .base import Compression
from .products import PAIR_BYTES, Pairs, Problem, all_pairs, problem_of, sampled_pairs
from .refit import refitted
from .selection import Selection
from .walk import Step, Walk

TARGETS = ("kernel", "features")

REFITS = 8
"""Rounds of weights fitted again, with others in place of units that lose theirs."""


class Greedy(Compression):
    """Keep a weighted subset of the candidates, one more at a time.

    Subclasses give the steps; parameters are documented there.
    """

    def __init__(
        self,
        n_candidates: int = 5000,
        target: str = "kernel",
        refit: bool = True,
        n_rows: int = 2000,
        n_pairs: int | None = None,
    ) -> None:
        self.n_candidates = n_candidates
        self.target = target
        self.refit = refit
        self.n_rows = n_rows
        self.n_pairs = n_pairs

    def steps(self, problem: Problem) -> Iterator[Step]:
        """The walk, until no step helps any more."""
        raise NotImplementedError

    def learn(
        self,
        candidates: FeatureMap,
        n_components: int,
        X: Any,
        kernel: Kernel,
        weight: np.ndarray | None,
        rng: Stream,
    ) -> Selection:
        self._check(X)
        owner, nonlinearity = type(self).__name__, candidates.nonlinearity
        wanted = n_components * nonlinearity.n_units // nonlinearity.n_out
        pairs = self._pairs(candidates, X, kernel, weight, rng)
        if not (pairs.target_norm > 0 and pairs.target.max() > 0):
            raise ValueError(
                f"{owner}: no candidate agrees with the target on the rows sampled, as "
                "when all of them are zero; check the data, or leave compression=None."
            )
        found = self._select(problem_of(pairs), wanted)
        if len(found.kept) < wanted:
            warnings.warn(
                f"{owner}: {len(found.kept)} units are kept, {wanted} were asked for: "
                f"no other one lowers the relative error, {found.error:.2g} on the "
                "rows sampled. Ask for fewer components, or raise n_rows or "
                "n_candidates.",
                stacklevel=3,
            )
        return found

    def _check(self, X: Any) -> None:
        owner = type(self).__name__
        check_option(owner, "target", self.target, TARGETS)
        check_count(owner, "n_rows", self.n_rows)
        if self.n_pairs is not None:
            check_count(owner, "n_pairs", self.n_pairs)
        if X.shape[0] < 2:
            raise ValueError(
                f"{owner}: features are compared on pairs of rows, and 1 sample has "
                "none; fit on at least 2, or leave compression=None."
            )

    def _pairs(
        self, candidates: FeatureMap, X: Any, kernel: Kernel, weight: Any, rng: Stream
    ) -> Pairs:
        target = kernel if self.target == "kernel" else None
        weight = np.ones(X.shape[0]) if weight is None else weight
        if self.n_pairs is None:
            present = np.flatnonzero(weight)
            rows = present[rng.subset(len(present), self.n_rows)]
            # a common factor changes nothing but the range of numbers
            w = weight[rows] / weight[rows].max()
            return all_pairs(candidates, as_float64(X[rows]), w, target)
        owner, n_units = type(self).__name__, candidates.nonlinearity.n_units
        _check_pairs(owner, self.n_pairs, n_units)
        i, j = _distinct_pairs(X.shape[0], self.n_pairs, rng)
        w = weight[i] * weight[j]
        i, j, w = i[w > 0], j[w > 0], w[w > 0]
        X, Y = as_float64(X[i]), as_float64(X[j])
        return sampled_pairs(candidates, X, Y, w / w.max(initial=1), target)

    def _select(self, problem: Problem, wanted: int) -> Selection:
        """Steps until `wanted` different units have weight, then the refit."""
        walk = Walk(self.steps(problem), problem.norms)
        walk.until(wanted)
        kept, weights, errors = walk.kept, walk.weights, walk.errors
        error = errors[-1]
        for _ in range(REFITS if self.refit else 0):
            weights, error = refitted(problem, kept, weights, error)
            left = kept[weights > 0]
            if left.size == kept.size:
                break
            # as many others, where the walk goes on
            walked = len(walk.kept)
            walk.until(walked + kept.size - left.size)
            others = walk.kept[walked:]
            kept = np.concatenate([left, others])
            weights = np.concatenate([weights[weights > 0], np.zeros(others.size)])
        some = weights > 0
        return Selection(kept[some], weights[some], errors, float(error))


def _check_pairs(owner: str, n_pairs: int, n_units: int) -> None:
    if 8 * n_pairs * n_units > PAIR_BYTES:
        raise ValueError(
            f"{owner}: n_pairs={n_pairs} pairs of {n_units} candidates do not fit "
            f"{PAIR_BYTES >> 30} GiB; use n_pairs=None, which takes all pairs of "
            "n_rows rows in less memory, or fewer of either."
        )


def _distinct_pairs(n: int, count: int, rng: Stream) -> tuple[np.ndarray, np.ndarray]:
    """Pairs i ≠ j of n rows, uniform, with replacement."""
    i = (rng.child("first").uniform(count) * n).astype(np.int64)
    j = (rng.child("second").uniform(count) * (n - 1)).astype(np.int64)
    return i, j + (j >= i)
