"""The report: one HTML file, safe for any names in the data."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import sys
from html.parser import HTMLParser

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("plotly")

from bochner import report
from bochner.compare.report import text
from bochner.compare.report.charts import charts, styles
from bochner.compare.report.text import finding, tiles
from bochner.compare.results import Spread
from comparisons import EDGES, HOSTILE, NAMES, SCRIPT, comparison


class Tags(HTMLParser):
    """Tags with their attributes, the visible words, and tags that are not closed."""

    VOID = frozenset({"meta", "br", "img", "input", "link"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.open: list[str] = []
        self.scripts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif not self.open or self.open[-1] != "style":
            self.words += data


@pytest.fixture(scope="module")
def pages() -> dict[str, Tags]:
    return {name: Tags(report.page(edge)) for name, edge in EDGES.items()}


@pytest.mark.parametrize("name", EDGES)
def test_page_is_complete_and_valid_and_loads_nothing(name, pages):
    page = pages[name]
    assert not page.open, "a tag is not closed"
    links = [attrs.get(key) for _, attrs in page.tags for key in ("src", "href")]
    assert all(link.startswith("#") for link in links if link)
    assert "img" not in {tag for tag, _ in page.tags}
    assert not any(key.startswith("on") for _, attrs in page.tags for key in attrs)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    captions = [tag for tag, _ in page.tags if tag in ("table", "caption")]
    assert captions == ["table", "caption"] * (len(captions) // 2)
    assert not re.search(r"\b(nan|inf)\b", page.words)


@pytest.mark.parametrize("name", EDGES)
def test_figures_are_json_that_plotly_accepts(name, pages):
    import plotly.graph_objects

    figures = json.loads(pages[name].scripts[0], parse_constant=pytest.fail)
    assert [figure["key"] for figure in figures] == [c.key for c in charts(EDGES[name])]
    assert not set("<>&\u2028\u2029") & set(pages[name].scripts[0])
    for figure in figures:
        plotly.graph_objects.Figure(data=figure["data"], layout=figure["layout"])


def test_names_from_the_data_are_escaped(pages):
    page = pages["hostile"]
    assert len(page.scripts) == 3, "figures, plotly.js and page.js"
    assert page.words.count(HOSTILE) >= 8
    assert page.words.count(SCRIPT) >= 6
    assert "{{ 1 }}" in page.words


def test_charts_leave_out_entries_that_they_cannot_show():
    keys = {name: [chart.key for chart in charts(EDGES[name])] for name in EDGES}
    assert keys["whole"] == ["features", "fit", "error", "row"]
    assert keys["only references"] == ["fit", "row"]
    assert keys["nothing"] == []
    by_key = {chart.key: chart for chart in charts(EDGES["whole"])}
    assert len(by_key["error"].data) == len(NAMES) - 1, "maxout has no kernel error"
    assert by_key["features"].layout["yaxis"]["title"]["text"] == "accuracy,\u00a0%"
    assert by_key["features"].layout["xaxis"]["ticktext"][-1] == "4,096"
    assert len(by_key["fit"].data[0]["x"]) == len(EDGES["whole"].front())
    shown = [x for c in charts(EDGES["not numbers"]) for t in c.data for x in t["x"]]
    assert shown and all(math.isfinite(x) and x > 0 for x in shown)


def test_no_two_contenders_look_alike():
    by_name = styles(EDGES["every method"])
    assert len(set(by_name.values())) == len(by_name) == 20
    assert len({style.symbol for style in by_name.values()}) == 20


def test_finding_describes_the_result(pages):
    sentences = finding(EDGES["whole"])
    assert sentences.startswith("The exact kernel scores best: accuracy 97.56\u00a0%")
    assert "a linear model reaches 88.41\u00a0%" in sentences
    assert "within 1 point of the best and takes 1.01\u00a0s to fit" in sentences
    assert "the default learner reaches 97.31" in sentences
    assert "ahead" not in sentences
    assert finding(EDGES["no exact"]).startswith("The default learner scores best")
    assert finding(EDGES["one"]).startswith("rff with 256 features scores best")
    assert finding(EDGES["nothing"]) == "Nothing could be measured."
    assert "every contender failed" in pages["nothing"].words
    assert "nan" not in finding(EDGES["not numbers"])
    assert "R² −0.0488" in finding(EDGES["regression"])
    assert [tile.title for tile in tiles(EDGES["one"])] == ["Best feature map"]


def test_a_lead_of_trees_is_reported_first(pages):
    sentences = finding(EDGES["trees ahead"])
    assert sentences.startswith("Boosted trees score best: accuracy 99.10\u00a0%")
    assert "Boosted trees are ahead by 1.8 points" in sentences
    assert "has 99.1 % against 97.3 % on the same rows" in sentences
    assert tiles(EDGES["trees ahead"])[0].title == "Boosted trees"
    assert "The best of bochner: default learner" in pages["trees ahead"].words
    assert tiles(EDGES["whole"])[0].title == "Exact kernel"


def test_only_the_first_of_many_classes_are_shown(pages):
    assert "… and 170 more" in pages["many classes"].words
    assert "class 30" not in pages["many classes"].words
    assert "Classes" not in pages["regression"].words


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (text.number(0.000123), "0.000123"),
        (text.number(1234.5), "1,234"),
        (text.number(-0.5), "−0.500"),
        (text.number(None), text.MISSING),
        (text.number(3e-12), "3.00e-12"),
        (text.seconds(0.0123), "12.3 ms"),
        (text.seconds(3e-5), "30.0 µs"),
        (text.seconds(7322), "2 h 2 min"),
        (text.size(999_900), "1.00 MB"),
        (text.size(0), "0 B"),
        (text.percent(0.0004), "< 0.1 %"),
        (text.plain_score(Spread(0.5, None), "accuracy"), "50.00"),
        (text.spread(Spread(0.0316, 0.0026)), "0.0316 ± 0.0026"),
    ],
)
def test_formatted_figures(shown, expected):
    assert shown.replace("\u00a0", " ") == expected


def test_write_replaces_a_file_only_when_complete(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    report.write(comparison(), path)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "")))
    with pytest.raises(OSError, match=r"report: .* the disk is full"):
        report.write(comparison(), path)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(FileNotFoundError, match=r"report: .*there is no folder"):
        report.write(comparison(), tmp_path / "none" / "report.html")


@pytest.mark.parametrize("name", ["jinja2", "plotly.offline"])
def test_missing_extras_are_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    message = r"bochner.report needs plotly and jinja2: pip install bochner\[report\]"
    with pytest.raises(ImportError, match=message):
        report.page(comparison())
