"""What `import bochner` may not do: compile, or pull in what it does not need."""

import subprocess
import sys

SCRIPT = """
import sys
import numba, scipy.linalg, sklearn.base
before = set(sys.modules)
import bochner
from bochner.nonlinearities import _cosine
from bochner.projections import _product
for kernel in (_cosine.cos_phase, _cosine.cos_sin, _product.csr_times_dense):
    assert not kernel.signatures, kernel
heavy = {"sklearn.metrics", "sklearn.datasets", "scipy.stats", "pandas", "matplotlib"}
added = heavy & (set(sys.modules) - before)
assert not added, added
missing = [name for name in bochner.__all__ if not hasattr(bochner, name)]
assert not missing, missing
"""


def test_import_is_light():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)
