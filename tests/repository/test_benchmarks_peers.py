"""The comparison with peers: who is ahead, the one table, and the page it goes into."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

peer_learning = pytest.importorskip("benchmarks.peer_learning")
peer_table = pytest.importorskip("benchmarks.peer_table")
readme = pytest.importorskip("benchmarks.readme")


def point(library, score, seconds, learner="x"):
    run = {"fit": seconds, "predict": 0.0}
    return {
        "library": library,
        "learner": learner,
        "runs": [run],
        "score": score,
        "error": 0.01,
        "seconds": seconds,
    }


def results(**changes):
    """As `peers.json` holds them, with one shape, one size and one data set."""
    ns = {"bochner default": 1.0, "bochner rff": 2.0, "bochner sorf": 1.0}
    ns |= {"bochner fastfood": 0.8, "scikit-learn RBFSampler": 5.0}
    ns |= {"sklearn-extra Fastfood": 40.0, "xgpr SORF": 0.5, "rfflearn RFF": 20.0}
    points = [point("bochner", 0.9, 1.0), point("xgpr", 0.8, 2.0)]
    points.append({"library": "rfflearn", "learner": "slow", "stopped": 9.0})
    data = {"data": "some", "task": "classify", "rows": [100, 50], "points": points}
    found = {
        "quick": False,
        "cores": 2,
        "versions": {"bochner": "1", "xgpr": "2"},
        "rule": peer_learning.RULE,
        "speed": [{"d": 54, "M": 4096, "ns": ns}],
        "error": {
            "data": "usps",
            "sizes": [256],
            "curves": {
                "bochner sorf": {"256": 0.1},
                "bochner giga": {"256": 0.05},
                "rfflearn ORF": {"256": 0.2},
                "scikit-learn Nystroem": {"256": 0.04},
            },
        },
        "learning": [{**data, "behind": peer_learning.behind(points)}],
    }
    return {**found, **changes}


@pytest.mark.parametrize(
    ("theirs", "unmatched"),
    [
        (point("xgpr", 0.91, 1.0), False),  # as fast, and within a standard error
        (point("xgpr", 0.92, 2.0), True),  # more accurate than any of ours
        (point("xgpr", 0.70, 0.5), True),  # faster than any of ours
        (point("xgpr", 0.70, 0.7), False),
    ],
)
def test_ahead(theirs, unmatched):
    ours = [point("bochner", 0.9, 1.0), point("bochner", 0.75, 0.6)]
    expected = ["xGPR x"] if unmatched else []
    assert peer_learning.behind([*ours, theirs]) == expected


def test_stopped_learners_count_for_nobody():
    stopped = {"library": "xgpr", "learner": "slow", "stopped": 9.0}
    assert peer_learning.behind([point("bochner", 0.9, 1.0), stopped]) == []


def test_table():
    rows = {row[0]: row[1:] for row in peer_table.rows(results())}
    assert rows["transform dense, 54 → 4096"] == [
        *("2.00", "2.5 ×", "", "", "10.0 ×", "yes")
    ]
    assert rows["transform structured, 54 → 4096"] == [
        *("1.00 / 0.80", "", "50.0 ×", "0.5 ×", "", "no")
    ]
    assert rows["kernel error, drawn, usps, M = 256"][0] == "0.1000 (sorf)"
    assert rows["kernel error, fitted, usps, M = 256"][-1] == "no"
    assert all(len(row) == len(peer_table.HEADER) - 1 for row in rows.values())
    notes = "\n".join(peer_table.notes(results()))
    assert "Stopped after 9 s on some: rfflearn slow." in notes


def marked(*names):
    lines = [f"<!-- {name}:begin -->\nold\n<!-- {name}:end -->" for name in names]
    return "\n".join(["above", *lines, "below\n"])


def test_pages_are_rewritten_between_their_markers(tmp_path):
    page, other, file = (tmp_path / name for name in ("a.md", "b.md", "peers.json"))
    page.write_text(marked("headline", "speed"))
    other.write_text(marked("peers"))
    file.write_text(json.dumps(results()))
    readme.rewrite([page, other], file)
    once = page.read_text()
    assert once.startswith("above\n<!-- headline:begin -->\nA peer is")
    assert "old" not in once
    assert once.endswith("<!-- speed:end -->\nbelow\n") and "20.0 ×" in once
    assert "some, 100 rows | **90.00 % in 1.0 s**, `x` | " in once
    assert "| not reached; best 80.00 % in 2.0 s |" in once
    assert "some, 100 rows | 1 | none | 2.0 ×, 2.0 ×, 2.0 × |" in once
    assert once.index("A peer is the fastest") < once.index("some, 100 rows")
    assert f"has {peer_learning.LIMIT:.0f} s" in once
    assert "2.5 ×" in other.read_text() and "2.0 ×, 2.0 ×" in other.read_text()
    readme.rewrite([page, other], file)
    assert page.read_text() == once


def learned(*points):
    """Results of one data set with these points."""
    behind = peer_learning.behind(points)
    data = {"data": "some", "task": "classify", "rows": [100, 50], "behind": behind}
    return results(learning=[{**data, "points": list(points)}])


def test_equals_are_compared_with_equals():
    """The peer's fastest of equal score counts, not its slow and most accurate one."""
    found = learned(
        point("bochner", 0.903, 0.07, "quick"),
        point("bochner", 0.91, 0.7, "careful"),
        point("rfflearn", 0.909, 20.0, "careful"),
        point("rfflearn", 0.902, 0.14, "quick"),
    )
    (data,) = found["learning"]
    _, ours, *_, theirs = peer_table.level(data)
    assert ours == "**90.30 % in 0.07 s**, `quick`"
    assert theirs == "90.20 % in 0.14 s, `quick`"
    _, points, lost, times = peer_table.fronts(data)
    assert (points, lost) == ("2", "none")
    assert times == "2.0 ×, 144 ×, 286 ×"
    assert "score on: none" in peer_table.losses(found)


def test_losses_are_said():
    found = learned(
        point("bochner", 0.9, 1.0),
        point("xgpr", 0.95, 2.0, "better"),
        point("scikit-learn", 0.89, 0.5, "quicker"),
    )
    (data,) = found["learning"]
    assert peer_table.level(data)[1] == "not reached; best 90.00 % in 1.0 s"
    lost = peer_table.fronts(data)[2]
    assert "scikit-learn `quicker`: 89.00 % in 0.50 s, ours 0.50 × as fast" in lost
    assert "xGPR `better`: 95.00 % in 2.0 s, ours not as accurate" in lost
    said = peer_table.losses(found)
    assert "fastest at the best score on: some (xGPR)" in said
    assert "some (scikit-learn quicker, xGPR better)" in said


def test_a_peer_that_another_peer_beats_is_no_measure():
    slow, quick = point("rfflearn", 0.9, 99.0), point("xgpr", 0.9, 2.0)
    pairs = peer_learning.matches([point("bochner", 0.9, 1.0), slow, quick])
    assert [theirs for theirs, _ in pairs] == [quick]


def test_all_learners_have_one_limit():
    asked = []

    class Workers:
        def ask(self, library, request, limit):
            asked.append(limit)
            if not request:
                return ["slow"]
            raise TimeoutError

    points = peer_learning._points(Workers(), "some", quick=False)
    assert set(asked) == {peer_learning.LIMIT}
    assert {point["stopped"] for point in points} == {peer_learning.LIMIT}


def test_pages_that_cannot_be_rewritten(tmp_path):
    page, file = tmp_path / "README.md", tmp_path / "peers.json"
    page.write_text("no markers")
    file.write_text(json.dumps(results()))
    with pytest.raises(ValueError, match="has none of the lines <!-- headline:begin"):
        readme.rewrite([page], file)
    page.write_text("<!-- speed:begin -->")
    with pytest.raises(ValueError, match="needs a line <!-- speed:end -->"):
        readme.rewrite([page], file)
    file.write_text(json.dumps(results(quick=True)))
    with pytest.raises(ValueError, match="quick"):
        readme.rewrite([page], file)


def test_figure(tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks.peer_figure import draw

    draw(results(), tmp_path / "peers.png")
    assert (tmp_path / "peers.png").stat().st_size > 10_000
