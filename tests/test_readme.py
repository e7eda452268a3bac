"""The README's examples run, in order, and print what they say."""

import re
from pathlib import Path

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
    assert printed[4] == "(1000, 1024)"
