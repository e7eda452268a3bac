"""Export: fitted models as files, for this library (`persistence`) and for ONNX.

`archive` is the container, `nodes` turns values into JSON, `kinds` lists what a file
may hold, `checks` refuses what compiled code cannot trust, `draws` keeps seeds in place
of matrices, `persistence` has `save` and `load`; `onnx` writes graphs.
"""

from . import checkpoints as checkpoints
from .archive import FileError
from .persistence import load, save

__all__ = ["FileError", "load", "save"]
