"""What a search found: plain values, which tables and JSON show."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..comparison.contenders import Contender
from ..comparison.results import Summary
from ..comparison.trees import trees_lead


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
