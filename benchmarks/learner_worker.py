"""One learner on one data set, in a process of its own: prints its figures as JSON.

`python -m benchmarks.learner_worker classify mnist KernelClassifier`
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_approximation import Nystroem as TheirNystroem
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from bochner import KernelClassifier, KernelRegressor, Nystroem, datasets, methods

LATENCIES = 200
SUBSAMPLE = {"GP on 3000 rows": 3000, "SVC on 20,000 rows": 20_000}
SEED = 0


def classifiers(gamma: Any) -> dict[str, Callable[[], Any]]:
    """Ours and the peers, at one bandwidth where they take one."""
    kernel = {"gamma": gamma, "random_state": SEED}
    margin = Nystroem(1000, landmarks="margin", **kernel)
    theirs = {"n_components": 1000, **kernel}
    return {
        "KernelClassifier()": lambda: KernelClassifier(random_state=SEED),
        "KernelClassifier(sorf 4096)": lambda: KernelClassifier(
            methods.sorf(4096), random_state=SEED
        ),
        "KernelClassifier(Nystroem 1000)": lambda: KernelClassifier(
            margin, random_state=SEED
        ),
        "KernelClassifier(rff 4096, squared)": lambda: KernelClassifier(
            methods.rff(4096, **kernel), loss="squared", random_state=SEED
        ),
        "SVC": lambda: SVC(C=10, gamma=gamma),
        "SVC on 20,000 rows": lambda: SVC(C=10, gamma=gamma),
        "Nystroem 1000 + LinearSVC": lambda: make_pipeline(
            TheirNystroem(**theirs), LinearSVC(C=10)
        ),
        "RBFSampler 1000 + LinearSVC": lambda: make_pipeline(
            RBFSampler(**theirs), LinearSVC(C=10)
        ),
        "RBFSampler 4096 + RidgeClassifier": lambda: make_pipeline(
            RBFSampler(n_components=4096, **kernel), RidgeClassifier(alpha=0.1)
        ),
        "RBFSampler 4096 + SGDClassifier": lambda: make_pipeline(
            RBFSampler(n_components=4096, **kernel), SGDClassifier(random_state=SEED)
        ),
        "HistGradientBoosting": lambda: HistGradientBoostingClassifier(
            random_state=SEED
        ),
    }


def regressors(gamma: Any) -> dict[str, Callable[[], Any]]:
    """Ours and the peers."""
    process = ConstantKernel() * RBF() + WhiteKernel()
    return {
        "KernelRegressor()": lambda: KernelRegressor(random_state=SEED),
        "KernelRegressor(4096)": lambda: KernelRegressor(4096, random_state=SEED),
        "KernelRegressor(sorf 4096)": lambda: KernelRegressor(
            methods.sorf(4096, gamma=gamma), random_state=SEED
        ),
        "GP on 3000 rows": lambda: GaussianProcessRegressor(
            process, normalize_y=True, random_state=SEED
        ),
        "RBFSampler 4096 + Ridge": lambda: make_pipeline(
            RBFSampler(n_components=4096, gamma=gamma, random_state=SEED),
            Ridge(alpha=0.1),
        ),
        "HistGradientBoosting": lambda: HistGradientBoostingRegressor(
            random_state=SEED
        ),
    }


def main() -> None:
    task, name, learner, gamma, scaled = sys.argv[1:]
    data = datasets.load(name)
    X, X_test = (A.astype(np.float32) for A in (data.X_train, data.X_test))
    if scaled == "scaled":
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    y = data.y_train
    before = peak()
    made = {"classify": classifiers, "regress": regressors}[task]
    model = made(float(gamma) if gamma[0].isdigit() else gamma)[learner]()
    if learner in SUBSAMPLE:
        rows = np.random.default_rng(SEED).permutation(len(X))[: SUBSAMPLE[learner]]
        X, y = X[rows], y[rows]
    start = time.perf_counter()
    model.fit(X, y)
    fit = time.perf_counter() - start
    model.predict(X_test[:1])
    start = time.perf_counter()
    score = model.score(X_test, data.y_test)
    predict = time.perf_counter() - start
    times = []
    for i in range(LATENCIES):
        start = time.perf_counter()
        model.predict(X_test[i : i + 1])
        times.append(time.perf_counter() - start)
    found = {
        "score": score,
        "fit": fit,
        "predict": predict,
        "latency": float(np.median(times)),
        "memory": peak(),
        "before": before,
        **intervals(model, X_test, data.y_test),
    }
    print(json.dumps(found))


def intervals(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Share of new targets inside 90 % intervals, where the model gives any."""
    if not isinstance(model, KernelRegressor | GaussianProcessRegressor):
        return {}
    mean, std = model.predict(X, return_std=True)
    return {"cover": float((abs(y - mean) < 1.645 * std).mean())}


def peak() -> float:
    """Most memory held so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


if __name__ == "__main__":
    main()
