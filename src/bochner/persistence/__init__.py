"""Persistence: models in files that outlive sessions, versions and Python itself.

`archive` is the container, `nodes` turns values into JSON, `kinds` lists what a file
may hold, `checks` refuses what compiled code cannot trust, `draws` keeps seeds in place
of matrices, `files` has `save` and `load`.
"""

from .archive import FileError
from .files import load, save

__all__ = ["FileError", "load", "save"]
