"""The same seed draws the same maps in every version: outputs beside stored ones."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone

import bochner
import zoo
from bochner import KernelClassifier, KernelPCA, KernelRegressor, methods
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
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    check(json.loads(done.stdout), "giga_sorf")


@pytest.mark.parametrize("name", every_model())
def test_pickles_and_chunks_of_any_size(name):
    """A pickle says the same to the bit, rows in pieces the same to rounding."""
    rows = zoo.rows("dense-float64")
    model = zoo.fitted(every_model()[name], rows)
    whole = zoo.outputs(model, rows)
    again = zoo.outputs(pickle.loads(pickle.dumps(model)), rows)
    for one, other in zip(whole, again, strict=True):
        np.testing.assert_array_equal(one, other)
    for size in (1, 7, 64):
        cuts = range(0, len(rows), size)
        pieces = [zoo.outputs(model, rows[start : start + size]) for start in cuts]
        for one, parts in zip(whole, zip(*pieces, strict=True), strict=True):
            np.testing.assert_allclose(np.concatenate(parts), one, rtol=0, atol=1e-9)


MAP = methods.rff(24, gamma=0.05, random_state=0)
LEARNERS = {
    "squared": KernelClassifier(MAP, loss="squared"),
    "log": KernelClassifier(MAP, loss="log", alpha=0.1, tol=1e-12),
    "regressor": KernelRegressor(MAP),
    "pca": KernelPCA(2, features=MAP),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_blocks_of_any_size_and_any_number_of_workers(name):
    """One model, of rows at hand, of blocks, and of a Dask array on several threads."""
    X, learner = zoo.rows("dense-float64"), LEARNERS[name]
    y = zoo.numbers() if name == "regressor" else zoo.labels()

    def said_by(*given):
        (F,) = zoo.outputs(clone(learner).fit(*given), X)[:1]
        return F * np.sign(F[:1]) if name == "pca" else F

    exact = said_by(X, y)
    near = 1e-6 * np.abs(exact).max()
    for size in (9, 40, 90):
        found = said_by(bochner.blocks(X, target=y, rows=size))
        np.testing.assert_allclose(found, exact, rtol=0, atol=near)
    for size, workers in ((30, 1), (30, 3), (17, 4)):
        lazy = da.from_array(X, (size, -1)), da.from_array(y, size)
        with dask.config.set(scheduler="threads", num_workers=workers):
            np.testing.assert_allclose(said_by(*lazy), exact, rtol=0, atol=near)
