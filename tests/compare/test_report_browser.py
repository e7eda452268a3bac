"""The report in a browser: charts, sorting, themes, phones, printing, hostile names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("plotly")
pytest.importorskip("playwright")

from bochner import report
from comparisons import EDGES, HOSTILE, NAMES, SCRIPT
from papers import Cell, Curve, Reproduction, Table
from papers import page as reproduce

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 375, "height": 812}
CHARTS = ("features", "fit", "error", "row")
LOOK = """() => { const chart = document.getElementById("chart-fit");
    return [chart._fullLayout.paper_bgcolor, chart._fullLayout.font.color,
            chart._fullData[1].line.color]; }"""
REPRODUCTION = "reproduction"
Open = Callable[..., Any]


def reproduction_with_scripts() -> Reproduction:
    """A table with an axis, one without, and a figure, with scripts as names."""
    axis = Table("giga", SCRIPT, "accuracy, %", x="features")
    plain = Table("maxout", "errors", "error, %", "lower")
    cells = [Cell(axis, f"J = {J}", 90.0, J / 2, 1.0, SCRIPT, "x", J) for J in (8, 190)]
    cells.append(Cell(plain, SCRIPT, 2.0, 2.1, 0.2, "one draw"))
    curve = Curve("maxout", "distances", SCRIPT, (1.0, 2.0), (3.0, 4.0), "x", "y")
    return Reproduction(True, [*cells, curve], {"giga/a9a": "no data"})


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    paths = [os.environ.get("BOCHNER_CHROMIUM"), *map(shutil.which, BROWSERS)]
    path = next((name for name in paths if name), None)
    if path is None:
        pytest.skip("no Chromium: install it, or set BOCHNER_CHROMIUM to its path")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Chromium's sandbox does not work in containers, and the pages are our own
        launched = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def show(browser, tmp_path_factory) -> Iterator[Open]:
    """A function that opens a comparison by name and records problems of the page."""
    folder, contexts = tmp_path_factory.mktemp("reports"), []

    def show(name: str, **settings: Any) -> Any:
        path = folder / f"{name}.html"
        if not path.exists() and name == REPRODUCTION:
            reproduce.write(reproduction_with_scripts(), path)
        elif not path.exists():
            report.write(EDGES[name], path)
        contexts.append(browser.new_context(**{"viewport": DESKTOP} | settings))
        page = contexts[-1].new_page()
        page.problems = problems = []  # errors, alerts, and addresses that were loaded
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        # dialogs without a listener are dismissed silently, so alerts are logged
        page.add_init_script("window.alert = text => console.log('alert', text)")
        page.on("request", lambda request: problems.append(request.url))
        page.goto(path.as_uri())
        problems.remove(path.as_uri())
        return page

    yield show
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def opened(show) -> Any:
    """A page shared by tests, which restore its state."""
    return show("whole")


def points(page: Any, key: str) -> int:
    return page.locator(f"#chart-{key} .scatterlayer path.point").count()


def column(page: Any, index: int) -> list[str]:
    script = "(tds, i) => tds.map(tr => tr.children[i].dataset.value)"
    return page.locator("tr.entry").evaluate_all(script, index)


def background(page: Any) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def look(page: Any) -> tuple[str, str, str]:
    """Colours of the background, of the font and of the first line of a chart."""
    return tuple(page.evaluate(LOOK))


def wait_for_look(page: Any, expected: tuple[str, str, str]) -> None:
    """Wait until the page has changed its theme, which browsers do with a delay.

    The loop runs outside the page, because the policy of the page forbids the
    evaluation that ``wait_for_function`` needs.
    """
    for _ in range(300):
        if look(page) == expected:
            return
        page.wait_for_timeout(100)
    assert look(page) == expected


def test_charts_are_drawn_without_problems(opened):
    n_maps, n_all = len(NAMES) * 5, len(EDGES["whole"].entries)
    n_front = len(EDGES["whole"].front())
    expected = (n_maps, n_all + n_front, n_maps - 5, n_all)
    assert tuple(points(opened, key) for key in CHARTS) == expected
    labels = opened.locator("#chart-features .textpoint").all_text_contents()
    assert {label.strip() for label in labels} >= {
        "linear",
        "exact kernel",
        "boosted trees",
        "default learner",
    }
    assert opened.locator("#chart-fit .errorbar").count() > 0
    assert opened.problems == []


def test_sorting_by_click_and_by_key(opened):
    fit = opened.locator("th[aria-sort]").nth(4)
    before = column(opened, 4)
    fit.locator("button").click()
    ascending = sorted(map(float, before))
    assert list(map(float, column(opened, 4))) == ascending
    assert fit.get_attribute("aria-sort") == "ascending"
    fit.locator("button").press("Enter")
    assert list(map(float, column(opened, 4))) == ascending[::-1]
    assert fit.get_attribute("aria-sort") == "descending"
    assert opened.locator("th[aria-sort=none]").count() == 9
    opened.locator("th[aria-sort]").nth(3).locator("button").click()
    errors = column(opened, 3)
    assert errors[-9:] == [""] * 9, "entries without a kernel error are last"
    opened.locator("th[aria-sort]").first.locator("button").press("Enter")
    assert column(opened, 0) == sorted(column(opened, 0))


def test_hover_text_holds_all_figures_of_an_entry(opened):
    last = opened.locator("#chart-fit .trace").last
    last.scroll_into_view_if_needed()
    last.locator("path.point").last.hover(force=True)
    label = opened.locator("#chart-fit .hoverlayer .hovertext")
    label.wait_for()
    words = label.text_content()
    for expected in ("maxout, 4,096 features", "accuracy 95.89", "±", "time to fit"):
        assert expected in words
    assert "per row" in words and "model size" in words and "peak memory" in words
    opened.mouse.move(0, 0)


def test_chips_hide_a_method_in_all_charts(opened):
    before = [points(opened, key) for key in CHARTS]
    chip = opened.get_by_role("button", name="rff", exact=True)
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"
    assert [points(opened, key) for key in CHARTS] == [n - 5 for n in before]
    opened.get_by_role("button", name="None", exact=True).click()
    assert [points(opened, key) for key in CHARTS] == [0] * 4
    opened.get_by_role("button", name="All", exact=True).click()
    assert [points(opened, key) for key in CHARTS] == before
    assert opened.problems == []


def test_code_is_shown_under_its_row(opened):
    link = opened.locator(".show-code").first
    link.click()
    shown = opened.locator("tr.entry + tr.code-row")
    assert shown.count() == 1 and "bochner.KernelClassifier(" in shown.inner_text()
    assert link.get_attribute("aria-expanded") == "true"
    shown.locator(".copy").click()
    shown.get_by_text("Copied").wait_for()
    link.press("Enter")
    assert opened.locator(".code-row").count() == 0
    assert opened.problems == []


def test_dark_screens_and_printing(opened):
    light = background(opened), look(opened)
    opened.emulate_media(color_scheme="dark")
    wait_for_look(opened, ("#171b22", "#e8ebf0", "#e8ebf0"))
    dark = background(opened), look(opened)
    assert dark[0] == "rgb(15, 18, 23)"
    opened.emulate_media(color_scheme="dark", media="print")
    assert background(opened) == "rgb(255, 255, 255)"
    wait_for_look(opened, light[1])
    assert not opened.locator(".copy").first.is_visible()
    assert not opened.locator(".show-code").first.is_visible()
    width = opened.locator("#chart-fit .main-svg").first.bounding_box()["width"]
    assert width <= 640
    opened.emulate_media(color_scheme="dark", media="screen")
    wait_for_look(opened, dark[1])
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert look(opened) == light[1], "printed from a dark screen"
    opened.evaluate("dispatchEvent(new Event('afterprint'))")
    assert look(opened) == dark[1]
    opened.emulate_media(color_scheme="light", media="screen")
    wait_for_look(opened, light[1])
    assert background(opened) == light[0]
    assert opened.problems == []


def test_phones_do_not_scroll_sideways(show):
    page = show("long names", viewport=PHONE, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    box = page.locator("#chart-fit .main-svg").first.bounding_box()
    assert 250 < box["width"] <= PHONE["width"] and box["height"] >= 300
    table = page.locator(".scroll").first
    assert table.evaluate("e => e.scrollWidth > e.clientWidth")
    assert page.problems == []


def test_hostile_names_are_shown_as_text(show):
    """The same comparison has entries whose figures are not finite."""
    page = show("hostile")
    page.locator("#chart-features .scatterlayer").scroll_into_view_if_needed()
    assert HOSTILE in page.locator("h1").inner_text()
    assert SCRIPT in page.locator("#data + .card .notes").inner_text()
    chip = page.locator(".chip .name")
    assert {HOSTILE, SCRIPT} <= set(chip.all_inner_texts())
    labels = page.locator("#chart-features .textpoint").all_text_contents()
    assert any(HOSTILE[:20] in label for label in labels)
    last = page.locator("#chart-features .trace").last.locator("path.point").last
    last.hover(force=True)
    label = page.locator("#chart-features .hoverlayer .hovertext")
    label.wait_for()
    assert SCRIPT in label.text_content()
    assert page.locator("img").count() == 0
    assert page.problems == []


def test_page_without_charts(show):
    page = show("nothing")
    assert page.locator("#entries").is_visible()
    assert page.locator(".main-svg").count() == 0
    assert page.problems == []


def test_the_table_is_shown_without_javascript(show):
    page = show("whole", java_script_enabled=False)
    assert page.locator("tr.entry").count() == len(EDGES["whole"].entries)
    assert "Charts need JavaScript" in page.locator("noscript").inner_text()
    assert page.locator(".codes summary").is_visible()
    assert not page.locator(".chips").is_visible()


@pytest.mark.parametrize("settings", [{}, {"viewport": PHONE, "color_scheme": "dark"}])
def test_page_of_a_reproduction(show, settings):
    page = show(REPRODUCTION, **settings)
    assert page.locator(".chart .scatterlayer path.point").count() >= 5
    text = page.locator("body").inner_text()
    assert "missed" in text and "reached" in text and "beaten" in text
    assert text.count(SCRIPT) >= 4  # title, cell, reason and name of a line
    assert "giga/a9a: no data" in text
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
    assert page.problems == []
