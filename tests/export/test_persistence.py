"""Saving and loading: the same bits in another process, and what can be saved."""

import json
import pickle
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.linalg import hadamard
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import bochner
import zoo
from bochner import (
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    Nystroem,
    RandomFeatures,
    kernels,
    methods,
)
from bochner.export.archive import FileError
from bochner.export.kinds import FITTED, KINDS, NAMES
from forging import changed, with_arrays

FIXTURES = Path(__file__).parents[1] / "fixtures"
LOADER = """
import sys, json, zoo, bochner
from functools import partial
from pathlib import Path
from threadpoolctl import threadpool_limits
threadpool_limits(1)
found = {}
for path in Path(sys.argv[1]).glob("*.bochner"):
    X = zoo.rows(path.name.split(".")[1], seed=1)
    found[path.name] = zoo.fingerprint(bochner.load(path), X)
print(json.dumps(found))
"""


def test_every_model_is_the_same_to_the_bit_in_a_fresh_process(tmp_path):
    wanted = {}
    for form in zoo.FORMS:
        models = {**zoo.every_method(), **zoo.every_estimator()}
        if form == zoo.FORMS[0]:
            models |= zoo.every_map()
        for name, model in models.items():
            model = zoo.fitted(model, zoo.rows(form))
            with threadpool_limits(1):  # BLAS rounds by the number of its threads
                seen = zoo.fingerprint(model, zoo.rows(form, seed=1))
            for seeds in (False, True):
                file = f"{name}.{form}.{seeds}.bochner"
                bochner.save(model, tmp_path / file, seeds=seeds)
                wanted[file] = seen
    command = [sys.executable, "-c", LOADER, str(tmp_path)]
    run = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
        check=True,
    )
    found = json.loads(run.stdout)
    assert {k for k in wanted if found[k] != wanted[k]} == set()
    assert len(found) == len(wanted)


@pytest.mark.parametrize(
    "path", sorted(FIXTURES.glob("*.bochner")), ids=lambda p: p.stem
)
def test_files_of_earlier_versions_still_load(path):
    """Written by `tests/make_fixtures.py`; never written again for a version."""
    model = bochner.load(path)
    X = zoo.rows("dense-float64", seed=1)
    found = zoo.outputs(model, X[:5])
    with np.load(path.with_suffix(".npz")) as wanted:
        for i, F in enumerate(found):
            if F.dtype.kind == "f":
                assert_allclose(F, wanted[f"arr_{i}"], rtol=1e-6, atol=1e-7)
            else:
                assert_array_equal(F, wanted[f"arr_{i}"])


def parts_of(value, path="model"):
    """All objects inside a model."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from parts_of(part, path)
    elif isinstance(value, dict):
        for part in value.values():
            yield from parts_of(part, path)
    elif type(value) in NAMES:
        yield value
        for name, part in vars(value).items():
            if name not in NOT_STORED:
                yield from parts_of(part, f"{path}.{name}")
    elif hasattr(value, "__dict__") and type(value).__module__.startswith("bochner"):
        raise AssertionError(f"{path} is a {type(value)}, which no kind is of")


NOT_STORED = {"_online", "_extended"}
"""The solver of a learned map's `partial_fit`; the matrix behind landmarks."""


def test_all_that_a_fit_leaves_is_stored():
    X = zoo.rows("dense-float64")
    models = {**zoo.every_method(), **zoo.every_map(), **zoo.every_estimator()}
    for model in models.values():
        for part in parts_of(zoo.fitted(model, X)):
            kind = KINDS[NAMES[type(part)]]
            known = {*kind.parameters(), *(kind.state or ()), *FITTED, *NOT_STORED}
            if kind.state is not None:
                assert vars(part).keys() <= known, type(part)


@pytest.mark.parametrize("form", ["dense-float64", "csr-float64"])
def test_use_changes_no_model(form):
    X = zoo.rows(form)
    models = {**zoo.every_method(), **zoo.every_map(), **zoo.every_estimator()}
    for name, model in models.items():
        zoo.fitted(model, X)
        before = len(pickle.dumps(model)), joblib.hash(model)
        for rows in (X, X.astype(np.float32), zoo.rows("dense-float64")):
            zoo.outputs(model, rows)
        assert (len(pickle.dumps(model)), joblib.hash(model)) == before, name
        again = pickle.loads(pickle.dumps(model))
        assert zoo.fingerprint(again, X) == zoo.fingerprint(model, X), name


def test_streams_go_on_after_loading(tmp_path):
    X, y = zoo.rows("dense-float64"), zoo.labels()
    features = methods.rff(16, random_state=0)
    path = tmp_path / "model.bochner"
    for model in (
        KernelClassifier(features, loss="hinge"),
        KernelClassifier(features, loss="squared", class_weight={0: 1.0, 1: 2.0}),
        KernelClassifier(features, loss="log"),
        KernelRegressor(features),
        KernelPCA(2, features=features),
    ):
        more = {"classes": [0, 1]} if isinstance(model, KernelClassifier) else {}
        model.partial_fit(X[:40], y[:40], **more)
        bochner.save(model, path)
        again = bochner.load(path).partial_fit(X[40:], y[40:])
        model.partial_fit(X[40:], y[40:])
        assert zoo.fingerprint(again, X) == zoo.fingerprint(model, X)


def test_learned_maps_go_on_after_loading(tmp_path):
    X, y = zoo.rows("dense-float64"), zoo.labels()
    model = zoo.every_method()["compact"].fit(X, y)
    bochner.save(model, tmp_path / "a.bochner")
    again = bochner.load(tmp_path / "a.bochner").partial_fit(X, y)
    assert zoo.fingerprint(again, X) == zoo.fingerprint(model.partial_fit(X, y), X)


def table():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = {"a": rng.normal(size=60), "b": rng.normal(size=60)}
    frame |= {"c": rng.choice(["x", "y"], 60), "d": rng.integers(0, 5, 60)}
    table = pandas.DataFrame(frame)
    table.loc[3, "a"] = np.nan
    return table, np.where(table.b > 0, "yes", "no")


def test_pipelines_with_preprocessing(tmp_path):
    X, y = table()
    scaled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    onehot = OneHotEncoder(handle_unknown="ignore")
    columns = ColumnTransformer(
        [
            ("numbers", scaled, make_column_selector(dtype_include="float64")),
            ("words", onehot, ["c"]),
        ],
        remainder="passthrough",
    )
    for model in (
        make_pipeline(columns, KernelClassifier(methods.sorf(16), loss="log")),
        make_pipeline(columns, KernelClassifier(random_state=0)),
    ):
        model.fit(X, y)
        bochner.save(model, tmp_path / "a.bochner")
        again = bochner.load(tmp_path / "a.bochner")
        assert_array_equal(again.predict(X), model.predict(X))
        assert list(again.feature_names_in_) == ["a", "b", "c", "d"]


def test_parameters_survive(tmp_path):
    X, y = (
        zoo.rows("dense-float64"),
        np.array(["no", "yes"], dtype=object)[zoo.labels()],
    )
    model = KernelClassifier(
        FrozenEstimator(methods.rff(8, random_state=0).fit(X)),
        class_weight={"no": 1.0, "yes": np.float64(2)},
        checkpoint=None,
        random_state=np.random.RandomState(5),
        alpha=[0.1, 1.0],
        memory=1 << 20,
    ).fit(X, y)
    bochner.save(model, tmp_path / "a.bochner")
    again = bochner.load(tmp_path / "a.bochner")
    assert again.class_weight == model.class_weight
    assert again.alpha == model.alpha and again.memory == model.memory
    assert again.random_state.randint(1000) == model.random_state.randint(1000)
    assert again.classes_.dtype == object
    assert_array_equal(again.predict(X), model.predict(X))
    maps = methods.rff(4, gamma=np.ones(20)).set_output(transform="pandas").fit(X)
    bochner.save(maps, tmp_path / "b.bochner")
    again = bochner.load(tmp_path / "b.bochner")
    assert_array_equal(again.gamma, np.ones(20))
    assert type(again.transform(X)).__name__ == "DataFrame"


def test_paths_of_the_writer_are_forgotten(tmp_path):
    X, y = zoo.rows("dense-float64"), zoo.labels()
    secret = str(tmp_path / "secret")
    model = KernelClassifier(8).fit(X, y).set_params(checkpoint=secret)
    model = Pipeline([("one", StandardScaler().fit(X)), ("two", model)], memory=secret)
    bochner.save(model, tmp_path / "a.bochner")
    assert b"secret" not in (tmp_path / "a.bochner").read_bytes()
    again = bochner.load(tmp_path / "a.bochner")
    assert again.memory is None and again[-1].checkpoint is None
    told = {"checkpoint": "/etc/passwd"}
    state = lambda node: node["state"]["steps"][1]["tuple"][1]["state"]  # noqa: E731
    edit = lambda node: state(node).update(told)  # noqa: E731
    changed(tmp_path / "a.bochner", tmp_path / "b.bochner", edit=edit)
    assert bochner.load(tmp_path / "b.bochner")[-1].checkpoint is None


def test_columns_chosen_in_every_way(tmp_path):
    X, _ = table()
    for chosen in (
        X.columns[:2],
        make_column_selector(dtype_include=np.number),
        slice(np.int64(0), np.int64(2)),
        np.array([True, True, False, False]),
    ):
        columns = ColumnTransformer([("one", SimpleImputer(), chosen)])
        model = make_pipeline(columns, methods.rff(4, random_state=0)).fit(X)
        bochner.save(model, tmp_path / "a.bochner")
        again = bochner.load(tmp_path / "a.bochner")
        assert_array_equal(again.transform(X), model.transform(X))


def test_labels_of_every_type(tmp_path):
    X, y = zoo.rows("dense-float64"), zoo.labels()
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    strange = np.array(["na\udcefve", "日本"], dtype=object)
    for classes in (days, strange, np.array([False, True])):
        model = KernelClassifier(8, random_state=0).fit(X, classes[y])
        bochner.save(model, tmp_path / "a.bochner")
        again = bochner.load(tmp_path / "a.bochner")
        assert again.classes_.dtype == model.classes_.dtype
        assert_array_equal(again.predict(X), model.predict(X))


def test_a_map_whose_parameters_were_changed_is_stored_as_it_is(tmp_path):
    X = zoo.rows("dense-float64")
    for change in ({"nonlinearity": "sign"}, {"nonlinearity": "nope"}):
        model = RandomFeatures(8, nonlinearity="relu", random_state=0).fit(X)
        wanted = model.transform(X)
        model.set_params(**change)
        bochner.save(model, tmp_path / "a.bochner", seeds=True)
        again = bochner.load(tmp_path / "a.bochner")
        assert_array_equal(again.transform(X), wanted)


def test_the_same_model_gives_the_same_bytes(tmp_path):
    X = zoo.rows("dense-float64")
    for name in ("a", "b"):
        bochner.save(methods.sorf(16, random_state=0).fit(X), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_numpy_reads_the_arrays(tmp_path):
    X = zoo.rows("dense-float64")
    model = KernelRegressor(methods.rff(16, random_state=0)).fit(X, zoo.numbers())
    bochner.save(model, tmp_path / "a.bochner")
    with np.load(tmp_path / "a.bochner", allow_pickle=False) as file:
        assert json.loads(file["model.json"])["model"]["kind"] == "KernelRegressor"
        assert_array_equal(file["coef_"], model.coef_)


def test_the_formulas_of_the_docs(tmp_path):
    """Maps that are fast here, with NumPy alone."""
    X, path = zoo.rows("dense-float64"), tmp_path / "a.bochner"
    model = methods.fastfood(100, random_state=0).fit(X)
    bochner.save(model, path)
    with np.load(path) as file:
        names = ("orders", "factors", "scale")
        orders, factors, scale = (file[f"feature_map_.linear.{n}"] for n in names)
    n_steps, n_blocks, d = factors.shape
    blocks = []
    for block in range(n_blocks):
        T = np.pad(X, [(0, 0), (0, d - X.shape[1])])
        for k in range(n_steps):
            order = orders[k, min(block, orders.shape[1] - 1)]
            T = T[:, order] * factors[k, block] @ hadamard(d)
        blocks.append(T)
    Z = np.hstack(blocks)[:, : len(scale)] * scale
    F = np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(len(scale))
    assert_allclose(F, model.transform(X), atol=1e-12)
    model = Nystroem(10, random_state=0).fit(X)
    bochner.save(model, path)
    with np.load(path) as file:
        names = ("scale", "origin", "landmarks")
        s, o, L = (file[f"feature_map_.columns.{n}"] for n in names)
        mixing = file["feature_map_.mixing"]
    D = ((s * (X - o))[:, None] - L).__pow__(2).sum(axis=2)
    assert_allclose(np.exp(-D) @ mixing, model.transform(X), atol=1e-9)


def test_seeds_store_kilobytes(tmp_path):
    X = zoo.rows("dense-float64")
    path = tmp_path / "a.bochner"
    for projection in ("dense", "sorf"):
        large = bochner.RandomFeatures(40_000, projection=projection).fit(X)
        bochner.save(large, path, seeds=True)
        assert path.stat().st_size < 3000
        again = bochner.load(path)
        assert_array_equal(again.transform(X[:3]), large.transform(X[:3]))


def test_a_seed_that_draws_another_map_is_refused(tmp_path):
    path = tmp_path / "a.bochner"
    model = methods.rff(16, random_state=0).fit(zoo.rows("dense-float64"))
    bochner.save(model, path, seeds=True)
    changed(path, path, edit=lambda node: node["state"].update(_seed=1))
    with pytest.raises(FileError, match=r"draws another map .* seeds=False"):
        bochner.load(path)
    bochner.save(model, path, seeds=True)
    changed(path, path, edit=lambda node: node["state"].update(n_components=10**9))
    with pytest.raises(FileError, match="larger than declared"):
        bochner.load(path)


COLUMN = np.array([["a"], ["b"], [None]] * 30, dtype=object)
ENCODED = {
    "binary": ["no", "yes"],
    "multiclass": ["low", "middle", "high"],
    "continuous": [0.5, 1.5, 2.25],
}


def encoder_of(kind):
    y = np.resize(ENCODED[kind], 90)
    return TargetEncoder(target_type=kind).fit(COLUMN, y), COLUMN[:5]


def of_numbers(step):
    X = zoo.rows("dense-float64")
    return step.fit(X), X[:5] + 0.01


STEPS: dict[str, Any] = {
    "yeo-johnson": lambda: of_numbers(PowerTransformer()),
    "box-cox": lambda: (
        PowerTransformer(method="box-cox", standardize=False).fit([[1.0], [2.5], [9]]),
        np.array([[1.5], [4.0]]),
    ),
    "uniform": lambda: of_numbers(QuantileTransformer(n_quantiles=30)),
    "normal": lambda: of_numbers(
        QuantileTransformer(n_quantiles=80, output_distribution="normal")
    ),
    **{kind: partial(encoder_of, kind) for kind in ENCODED},
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_that_warp_and_encode(name, tmp_path):
    step, rows = STEPS[name]()
    path = tmp_path / "step.bochner"
    bochner.save(step, path)
    again = bochner.load(path)
    assert_array_equal(again.transform(rows), step.transform(rows))
    wanted = {k: v for k, v in step.get_params().items() if k != "random_state"}
    assert wanted.items() <= again.get_params().items()
    frozen = FrozenEstimator(step)
    pipeline = make_pipeline(frozen, methods.rff(8, random_state=0)).fit(rows)
    bochner.save(pipeline, path)
    assert_array_equal(bochner.load(path).transform(rows), pipeline.transform(rows))


def test_a_missing_column_of_quantiles_is_kept(tmp_path):
    X = zoo.rows("dense-float64")[:, :3].copy()
    X[:, 1] = np.nan
    with warnings.catch_warnings(action="ignore"):
        step = QuantileTransformer(n_quantiles=10).fit(X)
    bochner.save(step, tmp_path / "a")
    assert_array_equal(bochner.load(tmp_path / "a").transform(X), step.transform(X))


def state(**values):
    return lambda node: node["state"].update(values)


@pytest.mark.parametrize(
    ("name", "edit", "arrays", "reason"),
    [
        ("uniform", None, {"quantiles_": np.zeros((30, 19))}, "do not fit the columns"),
        ("uniform", None, {"quantiles_": np.zeros((1, 20))}, "do not fit the columns"),
        ("uniform", None, {"quantiles_": np.eye(30)[:, :20]}, "quantiles do not rise"),
        ("uniform", None, {"references_": np.ones(30)}, "do not rise from 0 to 1"),
        ("uniform", state(n_quantiles_=31), {}, "do not fit the columns"),
        ("uniform", state(output_distribution="x"), {}, "no distribution"),
        ("uniform", state(transform=1), {}, "has no 'transform'"),
        ("uniform", state(more_=1), {}, "has no 'more_'"),
        ("yeo-johnson", None, {"lambdas_": np.zeros(3)}, "do not fit the columns"),
        ("yeo-johnson", None, {"lambdas_": np.zeros(20, int)}, "not floats"),
        ("yeo-johnson", state(method="exp"), {}, "'exp' is no power"),
        ("yeo-johnson", state(_scaler=None), {}, "NoneType is not a scaler"),
        ("binary", state(encodings_=[]), {}, "do not fit the categories"),
        ("binary", None, {"encodings_.0": np.zeros(2)}, "do not fit the categories"),
        ("multiclass", None, {"target_mean_": np.zeros(2)}, "do not fit the classes"),
        ("continuous", state(target_mean_="0"), {}, "is no number"),
        ("continuous", state(target_type_="x"), {}, "'x' is no target"),
        ("continuous", state(n_features_in_=2), {}, "no categories"),
    ],
)
def test_steps_that_do_not_fit_are_refused(name, edit, arrays, reason, tmp_path):
    path = tmp_path / "a.bochner"
    bochner.save(STEPS[name]()[0], path)
    if edit is not None:
        changed(path, path, edit=edit)
    with_arrays(path, path, arrays)
    with pytest.raises(FileError, match=reason):
        bochner.load(path)


def test_what_cannot_be_saved_is_named(tmp_path):
    X, y = zoo.rows("dense-float64"), zoo.labels()
    path = tmp_path / "a.bochner"
    with pytest.raises(NotFittedError, match="RandomFeatures"):
        bochner.save(methods.rff(8), path)
    with pytest.raises(
        TypeError, match=r"steps\.pca is of the type PCA \(sklearn\).*model\[1:\]"
    ):
        bochner.save(make_pipeline(PCA(2), methods.rff(8)).fit(X), path)
    svc = make_pipeline(StandardScaler(), methods.rff(8), LinearSVC()).fit(X, y)
    with pytest.raises(TypeError, match=r"steps\.linearsvc .* KernelCl.*model\[:2\]"):
        bochner.save(svc, path)
    bochner.save(svc[:2], tmp_path / "b.bochner")  # as it says
    with pytest.raises(TypeError, match=r"kernel is the function 'rbf_kernel'"):
        bochner.save(Nystroem(8, kernel=rbf_kernel).fit(X), path)
    logs = make_pipeline(FunctionTransformer(np.abs), methods.rff(8)).fit(X)
    with pytest.raises(TypeError, match=r"that calls <ufunc 'absolute'>"):
        bochner.save(logs, path)
    search = GridSearchCV(KernelClassifier(8), {"alpha": [0.1, 1.0]}, cv=2).fit(X, y)
    with pytest.raises(TypeError, match=r"a GridSearchCV \(save its best_estimator_\)"):
        bochner.save(search, path)
    with pytest.raises(TypeError, match="the model is a BaseEstimator"):
        bochner.save(BaseEstimator(), path)
    half = make_pipeline(StandardScaler(), methods.rff(8).fit(X))
    with pytest.raises(NotFittedError, match="StandardScaler"):
        bochner.save(half, path)
    with pytest.raises(TypeError, match="the model is a Gaussian"):
        bochner.save(kernels.Gaussian(), path)
    columns = Nystroem(2, landmarks=sparse.csc_matrix(X[:2])).fit(X)
    with pytest.raises(TypeError, match=r"landmarks is a csc_matrix.* Make it CSR"):
        bochner.save(columns, path)
    assert not path.exists()
