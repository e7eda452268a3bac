"""One contender on one part of a data set, in a process of its own.

`python -m benchmarks.field_worker magic04 ours` prints one line of JSON; a rival runs
in its environment, `benchmarks/.envs/boosting/bin/python -m benchmarks.field_worker …`.
`--part fold3` takes a fold, `--rows 1000` fewer training rows, `--cold` the first fit
of the process. With `--serve` the process answers lines of JSON, {"rows": …} or
{"cold": true}, until it is stopped.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

from .field_contenders import MODELS, text_columns
from .field_data import Part, load, seed_of
from .peer_worker import Answer, scored, serve, timed

MEMORY = 14 << 30
"""Bytes that a contender may take; beyond, it fails alone."""
WARM_UP = 600
"""Rows of the fit that loads compiled code before the first timed fit."""
COLD_ROWS = 1000
"""Training rows of the first fit of a process."""


def warm_up(part: Part) -> Part:
    """Small random data of the same kind: task, type of rows, some text columns."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(WARM_UP, 6)).astype(np.float32)
    y = numbers[:, 0] + numbers[:, 1] ** 2
    if part.classify:
        n_classes = min(3, len(np.unique(part.y)))
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    X: Any = numbers
    if hasattr(part.X, "columns"):
        import pandas

        X = pandas.DataFrame(numbers, columns=[f"n{i}" for i in range(6)])
        if text_columns(part.X):
            X["text"] = rng.choice(["a", "b", "c"], size=WARM_UP)
    return Part(part.name, X, y, X[:50], y[:50])


def prepare(name: str, contender: str, which: str) -> Answer:
    """The rows of a part, and what answers requests about a contender on them."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    part, seed = load(name, which), seed_of(which)
    before, is_warm = peak(), False

    def run(rows: Part) -> dict[str, Any]:
        fit, predict, predicted = timed(
            MODELS[contender](rows, seed), rows.X, rows.y, rows.X_test
        )
        return {
            "fit": fit,
            "predict": predict,
            **scored(rows.classify, rows.y_test, predicted),
        }

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        nonlocal is_warm
        if request.get("cold"):
            rows = part.limited(COLD_ROWS)
            start = time.perf_counter()
            MODELS[contender](rows, seed)  # imports the library
            imports = time.perf_counter() - start
            cold, warm = run(rows), run(rows)
            return {
                "import": imports,
                "cold": cold["fit"] + cold["predict"],
                "warm": warm["fit"] + warm["predict"],
            }
        if not is_warm:
            run(warm_up(part))
            is_warm = True
        rows = part.limited(request.get("rows"))
        shape = {"rows": len(rows.y), "columns": rows.X.shape[1]}
        return {**run(rows), **shape, "memory": peak(), "memory_before": before}

    return answer


def peak() -> float:
    """Most memory held by this process so far, in GiB.

    Not `ru_maxrss`, which a process inherits from the one that started it.
    """
    status = Path("/proc/self/status").read_text().splitlines()
    held = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    return int(held) / (1 << 20)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.field_worker")
    parser.add_argument("set")
    parser.add_argument("contender", choices=MODELS)
    parser.add_argument("--part", default="split")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--serve", action="store_true")
    given = parser.parse_args()
    if given.serve:
        serve(lambda: prepare(given.set, given.contender, given.part))
        return
    answer = prepare(given.set, given.contender, given.part)
    request = {"rows": given.rows, "cold": given.cold}
    runs = [answer(request) for _ in range(given.repeats)]
    best = min(runs, key=lambda run: run.get("fit", 0.0) + run.get("predict", 0.0))
    print(json.dumps({"set": given.set, "contender": given.contender, **best}))


if __name__ == "__main__":
    main()
