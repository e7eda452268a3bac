"""Runs inside a peer's own environment: prepares once, then answers when asked.

Usage: python -m benchmarks.peer_worker JOB LIBRARY ARGUMENTS…; then a line of JSON on
standard input for every turn, answered by a line of JSON. The jobs:

features LIBRARY MAP D M N DTYPE: seconds that features of normal rows take
errors LIBRARY FILE: kernel error of {"map", "M", "gamma", "seeds"} on rows of the file
learn LIBRARY FILE SETTING: score and seconds of {"learner", "seed"} on its data set;
the names of learners without one
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .peer_learners import LEARNERS, Setting
from .peer_maps import MAPS, scaled

Answer = Callable[[dict[str, Any]], Any]

MEMORY = 18 * 2**30
"""Bytes that a learner may take; beyond, it fails alone, and the machine goes on."""
WARM_UP = 300
"""Rows that a learner sees before its first turn: all code is loaded, or compiled."""


def features(library: str, name: str, d: str, m: str, n: str, dtype: str) -> Answer:
    X = np.random.default_rng(0).normal(size=(int(n), int(d))).astype(dtype)
    transform = MAPS[library][name](int(m), 0.5 / int(d), 0, X)
    transform(X)

    def answer(request: dict[str, Any]) -> float:
        start = time.perf_counter()
        transform(X)
        return time.perf_counter() - start

    return answer


def errors(library: str, path: str) -> Answer:
    data = np.load(path)
    rows, points = data["X_train"], data["X_test"]
    differences = points.astype(np.float64)
    squares = (differences**2).sum(axis=1)
    squares = squares[:, None] + squares - 2 * differences @ differences.T

    def answer(request: dict[str, Any]) -> float:
        exact, found = np.exp(-request["gamma"] * squares), []
        for seed in range(request["seeds"]):
            make = MAPS[library][request["map"]]
            transform = make(request["M"], request["gamma"], seed, rows)
            Z = scaled(library, np.asarray(transform(points), np.float64))
            assert Z.shape[1] == request["M"], (library, request, Z.shape)
            found.append(np.linalg.norm(Z @ Z.T - exact) / np.linalg.norm(exact))
        return float(np.sqrt(np.mean(np.square(found))))

    return answer


def learn(library: str, path: str, setting: str) -> Answer:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    shared = Setting(**json.loads(setting))
    with np.load(path) as data:
        X, y, X_test, y_test = (
            data[key] for key in ("X_train", "y_train", "X_test", "y_test")
        )
    learners, warm = LEARNERS[library](shared), set()

    def answer(request: dict[str, Any]) -> Any:
        if "learner" not in request:
            return list(learners)
        make = learners[request["learner"]]
        if request["learner"] not in warm:
            timed(make(0), X[:WARM_UP], y[:WARM_UP], X_test[:WARM_UP])
            warm.add(request["learner"])
        fit, predict, found = timed(make(request["seed"]), X, y, X_test)
        return {
            "fit": fit,
            "predict": predict,
            **scored(shared.classify, y_test, found),
        }

    return answer


def timed(model: Any, X: Any, y: Any, X_test: Any) -> tuple[float, float, Any]:
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    found = model.predict(X_test)
    return fitted - start, time.perf_counter() - fitted, found


def scored(classify: bool, y: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """Accuracy or R² and its standard error, a mean over test rows either way."""
    if classify:
        each = (np.asarray(found) == y).astype(float)
    else:
        each = 1 - (y - np.asarray(found).ravel()) ** 2 / y.var()
    return {
        "score": float(each.mean()),
        "error": float(each.std() / np.sqrt(len(each))),
    }


JOBS: dict[str, Callable[..., Answer]] = {
    "features": features,
    "errors": errors,
    "learn": learn,
}


def serve(prepare: Callable[[], Answer]) -> None:
    """Prepare, then answer every line of JSON on standard input by one of JSON."""
    # libraries print what they like; answers have a stream of their own
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer = prepare()
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        try:
            found = answer(json.loads(line))
        except Exception as error:
            found = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(found), file=answers, flush=True)


def main() -> None:
    job, *arguments = sys.argv[1:]
    serve(lambda: JOBS[job](*arguments))


if __name__ == "__main__":
    main()
