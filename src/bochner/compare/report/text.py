"""Figures with their units as text, and the finding of a comparison in words."""

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


def known(value: float | None) -> float | None:
    """The value, or None where it is not a finite number."""
    return value if value is not None and math.isfinite(value) else None


def number(value: float | None, digits: int = 3) -> str:
    """So many significant digits, without an exponent unless it is tiny."""
    if known(value) is None:
        return MISSING
    assert value is not None
    if value == 0:
        return "0"
    rounded = f"{value:.{digits - 1}e}"  # first: 0.9996 has a digit more than 1.00
    decimals = max(digits - 1 - int(rounded.partition("e")[2]), 0)
    return _signed(rounded) if decimals > 7 else fixed(value, decimals)


def fixed(value: float, decimals: int) -> str:
    """So many digits after the point."""
    return _signed(f"{value:,.{decimals}f}")


def count(value: float | None) -> str:
    """A whole number."""
    return MISSING if value is None else f"{value:,}"


def plain_score(spread: Spread, metric: str) -> str:
    """A score and its deviation, without its unit."""
    scale, decimals = (100.0, 2) if metric == "accuracy" else (1.0, 4)
    if known(spread.mean) is None:
        return MISSING
    shown = fixed(scale * spread.mean, decimals)
    if known(spread.deviation) is None:
        return shown
    assert spread.deviation is not None
    return f"{shown}{PLUS_MINUS}{fixed(scale * spread.deviation, decimals)}"


def score(spread: Spread, metric: str) -> str:
    """A score and its deviation: accuracy as a percentage."""
    shown = plain_score(spread, metric)
    return f"{shown}\u00a0%" if metric == "accuracy" and shown != MISSING else shown


def metric_title(metric: str) -> str:
    """A metric with its unit, for an axis or a column."""
    return "accuracy,\u00a0%" if metric == "accuracy" else metric


def spread(value: Spread | None) -> str:
    """A mean and its deviation, to the same decimals."""
    if value is None or known(value.mean) is None:
        return MISSING
    shown = number(value.mean)
    if known(value.deviation) is None or "e" in shown:
        return shown
    assert value.deviation is not None
    decimals = len(shown.partition(".")[2])
    return f"{shown}{PLUS_MINUS}{fixed(value.deviation, decimals)}"


def seconds(value: float | None) -> str:
    """A time, in the unit that suits it."""
    if known(value) is None:
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
    """Bytes, in the unit that suits them."""
    if known(value) is None:
        return MISSING
    assert value is not None
    power = 0
    while abs(value) >= 999.5 and power < len(BYTE_UNITS) - 1:
        value, power = value / 1000, power + 1
    return f"{number(value)}\u00a0{BYTE_UNITS[power]}"


def percent(share: float | None) -> str:
    """A share of rows; what is not zero does not look it."""
    if known(share) is None:
        return MISSING
    assert share is not None
    return (
        "<\u00a00.1\u00a0%" if 0 < share < 1e-3 else f"{fixed(100 * share, 1)}\u00a0%"
    )


def short(name: str, length: int = 60) -> str:
    """A name on one line, cut where it is very long."""
    line = " ".join(name.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _signed(shown: str) -> str:
    return "−" + shown[1:] if shown.startswith("-") else shown


MARGIN = 0.01
"""How far from the best score still counts as near it: a point of accuracy."""


ROLES = {
    METHOD: "Best feature map",
    DEFAULT: "Default learner",
    EXACT: "Exact kernel",
    TREES: "Boosted trees",
    LINEAR: "Linear model",
}
"""Titles of roles."""

SUBJECTS = {
    DEFAULT: "the default learner",
    EXACT: "the exact kernel",
    TREES: "boosted trees",
    LINEAR: "a linear model",
}
"""Roles that have one entry, in a sentence."""


@dataclass(frozen=True)
class Tile:
    """One figure to remember, and whose it is."""

    title: str
    figure: str
    about: str
    deviation: str = ""


def measured(comparison: Comparison) -> Comparison:
    """The comparison without entries whose score or time is not a finite number."""
    kept = tuple(
        entry
        for entry in comparison.entries
        if known(entry.score.mean) is not None
        and known(entry.fit_seconds.mean) is not None
    )
    return replace(comparison, entries=kept)


def finding(comparison: Comparison) -> str:
    """Sentences: the best, the best of every other role, and what is nearly as good."""
    found = measured(comparison)
    if not found.entries:
        return "Nothing could be measured."
    best = found.best()
    verb = _verb(best, "scores", "score")
    words = [f"{_upper(_whole(best))} {verb} best: {_achieved(found, best)}"]
    for entry in _others(found, best):
        verb = _verb(entry, "reaches", "reach")
        words.append(f"{_subject(entry)} {verb} {_achieved(found, entry)}")
    lead = found.trees_lead()
    said = "; ".join(words) + "." + ("" if lead is None else f" {lead}")
    cheap = cheapest(found)
    if cheap is best:
        return said
    near = f"{_whole(cheap)} ({score(cheap.score, found.metric)})"
    if cheap in _others(found, best):  # its score was said
        near = "the best feature map" if cheap.role == METHOD else _subject(cheap)
    return (
        f"{said} {_upper(near)} {_verb(cheap, 'comes', 'come')} within "
        f"{_margin(found)} of the best and {_verb(cheap, 'takes', 'take')} "
        f"{seconds(cheap.fit_seconds.mean)} to fit, against "
        f"{seconds(best.fit_seconds.mean)}."
    )


def best_of_ours(found: Comparison) -> Entry | None:
    """The feature map or default learner of the highest score, or what there is."""
    return found.best_of(*OURS) or (found.best() if found.entries else None)


def tiles(comparison: Comparison) -> list[Tile]:
    """The best of every role, the highest score first, and what is nearly as good."""
    found = measured(comparison)
    tops = [entry for role in ROLES if (entry := found.best_of(role)) is not None]
    tops.sort(key=lambda entry: -entry.score.mean)
    shown = [_tile(found, entry) for entry in tops]
    cheap = cheapest(found) if found.entries else None
    if cheap is not None and cheap is not found.best():
        about = f"to fit {_whole(cheap)}, within {_margin(found)} of the best"
        fit = seconds(cheap.fit_seconds.mean)
        shown.append(Tile("Fastest near the best", fit, about))
    return shown


def cheapest(found: Comparison) -> Entry:
    """The fastest to fit whose score is within the margin of the best."""
    enough = found.best().score.mean - MARGIN
    near = [entry for entry in found.front() if entry.score.mean >= enough]
    return near[0] if near else found.best()


def _tile(found: Comparison, entry: Entry) -> Tile:
    about = f"{_whole(entry)}, " if entry.role == METHOD else ""
    about += f"{seconds(entry.fit_seconds.mean)} to fit{_rows(found, entry)}"
    mean = score(Spread(entry.score.mean, None), found.metric)
    deviation = plain_score(entry.score, found.metric).partition("±")[2]
    return Tile(
        ROLES[entry.role], mean, about, deviation and f"±\u00a0{deviation.strip()}"
    )


def _others(found: Comparison, best: Entry) -> list[Entry]:
    """The best of every role that the best is not of."""
    tops = [found.best_of(role) for role in ROLES if role != best.role]
    return [entry for entry in tops if entry is not None]


def _subject(entry: Entry) -> str:
    if entry.role == METHOD:
        return f"the best feature map, {_whole(entry)},"
    return SUBJECTS[entry.role]


def _verb(entry: Entry, singular: str, plural: str) -> str:
    return plural if entry.role == TREES else singular


def _whole(entry: Entry) -> str:
    if entry.role != METHOD:
        return _subject(entry)
    size = "" if entry.size is None else f" with {count(entry.size)} features"
    return short(entry.name) + size


def _achieved(found: Comparison, entry: Entry) -> str:
    metric = f"{found.metric} " if entry is found.best() else ""
    return metric + score(entry.score, found.metric) + _rows(found, entry)


def _rows(found: Comparison, entry: Entry) -> str:
    """Said only of those that learned from fewer rows than there are."""
    total = found.data.n_train
    if entry.n_rows >= total:
        return ""
    return f" (from {count(entry.n_rows)} of {count(total)} rows)"


def _margin(found: Comparison) -> str:
    return "1 point" if found.metric == "accuracy" else number(MARGIN, 1)


def _upper(words: str) -> str:
    """A sentence begins with a capital; names of methods stay as they are."""
    for first in ("the ", "a ", SUBJECTS[TREES]):
        if words.startswith(first):
            return words[0].upper() + words[1:]
    return words
