"""`python -m benchmarks transform`: run one benchmark, or all.

`python -m benchmarks readme` writes what `peers` has measured into README.md and docs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from . import (
    auto,
    automatic,
    calibration,
    command_line,
    compact,
    compact_speed,
    compression,
    error,
    learners,
    maxout,
    offsets,
    peer_run,
    phases,
    readme,
    recommend,
    scale,
    scaling,
    serving,
    startup,
    structures,
    transform,
    wide,
)

BENCHMARKS = {
    "transform": transform.run,
    "structures": structures.run,
    "wide": wide.run,
    "phases": phases.run,
    "scaling": scaling.run,
    "error": error.run,
    "auto": auto.run,
    "automatic": automatic.run,
    "startup": startup.run,
    "compression": compression.run,
    "maxout": maxout.run,
    "recommend": recommend.run,
    "command_line": command_line.run,
    "compact": compact.run,
    "compact_speed": compact_speed.run,
    "learners": learners.run,
    "offsets": offsets.run,
    "calibration": calibration.run,
    "scale": scale.run,
    "serving": serving.run,
    "peers": peer_run.run,
}

WITH_OPTIONS = {"automatic": automatic.run}
"""Benchmarks that have options of their own."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=[*BENCHMARKS, "all", "readme"])
    parser.add_argument("--quick", action="store_true", help="small and rough")
    parser.add_argument(
        "--results", type=Path, help="file of peers, for readme; of automatic and field"
    )
    arguments, more = parser.parse_known_args()
    if more and arguments.name not in WITH_OPTIONS:
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    if arguments.name == "readme":
        readme.rewrite(results=arguments.results or readme.RESULTS)
        return
    names = BENCHMARKS if arguments.name == "all" else [arguments.name]
    if arguments.name in WITH_OPTIONS:
        more += ["--results", str(arguments.results)] if arguments.results else []
        WITH_OPTIONS[arguments.name](quick=arguments.quick, arguments=more)
        return
    for name in names:
        BENCHMARKS[name](quick=arguments.quick)


if __name__ == "__main__":
    main()
