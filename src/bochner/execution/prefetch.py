"""Reading ahead: the next block is read while this one is worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

AHEAD = 1
"""Blocks that wait; one more is being read and one worked on."""


def prefetched(source: Iterator[Any]) -> Iterator[Any]:
    """The items of `source`, read by a thread of their own, in order.

    Errors come out where the item would have. A walk that is broken off ends the
    thread.
    """
    items: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(AHEAD)
    done = threading.Event()

    def read() -> None:
        try:
            for item in source:
                if not _put(items, (item, None), done):
                    return
            _put(items, (None, StopIteration()), done)
        except BaseException as error:  # for the reader to raise
            _put(items, (None, error), done)

    thread = threading.Thread(target=read, name="bochner-reader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = items.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item
    finally:
        done.set()
        thread.join()


def _put(items: queue.Queue, item: Any, done: threading.Event) -> bool:
    """Whether the item was taken before the walk was broken off."""
    while not done.is_set():
        try:
            items.put(item, timeout=0.1)
            return True
        except queue.Full:
            continue
    return False
