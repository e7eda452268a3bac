"""The contenders of `automatic` and `field`, with the default settings of each.

Runs inside a rival's own environment as well as in ours, so libraries are imported
where they are used. A contender gets what it takes: boosted trees take text columns as
categories; SVC, RandomForest, MLP and xRFM get one-hot columns, medians for gaps and
standardised numbers (except pixels); SVR, MLP and xRFM get a standardised target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .field_data import IMAGES, Part
from .peers import OURS

LIBRARIES = {
    "ours": OURS,
    "LightGBM": "boosting",
    "XGBoost": "boosting",
    "CatBoost": "boosting",
    "HGB": "boosting",
    "SVC": "boosting",
    "RandomForest": "boosting",
    "MLP": "boosting",
    "xRFM": "xrfm",
}
"""Contenders, and the environment of each (see `peers`)."""

FIELD = tuple(LIBRARIES)
AUTOMATIC = FIELD[:6]
BOOSTERS = ("LightGBM", "XGBoost", "CatBoost", "HGB")

FIRST_ROWS = {"SVC": 50_000, "xRFM": 20_000}
"""Training rows of contenders whose cost grows with n² or n³: more are not tried."""

DENSE_BYTES = 1 << 30
"""Sparse rows become dense for contenders that take no other, up to this size."""


class Encoded:
    """A model after `encode`, which maps training and test rows to what it takes."""

    def __init__(self, encode: Any, model: Any) -> None:
        self.encode, self.model = encode, model

    def fit(self, X: Any, y: np.ndarray) -> None:
        self.model.fit(self.encode.fit_transform(X), y)

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.model.predict(self.encode.transform(X))).ravel()


class Categories:
    """Text columns of a frame as pandas categories, those of the training rows."""

    def __init__(self, dense: bool = False) -> None:
        self.dense = dense

    def fit_transform(self, X: Any) -> Any:
        self.types = {}
        for column in text_columns(X):
            self.types[column] = X[column].astype("category").dtype
        return self.transform(X)

    def transform(self, X: Any) -> Any:
        if self.dense and sparse.issparse(X):
            return densified(X)
        return X.astype(self.types) if self.types else X


class NamedText:
    """Text columns as CatBoost takes them: strings, and their names."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: np.ndarray) -> None:
        columns = text_columns(X)
        self.model.fit(self._strings(X), y, cat_features=columns or None)

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.model.predict(self._strings(X))).ravel()

    def _strings(self, X: Any) -> Any:
        columns = text_columns(X)
        filled = {column: X[column].fillna("").astype(object) for column in columns}
        return X.assign(**filled) if columns else X


class CompleteLabels:
    """Classes of the training rows numbered without holes, as XGBoost wants them."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: np.ndarray) -> None:
        self.classes, codes = np.unique(y, return_inverse=True)
        self.model.fit(X, codes)

    def predict(self, X: Any) -> np.ndarray:
        return self.classes[self.model.predict(X)]


class HeldOut:
    """xRFM, which wants validation rows: a fifth of the training rows."""

    def __init__(self, classify: bool, seed: int) -> None:
        self.classify, self.seed = classify, seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        from sklearn.model_selection import train_test_split
        from xrfm import xRFM

        X = np.ascontiguousarray(X, dtype=np.float32)
        y = y.astype(np.int64 if self.classify else np.float32)
        parts = train_test_split(X, y, test_size=0.2, random_state=self.seed)
        self.model = xRFM(
            device="cpu",
            tuning_metric="accuracy" if self.classify else "mse",
            random_state=self.seed,
            verbose=False,
        )
        self.model.fit(parts[0], parts[2], parts[1], parts[3])

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(np.ascontiguousarray(X, dtype=np.float32))


class ScaledTarget(HeldOut):
    """xRFM on a target of mean 0 and variance 1."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        self.mean, self.scale = y.mean(), y.std()
        super().fit(X, (y - self.mean) / self.scale)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.mean + self.scale * np.ravel(super().predict(X))


def text_columns(X: Any) -> list[str]:
    """Columns of a frame that hold no numbers."""
    if not hasattr(X, "columns"):
        return []
    return [name for name in X.columns if X[name].dtype.kind not in "iufb"]


def densified(X: Any) -> np.ndarray:
    if 4 * np.prod(X.shape, dtype=float) > DENSE_BYTES:
        raise MemoryError(f"{X.shape[0]} × {X.shape[1]} dense rows are too many")
    return X.toarray()


def numeric(part: Part, dense: bool = False) -> Any:
    """The encoder of contenders that take numbers alone."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    if sparse.issparse(part.X) and not dense:
        return StandardScaler(with_mean=False)
    if sparse.issparse(part.X):
        return make_pipeline(FunctionTransformer(densified), StandardScaler())
    if part.name in IMAGES:
        return FunctionTransformer()
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    if not text_columns(part.X):
        return numbers
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (one_hot, make_column_selector(dtype_exclude="number")),
    )


def _scaled_target(part: Part, model: Any) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    if part.classify:
        return model
    return TransformedTargetRegressor(model, transformer=StandardScaler())


class AsTheyAre:
    """Our learner on a frame itself; where it refuses text, after `for_table`."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: np.ndarray) -> None:
        from bochner.preprocessing import for_table

        try:
            self.model.fit(X, y)
        except ValueError:
            if not text_columns(X):
                raise
            self.model = Encoded(for_table(X), self.model)
            self.model.fit(X, y)

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict(X)


def ours(part: Part, seed: int) -> Any:
    from bochner import KernelClassifier, KernelRegressor

    make: Any = KernelClassifier if part.classify else KernelRegressor
    return AsTheyAre(make(random_state=seed))


def lightgbm(part: Part, seed: int) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    make = LGBMClassifier if part.classify else LGBMRegressor
    return Encoded(Categories(), make(random_state=seed, verbose=-1))


def xgboost(part: Part, seed: int) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    more: Any = {"random_state": seed, "enable_categorical": True}
    if part.classify:
        return Encoded(Categories(), CompleteLabels(XGBClassifier(**more)))
    return Encoded(Categories(), XGBRegressor(**more))


def catboost(part: Part, seed: int) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    make = CatBoostClassifier if part.classify else CatBoostRegressor
    return NamedText(make(random_seed=seed, verbose=False, allow_writing_files=False))


def hist_gradient_boosting(part: Part, seed: int) -> Any:
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )

    classify = part.classify
    make = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    return Encoded(Categories(dense=True), make(random_state=seed))


def svm(part: Part, seed: int) -> Any:
    from sklearn.svm import SVC, SVR

    model = SVC() if part.classify else SVR()
    return Encoded(numeric(part), _scaled_target(part, model))


def random_forest(part: Part, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    make = RandomForestClassifier if part.classify else RandomForestRegressor
    return Encoded(numeric(part), make(random_state=seed, n_jobs=-1))


def mlp(part: Part, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    make = MLPClassifier if part.classify else MLPRegressor
    return Encoded(numeric(part), _scaled_target(part, make(random_state=seed)))


def xrfm(part: Part, seed: int) -> Any:
    make = HeldOut if part.classify else ScaledTarget
    return Encoded(numeric(part, dense=True), make(part.classify, seed))


MODELS: dict[str, Callable[[Part, int], Any]] = {
    "ours": ours,
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "CatBoost": catboost,
    "HGB": hist_gradient_boosting,
    "SVC": svm,
    "RandomForest": random_forest,
    "MLP": mlp,
    "xRFM": xrfm,
}
