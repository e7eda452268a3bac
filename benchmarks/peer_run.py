"""Ours against scikit-learn, scikit-learn-extra, xGPR and rfflearn, in one run.

Transform speed, kernel error by the number of columns, and accuracy against time on
four data sets: one table, `peers.json` and `peers.png` in the working directory. Peers
work in environments of their own and in turn with ours. Needs BOCHNER_DATA. A run that
is broken off goes on, part by part, from `peers.partial.json`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from . import peer_error, peer_learning, peer_speed, peer_table
from .peer_figure import draw
from .peers import versions
from .timing import print_table

RESULTS = Path("peers.json")
PARTIAL = Path("peers.partial.json")
PICTURE = Path("peers.png")
PARTS: dict[str, Callable[[bool], Any]] = {
    "speed": peer_speed.run,
    "error": peer_error.run,
    **{name: partial(peer_learning.run, name) for name in peer_learning.SETS},
}


def run(quick: bool = False) -> None:
    """Measure, write the results, draw them, and print the one table."""
    head = {"quick": quick, "cores": os.cpu_count(), "versions": versions()}
    parts = _measured(head, quick)
    learning = [parts[name] for name in peer_learning.SETS]
    found = {
        **head,
        "rule": peer_learning.RULE,
        "speed": parts["speed"],
        "error": parts["error"],
        "learning": [data for data in learning if data],
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    PARTIAL.unlink()
    draw(found, PICTURE)
    levels = [peer_table.level(data) for data in found["learning"]]
    fronts = [peer_table.fronts(data) for data in found["learning"]]
    print("", peer_table.losses(found), found["rule"], sep="\n")
    print_table("Learners of equal score", peer_table.LEVELS, levels)
    print_table("The peers' front", peer_table.FRONTS, fronts)
    print_table("Features", peer_table.HEADER, peer_table.rows(found))
    print("", *peer_table.notes(found), sep="\n")
    print(f"Written: {RESULTS}, {PICTURE}.")


def _measured(head: dict[str, Any], quick: bool) -> dict[str, Any]:
    """All parts; those that a run of the same kind has left behind as they are."""
    parts: dict[str, Any] = {}
    if PARTIAL.exists():
        held = json.loads(PARTIAL.read_text())
        parts = held["parts"] if held["head"] == head else {}
    for name, measure in PARTS.items():
        if name not in parts:
            parts[name] = measure(quick)
            PARTIAL.write_text(json.dumps({"head": head, "parts": parts}))
    return parts
