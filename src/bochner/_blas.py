"""BLAS held to one thread, and given back whatever happens meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


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


_limit = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS uses one thread inside the `with` block.

    Where an interrupt strikes between `with` and the block, the threads are given back
    when its traceback is freed.
    """
    limit, who = _limit, object()
    try:
        limit.enter(who)
        yield
    finally:
        try:
            limit.leave(who)
        except BaseException:  # an interrupt while leaving
            limit.leave(who)
            raise


def _after_fork() -> None:
    """A child that was forked inside a step leaves what its parent has entered."""
    global _limit
    _limit.restore()
    _limit = _Limit()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_after_fork)
