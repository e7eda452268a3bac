"""The measurements behind `projections.auto.choose`: its constants, and its regret."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from bochner import RandomFeatures
from bochner._core.random import Stream
from bochner.features.feature_map import project
from bochner.kernels.laws import Normal
from bochner.projections.auto import SORF_WORTH
from bochner.projections.base import BUTTERFLY_NS, CSR_NS, DENSE_NS
from bochner.projections.dense import Dense
from bochner.projections.hadamard import SORF, padded_length

from .timing import interleaved, print_table

SHAPES = [(32, 64), (32, 4096), (100, 128), (100, 2048), (784, 32), (784, 256)]
SHAPES += [(784, 4096), (5000, 64), (5000, 1024), (5000, 8192)]
DENSITY = 0.01


def run(quick: bool = False) -> None:
    """Print the constants measured here, then time of the choice over the best."""
    entries = 1 << (21 if quick else 23)
    _constants(entries)
    rows = [_regret(d, m, entries, csr) for csr in (False, True) for d, m in SHAPES]
    print_table(
        "the automatic choice for a Gaussian kernel, float32: time of the transform",
        ["rows", "d", "M", "chosen", "dense, ms", "SORF, ms", "chosen/best"],
        rows,
    )
    limit = f"{SORF_WORTH:g} times the dense product"
    print(f"SORF is chosen up to {limit}: its error is half.")


def _rows(n: int, d: int, csr: bool) -> Any:
    if csr:
        return sparse.random(
            n, d, density=DENSITY, format="csr", dtype=np.float32, rng=0
        )
    return np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)


def _constants(entries: int) -> None:
    d, m = 784, 2048
    n = entries // m
    law = Normal(1.0)
    X, A = _rows(n, d, csr=False), _rows(n, 20_000, csr=True)
    dense = Dense().sample(law, m, d, Stream(0)).astype(np.float32)
    wide = Dense().sample(law, m, A.shape[1], Stream(0)).astype(np.float32)
    sorf = SORF().sample(law, m, d, Stream(0)).astype(np.float32)
    best = interleaved(
        {
            "dense": partial(project, dense, X),
            "csr": partial(project, wide, A),
            "sorf": partial(project, sorf, X),
        },
        repeats=5,
    )
    stages = 3 * np.log2(padded_length(d))
    rows = [
        ["multiply-add, dense", DENSE_NS, best["dense"] / (n * d * m)],
        ["multiply-add, CSR", CSR_NS, best["csr"] / (A.nnz * m)],
        ["butterfly stage", BUTTERFLY_NS, best["sorf"] / (n * m * stages)],
    ]
    print_table(
        "constants of the rule, ns",
        ["step", "in the rule", "measured"],
        [[name, f"{rule:.3f}", f"{1e9 * seconds:.3f}"] for name, rule, seconds in rows],
    )


def _regret(d: int, m: int, entries: int, csr: bool) -> list[str]:
    n = max(64, entries // max(m, d))
    X = _rows(n, d, csr)
    maps = {
        name: RandomFeatures(m, gamma=0.5 / d, projection=name, random_state=0).fit(X)
        for name in ("auto", "dense", "sorf")
    }
    chosen = type(maps.pop("auto").projection_).__name__.lower()
    best = interleaved({k: partial(f.transform, X) for k, f in maps.items()}, 5)
    times = [f"{1000 * best[name]:.1f}" for name in ("dense", "sorf")]
    regret = best[chosen] / min(best.values())
    return ["CSR" if csr else "dense", str(d), str(m), chosen, *times, f"{regret:.2f}"]
