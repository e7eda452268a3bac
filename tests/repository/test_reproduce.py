"""Reproducing papers: cells are judged fairly, runs go on, pages show everything."""

from __future__ import annotations

import json
import types

import numpy as np
import pytest

from bochner import methods
from papers import PAPERS, Cell, Curve, Table, maxout, reproduce
from papers.cells import draw_slack, rows_slack
from papers.experiment import Experiment, some_rows
from papers.page import page

typer_testing = pytest.importorskip("typer.testing")

from papers.__main__ import app  # noqa: E402

HIGH = Table("toy", "a table <b>", "accuracy, %", x="features")
LOW = Table("toy", "errors", "error", "lower")


def cell(ours: float, table: Table = HIGH, slack: float = 1.0) -> Cell:
    return Cell(table, "here", 90.0, ours, slack, "rows are few", "plain", 8)


@pytest.mark.parametrize(
    ("ours", "table", "status"),
    [
        (91.5, HIGH, "beaten"),
        (90.5, HIGH, "reached"),
        (89.0, HIGH, "reached"),
        (88.9, HIGH, "missed"),
        (88.9, LOW, "beaten"),
        (91.0, LOW, "reached"),
        (91.5, LOW, "missed"),
    ],
)
def test_status(ours, table, status):
    found = cell(ours, table)
    assert found.status == status
    plain = found.to_dict()
    assert plain["status"] == status
    assert ("reason" in plain) == (status == "missed")
    assert list(plain)[:6] == ["paper", "table", "cell", "theirs", "ours", "status"]


def test_slack_of_rows_holds_19_times_in_20():
    """An accuracy on 1000 rows is as near to the truth as its slack, α = 1e-6."""
    rng = np.random.default_rng(0)
    shares = rng.binomial(1000, 0.9, size=20_000) / 10
    inside = np.mean(abs(shares - 90) <= rows_slack(90, 1000))
    # two deviations hold 95.4 %; the share itself varies by 0.0015, 4.9 deviations
    assert abs(inside - 0.954) < 4.9 * 0.0015 + 0.008  # and a lattice of 0.1 points
    assert rows_slack(90, 1000, deviation=3.0) == 6.0


def test_slack_of_draws():
    assert draw_slack([1.0], fallback=0.3) == 0.3
    # the t of one degree of freedom that holds as often as two deviations: 13.97
    assert draw_slack([1.0, 3.0]) == pytest.approx(13.97 * 2**0.5 * 1.5**0.5, rel=1e-3)
    rng = np.random.default_rng(0)
    held = [
        abs(draws.mean() - rng.normal()) <= draw_slack(list(draws))
        for draws in rng.normal(size=(4000, 5))
    ]
    assert abs(np.mean(held) - 0.9545) < 4.9 * 0.0033  # α = 1e-6


def test_some_rows_are_a_part():
    data = types.SimpleNamespace(
        X_train=np.arange(20).reshape(10, 2), y_train=np.arange(10), X_test=0, y_test=0
    )
    part = some_rows(data, 4)
    assert len(set(part.y_train)) == 4
    np.testing.assert_array_equal(part.X_train[:, 0], 2 * part.y_train)


@pytest.mark.parametrize("quick", [False, True])
def test_experiments_have_names_of_their_own(quick):
    keys = [e.key for paper in PAPERS.values() for e in paper.experiments(quick)]
    assert len(set(keys)) == len(keys)
    assert all(key.split("/")[0] in PAPERS for key in keys)


class Toy:
    """A paper of three experiments that counts how often each is measured."""

    NAME, TITLE = "toy", "Toys & <script>alert(1)</script>"

    def __init__(self) -> None:
        self.made: list[str] = []
        self.broken = False

    def experiments(self, quick: bool) -> list[Experiment]:
        def measure(name):
            def found():
                if self.broken and name == "second":
                    raise KeyboardInterrupt
                self.made.append(name)
                yield cell(95.0)
                yield cell(80.0, LOW)
                yield cell(80.0)
                yield Curve("toy", "a figure", name, (1.0, 2.0), (3.0, 4.0), "x", "y")

            return found

        made = [Experiment(f"toy/{n}", (), measure(n)) for n in ("first", "second")]
        return [*made, Experiment("toy/absent", ("no such set",), measure("absent"))]


@pytest.fixture
def toy(monkeypatch) -> Toy:
    made = Toy()
    monkeypatch.setitem(PAPERS, "toy", made)
    return made


def test_a_run_that_is_broken_off_goes_on(toy, tmp_path):
    state = tmp_path / "state.json"
    toy.broken = True
    with pytest.raises(KeyboardInterrupt):
        reproduce(["toy"], state=state)
    assert toy.made == ["first"]
    toy.broken = False
    found = reproduce(["toy"], state=state)
    assert toy.made == ["first", "second"]
    again = reproduce(["toy"], state=state)
    assert toy.made == ["first", "second"]
    assert again.findings == found.findings and len(found.cells) == 6
    assert (found.kept, again.kept) == (1, 2)
    assert again.seconds == found.seconds > 0
    assert "no such set" in found.left_out["toy/absent"]
    assert found.counts() == {"reached": 0, "beaten": 4, "missed": 2}


def test_states_of_other_runs_are_refused(toy, tmp_path):
    state = tmp_path / "state.json"
    reproduce(["toy"], state=state)
    with pytest.raises(ValueError, match="another kind of run"):
        reproduce(["toy"], state=state, quick=True)
    state.write_text("[]")
    with pytest.raises(ValueError, match="no file of a run that was broken off"):
        reproduce(["toy"], state=state)
    with pytest.raises(ValueError, match="papers must be among compressive, giga"):
        reproduce(["no such paper"])


def test_the_page_shows_all_and_runs_nothing(toy):
    pytest.importorskip("plotly")
    found = reproduce(["toy"])
    shown = page(found)
    assert "Toys &amp; &lt;script&gt;" in shown and "<script>alert(1)" not in shown
    assert shown.count('class="chart"') == 2  # a table with an axis, and curves
    assert "Of 6 figures, 4 are beaten" in shown
    assert "<strong>missed</strong>: rows are few" in shown


def test_a_page_of_curves_alone(toy):
    pytest.importorskip("plotly")
    found = reproduce(["toy"])
    found.findings = list(found.curves)
    assert page(found).count('class="chart"') == 1


def test_command_line(toy, tmp_path, monkeypatch):
    pytest.importorskip("plotly")
    monkeypatch.chdir(tmp_path)
    words = ["toy", "--quick", "--json", "c.json", "--report", "p.html"]
    done = typer_testing.CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.stderr
    assert "a table <b>" in done.stdout and "beaten" in done.stdout
    assert "missed: rows are few" in " ".join(done.stdout.split())
    assert "toy/absent left out" in " ".join(done.stderr.split())
    cells = json.loads((tmp_path / "c.json").read_text())
    assert {"paper", "table", "cell", "theirs", "ours", "status"} <= set(cells[0])
    assert not (tmp_path / "reproduce.state.json").exists()
    assert (tmp_path / "p.html").stat().st_size > 1e6


def test_an_interrupt_tells_how_to_go_on(toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    toy.broken = True
    done = typer_testing.CliRunner().invoke(app, ["toy"])
    assert done.exit_code == 130
    said = " ".join(done.stderr.split())
    assert "3 cells were measured; the next run goes on" in said
    toy.broken = False
    done = typer_testing.CliRunner().invoke(app, ["toy"])
    assert done.exit_code == 0
    assert "1 experiments are those of an earlier run" in " ".join(done.stderr.split())


def test_without_data_it_says_what_to_set(monkeypatch, tmp_path):
    monkeypatch.setenv("BOCHNER_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    done = typer_testing.CliRunner().invoke(app, ["giga", "--quick"])
    assert done.exit_code == 1
    assert "set BOCHNER_DATA to a folder that has" in " ".join(done.stderr.split())


def test_least_squares_by_rows_are_those_by_features():
    """With fewer rows than features inner products of rows give the same error."""
    rng = np.random.default_rng(0)
    X, X_test = rng.normal(size=(60, 5)), rng.normal(size=(200, 5))
    y, y_test = (A[:, 0] > 0 for A in (X, X_test))
    data = types.SimpleNamespace(X_train=X, y_train=y, X_test=X_test, y_test=y_test)
    features = methods.maxout(80, pool_size=2, random_state=0)
    found = maxout.held_out_error(features, data)
    F, T = features.transform(X), np.where(y[:, None] == [False, True], 1.0, -1.0)
    path = []
    for rows, penalties in ((slice(0, 48), maxout.PENALTIES), (slice(0, 60), None)):
        if penalties is None:
            penalties = [maxout.PENALTIES[int(np.argmin(path[-1]))]]
        A, B = F[rows], T[rows]
        unit = (A**2).sum() / 80
        models = [
            np.linalg.solve(A.T @ A + p * unit * np.eye(80), A.T @ B) for p in penalties
        ]
        judged = (
            (F[48:], y[48:])
            if len(models) > 1
            else (features.transform(X_test), y_test)
        )
        path.append(
            [np.mean((judged[0] @ W).argmax(axis=1) != judged[1]) for W in models]
        )
    assert found == pytest.approx(100 * path[-1][0])
