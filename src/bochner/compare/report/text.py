"""Figures with their units as text, and the finding of a comparison in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ..results import (
    DEFAULT,
    EXACT,
    LINEAR,
    METHOD,
    OURS,
    TREES,
    Comparison,
    Entry,
    Spread,
)

MISSING = "\N{EN DASH}"
PLUS_MINUS = "\u00a0±\u00a0"
BYTE_UNITS = ("B", "kB", "MB", "GB", "TB")

MARGIN = 0.01
"""Scores this close to the best count as nearly as good: a point of accuracy."""

ROLES = {
    METHOD: "Best feature map",
    DEFAULT: "Default learner",
    EXACT: "Exact kernel",
    TREES: "Boosted trees",
    LINEAR: "Linear model",
}
"""Titles of the roles."""

SUBJECTS = {
    DEFAULT: "the default learner",
    EXACT: "the exact kernel",
    TREES: "boosted trees",
    LINEAR: "a linear model",
}
"""Subjects of sentences for the roles that have a single entry."""


def finite(value: float | None) -> float | None:
    """The value if it is a finite number, else None."""
    return value if value is not None and math.isfinite(value) else None


def number(value: float | None, digits: int = 3) -> str:
    """A number with significant digits, without an exponent unless it is tiny."""
    if finite(value) is None:
        return MISSING
    assert value is not None
    if value == 0:
        return "0"
    rounded = f"{value:.{digits - 1}e}"  # rounding may add a digit: 0.9996 is 1.00
    decimals = max(digits - 1 - int(rounded.partition("e")[2]), 0)
    return _signed(rounded) if decimals > 7 else fixed(value, decimals)


def fixed(value: float, decimals: int) -> str:
    """A number with `decimals` digits after the point."""
    return _signed(f"{value:,.{decimals}f}")


def count(value: float | None) -> str:
    """A whole number with thousands separators."""
    return MISSING if value is None else f"{value:,}"


def plain_score(spread: Spread, metric: str) -> str:
    """A score and its deviation without the unit."""
    scale, decimals = (100.0, 2) if metric == "accuracy" else (1.0, 4)
    if finite(spread.mean) is None:
        return MISSING
    shown = fixed(scale * spread.mean, decimals)
    if finite(spread.deviation) is None:
        return shown
    assert spread.deviation is not None
    return f"{shown}{PLUS_MINUS}{fixed(scale * spread.deviation, decimals)}"


def score(spread: Spread, metric: str) -> str:
    """A score and its deviation with the unit: accuracy as a percentage."""
    shown = plain_score(spread, metric)
    return f"{shown}\u00a0%" if metric == "accuracy" and shown != MISSING else shown


def metric_title(metric: str) -> str:
    """A metric with its unit, as the title of an axis or a column."""
    return "accuracy,\u00a0%" if metric == "accuracy" else metric


def spread(value: Spread | None) -> str:
    """A mean and its deviation, with the same number of decimals."""
    if value is None or finite(value.mean) is None:
        return MISSING
    shown = number(value.mean)
    if finite(value.deviation) is None or "e" in shown:
        return shown
    assert value.deviation is not None
    decimals = len(shown.partition(".")[2])
    return f"{shown}{PLUS_MINUS}{fixed(value.deviation, decimals)}"


def seconds(value: float | None) -> str:
    """A time in µs, ms, s, minutes or hours, by its size."""
    if finite(value) is None:
        return MISSING
    assert value is not None
    if value < 1:
        return f"{number(1e3 * value)}\u00a0ms" if value >= 1e-3 else micros(value)
    if value < 120:
        return f"{number(value)}\u00a0s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours}\u00a0h {minutes}\u00a0min"
        if hours
        else f"{minutes}\u00a0min {rest}\u00a0s"
    )


def micros(value: float | None) -> str:
    """A time in microseconds."""
    shown = number(None if value is None else 1e6 * value)
    return shown if shown == MISSING else f"{shown}\u00a0µs"


def size(value: float | None) -> str:
    """A number of bytes in B, kB, MB, GB or TB, by its size."""
    if finite(value) is None:
        return MISSING
    assert value is not None
    power = 0
    while abs(value) >= 999.5 and power < len(BYTE_UNITS) - 1:
        value, power = value / 1000, power + 1
    return f"{number(value)}\u00a0{BYTE_UNITS[power]}"


def percent(share: float | None) -> str:
    """A share as a percentage; small positive shares are not shown as zero."""
    if finite(share) is None:
        return MISSING
    assert share is not None
    return (
        "<\u00a00.1\u00a0%" if 0 < share < 1e-3 else f"{fixed(100 * share, 1)}\u00a0%"
    )


def short(name: str, length: int = 60) -> str:
    """A name on one line, cut after `length` characters."""
    line = " ".join(name.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _signed(shown: str) -> str:
    """The number with a typographic minus sign."""
    return "−" + shown[1:] if shown.startswith("-") else shown


@dataclass(frozen=True)
class Tile:
    """A main figure of the report, and the entry that it belongs to."""

    title: str
    figure: str
    about: str
    deviation: str = ""


def finite_entries(comparison: Comparison) -> Comparison:
    """The comparison with only the entries whose score and time are finite."""
    kept = tuple(
        entry
        for entry in comparison.entries
        if finite(entry.score.mean) is not None
        and finite(entry.fit_seconds.mean) is not None
    )
    return replace(comparison, entries=kept)


def finding(comparison: Comparison) -> str:
    """The result in sentences: the best, the other roles, a fast near-best entry."""
    comparison = finite_entries(comparison)
    if not comparison.entries:
        return "Nothing could be measured."
    best = comparison.best()
    verb = _verb(best, "scores", "score")
    clauses = [f"{_capitalised(_title(best))} {verb} best: {_score(comparison, best)}"]
    for entry in _best_of_other_roles(comparison, best):
        verb = _verb(entry, "reaches", "reach")
        clauses.append(f"{_subject(entry)} {verb} {_score(comparison, entry)}")
    lead = comparison.trees_lead()
    sentences = "; ".join(clauses) + "." + ("" if lead is None else f" {lead}")
    fast = fastest_near_best(comparison)
    if fast is best:
        return sentences
    subject = f"{_title(fast)} ({score(fast.score, comparison.metric)})"
    if fast in _best_of_other_roles(comparison, best):  # its score is in a clause
        subject = "the best feature map" if fast.role == METHOD else _subject(fast)
    return (
        f"{sentences} {_capitalised(subject)} {_verb(fast, 'comes', 'come')} within "
        f"{_margin(comparison)} of the best and {_verb(fast, 'takes', 'take')} "
        f"{seconds(fast.fit_seconds.mean)} to fit, against "
        f"{seconds(best.fit_seconds.mean)}."
    )


def best_of_ours(comparison: Comparison) -> Entry | None:
    """The best feature map or default learner; without any, the best reference."""
    ours = comparison.best_of(*OURS)
    return ours or (comparison.best() if comparison.entries else None)


def tiles(comparison: Comparison) -> list[Tile]:
    """The best entry of every role, highest score first, and a fast near-best one."""
    comparison = finite_entries(comparison)
    entries = [
        entry for role in ROLES if (entry := comparison.best_of(role)) is not None
    ]
    entries.sort(key=lambda entry: -entry.score.mean)
    tiles = [_tile(comparison, entry) for entry in entries]
    fast = fastest_near_best(comparison) if entries else None
    if fast is not None and fast is not comparison.best():
        about = f"to fit {_title(fast)}, within {_margin(comparison)} of the best"
        fit = seconds(fast.fit_seconds.mean)
        tiles.append(Tile("Fastest near the best", fit, about))
    return tiles


def fastest_near_best(comparison: Comparison) -> Entry:
    """The entry with the shortest fit whose score is within MARGIN of the best."""
    floor = comparison.best().score.mean - MARGIN
    near = [entry for entry in comparison.front() if entry.score.mean >= floor]
    return near[0] if near else comparison.best()


def _tile(comparison: Comparison, entry: Entry) -> Tile:
    about = f"{_title(entry)}, " if entry.role == METHOD else ""
    about += f"{seconds(entry.fit_seconds.mean)} to fit{_rows(comparison, entry)}"
    mean = score(Spread(entry.score.mean, None), comparison.metric)
    deviation = plain_score(entry.score, comparison.metric).partition("±")[2]
    return Tile(
        ROLES[entry.role], mean, about, deviation and f"±\u00a0{deviation.strip()}"
    )


def _best_of_other_roles(comparison: Comparison, best: Entry) -> list[Entry]:
    """The best entry of every role except the role of the given one."""
    entries = [comparison.best_of(role) for role in ROLES if role != best.role]
    return [entry for entry in entries if entry is not None]


def _subject(entry: Entry) -> str:
    if entry.role == METHOD:
        return f"the best feature map, {_title(entry)},"
    return SUBJECTS[entry.role]


def _verb(entry: Entry, singular: str, plural: str) -> str:
    return plural if entry.role == TREES else singular


def _title(entry: Entry) -> str:
    if entry.role != METHOD:
        return _subject(entry)
    size = "" if entry.size is None else f" with {count(entry.size)} features"
    return short(entry.name) + size


def _score(comparison: Comparison, entry: Entry) -> str:
    metric = f"{comparison.metric} " if entry is comparison.best() else ""
    return metric + score(entry.score, comparison.metric) + _rows(comparison, entry)


def _rows(comparison: Comparison, entry: Entry) -> str:
    """The training rows of an entry in brackets, if it did not use all of them."""
    total = comparison.data.n_train
    if entry.n_rows >= total:
        return ""
    return f" (from {count(entry.n_rows)} of {count(total)} rows)"


def _margin(comparison: Comparison) -> str:
    return "1 point" if comparison.metric == "accuracy" else number(MARGIN, 1)


def _capitalised(subject: str) -> str:
    """The subject with a capital first letter; names of methods stay unchanged."""
    for first_words in ("the ", "a ", SUBJECTS[TREES]):
        if subject.startswith(first_words):
            return subject[0].upper() + subject[1:]
    return subject
