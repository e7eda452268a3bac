"""Machine code that is kept follows every source that it was made of."""

import shutil
import subprocess
import sys
from pathlib import Path

import bochner
from bochner._core import _compiled

HELPER = """
from ._core._compiled import compiled

@compiled()
def factor(x):
    return {} * x
"""
CALLER = """
from ._core._compiled import compiled
from ._helper import factor

@compiled()
def shifted(x):
    return factor(x) + 1.0
"""
CALL = """
from package._caller import shifted
print(shifted(1.0), sum(shifted.stats.cache_hits.values()))
"""


def called(folder):
    """What a fresh process computes, and how often it found machine code."""
    command = [sys.executable, "-c", CALL]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    value, hits = done.stdout.split()
    return float(value), int(hits)


def test_a_changed_helper_is_compiled_anew_in_its_callers(tmp_path):
    package = tmp_path / "package"
    (package / "_core").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "_core" / "__init__.py").touch()
    shutil.copy(_compiled.__file__, package / "_core")
    (package / "_caller.py").write_text(CALLER)
    (package / "_helper.py").write_text(HELPER.format(2.0))
    assert called(tmp_path) == (3.0, 0)
    assert called(tmp_path) == (3.0, 1)
    kept = sorted(tmp_path.rglob("*.nb?"))
    (package / "_helper.py").write_text(HELPER.format(5.0))
    assert called(tmp_path) == (6.0, 0)
    assert called(tmp_path) == (6.0, 1)
    assert sorted(tmp_path.rglob("*.nb?")) == kept, "outdated files are overwritten"


def test_all_compiled_code_counts():
    folder = Path(bochner.__file__).parent
    sources = [p for p in folder.rglob("*.py") if "numba" in p.read_text()]
    users = [p for p in folder.rglob("*.py") if "import compiled" in p.read_text()]
    assert len(sources) > 2 and len(users) > 5
    for path in {*sources, *users}:
        content = path.read_bytes()
        assert path.name.startswith("_"), "else its changes are not seen"
        assert any(mark in content for mark in _compiled.MARKS)


def test_the_digest_follows_contents_and_names(tmp_path):
    found = []
    for name, text in (("_a.py", "numba"), ("_a.py", "numba 2"), ("_b.py", "numba")):
        (tmp_path / name).write_text(text)
        found.append(_compiled.digest_of_sources(tmp_path))
    (tmp_path / "_other.py").write_text("nothing of that kind")
    (tmp_path / "plain.py").write_text("numba")
    assert len(set(found)) == 3
    assert _compiled.digest_of_sources(tmp_path) == found[-1]
