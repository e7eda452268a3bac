"""Output of the commands: results and tables on standard output, the rest on
standard error; and the options that several commands share.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from .._core.memory import readable
from ..compare.recommendation import Recommendation
from ..compare.results import METHOD, Comparison, Entry, Spread
from ..compare.task import learner_of
from .predicting import Evaluation

USER_ERRORS = (ValueError, TypeError, OSError, ImportError, MemoryError)
"""What a user can mend: told in a line, without a traceback."""

FAILED, UNMET, INTERRUPTED = 1, 3, 130
"""Exit codes beside 0 (done) and 2 (a wrong command line)."""

LINE_SECONDS = 10
"""Seconds between lines of progress where there is no terminal to draw a bar on."""

CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # escape sequences, bells, carriage returns
    r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # lines, directions of text
    r"\ud800-\udfff]"  # halves of characters, which no terminal can be sent
)
"""Characters that act on a terminal, or make it show what is not there."""


def visible(text: str) -> str:
    r"""The text with control characters written out, as \x1b; line breaks stay."""
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class SafeConsole(Console):
    """A console that sends no control character of a name, label or message.

    Rich turns every string that it prints, a table's cells and titles included, into
    text by `render_str`.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)


out = SafeConsole(highlight=False, emoji=False)
err = SafeConsole(stderr=True, highlight=False, emoji=False)


@contextlib.contextmanager
def reporting_errors(
    debug: bool, done: Callable[[], str] = lambda: ""
) -> Iterator[None]:
    """Errors in a line; `done` tells what there is if the user breaks off."""
    warnings.showwarning = lambda message, *_: say(f"Warning: {message}")
    try:
        yield
    except KeyboardInterrupt:
        say(f"Interrupted. {done() or 'Nothing was written.'}")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FAILED) from None
    except typer.Exit:
        raise
    except Exception as error:
        if debug:
            raise
        err.print("[bold red]Error:[/] ", end="")
        say(_message(error))
        raise typer.Exit(FAILED) from None


def _message(error: Exception) -> str:
    if not isinstance(error, USER_ERRORS):
        return f"{type(error).__name__}: {error} (--debug shows where)"
    if isinstance(error, OSError) and error.errno is not None:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return str(error).removeprefix("blocks: ") or type(error).__name__


def say(line: str) -> None:
    """A line on standard error, as it is; terminals wrap it."""
    err.print(line, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """For machines: what is not a number is null."""
    text = json.dumps(_finite(value), indent=2, ensure_ascii=False)
    # inside strings alone, where \u escapes are JSON
    print(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@contextlib.contextmanager
def counting(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar of things done: called with what comes next, how many, of how many."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(visible(what), total=None)
        told_at = time.monotonic()

        def step(name: str, done: int, total: int) -> None:
            nonlocal told_at
            text = visible(f"{what}: {name}" if name else what)
            bar.update(task, description=text, completed=done, total=total or None)
            if not err.is_terminal and time.monotonic() - told_at > LINE_SECONDS:
                told_at = time.monotonic()
                say(f"{text} ({done} of {total or '?'} done)")

        yield step


@contextlib.contextmanager
def reading(what: str, total: int | None) -> Iterator[Any]:
    """A bar of rows: `.say(stage)`, and `.rows(n)` for n more."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,.0f} rows"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        yield RowBar(bar, what, total)


class RowBar:
    """Rows read in a stage, which may take several passes."""

    def __init__(self, bar: Progress, what: str, total: int | None) -> None:
        self._bar, self._total = bar, total
        self._task = bar.add_task(what, total=total)
        self._done = 0

    def say(self, stage: str) -> None:
        self._done = 0
        self._bar.update(self._task, description=stage, completed=0, total=self._total)

    def rows(self, n: int) -> None:
        if self._total and self._done >= self._total:
            self._done = 0  # the next pass
        self._done += n
        self._bar.update(self._task, completed=self._done)


TABLES = "Columns of tables"

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A file, or the name of a data set.")
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", help="The column (or entry of an npz file) to predict."
    ),
]
Task = Annotated[
    str | None,
    typer.Option(help="classification or regression; by default as the target tells."),
]
Seed = Annotated[int, typer.Option(help="Fixes every random draw.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")]
Numbers = Annotated[
    str | None,
    typer.Option(help="Columns to read as numbers.", rich_help_panel=TABLES),
]
Categories = Annotated[
    str | None,
    typer.Option(
        help="Columns to read as categories, such as codes.", rich_help_panel=TABLES
    ),
]
Dates = Annotated[
    str | None, typer.Option(help="Columns to read as dates.", rich_help_panel=TABLES)
]
Drop = Annotated[
    str | None, typer.Option(help="Columns to leave out.", rich_help_panel=TABLES)
]


def names(text: str | None) -> list[str]:
    """Names between commas, quoted where they have one."""
    rows = csv.reader([text or ""], skipinitialspace=True)
    return [part.strip() for row in rows for part in row if part.strip()]


def counts(option: str, text: str | None) -> list[int] | None:
    """Whole numbers between commas."""
    if text is None:
        return None
    try:
        return [int(part) for part in names(text)]
    except ValueError:
        raise ValueError(
            f"--{option} must be whole numbers between commas, as 64,256; got {text!r}."
        ) from None


def kinds_asked(
    numbers: str | None, categories: str | None, dates: str | None, drop: str | None
) -> dict[str, list[str]]:
    """Columns by what the user says they hold."""
    asked = {"numbers": numbers, "categories": categories, "dates": dates, "drop": drop}
    return {kind: names(text) for kind, text in asked.items() if text}


def listed(columns: list[str]) -> str:
    """What `names` reads as these columns."""
    file = io.StringIO()
    csv.writer(file, lineterminator="").writerow(columns)
    return file.getvalue()


def number_or_word(text: str | None) -> Any:
    """A number where it is one, else the word."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text


MOST_TRIALS = 12
NOTHING = "-"


def plain(value: Any) -> str:
    """Text from data, which may look like markup."""
    return escape(str(value))


def score(value: float, metric: str) -> str:
    return f"{100 * value:.1f} %" if metric == "accuracy" else f"{value:.3f}"


def with_deviation(found: Spread, metric: str) -> str:
    """In percent where it is an accuracy, without the sign."""
    scale, digits = (100, 1) if metric == "accuracy" else (1, 3)
    text = f"{scale * found.mean:.{digits}f}"
    if found.deviation is None:
        return text
    return f"{text} ± {scale * found.deviation:.{digits}f}"


def short(n_bytes: float) -> str:
    """A number of bytes in few characters."""
    value, unit = readable(n_bytes).split()
    return f"{value} {unit[0]}"


def seconds(value: float) -> str:
    if value < 0.0095:
        return f"{1000 * value:.1f} ms"
    return f"{value:.2f} s" if value < 99.5 else f"{value:.0f} s"


def comparison_table(found: Comparison) -> Table:
    """All entries, best of each size bold, those on the front with a star."""
    table = Table(
        title=f"{plain(found.data.name)}: {found.data.n_train:,} rows, "
        f"{found.data.n_features:,} features, judged on {found.data.n_test:,} rows",
        caption=_caption(found),
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("  contender", no_wrap=True)
    metric = "accuracy, %" if found.metric == "accuracy" else found.metric
    for head in ("size", metric, "error", "fit, s", "µs/row", "memory", "model"):
        table.add_column(head, justify="right", no_wrap=True)
    front = {id(entry) for entry in found.front()}
    best = _best_of_sizes(found.entries)
    entries = list(found.entries)
    for entry, following in zip_longest(entries, entries[1:]):
        cells = _cells(entry, found.metric, id(entry) in front)
        ends = following is not None and following.size != entry.size
        style = "bold" if id(entry) in best else None
        table.add_row(*cells, style=style, end_section=ends)
    return table


def _caption(found: Comparison) -> str:
    said = "★ nothing else is both better and faster to fit; bold: best of its size"
    said += f"\ndefault learner: {learner_of(found.data.task)}(); the others of no size"
    said += " are references"
    if found.repeats > 1:
        said += f"\n± standard deviation of {found.repeats} draws"
    for entry in found.entries:
        if entry.n_rows < found.data.n_train:
            said += f"\n{entry.name} learned from {entry.n_rows:,} rows"
    return said


def _best_of_sizes(entries: Iterable[Entry]) -> set[int]:
    best: dict[int | None, Entry] = {}
    for entry in entries:
        before = best.get(entry.size)
        beats = before is None or entry.score.mean > before.score.mean
        if entry.role == METHOD and beats:
            best[entry.size] = entry
    return {id(entry) for entry in best.values()}


def _cells(entry: Entry, metric: str, on_front: bool) -> list[str]:
    error = "" if entry.error is None else f"{entry.error.mean:.3f}"
    memory = "" if entry.memory_bytes is None else short(entry.memory_bytes)
    return [
        f"{'★' if on_front else ' '} {entry.name}",
        "" if entry.size is None else f"{entry.size:,}",
        with_deviation(entry.score, metric),
        error,
        f"{entry.fit_seconds.mean:.2f}",
        f"{1e6 * entry.row_seconds.mean:.1f}",
        memory,
        "" if entry.model_bytes is None else short(entry.model_bytes),
    ]


def facts(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Names and values."""
    table = Table(title=plain(title), show_header=False, title_justify="left", box=None)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(plain(name), plain(value))
    return table


def recommendation_table(found: Recommendation) -> Table:
    """What to use, and what to expect of it."""
    low, high = (score(v, found.metric) for v in (found.score.low, found.score.high))
    met = "" if found.met else " (not met: this comes nearest)"
    rows = [
        ("asked for", f"{found.target}{met}"),
        ("use", _use(found)),
        (
            f"expected {found.metric}",
            f"{score(found.score.value, found.metric)}, between {low} and {high} on "
            f"{found.n_judged:,} new rows, 19 times in 20",
        ),
        ("time to fit", seconds(found.fit_seconds)),
        ("to predict", f"{1e6 * found.row_seconds:.1f} µs a row"),
        ("model", readable(found.model_bytes)),
    ]
    if found.error is not None:
        rows.append(("kernel error", f"{found.error:.3f}"))
    if found.reference is not None:
        rows.append(("exact kernel", score(found.reference, found.metric)))
    if found.boosted_trees is not None:
        trees = score(found.boosted_trees, found.metric)
        rows.append(("boosted trees", f"{trees} on the same {found.n_judged:,} rows"))
    rows.append(("searched", f"{len(found.trials)} fits in {seconds(found.seconds)}"))
    return facts(f"Recommended for {found.data.name}", rows)


def _use(found: Recommendation) -> str:
    """The choice in words."""
    if found.choice.size is not None:
        return f"{found.choice.name}, {found.choice.size:,} features"
    return f"{found.choice.name}, {learner_of(found.data.task)}()"


def trials_table(found: Recommendation) -> Table:
    """The best trials, those on most rows first."""
    title = f"The best of {len(found.trials)} that were tried"
    table = Table(title=title, box=box.SIMPLE_HEAD)
    table.add_column("method", no_wrap=True)
    for head in ("features", "γ", "rows", found.metric, "fit", "µs a row"):
        table.add_column(head, justify="right", no_wrap=True)
    order = sorted(found.trials, key=lambda t: (-t.n_rows, -t.score))
    for trial in order[:MOST_TRIALS]:
        table.add_row(
            trial.contender.name,
            "" if trial.contender.size is None else f"{trial.contender.size:,}",
            "" if trial.contender.gamma is None else f"{trial.contender.gamma:g}",
            f"{trial.n_rows:,}",
            score(trial.score, found.metric),
            seconds(trial.fit_seconds),
            f"{1e6 * trial.row_seconds:.1f}",
            style="bold" if trial.contender == found.choice else None,
        )
    return table


def evaluation_tables(found: Evaluation) -> list[Table]:
    """Figures, and for classes a line for each."""
    if found.accuracy is None:
        r2 = NOTHING if found.r2 is None else f"{found.r2:.4f}"
        rows = [("R²", r2), ("root mean squared error", f"{found.rmse:.4g}")]
        rows.append(("mean absolute error", f"{found.mae:.4g}"))
        return [facts(f"{found.n_rows:,} rows", rows)]
    assert found.interval is not None and found.balanced_accuracy is not None
    low, high = found.interval
    rows = [
        ("accuracy", f"{100 * found.accuracy:.2f} %"),
        ("19 times in 20", f"{100 * low:.2f} to {100 * high:.2f} %"),
        ("balanced accuracy", f"{100 * found.balanced_accuracy:.2f} %"),
    ]
    table = Table(box=box.SIMPLE_HEAD)
    for head in ("class", "rows", "precision", "recall"):
        table.add_column(head, justify="left" if head == "class" else "right")
    for one in found.classes:
        shares = (
            NOTHING if v is None else f"{v:.3f}" for v in (one.precision, one.recall)
        )
        table.add_row(plain(one.label), f"{one.n_rows:,}", *shares)
    return [facts(f"{found.n_rows:,} rows", rows), table]
