"""Peak memory of `transform`: the output and 64 MiB."""

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
