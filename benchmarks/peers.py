"""Peers in environments of their own, timed in turn with ours.

`scikit-learn-extra` wants NumPy 1 and `xGPR` brings its own compiled code, so each gets
a virtual environment under `benchmarks/.envs` (made at the first run, ignored by git)
and a worker process that waits for its turn.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGES = {
    "xgpr": ["numpy", "scipy", "optuna", "scikit-learn", "xgpr==0.4.8.5"],
    "sklearn-extra": [
        "numpy<2",
        "scipy<1.14",
        "scikit-learn<1.6",
        "scikit-learn-extra==0.3.0",
    ],
    "torch": ["numpy", "torch==2.13.0"],
}
TITLES = {"xgpr": "xGPR", "sklearn-extra": "scikit-learn-extra"}


class Peer:
    """A worker that has prepared one transform; calling it takes one timed turn."""

    def __init__(self, process: subprocess.Popen) -> None:
        self._process = process

    def __call__(self) -> float:
        """Seconds of one run, by the worker's own clock."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write("run\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


def peer(library: str, d: int, m: int, n: int, dtype: Any) -> Any:
    """The worker of a peer's features: see `worker`."""
    return worker(library, "peer_worker.py", [library, d, m, n, dtype])


@contextmanager
def worker(library: str, script: str, arguments: list[Any]) -> Iterator[Peer | None]:
    """A script in the peer's environment, or None (with a word on standard error)."""
    try:
        python = _environment(library)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"{library} is left out: {error}", file=sys.stderr)
        yield None
        return
    with subprocess.Popen(
        [str(python), str(HERE / script), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin and process.stdout
        while (line := process.stdout.readline()).strip() != "ready":
            if not line:
                raise RuntimeError(f"the worker of {library} ended early")
        yield Peer(process)
        process.stdin.close()


def _environment(library: str) -> Path:
    """The peer's Python, in an environment made on first use."""
    folder = HERE / ".envs" / library
    python = folder / "bin" / "python"
    installed = folder / "installed"
    if not installed.exists():
        venv.create(folder, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, *PACKAGES[library]], check=True)
        installed.touch()
    return python
