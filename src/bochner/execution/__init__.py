"""Execution: what the user has (arrays, iterables of blocks) becomes rows of features.

`sources` hand out blocks of validated rows, `features` turns them into chunks of
features that are kept under a memory budget or made anew, `memory` sets the budget.
"""

from .blocks import blocks
from .stream import Blocks

__all__ = ["Blocks", "blocks"]
