from .classifier import KernelClassifier

__all__ = ["KernelClassifier"]
