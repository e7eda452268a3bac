"""Report: a comparison as one HTML file, which needs no network and no server.

`text` writes figures, `styles` says how contenders look, `charts` and `tables` show
entries, `finding` says in words what came out; `page` puts them into the template.
"""

from .page import check_installed, page, rendered, write

__all__ = ["check_installed", "page", "rendered", "write"]
