"""Peers in environments of their own, timed in turn with ours.

`scikit-learn-extra` wants NumPy 1 and `xGPR` brings its own compiled code, so each gets
a virtual environment under `benchmarks/.envs` (made at the first run, ignored by git;
the variable BOCHNER_ENVIRONMENTS names another folder) and a worker process that waits
for its turn. Ours works in this environment.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import Any

HERE = Path(__file__).parent
PACKAGES = {
    "scikit-learn": ["scikit-learn==1.9.1"],
    "sklearn-extra": [
        "numpy<2",
        "scipy<1.14",
        "scikit-learn<1.6",
        "scikit-learn-extra==0.3.0",
    ],
    "xgpr": ["numpy", "scipy", "optuna", "scikit-learn", "xgpr==0.4.8.5"],
    "rfflearn": ["rfflearn==2024.10.28"],
    "torch": ["numpy", "torch==2.13.0"],
    "lightgbm": ["lightgbm==4.6.0", "scikit-learn==1.9.1"],
    "boosting": [
        "lightgbm==4.6.0",
        "xgboost==3.4.1",
        "catboost==1.2.10",
        "scikit-learn==1.9.1",
        "pandas==3.1.1",
        "pyarrow==26.0.1",
    ],
    "xrfm": [
        "torch==2.13.0",
        "xrfm==0.4.5",
        "scikit-learn==1.9.1",
        "pandas==3.1.1",
        "pyarrow==26.0.1",
    ],
}
OLDER = "python3.11", "python3.12"
PYTHONS = {"sklearn-extra": OLDER, "xgpr": OLDER, "xrfm": OLDER}
"""Pythons that a library's wheels are for, the first that is installed; others take the
Python that runs this. (xGPR's wheel for 3.13 holds machine code for 3.12.)"""

TITLES = {
    "scikit-learn": "scikit-learn",
    "sklearn-extra": "scikit-learn-extra",
    "xgpr": "xGPR",
    "rfflearn": "rfflearn",
}
OURS = "bochner"

ENVIRONMENTS = "BOCHNER_ENVIRONMENTS"
"""The variable that names a folder of environments, for several checkouts."""


class Peer:
    """A worker that has prepared something; calling it takes one timed turn."""

    def __init__(self, process: subprocess.Popen) -> None:
        self._process = process

    def __call__(self) -> float:
        """Seconds of one run, by the worker's own clock."""
        return float(self.ask({}))

    def ask(self, request: dict[str, Any], limit: float | None = None) -> Any:
        """What the worker answers; RuntimeError if it failed.

        TimeoutError if it was stopped, after `limit` seconds, a warm-up for the request
        counted; ChildProcessError if it ended by itself, mostly for want of memory.
        """
        assert self._process.stdin and self._process.stdout
        timer = Timer(limit or 1e6, self.stop)
        timer.daemon = True
        start = time.monotonic()
        timer.start()
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line and limit and time.monotonic() - start >= limit:
            raise TimeoutError(f"no answer to {request} in {limit:.0f} s")
        if not line:
            raise ChildProcessError(f"the worker ended at {request}")
        answer = json.loads(line)
        if isinstance(answer, dict) and "failed" in answer:
            raise RuntimeError(answer["failed"])
        return answer

    def stop(self) -> None:
        """End the worker and what it has started, whatever it is doing."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)


def peer(library: str, name: str, d: int, m: int, n: int, dtype: str) -> Any:
    """The worker of a library's features (see `worker`), by their name in its maps."""
    return worker(library, "peer_worker", ["features", library, name, d, m, n, dtype])


@contextmanager
def worker(library: str, module: str, arguments: list[Any]) -> Iterator[Peer | None]:
    """A module in the peer's environment, or None (with a word on standard error)."""
    try:
        python = environment(library)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"{library} is left out: {error}", file=sys.stderr)
        yield None
        return
    with subprocess.Popen(
        [str(python), "-m", f"benchmarks.{module}", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=HERE.parent,
        env=_variables(library),
        start_new_session=True,  # so that all of it can be stopped
    ) as process:
        assert process.stdin and process.stdout
        while (line := process.stdout.readline()).strip() != "ready":
            if not line:
                raise RuntimeError(f"the worker of {library} ended early")
        answering = Peer(process)
        try:
            yield answering
        finally:
            answering.stop()
            with suppress(BrokenPipeError):  # what was asked last is not read any more
                process.stdin.close()


def versions() -> dict[str, str]:
    """The versions compared, as installed."""
    import bochner

    found = {OURS: bochner.__version__}
    for library, title in TITLES.items():
        ask = (
            f"from importlib.metadata import version; print(version({title.lower()!r}))"
        )
        with suppress(subprocess.CalledProcessError, OSError):  # left out, as `worker`
            done = subprocess.run(
                [environment(library), "-c", ask], capture_output=True, text=True
            )
            found[library] = done.stdout.strip()
    return found


def _variables(library: str) -> dict[str, str]:
    """This process's variables; a peer imports from its own environment alone."""
    known = dict(os.environ)
    if library != OURS:
        known.pop("PYTHONPATH", None)
    return known


def _base(library: str) -> str:
    """The Python that a peer's environment is made with."""
    known = [shutil.which(name) for name in PYTHONS.get(library, ())]
    return next((path for path in known if path), sys.executable)


def environment(library: str) -> Path:
    """The peer's Python, in an environment made on first use; this one for ours."""
    if library == OURS:
        return Path(sys.executable)
    folder = Path(os.environ.get(ENVIRONMENTS, HERE / ".envs")) / library
    python = folder / "bin" / "python"
    installed = folder / "installed"
    if not installed.exists():
        subprocess.run([_base(library), "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, *PACKAGES[library]], check=True)
        installed.touch()
    return python
