"""The order of the gallery: what bochner is for, the five papers, the rest."""

from __future__ import annotations

ORDER = (
    "plot_digits.py",
    "plot_compressive.py",
    "plot_compression.py",
    "plot_block_diagonal.py",
    "plot_maxout.py",
    "plot_compact.py",
    "plot_projections.py",
    "neighbours.py",
    "plot_theory.py",
)


def order(name: str) -> int:
    """The place of an example; new ones come last until they are listed."""
    return ORDER.index(name) if name in ORDER else len(ORDER)
