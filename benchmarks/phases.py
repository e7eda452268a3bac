"""Features of phases made in float64, beside all in float32 and all in float64.

Rows lie far from zero, where float32 loses the fractions of phases. Errors are of
features times √m, beside those of float64.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from bochner import RandomFeatures
from bochner.nonlinearities.cosine import CosSin

from .timing import interleaved, print_table

OFFSET = 1e5
SIZES = ((54, 4096), (784, 4096))
N_ROWS = 10_000


def run(quick: bool = False) -> None:
    """A table: seconds beside float32, and the largest error."""
    rows: list[list[str]] = []
    for d, M in SIZES[: 1 if quick else None]:
        for projection in ("dense", "sorf"):
            found = _compared(d, M, projection, quick)
            rows.append([f"{d}, {M}, {projection}", *found])
    header = ["d, M", "phases", "all float64", "error, float32", "error, phases"]
    print_table("Phases in float64: time beside all in float32", header, rows)


def _compared(d: int, M: int, projection: str, quick: bool) -> list[str]:
    rng = np.random.default_rng(0)
    narrow = (OFFSET + rng.normal(size=(N_ROWS, d))).astype(np.float32)
    wide = narrow.astype(np.float64)
    asked: dict[str, Any] = {
        "projection": projection,
        "gamma": 1 / d,
        "random_state": 0,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is measured here
        plain = RandomFeatures(M, **asked).fit(narrow)
        kept = RandomFeatures(M, nonlinearity=CosSin("float64"), **asked).fit(narrow)
        exact = RandomFeatures(M, **asked).fit(wide)
    seconds = interleaved(
        {
            "float32": partial(plain.transform, narrow),
            "phases": partial(kept.transform, narrow),
            "float64": partial(exact.transform, wide),
        },
        repeats=2 if quick else 7,
    )
    F = exact.transform(wide[:100])

    def error(model: Any) -> str:
        return f"{np.abs(model.transform(narrow[:100]) - F).max() * (M / 2) ** 0.5:.1e}"

    ratios = [f"{seconds[k] / seconds['float32']:.2f} ×" for k in ("phases", "float64")]
    return [*ratios, error(plain), error(kept)]
