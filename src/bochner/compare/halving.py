"""Successive halving: many candidates on few rows, few candidates on many rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from ..learners.preparation import SIZE_FACTOR
from .compare import Progress, contender_error, model_bytes, run
from .contenders import WITHOUT_BANDWIDTH, Contender
from .recommendation import NOISE, Target, Trial
from .results import METHOD
from .task import Split

FACTORS = 0.25, 0.5, 1.0, 2.0, 4.0
"""Candidates of γ, as multiples of the choice of leave-one-out on 1000 rows."""

MIN_SIZE, MAX_SIZE = 64, 4096
"""Range of the default numbers of feature columns."""

SMALL_MAPS = "giga", "frank_wolfe", "jl", "compact", "compact_circulant"
"""Methods for few columns, which take long to fit with many."""

MAX_SMALL_SIZE = 1024
"""Most columns of these methods."""

FAMILIES = {
    "nystroem": "landmarks",
    "maxout": "maxout",
    "maxout_codes": "maxout",
    "compact": "learned",
    "compact_circulant": "learned",
}
"""Families of methods. All others are random features of the kernel, which score alike,
and belong to the family "random"."""

FIRST_ROWS = 1000
"""Rows of the first rung, approximately."""

GROWTH = 3
"""Ratio of the rows of a rung to the rows of the rung before."""

PROMOTED = 4
"""One candidate in this many is promoted to the next rung."""

FINALISTS = 3
"""Candidates that are fitted on all rows. Each is of another family, because few rows
are a poor guide to methods that need many."""

SCOUT = "nystroem"
"""The method that preselects bandwidths for all methods."""

BANDWIDTHS_PER_METHOD = 2
"""Bandwidths of one method that are promoted: neighbouring bandwidths score alike."""

ROWS_PER_COLUMN = 4
"""Rows of a rung for every feature column, at least: more columns would not help."""


@dataclass(frozen=True)
class Candidate:
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
        """The contender with the largest size up to `size`, or with the smallest."""
        allowed = [own for own in self.sizes if own <= size]
        return self.at(allowed[-1] if allowed else self.sizes[0])


def default_sizes(n_rows: int) -> list[int]:
    """Powers of two from 64 up to about 16 √n, at most 4096."""
    sizes = [MIN_SIZE]
    while sizes[-1] < min(MAX_SIZE, SIZE_FACTOR * n_rows**0.5 / 2):
        sizes.append(2 * sizes[-1])
    return sizes


def candidates(
    names: Iterable[str],
    sizes: list[int],
    gamma: float,
    loss: str,
    factors: tuple[float, ...] = FACTORS,
) -> list[Candidate]:
    """Every method with every bandwidth."""
    result = []
    for name in names:
        is_small = name in SMALL_MAPS
        allowed = [size for size in sizes if not is_small or size <= MAX_SMALL_SIZE]
        for factor in (1.0,) if name in WITHOUT_BANDWIDTH else factors:
            rounded = float(f"{gamma * factor:.3g}")
            result.append(Candidate(name, rounded, tuple(allowed or sizes[:1]), loss))
    return result


def all_contenders(
    names: Iterable[str], sizes: list[int], gamma: float, loss: str
) -> list[Contender]:
    """The contenders of a full grid search."""
    every = candidates(names, sizes, gamma, loss)
    return [candidate.at(size) for candidate in every for size in candidate.sizes]


@dataclass
class Search:
    """Trials of candidates on one split, under the limits of a target.

    Parameters
    ----------
    split : Split
        Training rows in random order, and test rows for model selection.
    other_splits : list of Split
        Further random splits of the same rows. Scores on all rows are means over all
        splits, because scores on few test rows are noisy.
    target : Target
        Limits that the chosen model must keep.
    seed : int
        Seed of all maps.
    progress : callable, optional
        Called before every trial with its label, the number of trials done and about
        how many there will be (0 if unknown).
    on_trial : callable, optional
        Called with every trial as soon as it is measured.
    """

    split: Split
    other_splits: list[Split]
    target: Target
    seed: int
    progress: Progress = lambda name, done, total: None
    on_trial: Callable[[Trial], None] = lambda trial: None
    trials: list[Trial] = field(default_factory=list)
    last_error: str = ""  # reason why the last failed contender could not be fitted

    def finalists(self, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates that survive all rungs before the last, which has all rows."""
        rungs = _rungs(self.split.X_train.shape[0])
        candidates = self._preselect_bandwidths(candidates, rungs[0])
        total = _expected_trials(len(candidates), rungs)
        for n_rows in rungs:
            if len(candidates) <= FINALISTS:
                break
            pairs: list[tuple[Candidate, Trial]] = []
            for candidate in candidates:
                trial = self._rung_trial(candidate, n_rows, total)
                if trial is not None:
                    pairs.append((candidate, trial))
            if n_rows == rungs[-1]:
                return self._promote(pairs, FINALISTS, lambda c: c.family, 1)
            n_promoted = max(FINALISTS, len(candidates) // PROMOTED)
            candidates = self._promote(
                pairs, n_promoted, lambda c: c.method, BANDWIDTHS_PER_METHOD
            )
        return candidates

    def _preselect_bandwidths(
        self, candidates: list[Candidate], n_rows: int
    ) -> list[Candidate]:
        """Candidates with the bandwidths that score best with one method, the scout.

        A bandwidth belongs to the kernel, which most methods share. The scout comes
        closest to the exact kernel, which the other methods approach with more columns.
        All candidates of the scout and of methods with few bandwidths are kept.
        """
        counts = Counter(candidate.method for candidate in candidates)
        wide = [method for method, n in counts.items() if n > BANDWIDTHS_PER_METHOD]
        if len(wide) < 2:
            return candidates
        scout = SCOUT if SCOUT in wide else wide[0]
        pairs = [
            (trial, candidate.gamma)
            for candidate in candidates
            if candidate.method == scout
            and (trial := self._rung_trial(candidate, n_rows, 0))
        ]
        pairs.sort(key=lambda pair: self.target.rank(pair[0]))
        best = {gamma for _, gamma in pairs[:BANDWIDTHS_PER_METHOD]}
        return [
            candidate
            for candidate in candidates
            if candidate.gamma in best
            or candidate.method == scout
            or candidate.method not in wide
        ]

    def _promote(
        self,
        pairs: list[tuple[Candidate, Trial]],
        n_promoted: int,
        group: Callable[[Candidate], str],
        per_group: int,
    ) -> list[Candidate]:
        """The best candidates, at most `per_group` of every group.

        Candidates that break the limits of time and size are left out, unless all do.
        """
        cheap = [pair for pair in pairs if self.target.is_cheap_enough(pair[1])]
        promoted: list[Candidate] = []
        for candidate, trial in sorted(
            cheap or pairs, key=lambda pair: self.target.rank(pair[1])
        ):
            same = [other for other in promoted if group(other) == group(candidate)]
            if len(same) < per_group and len(promoted) < n_promoted:
                promoted.append(candidate)
                self.trials[self.trials.index(trial)] = replace(trial, kept=True)
        return promoted

    def size_trials(self, candidate: Candidate) -> list[Trial]:
        """Trials on all rows, from the largest size down while that may help."""
        n_rows = self.split.X_train.shape[0]
        trials: list[Trial] = []
        for size in reversed(candidate.sizes):
            trial = self._trial(candidate.at(size), n_rows, 0)
            if trial is None:
                continue
            best = max((t.score for t in trials), default=trial.score)
            trials.append(trial)
            if not self._smaller_may_be_better(trial, best):
                break
        return trials

    def _smaller_may_be_better(self, trial: Trial, best: float) -> bool:
        """Whether a smaller size might be the better choice."""
        if not self.target.is_cheap_enough(trial):
            return True
        if self.target.kernel_error is not None:
            return self.target.is_met(trial)
        floor = self.target.floor(best) if self.target.within is not None else best
        return trial.score >= floor - NOISE

    def trial_on(self, contender: Contender, splits: list[Split]) -> Trial | None:
        """The mean of fits on all splits; None if the contender rejects the rows."""
        self.progress(contender.label, len(self.trials), 0)
        return self._fit_and_record(contender, splits)

    def _rung_trial(
        self, candidate: Candidate, n_rows: int, total: int
    ) -> Trial | None:
        return self._trial(candidate.up_to(n_rows // ROWS_PER_COLUMN), n_rows, total)

    def _trial(self, contender: Contender, n_rows: int, total: int) -> Trial | None:
        """The trial of a contender on the first n_rows rows; None if it fails.

        A trial on all rows has a fit for every split, any other trial has one fit. A
        repeated trial is returned without a new fit.
        """
        n_all = self.split.X_train.shape[0]
        n_rows = min(n_rows, n_all)
        for trial in self.trials:
            if trial.contender == contender and trial.n_rows == n_rows:
                return trial
        self.progress(contender.label, len(self.trials), total)
        others = self.other_splits if n_rows == n_all else []
        splits = [split.first(n_rows) for split in (self.split, *others)]
        return self._fit_and_record(contender, splits)

    def _fit_and_record(
        self, contender: Contender, splits: list[Split]
    ) -> Trial | None:
        try:
            trial = self._measure(contender, splits)
        except (ValueError, TypeError, MemoryError) as error:
            self.last_error = str(error)
            return None
        self.trials.append(trial)
        self.on_trial(trial)
        return trial

    def _measure(self, contender: Contender, splits: list[Split]) -> Trial:
        """The mean score over splits; error, times and size on the first split."""
        runs = [run(contender, split, self.seed) for split in splits]
        first, split = runs[0], splits[0]
        error = None
        if self.target.kernel_error is not None:
            error = contender_error(contender, first.model, split)
        return Trial(
            contender,
            split.X_train.shape[0],
            float(np.mean([r.score for r in runs])),
            error,
            first.fit_seconds,
            first.row_seconds,
            model_bytes(first.model, split),
        )


def _rungs(n_rows: int) -> list[int]:
    """Rows of all rungs before the last, ascending: n/3, n/9, … down to about 1000."""
    rungs: list[int] = []
    while n_rows // GROWTH >= FIRST_ROWS // 2 or not rungs:
        n_rows = max(n_rows // GROWTH, min(n_rows, FIRST_ROWS // 2))
        rungs.append(n_rows)
    return rungs[::-1]


def _expected_trials(n_candidates: int, rungs: list[int]) -> int:
    """About how many trials there will be, for a progress bar."""
    total = 0
    for _ in rungs:
        total += n_candidates
        n_candidates = max(FINALISTS, n_candidates // PROMOTED)
    return total + 2 * FINALISTS
