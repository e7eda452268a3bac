"""Imports point one way, files and functions stay short, Numba stays in its place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import bochner

ROOT = Path(bochner.__file__).parent
LAYERS = [
    {"_version"},
    {
        "_atomic",
        "_compiled",
        "_fingerprint",
        "_progress",
        "_random",
        "_validation",
        "_version",
        "_whole",
        "_blas",
        "_helpers",
        "_names",
        "_ops",
    },
    {"_spread", "_steps"},
    {"_chunk_tasks"},
    {"_lazy"},
    {"_threads", "_distances"},
    {"_bandwidth"},
    {"laws"},
    {"kernels"},
    {"projections"},
    {"_cosine", "_maxout"},
    {"nonlinearities"},
    {"feature_map"},
    {"_transformer"},
    {"_columns"},
    {"landmarks"},
    {"compression", "learning"},
    {"compact", "maps", "nystroem"},
    {"methods", "metrics"},
    {"linear"},
    {"execution"},
    {"estimators"},
    {"preprocessing"},
    {"datasets", "persistence", "onnx", "theory"},
    {"comparison"},
    {"recommend", "report"},
    {"jobs"},
    {"cli"},
    {"__init__", "__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
FILES = sorted(ROOT.rglob("*.py"))


def layer_of(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    """Top-level parts of bochner that a file imports, its own folder aside."""
    depth = len(path.relative_to(ROOT).parts)
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            names = [node.module] if node.module else [a.name for a in node.names]
            found |= {name.split(".")[0] for name in names if name}
    return found


def imported_modules(path: Path) -> set[str]:
    """Packages that a file imports by their full names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").split(".")[0])
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_left(path):
    own = RANK[layer_of(path)]
    for name in imported_layers(path):
        assert RANK[name] < own, f"{path.name} imports {name}, which is not below it"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_sizes(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 500
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert length <= 40, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_compiled_code_lives_in_private_files_of_functions(path):
    modules = imported_modules(path)
    assert "bochner" not in modules, "inside the package, imports are relative"
    if "numba" in modules or "_compiled" in imported_layers(path):
        assert path.name.startswith("_")
        classes = [
            n
            for n in ast.walk(ast.parse(path.read_text()))
            if isinstance(n, ast.ClassDef)
        ]
        # _simd.py defines the vector type that the others compute with
        assert not classes or path.name == "_simd.py"


def test_extras_are_imported_where_they_are_used():
    """The library works, and is fast to import, without them."""
    extras = ("dask", "distributed", "pyarrow", "onnx", "onnxruntime")
    extras += ("typer", "rich", "plotly", "jinja2", "pandas", "polars")
    places = {extra: set() for extra in extras}
    for path in FILES:
        for module in imported_modules(path) & places.keys():
            places[module].add(path.relative_to(ROOT).as_posix())
    assert places["dask"] == {
        "_lazy.py",
        "execution/dask.py",
        "execution/dask_source.py",
    }
    assert places["distributed"] == {"execution/dask.py"}
    tables = {p for p in places["pyarrow"] if not p.startswith("execution/")}
    assert tables == {"jobs/predicting.py"}
    for module in ("typer", "rich"):
        assert {place.split("/")[0] for place in places[module]} == {"cli"}
    for module in ("plotly", "jinja2"):
        assert {place.split("/")[0] for place in places[module]} == {"report"}
    assert places["onnx"] == {"onnx/__init__.py", "onnx/graph.py"}
    assert not places["onnxruntime"]


def test_nothing_left_of_the_command_line_prints():
    for path in FILES:
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if _is_print(n)]
        allowed = layer_of(path) in ("cli", "_progress")
        assert allowed or not calls, path


def _is_print(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    )
