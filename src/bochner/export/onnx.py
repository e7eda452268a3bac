"""ONNX: models that run where there is no Python.

Every part says what it computes in `forward(ops, X)`; here `ops` is a `Graph`, which
writes operators down instead of computing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.atomic_files import new_file
from .._core.ops import Unsupported
from .._core.validation import FLOATS
from ..features.transformer import check_fitted

__all__ = ["export"]


def export(
    model: Any, path: Any, *, dtype: Any = None, return_std: bool = False
) -> None:
    """Write a fitted model as an ONNX file, for onnxruntime and its kin.

    The graph takes rows `X`, (n, n_features), n any number, and gives

    - of maps `features`, of KernelPCA `components`;
    - of classifiers `label`, `scores`, and `probabilities` where the model has them;
    - of regressors `prediction`, and `std` if asked for.

    Where a Pipeline begins with a ColumnTransformer that takes text or dates, as
    `preprocessing.for_table` makes them, there is no `X`, and each column is an input
    of its name, (n, 1): numbers in the graph's type, text ("" is missing), dates as
    int64 seconds since 1970-01-01 UTC (−2⁶³ is missing).

    Rows are not looked at: NaN gives NaN, and some label.

    Hadamard, circulant and (very) sparse maps stay structured. Opset 18. Needs the
    extra: `pip install bochner[onnx]`.

    Parameters
    ----------
    model : map, estimator, or Pipeline that ends with one, fitted
        Steps before it may be scalers, SimpleImputer, OneHotEncoder,
        ColumnTransformer and those of `bochner.preprocessing`.
    path : path
        By custom ending in `.onnx`; replaced as a whole.
    dtype : None, "float32" or "float64"
        The type of the graph. None: that of the model's map.
    return_std : bool
        Also give the standard deviation of a KernelRegressor's predictions.

    Examples
    --------
    >>> import bochner, tempfile
    >>> digits = bochner.datasets.load("digits")
    >>> features = bochner.methods.sorf(64, random_state=0).fit(digits.X_train)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bochner.onnx.export(features, f"{folder}/features.onnx")
    """
    check_fitted(model)
    try:
        import onnx  # noqa: F401
    except ImportError as missing:
        raise ImportError(
            "bochner.onnx.export needs the package onnx: pip install bochner[onnx]"
        ) from missing
    from .onnx_model import written  # imports much of scikit-learn

    try:
        file_model = written(model, _dtype(model, dtype), return_std)
    except Unsupported as error:
        raise TypeError(f"onnx.export: {error}") from None
    with new_file("onnx.export", path) as file:
        file.write(file_model.SerializeToString())


def _dtype(model: Any, asked: Any) -> np.dtype:
    """The type asked for, or that of the first map inside the model."""
    if asked is not None:
        for dtype in map(np.dtype, FLOATS):
            if asked in (dtype, dtype.name):
                return dtype
        raise ValueError(
            f"onnx.export: dtype must be 'float32' or 'float64'; got {asked!r}."
        )
    for name in ("feature_map_", "linear_map_", "features_", "estimator", "steps"):
        found = getattr(model, name, None)
        if found is not None:
            inner = found[-1][1] if name == "steps" else found
            return inner.dtype if name.endswith("map_") else _dtype(inner, None)
    return np.dtype(np.float64)
