"""The report of a comparison: one HTML file that needs no network and no server.

`text` formats figures and writes the finding in sentences, `charts` draws the entries,
and `page` puts them and the tables into the template.
"""

from .page import check_installed, page, rendered, write

__all__ = ["check_installed", "page", "rendered", "write"]
