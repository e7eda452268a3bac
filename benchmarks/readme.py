"""Tables of README.md and of pages in docs from what `peers` has measured.

`<!-- headline:begin -->` … `<!-- headline:end -->` holds learners of equal score and
fronts of peers, `speed` how many times faster `transform` is, `peers` every measure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from . import peer_table

PAGES = tuple(map(Path, ("README.md", "docs/index.md", "docs/measured.md")))
RESULTS = Path("peers.json")
COMMAND = "*`python -m benchmarks peers`.*"


def rewrite(pages: Iterable[Path] = PAGES, results: Path = RESULTS) -> None:
    """Replace the sections of the pages; ValueError for quick results or no markers."""
    found = json.loads(results.read_text())
    if found["quick"]:
        raise ValueError(
            f"readme: {results} is of a quick run; run `python -m benchmarks peers`."
        )
    for page in pages:
        text = page.read_text()
        present = [name for name in SECTIONS if _marker(name, "begin") in text]
        if not present:
            known = ", ".join(_marker(name, "begin") for name in SECTIONS)
            raise ValueError(f"readme: {page} has none of the lines {known}.")
        for name in present:
            text = _replaced(page, text, name, SECTIONS[name](found))
        page.write_text(text)


def _marker(name: str, end: str) -> str:
    return f"<!-- {name}:{end} -->"


def _replaced(page: Path, text: str, name: str, section: str) -> str:
    before, begin, rest = text.partition(_marker(name, "begin"))
    _, end, after = rest.partition(_marker(name, "end"))
    if not end:
        raise ValueError(f"readme: {page} needs a line {_marker(name, 'end')}.")
    return f"{before}{begin}\n{section}\n{end}{after}"


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def headline(found: dict[str, Any]) -> str:
    """Losses, the fastest of equal score of each library, and all of their fronts."""
    levels = [peer_table.level(data) for data in found["learning"]]
    fronts = [peer_table.fronts(data) for data in found["learning"]]
    parts = [
        peer_table.losses(found),
        _table(peer_table.LEVELS, levels),
        _table(peer_table.FRONTS, fronts),
        f"{COMMAND} {found['rule']} {peer_table.NOT_PEERS}",
    ]
    return "\n\n".join(parts)


def speed(found: dict[str, Any]) -> str:
    """How many times faster ours makes features by default."""
    rows = [peer_table.speed_up(shape) for shape in found["speed"]]
    return f"{_table(peer_table.SPEED_UP, rows)}\n\n{COMMAND}"


def everything(found: dict[str, Any]) -> str:
    """All measures, and what was stopped."""
    table = _table(peer_table.HEADER, peer_table.rows(found))
    notes = "\n".join(peer_table.notes(found))
    return f"{headline(found)}\n\n{table}\n\n{COMMAND} {notes}"


SECTIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "headline": headline,
    "speed": speed,
    "peers": everything,
}
