"""Comparison: feature maps and the default learner against three references.

`compare` asks `data` for rows as maps see them, `setting` for the bandwidth that all
share, makes `contenders`, has each measured by `measuring`, and gives `results`.
"""

from .compare import compare
from .results import Comparison

__all__ = ["Comparison", "compare"]
