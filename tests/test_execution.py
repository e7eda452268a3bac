"""Blocks, budgets, and features kept or made anew."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from bochner import Nystroem, RandomFeatures, blocks
from bochner.execution.features import FeatureRows, raw_features
from bochner.execution.memory import budget, readable
from bochner.execution.sources import ArraySource, Block, BlockSource
from checks import data

X, Y = data(500, 6), np.arange(500.0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, pd.DataFrame])
def test_blocks_of_arrays(form):
    cut = list(blocks(form(X), target=Y, rows=120))
    assert [len(y) for _, y in cut] == [120, 120, 120, 120, 20]
    assert_array_equal(np.concatenate([y for _, y in cut]), Y)
    weighted = list(blocks(form(X), target=Y, weight=Y, rows=400))
    assert [len(w) for _, _, w in weighted] == [400, 100]


def test_blocks_can_be_walked_again():
    for source in ([(X, Y)], lambda: iter([(X, Y)]), blocks([(X, Y)])):
        walked = blocks(source)
        assert len(list(walked)) == len(list(walked)) == 1
    once = blocks(iter([X]))
    assert next(iter(once))[1] is None
    with pytest.raises(ValueError, match=r"walked only once.*a fresh iterator"):
        list(once)


def test_bad_blocks():
    with pytest.raises(TypeError, match=r"must be an array, a path.*got b'x.csv'"):
        blocks(b"x.csv")
    with pytest.raises(ValueError, match="target and weight belong to an array"):
        blocks([X], target=Y)
    with pytest.raises(ValueError, match="X has 500 rows and target has 3"):
        list(blocks(X, target=Y[:3]))
    with pytest.raises(ValueError, match="got a tuple of 4"):
        list(blocks([(X, Y, Y, Y)]))
    with pytest.raises(ValueError, match="rows must be a positive integer, got 0"):
        list(blocks(X, rows=0))


def test_budgets():
    assert budget("Owner", "2 GiB") == 2 << 30
    assert budget("Owner", "500MB") == 500 << 20
    assert budget("Owner", "1.5k") == 1536
    assert budget("Owner", 1000) == 1000
    assert 0 < budget("Owner", None) <= 2 << 30
    assert budget("Owner", ".5 KiB") == 512
    assert budget("Owner", np.int64(1000)) == 1000
    for bad in ("much", "1.2.3 GB", True, [1]):
        with pytest.raises(ValueError, match="Owner: memory must be None, a number"):
            budget("Owner", bad)
    with pytest.raises(ValueError, match="memory must be positive, and finite; got -1"):
        budget("Owner", -1)
    assert readable(3 << 20) == "3 MiB" and readable(5 << 30) == "5.0 GiB"


def _block_source():
    parts = [(X[i : i + 90], Y[i : i + 90], None) for i in range(0, 500, 90)]
    return BlockSource(blocks(parts), Block, 500)


@pytest.mark.parametrize("make", [Nystroem, RandomFeatures])
@pytest.mark.parametrize("memory", [1, 300_000, 10**9])
@pytest.mark.parametrize("source", [ArraySource(X, Y), _block_source()])
def test_kept_or_made_anew_is_the_same(make, memory, source):
    transformer = make(64, gamma=0.2, random_state=0).fit(X)
    raw = raw_features(transformer, X)
    rows = FeatureRows(source, raw, memory)
    for _ in range(2):
        chunks = list(rows.chunks())
        F = np.vstack([chunk.F for chunk in chunks])
        assert_allclose(F, raw.make(X), atol=1e-12)
        assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), Y)
    B = np.random.default_rng(0).normal(size=(64, 2))
    assert_allclose(F @ raw.to_columns(B), transformer.transform(X) @ B, atol=1e-7)
    sample = rows.sample(100)
    assert sample.n_rows == (100 if memory > 1 else 64)
    assert_allclose(sample.F, F[sample.y.astype(int)], atol=1e-12)
    masks = [chunk.y % 3 == 0 for chunk in chunks]
    narrow = rows.narrowed(masks)
    if memory == 1:
        assert narrow is None  # would not fit
    else:
        assert_allclose(narrow.F, F[np.concatenate(masks)], atol=1e-12)


def test_pipelines_end_in_raw_columns():
    pipeline = make_pipeline(StandardScaler(), Nystroem(32, random_state=0)).fit(X)
    raw = raw_features(pipeline, X)
    assert raw.mixing is not None
    assert_allclose(raw.make(X) @ raw.mixing, pipeline.transform(X), atol=1e-9)


def test_integer_features_are_refused():
    codes = FunctionTransformer(lambda A: A.astype(int)).fit(X)
    with pytest.raises(ValueError, match=r"features of type int64.*output='onehot'"):
        raw_features(codes, X)
