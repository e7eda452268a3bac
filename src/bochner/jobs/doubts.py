"""Columns that may not be what they seem: said, so that the user can say otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

LOOKED_AT = 1000
"""Rows whose cells are looked at."""

FEWEST = 50
"""Cells that a doubt needs."""

MOSTLY = 0.9
"""Share of numbers among texts that makes them look like numbers with a slip."""


def doubts(X: Any, kinds: dict[str, str], asked: set[str]) -> list[str]:
    """Notes on categories that nobody has asked for."""
    found = []
    for name, kind in kinds.items():
        if kind != "categories" or name in asked:
            continue
        cells = [str(cell) for cell in X[name][:LOOKED_AT].dropna()]
        odd = [cell for cell in cells if not _is_number(cell)]
        if len(cells) < FEWEST:
            continue
        if 0 < len(odd) <= (1 - MOSTLY) * len(cells):
            found.append(
                f"{name} is taken for categories: {odd[0]!r} is not a number, as most "
                "of its cells are"
            )
        elif len(np.unique(cells)) == len(cells):
            found.append(
                f"{name} has another text in every row; if it is a name, leave it out "
                f"(--drop {name})"
            )
    return found


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
