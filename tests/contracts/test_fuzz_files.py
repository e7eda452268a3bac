"""Files and command lines of strangers: rows that keep the contract, or a clear word.

`make fuzz CASES=100000` runs many cases; the default suite few.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from test_fuzz import FEW, INTERNAL, REFUSALS, told

import bochner
from bochner import KernelClassifier, blocks, methods
from bochner.export.archive import FileError
from fuzz_commands import given_commands
from fuzz_files import WHOLE, damaged, given_files, written

typer_testing = pytest.importorskip("typer.testing")
from bochner.app.main import app  # noqa: E402

MANY = settings(FEW, max_examples=5 * FEW.max_examples)
"""Files are read in milliseconds."""

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"target": "y"},
    {"target": "y", "hashed": 8},
    {"target": "y", "frames": True},
    {"columns": ["a", "b"]},
    {"target": "nowhere"},
    {"rows": 2},
    {"weight": "b", "target": "y"},
    {"n_features": 2},
    {"names": ["a", "b", "y"]},
    {"delimiter": ";"},
    {"format": "csv"},
    {"format": "svmlight"},
    {"format": "npz"},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def model(folder):
    X = np.random.default_rng(0).normal(size=(30, 2))
    learner = KernelClassifier(methods.rff(6), alpha=1.0, random_state=0)
    path = folder / "model.bochner"
    bochner.save(learner.fit(X, X[:, 0] > 0), path)
    return path


def check_blocks(read: Any) -> None:
    """Rows of one width, numbers or frames, with as many targets and weights."""
    assert read.about_rows() is None or read.about_rows() >= 0
    widths = set()
    for item in read.walk():
        widths.add(item.X.shape[1])
        if sparse.issparse(item.X) or isinstance(item.X, np.ndarray):
            assert item.X.dtype.kind in "fiub"
        for values in (item.y, item.weight):
            assert values is None or len(values) == item.X.shape[0]
    assert len(widths) <= 1


@MANY
@given(file=given_files(), options=st.sampled_from(OPTIONS))
def test_files_of_any_content(folder, file, options):
    path = written(folder, file)
    try:
        check_blocks(blocks(path, **options))
    except (*REFUSALS, FileNotFoundError) as error:
        words = told(error)
        assert path.name in words or any(name in words for name in options), words


@MANY
@given(content=damaged(b"") | st.binary(max_size=200))
def test_models_of_any_bytes(folder, content):
    path = folder / "any.bochner"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"any.bochner' cannot be read"):
        bochner.load(path)


@MANY
@given(values=st.data())
def test_models_that_were_damaged(folder, model, values):
    whole = model.read_bytes()
    content = values.draw(damaged(whole))
    path = folder / "damaged.bochner"
    path.write_bytes(content)
    if content == whole:
        bochner.load(path)
        return
    with pytest.raises(FileError, match=r"damaged.bochner' cannot be read"):
        bochner.load(path)


@pytest.fixture(scope="module")
def files(folder):
    """Files of three formats, as words of a command line."""
    names = ("table.csv", "numbers.csv", "rows.npz", "rows.svm")
    return [str(written(folder, (f"given_{n}", WHOLE[n]))) for n in names]


@FEW
@given(values=st.data())
def test_commands_of_any_words(folder, files, model, values):
    out = folder / "out"
    words = values.draw(given_commands(files, str(model), str(out)))
    for path in folder.glob("out*"):
        path.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = typer_testing.CliRunner().invoke(app, words)
    unexpected = done.exception is not None
    assert not unexpected or isinstance(done.exception, SystemExit), words
    said = " ".join(done.stderr.split())
    assert "Traceback" not in said and "--debug shows where" not in said, (words, said)
    assert done.exit_code in (0, 1, 2), (words, done.exit_code)
    left = list(folder.glob("out*"))
    if done.exit_code:
        assert "rror" in said, (words, said)
        assert not any(inside in said.lower() for inside in INTERNAL), (words, said)
        assert not left, (words, left)
    elif "--json" in words:
        json.loads(done.stdout)
