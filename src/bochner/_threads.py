"""Row blocks on all cores: how work is cut, and who does it.

Work on n rows is cut into blocks that fit the cache. The calling thread and
helpers take blocks until none is left, each with its own scratch buffer and with BLAS
held to one thread, so that product and nonlinearity of a block stay on one core.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from joblib import cpu_count

from ._blas import one_blas_thread
from ._helpers import Helpers, Job, inside_helper
from ._validation import check_count

SCRATCH_BYTES = 4 << 20
"""Scratch of one thread: past it, projections fall out of the shared cache."""

ALL_SCRATCH_BYTES = 32 << 20
"""Scratch of all threads: half of what `transform` may use beside its output."""

MIN_BLOCK_ROWS = 8
"""Rows that structured maps take at a time, as lanes of a vector."""

MAX_BLOCK_ROWS = 256
"""More rows no longer help BLAS, which repacks the frequencies once per block."""

INLINE_OUTPUTS = 200_000
"""Below this many outputs, waking a thread costs more than it saves."""

Step = Callable[[slice], None]

_limit: ContextVar[int | None] = ContextVar("bochner_threads", default=None)
_lock = threading.Lock()
_helpers = Helpers()


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Use at most n threads inside the `with` block, in this Python thread.

    Without it, bochner uses the cores of the process (affinity and container limits
    included), or `OMP_NUM_THREADS` where that is set, as joblib and Dask do.

    Examples
    --------
    >>> import bochner
    >>> with bochner.threads(1):
    ...     F = bochner.RandomFeatures(64, random_state=0).fit_transform([[0.0], [1.0]])
    """
    token = _limit.set(check_count("bochner.threads", "n", n))
    try:
        yield
    finally:
        _limit.reset(token)


def n_threads() -> int:
    """How many threads a call made here and now may use."""
    limit = _limit.get()
    return limit if limit is not None else min(_cores(), _environment_limit())


@cache
def _cores() -> int:
    return cpu_count()


def _environment_limit() -> int:
    """`OMP_NUM_THREADS`, which may be a list per nesting level ("4,2")."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, int(first)) if first.isdigit() else _cores()


def block_rows(n_columns: int, itemsize: int) -> int:
    """Rows of a block whose scratch of n_columns stays in the cache."""
    scratch = min(SCRATCH_BYTES, ALL_SCRATCH_BYTES // n_threads())
    fitting = scratch // max(1, n_columns * itemsize)
    whole = fitting - fitting % MIN_BLOCK_ROWS
    return max(MIN_BLOCK_ROWS, min(MAX_BLOCK_ROWS, whole))


def for_row_blocks(
    make_step: Callable[[], Step], n_rows: int, rows: int, n_columns: int
) -> None:
    """Run `step(slice)` on every block of rows; `make_step()` once per thread.

    `make_step` allocates the scratch of its thread and returns the step. The first
    error or interrupt stops the others at their next block, and is raised once they
    have stopped.
    """
    rows = _even_rows(n_rows, rows)
    starts = range(0, n_rows, rows)
    blocks = [slice(start, min(start + rows, n_rows)) for start in starts]
    if n_rows * n_columns < INLINE_OUTPUTS:
        _Share(make_step, blocks).work()
        return
    n_workers = 1 if inside_helper() else min(n_threads(), len(blocks))
    with one_blas_thread():
        _run(_Share(make_step, blocks), n_workers)


def for_fixed_blocks(step: Step, n_rows: int, rows: int, n_columns: int) -> None:
    """Run `step` on blocks of `rows` rows, cut alike whatever the number of threads.

    For steps whose rounding may depend on the cut, where that would add up.
    """

    def one(block: slice) -> None:
        step(slice(block.start * rows, min(block.stop * rows, n_rows)))

    n_blocks = -(-n_rows // rows)
    if n_blocks == 1 or n_rows * n_columns < INLINE_OUTPUTS:
        for i in range(n_blocks):
            one(slice(i, i + 1))
    else:
        for_row_blocks(lambda: one, n_blocks, 1, rows * n_columns)


def _even_rows(n_rows: int, rows: int) -> int:
    """At most `rows`, such that every thread gets as many blocks, in whole lanes."""
    n = n_threads()
    blocks = max(n, -(-n_rows // rows // n) * n)
    each = -(-n_rows // blocks)
    return min(rows, max(MIN_BLOCK_ROWS, -(-each // MIN_BLOCK_ROWS) * MIN_BLOCK_ROWS))


class _Share:
    """Blocks that several threads take from until all are done or one has failed."""

    def __init__(self, make_step: Callable[[], Step], blocks: list[slice]) -> None:
        self._make_step = make_step
        self._blocks = iter(blocks)
        self._take = threading.Lock()
        self.stopped = False

    def work(self) -> None:
        try:
            step = self._make_step()
            while (rows := self._next()) is not None:
                step(rows)
        except BaseException:
            self.stopped = True
            raise

    def _next(self) -> slice | None:
        with self._take:
            return None if self.stopped else next(self._blocks, None)


def _run(share: _Share, n_workers: int) -> None:
    jobs: list[Job] = []
    try:
        for _ in range(n_workers - 1):
            jobs.append(Job(share.work))  # known before it can begin
            _submit(jobs[-1])
        share.work()
        errors = [job.wait() for job in jobs]
    except BaseException:
        share.stopped = True
        for job in jobs:
            job.wait()
        raise
    met = [error for error in errors if error is not None]
    if met:
        try:
            raise met[0]
        finally:
            del met, errors  # or they would hold this frame, and it the rows


def _submit(job: Job) -> None:
    with _lock:
        _helpers.grow(n_threads() - 1)
        _helpers.submit(job)


def _after_fork() -> None:
    """A forked child has none of its parent's threads and must not wait for them."""
    global _lock, _helpers
    _lock, _helpers = threading.Lock(), Helpers()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_after_fork)
