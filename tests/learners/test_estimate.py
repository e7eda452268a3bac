"""Estimates of bytes and operations, beside what fits really take."""

import tracemalloc

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bochner import (
    CompactMap,
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    Nystroem,
    RandomFeatures,
    RandomProjection,
    estimate,
    methods,
)
from bochner._core.progress import Pace, clock_time
from bochner._core.random import Stream
from bochner.kernels.laws import Normal
from bochner.learners.estimate import map_cost
from bochner.methods import METHODS
from bochner.projections import PROJECTIONS
from bochner.projections.algebra import Matrix
from bochner.projections.base import Cost, Projection

N, D = 20_000, 30
X = np.random.default_rng(0).normal(size=(N, D))
Y = np.sin(X[:, 0])


@pytest.mark.parametrize(
    "model",
    [
        KernelRegressor(methods.rff(512, gamma=0.1, random_state=0), alpha=1.0),
        KernelRegressor(methods.rff(1024, gamma=0.1, random_state=0)),
        KernelRegressor(Nystroem(800, gamma=0.1, random_state=0), alpha=1.0),
        KernelClassifier(methods.sorf(512, gamma=0.1, random_state=0), alpha=1.0),
        KernelPCA(2, features=methods.rff(700, gamma=0.1, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_memory_is_about_what_a_fit_takes(model):
    model.fit(X[:2000], Y[:2000] > 0)  # whatever is loaded once
    tracemalloc.start()
    model.fit(X, Y > 0)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    planned = estimate(model, N, D)
    data = planned.stages[0].bytes
    assert data == X.nbytes
    assert 0.5 * taken <= planned.peak_bytes - data <= 2 * taken


def test_stages_grow_as_they_should():
    def flops(n, d, m):
        plan = estimate(KernelRegressor(methods.rff(m)), n, d)
        return {stage.name: stage.flops for stage in plan.stages}

    one = flops(10**6, 100, 512)
    more_rows, wider, larger = (
        flops(10**7, 100, 512),
        flops(10**6, 200, 512),
        flops(10**6, 100, 1024),
    )
    assert more_rows["sums"] == 10 * one["sums"]
    assert more_rows["solve"] == one["solve"]
    assert 1.8 < wider["features"] / one["features"] <= 2
    assert larger["sums"] == 4 * one["sums"] and larger["solve"] == 8 * one["solve"]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_estimated(name):
    plan = estimate(METHODS[name](64), 10**5, 300)
    assert plan.fits and plan.flops > 0
    assert plan.stages[-1].bytes >= 64 * 10**5 * 8


def test_structured_maps_are_small():
    wide = 10**6
    dense, sorf = (
        estimate(make(4096), 1000, wide) for make in (methods.rff, methods.sorf)
    )
    assert dense.stages[1].bytes > 100 * sorf.stages[1].bytes
    assert any("methods.sorf" in line for line in dense.advice)


def test_what_does_not_fit_is_said():
    plan = estimate(KernelRegressor(1024), 10**9, 40)
    assert not plan.fits
    assert "pass them as bochner.blocks" in plan.advice[0]
    plan = estimate(KernelRegressor(methods.rff(4096), memory="100 MiB"), 10**5, 40)
    assert not plan.fits and "use at most 1810 features" in plan.advice[0]
    plan = estimate(KernelClassifier(methods.rff(4096)), 10**7, 10)
    assert any("recomputed in every pass" in line for line in plan.advice)
    plan = estimate(KernelRegressor(methods.rff(10_000)), 10**7, 10)
    assert any("at most 8192 features, which take one" in line for line in plan.advice)
    text = str(estimate(KernelRegressor(1024), 10**9, 40))
    assert text.splitlines()[0].split() == ["stage", "memory", "flops"]
    assert text.count("\n") >= 6


def test_other_maps():
    pipeline = make_pipeline(StandardScaler(), RandomProjection(20), CompactMap(8))
    assert estimate(pipeline, 1000, 50).stages[1].note == "8 features"
    pca = make_pipeline("passthrough", PCA(10), methods.rff(64))
    assert estimate(pca, 1000, 50).stages[1].note == "64 features"
    codes = methods.maxout_codes(16, pool_size=8, output="onehot")
    assert estimate(codes, 1000, 50).stages[1].note == "128 features"
    frozen = FrozenEstimator(methods.rff(64, gamma=0.1).fit(X[:10]))
    assert estimate(KernelRegressor(frozen), 1000, D).stages[1].note == "64 features"
    sparse = estimate(methods.rff(64), 10**6, 10**6, density=4e-5, dtype="float32")
    assert sparse.stages[0].bytes == 10**6 * 40 * 8


def test_bad_input():
    with pytest.raises(ValueError, match="estimate: n must be a positive integer"):
        estimate(KernelRegressor(), 0, 3)
    with pytest.raises(ValueError, match="density must be at most 1; got 2"):
        estimate(KernelRegressor(), 10, 3, density=2)
    with pytest.raises(TypeError, match="the cost of int is not known"):
        estimate(3, 10, 3)


def test_pace():
    told, now = [], [0.0]
    pace = Pace(told.append, 1000, clock=lambda: now[0])
    pace.add(100)
    assert not told, "not yet"
    now[0] = 10.0
    pace.add(100)
    assert told == ["200 rows, 20 a second, about 0:40 left"]
    now[0] = 50.0
    pace.add(800)
    pace.close()
    assert told[-1] == "1,000 rows in 0:50, 20 a second"
    unknown = Pace(told.append, None, done=10**6, clock=lambda: now[0])
    now[0] = 60.0
    unknown.add(10)
    assert told[-1] == "1,000,010 rows, 1 a second"
    assert clock_time(3725) == "1:02:05"


@pytest.mark.parametrize(
    ("features", "row"),
    [
        # 5000 candidates of 784 columns, each with its cosine, then mixed to 100
        (methods.jl(100), 5000 * (2 * 784 + 12) + 2 * 5000 * 100),
        # blocks of 1.5 √m columns
        (methods.block_diagonal(8192), 4096 * (2 * 96 + 12)),
        # a fifth of the columns measured, then SORF of 256
        (
            methods.compressive(4096, n_measurements=160, projection="sorf"),
            2 * 160 * 784 + 3 * 2048 * np.log2(256) + 2048 * 12,
        ),
    ],
    ids=["jl", "block-diagonal", "compressive"],
)
def test_rows_of_features_cost_what_they_do(features, row):
    cost = map_cost(features, 10**6, 784, 784)
    assert 0.5 * row <= cost.row_flops <= 2 * row


class Toeplitz(Projection):
    """A projection of a user's own, which says nothing of its cost."""

    def _sample(self, law, n_out, n_in, rng):
        r = law.frequencies(1, n_out + n_in, rng).ravel()
        places = n_in + np.arange(n_out) - np.arange(n_in)[:, None]
        return Matrix(r[places])


class Priced(Toeplitz):
    """The same, which does."""

    def cost(self, n_out, n_in, law=None, filled=None):
        return Cost(5.0 * n_out, n_out + n_in)


def map_bytes(model, d=784):
    return estimate(model, 1000, d).stages[1].bytes


@pytest.mark.parametrize("transformer", [RandomFeatures, RandomProjection])
def test_projections_of_others_cost_what_their_matrix_does(transformer, monkeypatch):
    wanted = map_bytes(transformer(4096, projection="dense"))
    assert map_bytes(transformer(4096, projection=Toeplitz())) == wanted
    monkeypatch.setitem(PROJECTIONS, "toeplitz", Toeplitz)
    assert map_bytes(transformer(4096, projection="toeplitz")) == wanted
    monkeypatch.setitem(PROJECTIONS, "priced", Priced)
    for projection in ("priced", Priced()):
        assert map_bytes(transformer(4096, projection=projection)) < wanted / 100
    second = methods.compressive(4096, n_measurements=16, projection=Toeplitz())
    assert map_bytes(second) > 8 * 16 * (784 + 2048)


def test_the_kernel_counts_in_what_auto_comes_to():
    """SORF serves the Gaussian; the ℓ1 kernel takes a matrix of all its entries."""
    for kernel, projection in (("gaussian", "sorf"), ("laplacian", "dense")):
        auto = RandomFeatures(4096, kernel=kernel)
        plain = RandomFeatures(4096, kernel=kernel, projection=projection)
        assert map_bytes(auto) == map_bytes(plain)


def stored_bytes(value):
    """Of all arrays that a linear map holds."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, tuple):
        return sum(map(stored_bytes, value))
    return sum(map(stored_bytes, getattr(value, "__dict__", {}).values()))


@pytest.mark.parametrize("shape", [(300, 200), (64, 1000), (5, 3), (1, 1)])
@pytest.mark.parametrize("name", PROJECTIONS)
def test_every_projection_knows_its_cost(name, shape):
    projection, rng = PROJECTIONS[name](), Stream(0)
    law = None if name in ("sparse", "orthoprojector") else Normal(1.0)
    n_out, n_in = shape
    if name == "orthoprojector":
        n_out = min(shape)
    if law is None:
        linear = projection.sample_isometry(n_out, n_in, rng)
    else:
        linear = projection.sample(law, n_out, n_in, rng)
    cost, dense = projection.cost(n_out, n_in, law), Projection().cost(n_out, n_in)
    assert 8 * cost.numbers >= 0.3 * stored_bytes(linear) and cost.flops > 0
    if min(n_out, n_in) > 100:
        assert cost.numbers <= 2 * dense.numbers
        assert 8 * cost.numbers <= 3 * stored_bytes(linear)
    sparser = projection.cost(n_out, n_in, law, filled=n_in / 2)
    assert sparser.flops <= cost.flops
