"""Python to paste: a model, and the steps before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scipy import sparse


@dataclass(frozen=True)
class Step:
    """Something that stands before a model, and what has to be imported for it."""

    imported: str
    made: str


def table_step(columns: dict[str, Any]) -> Step:
    """`preprocessing.for_table` of the user's frame X."""
    words = ["X", *(f"{kind}={names!r}" for kind, names in columns.items() if names)]
    made = f"preprocessing.for_table({', '.join(words)})"
    return Step("from bochner import preprocessing", made)


def imputer_step() -> Step:
    """Medians in place of what is missing."""
    made = "SimpleImputer(strategy='median', keep_empty_features=True)"
    return Step("from sklearn.impute import SimpleImputer", made)


def scaler_step(X: Any) -> Step:
    """Features divided by their deviations; sparse rows stay sparse."""
    options = "with_mean=False" if sparse.issparse(X) else ""
    imported = "from sklearn.preprocessing import StandardScaler"
    return Step(imported, f"StandardScaler({options})")


def assembled(imports: Iterable[str], model: str, before: tuple[Step, ...]) -> str:
    """Imports, and the model in a Pipeline where there are steps before it."""
    lines = [*imports, *(step.imported for step in before)]
    if before:
        lines.append("from sklearn.pipeline import make_pipeline")
        parts = "".join(f"    {made},\n" for made in (*(s.made for s in before), model))
        model = f"make_pipeline(\n{parts})"
    of_table = any("for_table(X" in step.made for step in before)
    note = ["# X: a frame of your rows, without the target"] if of_table else []
    return "\n".join([*sorted(set(lines)), "", *note, f"model = {model}"])
