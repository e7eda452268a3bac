"""What users read when something is wrong: their own words, and a way out."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from bochner import (
    CompactMap,
    KernelClassifier,
    KernelRegressor,
    Nystroem,
    RandomFeatures,
    RandomProjection,
    blocks,
    datasets,
    kernels,
    methods,
    projections,
)
from bochner._core.validation import did_you_mean
from bochner.compare.compare import compare
from bochner.preprocessing import for_table
from papers import reproduce

X = np.random.default_rng(0).normal(size=(40, 6))
Y = (X[:, 0] > 0).astype(int)


def refused(kind, words, call):
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("mean 'sorf'", lambda: RandomFeatures(projection="sorff").fit(X)),
        ("mean 'gaussian'", lambda: RandomFeatures(kernel="gaussan").fit(X)),
        ("mean 'cos_sin'", lambda: RandomFeatures(nonlinearity="cossin").fit(X)),
        ("mean 'giga'", lambda: RandomFeatures(compression="gigga").fit(X)),
        ("mean 'scale'", lambda: RandomFeatures(gamma="scal").fit(X)),
        ("mean 'kmeans'", lambda: Nystroem(landmarks="k-means").fit(X)),
        ("mean 'sparse'", lambda: RandomProjection(projection="spars").fit(X)),
        ("mean 'hinge'", lambda: KernelClassifier(loss="hing").fit(X, Y)),
        ("mean 'balanced'", lambda: KernelClassifier(class_weight="balance").fit(X, Y)),
        ("mean 'fastfood'", lambda: KernelClassifier("fast_food").fit(X, Y)),
        ("mean 'nystroem'", lambda: KernelRegressor("Nystrom").fit(X, Y)),
        ("mean 'kernel'", lambda: CompactMap(objective="kernels").fit(X, Y)),
        ("mean 'rff'", lambda: compare(X, Y, methods=["rrff"])),
        ("mean 'giga'", lambda: reproduce(["gigga"])),
        ("mean 'parquet'", lambda: blocks("a", format="parket")),
        ("mean 'age'", lambda: for_table(pd.DataFrame({"age": [1]}), drop=["aeg"])),
    ],
)
def test_misspelt_names_are_suggested(words, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").touch()
    refused(ValueError, r"\(did you " + words, call)


def test_names_like_no_other_are_not():
    assert did_you_mean("xyz", ["sorf", "rff"]) == ""
    assert did_you_mean(3, ["3"]) == did_you_mean("3", [3, None]) == ""
    assert did_you_mean("SORF", ["orf", "sorf"]) == " (did you mean 'sorf'?)"
    refused(ValueError, r"got 'xyz'\.$", lambda: Nystroem(landmarks="xyz").fit(X))


def test_data_sets_are_suggested_before_the_network_is_asked(monkeypatch, tmp_path):
    monkeypatch.setenv(datasets.VARIABLE, str(tmp_path))

    def offline(*args, **kwargs):
        raise AssertionError("the network was asked for")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    for name in ("digit", "Digits", "digts"):
        words = rf"no data set '{name}' \(did you mean 'digits'\?\).*fetch_openml"
        refused(ValueError, words, lambda name=name: datasets.load(name))


def test_odd_numbers_of_components_are_said_of_the_users_parameter():
    words = "RandomFeatures: n_components must be even .*got 63. Take 64, or nonlin"
    refused(ValueError, words, lambda: RandomFeatures(63).fit(X))
    words = "GIGA: n_candidates must be even .*got 201"
    parts = {"n_candidates": 201, "nonlinearity": "cos_sin"}
    refused(ValueError, words, lambda: methods.giga(20, **parts).fit(X))
    words = "CompactMap: n_components must be even .*got 63"
    compact = CompactMap(63, nonlinearity="cos_sin")
    refused(ValueError, words, lambda: compact.fit(X, Y))


@pytest.mark.parametrize("kernel", ["laplacian", kernels.Laplacian(0.5)])
@pytest.mark.parametrize("projection", ["sorf", projections.Fastfood()])
def test_kernels_that_a_projection_does_not_serve(kernel, projection):
    model = RandomFeatures(64, kernel=kernel, projection=projection)
    with pytest.raises(ValueError) as raised:
        model.fit(X)
    words = str(raised.value)
    assert f"kernel={kernel!r}" in words and f"projection={projection!r}" in words
    assert "Cauchy" not in words
    serving = words.partition("use projection=")[2].rstrip(".").split(" or ")
    names = set(projections.PROJECTIONS) - {"sparse", "orthoprojector"}
    assert serving and {eval(name) for name in serving} < names
    for name in names:
        model.set_params(projection=name)
        if repr(name) in serving:
            model.fit(X)
        else:
            refused(ValueError, "needs .* which kernel=", lambda: model.fit(X))


def test_starts_that_do_not_serve_a_kernel():
    model = CompactMap(8, kernel="laplacian", start="sorf")
    words = r"CompactMap: start=SORF\(\) needs .*Laplacian.*use start='auto'"
    refused(ValueError, words, lambda: model.fit(X, Y))
    X3 = X[:, :3]
    model = CompactMap(8, kernel=kernels.Spherical(9.0), projection="circulant")
    words = r"projection=Circulant\(\) needs .*Spherical.*use projection='dense'\."
    refused(ValueError, words, lambda: model.fit(X3, Y))


def test_text_for_numbers():
    y = np.array(["low", "high"])[Y]
    words = "KernelRegressor: y must hold numbers; row 0 holds '(low|high)'.*classifier"
    for target in (y, y.astype(object), list(y), pd.Series(y), pd.Categorical(y)):
        refused(ValueError, words, lambda y=target: KernelRegressor(8).fit(X, y))
    refused(ValueError, words, lambda: KernelRegressor(8).partial_fit(X, y))
    refused(ValueError, words, lambda: KernelRegressor(8).fit(blocks(X, target=y)))
    mixed = X[:, :2].astype(object)
    mixed[7, 1] = None
    words = "y must hold numbers; row 7 holds None"
    refused(ValueError, words, lambda: KernelRegressor(8).fit(X, mixed))
    words = "CompactMap: y must hold numbers; row 0 holds '(low|high)'"
    compact = CompactMap(8, objective="regression")
    refused(ValueError, words, lambda: compact.fit(X, y))
    assert KernelRegressor(8).fit(X, X[:, 0].astype(str)).coef_.dtype == float


ODD = [(np.nan, "NaN", "fill.*SimpleImputer.*for_table"), (np.inf, "infinity", "scale")]


@pytest.mark.parametrize(("value", "what", "way_out"), ODD)
def test_values_that_are_no_numbers_are_counted_and_located(value, what, way_out):
    A = X.copy()
    A[11, 4] = A[30, 2] = value
    words = f"X contains {what}.*: 2 of 40 × 6 entries, the first in row 11, column 4"
    full = words + rf"\. RandomFeatures takes finite numbers.*{way_out}"
    refused(ValueError, full, lambda: RandomFeatures(8).fit(A))
    rows = sparse.csr_matrix(np.where(np.abs(A) < 0.5, 0, A))
    refused(ValueError, full, lambda: RandomFeatures(8).fit(rows))
    fitted = KernelClassifier(8).fit(X, Y)
    refused(ValueError, words, lambda: fitted.predict(A))
    frame = pd.DataFrame(A, columns=list("abcdef"))
    words = "row 11, column 'e'.*KernelRegressor"
    refused(ValueError, words, lambda: KernelRegressor(8).fit(frame, Y))


def test_missing_values_are_named_before_infinite_ones():
    A = X.copy()
    A[0, 0], A[5, 1] = np.inf, np.nan
    words = "contains NaN: 1 of .* row 5, column 1"
    refused(ValueError, words, lambda: RandomFeatures(8).fit(A))
