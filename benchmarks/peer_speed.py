"""Speed of `transform` beside the peers: like with like, and our default with all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from .peers import OURS, peer
from .structures import OUTPUTS, SHAPES
from .timing import interleaved, print_table

LIKE = {
    # peer: its map, and ours of the same kind
    "scikit-learn": ("RBFSampler", "rff"),
    "rfflearn": ("RFF", "rff"),
    "sklearn-extra": ("Fastfood", "fastfood"),
    "xgpr": ("SORF", "sorf"),
}
MAPS = ("default", "rff", "sorf", "fastfood")


def run(quick: bool = False) -> list[dict[str, Any]]:
    """For every shape ns per output of every map, float32; prints a table."""
    outputs = OUTPUTS >> 3 if quick else OUTPUTS
    found = [measured(d, m, outputs, 2 if quick else 5) for d, m in SHAPES]
    names = {name: None for shape in found for name in shape["ns"]}
    rows = [
        [name, *(f"{shape['ns'].get(name, float('nan')):.2f}" for shape in found)]
        for name in names
    ]
    print_table(
        f"transform, float32, {outputs} outputs: ns per output at (d, M)",
        ["map", *(f"({d}, {m})" for d, m in SHAPES)],
        rows,
    )
    return found


def measured(d: int, m: int, outputs: int, repeats: int) -> dict[str, Any]:
    """Best ns per output, every map in a process of its own and in turn."""
    maps = [(OURS, name) for name in MAPS]
    maps += [(library, name) for library, (name, _) in LIKE.items()]
    n = outputs // m
    candidates: dict[str, Callable[[], Any]] = {}
    with ExitStack() as stack:
        for library, name in maps:
            worker = stack.enter_context(peer(library, name, d, m, n, "float32"))
            if worker is not None:
                candidates[f"{library} {name}"] = worker
        best = interleaved(candidates, repeats)
    return {
        "d": d,
        "M": m,
        "ns": {name: 1e9 * seconds / (n * m) for name, seconds in best.items()},
    }


def ratios(shape: dict[str, Any], ours: str | None = None) -> dict[str, float]:
    """How many times faster than each peer: our map, or the one of the peer's kind."""
    ns = shape["ns"]
    return {
        library: ns[f"{library} {name}"] / ns[f"{OURS} {ours or alike}"]
        for library, (name, alike) in LIKE.items()
        if f"{library} {name}" in ns
    }
