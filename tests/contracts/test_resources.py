"""What calls take and give back: memory within budgets, no growth, no open files.

| call | budget beside its result |
|---|---|
| `fit` of maps, `transform`, `predict`, `score`, … of anything | 64 MiB |
| … of compressed maps | 128 MiB |
| `kernel_error` | three matrices of the rows it looks at |
| `fit` of learners | `memory` and 16 MiB |
| … and where α of least squares is chosen | 4096 rows of features, twice, in float64 |
| `save`, `load`, `export` | three times the model, and 64 MiB |
"""

from __future__ import annotations

import gc
import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import bochner
import zoo
from bochner import (
    CompactMap,
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    Nystroem,
    RandomProjection,
    blocks,
    methods,
    metrics,
)
from bochner.onnx import export

MIB = 1 << 20
ROOM = 64 * MIB
N, D, M = 30_000, 40, 1024
CHOOSING = 2 * 8 * 4096 * M
assert 4 * N * M > 64 * MIB + 48 * MIB  # all features, in float32: more than budgets

X = np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)
LABELS = (X[:, 0] * X[:, 1] > 0).astype(int)
NUMBERS = X[:, 0] * X[:, 1]


def peak(call: Callable[[], Any]) -> int:
    """Bytes that a call holds at most beside its result."""
    gc.collect()
    tracemalloc.start()
    result = call()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = getattr(result, "nbytes", 0)
    if sparse.issparse(result):
        size = sum(a.nbytes for a in (result.data, result.indices, result.indptr))
    return most - size


MAPS = {
    "rff": methods.rff(M, random_state=0),
    "sorf": methods.sorf(M, random_state=0),
    "block_diagonal": methods.block_diagonal(M, random_state=0),
    "giga": methods.giga(M // 4, n_candidates=M, random_state=0),
    "maxout": methods.maxout(M, random_state=0),
    "codes": methods.maxout_codes(M, random_state=0),
    "nystroem": Nystroem(M // 2, random_state=0),
    "projection": RandomProjection(M // 4, random_state=0),
    "compact": CompactMap(64, max_iter=2, search=False, random_state=0),
}


@pytest.mark.parametrize("name", MAPS)
def test_maps(name):
    model = clone(MAPS[name])
    model.fit(X[:500], LABELS[:500]).transform(X[:500])  # compiled
    fits = peak(lambda: None if model.fit(X, LABELS) is model else 1)
    assert fits < (2 if name == "giga" else 1) * ROOM
    assert peak(lambda: model.transform(X)) < ROOM
    if hasattr(model, "approximate_kernel"):
        assert peak(lambda: model.approximate_kernel(X[:1000])) < ROOM
        error = peak(lambda: metrics.kernel_error(model, X[:2000]))
        assert error < 3 * 8 * 2000**2 + ROOM


LEARNERS = {
    "hinge": KernelClassifier(methods.rff(M, random_state=0), memory="64 MiB", tol=0.1),
    "log": KernelClassifier(
        methods.rff(M, random_state=0), loss="log", alpha=1.0, memory="64 MiB", tol=0.1
    ),
    "squared": KernelClassifier(
        methods.sorf(M, random_state=0), loss="squared", memory="64 MiB"
    ),
    "regressor": KernelRegressor(methods.rff(M, random_state=0), memory="64 MiB"),
    "nystroem": KernelRegressor(Nystroem(M // 2, random_state=0), memory="64 MiB"),
    "pca": KernelPCA(4, features=methods.rff(M, random_state=0), memory="64 MiB"),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_learners(name):
    model = clone(LEARNERS[name])
    y = LABELS if isinstance(model, KernelClassifier) else NUMBERS
    clone(model).fit(X[:2000], y[:2000])  # compiled
    fits = peak(lambda: None if model.fit(X, y) is model else 1)
    least_squares = name in ("squared", "regressor", "nystroem")
    assert fits < 64 * MIB + 16 * MIB + (CHOOSING if least_squares else 0)
    for call in ("predict", "decision_function", "predict_proba", "transform"):
        if hasattr(model, call):
            assert peak(lambda call=call: getattr(model, call)(X)) < ROOM
    if isinstance(model, KernelRegressor):
        assert peak(lambda: model.predict(X, return_std=True)[1]) < ROOM
    if hasattr(model, "score"):
        assert peak(lambda: model.score(X, y)) < ROOM


def test_blocks_of_a_stream():
    model = KernelClassifier(methods.rff(M, random_state=0), loss="squared")

    def learn() -> None:
        for start in range(0, 9000, 3000):
            part = slice(start, start + 3000)
            model.partial_fit(X[part], LABELS[part], classes=[0, 1])

    assert peak(learn) < ROOM + CHOOSING


@pytest.mark.parametrize("write", [bochner.save, export])
def test_files(write, tmp_path):
    features = methods.rff(2 * M, random_state=0)
    model = KernelRegressor(features, alpha=0.1).fit(X[:3000], NUMBERS[:3000])
    path = tmp_path / ("model.onnx" if write is export else "model.bochner")
    write(model, path)
    size = path.stat().st_size
    assert peak(lambda: write(model, path)) < 3 * size + ROOM
    if write is bochner.save:
        assert peak(lambda: bochner.load(path).coef_) < 3 * size + ROOM


FITS = 1000
GROWTH = 200
"""Bytes a fit may leave behind, in caches that fill up: a row of features has more."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_thousand_fits_leave_nothing_behind():
    models = {**zoo.every_method(), **zoo.every_map(), **zoo.every_estimator()}
    for slow in ("classifier", "regressor", "pca", "giga_sorf"):
        del models[slow]  # whose parts are fitted by others
    rows = zoo.rows("dense-float64")

    def fits(n: int) -> None:
        names = list(models)
        for i in range(n):
            model = clone(models[names[i % len(names)]])
            zoo.outputs(zoo.fitted(model, rows), rows)

    fits(2 * len(models))
    gc.collect()
    threads = threading.active_count()
    files = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    tracemalloc.start()
    fits(FITS // 10)
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    fits(FITS)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < FITS * GROWTH
    assert threading.active_count() == threads
    if files:
        assert len(os.listdir("/proc/self/fd")) <= files


def opened(folder: Path) -> list[str]:
    """Files of a folder that this process holds open or mapped."""
    links = [link for link in Path("/proc/self/fd").iterdir() if link.exists()]
    targets = [os.readlink(link) for link in links]
    mapped = Path("/proc/self/maps").read_text().splitlines()
    found = targets + [line.split(maxsplit=5)[-1] for line in mapped]
    return [name for name in found if str(folder) in name]


class Failed(Exception):
    """Raised by a walk of the test, and by nothing else."""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc here")
@pytest.mark.parametrize(
    "name", ["rows.csv", "rows.parquet", "rows.npy", "rows.npz", "rows.svm"]
)
def test_files_and_threads_are_given_back(name, tmp_path):
    rows = np.c_[X[:2000, :3], LABELS[:2000]].astype(np.float64)
    path = tmp_path / name
    frame = pd.DataFrame(rows, columns=list("abcy"))
    if name.endswith("csv"):
        frame.to_csv(path, index=False)
    elif name.endswith("parquet"):
        frame.to_parquet(path)
    elif name.endswith("npy"):
        np.save(path, rows)
    elif name.endswith("npz"):
        np.savez(path, X=rows)
    else:
        from sklearn.datasets import dump_svmlight_file

        dump_svmlight_file(rows[:, :3], rows[:, 3], str(path))

    def readers() -> int:
        return sum(t.name == "bochner-reader" for t in threading.enumerate())

    for walk in ("whole", "broken off", "failed"):
        given = blocks(path, rows=100)
        try:
            for i, _ in enumerate(given.walk()):
                if i and walk == "broken off":
                    break
                if i and walk == "failed":
                    raise Failed
        except Failed:
            pass
        del given
        gc.collect()
        assert readers() == 0
        assert opened(tmp_path) == []
