"""Peak memory: of `transform` the output and 64 MiB, of `fit` its budget."""

import subprocess
import sys
import tracemalloc
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from bochner import RandomFeatures, methods
from bochner.compression import greedy as problem

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


@pytest.mark.parametrize("projection", ["dense", "sorf"])
@pytest.mark.parametrize(
    "make",
    [
        partial(methods.maxout, pool_size=16),
        partial(methods.maxout, pool_size=16, center=True),
        partial(methods.maxout, pool_size=16, pool=30_000),
        partial(methods.maxout_codes, pool_size=16),
    ],
)
def test_transform_never_holds_all_projections(make, projection):
    X = np.random.default_rng(0).normal(size=(10_000, 50)).astype(np.float32)
    features = make(2048, projection=projection, random_state=0).fit(X)
    features.transform(X[:300])
    tracemalloc.start()
    F = features.transform(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # all 16 · 2048 projections would be 1.3 GB, all of the pool 1.2 GB
    assert peak < F.nbytes + 64 * MIB


@pytest.mark.parametrize("name", ["compressive", "giga", "jl"])
def test_transform_of_compressed_maps(name):
    X = np.random.default_rng(0).normal(size=(20_000, 50)).astype(np.float32)
    parts = {} if name == "compressive" else {"n_candidates": 4000}
    features = getattr(methods, name)(512, gamma=0.1, random_state=0, **parts)
    features.fit(X[:500]).transform(X[:300])
    tracemalloc.start()
    F = features.transform(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < F.nbytes + 64 * MIB


def test_selection_without_all_products(monkeypatch):
    """Candidates of the sampled rows, and no array of candidates by candidates."""
    monkeypatch.setattr(problem, "GRAM_BYTES", 0)
    X = np.random.default_rng(0).normal(size=(1000, 5))
    features = methods.giga(8, n_candidates=20_000, n_rows=100, random_state=0)
    tracemalloc.start()
    features.fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 100 × 20,000 candidates in float64 are 16 MB; all products would be 3.2 GB
    assert peak < 150 * MIB


# The peak that getrusage tells includes the parent's, which a child inherits when it
# starts; this one begins with the program.
PEAK = """
def peak():
    with open("/proc/self/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return int(fields["VmHWM"].split()[0]) >> 10
"""

SCRIPT = """
import sys
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
print(peak())
"""


@pytest.mark.parametrize("task", ["hinge", "squared"])
def test_fit_does_not_grow_with_the_rows(task):
    """Ten times the rows, the same memory, but for n numbers of curvature.

    `python -m benchmarks learners` shows it for 10⁵ and 10⁶ rows.
    """
    peaks = [
        int(subprocess.check_output([sys.executable, "-c", PEAK + SCRIPT, n, task]))
        for n in ("40000", "400000")
    ]
    assert peaks[1] < peaks[0] + 32


CHOICES = """
import resource, sys
import dask.array as da
import numpy as np
from bochner import KernelClassifier, KernelPCA, KernelRegressor
from bochner.learners import classifier, pca, regressor

resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # rather than all memory
learner, n, weighted = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "weighted"


class Formula:
    # Numbers that are functions of their places. A slice of them, which is what a chunk
    # of the Dask array is, costs nothing; places are computed when they are asked for.

    def __init__(self, function, start, stop, width):
        self.function, self.start, self.width = function, start, width
        self.shape = (stop - start, *width)
        self.ndim, self.dtype = len(self.shape), np.dtype(np.float64)

    def __getitem__(self, key):
        rows = key[0] if isinstance(key, tuple) else key
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.shape[0])
            ends = self.start + start, self.start + stop
            return Formula(self.function, *ends, self.width)
        return self.function(self.start + rows)


def lazy(function, *width):
    return da.from_array(
        Formula(function, 0, n, width),
        chunks=(10**6, *width),
        asarray=False,
        meta=np.empty((0,) * (1 + len(width))),
        name=function.__name__,
    )


def rows(places):
    return np.sin(7 * places[:, None] * np.sqrt(np.arange(2.0, 10.0)))


def targets(places):
    X = rows(places)
    return (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.float64)


class Chosen(Exception):
    pass


def chosen(*args, **kwargs):  # what follows is the pass over all rows
    raise Chosen


for module in (classifier, pca, regressor):
    module.training = chosen
# a pass on the workers, which needs no memory of the client's
classifier.label_counts = lambda y, weight: (np.array([0.0, 1.0]), np.ones(2))
learners = {
    "classifier": KernelClassifier,
    "regressor": KernelRegressor,
    "pca": KernelPCA,
}
weight = None
if weighted:
    weight = da.arange(n, chunks=10**6).map_blocks(lambda i: i % 4, dtype=np.float64)
try:
    model = learners[learner](features=200 if weighted else None, random_state=0)
    model.fit(lazy(rows, 8), lazy(targets), sample_weight=weight)
except Chosen:
    print(peak())
"""


@pytest.mark.parametrize(
    "learner, n, weights",
    [
        ("classifier", 10**9, "none"),
        ("regressor", 10**9, "none"),
        ("pca", 10**9, "none"),
        ("regressor", 10**8, "weighted"),
    ],
)
def test_choices_on_dask_do_not_grow_with_the_rows(learner, n, weights):
    """Bandwidths, landmarks and the map of 10⁹ rows in 1 GiB, the libraries included.

    An array of one 8-byte number per row would be 8 GB. A quarter of the weights is
    zero; they are computed chunk by chunk, so their rows are fewer.
    """
    pytest.importorskip("dask")
    command = [sys.executable, "-c", PEAK + CHOICES, learner, str(n), weights]
    assert int(subprocess.check_output(command)) < 1024
