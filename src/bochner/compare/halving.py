"""Successive halving: many candidates on few rows, few candidates on many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from ..learners.preparation import SIZE_FACTOR
from .compare import kernel_error, model_bytes, run
from .contenders import WITHOUT_BANDWIDTH, Contender
from .recommendation import NOISE_POINTS, Target, Trial
from .results import METHOD
from .task import Split

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


FIRST_ROWS = 1000
"""Rows that every line is tried on, about."""

GROWTH = 3
"""A rung has so many times the rows of the one before."""

KEPT = 4
"""One line in so many goes on to the next rung."""

FINALISTS = 3
"""Lines that are fitted on all rows, each of another family: few rows tell little of
how methods that learn from many will do."""

SCOUT = "nystroem"
"""The method that bandwidths are tried with first."""

LINES_A_METHOD = 2
"""Bandwidths of one method that go on: neighbours tell the same."""

SIZE_SHARE = 4
"""Columns on a rung, at most its rows over this: more would not help so few rows."""

Step = Callable[[str, int, int], None]


@dataclass
class Search:
    """Trials on one split, and the limits that they have to keep.

    Parameters
    ----------
    split : Split
        Its training rows in random order; its test rows are those for choosing.
    more : list of Split
        Other such cuts of the same rows: on all rows scores are means over them, as
        few rows to choose by tell little.
    target : Target
    seed : int
    step : callable
        Told what is tried, how many are done and about how many there are.
    tried : callable
        Told every trial.
    """

    split: Split
    more: list[Split]
    target: Target
    seed: int
    step: Step = lambda what, done, total: None
    tried: Callable[[Trial], None] = lambda trial: None
    trials: list[Trial] = field(default_factory=list)
    refused: str = ""  # why the last that could not be fitted was not

    def finalists(self, lines: list[Line]) -> list[Line]:
        """The lines that are left after all rungs but the last, which has all rows."""
        rungs = _rungs(self.split.X_train.shape[0])
        lines = self._scouted(lines, rungs[0])
        total = _about(len(lines), rungs)
        for n_rows in rungs:
            if len(lines) <= FINALISTS:
                break
            found: list[tuple[Line, Trial]] = []
            for line in lines:
                trial = self._trial(line.up_to(n_rows // SIZE_SHARE), n_rows, total)
                if trial is not None:
                    found.append((line, trial))
            if n_rows == rungs[-1]:
                return self._kept(found, FINALISTS, lambda line: line.family, 1)
            n_kept = max(FINALISTS, len(lines) // KEPT)
            lines = self._kept(found, n_kept, lambda line: line.method, LINES_A_METHOD)
        return lines

    def _scouted(self, lines: list[Line], n_rows: int) -> list[Line]:
        """Lines of the bandwidths that do best with one method, and all of that.

        Bandwidths are of the kernel, which most methods share. The scout comes nearest
        to the exact kernel, as the others do with more columns.
        """
        counts = Counter(line.method for line in lines)
        many = [method for method, n in counts.items() if n > LINES_A_METHOD]
        if len(many) < 2:
            return lines
        scout = SCOUT if SCOUT in many else many[0]
        found = [
            (trial, line.gamma)
            for line in lines
            if line.method == scout
            and (trial := self._trial(line.up_to(n_rows // SIZE_SHARE), n_rows, None))
        ]
        found.sort(key=lambda pair: self.target.rank(pair[0]))
        best = {gamma for _, gamma in found[:LINES_A_METHOD]}
        return [
            line
            for line in lines
            if line.gamma in best or line.method == scout or line.method not in many
        ]

    def _kept(
        self,
        found: list[tuple[Line, Trial]],
        n_kept: int,
        kind: Callable[[Line], str],
        most: int,
    ) -> list[Line]:
        """The best lines, cheap enough where any are, at most so many of a kind."""
        cheap = [pair for pair in found if self.target.is_cheap_enough(pair[1])]
        kept: list[Line] = []
        for line, trial in sorted(
            cheap or found, key=lambda pair: self.target.rank(pair[1])
        ):
            same = [other for other in kept if kind(other) == kind(line)]
            if len(same) < most and len(kept) < n_kept:
                kept.append(line)
                self.trials[self.trials.index(trial)] = replace(trial, kept=True)
        return kept

    def ladder(self, line: Line) -> list[Trial]:
        """The line on all rows, from its largest size down while that may pay."""
        found: list[Trial] = []
        for size in reversed(line.sizes):
            trial = self._trial(line.at(size), self.split.X_train.shape[0], None)
            if trial is None:
                continue
            best = max((t.score for t in found), default=trial.score)
            found.append(trial)
            if not self._goes_on(trial, best):
                break
        return found

    def _goes_on(self, trial: Trial, best: float) -> bool:
        """Whether a smaller size might be the better choice."""
        if not self.target.is_cheap_enough(trial):
            return True
        if self.target.kernel_error is not None:
            return self.target.is_met(trial)
        floor = self.target.floor(best) if self.target.within is not None else best
        return trial.score >= floor - NOISE_POINTS

    def trial_on(self, contender: Contender, splits: list[Split]) -> Trial | None:
        """The mean of fits on splits; None for what is refused."""
        self.step(contender.label, len(self.trials), 0)
        return self._tried(contender, splits)

    def _trial(
        self, contender: Contender, n_rows: int, total: int | None
    ) -> Trial | None:
        """One fit, or on all rows one for every split; None for what is refused."""
        n_all = self.split.X_train.shape[0]
        n_rows = min(n_rows, n_all)
        for trial in self.trials:
            if trial.contender == contender and trial.n_rows == n_rows:
                return trial
        self.step(contender.label, len(self.trials), total or 0)
        splits = [self.split, *self.more] if n_rows == n_all else [self.split]
        return self._tried(contender, [s.first(n_rows) for s in splits])

    def _tried(self, contender: Contender, splits: list[Split]) -> Trial | None:
        try:
            trial = self._measured(contender, splits)
        except (ValueError, TypeError, MemoryError) as reason:
            self.refused = str(reason)
            return None
        self.trials.append(trial)
        self.tried(trial)
        return trial

    def _measured(self, contender: Contender, splits: list[Split]) -> Trial:
        """Means over splits; time and size are of the first."""
        runs = [run(contender, split, self.seed) for split in splits]
        first, split = runs[0], splits[0]
        error = None
        if self.target.kernel_error is not None:
            error = kernel_error(contender, first.model, split)
        return Trial(
            contender,
            split.X_train.shape[0],
            float(np.mean([one.score for one in runs])),
            error,
            first.fit_seconds,
            first.row_seconds,
            model_bytes(first.model, split),
        )


def _rungs(n_rows: int) -> list[int]:
    """Rows of every rung but the last, ascending: thirds of thirds of all."""
    found: list[int] = []
    while n_rows // GROWTH >= FIRST_ROWS // 2 or not found:
        n_rows = max(n_rows // GROWTH, min(n_rows, FIRST_ROWS // 2))
        found.append(n_rows)
    return found[::-1]


def _about(n_lines: int, rungs: list[int]) -> int:
    """Fits there will be, about, for a progress bar."""
    total = 0
    for _ in rungs:
        total += n_lines
        n_lines = max(FINALISTS, n_lines // KEPT)
    return total + 2 * FINALISTS
