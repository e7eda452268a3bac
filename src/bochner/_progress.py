"""Progress of long work: lines on standard error, where `verbose` asks for them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Report = Callable[[str], None]


def reporter(owner: Any) -> Report:
    """A function of lines, silent unless `owner.verbose`."""
    if not owner.verbose:
        return lambda line: None
    name = type(owner).__name__
    return lambda line: print(f"[{name}] {line}", file=sys.stderr, flush=True)
