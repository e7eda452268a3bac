"""Write what every method says of fixed rows, to rounding: run when a change is meant.

python tests/make_checksums.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import zoo

FILE = Path(__file__).parent / "fixtures" / "checksums.json"
SHOWN_ROWS, SHOWN_COLUMNS = 2, 6
DIGITS = 6


def every_model() -> dict[str, Any]:
    """All kinds of maps and estimators, unfitted."""
    return {**zoo.every_method(), **zoo.every_map(), **zoo.every_estimator()}


def said(model: Any) -> list[float]:
    """Some outputs of each kind, and the sum of all, of a model fitted here."""
    X = zoo.rows("dense-float64")
    found: list[float] = []
    for F in zoo.outputs(zoo.fitted(model, X), X):
        F = np.asarray(F, np.float64).reshape(len(X), -1)
        shown = F[:SHOWN_ROWS, :SHOWN_COLUMNS].ravel()
        found += [*shown.tolist(), float(np.abs(F).mean())]
    return [round(value, DIGITS) for value in found]


def main() -> None:
    table = {name: said(model) for name, model in every_model().items()}
    lines = ",\n".join(f'"{name}": {json.dumps(v)}' for name, v in table.items())
    FILE.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
