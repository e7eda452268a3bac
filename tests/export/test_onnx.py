"""ONNX: onnxruntime says what the model says."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import bochner
import zoo
from bochner import (
    CompactMap,
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    Nystroem,
    RandomFeatures,
    RandomProjection,
    kernels,
    methods,
    projections,
)

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

CALLS = {
    "features": "transform",
    "components": "transform",
    "label": "predict",
    "prediction": "predict",
    "scores": "decision_function",
    "probabilities": "predict_proba",
}
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}
NYSTROEM = {"float32": 2e-4, "float64": 1e-9}
"""Features of Nyström are whitened, and what is nearly dependent is magnified."""


def exported(model, path, **options):
    bochner.onnx.export(model, path, **options)
    onnx.checker.check_model(str(path), full_check=True)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def run(session, X):
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


def check(model, X, path, tolerance, **options):
    """Every output is what the model says, relative to its largest."""
    session = exported(model, path, **options)
    found = run(session, X)
    for name, values in found.items():
        wanted = getattr(model, CALLS[name])(X)
        wanted = wanted.toarray() if hasattr(wanted, "toarray") else wanted
        assert values.shape == wanted.shape, name
        if wanted.dtype.kind == "f":
            bound = tolerance * max(np.abs(wanted).max(initial=0), 1e-30)
            assert_allclose(values, wanted, rtol=0, atol=bound)
        else:
            assert_array_equal(values, wanted)
    return found


def tolerance_of(name, dtype):
    if name == "laplacian":  # Cauchy frequencies: phases in the thousands
        return 1000 * TOLERANCE[dtype]
    nystroem = name.startswith("nystroem") or name in ("classifier", "regressor", "pca")
    return (NYSTROEM if nystroem else TOLERANCE)[dtype]


@pytest.mark.parametrize("form", ["dense-float32", "dense-float64", "csr-float32"])
def test_every_model_agrees(form, tmp_path):
    dtype = form.split("-")[1]
    rows = zoo.rows(f"dense-{dtype}", seed=1)
    models = {**zoo.every_method(), **zoo.every_estimator()}
    if form != "csr-float32":
        models |= zoo.every_map()
        del models["nystroem_angular"]
    for name, model in models.items():
        model = zoo.fitted(model, zoo.rows(form))
        found = check(model, rows, tmp_path / "a.onnx", tolerance_of(name, dtype))
        for values in found.values():
            if values.dtype.kind == "f":
                assert values.dtype == dtype, name


@pytest.mark.parametrize("n", [1, 3])
def test_any_number_of_rows(n, tmp_path):
    rows = zoo.rows("dense-float64", seed=1)
    models = {**zoo.every_method(), **zoo.every_estimator()}
    for name in ("sorf", "fastfood", "circulant", "maxout_codes", "classifier_log"):
        model = zoo.fitted(models[name], rows)
        session = exported(model, tmp_path / "a.onnx")
        for output, values in run(session, rows[:n]).items():
            wanted = getattr(model, CALLS[output])(rows)[:n]
            assert_allclose(values, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("d, m", [(784, 1024), (500, 1300), (30, 64), (97, 200)])
@pytest.mark.parametrize("name", ["sorf", "fastfood", "circulant", "block_diagonal"])
def test_structured_maps_stay_structured(name, d, m, tmp_path):
    X = np.random.default_rng(0).normal(size=(20, d)).astype(np.float32)
    block = {"projection": projections.BlockDiagonal(max(1, d // 40))}
    more = block if name == "block_diagonal" else {"projection": name}
    model = RandomFeatures(2 * m, random_state=0, **more).fit(X)
    path = tmp_path / "a.onnx"
    check(model, X, path, 1e-5)
    sizes = [np.prod(c.dims) for c in onnx.load(path).graph.initializer]
    if d > 100:
        assert sum(sizes) < d * m / 5
    assert path.stat().st_size < 200_000 + 24 * m * max(1, d // 40)


def test_a_very_sparse_projection(tmp_path):
    X = np.random.default_rng(0).normal(size=(7, 3000)).astype(np.float32)
    model = RandomProjection(300, projection="sparse", random_state=0).fit(X)
    check(model, X, tmp_path / "a.onnx", 1e-5)
    assert (tmp_path / "a.onnx").stat().st_size < 300 * 3000


def test_the_type_can_be_asked_for(tmp_path):
    X = zoo.rows("dense-float64")
    model = zoo.fitted(zoo.every_estimator()["classifier_log"], X)
    session = exported(model, tmp_path / "a.onnx", dtype="float32")
    narrow = X.astype(np.float32)
    found = run(session, narrow)
    assert found["probabilities"].dtype == np.float32
    assert_allclose(found["probabilities"], model.predict_proba(narrow), atol=1e-6)
    for wrong in ("int8", "foo", 3):
        with pytest.raises(ValueError, match="dtype must be 'float32' or 'float64'"):
            bochner.onnx.export(model, tmp_path / "a.onnx", dtype=wrong)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"], dtype=object),
        np.array(["a", "b", "c"]),
        np.array([3, 5, 9], dtype=np.int32),
        np.array([0.0, 2.0]),
        np.array([False, True]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_every_type(labels, tmp_path):
    X = zoo.rows("dense-float64")
    y = labels[np.arange(len(X)) % len(labels)]
    features = methods.rff(16, random_state=0)
    model = KernelClassifier(features, loss="log", alpha=0.1).fit(X, y)
    found = check(model, X, tmp_path / "a.onnx", 1e-12)
    assert found["probabilities"].shape == (len(X), len(labels))
    learned = CompactMap(8, max_iter=2, search=False, random_state=0).fit(X, y)
    assert "label" in check(learned, X, tmp_path / "b.onnx", 1e-12)


def test_numbers_of_every_shape_and_their_deviations(tmp_path):
    X, y = zoo.rows("dense-float64"), zoo.numbers()
    path = tmp_path / "a.onnx"
    for targets in (y, np.column_stack([y, -2 * y + 1])):
        for features in (methods.rff(16, random_state=0), Nystroem(12, random_state=0)):
            model = KernelRegressor(features).fit(X, targets)
            session = exported(model, path, return_std=True)
            mean, std = model.predict(X, return_std=True)
            assert_allclose(run(session, X)["prediction"], mean, atol=1e-8)
            assert_allclose(run(session, X)["std"], std, atol=1e-8)
        more = {"max_iter": 2, "search": False, "objective": "regression"}
        learned = CompactMap(8, **more, random_state=0).fit(X, targets)
        check(learned, X, path, 1e-12)
    model = KernelClassifier(8).fit(X, zoo.labels())
    with pytest.raises(ValueError, match="return_std=True is for KernelRegressor"):
        bochner.onnx.export(model, path, return_std=True)


@pytest.mark.parametrize("kernel", ["matern-0.5", "matern-3.5", "cauchy", "spherical"])
def test_columns_of_every_kernel_of_distances(kernel, tmp_path):
    X = zoo.rows("dense-float64")
    made = {
        "matern-0.5": kernels.Matern(0.5),
        "matern-3.5": kernels.Matern(3.5),
        "cauchy": kernels.Cauchy(),
        "spherical": kernels.Spherical(4.0),
    }[kernel]
    X = X[:, :3] if kernel == "spherical" else X
    model = Nystroem(10, kernel=made, random_state=0).fit(X)
    # the root of a distance of zero magnifies its rounding
    check(model, X, tmp_path / "a.onnx", 1e-7)


def test_many_landmarks_of_a_cityblock_kernel(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 900))
    model = Nystroem(40, kernel="laplacian", random_state=0).fit(X)
    check(model, X, tmp_path / "a.onnx", 1e-9)


def test_precomputed_kernels(tmp_path):
    X = zoo.rows("dense-float64")
    K = kernels.Gaussian(0.1)(X)
    model = Nystroem(10, kernel="precomputed", random_state=0).fit(K)
    check(model, K, tmp_path / "a.onnx", 1e-9)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("method", ["yeo-johnson", "box-cox"])
def test_powers(method, standardize, tmp_path):
    X = np.exp(zoo.rows("dense-float64"))
    X = X if method == "box-cox" else X - 2
    step = PowerTransformer(method=method, standardize=standardize).fit(X)
    step.lambdas_[:4] = 0.0, 2.0, 1.0, -0.5  # where formulas change
    model = make_pipeline(
        FrozenEstimator(step), methods.rff(8, gamma=0.01, random_state=0)
    ).fit(X)
    check(model, X, tmp_path / "a.onnx", 1e-9)
    step.lambdas_[0] = np.nan
    with pytest.raises(TypeError, match="has no power for columns without a value"):
        exported(model, tmp_path / "a.onnx")


def test_pipelines_with_preprocessing(tmp_path):
    rng = np.random.default_rng(0)
    X = zoo.rows("dense-float64").copy()
    X[:, 19] = rng.integers(0, 4, len(X))
    X[::7, 3] = X[::5, 19] = np.nan
    X[:, 5] = np.nan
    columns = ColumnTransformer(
        [
            ("numbers", SimpleImputer(add_indicator=True), list(range(6))),
            ("codes", OneHotEncoder(handle_unknown="ignore"), [19]),
            ("rest", "passthrough", slice(6, 9)),
            ("not", "drop", [9, 10]),
            ("some", MinMaxScaler(clip=True), np.arange(20) == 11),
        ]
    )
    path, whole, y = tmp_path / "a.onnx", zoo.rows("dense-float64"), zoo.labels()
    learner = KernelClassifier(methods.sorf(16), loss="log", random_state=0)
    for steps in (
        (columns, StandardScaler(), learner),
        (columns, RobustScaler(), KernelClassifier(12, random_state=0)),
        (columns, MaxAbsScaler(), methods.rff(8, random_state=0), KernelPCA(2)),
    ):
        with pytest.warns(UserWarning, match="Skipping features"):
            model = make_pipeline(*steps).fit(X, zoo.labels())
            check(model, X, path, 1e-9)
    nested = make_pipeline(MinMaxScaler(), FrozenEstimator(learner.fit(whole, y)))
    for model in (
        make_pipeline("passthrough", StandardScaler(), nested),
        FrozenEstimator(FrozenEstimator(nested.fit(whole, y))),
        make_pipeline(StandardScaler(), zoo.every_method()["maxout_codes"]),
        make_pipeline(SimpleImputer(strategy="constant", fill_value=3), nested),
    ):
        check(model.fit(whole, y), whole, path, 1e-9)
    if "clip" in MaxAbsScaler().get_params():
        clipped = make_pipeline(MaxAbsScaler(clip=True), methods.rff(8)).fit(whole)
        check(clipped, 2 * whole, path, 1e-9)
    inside = make_pipeline(
        StandardScaler(with_mean=False), FunctionTransformer(), Nystroem(8)
    )
    for features in (inside, FrozenEstimator(inside.fit(whole))):
        check(KernelRegressor(features).fit(whole, zoo.numbers()), whole, path, 1e-8)


def test_names_choose_columns_too(tmp_path):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(zoo.rows("dense-float64")[:, :3], columns=["a", "b", "c"])
    columns = ColumnTransformer([("one", StandardScaler(), ["c", "a"])])
    part = ColumnTransformer([("one", StandardScaler(), slice("a", "b"))])
    for chosen in (columns, part):
        model = make_pipeline(chosen, methods.rff(8, random_state=0)).fit(X)
        session = exported(model, tmp_path / "a.onnx")
        found = run(session, X.to_numpy())["features"]
        assert_allclose(found, model.transform(X), atol=1e-12)
    told = {p.key: p.value for p in onnx.load(tmp_path / "a.onnx").metadata_props}
    assert told["bochner.columns"] == '["a", "b", "c"]'


def test_what_the_file_says(tmp_path):
    X = zoo.rows("dense-float32")
    path = tmp_path / "a.onnx"
    session = exported(methods.sorf(16, random_state=0).fit(X), path)
    made = onnx.load(path)
    assert [(o.domain, o.version) for o in made.opset_import] == [("", 18)]
    assert made.producer_name == "bochner"
    assert {p.key: p.value for p in made.metadata_props} == {
        "bochner.model": "RandomFeatures"
    }
    assert session.get_inputs()[0].shape == ["n", 20]


def test_what_cannot_be_exported_is_named(tmp_path, monkeypatch):
    X, y = zoo.rows("dense-float64"), zoo.labels()
    path = tmp_path / "a.onnx"

    fitted = methods.rff(8).fit(X)

    def refused(model, error, match):
        with pytest.raises(error, match=match):
            bochner.onnx.export(model, path)
        assert not path.exists()

    refused(methods.rff(8), NotFittedError, "RandomFeatures")
    refused(make_pipeline(PCA(2), methods.rff(8)).fit(X), TypeError, "PCA has no")
    refused(Ridge().fit(X, y), TypeError, "Ridge has no operations")
    search = GridSearchCV(KernelClassifier(8), {"alpha": [0.1, 1.0]}, cv=2).fit(X, y)
    refused(search, TypeError, "Export its best_estimator_")
    refused(make_pipeline(StandardScaler(), fitted), NotFittedError, "StandardScaler")

    class Own(KernelClassifier):
        def predict(self, X):
            return np.zeros(len(X))

    refused(Own(8).fit(X, y), TypeError, "Own has no operations")
    large = np.array([1, 2**63 + 5], dtype=np.uint64)[y]
    refused(KernelClassifier(8).fit(X, large), TypeError, "labels must be numbers")
    ids = np.array([[2.0**24], [2.0**24 + 1]] * 40)
    merged = make_pipeline(OneHotEncoder(), methods.rff(8)).fit(ids)
    with pytest.raises(ValueError, match=r"the same in float32.* dtype='float64'"):
        bochner.onnx.export(merged, path, dtype="float32")
    many = KernelRegressor(methods.sorf(8200, random_state=0), alpha=1.0)
    with pytest.raises(ValueError, match="deviations need the square of the number of"):
        bochner.onnx.export(many.fit(X[:20], y[:20]), path, return_std=True)
    refused(Nystroem(8, kernel=rbf_kernel).fit(X), TypeError, "kernel <function rbf")
    angular = Nystroem(8, kernel=kernels.ArcCosine(1)).fit(X)
    refused(angular, TypeError, r"kernel ArcCosine\(\) is Python code")
    matern = Nystroem(8, kernel=kernels.Matern(0.8)).fit(X)
    refused(matern, TypeError, "nu = 0.5, 1.5, 2.5.* got nu=0.8")
    logs = make_pipeline(FunctionTransformer(np.abs), methods.rff(8)).fit(X)
    refused(logs, TypeError, "FunctionTransformer calls <ufunc 'absolute'>")
    words = np.array([["a"], ["b"]] * 40)
    text = make_pipeline(OneHotEncoder(sparse_output=False), methods.rff(8))
    refused(text.fit(words), TypeError, "text for categories")
    dropped = make_pipeline(OneHotEncoder(drop="first"), methods.rff(8))
    refused(dropped.fit(np.round(X)), TypeError, "OneHotEncoder with drop")
    model = methods.rff(8).fit(X)
    with pytest.raises(FileNotFoundError, match=r"onnx\.export: .* no folder"):
        bochner.onnx.export(model, tmp_path / "none" / "a.onnx")
    monkeypatch.setattr(bochner.export.onnx_graph, "LARGEST", 100)
    refused(model, ValueError, "and a file of ONNX holds 2 GiB; use dtype='float32'")
    monkeypatch.setitem(sys.modules, "onnx", None)
    refused(model, ImportError, r"pip install bochner\[onnx\]")
