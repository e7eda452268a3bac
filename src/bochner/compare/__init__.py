"""Compare: feature maps and learners on the user's data, and what to use there.

`compare` measures `contenders` on one `task`; `recommend` searches methods, sizes and
bandwidths by successive `halving`; `report` shows a comparison as a page; `metrics`
measures one feature map.
"""

from .compare import compare
from .recommend import recommend
from .recommendation import Recommendation
from .results import Comparison

__all__ = ["Comparison", "Recommendation", "compare", "recommend"]
