"""Whatever strangers give: a result that keeps the contract, or a clear refusal.

`make fuzz CASES=100000` runs many cases; the default suite few.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from bochner import (
    CompactMap,
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    Nystroem,
    methods,
)
from fuzz_parameters import (
    ESTIMATORS,
    PARTS,
    junk,
    parameters,
    part_classes,
    public_classes,
)
from fuzz_rows import Given, given_labels, given_numbers, given_rows, given_weights
from zoo import every_map, every_method

CASES = int(os.environ.get("CASES", "0"))
FEW = settings(
    max_examples=40 if not CASES else max(1, CASES // 60),
    deadline=None,
    derandomize=not CASES,
    suppress_health_check=list(HealthCheck),
)
REFUSALS = (ValueError, TypeError)
INTERNAL = (
    # what NumPy, SciPy and Python say of a mistake of ours
    "broadcast",
    "has no attribute",
    "object is not",
    "unhashable",
    "truth value",
    "unsupported operand",
    "ufunc",
    "subscriptable",
    "cannot reshape",
    "positional argument",
    "unexpected keyword",
    "out of bounds",
    "not supported between",
    "could not convert string",
    "dtype object",
    "cannot be interpreted as an integer",
    "signature",
)
X = np.random.default_rng(0).normal(size=(30, 4))
LABELS = (X[:, 0] > 0).astype(int)
MAPS = {**every_method(), **every_map()}


OWNERS = (*public_classes(), "RandomState", "random_state")
"""Who may speak: a part, or what takes seeds for all of them."""


def told(error: Exception) -> str:
    words = str(error)
    assert words.strip(), repr(error)
    lower = words.lower()
    assert not any(said in lower for said in INTERNAL), repr(error)
    return words


def fitted(model: Any, rows: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, y)


def dense(F: Any) -> np.ndarray:
    F = F.toarray() if sparse.issparse(F) else F
    return np.asarray(F.to_numpy() if hasattr(F, "to_numpy") else F)


def check_features(model: Any, found: Given) -> None:
    """Shape, type, finiteness, no change to what was given, the same twice."""
    before = found.dense.copy()
    F = dense(model.transform(found.X))
    assert F.shape == (len(before), len(model.get_feature_names_out()))
    assert np.isfinite(F.astype(float)).all()
    if F.dtype.kind == "f":
        single = found.dtype == "float32" and found.form not in ("list", "polars")
        assert F.dtype == (np.float32 if single else np.float64)
    np.testing.assert_array_equal(dense(model.transform(found.X)), F)
    again = dense(found.X) if not isinstance(found.X, list) else np.array(found.X)
    np.testing.assert_array_equal(again.astype(float), before)


@pytest.mark.parametrize("name", MAPS)
@FEW
@given(found=given_rows())
def test_maps_of_any_rows(name, found):
    y = np.arange(len(found.dense)) % 2
    try:
        model = fitted(clone(MAPS[name]), found.X, y)
        check_features(model, found)
    except REFUSALS as error:
        told(error)
    else:
        assert found.defect is None


LEARNERS: dict[str, Any] = {
    "hinge": KernelClassifier(methods.rff(6), random_state=0),
    "log": KernelClassifier(methods.rff(6), loss="log", random_state=0),
    "squared": KernelClassifier(methods.rff(6), loss="squared", random_state=0),
    "nystroem": KernelClassifier(Nystroem(4), alpha=1.0, random_state=0),
    "regressor": KernelRegressor(methods.rff(6), random_state=0),
    "fixed": KernelRegressor(Nystroem(4), alpha=0.1, random_state=0),
    "components": KernelPCA(1, features=methods.rff(6), random_state=0),
    "learned": CompactMap(4, max_iter=2, search=False, random_state=0),
}


@pytest.mark.parametrize("name", LEARNERS)
@FEW
@given(values=st.data())
def test_learners_of_any_rows(name, values):
    found, model = values.draw(given_rows()), clone(LEARNERS[name])
    n = len(found.dense)
    targets = given_numbers if isinstance(model, KernelRegressor) else given_labels
    y = values.draw(targets(n))
    weight = None if name == "learned" else values.draw(given_weights(n))
    more = {} if name == "learned" else {"sample_weight": weight}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(found.X, y, **more)
            out = dense((getattr(model, "predict", None) or model.transform)(found.X))
    except REFUSALS as error:
        told(error)
        return
    assert found.defect is None
    assert len(out) == n
    if hasattr(model, "classes_"):
        assert set(out.tolist()) <= set(model.classes_.tolist())
    else:
        assert np.isfinite(out).all()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_of_every_estimator(name):
    kind, given_parameters = ESTIMATORS[name]
    assert set(given_parameters) <= set(parameters(kind))

    @FEW
    @given(parameter=st.sampled_from(parameters(kind)), value=junk())
    def check(parameter, value):
        model = kind(**{**given_parameters, parameter: value})
        _check_parameter(model, parameter)

    check()


@pytest.mark.parametrize("name", part_classes())
def test_every_parameter_of_every_part(name):
    home, kind = part_classes()[name]
    if not parameters(kind):
        return

    @FEW
    @given(parameter=st.sampled_from(parameters(kind)), value=junk())
    def check(parameter, value):
        part = kind(**{parameter: value})
        rows = X[:, :3] if kind.__name__ == "Spherical" else X
        _check_parameter(PARTS[home](part), parameter, rows)

    check()


def _check_parameter(model: Any, parameter: str, X: Any = X) -> None:
    try:
        model = fitted(model, X, LABELS)
        out = model.transform(X) if hasattr(model, "transform") else model.predict(X)
        assert np.isfinite(np.asarray(dense(out), float)).all()
    except REFUSALS as error:
        words = told(error)
        assert parameter.split("_")[0] in words, repr(error)
        assert any(name in words for name in OWNERS), repr(error)


def test_every_public_class_is_fuzzed():
    names = {name.rpartition(".")[2] for name in part_classes()} | ESTIMATORS.keys()
    assert public_classes() - names == {"DateParts", "Numbers", "Texts"}
