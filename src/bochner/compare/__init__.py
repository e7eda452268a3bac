"""Compare feature maps and learners on the user's data, and recommend one.

`compare` measures `contenders` on one `task`. `recommend` searches methods, sizes and
bandwidths by successive `halving`. `report` shows a comparison as an HTML page.
`metrics` measures a single feature map.
"""

from .compare import compare
from .recommend import recommend
from .recommendation import Recommendation
from .results import Comparison

__all__ = ["Comparison", "Recommendation", "compare", "recommend"]
