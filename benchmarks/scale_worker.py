"""One run of the scale benchmark in a process of its own: prints seconds and memory."""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

BLOCK = 65_536
FEATURES, COLUMNS = 1024, 40
HASHED, NON_ZEROS = 2**20, 39
REAL_DRAWS = 5


def dense_block(seed: int, n: int = BLOCK) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 40 normal features, and a target that is not linear in them."""
    rng = np.random.default_rng([0, seed])
    X = rng.standard_normal((n, COLUMNS), dtype=np.float32)
    y = np.sin(X[:, 0] + X[:, 1]) + X[:, 2] * X[:, 3]
    return X, y + 0.1 * rng.standard_normal(n, dtype=np.float32)


def click_block(seed: int, n: int = BLOCK) -> tuple[Any, np.ndarray]:
    """Rows like hashed click logs: a non-zero in each of 39 fields, values by rank.

    Field f has its own stretch of the 2²⁰ columns; which of them is set falls off as in
    Zipf's law, and the clicks depend on a few fields.
    """
    rng = np.random.default_rng([1, seed])
    width = HASHED // NON_ZEROS
    ranks = (width ** rng.random((n, NON_ZEROS)) - 1).astype(np.int64)
    indices = ranks + width * np.arange(NON_ZEROS)
    common = (ranks[:, :4] < 30).sum(axis=1) - (ranks[:, 4:8] < 30).sum(axis=1)
    clicks = rng.random(n) < 1 / (1 + np.exp(1.5 - 1.5 * common))
    indptr = np.arange(n + 1) * NON_ZEROS
    data = np.ones(n * NON_ZEROS, dtype=np.float32)
    X = sparse.csr_matrix((data, indices.ravel(), indptr), shape=(n, HASHED))
    return X, clicks.astype(int)


def sizes(n: int) -> Iterator[tuple[int, int]]:
    """(block number, rows) of a stream of n rows."""
    for i, start in enumerate(range(0, n, BLOCK)):
        yield i, min(BLOCK, n - start)


def one_process(n: int) -> dict[str, float]:
    """n rows streamed through 1024 features into ridge."""
    import bochner

    model = bochner.KernelRegressor(features(), alpha=1.0)
    stream = bochner.blocks(lambda: (dense_block(i, m) for i, m in sizes(n)))
    start = time.perf_counter()
    model.fit(stream)
    return {"seconds": time.perf_counter() - start, "r2": tested(model)}


def with_dask(n: int, n_workers: int) -> dict[str, float]:
    """The same on a Dask cluster of single-threaded workers, rows made there."""
    import dask.array as da
    from distributed import Client, LocalCluster

    import bochner

    cluster = LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=None
    )
    with cluster, Client(cluster) as client:
        rows = tuple(m for _, m in sizes(n))
        places = da.arange(len(rows), chunks=1)
        X = places[:, None].map_blocks(
            lambda i, rows=rows: dense_block(int(i[0, 0]), rows[int(i[0, 0])])[0],
            dtype=np.float32,
            chunks=(rows, (COLUMNS,)),
            meta=np.empty((0, 0), dtype=np.float32),
        )
        y = places.map_blocks(
            lambda i, rows=rows: dense_block(int(i[0]), rows[int(i[0])])[1],
            dtype=np.float32,
            chunks=(rows,),
            meta=np.empty(0, dtype=np.float32),
        )
        model = bochner.KernelRegressor(features(), alpha=1.0)
        model.fit(X[: rows[0]], y[: rows[0]])  # workers are warm
        memory = Watch(client)
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "r2": tested(model), "worker_bytes": memory.peak()}


class Watch:
    """The most memory that a worker has taken, asked for twice a second."""

    def __init__(self, client: Any) -> None:
        self._client, self._peak, self._done = client, 0, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._done.wait(0.5):
            workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
            memory = [worker["metrics"]["memory"] for worker in workers]
            self._peak = max([self._peak, *memory])

    def peak(self) -> int:
        """Bytes."""
        self._done.set()
        self._thread.join()
        return self._peak


def clicks(n: int) -> dict[str, float]:
    """n rows of clicks: sparse projection to 250, GIGA, the logistic loss."""
    import bochner

    model = click_model()
    stream = bochner.blocks(lambda: (click_block(i, m) for i, m in sizes(n)))
    start = time.perf_counter()
    model.fit(stream)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, **judged(model, *click_block(10**6))}


def real_clicks() -> dict[str, float]:
    """The same model on 7200 real rows, the mean of five draws."""
    import bochner

    data = bochner.datasets.load("criteo_8k_hashed20")
    X, X_test = (rows.astype(np.float32) for rows in (data.X_train, data.X_test))
    start = time.perf_counter()
    models = [click_model(seed).fit(X, data.y_train) for seed in range(REAL_DRAWS)]
    seconds = (time.perf_counter() - start) / REAL_DRAWS
    found = [judged(model, X_test, data.y_test) for model in models]
    means = {name: float(np.mean([f[name] for f in found])) for name in found[0]}
    return {"seconds": seconds, **means}


def judged(model: Any, X: Any, y: np.ndarray) -> dict[str, float]:
    """Accuracy on rows that were not learned from, beside always saying no."""
    from sklearn.metrics import roc_auc_score

    return {
        "accuracy": float(model.score(X, y)),
        "base": float(max(np.mean(y), 1 - np.mean(y))),
        "auc": float(roc_auc_score(y, model.decision_function(X))),
    }


def costs() -> dict[str, float]:
    """Microseconds a row of every stage, on as many threads as the process may use."""
    from bochner.solvers import newton as passes
    from bochner.solvers.losses import Logistic
    from bochner.solvers.moments import Moments
    from bochner.solvers.rows import Chunk

    found = {}
    X, y = dense_block(0)
    C, clicked = click_block(0)
    kinds = (
        ("dense", X, y > 0, features().fit(X)),
        ("clicks", C, clicked, click_model().features.fit(C)),
    )
    for name, rows, labels, map_ in kinds:
        if name == "clicks":
            before = map_[:-1]
            found["clicks, projection"] = _microseconds(before.transform, rows)
            rows, map_ = before.transform(rows), map_[-1]
        found[f"{name}, features"] = _microseconds(map_.transform, rows)
        F, T = map_.transform(rows), np.where(labels, 1.0, -1.0)[:, None]
        moments, chunk = Moments.zero(F.shape[1], 1), Chunk(F, labels.astype(int), None)
        found[f"{name}, sums"] = _microseconds(moments.add, F, T, None)
        B = np.zeros((F.shape[1] + 1, 1))
        derivative = passes.chunk_derivative
        found[f"{name}, a pass"] = _microseconds(derivative, Logistic(), chunk, B)
    return found


def _microseconds(run: Any, *arguments: Any) -> float:
    """A row's, the best of three runs over a block."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        run(*arguments)
        seconds.append(time.perf_counter() - start)
    return 1e6 * min(seconds) / BLOCK


def features() -> Any:
    """1024 random features of a Gaussian kernel, drawn and not learned."""
    from bochner import methods

    return methods.rff(FEATURES, gamma=0.02, random_state=0)


def click_model(seed: int = 0) -> Any:
    """A logistic model of 500 features, kept of 5000, of 250 sparse projections.

    Columns that hardly ever differ are left out first: what happens once is noise to a
    projection. γ was chosen by cross-validation on the real training rows.
    """
    from sklearn.feature_selection import VarianceThreshold
    from sklearn.pipeline import make_pipeline

    from bochner import KernelClassifier, RandomProjection, methods

    map_ = make_pipeline(
        VarianceThreshold(0.01),
        RandomProjection(250, projection="sparse"),
        methods.giga(500, n_candidates=5000, gamma=0.003),
    )
    return KernelClassifier(map_, loss="log", random_state=seed)


def tested(model: Any) -> float:
    """R² on rows that were not learned from."""
    return float(model.score(*dense_block(10**6)))


def main() -> None:
    kind, *numbers = sys.argv[1:]
    run: Any = {
        "one": one_process,
        "dask": with_dask,
        "clicks": clicks,
        "costs": costs,
        "real_clicks": real_clicks,
    }
    found = run[kind](*map(int, numbers))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({**found, "bytes": peak, "threads": os.cpu_count()}))


if __name__ == "__main__":
    main()
