"""Without the network, and without any extra: what works, and what is said if not."""

import subprocess
import sys
from pathlib import Path

import pytest

EXTRAS = (
    "dask",
    "distributed",
    "jinja2",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "pandas",
    "plotly",
    "polars",
    "pyarrow",
    "rich",
    "typer",
)
WITHOUT = """
import sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        absent = name.split(".")[0] in {!r}
        return None if absent else super().find_spec(name, path, target)

sys.meta_path = [Finder if f is PathFinder else f for f in sys.meta_path]
"""
OFFLINE = """
import socket

def refused(*args, **kwargs):
    raise AssertionError("the network was asked for")

socket.socket.connect = socket.socket.connect_ex = refused
socket.getaddrinfo = socket.create_connection = refused
"""
NEEDS = {
    # an extra's packages, what asks for them, and the line that brings them
    "onnx": ("bochner.onnx.export(model, 'm.onnx')", "pip install bochner[onnx]"),
    "plotly": ("report.write(None, 'r.html')", "pip install bochner[report]"),
    "jinja2": ("report.write(None, 'r.html')", "pip install bochner[report]"),
    "pyarrow": (
        "list(bochner.blocks('a.csv', target='y'))",
        "pip install 'bochner[dask]'",
    ),
    "typer": (
        "from bochner.__main__ import main; main()",
        "pip install 'bochner[cli]'",
    ),
    "matplotlib": ("few.compression_.plot()", "pip install matplotlib"),
}
FITTED = """
import bochner
from bochner import report
X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 1.0]] * 8
y = [0, 1, 1, 0] * 8
model = bochner.KernelClassifier(bochner.methods.rff(8), random_state=0).fit(X, y)
few = bochner.methods.giga(4, n_candidates=20, random_state=0).fit(X)
open("a.csv", "w").write("x,y\\n1,2\\n")
"""


def run(script, folder):
    words = [sys.executable, "-c", script]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def test_all_but_extras_works_without_them(tmp_path):
    smoke = (Path(__file__).parents[1] / "smoke.py").read_text()
    done = run(WITHOUT.format(EXTRAS) + OFFLINE + smoke, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("package", NEEDS)
def test_what_is_missing_is_named(package, tmp_path):
    asked, line = NEEDS[package]
    done = run(WITHOUT.format((package,)) + FITTED + asked, tmp_path)
    assert done.returncode != 0
    assert line in done.stderr.strip().splitlines()[-1], done.stderr


@pytest.mark.parametrize("words", [["info", "m.bochner"], ["compare", "--help"]])
def test_the_command_line_asks_no_network(words, tmp_path):
    script = OFFLINE + FITTED + "bochner.save(model, 'm.bochner')\n"
    script += f"import sys; sys.argv = ['bochner', *{words!r}]\n"
    done = run(script + "from bochner.__main__ import main; main()", tmp_path)
    assert done.returncode == 0, done.stderr
