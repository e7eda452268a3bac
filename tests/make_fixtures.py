"""Write files of this version, with what their models say: run once for a format.

    python tests/make_fixtures.py 1

Files of earlier formats stay as they were written: `load` must go on reading them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import bochner
import zoo

FOLDER = Path(__file__).parent / "fixtures"

MAPS = ("matern", "relu", "pool", "onehot", "giga_sorf", "nystroem_laplacian")


def pipeline():
    """What `bochner fit` builds: an imputer, a scaler, one-hot codes, a learner."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    onehot = OneHotEncoder(handle_unknown="ignore", max_categories=3)
    columns = ColumnTransformer(
        [("numbers", numbers, list(range(19))), ("words", onehot, [19])]
    )
    learner = bochner.KernelClassifier(bochner.methods.sorf(16), loss="log")
    return make_pipeline(columns, learner.set_params(random_state=0))


def write(name: str, model, seeds: bool = False) -> None:
    bochner.save(model, FOLDER / f"{name}.bochner", seeds=seeds)
    said = zoo.outputs(model, zoo.rows("dense-float64", seed=1)[:5])
    np.savez_compressed(FOLDER / f"{name}.npz", *map(_plain, said))


def _plain(F: np.ndarray) -> np.ndarray:
    return F.astype(str) if F.dtype == object else F


def main(version: str) -> None:
    X, y = zoo.rows("dense-float64"), zoo.labels()
    models = {**zoo.every_method(), **zoo.every_estimator()}
    models |= {name: zoo.every_map()[name] for name in MAPS}
    for name, model in models.items():
        write(f"{name}-{version}", zoo.fitted(model, X))
    sparse = zoo.fitted(zoo.every_method()["nystroem"], zoo.rows("csr-float32"))
    write(f"nystroem_csr-{version}", sparse)
    stream = bochner.KernelRegressor(bochner.methods.rff(8, random_state=0))
    write(f"stream-{version}", stream.partial_fit(X, zoo.numbers()))
    words = bochner.KernelClassifier(bochner.methods.rff(8, random_state=0))
    write(f"words-{version}", words.fit(X, np.array(["no", "ja"], object)[y]))
    write(f"seeds-{version}", bochner.methods.rff(100, random_state=0).fit(X), True)
    holes = X.copy()
    holes[::7, 3], holes[:, 19] = np.nan, np.round(holes[:, 19])
    # its steps are stored as this version of scikit-learn has them
    sklearn_version = "_".join(sklearn.__version__.split(".")[:2])
    write(f"pipeline-{version}-sklearn-{sklearn_version}", pipeline().fit(holes, y))


if __name__ == "__main__":
    main(sys.argv[1])
