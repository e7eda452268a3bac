"""Row blocks on all cores: how work is cut, and who does it.

Work on n rows is cut into blocks that fit the cache. The calling thread and
helpers take blocks until none is left, each with its own scratch buffer and with BLAS
held to one thread, so that product and nonlinearity of a block stay on one core.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from .validation import check_count


class _Limit:
    """One thread of BLAS while anybody is inside.

    Limits are process-wide, so nested or simultaneous ones would restore each other's
    values: the first to enter sets, the last restores. Either may be called again, so
    that an interrupt in the middle is made good by a second call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside: set[object] = set()
        self._usual: list[tuple[Any, int]] = []

    def enter(self, who: object) -> None:
        with self._lock:
            if not self._inside:
                self._usual = [(blas, blas.num_threads) for blas in _libraries()]
            self._inside.add(who)
            for blas, _ in self._usual:
                blas.set_num_threads(1)

    def leave(self, who: object) -> None:
        with self._lock:
            self._inside.discard(who)
            if not self._inside:
                self.restore()

    def restore(self) -> None:
        """Give back what was taken; nothing where nobody has entered."""
        for blas, n in self._usual:
            blas.set_num_threads(n)
        self._usual = []


@cache
def _libraries() -> list[Any]:
    found = ThreadpoolController().lib_controllers
    return [library for library in found if library.user_api == "blas"]


_blas_limit = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS uses one thread inside the `with` block.

    Where an interrupt strikes between `with` and the block, the threads are given back
    when its traceback is freed.
    """
    limit, who = _blas_limit, object()
    try:
        limit.enter(who)
        yield
    finally:
        try:
            limit.leave(who)
        except BaseException:  # an interrupt while leaving
            limit.leave(who)
            raise


SMALL_OPERATIONS = 1e10
"""Multiplications up to which a fit keeps BLAS on one thread. A second thread saves a
fraction of a second there, and where other processes hold the cores, threads of BLAS
that spin while they wait for each other take many times as long."""


@contextmanager
def blas_threads_for(operations: float) -> Iterator[None]:
    """BLAS uses one thread inside the `with` block if the work is small."""
    if operations > SMALL_OPERATIONS:
        yield
        return
    with one_blas_thread():
        yield


def _reset_blas_limit() -> None:
    """A child that was forked inside a step leaves what its parent has entered."""
    global _blas_limit
    _blas_limit.restore()
    _blas_limit = _Limit()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_reset_blas_limit)


HELPER, OWNER = "helper", "owner"

_inside = threading.local()


def inside_helper() -> bool:
    """Whether this thread is a helper, which must not wait for others."""
    return getattr(_inside, "helper", False)


class Job:
    """Work that a helper does, unless its owner has dropped it before."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._claims: list[str] = []  # the first has it
        self._running = threading.Lock()
        self._running.acquire()
        self._error: BaseException | None = None

    def run(self) -> None:
        """Called by a helper."""
        self._claims.append(HELPER)
        if self._claims[0] is not HELPER:
            return
        try:
            self._work()
        except BaseException as error:  # for the owner to raise
            self._error = error
        finally:
            self._running.release()

    def wait(self) -> BaseException | None:
        """Drop it, or wait until it is done: the error it met. May be called again."""
        self._claims.append(OWNER)
        if self._claims[0] is OWNER:
            self._work = _nothing  # which it holds no longer, while it is in the queue
            return None
        with self._running:
            return self._error


class Helpers:
    """Threads that take jobs in order, as many as were asked for at most."""

    def __init__(self) -> None:
        self.n = 0
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()

    def grow(self, n: int) -> None:
        """Have n threads; fewer where the system gives no more."""
        while self.n < n:
            name = f"bochner_{self.n}"
            thread = threading.Thread(target=self._serve, name=name, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # at shutdown, or too many: owners do all the work
                return
            self.n += 1

    def submit(self, job: Job) -> None:
        """A job for the next free helper; where there is none, its owner drops it."""
        if self.n:
            self._jobs.put(job)

    def _serve(self) -> None:
        _inside.helper = True
        while True:
            job = self._jobs.get()
            job.run()
            del job  # what it holds is not kept while waiting for the next


def _nothing() -> None:
    pass


def _forget_helpers() -> None:
    """A child forked inside a helper is none."""
    _inside.helper = False


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_forget_helpers)


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


def _forget_pool() -> None:
    """A forked child has none of its parent's threads and must not wait for them."""
    global _lock, _helpers
    _lock, _helpers = threading.Lock(), Helpers()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_forget_pool)
