"""Imports point one way, files and functions stay short, Numba stays in its place."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import bochner

ROOT = Path(bochner.__file__).parent
ARROWS = [
    "_core",
    "kernels",
    "projections",
    "nonlinearities",
    "features.feature_map",
    "compression",
    "features",
    "methods",
    "solvers",
    "data",
    "engines",
    "learners",
    "export",
    "compare",
    "app",
]
"""The rooms, each of which may import those before it (DESIGN: the tree)."""

PUBLIC = {
    "theory": "kernels",
    "datasets": "data",
    "preprocessing": "data",
    "onnx": "export",
    "metrics": "compare",
    "report": "compare",
    "__init__": "app",
    "__main__": "app",
}
"""Modules outside the rooms, and the last room that they may import."""

FILES = sorted(ROOT.rglob("*.py"))
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in FILES
}


def room_of(module: str) -> str:
    """The room of a module, by its place in ARROWS."""
    if module == "features.feature_map":
        return module
    return module.split(".")[0]


def rank(module: str) -> float:
    """The place of a module's room in ARROWS; public modules stand behind theirs."""
    room = room_of(module)
    if room in ("__init__", "__main__"):
        return len(ARROWS)
    return ARROWS.index(PUBLIC[room]) + 0.5 if room in PUBLIC else ARROWS.index(room)


def imported(module: str, *, on_use: bool) -> set[str]:
    """Modules of bochner that a module imports, at its top or also in functions."""
    tree = ast.parse(MODULES[module].read_text())
    nodes = ast.walk(tree) if on_use else tree.body
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            package = module.split(".")[:-1]
            base = package[: len(package) - node.level + 1]
            base += node.module.split(".") if node.module else []
            for alias in node.names:
                inside = [*base, alias.name]
                places = (inside, [*inside, "__init__"], base, [*base, "__init__"])
                names = (".".join(place) for place in places)
                found.add(next(name for name in names if name in MODULES))
    return found - {module}


def imported_packages(path: Path) -> set[str]:
    """Packages that a file imports by their full names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").split(".")[0])
    return found


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_left(module):
    for name in imported(module, on_use=True):
        if room_of(name) != room_of(module):
            assert rank(name) < rank(module), f"{module} imports {name}, above it"


def test_no_module_imports_itself_through_others():
    graph = {module: imported(module, on_use=False) for module in MODULES}
    # a package's __init__ imports its modules, which may import another room's package
    list(TopologicalSorter(graph).static_order())


def test_rooms():
    rooms = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert rooms == {room for room in ARROWS if "." not in room}
    loose = {path.stem for path in ROOT.glob("*.py")}
    assert loose == PUBLIC.keys(), "private modules belong into a room"


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
    packages = imported_packages(path)
    assert "bochner" not in packages, "inside the package, imports are relative"
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    is_compiled = "_core._compiled" in imported(module, on_use=True)
    if "numba" in packages or is_compiled:
        assert path.name.startswith("_")
        nodes = ast.walk(ast.parse(path.read_text()))
        # _simd.py defines the vector type that the others compute with
        is_vector_type = path.name == "_simd.py"
        assert is_vector_type or not any(isinstance(n, ast.ClassDef) for n in nodes)


def test_extras_are_imported_where_they_are_used():
    """The library works, and is fast to import, without them."""
    extras = ("dask", "distributed", "pyarrow", "onnx", "onnxruntime")
    extras += ("typer", "rich", "plotly", "jinja2", "pandas", "polars")
    places = {extra: set() for extra in extras}
    for path in FILES:
        for module in imported_packages(path) & places.keys():
            places[module].add(path.relative_to(ROOT).as_posix())
    assert places["dask"] == {
        "_core/remote_rows.py",
        "data/stream.py",
        "engines/dask.py",
    }
    assert places["distributed"] == {"engines/dask.py"}
    tables = {p for p in places["pyarrow"] if not p.startswith("data/")}
    assert tables == {"app/predicting.py"}
    for module in ("typer", "rich"):
        assert {place.split("/")[0] for place in places[module]} == {"app"}
    for module in ("plotly", "jinja2"):
        assert {str(Path(place).parent) for place in places[module]} == {
            "compare/report"
        }
    assert places["onnx"] == {"export/onnx.py", "export/onnx_graph.py"}
    assert not places["onnxruntime"]


def test_nothing_left_of_the_command_line_prints():
    for path in FILES:
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if _is_print(n)]
        place = path.relative_to(ROOT).as_posix()
        allowed = place.startswith("app/") or place == "_core/progress.py"
        assert allowed or not calls, path


def _is_print(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    )
