"""The result of a comparison: plain values for tables, HTML pages and JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .task import trees_lead

METHOD, DEFAULT = "method", "default"
LINEAR, EXACT, TREES = "linear", "exact", "trees"
"""Roles of a contender. Feature maps (METHOD) and the default learner are bochner's;
the linear model, the exact kernel machine and boosted trees are references."""

OURS = METHOD, DEFAULT


@dataclass(frozen=True)
class Spread:
    """A figure over repeats: mean, and standard deviation of at least two repeats."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        figures = np.fromiter(values, dtype=np.float64)
        deviation = float(figures.std(ddof=1)) if len(figures) > 1 else None
        return cls(float(figures.mean()), deviation)


@dataclass(frozen=True)
class Column:
    """A column of a table: its kind, its share of missing values, its contents."""

    name: str
    kind: str  # "numbers", "categories" or "dates"
    missing: float  # share of the rows
    about: str  # the range, or the most frequent values, as text


@dataclass(frozen=True)
class Summary:
    """The data that the contenders were compared on."""

    name: str
    task: str  # "classification" or "regression"
    n_train: int
    n_test: int
    n_features: int  # columns after encoding
    target: str | None = None
    classes: tuple[tuple[str, int], ...] = ()  # labels with their training rows
    columns: tuple[Column, ...] = ()  # only of tables
    notes: tuple[str, ...] = ()  # columns left out, values filled in, rows sampled


@dataclass(frozen=True)
class Entry:
    """Figures of one contender at one size, scored on test rows."""

    name: str  # "sorf", …, "default learner", "linear", "exact kernel", "boosted trees"
    role: str
    size: int | None  # requested components of a method; None for other roles
    n_rows: int  # training rows
    score: Spread  # accuracy, or R²
    error: Spread | None  # relative kernel error; None if no kernel is approximated
    fit_seconds: Spread
    row_seconds: Spread  # time to predict one row of a large block
    memory_bytes: int | None  # peak of the fit without the data; None: not measured
    model_bytes: int | None  # size as a file or pickle; None: not measured
    code: str  # Python code that builds the model

    @property
    def label(self) -> str:
        return self.name if self.size is None else f"{self.name}, {self.size}"


@dataclass(frozen=True)
class Failure:
    """A contender that could not be fitted, and the reason."""

    name: str
    size: int | None
    reason: str


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`: contenders of several sizes on one data set.

    Attributes
    ----------
    data : Summary
        Description of the data.
    metric : {"accuracy", "R²"}
        Metric of the scores.
    repeats : int
        Number of draws of every random map; figures are means over them.
    kernel : str
        The kernel that the maps approximate, as Python code.
    entries : tuple of Entry
        Figures of every contender at every size.
    failures : tuple of Failure
        Contenders that could not be fitted.
    seconds : float
        Time of the whole comparison.
    environment : dict of str to str
        Versions of the libraries, and the machine.
    command : str
        Shell command that repeats the comparison; empty if it was called from Python.

    See Also
    --------
    compare : Returns a `Comparison`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import compare
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> comparison = compare(X, X[:, 0] > 0, methods=["rff"], sizes=[16], repeats=1)
    >>> comparison.best_of("method").label
    'rff, 16'
    """

    data: Summary
    metric: str
    repeats: int
    kernel: str
    entries: tuple[Entry, ...]
    failures: tuple[Failure, ...]
    seconds: float
    environment: dict[str, str]
    command: str

    def front(self) -> list[Entry]:
        """The Pareto front of score and time to fit, fastest entry first.

        Entries with fewer training rows than others are left out, because their times
        are not comparable.
        """
        front: list[Entry] = []
        most_rows = max((entry.n_rows for entry in self.entries), default=0)
        comparable = [entry for entry in self.entries if entry.n_rows == most_rows]
        for entry in sorted(comparable, key=lambda e: e.fit_seconds.mean):
            if not front or entry.score.mean > front[-1].score.mean:
                front.append(entry)
        return front

    def best(self) -> Entry:
        """The entry with the highest score."""
        return max(self.entries, key=lambda e: e.score.mean)

    def best_of(self, *roles: str) -> Entry | None:
        """The entry with the highest score among the given roles; None if empty."""
        entries = [entry for entry in self.entries if entry.role in roles]
        return max(entries, key=lambda e: e.score.mean, default=None)

    def trees_lead(self) -> str | None:
        """A sentence on the lead of boosted trees over bochner; None without a lead."""
        trees, own = self.best_of(TREES), self.best_of(*OURS)
        if trees is None or own is None:
            return None
        return trees_lead(trees.score.mean, own.score.mean, self.data.task)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain values for JSON."""
        front = {id(entry) for entry in self.front()}
        values = asdict(self)
        for entry, entry_values in zip(self.entries, values["entries"], strict=True):
            entry_values["on_front"] = id(entry) in front
        return values
