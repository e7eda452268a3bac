"""One small fitted model of every kind, for tests of saving and exporting."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

from bochner import (
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    Nystroem,
    RandomFeatures,
    RandomProjection,
    kernels,
    methods,
    nonlinearities,
    projections,
)

N_ROWS, N_FEATURES = 90, 20
FORMS = ("dense-float64", "dense-float32", "csr-float64", "csr-float32")


def rows(form: str, seed: int = 0) -> Any:
    """Rows with a third of their entries zero, in one of FORMS."""
    kind, dtype = form.split("-")
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, N_FEATURES)) * (rng.random((N_ROWS, N_FEATURES)) > 0.3)
    X = X.astype(dtype)
    return sparse.csr_matrix(X) if kind == "csr" else X


def labels(seed: int = 0) -> np.ndarray:
    return (rows("dense-float64", seed)[:, 0] > 0).astype(int)


def numbers() -> np.ndarray:
    return rows("dense-float64")[:, 1] ** 2


def every_method() -> dict[str, Any]:
    """All of `methods`, unfitted."""
    short: dict[str, Any] = {"compact": {"max_iter": 3, "search": False}}
    short["compact_circulant"] = short["compact"]
    short |= {n: {"n_candidates": 200} for n in ("giga", "frank_wolfe", "jl")}
    return {
        name: make(16, random_state=3, **short.get(name, {}))
        for name, make in methods.METHODS.items()
    }


def every_map() -> dict[str, Any]:
    """Further maps, which no name in `methods` comes to."""
    pool = nonlinearities.Maxout(3, pool=30, center=True)
    wide = nonlinearities.CosSin(phase_dtype="float64")
    onehot = nonlinearities.ArgmaxCode(3, output="onehot")
    maps: dict[str, Any] = {
        "matern": RandomFeatures(16, kernel="matern", random_state=0),
        "laplacian": RandomFeatures(
            16, kernel="laplacian", projection="circulant", random_state=0
        ),
        "cos": RandomFeatures(15, nonlinearity="cos", random_state=0),
        "one": RandomFeatures(1, random_state=0),
        "wide_phases": RandomFeatures(
            16, projection="sorf", nonlinearity=wide, random_state=0
        ),
        "relu": RandomFeatures(15, nonlinearity="relu", random_state=0),
        "sign": RandomFeatures(15, nonlinearity="sign", random_state=0),
        "pool": RandomFeatures(15, nonlinearity=pool, random_state=0),
        "onehot": RandomFeatures(15, nonlinearity=onehot, random_state=0),
        "many_blocks": RandomFeatures(200, projection="sorf", random_state=0),
        "normalised": RandomFeatures(
            16, projection=projections.BlockDiagonal(normalize=True), random_state=0
        ),
        "giga_sorf": RandomFeatures(
            8, projection="sorf", compression="giga", random_state=0
        ),
        "nystroem_matern": Nystroem(12, kernel=kernels.Matern(2.5), random_state=0),
        "nystroem_laplacian": Nystroem(12, kernel="laplacian", random_state=0),
        "nystroem_quadratic": Nystroem(12, kernel="rational_quadratic", random_state=0),
        "nystroem_angular": Nystroem(12, kernel=kernels.ArcCosine(1), random_state=0),
    }
    for name in projections.PROJECTIONS:
        maps[f"projection_{name}"] = RandomProjection(
            8, projection=name, random_state=0
        )
    return maps


def every_estimator() -> dict[str, Any]:
    """The three estimators, with maps of several kinds, unfitted."""
    sorf = methods.sorf(16, random_state=0)
    return {
        "classifier": KernelClassifier(24, random_state=0),
        "classifier_log": KernelClassifier(sorf, loss="log", alpha=0.1),
        "classifier_calibrated": KernelClassifier(sorf, calibrate=True, alpha=0.1),
        "regressor": KernelRegressor(24, random_state=0),
        "regressor_sorf": KernelRegressor(sorf),
        "pca": KernelPCA(3, features=24, random_state=0),
        "pca_sorf": KernelPCA(3, features=sorf),
    }


def fitted(model: Any, X: Any) -> Any:
    supervised = not isinstance(model, KernelRegressor)
    return model.fit(X, labels() if supervised else numbers())


def outputs(model: Any, X: Any) -> list[np.ndarray]:
    """All that a model says of rows."""
    calls = ("transform", "decision_function", "predict_proba", "predict")
    found = [getattr(model, call)(X) for call in calls if hasattr(model, call)]
    if isinstance(model, KernelRegressor):
        found.append(model.predict(X, return_std=True)[1])
    return [F.toarray() if sparse.issparse(F) else F for F in found]


def fingerprint(model: Any, X: Any) -> str:
    """A checksum of every bit of that."""
    found = hashlib.sha256()
    for F in outputs(model, X):
        found.update(
            f"{F.dtype} {F.shape}".encode() + np.ascontiguousarray(F).tobytes()
        )
    return found.hexdigest()
