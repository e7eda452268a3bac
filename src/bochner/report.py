"""The report of a comparison: one HTML file that needs no network and no server."""

from .compare.report import check_installed, page, rendered, write

__all__ = ["check_installed", "page", "rendered", "write"]
