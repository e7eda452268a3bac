"""Reproduce: the experiments of five papers on real data, our figures beside theirs.

A file per paper has its figures and `experiments`, which give `cells`; `run` makes them
one by one, and goes on where it was broken off; `page` shows them.
"""

from .cells import BEATEN, MISSED, REACHED, Cell, Curve, Table
from .run import PAPERS, Reproduction, reproduce

__all__ = [
    "BEATEN",
    "MISSED",
    "PAPERS",
    "REACHED",
    "Cell",
    "Curve",
    "Reproduction",
    "Table",
    "reproduce",
]
