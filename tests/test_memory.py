"""Peak memory: of `transform` the output and 64 MiB, of `fit` its budget."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from bochner import RandomFeatures

MIB = 1 << 20


@pytest.mark.parametrize("kind", ["dense", "csr", "ard"])
@pytest.mark.parametrize("projection", ["dense", "sorf", "circulant", "block_diagonal"])
@pytest.mark.parametrize(
    "shape", [(20_000, 50, 2048), (400, 50, 100_000), (600, 20_000, 256)]
)
def test_transform(kind, projection, shape):
    n, d, m = shape
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    gamma = np.full(d, 0.1) if kind == "ard" else 0.1
    features = RandomFeatures(
        m, gamma=gamma, projection=projection, random_state=0
    ).fit(X)
    rows = sparse.csr_matrix(X) if kind == "csr" else X
    features.transform(rows[:300])  # compiled
    tracemalloc.start()
    F = features.transform(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < F.nbytes + 64 * MIB


SCRIPT = """
import resource, sys
import numpy as np
from bochner import KernelClassifier, KernelRegressor, blocks, methods
n, task = int(sys.argv[1]), sys.argv[2]

def read():
    for start in range(0, n, 20_000):
        X = np.random.default_rng(start).normal(size=(20_000, 10)).astype(np.float32)
        yield X, (np.sin(X[:, 0]) + X[:, 1] > 0 if task == "hinge" else X[:, 0])

features = methods.sorf(64, gamma=0.05, random_state=0)
if task == "hinge":
    model = KernelClassifier(features, alpha=1.0, memory="64 MiB")
else:
    model = KernelRegressor(features, memory="64 MiB")
model.fit(blocks(read))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


@pytest.mark.parametrize("task", ["hinge", "squared"])
def test_fit_does_not_grow_with_the_rows(task):
    """Ten times the rows, the same memory, but for n numbers of curvature.

    `python -m benchmarks learners` shows it for 10⁵ and 10⁶ rows.
    """
    peaks = [
        int(subprocess.check_output([sys.executable, "-c", SCRIPT, n, task]))
        for n in ("40000", "400000")
    ]
    assert peaks[1] < peaks[0] + 32
