"""Execution: what the user has (arrays, files, Dask) becomes rows of features.

`blocks` opens `files` and iterables as a `stream`; `sources` hand out blocks of
validated rows, `features` turns them into chunks of features that are kept under a
budget (`memory`) or made anew, and folds them, leaving its state in a `checkpoint`;
`dask` does the same on workers.
"""

from .blocks import blocks
from .stream import Blocks

__all__ = ["Blocks", "blocks"]
