"""Shared fixtures."""

from __future__ import annotations

import os

import pytest

# Before SciPy is first imported: scikit-learn's array-API check then runs, not skips.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import zoo
from bochner import KernelClassifier, datasets, methods, save

collect_ignore = ["fuzz_atheris.py"]  # atheris has no wheels for every Python


@pytest.fixture
def real_data():
    """Loads a real data set, or skips the test naming the one that is absent."""

    def load(name: str):
        if name not in datasets.available():
            pytest.skip(f"data set {name!r} is not in BOCHNER_DATA")
        return datasets.load(name)

    return load


@pytest.fixture(params=range(int(os.environ.get("BOCHNER_SEEDS", "1"))))
def global_seed(request) -> int:
    """One seed by default; BOCHNER_SEEDS=100 for a nightly run."""
    return request.param


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """A file with a classifier on Fastfood features: not to be changed."""
    path = tmp_path_factory.mktemp("saved") / "model.bochner"
    features = methods.fastfood(16, random_state=0)
    model = KernelClassifier(features).fit(zoo.rows("dense-float64"), zoo.labels())
    save(model, path)
    return path
