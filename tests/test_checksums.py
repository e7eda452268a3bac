"""The same seed draws the same maps in every version: outputs beside stored ones."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bochner
from make_checksums import DIGITS, FILE, every_model, said

STORED = json.loads(FILE.read_text())
LEARNED = ("compact", "compact_circulant", "classifier", "regressor", "pca")
"""What begins with these is found by iterations, which rounding leads astray."""


def tolerance(name):
    return 1e-3 if name.startswith(LEARNED) else 2 * 10.0**-DIGITS


def check(found, name):
    np.testing.assert_allclose(found, STORED[name], rtol=0, atol=tolerance(name))


@pytest.mark.parametrize("name", every_model())
def test_versions_agree(name):
    check(said(every_model()[name]), name)


def test_all_are_stored():
    assert STORED.keys() == every_model().keys()


@pytest.mark.parametrize("name", ["sorf", "nystroem", "giga", "classifier"])
def test_one_thread(name):
    with bochner.threads(1):
        check(said(every_model()[name]), name)


def test_another_process():
    """Hash seeds, import orders and caches have no say."""
    words = "import make_checksums as m; print(m.said(m.every_model()['giga_sorf']))"
    done = subprocess.run(
        [sys.executable, "-c", words],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    check(json.loads(done.stdout), "giga_sorf")
