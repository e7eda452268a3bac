"""Metrics of feature maps on the user's rows."""

from .compare.metrics import equal_codes, kernel_error

__all__ = ["equal_codes", "kernel_error"]
