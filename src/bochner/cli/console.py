"""Speaking to the user: results on standard output, all else on standard error."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

USER_ERRORS = (ValueError, TypeError, OSError, ImportError, MemoryError)
"""What a user can mend: told in a line, without a traceback."""

FAILED, UNMET, INTERRUPTED = 1, 3, 130
"""Exit codes beside 0 (done) and 2 (a wrong command line)."""

LINE_SECONDS = 10
"""Seconds between lines of progress where there is no terminal to draw a bar on."""

out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)


@contextlib.contextmanager
def told(debug: bool, done: Callable[[], str] = lambda: "") -> Iterator[None]:
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
    print(json.dumps(_finite(value), indent=2, ensure_ascii=False))


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
        task = bar.add_task(what, total=None)

        told_at = time.monotonic()

        def step(name: str, done: int, total: int) -> None:
            nonlocal told_at
            text = f"{what}: {name}" if name else what
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
