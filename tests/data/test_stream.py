"""Blocks, budgets, and features kept or made anew."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from bochner import KernelRegressor, Nystroem, RandomFeatures, blocks, estimate
from bochner._core import memory as memory_budgets
from bochner._core.memory import budget, machine_bytes, readable
from bochner.engines.checkpoint import Checkpoint
from bochner.engines.local import FeatureRows, raw_features
from bochner.engines.sources import ArraySource, Block, BlockSource
from bochner.solvers.moments import Moments
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
    with pytest.raises(ValueError, match="memory must be positive and finite; got -1"):
        budget("Owner", -1)
    assert readable(3 << 20) == "3 MiB" and readable(5 << 30) == "5.0 GiB"


def _control_groups(root, lines, limits):
    """A tree of files as the kernel shows control groups, below `root`."""
    files = {"proc/self/cgroup": "\n".join(lines) + "\n"}
    files |= {f"sys/fs/cgroup/{name}": f"{limit}\n" for name, limit in limits.items()}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


UNLIMITED = 9223372036854771712  # what version 1 shows where there is no limit
GROUPS = {
    "version 2, in a container": (["0::/"], {"memory.max": 3 << 30}),
    "version 2, a parent limits": (
        ["0::/user.slice/job"],
        {"user.slice/job/memory.max": "max", "user.slice/memory.max": 3 << 30},
    ),
    "version 2, the least of all": (
        ["0::/a/b"],
        {"a/b/memory.max": 3 << 30, "a/memory.max": 4 << 30},
    ),
    "version 1": (
        ["12:cpu,cpuacct:/docker/x", "9:memory:/docker/x", "1:name=systemd:/docker/x"],
        {
            "memory/docker/x/memory.limit_in_bytes": 3 << 30,
            "memory/memory.limit_in_bytes": UNLIMITED,
        },
    ),
    "version 1, the host's path in a container": (
        ["9:blkio,memory:/docker/x"],
        {"memory/memory.limit_in_bytes": 3 << 30},
    ),
    "both versions": (
        ["9:memory:/batch/7", "0::/batch/7"],
        {"memory/batch/7/memory.limit_in_bytes": 3 << 30},
    ),
}


@pytest.mark.parametrize("case", GROUPS)
def test_limits_of_control_groups(case, tmp_path, monkeypatch):
    _control_groups(tmp_path, *GROUPS[case])
    limits = list(memory_budgets._group_limits(tmp_path))
    assert min(limits) == 3 << 30
    monkeypatch.setattr(memory_budgets, "_physical_bytes", lambda: 1 << 40)
    monkeypatch.setattr(memory_budgets, "_group_limits", lambda root: iter(limits))
    assert machine_bytes() == 3 << 30
    assert budget("Owner", None) == (3 << 30) // 4
    plan = estimate(KernelRegressor(64), n=10**8, d=8)  # 6 GiB of data
    assert not plan.fits and any("The data take" in line for line in plan.advice)


@pytest.mark.parametrize(
    "lines, limits",
    [
        (["0::/a"], {"a/memory.max": "max"}),
        (["0::/a"], {}),
        (["3:cpu:/a"], {"memory/a/memory.limit_in_bytes": 1}),
    ],
)
def test_no_limit_but_the_machine(lines, limits, tmp_path):
    _control_groups(tmp_path, lines, limits)
    assert not list(memory_budgets._group_limits(tmp_path))
    assert not list(memory_budgets._group_limits(tmp_path / "no such folder"))


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


def _fold(rows, scale=1.0, added=None):
    """A sum of targets in `t`, and how many chunks are in it in `n_rows`."""

    def add(total, chunk):
        total.t += scale * chunk.y.sum()
        total.n_rows += 1
        if added is not None:
            added.append(scale)

    return rows.fold(lambda place: Moments.zero(1, 1), add)


@pytest.mark.parametrize("source", [ArraySource(X, Y), _block_source()])
def test_every_fold_begins_anew(source, tmp_path):
    raw = raw_features(RandomFeatures(8, gamma=0.2, random_state=0).fit(X), X)
    for checkpoint in (Checkpoint(None), Checkpoint(tmp_path / "c")):
        rows = FeatureRows(source, raw, 10**6, checkpoint=checkpoint)
        for scale in (1.0, 1.0, 3.0):
            assert _fold(rows, scale).t == scale * Y.sum()


def test_a_fold_is_resumed_once_and_from_its_own_state(tmp_path):
    """Stopped in the second of three folds, at its fourth of six blocks."""
    raw = raw_features(RandomFeatures(8, gamma=0.2, random_state=0).fit(X), X)
    readable_blocks, added = 6 + 3, []

    def read():
        nonlocal readable_blocks
        for start in range(0, 500, 90):
            if not readable_blocks:
                raise OSError("the disk is gone")
            readable_blocks -= 1
            yield X[start : start + 90], Y[start : start + 90], None

    def three_folds():
        source = BlockSource(blocks(read), Block, 500)
        checkpoint = Checkpoint(tmp_path / "c")
        rows = FeatureRows(source, raw, 10**6, checkpoint=checkpoint)
        totals = []
        for scale in (1.0, 3.0, 5.0):
            total = _fold(rows, scale, added)
            totals.append((float(total.t[0] / Y.sum()), total.n_rows))
            total.t[:] = np.nan  # a total belongs to the caller
        return totals

    with pytest.raises(OSError, match="the disk is gone"):
        three_folds()
    readable_blocks = 100
    added.clear()
    assert three_folds() == [(1.0, 6), (3.0, 6), (5.0, 6)]
    assert [added.count(scale) for scale in (1.0, 3.0, 5.0)] == [6, 3, 6]
