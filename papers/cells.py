"""Cells: a figure of a paper, ours beside it, and whether it is reached."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student_t

HIGHER, LOWER = "higher", "lower"
REACHED, BEATEN, MISSED = "reached", "beaten", "missed"
STATUSES = REACHED, BEATEN, MISSED

DEVIATIONS = 2.0
"""Standard deviations that chance may take from a figure that is reached."""


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper, and how its cells are read.

    Parameters
    ----------
    paper : str
        As in `bochner reproduce PAPER`.
    title : str
    what : str
        What the figures are, with their unit.
    better : "higher" or "lower"
    x : str
        What sizes of cells count; empty where the table has no axis to draw.
    """

    paper: str
    title: str
    what: str
    better: str = HIGHER
    x: str = ""


@dataclass(frozen=True)
class Cell:
    """One figure: theirs, ours, and what stands in the way where ours is worse.

    Parameters
    ----------
    table : Table
    cell : str
        Where in the table.
    theirs, ours : float
    slack : float
        How far apart chance alone may set the two.
    reason : str
        What was measured about it: it is told where the figure is missed.
    series : str
        The line of a chart that the cell is on.
    x : float or None
        Its place on that line.
    """

    table: Table
    cell: str
    theirs: float
    ours: float
    slack: float
    reason: str
    series: str = ""
    x: float | None = None

    @property
    def status(self) -> str:
        """Beaten by more than chance allows, missed by more, or reached."""
        sign = 1.0 if self.table.better == HIGHER else -1.0
        ahead = sign * (self.ours - self.theirs)
        if ahead > self.slack:
            return BEATEN
        return REACHED if ahead >= -self.slack else MISSED

    @property
    def verdict(self) -> str:
        """The status, with the reason where the figure is missed."""
        return f"{self.status}: {self.reason}" if self.status == MISSED else self.status

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; a reason only where it is needed."""
        found = {
            "paper": self.table.paper,
            "table": self.table.title,
            "cell": self.cell,
            "theirs": self.theirs,
            "ours": self.ours,
            "status": self.status,
        }
        if self.status == MISSED:
            found["reason"] = self.reason
        shown = {"what": self.table.what, "better": self.table.better}
        axis = {"series": self.series, "x": self.x, "axis": self.table.x}
        return found | shown | {"slack": self.slack} | axis


@dataclass(frozen=True)
class Curve:
    """A line of a figure for which the paper prints no numbers."""

    paper: str
    figure: str
    series: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    x_title: str
    y_title: str
    log: tuple[bool, bool] = (False, False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


Finding = Cell | Curve


def rows_slack(percent: float, n_rows: int, deviation: float = 0.0) -> float:
    """Chance's share in an accuracy or error in %, measured on n rows.

    Two deviations of the larger of √(p(1 − p)/n) and the paper's own between draws.
    """
    p = min(max(percent / 100, 0.0), 1.0)
    return DEVIATIONS * max(100 * float(np.sqrt(p * (1 - p) / n_rows)), deviation)


def draw_slack(values: list[float], fallback: float = 0.0, n_theirs: int = 1) -> float:
    """Chance's share in a mean over our draws beside one over theirs.

    s √(1/n + 1/n′) times the quantile of Student's t that holds as often as two
    deviations; of one draw, what is given.
    """
    n = len(values)
    if n < 2:
        return fallback
    quantile = student_t.ppf(norm.cdf(DEVIATIONS), n - 1)
    deviation = np.std(values, ddof=1) * np.sqrt(1 / n + 1 / n_theirs)
    return float(quantile * deviation)


def said_of_draws(values: list[float]) -> str:
    """How far apart draws are, as a reason."""
    if len(values) < 2:
        return "one draw of a random map"
    return f"{len(values)} draws are between {min(values):.4g} and {max(values):.4g}"
