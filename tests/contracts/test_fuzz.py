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
    blocks,
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
from fuzz_rows import (
    OFFSETS,
    Given,
    given_counts,
    given_cuts,
    given_labels,
    given_moves,
    given_numbers,
    given_rows,
    given_weights,
)
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


RFF = methods.rff(6, gamma=0.5)
STREAMED: dict[str, Any] = {
    # of a map that does not depend on the rows: blocks and arrays give one model
    "hinge": KernelClassifier(RFF, alpha=0.1, random_state=0),
    "log": KernelClassifier(RFF, loss="log", alpha=0.1, random_state=0),
    "squared": KernelClassifier(RFF, loss="squared", alpha=0.1, random_state=0),
    "regressor": KernelRegressor(RFF, alpha=0.1, random_state=0),
    "components": KernelPCA(1, features=RFF, random_state=0),
}
CHOOSING: dict[str, Any] = {
    "hinge": KernelClassifier(random_state=0),
    "log": KernelClassifier(loss="log", random_state=0),
    "squared": KernelClassifier(loss="squared", random_state=0),
    "nystroem": KernelClassifier(Nystroem(6, gamma="median"), random_state=0),
    "regressor": KernelRegressor(random_state=0),
    "fixed": KernelRegressor(Nystroem(6, gamma="median"), alpha=0.1, random_state=0),
    "components": KernelPCA(1, random_state=0),
}


def scores(model: Any, rows: Any) -> np.ndarray:
    """What a fitted learner computes of rows, as far as the problem determines it."""
    if isinstance(model, KernelPCA):
        assert np.isfinite(model.transform(rows)).all()
        return model.explained_variance_  # of few rows, directions may be arbitrary
    numbers = isinstance(model, KernelRegressor)
    call = model.predict if numbers else model.decision_function
    S = dense(call(rows)).astype(float)
    if getattr(model, "loss", "") == "log" and S.ndim == 2:
        return S - S.mean(axis=1, keepdims=True)  # a common constant means nothing
    return S


def targets_of(model: Any, n: int, values: Any) -> Any:
    """Targets without defects: two classes, or numbers on a grid."""
    if not isinstance(model, KernelRegressor):
        return np.arange(n) % 2
    rng = np.random.default_rng(values.draw(st.integers(0, 99), label="targets"))
    return rng.integers(-1024, 1025, size=n) / 256


def quietly(call: Any, *given: Any, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*given, **more)


def stream_of(found: Given, y: Any, weight: Any, cuts: list[slice]) -> Any:
    """Blocks of the rows, sparse where they were."""
    single = found.dtype == "float32"
    A = found.dense.astype(np.float32 if single else np.float64)
    rows = sparse.csr_matrix(A) if sparse.issparse(found.X) else A
    w = np.ones(len(A)) if weight is None else weight
    return blocks(lambda: iter([(rows[part], y[part], w[part]) for part in cuts])), rows


@pytest.mark.parametrize("name", STREAMED)
@FEW
@given(values=st.data())
def test_learners_of_any_stream(name, values):
    """One-row blocks and blocks of no weight: the model of the rows in one array."""
    found, model = values.draw(given_rows()), clone(STREAMED[name])
    n = len(found.dense)
    y, weight = targets_of(model, n, values), values.draw(given_counts(n))
    cuts = values.draw(given_cuts(n))
    stream, rows = stream_of(found, y, weight, cuts)
    try:
        out = scores(quietly(model.fit, stream), rows)
    except REFUSALS as error:
        told(error)
        with pytest.raises(REFUSALS):
            quietly(clone(model).fit, rows, y, sample_weight=weight)
        return
    assert found.defect is None
    assert np.isfinite(out).all()
    single = rows.dtype == np.float32
    if abs(found.dense).max() > (1e2 if single else 1e6):
        return  # products of rows and frequencies are rounded to whole turns
    at_once = quietly(clone(model).fit, rows, y, sample_weight=weight)
    tolerance = 1e-2 if single else 1e-5
    np.testing.assert_allclose(out, scores(at_once, rows), atol=tolerance)


@pytest.mark.parametrize("name", ["hinge", "log", "squared", "regressor", "components"])
@FEW
@given(values=st.data())
def test_predictions_of_any_stream_have_every_row(name, values):
    model = clone(STREAMED[name])
    numbers = isinstance(model, KernelRegressor)
    fitted(model, X, X[:, 0] if numbers else LABELS)
    n = values.draw(st.integers(1, 14), label="n")
    weight, cuts = values.draw(given_counts(n)), values.draw(given_cuts(n))
    rows = X[:n]
    stream = blocks(lambda: iter([(rows[p], LABELS[:n][p], weight[p]) for p in cuts]))
    call = model.transform if name == "components" else model.predict
    np.testing.assert_allclose(call(stream), call(rows), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CHOOSING)
@FEW
@given(values=st.data())
def test_rows_of_no_weight_change_nothing(name, values):
    found, model = values.draw(given_rows(least_rows=4)), clone(CHOOSING[name])
    n = len(found.dense)
    y, weight = targets_of(model, n, values), values.draw(given_counts(n))
    kept = np.flatnonzero(weight)
    rows = found.dense
    if len(set(np.asarray(y)[kept])) < 2 or found.defect:
        return
    few, all_rows = clone(model), clone(model)
    try:
        quietly(few.fit, rows[kept], y[kept], sample_weight=weight[kept])
    except REFUSALS as error:
        told(error)
        with pytest.raises(REFUSALS):
            quietly(all_rows.fit, rows, y, sample_weight=weight)
        return
    quietly(all_rows.fit, rows, y, sample_weight=weight)
    wanted = scores(few, rows)
    size = float(abs(wanted).max())
    np.testing.assert_allclose(scores(all_rows, rows), wanted, atol=1e-6 * size)


@pytest.mark.parametrize("name", CHOOSING)
@FEW
@given(values=st.data())
def test_offsets_of_any_rows_change_nothing(name, values):
    given_, model = values.draw(given_moves(least_rows=2)), clone(CHOOSING[name])
    rows, moved = given_.X, given_.X + given_.c
    assert np.array_equal(moved - given_.c, rows)
    y = targets_of(model, len(rows), values)
    here, there = (quietly(clone(model).fit, A, y) for A in (rows, moved))
    wanted = scores(here, rows)
    size = float(abs(wanted).max())
    np.testing.assert_allclose(scores(there, moved), wanted, atol=1e-5 * size + 1e-12)


NUMBERED: dict[str, Any] = {
    "default": KernelRegressor(random_state=0),
    "fixed": KernelRegressor(RFF, alpha=0.1, random_state=0),
    "float32": KernelRegressor(RFF, alpha=0.1, gram="float32", random_state=0),
    "nystroem": KernelRegressor(Nystroem(6, gamma="median"), alpha=0.1, random_state=0),
}


@pytest.mark.parametrize("name", NUMBERED)
@FEW
@given(values=st.data())
def test_offsets_of_any_targets_move_predictions(name, values):
    """y → a y + b moves the mean along; deviations are multiplied by a."""
    given_, model = values.draw(given_moves(least_rows=3)), clone(NUMBERED[name])
    rows = given_.X
    y = targets_of(model, len(rows), values)
    a = 2.0 ** values.draw(st.integers(-20, 20), label="a")
    b = a * 2.0 ** round(np.log2(values.draw(st.sampled_from(OFFSETS), label="b")))
    here, there = (quietly(clone(model).fit, rows, t) for t in (y, a * y + b))
    mean, std = quietly(here.predict, rows, return_std=True)
    moved, wider = quietly(there.predict, rows, return_std=True)
    share = 1e-3 if name == "float32" else 1e-5
    bound = share * (np.ptp(y) or 1.0) + np.spacing(abs(b) / a)
    np.testing.assert_allclose((moved - b) / a, mean, atol=bound)
    np.testing.assert_allclose(wider / a, std, atol=bound)


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
