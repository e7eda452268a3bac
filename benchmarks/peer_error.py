"""Kernel error by the number of columns, beside the peers, on the same points."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bochner import datasets, methods

from .peers import OURS, worker
from .timing import print_table

DATA = "usps"
SIZES = 256, 1024, 4096
POINTS = 1000
DRAWN = {
    OURS: ("rff", "orf", "sorf", "default"),
    "scikit-learn": ("RBFSampler",),
    "sklearn-extra": ("Fastfood",),
    "xgpr": ("SORF",),
    "rfflearn": ("RFF", "ORF", "QRF"),
}
"""Maps that are drawn without looking at the data."""
FITTED = {OURS: ("giga", "nystroem", "rpcholesky"), "scikit-learn": ("Nystroem",)}
"""Maps that are fitted to training rows, at fewer seeds: they take their time."""


def run(quick: bool = False) -> dict[str, Any]:
    """RMS over seeds of ‖ZZᵀ − K‖_F / ‖K‖_F by map and size; prints a table."""
    if DATA not in datasets.available():
        print(f"{DATA} is not in BOCHNER_DATA: left out", file=sys.stderr)
        return {}
    data, sizes = datasets.load(DATA), SIZES[:2] if quick else SIZES
    gamma = float(methods.rff(2, gamma="median").fit(data.X_train).kernel_.gamma)
    curves: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, X_train=data.X_train, X_test=data.X_test[:POINTS])
        for maps, seeds in ((DRAWN, 2 if quick else 8), (FITTED, 1 if quick else 2)):
            for library, names in maps.items():
                shared = {"gamma": gamma, "seeds": seeds}
                curves.update(_curves(library, names, path, sizes, shared))
    rows = [
        [name, *(f"{curve[str(m)]:.4f}" for m in sizes)]
        for name, curve in curves.items()
    ]
    print_table(
        f"{DATA}, Gaussian kernel, γ by median: kernel error of M columns",
        ["map", *(f"M = {m}" for m in sizes)],
        rows,
    )
    return {"data": DATA, "sizes": list(sizes), "curves": curves}


def _curves(
    library: str, names: Any, path: Path, sizes: Any, shared: dict[str, Any]
) -> dict[str, dict[str, float]]:
    with worker(library, "peer_worker", ["errors", library, path]) as answering:
        if answering is None:
            return {}
        return {
            f"{library} {name}": {
                str(m): answering.ask({"map": name, "M": m, **shared}) for m in sizes
            }
            for name in names
        }
