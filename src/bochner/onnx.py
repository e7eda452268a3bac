"""ONNX: models that run where there is no Python."""

from .export.onnx import export

__all__ = ["export"]
