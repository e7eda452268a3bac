"""From files to models: what is streamed is what would have been learned at once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import (
    balanced_accuracy_score,
    precision_score,
    r2_score,
    recall_score,
)

from bochner import KernelClassifier, KernelRegressor, blocks
from bochner.app import opening as gathering
from bochner.app.fitting import Learning, fit
from bochner.app.opening import gathered, open_data, sampled
from bochner.app.predicting import (
    evaluate,
    rows_for,
    unknown_columns,
    write_predictions,
)


@pytest.fixture
def folder(tmp_path):
    """A table whose rows are sorted by class: no first block is like the whole."""
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(rng.normal(size=(n, 4)).round(6), columns=list("abcd"))
    frame.loc[frame.index % 11 == 3, "b"] = np.nan
    frame["colour"] = rng.choice(["red", "blue"], n)
    frame["value"] = np.sin(2 * frame["a"]) + (frame["colour"] == "red")
    frame["label"] = np.where(frame["value"] > 0.5, "high", "low")
    frame = frame.sort_values("label", ignore_index=True)
    frame.to_csv(tmp_path / "all.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("target", ["label", "value"])
def test_streams_teach_what_the_whole_teaches(folder, target, monkeypatch):
    other = {"label": "value", "value": "label"}[target]
    learning = Learning(size=40, loss="squared", columns={"drop": [other]})
    source = str(folder / "all.csv")
    whole = fit(open_data(source, target=target, columns=learning.columns), learning)
    monkeypatch.setattr(gathering, "WHOLE_BYTES", 1000)
    monkeypatch.setattr("bochner.data.stream.ROWS", 200)
    stages: list = []
    rows: list = []
    data = open_data(source, target=target, columns=learning.columns)
    parts = fit(data, learning, stages.append, rows.append)
    assert parts.streamed and not whole.streamed
    assert parts.n_rows == whole.n_rows == 600
    assert "learning from all rows" in stages and sum(rows) > 600
    frame = pd.read_csv(source)
    if target == "label":
        S, expected = (m.model.decision_function(frame) for m in (parts, whole))
    else:
        S, expected = (m.model.predict(frame) for m in (parts, whole))
    np.testing.assert_allclose(S, expected, atol=1e-3 * abs(expected).max())


def test_streams_are_learned_from_a_sample_of_all_blocks(folder, monkeypatch):
    """The first blocks hold one class only: a map of them would know no other."""
    learning = Learning(size=40, columns={"drop": ["value"]})
    source = str(folder / "all.csv")
    whole = fit(open_data(source, target="label", columns=learning.columns), learning)
    monkeypatch.setattr(gathering, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(gathering, "SAMPLE_ROWS", 300)
    monkeypatch.setattr("bochner.data.stream.ROWS", 200)
    parts = fit(open_data(source, target="label", columns=learning.columns), learning)
    frame = pd.read_csv(source)
    score, least = (m.model.score(frame, frame["label"]) for m in (parts, whole))
    assert parts.streamed and score > least - 0.05


def test_samples_do_not_depend_on_blocks():
    X = np.arange(1000.0).reshape(-1, 1)
    found = [sampled(blocks(X, target=X[:, 0], rows=rows), 50) for rows in (7, 1000)]
    assert (found[0][0] == found[1][0]).all() and found[0][2] == 1000
    assert (found[0][0][:, 0] == found[0][1]).all()
    assert len(np.unique(found[0][1])) == 50
    # uniform: the mean of 50 of 1000 is within 5 standard deviations
    assert abs(found[0][1].mean() - 499.5) < 5 * 1000 / np.sqrt(12 * 50)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, pd.DataFrame])
def test_gathered_rows_are_all_rows(make):
    X = make(np.arange(30.0).reshape(-1, 2))
    rows, y = gathered(blocks(X, target=np.arange(15), rows=4))
    dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    assert (dense == np.arange(30.0).reshape(-1, 2)).all()
    assert (y == np.arange(15)).all()


def test_figures_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, "a", np.where(X[:, 2] > 0, "b", "c"))
    model = KernelClassifier(20, loss="squared", random_state=0).fit(X[:200], y[:200])
    found = evaluate(model, blocks(X, target=y, rows=70))
    said = model.predict(X)
    assert found.accuracy == model.score(X, y)
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(y, said))
    recalls = recall_score(y, said, average=None)
    precisions = precision_score(y, said, average=None)
    assert [c.recall for c in found.classes] == pytest.approx(recalls)
    assert [c.precision for c in found.classes] == pytest.approx(precisions)
    low, high = found.interval
    assert low < found.accuracy < high


def test_numbers_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = 1e9 + X[:, 0]
    model = KernelRegressor(20, random_state=0).fit(X, y)
    found = evaluate(model, blocks(X, target=y, rows=50))
    assert found.r2 == pytest.approx(r2_score(y, model.predict(X)), abs=1e-6)


def test_learners_of_named_streams_serve_tables(tmp_path):
    """Fitted in Python on files, used by the command line on a table in any order."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 3)), columns=["a", "b", "c"])
    frame["y"] = frame["a"] - frame["b"]
    frame.to_csv(tmp_path / "train.csv", index=False)
    stream = blocks(str(tmp_path / "train.csv"), target="y")
    model = KernelRegressor(20, random_state=0).fit(stream)
    frame[["c", "y", "b", "a"]].to_csv(tmp_path / "new.csv", index=False)
    rows = rows_for(model, str(tmp_path / "new.csv"), "y", supervised=True)
    assert evaluate(model, rows).r2 == pytest.approx(model.score(stream))
    assert unknown_columns(model, str(tmp_path / "new.csv")) == ["y"]


def test_sparse_rows_that_end_early_are_made_as_wide(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random(80, 6, density=0.5, format="csr", random_state=rng)
    y = rng.integers(0, 2, 80)
    model = KernelClassifier(10, random_state=0).fit(X, y)
    (tmp_path / "new.svmlight").write_text("1 1:0.5 2:0.25\n0 1:1\n")
    rows = rows_for(model, str(tmp_path / "new.svmlight"), None, supervised=False)
    assert next(iter(rows))[0].shape == (2, 6)
    n = write_predictions(model, rows, tmp_path / "s.csv")
    assert n == 2 and len((tmp_path / "s.csv").read_text().splitlines()) == 3


def test_a_failing_stream_leaves_the_old_predictions(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = KernelRegressor(10, random_state=0).fit(X, X[:, 0])
    path = tmp_path / "s.csv"
    write_predictions(model, blocks(X), path)
    before = path.read_text()

    def broken():
        yield X
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        write_predictions(model, blocks(broken), path)
    assert path.read_text() == before and len(list(tmp_path.iterdir())) == 1


def test_labels_of_another_kind_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = KernelClassifier(10, random_state=0).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="make them of one kind"):
        evaluate(model, blocks(X, target=np.where(X[:, 0] > 0, "yes", "no")))
    with pytest.raises(ValueError, match="there is no target"):
        evaluate(model, blocks(X))


def test_splits_of_npz_files_are_kept(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    path = tmp_path / "parts.npz"
    np.savez(path, X_train=X[:30], y_train=y[:30], X_test=X[30:], y_test=y[30:])
    data = open_data(str(path))
    assert next(iter(data.blocks))[0].shape == (30, 2)
    assert next(iter(data.test))[0].shape == (10, 2)


def test_a_class_that_no_sample_has_leaves_the_others(folder, monkeypatch):
    source = str(folder / "all.csv")
    frame = pd.read_csv(source)
    monkeypatch.setattr(gathering, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(gathering, "SAMPLE_ROWS", 100)
    monkeypatch.setattr("bochner.data.stream.ROWS", 200)
    learning = Learning(size=40, columns={"drop": ["value"]})
    opened = partial(open_data, source, target="label", columns=learning.columns)
    before = fit(opened(), learning).model.score(frame, frame["label"])
    frame.loc[0, "label"] = "rare"
    frame.to_csv(source, index=False)
    found = fit(opened(), learning).model
    assert found.classes_.tolist() == ["high", "low", "rare"]
    assert found.score(frame, frame["label"]) > before - 0.05


def test_several_files_are_read_as_the_first(tmp_path):
    (tmp_path / "1.csv").write_text("code,y\n007,1\nA1,0\n")
    (tmp_path / "2.csv").write_text("code,y\n007,1\n008,0\n")
    data = open_data(str(tmp_path / "*.csv"), target="y")
    codes = [code for X, _ in data.blocks for code in X["code"]]
    assert codes == ["007", "A1", "007", "008"]


def test_targets_of_several_columns_are_refused(tmp_path):
    np.savez(tmp_path / "two.npz", X=np.eye(8), y=np.eye(8)[:, :2])
    with pytest.raises(ValueError, match=r"must be one column; .*\(8, 2\)"):
        fit(open_data(str(tmp_path / "two.npz")), Learning())


def test_one_right_row_does_not_promise_perfection():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = KernelClassifier(10, random_state=0).fit(X, X[:, 0] > 0)
    found = evaluate(model, blocks(X[:1], target=model.predict(X[:1])))
    low, high = found.interval
    assert low < 0.3 and high == pytest.approx(1)


def test_columns_that_are_not_what_they_seem_are_told(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200).round(3).astype(str)})
    frame["id"] = [f"row {i}" for i in range(200)]
    frame["kind"] = rng.choice(["x", "y"], 200)
    frame.loc[7, "a"] = "oops"
    frame["y"] = rng.integers(0, 2, 200)
    path = str(tmp_path / "odd.csv")
    frame.to_csv(path, index=False)
    learning = Learning(size=10, loss="squared")
    notes = " ".join(fit(open_data(path, target="y"), learning).notes)
    assert "'oops' is not a number" in notes and "--drop id" in notes
    assert "kind is" not in notes and "kind has" not in notes
    asked = Learning(size=10, loss="squared", columns={"categories": ["a", "id"]})
    data = open_data(path, target="y", columns=asked.columns)
    assert "oops" not in " ".join(fit(data, asked).notes)


def test_columns_are_for_tables(tmp_path):
    np.savez(tmp_path / "rows.npz", X=np.eye(8), y=np.arange(8) % 2)
    learning = Learning(columns={"drop": ["a"]})
    with pytest.raises(ValueError, match="name columns of tables"):
        fit(open_data(str(tmp_path / "rows.npz")), learning)


@pytest.mark.parametrize("target", ["label", "value"])
def test_a_stream_that_breaks_goes_on_where_it_was(folder, target, monkeypatch):
    other = {"label": "value", "value": "label"}[target]
    monkeypatch.setattr(gathering, "WHOLE_BYTES", 1000)
    monkeypatch.setattr("bochner.data.stream.ROWS", 50)
    checkpoint = folder / "fit.checkpoint"
    learning = Learning(size=20, columns={"drop": [other]}, features="rff")
    kept = replace(learning, checkpoint=str(checkpoint))
    source = str(folder / "all.csv")
    opened = partial(open_data, source, target=target, columns=learning.columns)
    counted: list = []
    expected = fit(
        opened(),
        learning,
        read=counted.append,
    )
    broken: list = []

    def breaks(n):
        broken.append(n)
        if len(broken) == len(counted) - 2:
            raise KeyboardInterrupt

    every = {"checkpoint_every": 1}
    monkeypatch.setattr(Learning, "estimator", _with(Learning.estimator, every))
    with pytest.raises(KeyboardInterrupt):
        fit(
            opened(),
            kept,
            read=breaks,
        )
    assert checkpoint.exists()
    found = fit(opened(), kept)
    assert not checkpoint.exists()
    frame = pd.read_csv(source)
    assert (found.model.predict(frame) == expected.model.predict(frame)).all()


def _with(make, parameters):
    return lambda self, task: make(self, task).set_params(**parameters)
