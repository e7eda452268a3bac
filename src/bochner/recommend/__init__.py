"""Recommend: which map, of what size and bandwidth, for a target on the user's data.

`search` walks the `space` of methods, sizes and bandwidths by successive halving on
growing subsamples; `targets` say what is allowed; `judging` tells how the choice does
on rows that had no part in it, with intervals.
"""

from .recommend import recommend
from .results import Recommendation

__all__ = ["Recommendation", "recommend"]
