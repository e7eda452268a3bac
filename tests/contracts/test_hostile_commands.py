"""The command line against its own inputs, odd outputs, and names that act."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

typer_testing = pytest.importorskip("typer.testing")

from bochner.app.console import visible  # noqa: E402
from bochner.app.main import app  # noqa: E402

MODULE = [sys.executable, "-m", "bochner"]
SMALL = ["--size", "8", "--loss", "squared"]


def call(*words, code=0):
    done = typer_testing.CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


def refused(*words) -> str:
    """The one line on standard error of a command that fails."""
    return " ".join(call(*words, code=1).stderr.split())


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """A table, and a model of it."""
    folder = tmp_path_factory.mktemp("originals")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame["label"] = np.where(frame["a"] > 0, "yes", "no")
    frame.to_csv(folder / "data.csv", index=False)
    words = ["-t", "label", "-o", folder / "model.bochner", *SMALL]
    call("fit", folder / "data.csv", *words)
    return folder


@pytest.fixture
def data(originals, tmp_path):
    return shutil.copy(originals / "data.csv", tmp_path / "data.csv")


@pytest.fixture
def model(originals, tmp_path):
    return shutil.copy(originals / "model.bochner", tmp_path / "model.bochner")


def same_file(path, spelling):
    """Another name of a file."""
    other = path.with_name(f"other-{path.name}")
    if spelling == "dots":
        (path.parent / "sub").mkdir(exist_ok=True)
        return path.parent / "sub" / ".." / path.name
    if spelling == "symlink":
        other.symlink_to(path)
        return other
    if spelling == "hard link":
        os.link(path, other)
        return other
    return path


COMMANDS = {
    "fit -o data": lambda d, m, same: ["fit", d, "-t", "label", "-o", same(d)],
    "fit --checkpoint data": lambda d, m, same: [
        *("fit", d, "-t", "label", "-o", "new.bochner", "--checkpoint", same(d))
    ],
    "fit -o checkpoint": lambda d, m, same: [
        *("fit", d, "-t", "label", "-o", m, "--checkpoint", same(m))
    ],
    "predict -o data": lambda d, m, same: ["predict", m, d, "-o", same(d)],
    "predict -o model": lambda d, m, same: ["predict", m, d, "-o", same(m)],
    "compare --report data": lambda d, m, same: [
        *("compare", d, "-t", "label", "--report", same(d))
    ],
    "export model model": lambda d, m, same: ["export", m, same(m)],
}


@pytest.mark.parametrize("spelling", ["as it is", "dots", "symlink", "hard link"])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_outputs_never_replace_inputs(
    command, spelling, data, model, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    model = model.rename(tmp_path / "model.onnx")  # a name that export takes, too
    before = data.read_bytes(), model.read_bytes()
    words = command(data, model, lambda path: same_file(path, spelling))
    said = refused(*words)
    assert "is a file that the command reads" in said and "name another" in said
    assert (data.read_bytes(), model.read_bytes()) == before


def test_outputs_never_replace_files_of_a_folder_or_pattern(data, model, tmp_path):
    folder = tmp_path / "days"
    folder.mkdir()
    day = data.rename(folder / "day-1.csv")
    for source in (folder, folder / "day-*.csv"):
        assert "command reads" in refused("predict", model, source, "-o", day)
    call("predict", model, folder, "-o", tmp_path / "new.csv")


def test_outputs_never_replace_targets_or_data_sets(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    words = ["fit", tmp_path / "X.npy", "-t", tmp_path / "y.npy"]
    assert "command reads" in refused(*words, "-o", tmp_path / "y.npy")
    np.savez(tmp_path / "mine.npz", X=X, y=y)
    monkeypatch.setenv("BOCHNER_DATA", str(tmp_path))
    assert "command reads" in refused("fit", "mine", "-o", tmp_path / "mine.npz")


def test_the_home_folder_is_one_more_spelling(data, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    said = refused("compare", data, "-t", "label", "--report", "~/data.csv")
    assert "command reads" in said


def test_an_old_output_is_still_replaced(data, model, tmp_path):
    out = tmp_path / "scores.csv"
    out.write_text("old")
    call("predict", model, data, "-o", out)
    assert out.read_text().startswith('"prediction"')


def test_odd_outputs_are_refused_in_a_line(data, model, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "round.csv").symlink_to(tmp_path / "turn.csv")
    (tmp_path / "turn.csv").symlink_to(tmp_path / "round.csv")
    for command in (["predict", model, data], ["fit", data, "-t", "label"]):
        said = refused(*command, "-o", tmp_path / "pipe.csv")
        assert "not a plain file; name another" in said
        said = refused(*command, "-o", tmp_path / "round.csv")
        assert "its links lead in a circle; name another" in said


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs /dev/stdout")
def test_standard_output_by_name(data, model):
    words = ["predict", model, data, "-o", "/dev/stdout"]
    done = subprocess.run([*MODULE, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 61
    assert done.stdout.startswith('"prediction"')


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs /dev/fd")
def test_a_pipe_without_a_name_is_refused(data):
    """What /dev/stdout is to a command whose output is piped."""
    ends = os.pipe()
    said = refused("fit", data, "-t", "label", "-o", f"/dev/fd/{ends[1]}")
    assert "is there already, and not a plain file" in said
    for end in ends:
        os.close(end)


ACTS = "\x1b[31m\x07\r\u202e\x9b2J\u2066"
SHOWN = r"\x1b[31m\x07\r\u202e\x9b2J\u2066"


@pytest.fixture
def acting(tmp_path):
    """A table whose names and labels act on a terminal."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"a{ACTS}": rng.normal(size=60), "b": rng.normal(size=60)})
    frame[f"t{ACTS}"] = np.where(frame["b"] > 0, f"yes{ACTS}", f"no{ACTS}")
    path = tmp_path / "acting.parquet"
    frame.to_parquet(path)
    return path


def calm(done) -> str:
    """What a command says, of which nothing acts on a terminal."""
    said = done.stdout + done.stderr
    assert not set(ACTS) & set(said) - set("[31m2J"), repr(said)
    return said


@pytest.mark.filterwarnings("ignore")
def test_names_and_labels_do_not_act_on_the_terminal(acting, tmp_path):
    target, model = f"t{ACTS}", tmp_path / "acting.bochner"
    said = calm(call("fit", acting, "-t", target, "-o", model, *SMALL))
    assert f"a{SHOWN}"[:6] in said
    assert "no" + SHOWN[:4] in calm(call("info", model))
    assert "yes" + SHOWN[:4] in calm(call("evaluate", model, acting, "-t", target))
    calm(call("predict", model, acting, "-o", tmp_path / "p.csv"))
    words = ["-t", target, "-m", "rff", "-s", "8"]
    calm(call("compare", acting, *words, "-r", "1", "--exact-rows", "0"))
    calm(call("recommend", acting, *words))
    for command in (["info", model], ["evaluate", model, acting, "-t", target]):
        done = call(*command, "--json")
        assert json.dumps(f"yes{ACTS}") in json.dumps(json.loads(calm(done)))


def test_messages_do_not_act_on_the_terminal(acting, tmp_path):
    """The message lists the columns, whose names are as they stand in the file."""
    done = call("fit", acting, "-o", tmp_path / "m.bochner", code=1)
    assert SHOWN in "".join(calm(done).split())
    done = call("fit", f"none{ACTS}.csv", "-o", tmp_path / "m.bochner", code=1)
    assert "There is no file" in calm(done)


def test_visible_keeps_what_people_write():
    for text in ("plain", "Köln, 東京, שלום", "two\nlines", "a\tb", "👩‍🔬", r"\x1b"):
        assert visible(text) == text
    assert visible("\ud800") == r"\ud800"  # half a character has no bytes


def test_formulas_in_labels_are_written_as_text_where_asked(tmp_path):
    labels = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "plain"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
    frame["label"] = np.tile(labels, 20)
    path, model, out = (tmp_path / name for name in ("d.csv", "m.bochner", "p.csv"))
    frame.to_csv(path, index=False)
    call("fit", path, "-t", "label", "--task", "classification", "-o", model, *SMALL)
    call("predict", model, path, "-o", out)
    plain = pd.read_csv(out)["prediction"].tolist()
    assert set(plain) & set(labels[:4])
    expected = [label if label == "plain" else f"'{label}" for label in plain]
    call("predict", model, path, "-o", out, "--escape-formulas")
    assert pd.read_csv(out)["prediction"].tolist() == expected
    done = call("predict", model, path, "-o", "-", "--escape-formulas")
    assert done.stdout == out.read_text()


def test_numbers_are_no_formulas(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    np.savez(tmp_path / "d.npz", X=X, y=np.where(X[:, 0] > 0, 1, -1))
    model, out = tmp_path / "m.bochner", tmp_path / "p.csv"
    call("fit", tmp_path / "d.npz", "-o", model, *SMALL)
    call("predict", model, tmp_path / "d.npz", "-o", out, "--escape-formulas")
    assert set(pd.read_csv(out)["prediction"]) == {1, -1}


@pytest.mark.parametrize(
    ("module", "how"), [("numba", "module"), ("numba", "script"), ("typer", "module")]
)
def test_an_interrupt_while_imports_run_is_a_line(module, how, tmp_path):
    """A module that is interrupted when it is imported, as Ctrl-C would do it."""
    (tmp_path / f"{module}.py").write_text("raise KeyboardInterrupt\n")
    script = tmp_path / "bochner"
    script.write_text("from bochner.__main__ import main\nmain()\n")
    words = MODULE if how == "module" else [sys.executable, str(script)]
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run(
        [*words, "info"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.strip() == "Interrupted. Nothing was written."


def test_an_interrupted_import_is_the_callers_elsewhere(tmp_path):
    (tmp_path / "numba.py").write_text("raise KeyboardInterrupt\n")
    program = "try:\n    import bochner\nexcept KeyboardInterrupt:\n    print('mine')"
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "mine", done.stderr
