"""float32 beside float64, whatever the unit of the data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import zoo
from bochner import (
    CompactMap,
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    RandomFeatures,
    kernels,
    methods,
)
from bochner.nonlinearities.cosine import Cos, CosSin, ReducedPhases
from bochner.projections import PROJECTIONS
from bochner.projections.algebra import Matrix

UNITS = (1e-6, 1e-3, 1e3, 1e6)
X = zoo.rows("dense-float64")
MAPS = {**zoo.every_method(), **zoo.every_map()}
LEARNED = {"compact", "compact_circulant"}
# ^ steps of an optimiser drift apart: their accuracy is compared, not their bits
SHAPES = PROJECTIONS.keys() - {"auto", "sparse", "orthoprojector"}
SQUARED = {"laplacian", "nystroem_laplacian"}
# ^ gamma="scale" is one over a square, and theirs is one over a length: a unit matters


def dense(F: Any) -> np.ndarray:
    return np.asarray(F.toarray() if sparse.issparse(F) else F)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", sorted(MAPS.keys() - LEARNED))
def test_every_map_in_single_precision(name, unit):
    """The same map applied to the same rows in both types, after a fit in that unit."""
    rows = (unit * X).astype(np.float32)
    model = clone(MAPS[name])
    if name == "laplacian":
        model.set_params(gamma=1 / unit)
    model.fit(rows.astype(np.float64), zoo.labels())
    wide, narrow = (dense(model.transform(rows.astype(t))) for t in ("f8", "f4"))
    if wide.dtype.kind != "f":  # of codes, ties may fall either way
        assert np.mean(wide != narrow) < 0.01
        return
    assert narrow.dtype == np.float32
    scale = np.abs(wide).max()
    flips = "sign" in name or "argmax" in name or name == "onehot"
    if flips:
        assert np.mean(np.abs(wide - narrow) > 1e-6) < 0.01
        return
    # phases here are below 2^9 turns (heavy tails of the Laplacian kernel), and the
    # mixing of landmarks is the inverse root of a matrix of condition up to 1e6
    loose = name == "laplacian" or name.startswith("nystroem")
    atol = scale * (2e-3 if loose else 2e-5)
    np.testing.assert_allclose(narrow, wide, rtol=0, atol=atol)


@pytest.mark.parametrize("unit", (1.0, *UNITS))
@pytest.mark.parametrize("name", sorted(MAPS.keys() - LEARNED - SQUARED))
def test_units_do_not_matter(name, unit):
    """Fits in float32 on data in another unit come to the same kernel."""
    model = MAPS[name]
    if not hasattr(model, "approximate_kernel"):
        return
    seen = {}
    for dtype, scale in (("f8", 1.0), ("f4", unit)):
        rows = (scale * X).astype(dtype)
        K = clone(model).fit(rows, zoo.labels()).approximate_kernel(rows)
        seen[dtype] = dense(K) / np.abs(K).max()
    atol = 2e-2 if name.startswith(("giga", "frank", "nystroem")) else 2e-3
    np.testing.assert_allclose(seen["f4"], seen["f8"], rtol=0, atol=atol)


@pytest.mark.parametrize("unit", (1e-6, 1e6))
@pytest.mark.parametrize("name", zoo.every_estimator())
def test_every_estimator_in_single_precision(name, unit):
    model = zoo.every_estimator()[name]
    y = zoo.numbers() if isinstance(model, KernelRegressor) else zoo.labels()
    seen = {}
    for dtype, scale in (("f8", 1.0), ("f4", unit)):
        rows = (scale * X).astype(dtype)
        fitted = clone(model).fit(rows, y)
        if isinstance(model, KernelPCA):
            F = fitted.transform(rows)
            seen[dtype] = F * np.sign(F[np.abs(F).argmax(axis=0), range(F.shape[1])])
        elif isinstance(model, KernelClassifier):
            seen[dtype] = fitted.decision_function(rows)
        else:
            seen[dtype] = fitted.predict(rows)
    near = 2e-3 * np.abs(seen["f8"]).max()
    np.testing.assert_allclose(seen["f4"], seen["f8"], rtol=0, atol=near)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", sorted(LEARNED))
def test_learned_maps_in_any_unit(name, unit):
    accuracy = []
    for rows in (X, (unit * X).astype(np.float32)):
        model = methods.METHODS[name](16, max_iter=20, random_state=0)
        accuracy.append(model.fit(rows, zoo.labels()).score(rows, zoo.labels()))
    assert accuracy[0] > 0.7
    assert accuracy[1] == pytest.approx(accuracy[0], abs=2 / len(X))


@pytest.mark.parametrize("nonlinearity", [CosSin, Cos])
@pytest.mark.parametrize("projection", sorted(SHAPES))
def test_phases_in_float64(projection, nonlinearity):
    """Of a hundred thousand turns: lost in float32, kept with phase_dtype."""
    rows = (1e5 * X).astype(np.float32)
    asked = RandomFeatures(
        32,
        gamma=1.0,
        projection=projection,
        nonlinearity=nonlinearity(),
        random_state=0,
    )
    exact = clone(asked).fit_transform(rows.astype(np.float64))
    with pytest.warns(UserWarning, match=r"phases reach .* turns.*phase_dtype"):
        lost = clone(asked).fit_transform(rows)
    assert np.abs(lost - exact).max() > 0.01
    wide = clone(asked).set_params(nonlinearity__phase_dtype="float64")
    for form in (np.asarray, sparse.csr_matrix):
        F = wide.fit_transform(form(rows))
        assert F.dtype == np.float32
        np.testing.assert_allclose(F, exact, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(wide.fit_transform(rows.astype("f8")), exact)


def test_an_offset_makes_large_phases():
    rows = (X + 1e6).astype(np.float32)
    with (
        pytest.warns(UserWarning, match="Scale or centre the data"),
        pytest.warns(UserWarning, match="float32 is too coarse for column 0 of X"),
    ):
        RandomFeatures(32, random_state=0).fit(rows)


def test_of_float64_there_is_nothing_wider():
    with pytest.warns(UserWarning, match=r"in float64 .* smaller gamma\.$"):
        RandomFeatures(32, gamma=1.0, random_state=0).fit(1e15 * X)


def test_heavy_tails_are_no_reason_to_warn():
    rows = X.astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RandomFeatures(4096, kernel="laplacian", random_state=0).fit(rows)


def test_compressed_maps_keep_their_phases():
    rows = (1e5 * X).astype(np.float32)
    asked = RandomFeatures(
        8,
        kernel=kernels.Gaussian(1.0),
        nonlinearity=CosSin("float64"),
        compression="giga",
        random_state=0,
    )
    model = asked.fit(rows)
    assert isinstance(model.feature_map_.linear, ReducedPhases)
    exact = model.transform(rows.astype(np.float64))
    np.testing.assert_allclose(model.transform(rows), exact, rtol=0, atol=1e-5)


def test_algebra_is_that_of_the_map_within():
    rng = np.random.default_rng(0)
    W, kept = Matrix(rng.normal(size=(5, 7))), np.array([3, 1])
    wide = ReducedPhases(W)
    Z = rng.normal(size=(4, 7))
    for linear, atol in ((wide, 1e-15), (wide.astype(np.float32), 1e-6)):
        z = Z.astype(linear.dtype)
        for found, exact in (
            (linear.to_dense(), W.to_dense()),
            (linear.apply_adjoint(z), W.apply_adjoint(z)),
            (linear.select(kept).to_dense(), W.to_dense()[kept]),
            (linear.scale_rows(Z[0]).to_dense(), W.scale_rows(Z[0]).to_dense()),
            (linear.scale_columns(Z[1, :5]).to_dense(), W.to_dense() * Z[1, :5]),
        ):
            assert found.dtype == linear.dtype
            np.testing.assert_allclose(found, exact, rtol=0, atol=atol)
    turns = wide.astype(np.float32).apply(np.full((1, 5), 1e4, np.float32))
    assert np.abs(turns).max() <= np.float32(np.pi) * (1 + 1e-6)


def test_what_phases_in_float64_do_not_go_with():
    with pytest.raises(ValueError, match=r"phase_dtype must be None.*learned"):
        CompactMap(4, nonlinearity=Cos("float64")).fit(X, zoo.labels())
    with pytest.raises(ValueError, match="CosSin: phase_dtype must be one of None"):
        RandomFeatures(4, nonlinearity=CosSin("float32")).fit(X)
    wide = methods.compressive(16, n_measurements=4, nonlinearity=Cos("float64")).fit(X)
    with pytest.raises(TypeError, match="phases in float64 have none"):
        wide.feature_map_.split()
