"""Reading ahead: the next block is read while this one is worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

LOOK = 0.1
"""Seconds between looks whether a walk was broken off."""


def prefetched(source: Iterator[Any]) -> Iterator[Any]:
    """The items of `source`, read by a thread of their own, in order.

    One waits, one more is being read and one worked on. Errors come out where the item
    would have. A walk that is broken off ends the thread.
    """
    # neither Queue nor Event: an interrupt may leave the lock in them taken for good
    items: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
    room: Any = threading.Lock()
    done: list[bool] = []

    def put(item: Any, error: BaseException | None) -> bool:
        """Whether there was room for it before the walk was broken off."""
        while not done:
            if room.acquire(timeout=LOOK):
                items.put((item, error))
                return True
        return False

    def read() -> None:
        try:
            for item in source:
                if not put(item, None):
                    return
            put(None, StopIteration())
        except BaseException as error:  # for the reader to raise
            put(None, error)

    thread = threading.Thread(target=read, name="bochner-reader", daemon=True)
    try:
        thread.start()
        while True:
            item, error = items.get()
            room.release()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item
    finally:
        done.append(True)
        if thread.is_alive():
            thread.join()
