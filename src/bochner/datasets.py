"""Load data sets by name: built in, from the folder BOCHNER_DATA, or from OpenML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from ._core.validation import did_you_mean
from .data.formats.arrays import WholeArrays, checked_sparse

VARIABLE = "BOCHNER_DATA"
"""The environment variable that names a folder of .npz files."""

IMAGES = frozenset({"mnist", "fashion_mnist", "cifar10_20k", "orl_faces"})
"""Data sets of 8-bit pixels, which are scaled to [0, 1]."""

MISSPELT = 0.85
"""Names at least this similar to a known name are taken for misspelt ones."""

OPENML = {"mnist": "mnist_784", "fashion_mnist": "Fashion-MNIST"}
"""Names on OpenML that differ from ours."""


def load(name: str) -> Bunch:
    """Load a data set, split into training and test rows.

    "digits" is built in. Other names are looked up as ``<name>.npz`` in the folder that
    the environment variable BOCHNER_DATA names, and then on OpenML through
    scikit-learn. Features become float32, 8-bit images are divided by 255, and sparse
    data stays CSR. A data set without a predefined split is split 80/20 with seed 0.

    Parameters
    ----------
    name : str
        Name of the data set.

    Returns
    -------
    Bunch
        A dictionary with the attributes X_train, y_train, X_test and y_test.

    Raises
    ------
    ValueError
        If there is no data set of that name, or if its file has no X and y.

    See Also
    --------
    available : Names that load without a network.

    Examples
    --------
    >>> from bochner import datasets
    >>> digits = datasets.load("digits")
    >>> digits.X_train.shape, digits.X_test.shape, digits.X_train.dtype
    ((1437, 64), (360, 64), dtype('float32'))
    """
    if not isinstance(name, str) or not name:
        raise ValueError(
            f"datasets.load: name must be a data set's name; got {name!r}."
        )
    if name == "digits":
        return _split(*_digits())
    known = available()
    if name in known:
        return read(Path(os.environ[VARIABLE]) / f"{name}.npz")
    hint = did_you_mean(name, known, cutoff=MISSPELT)
    if hint:  # a misspelt name is unlikely to exist on OpenML
        raise ValueError(
            f"datasets.load: no data set {name!r}{hint}; available data sets are "
            f"{', '.join(known)}. If OpenML has a data set of that name, use "
            f"sklearn.datasets.fetch_openml({name!r})."
        )
    return _split(*_from_openml(name))


def available() -> list[str]:
    """Sorted names of the data sets that `load` finds without a network.

    Returns
    -------
    list of str
        "digits", and the names of the `.npz` files in the folder BOCHNER_DATA.

    See Also
    --------
    load : Load one of them.

    Examples
    --------
    >>> from bochner import datasets
    >>> "digits" in datasets.available()
    True
    """
    folder = os.environ.get(VARIABLE)
    files = Path(folder).glob("*.npz") if folder else ()
    return sorted({"digits", *(file.stem for file in files)})


def _digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return (X / 16).astype(np.float32), y  # 17 grey levels, scaled to [0, 1]


def read(path: Path) -> Bunch:
    """Read a data set from an `.npz` file.

    Parameters
    ----------
    path : Path
        A file with the arrays X and y, which are split 80/20 with seed 0, or with
        X_train, y_train, X_test and y_test. A CSR matrix X has the arrays X_data,
        X_indices, X_indptr and X_shape. An array `scale` multiplies the columns.

    Returns
    -------
    Bunch
        A dictionary with the attributes X_train, y_train, X_test and y_test.

    Raises
    ------
    ValueError
        If the file does not hold these arrays.
    """
    arrays = WholeArrays(path)
    split_keys = ("X_train", "y_train", "X_test", "y_test")
    if all(_has(arrays, key) for key in split_keys):
        return Bunch(
            X_train=_read_rows(arrays, "X_train", path.stem),
            y_train=arrays["y_train"],
            X_test=_read_rows(arrays, "X_test", path.stem),
            y_test=arrays["y_test"],
        )
    if _has(arrays, "X") and "y" in arrays:
        return _split(_read_rows(arrays, "X", path.stem), arrays["y"])
    raise ValueError(
        f"datasets.load: {path.name} holds {', '.join(arrays)}; a data set needs X "
        "and y, or X_train, y_train, X_test and y_test."
    )


def _has(arrays: Mapping[str, np.ndarray], key: str) -> bool:
    return key in arrays or f"{key}_data" in arrays


def _read_rows(arrays: Mapping[str, np.ndarray], key: str, name: str) -> Any:
    """Rows as float32, from an array or the parts of a CSR matrix, and rescaled."""
    if f"{key}_data" in arrays:
        parts = [arrays[f"{key}_{part}"] for part in ("data", "indices", "indptr")]
        shape = tuple(arrays[f"{key}_shape"])
        try:
            X = checked_sparse(sparse.csr_matrix(tuple(parts), shape=shape))
        except (ValueError, TypeError, IndexError) as error:
            raise ValueError(
                f"datasets.load: {name}.npz holds no valid CSR matrix {key} "
                f"({error}); write the file again."
            ) from error
        return X.astype(np.float32)
    X = _scale_pixels(np.ascontiguousarray(arrays[key], dtype=np.float32), name)
    if "scale" in arrays:
        # one number, or one number for each of several interleaved channels
        X *= np.resize(arrays["scale"], X.shape[1]).astype(np.float32)
    return X


def _scale_pixels(X: np.ndarray, name: str) -> np.ndarray:
    return X / np.float32(255) if name in IMAGES else X


def _split(X: Any, y: np.ndarray) -> Bunch:
    from sklearn.model_selection import train_test_split

    parts = train_test_split(X, y, test_size=0.2, random_state=0)
    return Bunch(X_train=parts[0], y_train=parts[2], X_test=parts[1], y_test=parts[3])


def _from_openml(name: str) -> tuple[Any, np.ndarray]:
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(OPENML.get(name, name), as_frame=False, parser="auto")
        return _scale_pixels(bunch.data.astype(np.float32), name), bunch.target
    except (OSError, ValueError) as error:  # no network, unknown name, or no numbers
        raise ValueError(
            f"datasets.load: no data set {name!r}"
            f"{did_you_mean(name, available())}: it is not among "
            f"{', '.join(available())}, and OpenML did not give it ({error}). "
            f"Set {VARIABLE} to a folder that holds {name}.npz."
        ) from error
