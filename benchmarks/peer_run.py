"""Ours against scikit-learn, scikit-learn-extra, xGPR and rfflearn, in one run.

Transform speed, kernel error by the number of columns, and accuracy against time on
four data sets: one table, `peers.json` and `peers.png` in the working directory. Peers
work in environments of their own and in turn with ours. Needs BOCHNER_DATA.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from . import peer_error, peer_learning, peer_speed, peer_table
from .peer_figure import draw
from .peers import versions
from .timing import print_table

RESULTS = Path("peers.json")
PICTURE = Path("peers.png")


def run(quick: bool = False) -> None:
    """Measure, write the results, draw them, and print the one table."""
    found = {
        "quick": quick,
        "cores": os.cpu_count(),
        "versions": versions(),
        "rule": peer_learning.RULE,
        "speed": peer_speed.run(quick),
        "error": peer_error.run(quick),
        "learning": peer_learning.run(quick),
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    draw(found, PICTURE)
    print_table("Beside the peers", peer_table.HEADER, peer_table.rows(found))
    print("", found["rule"], *peer_table.notes(found), sep="\n")
    print(f"Written: {RESULTS}, {PICTURE}.")
