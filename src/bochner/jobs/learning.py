"""What to learn: the options of `bochner fit` as an estimator and its preprocessing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scipy import sparse

from .._validation import check_count, did_you_mean
from ..comparison.contenders import Contender
from ..comparison.data import present
from ..comparison.results import METHOD
from ..comparison.setting import standard_scaler
from ..comparison.task import CLASSIFICATION
from ..estimators import KernelClassifier, KernelRegressor
from ..methods import METHODS
from ..preprocessing import for_table, median_filler

DEFAULT_LOSS, STREAM_LOSS = "hinge", "squared"

DEFAULT_SIZE = 1024
"""Columns of a method's features where a bandwidth is given and no size."""


@dataclass(frozen=True)
class Learning:
    """Options of a fit; None leaves a choice to the estimator.

    `loss` None: the hinge, or for rows that are streamed "squared", which takes one
    pass where the others take tens.
    """

    task: str | None = None
    features: str | None = None
    size: int | None = None
    gamma: Any = None
    loss: str | None = None
    alpha: Any = "auto"
    calibrate: bool = False
    standardise: bool = False
    memory: str | None = None
    checkpoint: str | None = None
    seed: int = 0
    verbose: int = 0
    columns: dict[str, Any] = field(default_factory=dict)

    def estimator(self, task: str) -> Any:
        """Unfitted."""
        common = {
            "features": self._features(task),
            "alpha": self.alpha,
            "memory": self.memory,
            "checkpoint": self.checkpoint,
            "verbose": self.verbose,
            "random_state": self.seed,
        }
        if self.calibrate and task != CLASSIFICATION:
            raise ValueError("--calibrate is for classes; numbers have a std.")
        if task == CLASSIFICATION:
            return KernelClassifier(
                loss=self.loss or DEFAULT_LOSS, calibrate=self.calibrate, **common
            )
        return KernelRegressor(**common)

    def _features(self, task: str) -> Any:
        if self.size is not None:
            check_count("fit", "--size", self.size)
        if self.features is None:
            if self.gamma is None:
                return self.size
            name = "nystroem"
        else:
            name = self.features
            if self.gamma is None and self.size is None and name != "maxout_codes":
                return name  # at a size that the estimator chooses
        if name not in METHODS:
            raise ValueError(
                f"--features must be one of {', '.join(METHODS)}; got {name!r}"
                f"{did_you_mean(name, METHODS)}."
            )
        size = DEFAULT_SIZE if self.size is None else self.size
        return Contender(name, METHOD, size, self.gamma).features(task)

    def before(self, X: Any, gaps: bool) -> list[tuple[str, Any]]:
        """Unfitted steps that turn rows as they come into rows of numbers.

        `gaps`: whether values of arrays may be missing.
        """
        steps: list[tuple[str, Any]] = []
        if hasattr(X, "columns"):
            steps.append(("columns", for_table(X, **present(self.columns, X))))
        elif any(self.columns.values()):
            raise ValueError(
                "numbers, categories, dates and drop name columns of tables; these "
                "rows have none."
            )
        elif gaps and not sparse.issparse(X):
            steps.append(("missing", median_filler()))
        if self.standardise:
            steps.append(("scale", standard_scaler(X)))
        return steps
