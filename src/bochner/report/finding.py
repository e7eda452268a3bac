"""What came out, in words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..comparison.results import EXACT, LINEAR, METHOD, Comparison, Entry, Spread
from . import text

MARGIN = 0.01
"""How far from the best score still counts as near it: a point of accuracy."""


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
    """A sentence or two: the best, the baselines, and what is nearly as good."""
    found = measured(comparison)
    if not found.entries:
        return "Nothing could be measured."
    best = found.best()
    words = [f"{_upper(_whole(best))} scores best: {_achieved(found, best)}"]
    for entry in _others(found, best):
        words.append(f"{_subject(entry)} reaches {_achieved(found, entry)}")
    said = "; ".join(words) + "."
    cheap = cheapest(found)
    if cheap is best:
        return said
    near = f"{_whole(cheap)} ({text.score(cheap.score, found.metric)})"
    if cheap in _others(found, best):  # its score was said
        near = "the best feature map" if cheap.role == METHOD else _subject(cheap)
    return (
        f"{said} {_upper(near)} comes within {_margin(found)} of that and "
        f"takes {text.seconds(cheap.fit_seconds.mean)} to fit, against "
        f"{text.seconds(best.fit_seconds.mean)}."
    )


def best_map(found: Comparison) -> Entry | None:
    """The feature map of the highest score, or what there is."""
    return _top(found, METHOD) or (found.best() if found.entries else None)


def tiles(comparison: Comparison) -> list[Tile]:
    """The same as figures: the best map, the baselines, what is nearly as good."""
    found = measured(comparison)
    shown = [
        _tile(found, title, _top(found, role))
        for title, role in (
            ("Best feature map", METHOD),
            ("Exact kernel", EXACT),
            ("Linear model", LINEAR),
        )
    ]
    cheap = cheapest(found) if found.entries else None
    if cheap is not None and cheap is not found.best():
        about = f"to fit {_whole(cheap)}, within {_margin(found)} of the best"
        fit = text.seconds(cheap.fit_seconds.mean)
        shown.append(Tile("Fastest near the best", fit, about))
    return [tile for tile in shown if tile is not None]


def cheapest(found: Comparison) -> Entry:
    """The fastest to fit whose score is within the margin of the best."""
    enough = found.best().score.mean - MARGIN
    near = [entry for entry in found.front() if entry.score.mean >= enough]
    return near[0] if near else found.best()


def _tile(found: Comparison, title: str, entry: Entry | None) -> Tile | None:
    if entry is None:
        return None
    about = f"{_whole(entry)}, " if entry.role == METHOD else ""
    about += f"{text.seconds(entry.fit_seconds.mean)} to fit{_rows(found, entry)}"
    mean = text.score(Spread(entry.score.mean, None), found.metric)
    deviation = text.plain_score(entry.score, found.metric).partition("±")[2]
    return Tile(title, mean, about, deviation and f"±\u00a0{deviation.strip()}")


def _others(found: Comparison, best: Entry) -> list[Entry]:
    """The best of every role that the best is not of."""
    tops = [_top(found, role) for role in (METHOD, EXACT, LINEAR) if role != best.role]
    return [entry for entry in tops if entry is not None]


def _top(found: Comparison, role: str) -> Entry | None:
    entries = [entry for entry in found.entries if entry.role == role]
    return max(entries, key=lambda entry: entry.score.mean, default=None)


def _subject(entry: Entry) -> str:
    if entry.role == METHOD:
        return f"the best feature map, {_whole(entry)},"
    return "the exact kernel" if entry.role == EXACT else "a linear model"


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
    for article in ("the ", "a "):
        if words.startswith(article):
            return words[0].upper() + words[1:]
    return words
