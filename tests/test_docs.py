"""The documentation: links lead somewhere, code runs, figures are those measured."""

import ast
import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

import bochner
from bochner.reproduce import PAPERS
from test_readme import BLOCK, run_blocks

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
GUIDE = {
    # pages whose code runs, and how many lines of each say what they print
    "learners": 7,
    "features": 7,
    "kernels": 3,
    "compression": 5,
    "learned": 4,
    "codes": 5,
    "pipelines": 5,
    "streams": 4,
    "coming_from": 2,
}
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FIGURE = re.compile(r"^:{3,}\{figure\} (\S+)$", re.MULTILINE)
PAGE_ROLE = re.compile(r"\{doc\}`([\w/]+)`")
INCLUDED = re.compile(r"^ *```\{(?:literal)?include\} (\S+)$", re.MULTILINE)
ENTRY = re.compile(r"^   (\w[\w.]*)$", re.MULTILINE)
FENCED = re.compile(r"```.*?```", re.DOTALL)
BENCHMARK = re.compile(r'"(\w+)": \w+\.run')
NUMBER = re.compile(r"\d+\.\d+|\d{2,}(?= s\b| ×)")


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


@pytest.mark.parametrize("name", ["choose", "index"])
def test_figures_are_those_measured(name):
    """Measured once, said twice: a figure that changes there must change here."""
    measured = (DOCS / "measured.md").read_text()
    for line in _outside_markers((DOCS / f"{name}.md").read_text()).splitlines():
        if line.startswith("|"):
            for number in NUMBER.findall(line):
                assert number in measured, f"{number}: {line}"


def _outside_markers(text):
    """Without what `python -m benchmarks readme` writes."""
    return re.sub(r"<!-- (\w+):begin -->.*?<!-- \1:end -->", "", text, flags=re.DOTALL)


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
