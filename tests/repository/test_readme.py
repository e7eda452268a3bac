"""The examples of the README and of docs run, and print what they say."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
SAID = re.compile(r"^print\(.*\)  # ([\d({T].*)$")


def run_blocks(path, capsys):
    """What all blocks leave behind, and how many lines said what they print."""
    namespace, checked = {}, 0
    for block in BLOCK.findall(path.read_text()):
        exec(block, namespace)
        printed = capsys.readouterr().out.splitlines()
        lines = [line for line in block.splitlines() if line.startswith("print(")]
        assert len(printed) == len(lines)
        for line, found in zip(lines, printed, strict=True):
            said = SAID.match(line)
            if said:
                assert found == said[1], line
                checked += 1
    return namespace, checked


def test_saving(capsys, tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    _, checked = run_blocks(ROOT / "docs" / "saving.md", capsys)
    assert checked == 3
    assert (tmp_path / "wide.bochner").stat().st_size < 2000


def test_readme(capsys, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)  # some write files
    _, checked = run_blocks(ROOT / "README.md", capsys)
    assert checked == 10


def test_projections_of_the_guide_keep_every_distance(capsys):
    namespace, _ = run_blocks(ROOT / "docs" / "features.md", capsys)
    wide, kept = namespace["wide"], namespace["kept"]
    assert kept.shape == (200, namespace["k"]) == (200, 845)
    pairs = np.triu_indices(200, k=1)
    squares = [euclidean_distances(rows, squared=True)[pairs] for rows in (kept, wide)]
    assert abs(squares[0] / squares[1] - 1).max() < 0.3


def test_command_line(capsys):
    _, checked = run_blocks(ROOT / "docs" / "cli.md", capsys)
    assert checked == 2
