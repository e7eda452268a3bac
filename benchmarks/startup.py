"""What starting costs: `import bochner`, and the first call that compiles."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from .timing import print_table

IMPORT = """
import time
import numba, scipy.linalg, sklearn.base
start = time.perf_counter()
import bochner
print(time.perf_counter() - start)
"""
FIRST_CALL = """
import time
import numpy as np
from bochner import RandomFeatures
X = np.zeros((2, 3), dtype=np.float32)
start = time.perf_counter()
RandomFeatures(8, gamma=1.0, projection="{}").fit_transform(X)
print(time.perf_counter() - start)
"""


def run(quick: bool = False) -> None:
    """Print seconds; every figure from fresh processes, the best of several."""
    repeats = 2 if quick else 5
    rows = [["import bochner, above its dependencies", _best(IMPORT, {}, repeats)]]
    for name in ("dense", "sorf", "fastfood", "block_diagonal"):
        script = FIRST_CALL.format(name)
        with tempfile.TemporaryDirectory() as cache:
            environment = {"NUMBA_CACHE_DIR": cache}
            first = _best(script, environment, 1)
            later = _best(script, environment, repeats)
        rows.append([f"first {name} ever (compiles)", first])
        rows.append([f"first {name} of a process", later])
    print_table("startup, seconds", ["what", "seconds"], rows)


def _best(script: str, environment: dict[str, str], repeats: int) -> str:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for _ in range(repeats)
    ]
    return f"{min(map(float, outputs)):.2f}"
