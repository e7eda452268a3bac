"""Tables: entries as rows of cells, which know what they are sorted by."""

from __future__ import annotations

from dataclasses import dataclass

from ..comparison.results import Comparison, Entry
from . import text
from .finding import measured
from .styles import Style, styles

MAX_CLASSES = 30
MAX_COLUMNS = 200


@dataclass(frozen=True)
class Heading:
    """A column of the table of entries, and which end of it is shown first."""

    title: str
    first: str = "ascending"


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and the number that it is sorted by; None goes last."""

    shown: str
    value: float | None


@dataclass(frozen=True)
class Row:
    """An entry in the table."""

    name: str
    style: Style
    cells: list[Cell]
    on_front: bool
    code: str
    label: str


@dataclass(frozen=True)
class Class:
    """A label, its rows, and its bar as a percentage of the longest."""

    label: str
    shown: str
    share: str
    width: float


def headings(comparison: Comparison) -> list[Heading]:
    """Titles of columns, between the contender and the mark of the front."""
    return [
        Heading("features"),
        Heading(text.metric_title(comparison.metric), "descending"),
        Heading("kernel error"),
        Heading("time to fit,\u00a0s"),
        Heading("µs per\u00a0row"),
        Heading("peak memory"),
        Heading("model size"),
        Heading("rows learned from", "descending"),
    ]


def rows(comparison: Comparison) -> list[Row]:
    """Entries, the highest score first."""
    front = {id(entry) for entry in measured(comparison).front()}
    looks = styles(comparison)
    order = sorted(comparison.entries, key=_falling_score)
    return [
        Row(
            name=entry.name,
            style=looks[entry.name],
            cells=_cells(entry, comparison.metric),
            on_front=id(entry) in front,
            code=entry.code,
            label=entry.label,
        )
        for entry in order
    ]


def classes(comparison: Comparison) -> list[Class]:
    """Classes in their order, as many as fit."""
    counts = [n for _, n in comparison.data.classes]
    longest, total = max(counts, default=0) or 1, sum(counts) or 1
    return [
        Class(
            label, text.count(n), text.percent(n / total), round(100 * n / longest, 2)
        )
        for label, n in comparison.data.classes[:MAX_CLASSES]
    ]


def _falling_score(entry: Entry) -> float:
    score = text.known(entry.score.mean)
    return float("inf") if score is None else -score


def _cells(entry: Entry, metric: str) -> list[Cell]:
    fit, row = entry.fit_seconds.mean, entry.row_seconds.mean
    error = None if entry.error is None else entry.error.mean
    return [
        Cell(text.count(entry.size), entry.size),
        Cell(text.plain_score(entry.score, metric), text.known(entry.score.mean)),
        Cell(text.spread(entry.error), text.known(error)),
        Cell(text.number(fit), text.known(fit)),
        Cell(text.number(1e6 * row), text.known(row)),
        Cell(text.size(entry.memory_bytes), entry.memory_bytes),
        Cell(text.size(entry.model_bytes), entry.model_bytes),
        Cell(text.count(entry.n_rows), entry.n_rows),
    ]
