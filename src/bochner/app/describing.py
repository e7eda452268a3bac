"""What is in a model, and what is on this machine, as plain values."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from .. import datasets
from .._core.memory import machine_bytes, readable
from ..compare.compare import environment
from .predicting import columns_wanted, labels_of, last_step

EXTRAS = {
    "cli": ("typer", "rich", "pandas", "pyarrow"),
    "report": ("plotly", "jinja2"),
    "dask": ("dask", "distributed", "pyarrow"),
    "onnx": ("onnx", "onnxruntime"),
}
"""Extras, and the packages that they bring."""


def describe_model(model: Any, path: Any) -> dict[str, Any]:
    """Kind, task, classes, columns and map of a fitted model."""
    last = last_step(model)
    found: dict[str, Any] = {"model": type(last).__name__, "file": os.fspath(path)}
    found["size"] = readable(os.path.getsize(os.path.expanduser(path)))
    classes = labels_of(model)
    if classes is not None:
        found["classes"] = [str(label) for label in classes]
    found["features in"] = int(model.n_features_in_)
    found["columns"] = columns_wanted(model)
    found["map"] = _plain(getattr(last, "features_", last))
    for name in ("alpha_", "loss", "noise_"):
        if hasattr(last, name):
            found[name.rstrip("_")] = _short(getattr(last, name))
    if isinstance(model, Pipeline):
        found["steps"] = [type(step).__name__ for _, step in model.steps]
    return found


def describe_machine() -> dict[str, Any]:
    """Versions, extras and data sets there are."""
    found: dict[str, Any] = dict(environment())
    found["memory"] = readable(machine_bytes())
    found["extras"] = {
        name: all(importlib.util.find_spec(p) is not None for p in packages)
        for name, packages in EXTRAS.items()
    }
    found["data sets"] = datasets.available()
    return found


def _plain(features: Any) -> dict[str, Any]:
    """The map in words."""
    while isinstance(features, FrozenEstimator):
        features = features.estimator
    found: dict[str, Any] = {"type": type(features).__name__}
    inner = getattr(features, "feature_map_", None)
    if inner is not None:
        found["columns"] = int(inner.n_components)
    for name in ("kernel_", "projection_"):
        if hasattr(features, name):
            found[name.rstrip("_")] = _short(getattr(features, name))
    return found


def _short(value: Any) -> Any:
    if isinstance(value, int | float | str | bool) or value is None:
        return value
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value).tolist()
    return " ".join(repr(value).split())
