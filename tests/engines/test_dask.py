"""Dask: the same answers as on one machine, whatever happens to the workers."""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
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
    blocks,
    methods,
)

pytest.importorskip("distributed")
import dask
import dask.array as da
import dask.dataframe as dd
from dask.sizeof import sizeof
from distributed import Client, LocalCluster

from bochner._core import remote_rows as _lazy
from bochner._core.random import Stream
from bochner.engines import dask as execution
from bochner.features.landmarks import LANDMARKS

N, D = 4500, 6
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
Y = np.sin(X[:, 0] + X[:, 1]) + X[:, 2] + 0.1 * RNG.normal(size=N)
LABELS = np.array(["a", "b", "c"])[np.digitize(Y, [-0.7, 0.7])]
S = sparse.random(N, 50, density=0.1, format="csr", random_state=0)
FORMS = {"dense": X, "sparse": S}


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as c:
        yield c


@pytest.fixture
def client(cluster):
    with Client(cluster) as c:
        yield c


def lazy(form, rows=1500):
    """A Dask array of these rows, CSR chunks where they are sparse."""
    rows_of = FORMS[form]
    if form == "dense":
        return da.from_array(rows_of, chunks=(rows, -1))
    places = da.arange(N, chunks=rows)[:, None]
    return places.map_blocks(
        lambda i: rows_of[i[:, 0]],
        dtype=float,
        chunks=(places.chunks[0], rows_of.shape[1:]),
        meta=rows_of[:0],
    )


LEARNERS = {
    "ridge": lambda: KernelRegressor(methods.rff(80, random_state=0)),
    "ridge, fixed": lambda: KernelRegressor(methods.orf(80, random_state=0), alpha=1.0),
    "ridge, nystroem": lambda: KernelRegressor(Nystroem(40), random_state=0),
    "squared": lambda: KernelClassifier(
        methods.sorf(40), loss="squared", random_state=0
    ),
    "hinge": lambda: KernelClassifier(
        methods.giga(40, n_candidates=200), random_state=0
    ),
    "log": lambda: KernelClassifier(
        methods.rff(24), loss="log", alpha=100.0, random_state=0
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LEARNERS)
def test_learners_give_what_they_give_on_one_machine(name, form, client):
    model, rows = LEARNERS[name](), FORMS[form]
    y = Y if isinstance(model, KernelRegressor) else LABELS
    scores = model.predict if y is Y else model.decision_function
    wanted = (model.fit(rows, y), scores(rows[:200]))[1]
    model.fit(lazy(form), da.from_array(y, chunks=2000))
    assert_allclose(scores(rows[:200]), wanted, rtol=1e-6, atol=1e-6)
    for method in ("predict", "decision_function"):
        if hasattr(model, method):
            found = getattr(model, method)(lazy(form))
            assert isinstance(found, da.Array)
            one = getattr(model, method)(rows)
            if one.dtype.kind == "f":
                assert_allclose(found.compute(), one, atol=1e-10)
            else:
                assert_array_equal(found.compute(), one)


def test_a_map_that_is_chosen(client):
    model = KernelClassifier(60, random_state=0)
    wanted = model.fit(X, LABELS).decision_function(X[:100])
    model.fit(lazy("dense"), da.from_array(LABELS))
    assert_allclose(model.decision_function(X[:100]), wanted, rtol=1e-6, atol=1e-6)


def test_principal_components(client):
    model = KernelPCA(3, features=methods.sorf(64, random_state=0))
    wanted = model.fit(X).transform(X[:100])
    found = model.fit(lazy("dense")).transform(lazy("dense"))
    assert_allclose(found[:100].compute(), wanted, atol=1e-8)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomFeatures(40, random_state=0),
        lambda: RandomFeatures(40, gamma="median", random_state=0),
        lambda: methods.block_diagonal(40, random_state=0),
        lambda: methods.compressive(40, n_measurements=4, random_state=0),
        lambda: methods.giga(20, n_candidates=100, random_state=0),
        lambda: methods.maxout_codes(8, output="onehot", random_state=0),
        lambda: Nystroem(30, landmarks="rpcholesky", random_state=0),
        lambda: RandomProjection(10, random_state=0),
    ],
)
def test_transformers_are_lazy(make, form):
    wanted = make().fit(FORMS[form]).transform(FORMS[form])
    found = make().fit(lazy(form)).transform(lazy(form))
    assert isinstance(found, da.Array) and found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    rows = found.compute()
    wanted, rows = (A.toarray() if sparse.issparse(A) else A for A in (wanted, rows))
    assert_allclose(rows, wanted, atol=1e-10)


def test_float32_and_weights():
    A, w = X.astype(np.float32), np.where(np.arange(N) % 5, 1.0, 0.0) * (Y**2 + 1)
    lazy_A = da.from_array(A, chunks=(1100, 3))  # columns are put together
    model = KernelRegressor(methods.rff(40, random_state=0), alpha=1.0)
    wanted = model.fit(A, Y, sample_weight=w).coef_
    model.fit(lazy_A, da.from_array(Y), sample_weight=da.from_array(w, chunks=700))
    assert_allclose(model.coef_, wanted, rtol=1e-6, atol=1e-6)
    assert model.predict(lazy_A).dtype == np.float32
    assert model.predict(lazy_A).compute().dtype == np.float32


def test_frames():
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=Y)
    lazy_frame = dd.from_pandas(frame, npartitions=3)
    model = KernelRegressor(methods.rff(40, random_state=0))
    wanted = model.fit(frame[list("abcdef")], frame["y"]).predict(frame[list("abcdef")])
    rows = lazy_frame[list("abcdef")]
    model.fit(rows, lazy_frame["y"])
    assert list(model.feature_names_in_) == list("abcdef")
    assert_allclose(model.predict(rows).compute(), wanted, atol=1e-8)
    mean, std = model.predict(rows, return_std=True)
    assert std.compute().min() > 0 and len(mean.compute()) == N
    labels = lazy_frame["y"] > 0
    classifier = KernelClassifier(methods.rff(40, random_state=0)).fit(rows, labels)
    assert classifier.score(frame[list("abcdef")], Y > 0) > 0.85


def test_maps_that_need_rows_see_a_sample():
    pipeline = make_pipeline(StandardScaler(), Nystroem(40))
    model = KernelRegressor(pipeline, random_state=0)
    wanted = model.fit(X, Y).predict(X[:50])
    model.fit(lazy("dense"), da.from_array(Y))
    assert_allclose(model.predict(X[:50]), wanted, atol=1e-8)
    learned = KernelClassifier(CompactMap(8, max_iter=2, random_state=0))
    learned.fit(lazy("dense"), da.from_array(LABELS))
    assert learned.score(X, LABELS) > 0.6


def test_features_that_do_not_fit_are_made_anew(monkeypatch):
    model = KernelClassifier(methods.rff(24, random_state=0), loss="log", alpha=100.0)
    wanted = model.fit(lazy("dense"), da.from_array(LABELS)).coef_
    made = []
    inner = execution._run_on_new_features
    monkeypatch.setattr(
        execution, "_run_on_new_features", lambda *a: (made.append(1), inner(*a))[1]
    )
    model.set_params(memory="200 KiB").fit(lazy("dense"), da.from_array(LABELS))
    assert len(made) > 20
    assert_allclose(model.coef_, wanted, atol=1e-6)


def slow_rows(seconds):
    """Rows that take their time, so that something can happen meanwhile."""

    def make(i):
        time.sleep(seconds)
        return X[i[:, 0]]

    places = da.arange(N, chunks=300)[:, None]
    meta = np.empty((0, 0))
    return places.map_blocks(
        make, dtype=float, chunks=(places.chunks[0], (D,)), meta=meta
    )


@pytest.mark.slow
def test_a_killed_worker_costs_time_alone(client):
    model = KernelRegressor(methods.rff(60, gamma=0.2, random_state=0), alpha=1.0)
    y = da.from_array(Y, chunks=300)
    wanted = model.fit(slow_rows(0), y).coef_
    pids = list(client.run(os.getpid).values())
    killer = threading.Timer(0.7, lambda: os.kill(pids[0], signal.SIGKILL))
    killer.start()
    start = time.monotonic()
    found = model.fit(slow_rows(0.15), y).coef_
    assert time.monotonic() - start > 0.7, "killed in mid-fit"
    killer.join()
    client.wait_for_workers(2)
    assert pids[0] not in client.run(os.getpid).values()
    assert_array_equal(found, wanted)


def test_only_statistics_come_to_the_client(client, monkeypatch):
    moved = []
    gather = Client.gather

    def counted(self, *args, **kwargs):
        found = gather(self, *args, **kwargs)
        moved.append(sizeof(found))
        return found

    monkeypatch.setattr(Client, "gather", counted)
    wide = da.random.default_rng(0).normal(size=(20_000, 200), chunks=(2000, 200))
    y = wide[:, 0]
    for alpha, rows in ((1.0, 0), ("auto", 4096)):
        moved.clear()
        features = methods.rff(32, gamma="scale", random_state=0)
        KernelRegressor(features, alpha=alpha).fit(wide, y)
        sums = 8 * 32 * 32 + rows * 8 * (32 + 3)
        assert sum(moved) < 2 * sums + 100_000
        assert sum(moved) < 0.1 * wide.nbytes


def test_progress_is_told(client, capsys, monkeypatch):
    monkeypatch.setattr("bochner._core.progress.PACE_SECONDS", 0.0)
    model = KernelRegressor(methods.rff(32, random_state=0), verbose=1)
    model.fit(lazy("dense"), da.from_array(Y))
    told = capsys.readouterr().err
    assert "4,500 rows in 0:0" in told and "a second" in told


def test_another_version_on_a_worker(client, monkeypatch):
    model = KernelRegressor(methods.rff(32, random_state=0))
    monkeypatch.setattr(execution, "__version__", "9.9")
    with pytest.raises(
        RuntimeError, match=r"bochner 0.* on the Dask worker .*9.9 on the"
    ):
        model.fit(lazy("dense"), da.from_array(Y))
    # one that joins later is found by the task itself
    making = execution.FeatureRecipe("0.0.1", None, None)
    with pytest.raises(RuntimeError, match=r"on the Dask worker, and 0.0.1 on the cli"):
        making.block(X, Y, None, "")


def test_few_rows_come_to_the_client():
    w = np.random.default_rng(0).random(300)
    model = KernelClassifier(methods.rff(16, random_state=0), loss="log")
    wanted = model.fit(X[:300], LABELS[:300], sample_weight=w).coef_
    rows, labels = lazy("dense")[:300], da.from_array(LABELS[:300], chunks=120)
    model.fit(rows, labels, sample_weight=da.from_array(w))
    assert_array_equal(model.coef_, wanted)


def test_empty_partitions():
    few = lazy("dense")
    few = few[few[:, 0] > 3]  # most chunks have no such rows
    features = methods.rff(32, gamma=0.2, random_state=0).fit(X)
    wanted = features.transform(X[X[:, 0] > 3])
    assert_allclose(features.transform(few).compute(), wanted, atol=1e-12)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    lazy_frame = dd.from_pandas(frame, npartitions=6)
    model = KernelRegressor(features).fit(frame, Y)
    found = model.predict(lazy_frame[lazy_frame["a"] > 3]).compute()
    assert_allclose(found, model.predict(frame[frame["a"] > 3]), atol=1e-12)


@pytest.mark.parametrize("form", ["array", "frame"])
def test_scores_of_unknown_lengths(form):
    names = list("abcdef")
    w = np.arange(N) % 3.0
    frame = pd.DataFrame(X, columns=names).assign(y=Y, label=LABELS, w=w)
    some = dd.from_pandas(frame, npartitions=5)
    some = some[some["a"] > 0.5]  # how many, no one knows
    kept = frame[frame["a"] > 0.5]
    features = methods.rff(32, random_state=0)
    rows, known = frame[names], kept[names]
    if form == "array":
        rows, known = X, known.to_numpy()
    regressor = KernelRegressor(features).fit(rows, Y)
    classifier = KernelClassifier(features).fit(rows, LABELS)
    for model, target in ((regressor, "y"), (classifier, "label")):
        for weight, weights in ((None, None), (some["w"], kept["w"])):
            unknown = some[names] if form == "frame" else some[names].to_dask_array()
            wanted = model.score(known, kept[target], weights)
            found = model.score(unknown, some[target], weight)
            assert found == pytest.approx(wanted, abs=1e-9)


def test_only_sums_of_scores_come_to_the_client(client, monkeypatch):
    fetched = []
    compute = dask.compute

    def watched(*tasks, **options):
        fetched.append(compute(*tasks, **options))
        return fetched[-1]

    model = KernelRegressor(methods.rff(32, random_state=0)).fit(X, Y)
    monkeypatch.setattr(dask, "compute", watched)
    rows, y = lazy("dense", rows=100), da.from_array(Y, chunks=100)
    found = model.score(rows, y, sample_weight=da.ones(N, chunks=100))
    assert found == pytest.approx(model.score(X, Y), abs=1e-9)
    assert fetched and sum(map(sizeof, fetched)) < 4096  # 45 partitions of 100 rows


def test_bad_scores():
    model = KernelRegressor(methods.rff(32, random_state=0)).fit(X, Y)
    with pytest.raises(ValueError, match="KernelRegressor requires y"):
        model.score(lazy("dense"))
    with pytest.raises(ValueError, match="X has 4500 rows and y has 10"):
        model.score(lazy("dense"), da.zeros(10))
    bad = np.where(np.arange(N) == 2000, np.nan, Y)
    with pytest.raises(ValueError, match="rows 1501 to 3000: Input y contains NaN"):
        model.score(lazy("dense"), da.from_array(bad, chunks=1500))


@pytest.mark.parametrize("memory", [None, "200 KiB"])
def test_partitions_that_weigh_nothing(memory):
    rows, y = lazy("dense"), da.from_array(Y, chunks=1500)
    w = np.where(np.arange(N) < 1500, 0.0, 1.0)
    model = KernelRegressor(methods.rff(32, random_state=0), alpha=1.0, memory=memory)
    wanted = model.fit(X, Y, sample_weight=w).coef_
    model.fit(rows, y, sample_weight=da.from_array(w))
    assert_allclose(model.coef_, wanted, atol=1e-8)
    labels = np.where(w == 0, "a", np.where(Y > 0, "b", "c"))
    classifier = KernelClassifier(
        methods.rff(32, gamma=0.2, random_state=0),
        alpha=1.0,
        class_weight={"a": 0},
        memory=memory,
    )
    wanted = classifier.fit(X, labels).coef_
    classifier.fit(rows, da.from_array(labels, chunks=1500))
    assert_allclose(classifier.coef_, wanted, atol=1e-5)
    assert_allclose(
        model.fit(rows, y, sample_weight=2.0).coef_,
        model.fit(X, Y, sample_weight=2.0).coef_,
        atol=1e-8,
    )


def test_bad_input():
    model = KernelRegressor(methods.rff(32, gamma=0.1, random_state=0))
    with pytest.raises(ValueError, match="X has 4500 rows and y has 10"):
        model.fit(lazy("dense"), da.zeros(10))
    with pytest.raises(ValueError, match="KernelRegressor requires y"):
        model.fit(lazy("dense"))
    bad = X.copy()
    bad[2000, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"rows 1501 to 3000 \(row 2001\): Input X.*NaN"
    ):
        model.fit(da.from_array(bad, chunks=(1500, -1)), da.from_array(Y))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(da.where(lazy("dense") > 3, np.nan, lazy("dense")), da.from_array(Y))
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        RandomFeatures(8).fit(lazy("dense") * np.inf)
    missing = LABELS.astype(object)
    missing[7] = None
    with pytest.raises(ValueError, match=r"labels that cannot be compared.*None"):
        KernelClassifier(8).fit(lazy("dense"), da.from_array(missing, chunks=1500))
    with pytest.raises(TypeError, match="a Dask collection; give it to fit"):
        blocks(lazy("dense"))
    with pytest.raises(ValueError, match="needs at least 2 classes"):
        KernelClassifier(8).fit(lazy("dense"), da.zeros(N))
    with pytest.raises(ValueError, match="calibrate=True needs rows in memory"):
        KernelClassifier(methods.rff(8), calibrate=True).fit(
            lazy("dense"), da.from_array(LABELS)
        )
    with pytest.raises(TypeError, match="X must be rows in memory; got a Dask"):
        RandomFeatures(8).fit(X).approximate_kernel(lazy("dense"))
    with pytest.raises(ValueError, match="has no rows"):
        model.fit(lazy("dense")[:0], da.from_array(Y)[:0])
    assert dask.is_dask_collection(lazy("dense"))


def test_landmarks_by_margin_are_rows_of_the_collection(monkeypatch):
    """Places count rows of X, also where a sample of them was asked."""
    monkeypatch.setattr(_lazy.LazyRows.sample, "__defaults__", (500,))
    make = Nystroem(30, landmarks="margin", random_state=0)
    found = make.fit(lazy("dense"), da.from_array(LABELS))
    assert_allclose(X[found.landmark_indices_], found.landmarks_)


def test_learning_goes_on_from_a_collection():
    learned = CompactMap(8, random_state=0)
    learned.partial_fit(lazy("dense"), da.from_array(LABELS))
    learned.partial_fit(X, LABELS)
    assert learned.transform(X).shape == (N, 8)


WEIGHT = np.where(np.arange(N) % 7 < 2, 0.0, Y**2 + 0.1)
WEIGHT[1500:2200] = 0  # a chunk of 700 rows without any that counts
CHUNKS = ((1500, 700, 1300, 1000), (D,))


def lazy_weighted():
    rows = _lazy.LazyRows(da.from_array(X, chunks=CHUNKS))
    return rows.weighted("Owner", da.from_array(WEIGHT, chunks=900))


def test_rows_that_weigh_nothing_are_left_out_by_their_number():
    rows, weight = lazy_weighted()
    present = np.flatnonzero(WEIGHT)
    assert len(rows) == len(weight) == len(present)
    places = np.random.default_rng(0).permutation(len(present))[:500]
    assert_array_equal(rows[places], X[present[places]])
    assert_array_equal(weight[places], WEIGHT[present[places]])
    assert_array_equal(rows.index(places), present[places])
    assert_array_equal(rows.targets("Owner", Y)[places], Y[present[places]])
    assert weight[places[:0]].shape == (0,)
    for w, given in ((WEIGHT, weight), ((WEIGHT > 0).astype(float), None)):
        share = w / w.sum()
        mean = share @ X.mean(axis=1)
        wanted = mean, share @ ((X - mean) ** 2).mean(axis=1)
        assert_allclose(rows.spread(given), wanted)
    with pytest.raises(TypeError, match="rows of a Dask collection stay there"):
        np.flatnonzero(weight)


def test_a_race_on_the_workers_is_that_on_one_machine():
    _, weight = lazy_weighted()
    present = np.flatnonzero(WEIGHT)
    times = Stream(5).arrivals(WEIGHT[present])
    for k in (1, 100, len(present)):
        wanted = np.argsort(times, kind="stable")[:k]
        assert_array_equal(weight.race(Stream(5), k), wanted)


def test_only_chunks_with_rows_that_are_asked_for_are_computed():
    computed = []

    def make(i):
        computed.append(i[0, 0])
        return X[i[:, 0]]

    places = da.arange(N, chunks=500)[:, None]
    array = places.map_blocks(
        make, dtype=float, chunks=(places.chunks[0], (D,)), meta=np.empty((0, 0))
    )
    rows = _lazy.LazyRows(array)[np.array([2100, 30, 2007, 2100])]
    assert_array_equal(rows, X[[2100, 30, 2007, 2100]])
    assert sorted(computed) == [0, 2000]


@pytest.mark.parametrize("rule", LANDMARKS)
@pytest.mark.parametrize("form", FORMS)
def test_landmarks_of_weighted_rows(rule, form):
    weight = WEIGHT if rule != "margin" else WEIGHT + 1  # a sample of rows is scored
    make = Nystroem(30, landmarks=rule, random_state=0)
    wanted = make.fit(FORMS[form], LABELS, sample_weight=weight).landmarks_
    index = make.landmark_indices_
    # chunks of 1500 rows for X and of others for what belongs to it
    make.fit(
        lazy(form),
        da.from_array(LABELS, chunks=400),
        sample_weight=da.from_array(weight, chunks=900),
    )
    if rule == "kmeans":
        assert_allclose(make.landmarks_, wanted)
    else:
        assert_array_equal(make.landmark_indices_, index)
        assert abs(make.landmarks_ - wanted).max() == 0


@pytest.mark.parametrize("learner", [KernelRegressor, KernelClassifier, KernelPCA])
def test_choices_with_rows_that_weigh_nothing(learner):
    w = np.where(np.arange(N) % 50, Y**2 + 0.1, 0.0)  # more than 4096 rows count
    y = LABELS if learner is KernelClassifier else Y
    model = learner(features=60, random_state=0)
    wanted = model.fit(X, y, sample_weight=w).features_
    model.fit(
        lazy("dense"),
        da.from_array(y, chunks=1500),
        sample_weight=da.from_array(w, chunks=700),
    )
    found = model.features_
    assert_allclose(found.transform(X[:50]), wanted.transform(X[:50]), atol=1e-8)


def test_bad_weights_are_refused_where_they_are():
    model = KernelRegressor(methods.rff(32, gamma=0.1, random_state=0))
    rows, y = lazy("dense"), da.from_array(Y)
    for owner, fit in (
        ("KernelRegressor", lambda w: model.fit(rows, y, sample_weight=w)),
        ("Nystroem", lambda w: Nystroem(8).fit(rows, sample_weight=w)),
    ):
        for w, message in (
            (Y, f"{owner}: sample_weight must be ≥ 0 and not all zero; got values"),
            (0 * Y, f"{owner}: sample_weight must be ≥ 0 and not all zero; got values"),
            (Y * np.nan, "Input sample_weight contains NaN"),
            (Y[:9], f"{owner}: X has 4500 rows and sample_weight has 9"),
            (X**2, f"{owner}: sample_weight must have one entry for each of the 4500"),
        ):
            with pytest.raises(ValueError, match=message):
                fit(da.from_array(w, chunks=700))
