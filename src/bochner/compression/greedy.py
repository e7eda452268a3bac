"""Greedy selection, shared by GIGA and Frank-Wolfe.

`Greedy.compress` samples rows or pairs (`products`), states the `Problem` in inner
products, and lets a `SelectionState` take the steps of the subclass until J units are
kept, with refits of their weights on the way.
"""

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
"""Largest Gram matrix ⟨R_u, R_v⟩ of all units that is kept in memory."""

VANISHING = 1e-8
"""Candidates whose norm is below this share of the largest norm are rounding errors."""

TIE = 1e-12
"""Scores closer than this are equal to the precision of float64."""


@dataclass(frozen=True)
class Problem:
    """Inner products of the R_u with each other and with the target r.

    The Gram matrix of all units is computed once if it fits into `GRAM_BYTES`;
    otherwise its entries are computed on demand.
    """

    pairs: Pairs
    G: np.ndarray | None  # ⟨R_u, R_v⟩, (n_units, n_units)
    norms: np.ndarray  # ‖R_u‖, 1 for vanishing units, (n_units,)
    present: np.ndarray  # False for vanishing units, (n_units,)

    @property
    def target(self) -> np.ndarray:
        """⟨R_u, r⟩, (n_units,)."""
        return self.pairs.target

    @property
    def target_norm(self) -> float:
        """‖r‖."""
        return self.pairs.target_norm

    def best(self, score: np.ndarray) -> int:
        """The unit with the highest score; among equal scores, the largest norm.

        Scores are equal when the sampled rows are. A unit of small norm would then get
        a huge weight.
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
        """⟨R_u, R_v⟩ for all u and v among `units`."""
        if self.G is not None:
            return self.G[np.ix_(units, units)]
        return self.pairs.products(units, units)

    def combination(self, units: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """⟨R_u, Σ_v weights_v R_v⟩ over u, for v in `units`, (n_units,)."""
        if self.G is not None:
            return weights @ self.G[units]
        total = np.zeros(len(self.norms))
        for start in range(0, len(units), GRAM_COLUMNS):
            part = slice(start, start + GRAM_COLUMNS)
            total += self.pairs.products(slice(None), units[part]) @ weights[part]
        return total


def problem_of(pairs: Pairs) -> Problem:
    """The problem of these pairs, with the Gram matrix if it fits into memory."""
    fits = 8 * pairs.n_units**2 <= GRAM_BYTES
    present = pairs.norms > VANISHING * pairs.norms.max()
    norms = np.where(present, pairs.norms, 1.0)
    return Problem(pairs, gram(pairs) if fits else None, norms, present)


JITTER = 1e-13
"""Added to a unit diagonal, times the number of rows: features may be dependent."""

MAX_PIVOTS = 200
"""Exchanges after which block pivoting stops; about ten are usual."""

REFIT_PATIENCE = 3
"""Block exchanges without progress after which variables are exchanged one by one."""


def refit_weights(
    problem: Problem, kept: np.ndarray, weights: np.ndarray, error: float
) -> tuple[np.ndarray, float]:
    """argmin_{w ≥ 0} ‖Σ_u w_u R_u − r‖ over the kept units, and its relative error.

    Returns the given weights and error if the minimum is not below them, which happens
    when the difference is rounding.
    """
    norms = problem.norms[kept]
    G = problem.block(kept) / np.outer(norms, norms)  # unit diagonal
    b = problem.target[kept] / norms / problem.target_norm
    w = minimise_non_negative(G + JITTER * len(G) * np.eye(len(G)), b)
    squared_error = 1 - 2 * b @ w + w @ G @ w
    if not squared_error < error**2:
        return weights, error
    return w * problem.target_norm / norms, float(np.sqrt(max(squared_error, 0)))


def minimise_non_negative(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    """argmin_{w ≥ 0} ½ wᵀG w − bᵀw for positive definite G, by block pivoting.

    Solves for a set of free variables, which are all variables at first. Then it
    exchanges, all at once, the variables that violate their bound or their optimality
    condition. This takes a few Cholesky factorisations. SciPy's `nnls` frees one
    variable at a time and takes 7 s for 2000 variables.

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
    for _ in range(MAX_PIVOTS):
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
        else:  # exchanging one variable at a time cannot cycle
            last = np.flatnonzero(wrong)[-1]
            wrong[:last] = False
        free ^= wrong
    return np.maximum(w, 0)


STEPS_PER_UNIT, SPARE_STEPS = 8, 100
"""Steps allowed per additional unit, and in addition: a step may repeat a unit."""


class Step(NamedTuple):
    """One step w ← shrink · w + added · e_unit, and the relative error after it."""

    unit: int
    shrink: float
    added: float
    error: float


Steps = Callable[[Problem, np.ndarray, np.ndarray], Iterator[Step]]
"""Yields steps that start from kept units and their weights, while steps help."""


class SelectionState:
    """The units kept so far, with their weights and the error after each of them.

    Parameters
    ----------
    problem : Problem
        Inner products of the candidates.
    steps : Steps
        Yields the steps of the algorithm.
    """

    def __init__(self, problem: Problem, steps: Steps) -> None:
        self._problem = problem
        self._steps = steps
        self._w = np.zeros(len(problem.norms))
        self._errors: dict[int, float] = {}  # error by unit, in the order of choice

    def __len__(self) -> int:
        """Number of kept units."""
        return len(self._errors)

    @property
    def _kept(self) -> np.ndarray:
        return np.fromiter(self._errors, dtype=np.int64, count=len(self))

    def extend(self, n_units: int) -> None:
        """Take steps until n_units different units have weight, or no step helps."""
        kept = self._kept
        steps = self._steps(self._problem, kept, self._w[kept])
        max_steps = STEPS_PER_UNIT * (n_units - len(self)) + SPARE_STEPS
        for step in islice(steps, max_steps):
            if step.shrink == 0:  # all other units lose their weight
                self._errors.clear()
            self._w *= step.shrink
            self._w[step.unit] += step.added
            # a repeated unit lowers the error of the current number of units
            repeated = step.unit in self._errors
            newest = next(reversed(self._errors)) if repeated else step.unit
            self._errors[newest] = step.error
            if len(self) == n_units:
                return

    def refit(self) -> None:
        """Set the best weights of the kept units, and drop units of weight zero."""
        kept = self._kept
        errors = np.fromiter(self._errors.values(), dtype=np.float64)
        weights, error = refit_weights(self._problem, kept, self._w[kept], errors[-1])
        positive = weights > 0
        self._w[kept] = weights
        # errors belong to numbers of units, not to particular units
        errors = errors[: np.count_nonzero(positive)]
        errors[-1] = error
        self._errors = dict(zip(kept[positive].tolist(), errors.tolist(), strict=True))

    def selection(self) -> Selection:
        """The current state as an immutable `Selection`."""
        kept = self._kept
        errors = np.fromiter(self._errors.values(), dtype=np.float64)
        return Selection(kept, self._w[kept], errors)


TARGETS = ("kernel", "features")

N_ROWS = 2000
"""Rows sampled by default: their four million pairs represent all pairs well."""

GROWTH_PATIENCE = 4
"""Rounds of steps and refits that may pass without a larger number of units."""

GROWTH = 1.25
"""The weights are refitted each time the number of units has grown by this factor."""


class Greedy(Compression):
    """Base class: keep a weighted subset of the candidates, one more unit at a time.

    Subclasses implement `steps` and document the parameters.
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
        """Yield steps that start from kept units and their weights, while steps help.

        Parameters
        ----------
        problem : Problem
            Inner products of the candidates.
        kept : int array of shape (n_kept,)
            Kept units; empty at the start.
        weights : array of shape (n_kept,)
            Their weights.

        Yields
        ------
        Step
        """
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
        self._check_parameters()
        pairs = self._pairs(candidates, X, kernel, weight, rng)
        if not (pairs.target_norm > 0 and pairs.target.max() > 0):
            raise ValueError(
                f"{owner}: no candidate agrees with the target on the sampled rows; "
                "this happens when all rows are zero. Check the data, or set "
                "compression=None."
            )
        n_units = n_components * nonlinearity.n_units // nonlinearity.n_out
        selection = self.select(problem_of(pairs), n_units)
        feature_map = self.again(candidates, n_components, selection, rng)
        if feature_map.n_components < n_components:
            sample = "n_rows" if self.n_pairs is None else "n_pairs"
            warnings.warn(
                f"{owner}: kept {feature_map.n_components} of n_components="
                f"{n_components} columns, because no other candidate lowers the "
                f"relative error, which is {selection.error:.2g} on the sampled rows. "
                "Lower n_components. If the error is large on other rows, raise "
                f"{sample} or n_candidates; if it is 0, look for constant or repeated "
                "rows, or a kernel that is far too wide.",
                stacklevel=4,
            )
        return feature_map, selection

    def again(
        self,
        candidates: FeatureMap,
        n_components: int,
        selection: Any,
        rng: Stream,
    ) -> FeatureMap:
        return candidates.keep(selection.kept, selection.weights)

    def select(self, problem: Problem, n_units: int) -> Selection:
        """Take steps until n_units different units have weight, with refits between.

        Parameters
        ----------
        problem : Problem
            Inner products of the candidates.
        n_units : int
            Number of units to keep; fewer are kept if no step adds another.

        Returns
        -------
        Selection
        """
        state = SelectionState(problem, self.steps)
        if not self.refit:
            state.extend(n_units)
            return state.selection()
        most, patience = 0, GROWTH_PATIENCE
        while len(state) < n_units and patience:
            state.extend(min(n_units, int(GROWTH * len(state)) + 1))
            state.refit()
            # stop when refits keep removing the units that were just added
            patience = GROWTH_PATIENCE if len(state) > most else patience - 1
            most = max(most, len(state))
        return state.selection()

    def _check_parameters(self) -> None:
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
        """Sample rows or pairs of X, and compute their features and target."""
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
        pair_weight = _relative(weight, i) * _relative(weight, j)
        return sampled_pairs(candidates, X, (i, j), pair_weight, target)


def _relative(weight: Any, places: np.ndarray) -> np.ndarray:
    """Weights of some rows over the largest, so that products cannot underflow."""
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
            f"{owner}: features are compared on pairs of rows, which need at least 2 "
            f"rows of positive weight and n_rows ≥ 2; got 1 sample. Fit on more rows, "
            "or set compression=None."
        )


def _check_size(owner: str, name: str, count: int, columns: int) -> None:
    if 8 * count * columns > SAMPLE_BYTES:
        raise ValueError(
            f"{owner}: {name}={count} with {columns} columns do not fit into "
            f"{SAMPLE_BYTES >> 30} GiB; lower {name} (all pairs of 2000 rows serve as "
            "well as millions of sampled pairs), or lower n_candidates."
        )
