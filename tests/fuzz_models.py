"""Forged models: files with a right checksum whose meaning was changed.

    python tests/fuzz_models.py 20000        many cases, in processes of 500
    python tests/fuzz_models.py --case 4711  one case again, here

Each case changes a model that `save` has written: arrays that stand in for each other,
dimensions, values, attributes of scikit-learn's steps, parts of other models. Then the
file is loaded, and the model used where it loads. Any exception will do. What must not
happen: a process that ends, an index outside its array, more than 10 s, or more memory
than four times the file and 256 MiB. Processes run under the C library's checks of the
heap and Numba's checks of indices.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import faulthandler
import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

SECONDS = 10
MEMORY = 128 << 20
"""What `load` may take; the rest of what a case may take is the use of the model."""

FREE = 256 << 20
TIMES = 4
BATCH = 500
ADDRESSES = 6 << 30
"""Address space that a case may ask for, so that none harms the machine."""


def current(field: str) -> int:
    """A figure of this process in bytes, as Linux counts it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024 * int(line.split()[1])
    raise ValueError(f"/proc/self/status has no {field}")


def run_case(path: Path, use: Any) -> str:
    """What became of a file; an AssertionError where it took what it must not."""
    import bochner
    from bochner.export.archive import FileError

    Path("/proc/self/clear_refs").write_text("5")  # the peak starts here
    before, allowed = current("VmRSS"), TIMES * path.stat().st_size + FREE
    outcome = "used"
    try:
        use(bochner.load(path, memory=MEMORY))
    except FileError:
        outcome = "refused"
    except (MemoryError, SystemError):
        raise
    except Exception as error:
        if str(error) == "index is out of bounds":  # Numba's words
            raise AssertionError("compiled code left its array") from error
        outcome = f"failed: {type(error).__name__}"
    taken = current("VmHWM") - before
    assert taken <= allowed, f"it took {taken >> 20} MiB, and {allowed >> 20} may be"
    return outcome


def run_batch(folder: Path, start: int, stop: int, seed: int) -> None:
    """Cases in this process; the file `at` names the one that runs."""
    from model_forgeries import Forgery, used

    soft = current("VmSize") + ADDRESSES
    resource.setrlimit(resource.RLIMIT_AS, (soft, resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")
    forgery = Forgery(folder / "sources")
    outcomes: collections.Counter[str] = collections.Counter()
    for case in range(start, stop):
        (folder / "at").write_text(str(case))
        path = folder / "forged.bochner"
        name = forgery.write(path, seed, case)
        # its thread needs no lock of the interpreter, which compiled code may hold
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        outcomes[run_case(path, lambda model, n=name: used(model, n))] += 1
        faulthandler.cancel_dump_traceback_later()
        (folder / "outcomes").write_text(json.dumps(outcomes))


def warm_up(folder: Path) -> None:
    """Use every source as it is, so that no case waits for the compiler."""
    import bochner
    from model_forgeries import used

    warnings.simplefilter("ignore")
    for path in sorted((folder / "sources").iterdir()):
        model = bochner.load(path, memory=MEMORY)
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            used(model, path.stem)


def checked_environment(cache: Path | None) -> dict[str, str]:
    """Heap checks, and index checks with a cache of machine code of their own."""
    found = dict(os.environ) | {"MALLOC_CHECK_": "3", "OMP_NUM_THREADS": "1"}
    found["PYTHONFAULTHANDLER"] = "1"
    for folder in ("/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"):
        library = Path(folder, "libc_malloc_debug.so.0")  # glibc 2.34 and later
        if library.exists():
            found["LD_PRELOAD"] = str(library)
            break
    if cache is not None:
        found |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(cache)}
    return found


def fuzz(cases: int, seed: int, cache: Path | None, batch: int = BATCH) -> list[str]:
    """Run cases in processes; returns what went wrong, a line each."""
    from model_forgeries import write_sources

    wrong: list[str] = []
    totals: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sources(folder / "sources")
        environment = checked_environment(cache)
        _process(["--warm-up", name], environment).check_returncode()
        start = 0
        while start < cases:
            stop = min(cases, start + batch)
            words = ["--batch", name, str(start), str(stop), "--seed", str(seed)]
            ended = _process(words, environment)
            with contextlib.suppress(FileNotFoundError):
                totals.update(json.loads((folder / "outcomes").read_text()))
                (folder / "outcomes").unlink()
            if ended.returncode == 0:
                start = stop
            else:
                case = int((folder / "at").read_text())
                wrong.append(f"case {case}: {_reason(ended)}")
                print(wrong[-1], flush=True)
                start = case + 1
    print(f"{cases} cases, {len(wrong)} wrong: {dict(totals.most_common())}")
    return wrong


def _process(
    words: list[str], environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, __file__, *words]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )


def _reason(ended: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in ended.stderr.splitlines() if line.strip()] or [""]
    if "Timeout (" in ended.stderr:
        return f"took more than {SECONDS} s: " + " ".join(lines[-12:])
    if ended.returncode < 0:
        return f"signal {-ended.returncode}: " + " ".join(lines[:8])
    return lines[-1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", type=int, nargs="?", default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int)
    parser.add_argument("--batch", nargs=3)
    parser.add_argument("--warm-up", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(".fuzz-cache"))
    given = parser.parse_args()
    if given.batch is not None:
        folder, start, stop = given.batch
        run_batch(Path(folder), int(start), int(stop), given.seed)
    elif given.warm_up is not None:
        warm_up(given.warm_up)
    elif given.case is not None:
        show_case(given.case, given.seed)
    else:
        sys.exit(1 if fuzz(given.cases, given.seed, given.cache.resolve()) else 0)


def show_case(case: int, seed: int) -> None:
    """Run one case here, with what was changed."""
    from model_forgeries import Forgery, used, write_sources

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sources(folder / "sources")
        forgery = Forgery(folder / "sources")
        source = forgery.write(folder / "forged.bochner", seed, case)
        print(source, *forgery.changes, sep="\n  ", flush=True)
        print(run_case(folder / "forged.bochner", lambda model: used(model, source)))


if __name__ == "__main__":
    main()
