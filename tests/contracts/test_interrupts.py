"""Ctrl-C at any moment: objects are as before or done, and so are files."""

from __future__ import annotations

import contextlib
import gc
import pickle
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info

import bochner
import zoo
from bochner import CompactMap, KernelClassifier, KernelRegressor, methods
from bochner.onnx import export

MOMENTS = 6
"""Of every call that is interrupted, spread over its time."""

A = zoo.rows("dense-float64")
B = 2 * np.hstack([A, A[:, :5]]) + 1
# ^ another width: attributes of two fits do not go together
MODELS = {**zoo.every_method(), **zoo.every_map(), **zoo.every_estimator()}
pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="no timers on this system"
)


def interrupted(call: Callable[[], Any], after: float) -> bool:
    """Whether the interrupt came during the call, `after` seconds from its start."""
    struck = False

    def stop(*_: Any) -> None:
        nonlocal struck
        struck = True
        raise KeyboardInterrupt

    usual = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(after, 1e-5))
        try:
            call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
    except TypeError as error:  # NumPy may raise one in place of an interrupt
        if not (struck and came_from_an_interrupt(error)):
            raise
    finally:
        signal.signal(signal.SIGALRM, usual)
    return struck


def came_from_an_interrupt(error: BaseException) -> bool:
    """Whether a KeyboardInterrupt is among the causes of an error."""
    cause = error.__cause__ or error.__context__
    return cause is not None and (
        isinstance(cause, KeyboardInterrupt) or came_from_an_interrupt(cause)
    )


def seconds(call: Callable[[], Any]) -> float:
    """The least time of three calls: moments within it are within later calls too."""
    call()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def moments(call: Callable[[], Any]) -> list[float]:
    took = seconds(call)
    return [took * (k + 0.5) / MOMENTS for k in range(MOMENTS)]


def same(found: list[np.ndarray], wanted: list[np.ndarray]) -> bool:
    return all(map(np.array_equal, found, wanted))


def says(model: Any, X: Any) -> list[np.ndarray] | None:
    with contextlib.suppress(ValueError):
        return zoo.outputs(model, X)
    return None


@pytest.mark.filterwarnings("ignore")  # of optimisers that were broken off
@pytest.mark.parametrize("name", MODELS)
def test_fits_are_whole(name):
    model = MODELS[name]
    y = zoo.numbers() if isinstance(model, KernelRegressor) else zoo.labels()
    old = zoo.fitted(clone(model), A)
    before, new = zoo.outputs(old, A), zoo.outputs(clone(model).fit(B, y), B)
    threads = [pool["num_threads"] for pool in threadpool_info()]
    struck = 0
    for moment in moments(lambda: clone(model).fit(B, y)):
        again = pickle.loads(pickle.dumps(old))
        struck += interrupted(lambda again=again: again.fit(B, y), moment)
        of_a, of_b = says(again, A), says(again, B)
        done = of_b is not None and (same(of_b, new) or isinstance(model, CompactMap))
        # (a map that is learned keeps what it has learned so far)
        assert done or (of_a is not None and same(of_a, before))
        assert [pool["num_threads"] for pool in threadpool_info()] == threads
        if not isinstance(model, CompactMap):
            assert same(zoo.outputs(again.fit(B, y), B), new)
    assert struck, "no interrupt came during a fit"


STREAMED = {
    "squared": KernelClassifier(methods.rff(64, random_state=0), loss="squared"),
    "log": KernelClassifier(methods.rff(64, random_state=0), loss="log", alpha=0.1),
    "regressor": KernelRegressor(methods.rff(64, random_state=0)),
    "pca": bochner.KernelPCA(3, features=methods.rff(64, random_state=0)),
    "compact": CompactMap(16, max_iter=3, search=False, random_state=0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STREAMED)
def test_blocks_are_taken_in_whole_or_refused(name):
    y = zoo.labels()
    known = {"classes": [0, 1]} if name in ("squared", "log", "compact") else {}
    begun = clone(STREAMED[name]).partial_fit(A, y, **known)
    before = zoo.outputs(begun, A)
    once = zoo.outputs(pickle.loads(pickle.dumps(begun)).partial_fit(A, y), A)

    def call() -> None:
        pickle.loads(pickle.dumps(begun)).partial_fit(A, y)

    struck = 0
    for moment in moments(call):
        again = pickle.loads(pickle.dumps(begun))
        struck += interrupted(lambda again=again: again.partial_fit(A, y), moment)
        found = zoo.outputs(again, A)
        if same(found, once):
            continue
        assert same(found, before)
        if name == "compact":  # goes on from the map as it is
            continue
        try:
            again.partial_fit(A, y)
        except ValueError as error:
            assert "was broken off" in str(error)
        else:
            assert same(zoo.outputs(again, A), once)
    assert struck, "no interrupt came during a block"


def test_errors_are_not_taken_for_interrupts():
    """A TypeError of a call counts as an interrupt only where one has caused it."""

    def defect() -> None:
        len(3)  # type: ignore[arg-type]

    def slow_defect() -> None:
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(5)
        len(3)  # type: ignore[arg-type]

    def caused() -> None:
        try:
            time.sleep(5)
        except KeyboardInterrupt as error:
            raise TypeError("in place of it") from error

    for call, after in ((defect, 5.0), (slow_defect, 0.01)):
        with pytest.raises(TypeError, match="has no len"):
            interrupted(call, after)
    assert interrupted(caused, 0.01)
    assert not interrupted(lambda: None, 5.0)


def test_half_a_block_is_told():
    model = clone(STREAMED["regressor"]).partial_fit(A, zoo.numbers())
    model._incremental.half = True
    with pytest.raises(ValueError, match=r"broken off.*call fit to begin anew"):
        model.partial_fit(A, zoo.numbers())
    model.fit(A, zoo.numbers()).partial_fit(A, zoo.numbers())


# an interrupt between `open` and its `with` leaves closing to the garbage collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("write", [bochner.save, export])
def test_files_are_whole(write, tmp_path):
    model = KernelRegressor(methods.rff(512, random_state=0)).fit(A, zoo.numbers())
    path = tmp_path / ("model.onnx" if write is export else "model.bochner")
    write(model, path)
    whole, struck = path.read_bytes(), 0
    for moment in moments(lambda: write(model, path)):
        struck += interrupted(lambda: write(model, path), moment)
        assert [p.name for p in tmp_path.iterdir()] == [path.name]
        assert path.read_bytes() == whole
        path.unlink()
        if interrupted(lambda: write(model, path), moment):
            assert list(tmp_path.iterdir()) in ([], [path])
        assert not path.exists() or path.read_bytes() == whole
        path.write_bytes(whole)
    assert struck, "no interrupt came while writing"


@pytest.mark.filterwarnings("ignore")
def test_reading_ahead_ends_with_the_walk(tmp_path):
    path = tmp_path / "rows.csv"
    header = ",".join("abcd") + ",y"
    rows = np.c_[
        np.random.default_rng(0).normal(size=(20_000, 4)), np.arange(20_000) % 2
    ]
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.4f")

    def fit() -> None:
        given = bochner.blocks(path, target="y", rows=1000)
        KernelClassifier(methods.rff(32, random_state=0), loss="squared").fit(given)

    struck = 0
    for moment in moments(fit):
        struck += interrupted(fit, moment)
        deadline = time.monotonic() + 5
        while any(t.name == "bochner-reader" for t in threading.enumerate()):
            gc.collect()  # what a broken walk has left
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert struck, "no interrupt came during a fit"


def test_threads_go_on_after_many_interrupts():
    """No lock is left taken, no helper waits for ever, BLAS has its threads again."""
    rows = np.random.default_rng(0).normal(size=(4000, 20))
    model = methods.rff(512, random_state=0).fit(rows)
    with bochner.threads(2):
        exact, took = model.transform(rows), seconds(lambda: model.transform(rows))
        threads = [pool["num_threads"] for pool in threadpool_info()]
        struck = sum(
            interrupted(lambda: model.transform(rows), moment)
            for moment in np.random.default_rng(0).uniform(0, took, 300)
        )
        assert struck
        assert [pool["num_threads"] for pool in threadpool_info()] == threads
        np.testing.assert_array_equal(model.transform(rows), exact)
