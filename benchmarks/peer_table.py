"""Tables of what `peers.json` holds: features, learners of equal score, and fronts.

Learners are compared like with like: the fastest of each library among those of equal
score, never our fastest with the most accurate of a peer. Losses are said first.
"""

from __future__ import annotations

from statistics import median
from typing import Any

from . import peer_error, peer_speed
from .peer_learning import equals, fastest, finished, matches, of_library, scored
from .peers import OURS, TITLES

HEADER = ["", OURS, *TITLES.values(), "ahead of all"]
LEVELS = ["fastest at the best score", OURS, *TITLES.values()]
FRONTS = [
    "all points of the peers' front",
    "points",
    "where ours are slower or less accurate",
    "times faster: least, median, most",
]
SPEED_UP = ["d → M", "ns per output", *(f"{title} ÷ ours" for title in TITLES.values())]
NOT_REACHED = "not reached; best "
NOT_PEERS = (
    "Boosted trees are no kernel method and not among the peers; "
    "`python -m benchmarks learners` has them."
)


def level(data: dict[str, Any]) -> list[str]:
    """The fastest learner of each library whose score equals the best of all.

    The fastest of all is bold. A library that does not reach the score has its most
    accurate learner instead, and that is said.
    """
    task, points = data["task"], data["points"]
    best = max(finished(points), key=lambda point: (point["score"], -point["seconds"]))
    alike = equals(points, best)
    first = fastest(alike)
    cells = []
    for library in (OURS, *TITLES):
        own = fastest(of_library(alike, library))
        if own is not None:
            mark = "**" if own is first else ""
            shown = f"{mark}{_point(task, own)}{mark}"
            cells.append(f"{shown}, `{own['learner']}`")
            continue
        rest = finished(of_library(points, library))
        most = max(rest, key=lambda point: point["score"], default=None)
        cells.append("" if most is None else f"{NOT_REACHED}{_point(task, most)}")
    return [f"{data['data']}, {data['rows'][0]:,} rows", *cells]


def fronts(data: dict[str, Any]) -> list[str]:
    """Our fastest of equal score, for every point of the peers' common front."""
    pairs = matches(data["points"])
    lost = [(p, m) for p, m in pairs if m is None or m["seconds"] > p["seconds"]]
    ratios = sorted(p["seconds"] / m["seconds"] for p, m in pairs if m is not None)
    ends = [ratios[0], median(ratios), ratios[-1]] if ratios else []
    return [
        f"{data['data']}, {data['rows'][0]:,} rows",
        str(len(pairs)),
        "; ".join(_loss(data["task"], *pair) for pair in lost) or "none",
        ", ".join(_times(ratio) for ratio in ends),
    ]


def _loss(task: str, theirs: dict[str, Any], mine: dict[str, Any] | None) -> str:
    """A point of a peer that ours do not match, and by how much."""
    name = f"{TITLES[theirs['library']]} `{theirs['learner']}`: {_point(task, theirs)}"
    if mine is None:
        return f"{name}, ours not as accurate"
    return f"{name}, ours {_times(theirs['seconds'] / mine['seconds'])} as fast"


def losses(found: dict[str, Any]) -> str:
    """Data sets on which a peer is ahead at the best score or on the front."""
    at_best, on_front = [], []
    for data in found["learning"]:
        points = data["points"]
        best = max(finished(points), key=lambda p: (p["score"], -p["seconds"]))
        first = fastest(equals(points, best))
        if first is not None and first["library"] != OURS:
            at_best.append(f"{data['data']} ({TITLES[first['library']]})")
        if data["behind"]:
            on_front.append(f"{data['data']} ({', '.join(data['behind'])})")
    return (
        f"A peer is the fastest at the best score on: {', '.join(at_best) or 'none'}. "
        f"A point of the peers' front is ahead of ours on: "
        f"{', '.join(on_front) or 'none'}."
    )


def _times(ratio: float) -> str:
    return f"{ratio:.{0 if ratio >= 10 else 1 if ratio >= 1 else 2}f} ×"


def speed_up(shape: dict[str, Any]) -> list[str]:
    """Default features of each library, over ours."""
    found = peer_speed.ratios(shape, "default")
    cells = [
        f"{found[library]:.1f} ×" if library in found else "" for library in TITLES
    ]
    ns = f"{shape['ns'][f'{OURS} default']:.2f}"
    return [f"{shape['d']} → {shape['M']}", ns, *cells]


def rows(found: dict[str, Any]) -> list[list[str]]:
    """Lines of features: speed as ratios to ours, and kernel errors."""
    lines = []
    for shape in found["speed"]:
        lines += _speed(shape)
    if found["error"]:
        for m in found["error"]["sizes"]:
            lines += _errors(found["error"], m)
    return lines


def _speed(shape: dict[str, Any]) -> list[list[str]]:
    """Maps of the same kind (dense, structured), and our default against all."""
    lines = []
    for kind, names in (
        ("dense", ("rff",)),
        ("structured", ("sorf", "fastfood")),
        ("by default", ("default",)),
    ):
        found = peer_speed.ratios(shape, "default" if kind == "by default" else None)
        shown = {
            library: ratio
            for library, ratio in found.items()
            if kind == "by default" or peer_speed.LIKE[library][1] in names
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


def _point(task: str, point: dict[str, Any]) -> str:
    seconds = point["seconds"]
    digits = 0 if seconds >= 10 else 1 if seconds >= 1 else 2
    return f"{scored(task, point)} in {seconds:.{digits}f} s"


def _yes(peers: Any, ahead: bool) -> str:
    """Whether we are ahead of them, nothing where none was measured."""
    return ("yes" if ahead else "no") if peers else ""


def notes(found: dict[str, Any]) -> list[str]:
    """What is shown, what was stopped or failed, and the versions."""
    lines = [
        "Of `transform` ns per output of ours, float32, and how many times slower a "
        "peer is."
    ]
    for data in found["learning"]:
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
