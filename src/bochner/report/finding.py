"""What came out, in words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..comparison.results import (
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
from . import text

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
        if text.known(entry.score.mean) is not None
        and text.known(entry.fit_seconds.mean) is not None
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
    near = f"{_whole(cheap)} ({text.score(cheap.score, found.metric)})"
    if cheap in _others(found, best):  # its score was said
        near = "the best feature map" if cheap.role == METHOD else _subject(cheap)
    return (
        f"{said} {_upper(near)} {_verb(cheap, 'comes', 'come')} within "
        f"{_margin(found)} of the best and {_verb(cheap, 'takes', 'take')} "
        f"{text.seconds(cheap.fit_seconds.mean)} to fit, against "
        f"{text.seconds(best.fit_seconds.mean)}."
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
        fit = text.seconds(cheap.fit_seconds.mean)
        shown.append(Tile("Fastest near the best", fit, about))
    return shown


def cheapest(found: Comparison) -> Entry:
    """The fastest to fit whose score is within the margin of the best."""
    enough = found.best().score.mean - MARGIN
    near = [entry for entry in found.front() if entry.score.mean >= enough]
    return near[0] if near else found.best()


def _tile(found: Comparison, entry: Entry) -> Tile:
    about = f"{_whole(entry)}, " if entry.role == METHOD else ""
    about += f"{text.seconds(entry.fit_seconds.mean)} to fit{_rows(found, entry)}"
    mean = text.score(Spread(entry.score.mean, None), found.metric)
    deviation = text.plain_score(entry.score, found.metric).partition("±")[2]
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
    size = "" if entry.size is None else f" with {text.count(entry.size)} features"
    return text.short(entry.name) + size


def _achieved(found: Comparison, entry: Entry) -> str:
    metric = f"{found.metric} " if entry is found.best() else ""
    return metric + text.score(entry.score, found.metric) + _rows(found, entry)


def _rows(found: Comparison, entry: Entry) -> str:
    """Said only of those that learned from fewer rows than there are."""
    total = found.data.n_train
    if entry.n_rows >= total:
        return ""
    return f" (from {text.count(entry.n_rows)} of {text.count(total)} rows)"


def _margin(found: Comparison) -> str:
    return "1 point" if found.metric == "accuracy" else text.number(MARGIN, 1)


def _upper(words: str) -> str:
    """A sentence begins with a capital; names of methods stay as they are."""
    for first in ("the ", "a ", SUBJECTS[TREES]):
        if words.startswith(first):
            return words[0].upper() + words[1:]
    return words
