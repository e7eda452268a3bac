"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from ..comparison.results import METHOD, Comparison, Entry, Spread
from ..comparison.task import learner_of
from ..execution.memory import readable
from ..jobs.evaluating import Evaluation
from ..recommend.results import Recommendation

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
