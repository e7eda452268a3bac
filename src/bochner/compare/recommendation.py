"""The target and the result of a recommendation, with intervals for its scores."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._core.random import Stream
from .contenders import Contender
from .results import Summary
from .task import trees_lead

MICRO, MEGA = 1e-6, 1e6

NOISE = 0.002
"""Scores that differ by less count as equal, and the smaller model is preferred."""

Z = 1.96
"""Standard deviations within which a normal variable is 19 times in 20."""

BOOTSTRAP_DRAWS = 1000


@dataclass(frozen=True)
class Trial:
    """A contender fitted on some rows and scored on the rows for model selection."""

    contender: Contender
    n_rows: int
    score: float
    error: float | None
    fit_seconds: float
    row_seconds: float
    model_bytes: int
    kept: bool = False  # whether it was promoted to more rows


@dataclass(frozen=True)
class Interval:
    """A score, and the range of the score on as many new rows, 19 times in 20."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Recommendation:
    """The result of `recommend`: the chosen model, its expected score, all trials.

    Attributes
    ----------
    data : Summary
        Description of the data.
    metric : {"accuracy", "R²"}
        Metric of the scores.
    target : str
        The requested target as text.
    met : bool
        Whether the chosen model meets the target. If not, it comes closest to it.
    choice : Contender
        The chosen model.
    standardised : bool
        Whether the features are standardised before the model; false for the default
        learner, which scales features itself.
    score : Interval
        Score on rows that took no part in the search.
    error : float or None
        Relative kernel error; None if the map does not approximate a kernel.
    row_seconds : float
        Time to predict one row of a large block.
    fit_seconds : float
        Time to fit.
    model_bytes : int
        Size of the model and its preprocessing as files.
    n_judged : int
        Number of rows that the score was measured on.
    reference : float or None
        Score of the exact kernel machine on the rows for model selection; None unless
        `within` was given.
    boosted_trees : float or None
        Score of scikit-learn's boosted trees, fitted and scored on the same rows as the
        chosen model; None if they do not accept the rows.
    trials : tuple of Trial
        All fits of the search.
    seconds : float
        Time of the whole search.
    code : str
        Python code that builds the model.

    See Also
    --------
    recommend : Returns a `Recommendation`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import recommend
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> recommendation = recommend(X, X[:, 0] > 0, methods=["nystroem"], sizes=[16])
    >>> recommendation.target, recommendation.met
    ('the best score', True)
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
        """A sentence on the lead of boosted trees over the choice, or None."""
        if self.boosted_trees is None:
            return None
        return trees_lead(self.boosted_trees, self.score.value, self.data.task)

    def to_dict(self) -> dict[str, Any]:
        """The recommendation as plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Target:
    """Limits that a model must keep; None means no limit.

    Parameters
    ----------
    within : float, default=None
        Points of accuracy (or hundredths of R²) that a faster model may score below the
        best of all models, including the exact machine.
    kernel_error : float, default=None
        Largest relative error of the kernel matrix.
    microseconds : float, default=None
        Longest time to predict one row of a large block.
    megabytes : float, default=None
        Largest size of the model as a file.
    """

    within: float | None = None
    kernel_error: float | None = None
    microseconds: float | None = None
    megabytes: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            is_positive = isinstance(value, int | float) and value > 0
            is_zero_loss = name == "within" and value == 0
            if not (value is None or is_positive or is_zero_loss):
                raise ValueError(
                    f"recommend: {name} must be a positive number; got {value!r}."
                )

    def is_cheap_enough(self, trial: Trial) -> bool:
        """Whether the limits of time and size hold."""
        too_slow = self.microseconds is not None and (
            trial.row_seconds > self.microseconds * MICRO
        )
        too_large = self.megabytes is not None and (
            trial.model_bytes > self.megabytes * MEGA
        )
        return not too_slow and not too_large

    def is_met(self, trial: Trial) -> bool:
        """Whether all limits hold except `within`, which depends on other trials."""
        if self.kernel_error is None:
            return self.is_cheap_enough(trial)
        is_close = trial.error is not None and trial.error <= self.kernel_error
        return is_close and self.is_cheap_enough(trial)

    def excess(self, trial: Trial) -> float:
        """The largest ratio of a figure to its limit; 1 if all limits hold."""
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
        """A sort key, better trials first: by score, or by kernel error if limited.

        Ties are broken by model size, which unlike time is reproducible.
        """
        if self.kernel_error is None:
            first = float(-round(trial.score / NOISE))
        else:
            first = float("inf") if trial.error is None else trial.error
        return first, trial.model_bytes, trial.contender.label

    def floor(self, best: float) -> float:
        """The lowest score that `within` allows for the given best score."""
        return best if self.within is None else best - self.within / 100

    @property
    def wants_fastest(self) -> bool:
        """Whether the fastest model that meets the target is preferred to the best."""
        return self.within is not None or self.kernel_error is not None

    def description(self) -> str:
        """The target as text."""
        limits = []
        if self.within is not None:
            limits.append(f"within {self.within:g} points of the best")
        if self.kernel_error is not None:
            limits.append(f"kernel error at most {self.kernel_error:g}")
        if self.microseconds is not None:
            limits.append(f"at most {self.microseconds:g} µs a row")
        if self.megabytes is not None:
            limits.append(f"at most {self.megabytes:g} MB")
        return ", ".join(limits) or "the best score"


def accuracy_interval(hits: np.ndarray) -> Interval:
    """Accuracy on m rows, and the range of the accuracy on m new rows.

    Both accuracies have variance p(1 − p)/m, so their difference has twice that. p is
    estimated with two more hits and two more misses (Agresti and Coull, 1998), so that
    a few rows without a miss do not promise perfection.
    """
    m = len(hits)
    share = float(hits.mean())
    p = (hits.sum() + 2) / (m + 4)
    half_width = Z * float(np.sqrt(2 * p * (1 - p) / m))
    return Interval(share, max(0.0, share - half_width), min(1.0, share + half_width))


def r2_interval(y: np.ndarray, predicted: np.ndarray) -> Interval:
    """R² on m rows, and the range of R² on m new rows, by the bootstrap.

    The bootstrap gives the spread of one sample; the difference of two samples has √2
    times that spread. The interval is too narrow if few rows make up most of the
    variance: with lognormal targets (σ = 1) it held 9 times in 10 at m = 200.
    """
    m = len(y)
    value = _r2(y, predicted)
    rng = Stream(0).child("bootstrap")
    draws = []
    for _ in range(BOOTSTRAP_DRAWS):
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
