"""bochner: kernel machines at any scale.

    law ──► projection ──► linear map ──► nonlinearity ──► weights ──► linear learner
    (kernel)   (spec)        (value)                       (compression, learning)

A kernel has a spectral law; a projection draws frequencies from it; a nonlinearity
turns phases into features whose inner products approximate the kernel. Every part can
be exchanged by itself, by name or by object.
"""

from ._core.interrupts import quiet_interrupt, runs_command_line

with quiet_interrupt(runs_command_line()):
    from .features import CompactMap, Nystroem, RandomFeatures, RandomProjection  # isort: skip

    # ^ first: compression builds on features.feature_map
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
    from ._core.parallel import threads
    from ._core.version import __version__
    from .compare import compare, recommend
    from .data import blocks
    from .export import load, save
    from .learners import KernelClassifier, KernelPCA, KernelRegressor, estimate

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
