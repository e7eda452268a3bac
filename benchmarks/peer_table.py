"""One table of what `peers.json` holds: a line per measure, a column per library."""

from __future__ import annotations

from typing import Any

from . import peer_error, peer_speed
from .peer_learning import scored
from .peers import OURS, TITLES

HEADER = ["", OURS, *TITLES.values(), "ahead of all"]
HEADLINE = [
    "",
    "the most accurate of the peers",
    "ours, as accurate",
    "faster",
    "our best",
]
SPEED_UP = ["d → M", "ns per output", *(f"{title} ÷ ours" for title in TITLES.values())]
ALIKE = (
    "As accurate: within one standard error on the test rows. Times are of fit and "
    "predict together; a peer that was stopped for time does not count."
)


def headline(data: dict[str, Any]) -> list[str]:
    """The most accurate peer, the fastest of ours that is as accurate, and our best."""
    ended = [point for point in data["points"] if "seconds" in point]
    ours = [point for point in ended if point["library"] == OURS]
    peers = [point for point in ended if point["library"] != OURS]
    first = max(peers, key=lambda point: (point["score"], -point["seconds"]))
    alike = [p for p in ours if p["score"] >= first["score"] - first["error"]]
    same = min(alike, key=lambda point: point["seconds"], default=None)
    best = max(ours, key=lambda point: point["score"])
    task = data["task"]
    return [
        f"{data['data']}, {data['rows'][0]:,} rows",
        f"{TITLES[first['library']]} `{first['learner']}`: {_point(task, first)}",
        f"`{same['learner']}`: **{_point(task, same)}**" if same else "none",
        _times(first["seconds"] / same["seconds"]) if same else "",
        f"`{best['learner']}`: {_point(task, best)}",
    ]


def _times(ratio: float) -> str:
    return f"**{ratio:.{0 if ratio >= 10 else 1}f} ×**"


def speed_up(shape: dict[str, Any]) -> list[str]:
    """Features as they come from each library, over ours as they come."""
    found = peer_speed.ratios(shape, "default")
    cells = [
        f"{found[library]:.1f} ×" if library in found else "" for library in TITLES
    ]
    ns = f"{shape['ns'][f'{OURS} default']:.2f}"
    return [f"{shape['d']} → {shape['M']}", ns, *cells]


def rows(found: dict[str, Any]) -> list[list[str]]:
    """All lines: speed as ratios to ours, errors, the most accurate point of each."""
    lines = []
    for shape in found["speed"]:
        lines += _speed(shape)
    if found["error"]:
        for m in found["error"]["sizes"]:
            lines += _errors(found["error"], m)
    return [*lines, *(_learning(data) for data in found["learning"])]


def _speed(shape: dict[str, Any]) -> list[list[str]]:
    """Maps of the same kind (dense, structured), and our default against all."""
    lines = []
    for kind, names in (
        ("dense", ("rff",)),
        ("structured", ("sorf", "fastfood")),
        ("as it comes", ("default",)),
    ):
        found = peer_speed.ratios(shape, "default" if kind == "as it comes" else None)
        shown = {
            library: ratio
            for library, ratio in found.items()
            if kind == "as it comes" or peer_speed.LIKE[library][1] in names
        }
        ours = " / ".join(f"{shape['ns'][f'{OURS} {name}']:.2f}" for name in names)
        label = f"transform {kind}, {shape['d']} → {shape['M']}"
        cells = [
            f"{shown[library]:.1f} ×" if library in shown else "" for library in TITLES
        ]
        ahead = _yes(shown, all(ratio > 1 for ratio in shown.values()))
        lines.append([label, ours, *cells, ahead])
    return lines


def _errors(error: dict[str, Any], m: int) -> list[list[str]]:
    """The least error of each library's maps, drawn blindly and fitted to rows."""
    lines = []
    for kind, maps in (("drawn", peer_error.DRAWN), ("fitted", peer_error.FITTED)):
        least = {}
        for library, names in maps.items():
            curves = {name: error["curves"].get(f"{library} {name}") for name in names}
            sizes = {name: curve[str(m)] for name, curve in curves.items() if curve}
            if sizes:
                best = min(sizes, key=lambda name: sizes[name])
                least[library] = (sizes[best], best)
        cells = [
            f"{least[library][0]:.4f} ({least[library][1]})" if library in least else ""
            for library in (OURS, *TITLES)
        ]
        peers = [value for library, (value, _) in least.items() if library != OURS]
        mine = least[OURS][0] if OURS in least else float("inf")
        ahead = _yes(peers, all(mine <= value for value in peers))
        lines.append([f"kernel error, {kind}, {error['data']}, M = {m}", *cells, ahead])
    return lines


def _learning(data: dict[str, Any]) -> list[str]:
    cells = []
    for library in (OURS, *TITLES):
        ended = [
            point
            for point in data["points"]
            if point["library"] == library and "seconds" in point
        ]
        best = max(ended, key=lambda point: point["score"], default=None)
        cells.append(_point(data["task"], best) if best else "")
    behind = data["behind"]
    ahead = f"no: {len(behind)} unmatched" if behind else _yes(any(cells[1:]), True)
    return [f"{data['data']}, {data['rows'][0]:,} rows, best", *cells, ahead]


def _point(task: str, point: dict[str, Any]) -> str:
    seconds = point["seconds"]
    digits = 0 if seconds >= 10 else 1 if seconds >= 1 else 2
    return f"{scored(task, point)} in {seconds:.{digits}f} s"


def _yes(peers: Any, ahead: bool) -> str:
    """Whether we are ahead of them, nothing where none was measured."""
    return ("yes" if ahead else "no") if peers else ""


def notes(found: dict[str, Any]) -> list[str]:
    """What is shown, where we are not ahead, what was stopped, and the versions."""
    lines = [
        "Of `transform` ns per output of ours, float32, and how many times slower a "
        "peer is; of learners the most accurate of each library."
    ]
    for data in found["learning"]:
        if data["behind"]:
            lines.append(f"Not ahead on {data['data']}: {', '.join(data['behind'])}.")
        for key in ("stopped", "failed"):
            which = [point for point in data["points"] if key in point]
            names = [f"{TITLES.get(p['library'], OURS)} {p['learner']}" for p in which]
            if names:
                limit = f" after {which[0][key]:.0f} s" if key == "stopped" else ""
                lines.append(
                    f"{key.title()}{limit} on {data['data']}: {', '.join(names)}."
                )
    used = [f"{TITLES.get(name, name)} {v}" for name, v in found["versions"].items()]
    lines.append(f"{', '.join(used)}; {found['cores']} cores.")
    return lines
