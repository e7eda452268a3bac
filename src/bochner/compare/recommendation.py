"""What a recommendation is asked for, and what it found, with intervals that hold."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._core.random import Stream
from .contenders import Contender
from .results import Summary
from .task import trees_lead


@dataclass(frozen=True)
class Trial:
    """A contender fitted on some rows and judged on those held out for choosing."""

    contender: Contender
    n_rows: int
    score: float
    error: float | None
    fit_seconds: float
    row_seconds: float
    model_bytes: int
    kept: bool = False  # whether it went on to more rows


@dataclass(frozen=True)
class Interval:
    """A figure, and where it will be on as many new rows, 19 times in 20."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Recommendation:
    """The choice, what to expect of it, and what else was tried.

    Attributes
    ----------
    data : Summary
    metric : "accuracy" or "R²"
    target : str
        What was asked for, in words.
    met : bool
        Whether it could be had; if not, the choice is what comes nearest.
    choice : Contender
    standardised : bool
        Whether features are to be scaled first; the default learner chooses itself.
    score : Interval
        On rows that had no part in the search.
    error : float or None
        Relative kernel error.
    row_seconds, fit_seconds : float
    model_bytes : int
    n_judged : int
        Rows that the score is of.
    reference : float or None
        Score of the exact kernel machine on the rows for choosing, where asked for.
    boosted_trees : float or None
        Score of scikit-learn's boosted trees, fitted and judged on the same rows as
        the choice; None where they do not take the rows.
    trials : tuple of Trial
    seconds : float
        All of the search.
    code : str
        Python to paste.
    """

    data: Summary
    metric: str
    target: str
    met: bool
    choice: Contender
    standardised: bool
    score: Interval
    error: float | None
    row_seconds: float
    fit_seconds: float
    model_bytes: int
    n_judged: int
    reference: float | None
    boosted_trees: float | None
    trials: tuple[Trial, ...]
    seconds: float
    code: str

    def trees_lead(self) -> str | None:
        """A sentence where boosted trees are ahead of the choice, or None."""
        if self.boosted_trees is None:
            return None
        return trees_lead(self.boosted_trees, self.score.value, self.data.task)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


MICRO, MEGA = 1e-6, 1e6

NOISE_POINTS = 0.002
"""Scores this near are equal, and the smaller model is taken."""


@dataclass(frozen=True)
class Target:
    """Limits that all must hold; None: no limit.

    Parameters
    ----------
    within : float or None
        Points of accuracy (hundredths; of R² likewise) that may be lost against the
        best of all, the exact machine included, for a faster model.
    kernel_error : float or None
        Relative error of the kernel matrix.
    microseconds : float or None
        To predict a row, many at a time.
    megabytes : float or None
        Of the model as a file.
    """

    within: float | None = None
    kernel_error: float | None = None
    microseconds: float | None = None
    megabytes: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            positive = isinstance(value, int | float) and value > 0
            if value is not None and not (
                positive or (name == "within" and value == 0)
            ):
                raise ValueError(
                    f"recommend: {name} must be a positive number; got {value!r}."
                )

    def is_cheap_enough(self, trial: Trial) -> bool:
        """Whether time and size hold."""
        slow = self.microseconds is not None and (
            trial.row_seconds > self.microseconds * MICRO
        )
        large = self.megabytes is not None and (
            trial.model_bytes > self.megabytes * MEGA
        )
        return not slow and not large

    def is_met(self, trial: Trial) -> bool:
        """Whether all limits hold that need no comparison with others."""
        if self.kernel_error is None:
            return self.is_cheap_enough(trial)
        close = trial.error is not None and trial.error <= self.kernel_error
        return close and self.is_cheap_enough(trial)

    def excess(self, trial: Trial) -> float:
        """How many times over its limits a trial is, at worst; 1: none is broken."""
        ratios = [1.0]
        if self.microseconds is not None:
            ratios.append(trial.row_seconds / (self.microseconds * MICRO))
        if self.megabytes is not None:
            ratios.append(trial.model_bytes / (self.megabytes * MEGA))
        if self.kernel_error is not None:
            error = float("inf") if trial.error is None else trial.error
            ratios.append(error / self.kernel_error)
        return max(ratios)

    def rank(self, trial: Trial) -> tuple[float, int, str]:
        """Better trials first: by score, or by kernel error where that is asked for.

        Equal ones by their size, which no clock can change.
        """
        if self.kernel_error is None:
            first = float(-round(trial.score / NOISE_POINTS))
        else:
            first = float("inf") if trial.error is None else trial.error
        return first, trial.model_bytes, trial.contender.label

    def floor(self, best: float) -> float:
        """The score that will do where the best is this."""
        return best if self.within is None else best - self.within / 100

    @property
    def wants_cheapest(self) -> bool:
        """Whether less than the best score will do, if it is cheaper."""
        return self.within is not None or self.kernel_error is not None

    def words(self) -> str:
        """The target as people say it."""
        found = []
        if self.within is not None:
            found.append(f"within {self.within:g} points of the best")
        if self.kernel_error is not None:
            found.append(f"kernel error at most {self.kernel_error:g}")
        if self.microseconds is not None:
            found.append(f"at most {self.microseconds:g} µs a row")
        if self.megabytes is not None:
            found.append(f"at most {self.megabytes:g} MB")
        return ", ".join(found) or "the best score"


Z = 1.96
"""Standard deviations either side that hold 19 times in 20."""

DRAWS = 1000
"""Of the bootstrap."""


def accuracy_interval(hits: np.ndarray) -> Interval:
    """Share of hits among m rows, and where that of m new rows will be.

    Both shares vary by p(1 − p)/m, so their difference by twice that. p is taken with
    two hits and two misses more (Agresti and Coull), so that no miss in a few rows does
    not promise perfection.
    """
    m = len(hits)
    share = float(hits.mean())
    p = (hits.sum() + 2) / (m + 4)
    half = Z * float(np.sqrt(2 * p * (1 - p) / m))
    return Interval(share, max(0.0, share - half), min(1.0, share + half))


def r2_interval(y: np.ndarray, predicted: np.ndarray) -> Interval:
    """R² on m rows, and where that of m new rows will be, by the bootstrap.

    A bootstrap's spread is that of one sample, and two samples differ by √2 of it. It
    is too narrow where few rows make up most of the variance: with lognormal targets
    (σ = 1) it held 9 times in 10 at m = 200.
    """
    m = len(y)
    value = _r2(y, predicted)
    rng = Stream(0).child("bootstrap")
    draws = []
    for _ in range(DRAWS):
        places = (rng.words(m) % np.uint64(m)).astype(np.int64)
        draws.append(_r2(y[places], predicted[places]))
    low, high = np.quantile(draws, [0.025, 0.975])
    root = np.sqrt(2.0)
    return Interval(
        value,
        float(value - root * max(value - low, 0.0)),
        float(min(1.0, value + root * max(high - value, 0.0))),
    )


def _r2(y: np.ndarray, predicted: np.ndarray) -> float:
    total = float(((y - y.mean()) ** 2).sum())
    return 1 - float(((y - predicted) ** 2).sum()) / total if total else 0.0
