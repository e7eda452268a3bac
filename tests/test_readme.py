"""The README's examples run, in order, and print what they say."""

import re
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def test_examples(capsys):
    blocks = BLOCK.findall(README.read_text())
    assert len(blocks) >= 3
    namespace = {}
    for block in blocks:
        exec(block, namespace)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "0.99"
    assert printed[2] == "0.05"
    assert "randomfeatures__gamma" in printed[3]
    assert printed[4] == "(200, 500)"
    wide, kept = namespace["wide"], namespace["kept"]
    assert kept.shape == (200, namespace["k"]) == (200, 845)
    pairs = np.triu_indices(200, k=1)
    squares = [euclidean_distances(rows, squared=True)[pairs] for rows in (kept, wide)]
    assert abs(squares[0] / squares[1] - 1).max() < 0.3
