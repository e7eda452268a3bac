"""Changes of an object that happen as a whole, or not at all."""

from __future__ import annotations

import functools
from collections.abc import Callable


def restores_on_error(method: Callable) -> Callable:
    """A method whose object is as before, where it fails or is interrupted.

    Attributes are put back as they were: O(1) in time and memory. What they hold must
    not be changed in place.
    """

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        before = vars(self).copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before  # one step, which a second interrupt cannot halve
            raise

    return call
