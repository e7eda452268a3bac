"""`python -m benchmarks transform`: run one benchmark, or all.

`python -m benchmarks readme` writes what `peers` has measured into README.md and docs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from . import (
    auto,
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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=[*BENCHMARKS, "all", "readme"])
    parser.add_argument("--quick", action="store_true", help="small and rough")
    parser.add_argument(
        "--results", type=Path, default=readme.RESULTS, help="of peers, for readme"
    )
    arguments = parser.parse_args()
    if arguments.name == "readme":
        readme.rewrite(results=arguments.results)
        return
    names = BENCHMARKS if arguments.name == "all" else [arguments.name]
    for name in names:
        BENCHMARKS[name](quick=arguments.quick)


if __name__ == "__main__":
    main()
