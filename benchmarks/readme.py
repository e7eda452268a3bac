"""`python -m benchmarks readme`: the comparison in README.md, from `peers.json`.

What stands between the two markers is replaced, so that no figure is typed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import peer_table

BEGIN = "<!-- peers:begin -->"
END = "<!-- peers:end -->"
README = Path("README.md")
RESULTS = Path("peers.json")


def rewrite(page: Path = README, results: Path = RESULTS) -> None:
    """Replace the section of the page; ValueError for quick results or no markers."""
    found = json.loads(results.read_text())
    if found["quick"]:
        raise ValueError(
            f"readme: {results} is of a quick run; run `python -m benchmarks peers`."
        )
    text = page.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"readme: {page} needs a line {BEGIN} and, below, {END}.")
    page.write_text(f"{before}{BEGIN}\n{section(found)}\n{END}{after}")


def section(found: dict[str, Any]) -> str:
    """The table in Markdown, the rule, and where it is not kept."""
    header = [*peer_table.HEADER]
    lines = [header, ["---"] * len(header), *peer_table.rows(found)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    notes = "\n".join([found["rule"], *peer_table.notes(found)])
    return f"{table}\n\n*`python -m benchmarks peers`.* {notes}"
