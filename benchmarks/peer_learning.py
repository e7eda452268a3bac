"""Accuracy against time of fit and predict, end to end, beside the peers.

One process per library holds the data set and runs its learners in turn, so that all
see the very same rows; ours are among them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from bochner import datasets

from .peer_learners import Setting
from .peers import OURS, TITLES, Peer, worker
from .timing import print_table

LIMIT = 150.0
"""Seconds after which a learner is stopped: one limit for all libraries and data."""

RULE = (
    "Scores within one standard error on the test rows are equal; times are of fit and "
    f"predict together, and every learner of every library has {LIMIT:.0f} s."
)
ROUNDS = 3
AGAIN = 10.0
"""Seconds past which a learner has one turn only."""


@dataclass
class Set:
    """A data set: what learners share, and whether columns are standardised."""

    setting: Setting
    scaled: bool = False


QUICK_ROWS = (5000, 2000)

SETS = {
    "mnist": Set(Setting("classify", 0.007, 0.1, exact_gamma=0.02)),
    "covtype": Set(Setting("classify", 0.04, 0.1, 0.2), scaled=True),
    "a9a": Set(Setting("classify", 0.01, 0.1, 0.01)),
    "elevators": Set(Setting("regress", 0.02, 0.03, 0.02), scaled=True),
}


def run(name: str, quick: bool = False) -> dict[str, Any] | None:
    """Points of all learners on a data set, and who is ahead; prints a table."""
    if name not in datasets.available():
        print(f"{name} is not in BOCHNER_DATA: left out", file=sys.stderr)
        return None
    chosen = SETS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.npz"
        rows = _write(path, name, chosen, quick)
        with Workers(path, chosen.setting) as workers:
            points = _points(workers, name, quick)
    found = {
        "data": name,
        "task": chosen.setting.task,
        "rows": rows,
        "points": points,
        "behind": behind(points),
    }
    _print(found)
    return found


def front(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points that no other beats in both score and time, fastest first."""
    kept: list[dict[str, Any]] = []
    for point in sorted(finished(points), key=lambda p: (p["seconds"], -p["score"])):
        if not kept or point["score"] > kept[-1]["score"]:
            kept.append(point)
    return kept


def finished(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that were neither stopped nor failed."""
    return [point for point in points if "seconds" in point]


def equals(points: list[dict[str, Any]], of: dict[str, Any]) -> list[dict[str, Any]]:
    """Points whose score is at least that of another, within its standard error."""
    least = of["score"] - of["error"]
    return [point for point in finished(points) if point["score"] >= least]


def fastest(points: list[dict[str, Any]]) -> dict[str, Any] | None:
    return min(points, key=lambda point: point["seconds"], default=None)


def of_library(points: list[dict[str, Any]], library: str) -> list[dict[str, Any]]:
    return [point for point in points if point["library"] == library]


def matches(
    points: list[dict[str, Any]],
) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Every point of the peers' common front, and our fastest of equal score.

    The common front is that of all peers together: a point that another peer beats is
    no measure. None where no learner of ours is as accurate.
    """
    peers = [point for point in points if point["library"] != OURS]
    ours = of_library(points, OURS)
    return [(theirs, fastest(equals(ours, theirs))) for theirs in front(peers)]


def behind(points: list[dict[str, Any]]) -> list[str]:
    """The peers' points that no point of ours matches: see `RULE`.

    Those that are not on the peers' front are matched where the front is.
    """
    return [
        f"{TITLES[theirs['library']]} {theirs['learner']}"
        for theirs, mine in matches(points)
        if mine is None or mine["seconds"] > theirs["seconds"]
    ]


class Workers:
    """A worker of each library on one data set, a new one after one was stopped."""

    def __init__(self, path: Path, setting: Setting) -> None:
        self._arguments = [path, json.dumps(asdict(setting))]
        self._stacks: dict[str, ExitStack] = {}
        self._answering: dict[str, Peer | None] = {}

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        for library in list(self._stacks):
            self._end(library)

    def ask(self, library: str, request: dict[str, Any], limit: float) -> Any:
        """The answer, None without the library's environment; see `Peer.ask`."""
        if library not in self._stacks:
            arguments = ["learn", library, *self._arguments]
            stack, waiting = ExitStack(), worker(library, "peer_worker", arguments)
            self._answering[library] = stack.enter_context(waiting)
            self._stacks[library] = stack
        answering = self._answering[library]
        try:
            return answering and answering.ask(request, limit)
        except (TimeoutError, ChildProcessError):
            self._end(library)
            raise

    def _end(self, library: str) -> None:
        self._stacks.pop(library).close()


def _write(path: Path, name: str, chosen: Set, quick: bool) -> list[int]:
    """The rows that all learners see, as float32 and with classes 0, 1, 2, …"""
    data = datasets.load(name)
    X, X_test = data.X_train, data.X_test
    if chosen.scaled:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    if chosen.setting.classify:
        y, y_test = (
            np.searchsorted(np.unique(data.y_train), labels)
            for labels in (data.y_train, data.y_test)
        )
    else:
        centre, width = data.y_train.mean(), data.y_train.std()
        y, y_test = ((data[key] - centre) / width for key in ("y_train", "y_test"))
    n, n_test = QUICK_ROWS if quick else (len(X), len(X_test))
    order = np.random.default_rng(0).permutation(len(X))[:n]
    np.savez(
        path,
        X_train=X[order].astype(np.float32),
        y_train=y[order],
        X_test=X_test[:n_test].astype(np.float32),
        y_test=y_test[:n_test],
    )
    return [len(order), min(n_test, len(X_test))]


def _points(workers: Workers, name: str, quick: bool) -> list[dict[str, Any]]:
    """All learners in turn, round by round; the slow ones once."""
    points: dict[tuple[str, str], dict[str, Any]] = {}
    names = {
        library: workers.ask(library, {}, LIMIT) or [] for library in (OURS, *TITLES)
    }
    turns = [
        (library, learner)
        for turn in zip_longest(*names.values())
        for library, learner in zip(names, turn, strict=True)
        if learner is not None
    ]
    for seed in range(1 if quick else ROUNDS):
        for library, learner in turns:
            point = points.setdefault(
                (library, learner), {"library": library, "learner": learner, "runs": []}
            )
            if seed and point.get("seconds", AGAIN) >= AGAIN:
                continue
            request = {"learner": learner, "seed": seed}
            try:
                point["runs"].append(workers.ask(library, request, LIMIT))
            except TimeoutError:
                point["stopped"] = LIMIT
            except (RuntimeError, ChildProcessError) as error:
                point["failed"] = str(error)
            _summarise(point)
            print(f"{name}: {learner} {_told(point)}", file=sys.stderr, flush=True)
    return list(points.values())


def _summarise(point: dict[str, Any]) -> None:
    """The best time and the mean score of the runs so far."""
    runs = point["runs"]
    if runs:
        point["seconds"] = min(run["fit"] + run["predict"] for run in runs)
        point["score"] = float(np.mean([run["score"] for run in runs]))
        point["error"] = float(np.mean([run["error"] for run in runs]))


def _told(point: dict[str, Any]) -> str:
    if "seconds" in point:
        return f"{point['score']:.4f} in {point['seconds']:.2f} s"
    if "stopped" in point:
        return f"stopped after {point['stopped']:.0f} s"
    return point["failed"]


def _print(found: dict[str, Any]) -> None:
    unmatched = set(found["behind"])
    rows = []
    for point in sorted(found["points"], key=lambda p: p.get("seconds", np.inf)):
        title = TITLES.get(point["library"], OURS)
        name = f"{title} {point['learner']}"
        if "seconds" not in point:
            rows.append([name, _told(point)[:30], "", "", ""])
            continue
        last = point["runs"][-1]
        rows.append(
            [
                name,
                scored(found["task"], point),
                f"{last['fit']:.2f}",
                f"{last['predict']:.2f}",
                f"{point['seconds']:.2f}{' *' if name in unmatched else ''}",
            ]
        )
    score = "accuracy" if found["task"] == "classify" else "R²"
    n, n_test = found["rows"]
    print_table(
        f"{found['data']}, {n:,} rows, {n_test:,} to test (*: none of ours matches it)",
        ["learner", score, "fit, s", "predict, s", "both"],
        rows,
    )


def scored(task: str, point: dict[str, Any]) -> str:
    """A score as it is written: accuracy in %, R² plain."""
    score = point["score"]
    return f"{100 * score:.2f} %" if task == "classify" else f"{score:.4f}"
