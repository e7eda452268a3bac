"""bochner: kernel machines at any scale.

    law ──► projection ──► linear map ──► nonlinearity ──► weights ──► linear learner
    (kernel)   (spec)        (value)                       (compression, learning)

A kernel has a spectral law; a projection draws frequencies from it; a nonlinearity
turns phases into features whose inner products approximate the kernel. Every part can
be exchanged by itself, by name or by object.
"""

from . import (
    compression,
    datasets,
    kernels,
    methods,
    metrics,
    nonlinearities,
    onnx,
    preprocessing,
    projections,
    theory,
)
from ._threads import threads
from ._version import __version__
from .compact import CompactMap
from .comparison import compare
from .estimators import KernelClassifier, KernelPCA, KernelRegressor, estimate
from .execution import blocks
from .maps import RandomFeatures, RandomProjection
from .nystroem import Nystroem
from .persistence import load, save
from .recommend import recommend

__all__ = [
    "CompactMap",
    "KernelClassifier",
    "KernelPCA",
    "KernelRegressor",
    "Nystroem",
    "RandomFeatures",
    "RandomProjection",
    "__version__",
    "blocks",
    "compare",
    "compression",
    "datasets",
    "estimate",
    "kernels",
    "load",
    "methods",
    "metrics",
    "nonlinearities",
    "onnx",
    "preprocessing",
    "projections",
    "recommend",
    "save",
    "theory",
    "threads",
]
