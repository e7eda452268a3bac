"""One result whatever runs it: threads, forks, processes, limits, interrupts."""

import os
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_info

import bochner
from bochner import RandomFeatures
from bochner._core import parallel as _threads
from bochner._core.parallel import Helpers
from checks import data

X = data(3000, 20, np.float32)
FEATURES = RandomFeatures(512, gamma=0.05, random_state=0).fit(X)
EXPECTED = FEATURES.transform(X)
SPARSE = sparse.csr_matrix(X)
EXPECTED_SPARSE = FEATURES.transform(SPARSE)


def blas_threads() -> list[int]:
    info = threadpool_info()
    return [pool["num_threads"] for pool in info if pool["user_api"] == "blas"]


@pytest.fixture
def four_threads(monkeypatch):
    """More threads than this machine may have, so that the pool is really used."""
    with bochner.threads(4):
        yield


def test_number_of_threads(monkeypatch):
    monkeypatch.setattr(_threads, "_cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert _threads.n_threads() == 8
    for value, expected in [("3", 3), ("2,1", 2), ("99", 8), ("", 8), ("many", 8)]:
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert _threads.n_threads() == expected
    with bochner.threads(5):
        assert _threads.n_threads() == 5
        with bochner.threads(1):
            assert _threads.n_threads() == 1
        assert _threads.n_threads() == 5
    with (
        pytest.raises(ValueError, match=r"bochner.threads: n must be a positive"),
        bochner.threads(0),
    ):
        pass


def test_same_result_with_any_number_of_threads():
    before = blas_threads()
    for n in (1, 2, 3, 8):
        with bochner.threads(n):
            assert_allclose(FEATURES.transform(X), EXPECTED, atol=1e-6)
            assert_array_equal(FEATURES.transform(SPARSE), EXPECTED_SPARSE)
    assert blas_threads() == before


def test_eight_python_threads_at_once():
    before = blas_threads()

    def work(i):
        with bochner.threads(3):
            dense, csr = FEATURES.transform(X), FEATURES.transform(SPARSE)
        return abs(dense - EXPECTED).max() < 1e-6 and (csr == EXPECTED_SPARSE).all()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(24)))
    assert blas_threads() == before


def test_nested_calls_run_inline(four_threads):
    """A step that itself needs blocks does not wait for the pool it runs in."""
    seen = []

    def make_step():
        def step(rows):
            _threads.for_row_blocks(lambda: seen.append, 10, 1, 10**6)

        return step

    _threads.for_row_blocks(make_step, 8, 1, 10**6)
    assert len(seen) == 80


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_fork_after_use(four_threads):
    FEATURES.transform(X)
    pid = os.fork()
    if pid == 0:
        same = np.allclose(FEATURES.transform(X), EXPECTED, atol=1e-6)
        os._exit(0 if same and _threads._helpers.n == 3 else 1)
    done = threading.Event()
    watchdog = threading.Timer(60, lambda: done.is_set() or os.kill(pid, 9))
    watchdog.start()
    _, status = os.waitpid(pid, 0)
    done.set()
    watchdog.cancel()
    assert status == 0


def test_grid_search_in_processes():
    y = (X[:, 0] > 0).astype(int)
    pipeline = make_pipeline(RandomFeatures(64, random_state=0), RidgeClassifier())
    grid = {"randomfeatures__gamma": [0.01, 0.1]}
    scores = [
        GridSearchCV(pipeline, grid, cv=2, n_jobs=n)
        .fit(X, y)
        .cv_results_["mean_test_score"]
        for n in (1, 2)
    ]
    assert_allclose(*scores, atol=1e-3)


SCRIPT = """
import numpy as np, scipy.sparse, sys
from bochner import RandomFeatures
X = np.load(sys.argv[1])
features = RandomFeatures(512, gamma=0.05, random_state=0).fit(X)
dense = features.transform(X)
np.savez(sys.argv[2], dense=dense, csr=features.transform(scipy.sparse.csr_matrix(X)))
"""


def test_one_openmp_thread_in_another_process(tmp_path):
    np.save(tmp_path / "X.npy", X)
    subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "X.npy", tmp_path / "F.npz"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=True,
    )
    with np.load(tmp_path / "F.npz") as F:
        assert_allclose(F["dense"], EXPECTED, atol=1e-6)
        assert_array_equal(F["csr"], EXPECTED_SPARSE)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["caller", "helper"])
def test_an_error_stops_the_others_and_restores_blas(four_threads, error, where):
    """It is raised once; no block runs afterwards; the pool works on."""
    before = blas_threads()
    caller = threading.get_ident()
    running = set()
    failed = threading.Event()

    def make_step():
        def step(rows):
            running.add(rows.start)
            here = threading.get_ident() == caller
            if here == (where == "caller"):
                failed.set()
                running.discard(rows.start)
                raise error("stop")
            failed.wait(10)
            running.discard(rows.start)

        return step

    with pytest.raises(error, match="stop"):
        _threads.for_row_blocks(make_step, 1000, 1, 10**6)
    assert not running
    assert blas_threads() == before
    assert_allclose(FEATURES.transform(X), EXPECTED, atol=1e-6)


def test_helpers_that_cannot_start_are_done_without(four_threads, monkeypatch):
    """At interpreter shutdown no thread starts any more: the caller does it all."""

    def refuse(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        patch.setattr(_threads, "_helpers", Helpers())
        assert_allclose(FEATURES.transform(X), EXPECTED, atol=1e-6)
        assert _threads._helpers.n == 0
        assert _threads._helpers._jobs.empty()
    assert_allclose(FEATURES.transform(X), EXPECTED, atol=1e-6)


def test_helpers_grow_in_number_and_hold_nothing():
    for n in (2, 9, 3):
        with bochner.threads(n):
            rows = X.copy()
            FEATURES.transform(rows)
        assert _threads._helpers.n >= n - 1
    alive = weakref.ref(rows)
    del rows
    deadline = time.monotonic() + 10
    while alive() is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_error_while_submitting_stops_helpers(four_threads, monkeypatch):
    """The running block is waited for, and no block begins after it."""
    begun, ended = [], []
    running, stopping = threading.Event(), threading.Event()
    submit, wait, submitted = _threads._submit, _threads.Job.wait, []

    def step(rows):
        begun.append(rows.start)
        running.set()
        stopping.wait(10)
        ended.append(rows.start)

    def interrupted(job):
        submitted.append(job)
        if len(submitted) == 2:
            assert running.wait(10), "the first helper has begun a block"
            raise KeyboardInterrupt
        submit(job)

    def waited(job):
        stopping.set()  # the block ends only once its end is waited for
        return wait(job)

    monkeypatch.setattr(_threads, "_submit", interrupted)
    monkeypatch.setattr(_threads.Job, "wait", waited)
    with pytest.raises(KeyboardInterrupt):
        _threads.for_row_blocks(lambda: step, 10_000, 8, 10**6)
    assert ended == begun == [0]


def test_block_rows():
    assert _threads.block_rows(2048, 4) == 256
    assert _threads.block_rows(10**7, 8) == 8
    assert _threads.block_rows(100_000, 4) == 8
    with bochner.threads(64):
        assert _threads.block_rows(2048, 4) == 64  # all scratch together is bounded
    assert _threads.block_rows(0, 4) == 256
