"""`python -m bochner`: the command line."""

import sys

from ._core.interrupts import quiet_interrupt


def main() -> None:
    """Run the command line, or tell how to get it."""
    try:
        with quiet_interrupt(True):
            from .app.main import run
    except ImportError as missing:
        if missing.name is None or missing.name.startswith("bochner"):
            raise  # a fault of ours
        sys.exit(
            f"bochner's command line needs {missing.name}, which is not installed: "
            "pip install 'bochner[cli]'"
        )
    run()


if __name__ == "__main__":
    main()
