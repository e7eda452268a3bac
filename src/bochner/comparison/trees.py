"""Boosted trees of scikit-learn: the reference that a table's owner would try first."""

from __future__ import annotations

from typing import Any

from .task import CLASSIFICATION

SMALLEST_LEAD = 0.0005
"""Smaller leads are not reported: they would be printed as 0.0 points."""


def trees_name(task: str) -> str:
    """The class in `sklearn.ensemble`."""
    kind = "Classifier" if task == CLASSIFICATION else "Regressor"
    return f"HistGradientBoosting{kind}"


def boosted_trees(task: str, seed: int) -> Any:
    """Histogram-based boosted trees with scikit-learn's default parameters."""
    from sklearn import ensemble

    return getattr(ensemble, trees_name(task))(random_state=seed)


def trees_code(task: str, seed: int) -> tuple[list[str], str]:
    """Imports, and Python for the same."""
    name = trees_name(task)
    return [f"from sklearn.ensemble import {name}"], f"{name}(random_state={seed})"


def trees_lead(trees: float, own: float, task: str) -> str | None:
    """A sentence on how far boosted trees are ahead; None where they are not.

    Parameters
    ----------
    trees, own : float
        Scores of boosted trees and of the best model of this library on the same rows.
    task : str
    """
    if not trees - own >= SMALLEST_LEAD:
        return None
    if task == CLASSIFICATION:
        lead = f"{100 * (trees - own):.1f} points"
        scores = f"{100 * trees:.1f} % against {100 * own:.1f} %"
    else:
        lead = f"{trees - own:.3f} of R²"
        scores = f"{trees:.3f} against {own:.3f}"
    return (
        f"Boosted trees are ahead by {lead}: {trees_name(task)} of scikit-learn has "
        f"{scores} on the same rows."
    )
