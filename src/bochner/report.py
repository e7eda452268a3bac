"""A comparison as one HTML file, which needs no network and no server."""

from .compare.report import check_installed, page, rendered, write

__all__ = ["check_installed", "page", "rendered", "write"]
