"""What GIGA and Frank-Wolfe share: the sample, the walk to J units, the refits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .._core.random import Stream
from .._core.remote_rows import counted_places, drawn_places
from .._core.validation import check_count, check_option
from ..features.feature_map import FeatureMap
from ..kernels.base import Kernel
from .base import N_CANDIDATES, Compression, Selection
from .products import GRAM_COLUMNS, SAMPLE_BYTES, Pairs, all_pairs, gram, sampled_pairs

GRAM_BYTES = 1 << 30
"""⟨R_u, R_v⟩ of all pairs of units is kept where it takes no more than this."""

VANISHING = 1e-8
"""Candidates of a norm below this share of the largest are rounding errors."""

TIE = 1e-12
"""Scores that float64 cannot tell apart."""


@dataclass(frozen=True)
class Problem:
    """Inner products of the R_u with each other and with the target r.

    Those of all pairs of units are computed once where they fit, else on demand.
    """

    pairs: Pairs
    G: np.ndarray | None  # ⟨R_u, R_v⟩, (n_units, n_units)
    norms: np.ndarray  # ‖R_u‖, 1 where it vanishes, (n_units,)
    present: np.ndarray  # where it does not, (n_units,)

    @property
    def target(self) -> np.ndarray:
        """⟨R_u, r⟩, (n_units,)."""
        return self.pairs.target

    @property
    def target_norm(self) -> float:
        """‖r‖."""
        return self.pairs.target_norm

    def best(self, score: np.ndarray) -> int:
        """The unit of the highest score; among equals the one of largest norm.

        Equal they are where rows are: a small R_u would take a huge weight.
        """
        score = np.where(self.present, score, -np.inf)
        equals = np.flatnonzero(score >= score.max() - TIE)
        return int(equals[self.norms[equals].argmax()])

    def column(self, v: int) -> np.ndarray:
        """⟨R_u, R_v⟩ over u, (n_units,)."""
        if self.G is not None:
            return self.G[v]
        return self.pairs.products(slice(None), np.array([v]))[:, 0]

    def block(self, units: np.ndarray) -> np.ndarray:
        """⟨R_u, R_v⟩ within some units."""
        if self.G is not None:
            return self.G[np.ix_(units, units)]
        return self.pairs.products(units, units)

    def combination(self, units: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """⟨R_u, Σ_v weights_v R_v⟩ over u, for v in some units, (n_units,)."""
        if self.G is not None:
            return weights @ self.G[units]
        total = np.zeros(len(self.norms))
        for start in range(0, len(units), GRAM_COLUMNS):
            part = slice(start, start + GRAM_COLUMNS)
            total += self.pairs.products(slice(None), units[part]) @ weights[part]
        return total


def problem_of(pairs: Pairs) -> Problem:
    """The problem, with all products where they fit."""
    fits = 8 * pairs.n_units**2 <= GRAM_BYTES
    present = pairs.norms > VANISHING * pairs.norms.max()
    norms = np.where(present, pairs.norms, 1.0)
    return Problem(pairs, gram(pairs) if fits else None, norms, present)


JITTER = 1e-13
"""Added to a unit diagonal for each row: features may depend on each other."""

PIVOTS = 200
"""Exchanges after which the pivoting gives up; about ten are usual."""

REFIT_PATIENCE = 3
"""Exchanges of many at once without progress, before it is one at a time."""


def refitted(
    problem: Problem, kept: np.ndarray, weights: np.ndarray, error: float
) -> tuple[np.ndarray, float]:
    """argmin_{w ≥ 0} ‖Σ_u w_u R_u − r‖ over the kept units, and its relative error.

    The weights that came are returned where rounding leaves nothing to gain.
    """
    norms = problem.norms[kept]
    G = problem.block(kept) / np.outer(norms, norms)  # unit diagonal
    b = problem.target[kept] / norms / problem.target_norm
    w = non_negative(G + JITTER * len(G) * np.eye(len(G)), b)
    left = 1 - 2 * b @ w + w @ G @ w
    if not left < error**2:
        return weights, error
    return w * problem.target_norm / norms, float(np.sqrt(max(left, 0)))


def non_negative(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    """argmin_{w ≥ 0} ½ wᵀG w − bᵀw for positive definite G, by block pivoting.

    Solves for a set of free variables, starting with all, and exchanges at once all
    that are on the wrong side of their bound. A few Choleskys, where SciPy's `nnls`,
    which frees one variable at a time, takes 7 s for 2000.

    References
    ----------
    L. Portugal, J. Júdice and L. Vicente, A comparison of block pivoting and interior-
    point algorithms for linear least squares problems with nonnegative variables,
    Mathematics of Computation 1994.
    """
    free = np.ones(len(b), dtype=bool)
    fewest, patience = len(b) + 1, REFIT_PATIENCE
    slack = 1e-12 * abs(b).max()
    w = np.zeros(len(b))
    for _ in range(PIVOTS):
        w = np.zeros(len(b))
        if free.any():
            w[free] = cho_solve(cho_factor(G[np.ix_(free, free)]), b[free])
        wrong = np.where(free, w < 0, G @ w - b < -slack)
        count = int(np.count_nonzero(wrong))
        if count == 0:
            break
        if count < fewest:
            fewest, patience = count, REFIT_PATIENCE
        elif patience > 0:
            patience -= 1
        else:  # one at a time cannot cycle
            last = np.flatnonzero(wrong)[-1]
            wrong[:last] = False
        free ^= wrong
    return np.maximum(w, 0)


STEPS_PER_UNIT, SPARE_STEPS = 8, 100
"""Steps allowed for each further unit, and for all: a unit may be chosen again."""


class Step(NamedTuple):
    """One step: w ← shrink · w + added · e_unit, and the relative error it leaves."""

    unit: int
    shrink: float
    added: float
    error: float


Steps = Callable[[Problem, np.ndarray, np.ndarray], Iterator[Step]]
"""Steps from kept units and their weights on, until none helps."""


class Walk:
    """Where the steps have led so far, and how to go on."""

    def __init__(self, problem: Problem, steps: Steps) -> None:
        self._problem = problem
        self._steps = steps
        self._w = np.zeros(len(problem.norms))
        self._found: dict[int, float] = {}  # units in order of choice, and the error

    def __len__(self) -> int:
        """Units kept."""
        return len(self._found)

    @property
    def _kept(self) -> np.ndarray:
        return np.fromiter(self._found, dtype=np.int64, count=len(self))

    def until(self, n_units: int) -> None:
        """Go on until so many different units have weight, or no step helps."""
        kept = self._kept
        steps = self._steps(self._problem, kept, self._w[kept])
        allowed = STEPS_PER_UNIT * (n_units - len(self)) + SPARE_STEPS
        for step in islice(steps, allowed):
            if step.shrink == 0:  # all others lose their weight
                self._found.clear()
            self._w *= step.shrink
            self._w[step.unit] += step.added
            # a unit that comes again lowers the error of as many units as there are
            known = step.unit in self._found
            newest = next(reversed(self._found)) if known else step.unit
            self._found[newest] = step.error
            if len(self) == n_units:
                return

    def refit(self) -> None:
        """The best weights of the kept units; those that get none are kept no more."""
        kept = self._kept
        errors = np.fromiter(self._found.values(), dtype=np.float64)
        weights, error = refitted(self._problem, kept, self._w[kept], errors[-1])
        some = weights > 0
        self._w[kept] = weights
        # errors are by number of units, whichever those are
        errors = errors[: np.count_nonzero(some)]
        errors[-1] = error
        self._found = dict(zip(kept[some].tolist(), errors.tolist(), strict=True))

    def selection(self) -> Selection:
        """What is kept."""
        kept = self._kept
        errors = np.fromiter(self._found.values(), dtype=np.float64)
        return Selection(kept, self._w[kept], errors)


TARGETS = ("kernel", "features")

N_ROWS = 2000
"""Rows sampled by default: their four million pairs are as good as all."""

WALK_PATIENCE = 4
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
        most, patience = 0, WALK_PATIENCE
        while len(walk) < wanted and patience:
            walk.until(min(wanted, int(GROWTH * len(walk)) + 1))
            walk.refit()
            # where what comes goes again, more have no use
            patience = WALK_PATIENCE if len(walk) > most else patience - 1
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
