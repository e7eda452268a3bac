"""The command line: what each command does, says and leaves behind."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline

import bochner
from bochner import KernelClassifier, KernelRegressor, preprocessing

typer_testing = pytest.importorskip("typer.testing")

from bochner.app.main import app  # noqa: E402

MODULE = [sys.executable, "-m", "bochner"]
SMALL = ["--size", "24", "--loss", "squared"]


def call(*words, code: int = 0):
    """The result of a command that ends with this exit code."""
    done = typer_testing.CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, (done.stdout, done.stderr)
    return done


def failed(*words) -> str:
    """What standard error says of a command that a user got wrong."""
    done = call(*words, code=1)
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """A table as they come; its text is longer than a block of digits."""
    rng = np.random.default_rng(0)
    n = 400
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    frame = pd.DataFrame(
        {
            "area": rng.gamma(9, 12, n),
            "rooms": rng.integers(1, 9, n),
            "city": rng.choice(["Ulm", "Köln", "a, b"], n),
            "<script>": rng.choice(["<b>", "&amp;"], n),
            "day": days,
            "empty": np.nan,
        }
    )
    frame.loc[frame.index % 7 == 1, ["area", "city", "day"]] = None
    price = frame["area"].fillna(100) / 10 + 3 * (frame["city"] == "Ulm")
    frame["price"] = price + 0.1 * rng.normal(size=n)
    frame["label"] = np.where(frame["price"] > frame["price"].median(), "dear", "fair")
    return frame


@pytest.fixture(scope="module")
def files(table, tmp_path_factory):
    """Training and new rows as CSV and Parquet."""
    folder = tmp_path_factory.mktemp("files")
    for name, rows in (("train", table.iloc[:300]), ("new", table.iloc[300:])):
        rows.to_csv(folder / f"{name}.csv", index=False)
        rows.to_parquet(folder / f"{name}.parquet")
    return folder


@pytest.fixture(scope="module")
def model(files):
    """A model of the labels."""
    path = files / "model.bochner"
    train = files / "train.csv"
    call("fit", train, "-t", "label", "--drop", "price", "-o", path, *SMALL)
    return path


def in_python(table: pd.DataFrame):
    """What `bochner fit` does, by hand."""
    X = table.drop(columns=["label"])
    learner = KernelClassifier(24, loss="squared", random_state=0)
    before = preprocessing.for_table(X.iloc[:300], drop=["price"])
    return make_pipeline(before, learner).fit(X.iloc[:300], table["label"][:300])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_give_the_scores_of_python(table, files, tmp_path, ending):
    path, scores = tmp_path / "model.bochner", tmp_path / "scores.csv"
    train, new = files / f"train.{ending}", files / f"new.{ending}"
    call("fit", train, "--target", "label", "--drop", "price", "--out", path, *SMALL)
    call("predict", path, new, "--out", scores)
    found = pd.read_csv(scores)
    expected = in_python(table)
    rows = table.iloc[300:].drop(columns=["label"])
    assert list(found.columns) == ["prediction", "score_dear", "score_fair"]
    assert (found["prediction"] == expected.predict(rows)).all()
    S = expected.decision_function(rows)
    np.testing.assert_allclose(found["score_fair"], S, rtol=1e-9)
    np.testing.assert_allclose(found["score_dear"], -S, rtol=1e-9)
    told = json.loads(call("evaluate", path, new, "-t", "label", "--json").stdout)
    assert told["accuracy"] == expected.score(rows, table["label"][300:])
    assert sum(one["n_rows"] for one in told["classes"]) == len(rows)


def test_tables_are_exported_as_they_predict(table, files, model, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    path, scores = tmp_path / "model.onnx", tmp_path / "scores.csv"
    call("export", model, path, "--dtype", "float64")
    call("predict", model, files / "new.parquet", "--out", scores)
    session = onnxruntime.InferenceSession(path)
    kinds = bochner.load(model)[0]
    rows, given = table.iloc[300:], {}
    for name, kind in preprocessing.kinds(kinds).items():
        column = rows[name]
        if kind == "numbers":
            cells = column.to_numpy(dtype=np.float64)
        elif kind == "dates":
            cells = column.to_numpy().astype("datetime64[s]").astype(np.int64)
        else:
            cells = column.fillna("").to_numpy(dtype=object)
        given[name] = cells.reshape(-1, 1)
    label, S = session.run(["label", "scores"], given)
    found = pd.read_csv(scores)
    assert (label == found["prediction"]).all()
    np.testing.assert_allclose(S, found["score_fair"], rtol=1e-9)


def numbers(seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(240, 5)) * (rng.random((240, 5)) > 0.3)
    return X, np.where(X[:, 0] * X[:, 1] > 0, 2, 7)


@pytest.mark.parametrize("ending", ["npz", "svmlight"])
def test_arrays_give_the_scores_of_python(tmp_path, ending):
    X, y = numbers()
    for name, part in (("train", slice(0, 200)), ("new", slice(200, 240))):
        if ending == "npz":
            np.savez(tmp_path / f"{name}.npz", X=X[part], y=y[part])
        else:
            dump_svmlight_file(
                X[part], y[part], f"{tmp_path}/{name}.svmlight", zero_based=False
            )
    path, scores = tmp_path / "m.bochner", tmp_path / "s.csv"
    train, new = tmp_path / f"train.{ending}", tmp_path / f"new.{ending}"
    call("fit", train, "--out", path, *SMALL)
    call("predict", path, new, "--out", scores)
    rows = X if ending == "npz" else sparse.csr_matrix(X)
    learner = KernelClassifier(24, loss="squared", random_state=0)
    expected = learner.fit(rows[:200], y[:200])
    found = pd.read_csv(scores)
    assert [c.removesuffix(".0") for c in found.columns[1:]] == ["score_2", "score_7"]
    S = expected.decision_function(rows[200:])
    np.testing.assert_allclose(found.iloc[:, 2], S, rtol=1e-6)
    told = json.loads(call("evaluate", path, new, "--json").stdout)
    assert told["accuracy"] == expected.score(rows[200:], y[200:])
    call("export", path, tmp_path / "m.onnx")


def test_regressors_predict_with_deviations(table, files, tmp_path):
    path, scores = tmp_path / "m.bochner", tmp_path / "s.csv"
    train, new = files / "train.csv", files / "new.csv"
    words = ["-t", "price", "--drop", "label", "--size", "24"]
    assert "regression" in call("fit", train, *words, "-o", path).stdout
    call("predict", path, new, "-o", scores)
    found = pd.read_csv(scores)
    X = table.drop(columns=["price"])
    before = preprocessing.for_table(X.iloc[:300], drop=["label"])
    expected = make_pipeline(before, KernelRegressor(24, random_state=0))
    expected.fit(X.iloc[:300], table["price"][:300])
    mean, std = expected.predict(X.iloc[300:], return_std=True)
    np.testing.assert_allclose(found["prediction"], mean, rtol=1e-6)
    np.testing.assert_allclose(found["std"], std, rtol=1e-6)
    told = json.loads(call("evaluate", path, new, "-t", "price", "--json").stdout)
    assert told["r2"] == pytest.approx(
        expected.score(X.iloc[300:], table["price"][300:])
    )
    residual = table["price"][300:] - mean
    assert told["rmse"] == pytest.approx(np.sqrt(np.mean(residual**2)), rel=1e-6)
    assert told["mae"] == pytest.approx(np.mean(abs(residual)), rel=1e-6)


def test_columns_can_be_overridden(files, tmp_path):
    path = tmp_path / "m.bochner"
    words = ["-t", "label", "--categories", "rooms", "--drop", "price,day", *SMALL]
    call("fit", files / "train.csv", *words, "-o", path)
    kinds = preprocessing.kinds(bochner.load(path)[0])
    assert kinds["rooms"] == "categories"
    assert "price" not in kinds and "day" not in kinds and "empty" not in kinds


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_categories_are_read_alike_at_fit_and_at_predict(tmp_path, ending):
    """Truth values, leading zeros, decimals and long numbers, all of them codes."""
    rng = np.random.default_rng(0)
    flag = rng.random(200) > 0.5
    codes = {
        "flag": flag,
        "zip": np.where(flag, "007", "7"),
        "price": np.where(flag, "1.50", "2"),
        "id": np.where(flag, 2**60, 2**60 + 1),
    }
    for name, column in codes.items():
        frame = pd.DataFrame({name: column, "y": flag.astype(int), "emb": "x"})
        path = tmp_path / f"{name}.{ending}"
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
        model = tmp_path / f"{name}.bochner"
        words = ["-t", "y", "--categories", name, "--drop", "emb", *SMALL]
        call("fit", path, *words, "-o", model)
        told = json.loads(call("evaluate", model, path, "-t", "y", "--json").stdout)
        assert told["accuracy"] == 1.0, name


def test_columns_that_nothing_can_read_are_dropped(tmp_path):
    path, model = tmp_path / "lists.parquet", tmp_path / "m.bochner"
    a = np.arange(40.0)
    frame = pd.DataFrame({"a": a, "list": [[1, 2]] * 40, "y": (a > 20).astype(int)})
    frame.to_parquet(path)
    assert "--drop" in failed("fit", path, "-t", "y", "-o", model)
    call("fit", path, "-t", "y", "--drop", "list", "-o", model, *SMALL)
    assert "left alone" in call("predict", model, path, "-o", "-").stderr


def test_missing_values_of_arrays_are_filled_in(tmp_path):
    X, y = numbers()
    X[::9, 2] = np.nan
    np.savez(tmp_path / "gaps.npz", X=X, y=y)
    done = call("fit", tmp_path / "gaps.npz", "-o", tmp_path / "m.bochner", *SMALL)
    assert "medians" in done.stdout
    call("predict", tmp_path / "m.bochner", tmp_path / "gaps.npz", "-o", "-")


def test_data_sets_by_name(tmp_path):
    path = tmp_path / "m.bochner"
    call("fit", "digits", "--features", "sorf", "--size", "64", *SMALL[2:], "-o", path)
    told = json.loads(call("evaluate", path, "digits", "--json").stdout)
    digits = bochner.datasets.load("digits")
    assert told["n_rows"] == len(digits.y_test)
    model = bochner.load(path)
    assert told["accuracy"] == model.score(digits.X_test, digits.y_test)
    done = call("predict", path, "digits", "-o", "-")
    assert len(done.stdout.splitlines()) == 1 + len(digits.y_test)


def test_probabilities(files, tmp_path, model):
    path = tmp_path / "m.bochner"
    call("fit", files / "train.csv", "-t", "label", *SMALL, "--calibrate", "-o", path)
    for fitted in (model, path):
        done = call("predict", fitted, files / "new.csv", "-o", "-", "--probabilities")
        found = [line.split(",") for line in done.stdout.splitlines()]
        assert found[0] == ['"prediction"', '"probability_dear"', '"probability_fair"']
        assert float(found[1][1]) + float(found[1][2]) == pytest.approx(1)


def test_info(model):
    told = json.loads(call("info", model, "--json").stdout)
    assert told["model"] == "KernelClassifier"
    assert told["columns"]["<script>"] == "categories"
    assert told["classes"] == ["dear", "fair"]
    assert "<script>: categories" in " ".join(call("info", model).stdout.split())
    here = json.loads(call("info", "--json").stdout)
    assert here["bochner"] == bochner.__version__ and "digits" in here["data sets"]


def test_compare(files, tmp_path):
    pytest.importorskip("plotly")
    page = tmp_path / "report.html"
    words = ["compare", files / "train.csv", "-t", "label", "--drop", "price"]
    words += ["-m", "rff,nystroem", "-s", "16,32", "-r", "2", "--report", page]
    done = call(*words)
    assert "nystroem" in done.stdout and "exact kernel" in done.stdout
    assert "empty" in done.stderr  # a column without values is told
    text = page.read_text()
    assert "&lt;script&gt;" in text and "train.csv" in text
    told = json.loads(call(*words, "--json").stdout)
    assert [e["name"] for e in told["entries"]].count("rff") == 2
    assert any(e["on_front"] for e in told["entries"])
    assert {"boosted trees", "default learner"} <= {e["name"] for e in told["entries"]}
    assert "default learner: KernelClassifier()" in " ".join(done.stdout.split())
    assert told["data"]["target"] == "label"


def test_recommend(files):
    words = ["recommend", files / "train.csv", "-t", "label", "--drop", "price"]
    words += ["-m", "sorf,nystroem", "-s", "16,32"]
    done = call(*words)
    assert "In Python" in done.stdout and "bochner fit" in done.stdout
    told = json.loads(call(*words, "--json").stdout)
    assert told["met"] and told["score"]["low"] < told["score"]["high"]
    assert "--target label" in told["command"] and "--drop price" in told["command"]
    missed = call(*words, "--megabytes", "0.0001", code=3)
    assert "not met" in missed.stdout


@pytest.mark.parametrize(
    ("more", "size"),
    [
        (["-s", "16", "--megabytes", "0.05"], 16),  # too little for the default learner
        (["-s", "2"], None),  # two cosines are not as good as the default learner
    ],
)
def test_what_recommend_says_can_be_run(files, tmp_path, monkeypatch, more, size):
    words = ["recommend", files / "train.csv", "-t", "label", "--drop", "price"]
    told = json.loads(call(*words, "-m", "rff", *more, "--json").stdout)
    monkeypatch.chdir(tmp_path)
    call(*shlex.split(told["command"])[1:])
    last = bochner.load("model.bochner")[-1]
    assert getattr(last.features, "n_components", None) == size
    frame = pd.read_csv(files / "train.csv")
    names: dict = {"X": frame.drop(columns="label")}
    exec(told["code"], names)  # as a user would paste it
    pasted = names["model"].fit(names["X"], frame["label"])
    expected = bochner.load("model.bochner").decision_function(names["X"])
    np.testing.assert_allclose(pasted.decision_function(names["X"]), expected)


def test_errors_name_what_is_wrong_and_a_way_out(files, model, tmp_path):
    train, out = files / "train.csv", tmp_path / "m.bochner"
    near = failed("fit", files / "trian.csv", "-t", "label", "-o", out)
    assert "train.csv" in near
    assert "'label'" in failed("fit", train, "-t", "lable", "-o", out)
    assert "--target" in failed("fit", train, "-o", out)
    assert "columns are" in failed(
        "fit", train, "-t", "label", "--drop", "x", "-o", out
    )
    assert "folder" in failed("fit", train, "-t", "label", "-o", tmp_path / "no/m")
    assert "No such file" in failed("predict", tmp_path / "no", train, "-o", out)
    assert "not a table" in failed("predict", model, "digits", "-o", out)
    assert "must end in .onnx" in failed("export", model, tmp_path / "m.txt")
    assert "among rff" in failed("compare", "digits", "-m", "rfff")
    assert "whole numbers" in failed("compare", "digits", "-s", "many")
    assert "within" in failed("recommend", "digits", "--within", "-1")
    assert "nosuch" in failed("fit", "digits", "--features", "nosuch", "-o", out)
    assert "has its own" in failed("fit", "digits", "-t", "x", "-o", out)
    assert not out.exists()
    call("fit", train, code=2)  # no --out: a wrong command line
    call("nothing", code=2)


def test_columns_missing_and_new_at_predict(table, files, model, tmp_path):
    rows, out = table.iloc[300:], tmp_path / "s.csv"
    rows.drop(columns=["area", "city"]).to_csv(tmp_path / "lacks.csv", index=False)
    said = failed("predict", model, tmp_path / "lacks.csv", "-o", out)
    assert "'area'" in said and "'city'" in said and not out.exists()
    more = rows[rows.columns[::-1]].assign(extra=1)
    more.to_csv(tmp_path / "more.csv", index=False)
    done = call("predict", model, tmp_path / "more.csv", "-o", out)
    assert "left alone" in done.stderr and "extra" in done.stderr
    call("predict", model, files / "new.csv", "-o", tmp_path / "plain.csv")
    assert out.read_text() == (tmp_path / "plain.csv").read_text()


def test_a_cell_that_is_no_number_is_named(table, model, tmp_path):
    rows = table.iloc[300:].assign(area="12")
    rows.loc[305, "area"] = "twelve"
    rows.to_csv(tmp_path / "bad.csv", index=False)
    said = failed("predict", model, tmp_path / "bad.csv", "-o", tmp_path / "s.csv")
    assert "row 6" in said and "'area'" in said and "'twelve'" in said


def test_one_row(table, model, tmp_path):
    table.iloc[:1].to_csv(tmp_path / "one.csv", index=False)
    done = call("predict", model, tmp_path / "one.csv", "-o", "-")
    assert len(done.stdout.splitlines()) == 2
    out = tmp_path / "m.bochner"
    assert "1 row" in failed("fit", tmp_path / "one.csv", "-t", "label", "-o", out)
    table.iloc[:0].to_csv(tmp_path / "none.csv", index=False)
    assert "no rows" in failed("predict", model, tmp_path / "none.csv", "-o", out)


def test_debug_shows_the_error_itself(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        call("compare", tmp_path / "none.csv", "--debug")


def run(*words, **options):
    command = [*MODULE, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_as_a_module():
    done = run("--version")
    assert done.stdout.split() == ["bochner", bochner.__version__]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_told(files, model):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*MODULE, "predict", model, files / "new.csv", "-o", "-"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode != 0 and "Traceback" not in done.stderr


def _heeding_interrupts() -> None:
    """As in a terminal: what runs in the background is started deaf to them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_leaves_no_half_file(files, tmp_path):
    out = tmp_path / "m.bochner"
    words = ["fit", "digits", "-o", out, "--features", "rff", "--size", "4096", "-v"]
    process = subprocess.Popen(
        [*MODULE, *map(str, words)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=_heeding_interrupts,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "step" in line:  # it learns
            break
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "was not written" in said and "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_comparison_tells_what_was_done(monkeypatch):
    # bochner.compare.compare is the function; its module is found by name only
    measuring = sys.modules["bochner.compare.compare"]
    whole, calls = measuring.run, []

    def breaking_off(*given, **more):
        calls.append(given)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return whole(*given, **more)

    monkeypatch.setattr(measuring, "run", breaking_off)
    done = call("compare", "digits", "-m", "rff", "-s", "16", "-r", "1", code=0)
    assert done.exit_code == 0
    calls.clear()
    words = ["compare", "digits", "-m", "rff,sorf,orf", "-s", "16", "-r", "1"]
    done = call(*words, code=130)
    assert "5 were measured" in done.stderr and "rff, 16" in done.stderr


def test_names_between_commas_are_read_as_they_are_written():
    from bochner.app import console as options

    columns = ["a,b", 'say "c"', "d"]
    assert options.names(options.listed(columns)) == columns


def test_home_is_where_the_user_says(table, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    table.to_csv(tmp_path / "t.csv", index=False)
    call("fit", tmp_path / "t.csv", "-t", "price", *SMALL[:2], "--out=~/m.bochner")
    assert "KernelRegressor" in call("info", "~/m.bochner").stdout
    call("predict", "~/m.bochner", tmp_path / "t.csv", "--out=~/p.csv")
    assert (tmp_path / "p.csv").exists()


def test_errors_name_the_rows_of_the_file(tmp_path):
    rows = 9000
    frame = pd.DataFrame({"day": ["2024-01-01"] * rows, "x": np.arange(rows) % 7.0})
    frame["y"] = frame["x"] > 3
    frame.to_csv(tmp_path / "t.csv", index=False)
    call(
        "fit",
        tmp_path / "t.csv",
        "-t",
        "y",
        "--dates",
        "day",
        *SMALL,
        "-o",
        tmp_path / "m.bochner",
    )
    frame.loc[8500, "day"] = "yesterday"
    frame.to_csv(tmp_path / "bad.csv", index=False)
    said = failed("predict", tmp_path / "m.bochner", tmp_path / "bad.csv", "-o", "-")
    assert "bad.csv, rows 8193 to 9000" in said
    assert "row 309 of these holds 'yesterday'" in said


def test_tables_and_arrays_are_not_mixed_up(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    np.savez(tmp_path / "a.npz", X=X, y=X[:, 0] > 0)
    call("fit", tmp_path / "a.npz", *SMALL, "-o", tmp_path / "m.bochner")
    pd.DataFrame(X, columns=["a", "b"]).to_csv(tmp_path / "t.csv", index=False)
    said = failed("predict", tmp_path / "m.bochner", tmp_path / "t.csv", "-o", "-")
    assert "fitted on arrays" in said and "t.csv is a table" in said


def test_targets_that_are_not_numbers(table, tmp_path):
    table.dropna(subset="city").to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", tmp_path / "t.csv", "-t", "city", "--task", "regression"]
    assert "must hold numbers" in failed(*words, "-o", tmp_path / "m.bochner")


def test_evaluations_as_json_have_their_interval(tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 2))
    np.savez(tmp_path / "a.npz", X=X, y=X[:, 0] > 0)
    call("fit", tmp_path / "a.npz", *SMALL, "-o", tmp_path / "m.bochner")
    done = call("evaluate", tmp_path / "m.bochner", tmp_path / "a.npz", "--json")
    found = json.loads(done.stdout)
    low, high = found["interval"]
    assert 0 < low < found["accuracy"] <= high <= 1


def test_half_a_split_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X_train=np.zeros((4, 2)), y_train=np.arange(4))
    said = failed("fit", tmp_path / "a.npz", "-o", tmp_path / "m.bochner")
    assert "a data set needs X and y, or X_train" in said
