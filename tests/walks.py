"""How far a call walks through the code: files entered, and ways back up.

    python tests/walks.py

Calls of bochner's own functions are traced in the thread that makes them. A way back up
is a call from a file to a file of a later room (`ROOMS`), each pair of files once; a
function that was handed down as an argument counts for the file it stands in.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import bochner

ROOT = str(Path(bochner.__file__).parent) + os.sep
ROOMS = [
    "_core",
    "kernels",
    "projections",
    "nonlinearities",
    "compression",
    "features",
    "methods",
    "solvers",
    "data",
    "engines",
    "learners",
    "export",
    "compare",
    "app",
]


class Walk:
    """The files that a call enters, and the ways back up that it takes."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.back: set[tuple[str, str]] = set()

    def of(self, function: Callable[[], Any]) -> Walk:
        """Trace a call."""
        sys.setprofile(self._step)
        try:
            function()
        finally:
            sys.setprofile(None)
        return self

    def _step(self, frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(ROOT):
            return
        if frame.f_code.co_name in ("<module>", "<lambda>") or _is_class_body(frame):
            return
        callee = name.removeprefix(ROOT)
        self.files.add(callee)
        caller = _caller(frame)
        if caller is not None and _rank(caller) < _rank(callee):
            self.back.add((caller, callee))


def _is_class_body(frame: FrameType) -> bool:
    return "__module__" in frame.f_locals and "__qualname__" in frame.f_locals


def _caller(frame: FrameType) -> str | None:
    """The nearest file of bochner's that the call came from."""
    above = frame.f_back
    while above is not None:
        name = above.f_code.co_filename
        if name.startswith(ROOT):
            return name.removeprefix(ROOT)
        above = above.f_back
    return None


def _rank(file: str) -> int:
    room = file.split(os.sep)[0]
    return ROOMS.index(room) if room in ROOMS else len(ROOMS)


def walks() -> dict[str, Walk]:
    """The three walks, on small data, with everything imported and compiled before."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    features = bochner.RandomFeatures(64, random_state=0)
    learner = bochner.KernelClassifier(random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        table = np.column_stack([X, y])
        names = ",".join([*"abcde", "label"])
        np.savetxt(path, table, delimiter=",", header=names, comments="")
        calls = {
            "RandomFeatures.fit_transform": lambda: features.fit_transform(X),
            "KernelClassifier().fit": lambda: learner.fit(X, y),
            "bochner fit": lambda: _command(
                "fit", str(path), "--target", "label", "--out", f"{folder}/model"
            ),
        }
        for call in calls.values():
            call()
        return {name: Walk().of(call) for name, call in calls.items()}


def _command(*words: str) -> None:
    from typer.testing import CliRunner

    from bochner.app.main import app

    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output


if __name__ == "__main__":
    for name, walk in walks().items():
        print(f"{name}: {len(walk.files)} files, {len(walk.back)} ways back up")
        print("   ", ", ".join(sorted(walk.files)))
        for caller, callee in sorted(walk.back):
            print(f"    {caller} -> {callee}")
