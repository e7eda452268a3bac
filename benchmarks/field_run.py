"""Measuring the contenders of `automatic` and `field`, and keeping what was measured.

A cell is one contender on one part of one data set. Every cell is written to the
results file when it is done, so that an interrupted run resumes, and single cells are
measured again with `--only SET`, `--contenders ours,HGB` and `--again ours`. Contenders
of a set run in turn, each in a process of its own. A contender that is stopped at the
time limit, which all share, starts again with a quarter of the training rows.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import field_contenders as contenders
from . import field_data
from .peers import Peer, worker
from .timing import PAUSE

LIMIT = 300.0
"""Seconds for one fit with its prediction: one limit for all contenders and data."""
REPEATS = 3
AGAIN = 10.0
"""Seconds past which a cell is measured once."""
SHRINK = 4
"""A stopped contender starts again with the rows divided by this number."""
LEAST_ROWS = 1000

THREADS = "OMP_NUM_THREADS"

Cell = dict[str, Any]


@dataclass
class Options:
    """What to measure, from the command line."""

    results: Path
    only: list[str]
    contenders: list[str]
    again: list[str]
    limit: float = LIMIT
    repeats: int = REPEATS
    table: bool = False
    cold: bool = False
    load: bool = False


def options(command: str, names: Iterable[str], arguments: list[str]) -> Options:
    """The command line of `automatic` and `field`, with their contenders."""
    known = list(names)
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {command}")
    parser.add_argument("--results", type=Path, default=Path("field.json"))
    parser.add_argument("--only", default="", help="data sets, with commas")
    parser.add_argument("--contenders", default=",".join(known))
    parser.add_argument("--again", default="", help="contenders to measure again")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--cold", action="store_true", help="first fit of a process")
    parser.add_argument("--load", action="store_true", help="with busy cores")
    given = vars(parser.parse_args(arguments))
    for key in ("only", "contenders", "again"):
        given[key] = [name for name in given[key].split(",") if name]
    for name in (*given["contenders"], *given["again"]):
        if name not in known:
            parser.error(f"no contender {name!r}; there are {', '.join(known)}")
    for name in set(given["only"]) - set(field_data.available()):
        parser.error(f"no data set {name!r} in {field_data.folder()}")
    return Options(**given)


class Store:
    """Cells by set, contender and part, in a JSON file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells: dict[str, Cell] = {}
        if path.exists():
            self.cells = json.loads(path.read_text())["cells"]

    def get(self, name: str, contender: str, part: str) -> Cell | None:
        return self.cells.get(f"{name}/{contender}/{part}")

    def put(self, name: str, contender: str, part: str, cell: Cell) -> None:
        self.cells[f"{name}/{contender}/{part}"] = cell
        partial = self.path.with_suffix(".partial")
        text = json.dumps({"cells": self.cells}, indent=0, sort_keys=True)
        partial.write_text(text + "\n")
        partial.replace(self.path)

    def forget(self, name: str, contender: str, part: str) -> None:
        self.cells.pop(f"{name}/{contender}/{part}", None)


class Contender:
    """The process of a contender on a part, a new one after it was stopped."""

    def __init__(self, name: str, contender: str, part: str, limit: float) -> None:
        self.key = name, contender, part
        self.limit = limit
        self.rows = contenders.FIRST_ROWS.get(contender)
        self.cell: Cell = {"session": SESSION, "load": round(os.getloadavg()[0], 1)}
        if THREADS in os.environ:  # times are not those of a default run
            self.cell["threads"] = os.environ[THREADS]
        self._stack: ExitStack | None = None
        self._peer: Peer | None = None

    def __enter__(self) -> Contender:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self._stack:
            self._stack.close()
            self._stack = None

    def ask(self, request: dict[str, Any]) -> Any:
        if self._stack is None:
            name, contender, part = self.key
            library = contenders.LIBRARIES[contender]
            arguments = [name, contender, "--part", part, "--serve"]
            self._stack = ExitStack()
            waiting = worker(library, "field_worker", arguments)
            self._peer = self._stack.enter_context(waiting)
        if self._peer is None:
            raise ChildProcessError("there is no environment")
        return self._peer.ask(request, self.limit)

    def measure(self) -> bool:
        """One more run, with fewer rows after a stop; whether another is worth it."""
        while True:
            try:
                run = self.ask({"rows": self.rows})
            except TimeoutError:
                self.stop()
                self.cell.setdefault("stopped", self.limit)
                self.rows = self._fewer()
                if self.rows < LEAST_ROWS:
                    self.cell["failed"] = "stopped at the time limit"
                    return False
            except (RuntimeError, ChildProcessError) as error:
                self.stop()
                self.cell["failed"] = str(error)[:200]
                return False
            else:
                self._keep(run)
                return run["fit"] + run["predict"] < AGAIN

    def _fewer(self) -> int:
        n = len(field_data.load(self.key[0], self.key[2]).y)
        return min(n, self.rows or n) // SHRINK

    def _keep(self, run: Cell) -> None:
        """The fastest run; memory is that of the first."""
        first = self.cell.get("memory", run["memory"])
        fastest = self.cell.get("fit", 1e9) + self.cell.get("predict", 0.0)
        if run["fit"] + run["predict"] < fastest:
            self.cell.update(run)
        self.cell["memory"] = first
        self.cell["runs"] = self.cell.get("runs", 0) + 1


SESSION = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())


def measure(
    store: Store, given: Options, parts: dict[str, list[str]], repeats: int
) -> None:
    """Measure all missing cells; `parts` are those of every data set."""
    for name, of_set in parts.items():
        for part in of_set:
            for contender in given.again:
                store.forget(name, contender, part)
            missing = [
                contender
                for contender in given.contenders
                if _is_missing(store.get(name, contender, part), given.limit)
            ]
            _measure_part(store, given, name, part, missing, repeats)


def _is_missing(cell: Cell | None, limit: float) -> bool:
    """Whether a cell was never measured, or was stopped at a lower limit."""
    return cell is None or cell.get("stopped", limit) < limit


def _measure_part(
    store: Store, given: Options, name: str, part: str, missing: list[str], repeats: int
) -> None:
    with ExitStack() as stack:
        running = [
            stack.enter_context(Contender(name, contender, part, given.limit))
            for contender in missing
        ]
        remaining = list(running)
        for turn in range(repeats):
            for contender in list(remaining):
                time.sleep(PAUSE)
                if not contender.measure() or turn + 1 == repeats:
                    remaining.remove(contender)
                    contender.stop()
                    store.put(name, contender.key[1], part, contender.cell)
                    _report(contender)


def _report(contender: Contender) -> None:
    cell = contender.cell
    words = cell.get("failed") or (
        f"{cell['score']:.4f} in {cell['fit'] + cell['predict']:.2f} s"
        + (" (fewer rows)" if "stopped" in cell else "")
    )
    print(f"{' '.join(contender.key)}: {words}", file=sys.stderr, flush=True)


def mark_capped(row: dict[str, Cell | None]) -> None:
    """Mark contenders of a set that were fitted on fewer rows than another."""
    known = [cell for cell in row.values() if cell and "rows" in cell]
    full = max((cell["rows"] for cell in known), default=0)
    for cell in known:
        if cell["rows"] < full:
            cell["capped"] = True


def seconds(cell: Cell | None) -> float | None:
    """Fit and prediction on all rows; the limit for a contender stopped there."""
    if not cell or ("failed" in cell and "stopped" not in cell):
        return None
    if "stopped" in cell:
        return float(cell["stopped"])
    if "capped" in cell:
        return None
    return float(cell["fit"] + cell["predict"])
