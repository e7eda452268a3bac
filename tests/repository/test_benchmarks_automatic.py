"""`python -m benchmarks automatic`: its rows, its results file and its ratios."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from bochner import datasets

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

automatic = pytest.importorskip("benchmarks.automatic")
field_data = pytest.importorskip("benchmarks.field_data")
field_run = pytest.importorskip("benchmarks.field_run")


def cell(seconds, **more):
    return {"fit": seconds, "predict": 0.0, "rows": 100, "score": 0.9, **more}


@pytest.mark.data
@pytest.mark.parametrize("name", ["banana", "usps", "cpusmall", "w8a_train"])
def test_rows_are_those_of_datasets(name):
    if name not in datasets.available():
        pytest.skip(f"{name} is not in BOCHNER_DATA")
    ours, part = datasets.load(name), field_data.load(name)
    pairs = [(ours.X_train, part.X), (ours.X_test, part.X_test)]
    for expected, rows in pairs:
        if hasattr(rows, "toarray"):
            expected, rows = expected.toarray(), rows.toarray()
        np.testing.assert_array_equal(rows, expected)
    if part.classify:
        numbered = np.unique(ours.y_test, return_inverse=True)[1]
        np.testing.assert_array_equal(part.y_test, numbered)
    else:
        np.testing.assert_array_equal(part.y_test, ours.y_test)


@pytest.mark.data
def test_every_row_is_in_one_test_fold():
    if "banana" not in datasets.available():
        pytest.skip("banana is not in BOCHNER_DATA")
    folds = [field_data.load("banana", part) for part in field_data.parts("banana")]
    assert len(folds) == field_data.N_FOLDS
    n = len(folds[0].y) + len(folds[0].y_test)
    assert sum(len(fold.y_test) for fold in folds) == n


def test_results_survive_the_process(tmp_path):
    path = tmp_path / "results.json"
    field_run.Store(path).put("some", "ours", "split", cell(1.0))
    again = field_run.Store(path)
    assert again.get("some", "ours", "split") == cell(1.0)
    again.forget("some", "ours", "split")
    assert again.get("some", "ours", "split") is None


def test_time_of_a_stopped_rival_is_the_limit():
    stopped = cell(2.0, stopped=60.0)  # 2 s are those of fewer rows
    assert field_run.seconds(stopped) == 60.0
    assert automatic.ratio({"ours": cell(3.0), "HGB": stopped}, "HGB") == 0.05
    assert field_run.seconds({"failed": "no memory"}) is None


def test_fewer_rows_have_no_time():
    row = {"HGB": cell(1.0), "SVC": cell(1.0, rows=50)}
    field_run.mark_capped(row)
    assert field_run.seconds(row["HGB"]) == 1.0
    assert field_run.seconds(row["SVC"]) is None


def test_cells_stopped_at_a_lower_limit_are_measured_again():
    assert field_run._is_missing(None, 60.0)
    assert field_run._is_missing(cell(1.0, stopped=60.0), 300.0)
    assert not field_run._is_missing(cell(1.0, stopped=60.0), 60.0)
    assert not field_run._is_missing(cell(1.0), 300.0)


def test_busy_cores_end():
    with automatic.busy_cores() as loops:
        assert len(loops) == os.cpu_count()
        assert all(loop.poll() is None for loop in loops)
    assert all(loop.returncode is not None for loop in loops)
