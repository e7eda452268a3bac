"""What a comparison found: plain values, which tables, pages and JSON show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .task import trees_lead

METHOD, DEFAULT = "method", "default"
LINEAR, EXACT, TREES = "linear", "exact", "trees"
"""Roles of a contender: a feature map and the default learner, which are ours, and the
references: a linear model, the exact kernel machine and boosted trees."""

OURS = METHOD, DEFAULT


@dataclass(frozen=True)
class Spread:
    """A figure over repeats: its mean, and its standard deviation if there are two."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        found = np.fromiter(values, dtype=np.float64)
        deviation = float(found.std(ddof=1)) if len(found) > 1 else None
        return cls(float(found.mean()), deviation)


@dataclass(frozen=True)
class Column:
    """A column of the data: what it holds, and how much of it is missing."""

    name: str
    kind: str  # "numbers", "categories" or "dates"
    missing: float  # share of the rows
    about: str  # its range, or its commonest values, in words


@dataclass(frozen=True)
class Summary:
    """The data that a comparison was made on."""

    name: str
    task: str  # "classification" or "regression"
    n_train: int
    n_test: int
    n_features: int  # columns that maps see, after encoding
    target: str | None = None
    classes: tuple[tuple[str, int], ...] = ()  # labels and their training rows
    columns: tuple[Column, ...] = ()  # of tables
    notes: tuple[str, ...] = ()  # what was left out, filled in or sampled


@dataclass(frozen=True)
class Entry:
    """A contender at one size, on rows that it has not seen."""

    name: str  # "sorf", …, "default learner", "linear", "exact kernel", "boosted trees"
    role: str
    size: int | None  # components asked for; None of all that are not methods
    n_rows: int  # learned from
    score: Spread  # accuracy, or R²
    error: Spread | None  # relative kernel error; None where there is no such kernel
    fit_seconds: Spread
    row_seconds: Spread  # to predict one row, many at a time
    memory_bytes: int | None  # at the peak, beside the data; None: not known
    model_bytes: int | None  # as a file, or pickled; None: not known
    code: str  # Python that makes the model

    @property
    def label(self) -> str:
        return self.name if self.size is None else f"{self.name}, {self.size}"


@dataclass(frozen=True)
class Failure:
    """A contender that could not be had, and why."""

    name: str
    size: int | None
    reason: str


@dataclass(frozen=True)
class Comparison:
    """Contenders of several sizes on one set of data.

    Attributes
    ----------
    data : Summary
    metric : "accuracy" or "R²"
    repeats : int
        Draws of every random map, of which figures are means.
    kernel : str
        The kernel that maps approximate, as Python.
    entries : tuple of Entry
    failures : tuple of Failure
    seconds : float
        All of it.
    environment : dict
        Versions and the machine.
    command : str
        What to type to have it again.
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
        """Entries that no other beats in both score and time to fit, fastest first.

        Times of those that learned from fewer rows are no match.
        """
        found: list[Entry] = []
        most = max((entry.n_rows for entry in self.entries), default=0)
        rivals = [entry for entry in self.entries if entry.n_rows == most]
        for entry in sorted(rivals, key=lambda e: e.fit_seconds.mean):
            if not found or entry.score.mean > found[-1].score.mean:
                found.append(entry)
        return found

    def best(self) -> Entry:
        """The entry of the highest score."""
        return max(self.entries, key=lambda e: e.score.mean)

    def best_of(self, *roles: str) -> Entry | None:
        """The entry of the highest score among those of some roles, if there is any."""
        entries = [entry for entry in self.entries if entry.role in roles]
        return max(entries, key=lambda e: e.score.mean, default=None)

    def trees_lead(self) -> str | None:
        """A sentence where boosted trees are ahead of all that is ours, or None."""
        trees, own = self.best_of(TREES), self.best_of(*OURS)
        if trees is None or own is None:
            return None
        return trees_lead(trees.score.mean, own.score.mean, self.data.task)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        front = {id(entry) for entry in self.front()}
        found = asdict(self)
        for entry, shown in zip(self.entries, found["entries"], strict=True):
            shown["on_front"] = id(entry) in front
        return found
