"""Saving and loading: the same bits in another process, and what can be saved."""

import json
import subprocess
import sys
from pathlib import Path

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
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
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
from bochner.persistence import FileError
from bochner.persistence.kinds import FITTED, KINDS, NAMES
from forging import changed

FIXTURES = Path(__file__).parent / "fixtures"
LOADER = """
import sys, json, zoo, bochner
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
        command, capture_output=True, text=True, cwd=Path(__file__).parent, check=True
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


NOT_STORED = {"_online", "_table"}
"""The solver of a learned map's `partial_fit`; a table that is computed on use."""


def test_all_that_a_fit_leaves_is_stored():
    X = zoo.rows("dense-float64")
    models = {**zoo.every_method(), **zoo.every_map(), **zoo.every_estimator()}
    for model in models.values():
        for part in parts_of(zoo.fitted(model, X)):
            kind = KINDS[NAMES[type(part)]]
            known = {*kind.parameters(), *(kind.state or ()), *FITTED, *NOT_STORED}
            if kind.state is not None:
                assert vars(part).keys() <= known, type(part)


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


def test_what_cannot_be_saved_is_named(tmp_path):
    X, y = zoo.rows("dense-float64"), zoo.labels()
    path = tmp_path / "a.bochner"
    with pytest.raises(NotFittedError, match="RandomFeatures"):
        bochner.save(methods.rff(8), path)
    with pytest.raises(
        TypeError, match=r"steps\.pca is of the type PCA \(sklearn\).* Save the steps"
    ):
        bochner.save(make_pipeline(PCA(2), methods.rff(8)).fit(X), path)
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
