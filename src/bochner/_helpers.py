"""Helper threads that an interrupt cannot leave waiting for ever.

Ctrl-C strikes the main thread between any two steps of Python code. Locks taken inside
such code, as in `queue.Queue`, `Condition`, `Future` and `ThreadPoolExecutor`, may then
stay taken for good. Here are only locks, queues and lists of the interpreter, each of
whose steps is done or not.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable

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


def _after_fork() -> None:
    """A child forked inside a helper is none."""
    _inside.helper = False


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_after_fork)
