"""Row blocks, the thread pool and the BLAS limit: the one file that knows of threads.

Work on n rows is cut into blocks that fit the cache. The calling thread and the pool's
threads take blocks until none is left, each with its own scratch buffer and with BLAS
held to one thread, so that product and nonlinearity of a block stay on one core.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

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
_inside = threading.local()
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_pool_size = 0


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
    n_workers = 1 if _inside_pool() else min(n_threads(), len(blocks))
    with one_blas_thread:
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
    helpers: list[Future] = []
    try:
        for _ in range(n_workers - 1):
            helpers += _submit(share.work)
        share.work()
        _await(helpers)
    except BaseException:
        share.stopped = True
        _await(helpers)
        raise
    for helper in helpers:
        if not helper.cancelled():
            helper.result()


def _await(helpers: list[Future]) -> None:
    """Drop helpers that never started (all blocks are taken) and wait for the rest."""
    wait([helper for helper in helpers if not helper.cancel()])


def _inside_pool() -> bool:
    return getattr(_inside, "pool", False)


def _enter_pool() -> None:
    _inside.pool = True


def _submit(work: Callable[[], None]) -> list[Future]:
    """One helper, or none where the interpreter is shutting down."""
    global _pool, _pool_size
    with _lock:
        if _pool is None or _pool_size < n_threads() - 1:
            # A grown pool leaves its smaller self to finish what it holds.
            _pool_size = n_threads() - 1
            _pool = ThreadPoolExecutor(
                _pool_size, thread_name_prefix="bochner", initializer=_enter_pool
            )
        try:
            return [_pool.submit(work)]
        except RuntimeError:
            return []


class _OneBlasThread:
    """BLAS held to one thread while anybody is inside.

    threadpoolctl's limits are process-wide, so nested or simultaneous ones would
    restore each other's values: only the first to enter sets, the last restores.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            # a child forked inside a step leaves what its parent entered
            self._inside = max(0, self._inside - 1)
            if self._inside == 0 and self._limiter is not None:
                self._limiter.restore_original_limits()

    def after_fork(self) -> None:
        if self._inside:
            self._limiter.restore_original_limits()
        self.__init__()  # type: ignore[misc]


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


one_blas_thread = _OneBlasThread()


def _after_fork() -> None:
    """A forked child has none of its parent's threads and must not wait for them."""
    global _lock, _pool, _pool_size
    _lock, _pool, _pool_size = threading.Lock(), None, 0
    _inside.pool = False
    one_blas_thread.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_after_fork)
