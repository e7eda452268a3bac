"""Figures as text, on one line with their units; a dash where there is none."""

from __future__ import annotations

import math

from ..comparison.results import Spread

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
