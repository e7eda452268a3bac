"""The documentation: links lead somewhere, code runs, figures are those measured."""

import ast
import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest
from test_readme import BLOCK, run_blocks

import bochner
from papers import PAPERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
WITH_FIGURES = [ROOT / "README.md", *(p for p in PAGES if p.stem != "theory")]
"""Pages whose figures are measured; those of theory.md its example prints."""
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
GUIDE = {
    # pages whose code runs, and how many lines of each say what they print
    "learners": 7,
    "features": 7,
    "kernels": 3,
    "compression": 5,
    "learned": 4,
    "codes": 5,
    "pipelines": 6,
    "streams": 12,
    "coming_from": 2,
}
DATA = "mnist", "covtype", "a9a", "elevators", "letter", "cpusmall", "usps"
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FIGURE = re.compile(r"^:{3,}\{figure\} (\S+)$", re.MULTILINE)
PAGE_ROLE = re.compile(r"\{doc\}`([\w/]+)`")
INCLUDED = re.compile(r"^ *```\{(?:literal)?include\} (\S+)$", re.MULTILINE)
ENTRY = re.compile(r"^   (\w[\w.]*)$", re.MULTILINE)
FENCED = re.compile(r"```.*?```", re.DOTALL)
BENCHMARK = re.compile(r'"(\w+)": \w+\.run')
UNIT = r"×|%|s\b|ms\b|µs\b|min\b|h\b"
MEASURED = re.compile(
    rf"(?<![\w.,])(\d[\d,]*(?:\.\d+)?) ?({UNIT})|(R²) (?:of )?(-?\d*\.\d+)"
)
LISTED = re.compile(rf"(\d[\d,.]*)((?: (?:/|and|to) \d[\d,.]*)+)(?= (?:{UNIT}))")
NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\d⁰-⁹])")
NOMINAL = {("90", "%")}
"""Figures with a unit that no benchmark has measured: the level of an interval."""


def slug(heading):
    """The anchor of a heading, as GitHub and MyST make it."""
    text = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return text.replace(" ", "-")


def anchors(path):
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", path.read_text()), re.MULTILINE)
    return {slug(heading) for heading in headings}


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda p: p.stem)
def test_links(page):
    text = page.read_text()
    prose = FENCED.sub("", text)
    local = [link for link in LINK.findall(prose) if "://" not in link]
    local += FIGURE.findall(text) + INCLUDED.findall(text)
    for link in local:
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name}: {link}"
    examples = {f"gallery/{example.stem}" for example in EXAMPLES}
    for name in PAGE_ROLE.findall(text):
        assert name in examples or (DOCS / f"{name}.md").exists(), name


@pytest.mark.parametrize("name", GUIDE)
def test_guide(name, capsys, tmp_path, monkeypatch):
    if name == "streams":
        pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)  # some write files
    _, checked = run_blocks(DOCS / f"{name}.md", capsys)
    assert checked == GUIDE[name]


def test_every_page_with_code_is_run():
    elsewhere = {"cli", "saving", "index"}  # test_readme.py
    with_code = {page.stem for page in PAGES if "```python\n" in page.read_text()}
    assert with_code == GUIDE.keys() | elsewhere


def test_first_page_has_the_code_of_the_readme():
    code = BLOCK.findall((DOCS / "index.md").read_text())
    assert code and set(code) <= set(BLOCK.findall((ROOT / "README.md").read_text()))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_examples_have_a_title(example):
    """A line, and one of signs under it, as long: the gallery needs both."""
    tree = ast.parse(example.read_text())
    title, line, *_ = ast.get_docstring(tree).splitlines()
    assert title and set(line) == {"="} and len(line) == len(title)


def test_theory_has_the_figures_of_its_example(monkeypatch, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(ROOT / "examples" / "plot_theory.py"))
    plt.close("all")
    rows = printed.getvalue().splitlines()
    assert len(rows) > 40
    page = (DOCS / "theory.md").read_text().splitlines()
    assert not set(rows) - set(page)


def figures(text):
    """Numbers with a unit of speed, time or accuracy in prose and tables.

    A unit may stand behind several numbers (51.0 / 67.9 %), or in the heading of a
    column or of a whole table (accuracy %, seconds).
    """
    found = set()
    text = FENCED.sub("", text).replace("**", "")
    for number, unit, r2, value in MEASURED.findall(text):
        found.add((value, r2) if r2 else (number, unit))
    for line in LISTED.finditer(text):
        unit = re.match(rf" ({UNIT})", text[line.end() :])[1]
        found |= {(number, unit) for number in NUMBER.findall(line[0])}
    for label, heading, cell in cells(text):
        unit = _unit_of(heading) or _unit_of(label[0])
        if unit and not MEASURED.search(cell):
            found |= {(number, unit) for number in NUMBER.findall(cell)}
    return found


def _unit_of(heading):
    if heading in ("seconds", "fit + predict"):
        return "s"
    return "%" if heading.endswith("%") or "%," in heading or "% (" in heading else None


def cells(text):
    """Cells of all tables: (first heading, label of the row), heading, text."""
    heading = None
    for line in FENCED.sub("", text).replace("**", "").splitlines():
        if not line.startswith("|"):
            heading = None
            continue
        row = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if heading is None:
            heading = row
        elif set("".join(row)) - set("-: "):
            for title, cell in zip(heading[1:], row[1:], strict=False):
                yield (heading[0], row[0]), title, cell


@pytest.mark.parametrize("page", WITH_FIGURES, ids=lambda p: p.stem)
def test_figures_are_those_measured(page):
    """Measured once, said twice: a figure that changes there must change here."""
    measured = figures((DOCS / "measured.md").read_text()) | NOMINAL
    unknown = figures(page.read_text()) - measured
    assert not unknown, f"not in docs/measured.md: {sorted(unknown)}"


def test_figures_have_one_value():
    """Cells of one row and one column of two tables have the same first number."""
    values = {}
    for page in WITH_FIGURES:
        for (corner, row), heading, cell in cells(page.read_text()):
            number = NUMBER.search(cell)
            if row and heading and number:
                key = re.split(r"[,(]", corner)[0], row, heading
                value = values.setdefault(key, (number[0], page.name))
                assert value[0] == number[0], f"{key}: {value}, {page.name}"
    assert len(values) > 100


def test_learners_have_one_score():
    """A learner that is named with its score on a data set has one score there."""
    scores = {}
    pattern = re.compile(r"(\d\d\.\d+) %[^|;`]*?, (`[^`]+`)|(`[^`]+`):? (\d\d\.\d+) %")
    for page in WITH_FIGURES:
        for (_, row), _, cell in cells(page.read_text()):
            text = f"{row} {cell}".lower()
            sets = [name for name in DATA if re.search(rf"\b{name}\b", text)]
            for first, learner, other, second in pattern.findall(cell):
                for name in sets:
                    key = name, learner or other
                    value = scores.setdefault(key, first or second)
                    assert value == (first or second), f"{page.name}: {key}"
    assert len(scores) >= 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in 21 s and 13 × as fast", {("21", "s"), ("13", "×")}),
        ("from 51.0 / 67.9 %", {("51.0", "%"), ("67.9", "%")}),
        ("R² 0.981 on 6,553 rows", {("0.981", "R²")}),
        ("| rows | seconds |\n|---|---|\n| 10⁷ | **203** |", {("203", "s")}),
        (
            "| error %, at M = | 8 |\n|---|---|\n| USPS | 90.8 (43.3) |",
            {("90.8", "%"), ("43.3", "%")},
        ),
        ("```\nsleep 9 s\n``` 3 steps of 10⁶ rows", set()),
    ],
)
def test_figures_are_recognised(text, expected):
    assert figures(text) == expected


def test_commands_exist():
    """Benchmarks and papers are named as they are called, on every page."""
    known = set(BENCHMARK.findall((ROOT / "benchmarks" / "__main__.py").read_text()))
    pages = [page.read_text() for page in (ROOT / "README.md", *PAGES)]
    for text in pages:
        named = set(re.findall(r"python -m benchmarks (\w+)", text))
        assert named <= known | {"readme"}
        papers = set(re.findall(r"bochner reproduce ([a-z][\w-]*)", text))
        assert papers <= {*PAPERS, "all"}
    rows = (DOCS / "choose.md").read_text().splitlines()
    by = {cell for row in rows for cell in re.findall(r"\| `([a-z ]+)` \|$", row)}
    assert by <= known | {f"reproduce {paper}" for paper in PAPERS}


def test_reference_lists_every_public_name():
    listed = set(ENTRY.findall((DOCS / "reference.md").read_text()))
    listed |= set(re.findall(r"autodata:: (\w+)", (DOCS / "reference.md").read_text()))
    modules = [bochner, *(getattr(bochner, name) for name in bochner.__all__)]
    names = {name for module in modules for name in getattr(module, "__all__", ())}
    hidden = {"__version__", *(n for n in bochner.__all__ if _is_module(n))}
    assert not names - listed - hidden


def _is_module(name):
    return type(getattr(bochner, name)).__name__ == "module"
