"""`python -m benchmarks transform`: run one benchmark, or all."""

from __future__ import annotations

import argparse

from . import (
    auto,
    compact,
    compact_speed,
    compression,
    compressive,
    error,
    learners,
    maxout,
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
    "scaling": scaling.run,
    "error": error.run,
    "auto": auto.run,
    "startup": startup.run,
    "compression": compression.run,
    "compressive": compressive.run,
    "maxout": maxout.run,
    "recommend": recommend.run,
    "compact": compact.run,
    "compact_speed": compact_speed.run,
    "learners": learners.run,
    "scale": scale.run,
    "serving": serving.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=[*BENCHMARKS, "all"])
    parser.add_argument("--quick", action="store_true", help="small and rough")
    arguments = parser.parse_args()
    names = BENCHMARKS if arguments.name == "all" else [arguments.name]
    for name in names:
        BENCHMARKS[name](quick=arguments.quick)


if __name__ == "__main__":
    main()
