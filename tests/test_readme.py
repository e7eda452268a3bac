"""The examples of the README run, and print what they say."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
SAID = re.compile(r"^print\(.*\)  # ([\d(T].*)$")


def test_examples(capsys, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)  # some write files
    blocks = BLOCK.findall(README.read_text())
    assert len(blocks) >= 6
    namespace = {}
    checked = 0
    for block in blocks:
        exec(block, namespace)
        printed = capsys.readouterr().out.splitlines()
        lines = [line for line in block.splitlines() if line.startswith("print(")]
        assert len(printed) == len(lines)
        for line, found in zip(lines, printed, strict=True):
            said = SAID.match(line)
            if said:
                assert found == said[1], line
                checked += 1
    assert checked >= 8
    wide, kept = namespace["wide"], namespace["kept"]
    assert kept.shape == (200, namespace["k"]) == (200, 845)
    pairs = np.triu_indices(200, k=1)
    squares = [euclidean_distances(rows, squared=True)[pairs] for rows in (kept, wide)]
    assert abs(squares[0] / squares[1] - 1).max() < 0.3
