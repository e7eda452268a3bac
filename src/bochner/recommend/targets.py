"""What the user asks of a model: limits, and how near to the best it has to be."""

from __future__ import annotations

from dataclasses import dataclass

from .results import Trial

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
