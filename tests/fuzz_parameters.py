"""Parameters as strangers give them, for every public class."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import bochner
from bochner import (
    CompactMap,
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    Nystroem,
    RandomFeatures,
    RandomProjection,
    compression,
    kernels,
    nonlinearities,
    preprocessing,
    projections,
)

JUNK: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    7,
    10**12,
    0.0,
    -0.5,
    0.5,
    1.0,
    1e-300,
    1e300,
    float("nan"),
    float("inf"),
    "",
    "auto",
    "no such name",
    "dense",
    "gaussian",
    "squared",
    b"bytes",
    (),
    [],
    [1.0, 2.0],
    {},
    {"a": 1},
    np.array([]),
    np.array([0.1, 1.0]),
    np.array([[1.0, 2.0]]),
    np.float32(0.5),
    np.int64(3),
    np.nan,
    object,
    len,
    1j,
)

ESTIMATORS: dict[str, tuple[type, dict[str, Any]]] = {
    "RandomFeatures": (RandomFeatures, {"n_components": 6}),
    "RandomProjection": (RandomProjection, {"n_components": 3}),
    "Nystroem": (Nystroem, {"n_components": 4}),
    "CompactMap": (CompactMap, {"n_components": 4, "max_iter": 2, "search": False}),
    "KernelClassifier": (KernelClassifier, {"features": RandomFeatures(6)}),
    "KernelRegressor": (KernelRegressor, {"features": RandomFeatures(6)}),
    "KernelPCA": (KernelPCA, {"n_components": 2, "features": RandomFeatures(6)}),
}
LINEAR = {"Orthoprojector", "Sparse"}
"""Projections of `RandomProjection` alone."""

PARTS: dict[str, Callable[[Any], Any]] = {
    # how a part comes into a map
    "kernels": lambda part: Nystroem(4, kernel=part),
    "projections": lambda part: (
        RandomProjection(3, projection=part)
        if type(part).__name__ in LINEAR
        else RandomFeatures(6, projection=part)
    ),
    "nonlinearities": lambda part: RandomFeatures(6, nonlinearity=part),
    "compression": lambda part: RandomFeatures(6, compression=part),
}
BASES = {"Kernel", "ShiftInvariant", "Projection", "Nonlinearity", "Compression"}
VALUES = {"LinearMap", "Compose", "Matrix", "Pad", "Permute", "Rows", "Scale", "Stack"}
VALUES |= {"SampledNonlinearity", "ProjectedRows", "Selection"}
"""What parts sample: made by the library, not by users."""


def part_classes() -> dict[str, tuple[str, type]]:
    """Public specs, by name, with the module that they are of."""
    found = {}
    for module in (kernels, projections, nonlinearities, compression):
        home = module.__name__.rpartition(".")[2]
        for name in module.__all__:
            kind = getattr(module, name)
            if inspect.isclass(kind) and name not in BASES | VALUES:
                found[f"{home}.{name}"] = (home, kind)
    return found


def parameters(kind: type) -> list[str]:
    """Names of what its constructor takes."""
    return [name for name in inspect.signature(kind).parameters if name != "kwargs"]


def junk() -> st.SearchStrategy:
    """A value that may be anything."""
    return st.sampled_from(JUNK)


def public_classes() -> set[str]:
    """All that a stranger can construct."""
    found = set()
    for module in (bochner, kernels, projections, nonlinearities, compression):
        found |= {
            name
            for name in module.__all__
            if inspect.isclass(getattr(module, name)) and name not in BASES | VALUES
        }
    return found | {
        name
        for name in preprocessing.__all__
        if inspect.isclass(getattr(preprocessing, name))
    }
