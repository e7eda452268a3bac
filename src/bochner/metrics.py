"""How good a feature map is, on the user's own rows."""

from .compare.metrics import equal_codes, kernel_error

__all__ = ["equal_codes", "kernel_error"]
