"""Files with a right checksum and a wrong meaning: refused before any of it is used."""

import json
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import bochner
import zoo
from bochner import Nystroem, RandomFeatures, RandomProjection, methods, projections
from bochner.export import draws
from bochner.export.archive import DIGEST, DOCUMENT, TAG, FileError
from forging import changed, npy, seal, with_arrays

WORDS = np.array([["a", "x"], ["b", "y"], ["c", "x"], ["a", "z"]] * 5, dtype=object)
CODES = np.array([[0.0, 3], [1, 4], [2, np.nan], [0, 5]] * 5)
X = zoo.rows("dense-float64")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "forged.bochner"


def save_with(path, model, *, arrays=None, **state):
    """A file of a model with other attributes and arrays."""
    bochner.save(model, path)
    changed(path, path, edit=lambda node: node["state"].update(state))
    if arrays:
        with_arrays(path, path, arrays)


@pytest.mark.parametrize("columns", [[2**40, 6 - 2**40], [200, 3], [3], [3.0, 3], None])
def test_columns_of_a_one_hot_encoder_follow_from_its_categories(path, columns):
    save_with(path, OneHotEncoder().fit(WORDS), _n_features_outs=columns)
    with pytest.raises(FileError, match="do not fit its categories"):
        bochner.load(path)


@pytest.mark.parametrize("step", [OneHotEncoder, OrdinalEncoder])
@pytest.mark.parametrize("wrong", [[0, 1, 2**40], [0, 1], [-1, 0, 1], [0, 0, 0]])
def test_groups_of_rare_categories_are_recomputed(path, step, wrong):
    name = "_default_to_infrequent_mappings.0"
    model = step(max_categories=2).fit(WORDS)
    save_with(path, model, arrays={name: np.array(wrong)})
    with pytest.raises(FileError, match="groups do not fit the rare categories"):
        bochner.load(path)
    rare = {"_infrequent_indices.0": np.array([1, 2**40])}
    save_with(path, model, arrays=rare)
    with pytest.raises(FileError, match="rare categories are not there"):
        bochner.load(path)


def test_dropped_categories_must_be_there(path):
    model = OneHotEncoder(drop="first").fit(WORDS)
    for name in ("_drop_idx_after_grouping", "drop_idx_"):
        forged = {"objects": [0, 7], "shape": [2]}
        save_with(path, model, **{name: forged})
        with pytest.raises(FileError, match="dropped categories"):
            bochner.load(path)


def test_categories_that_bisection_would_not_find(path):
    model = OneHotEncoder(sparse_output=False).fit(CODES)
    save_with(path, model, arrays={"categories_.0": np.array([5.0, 1.0, 2.0])})
    with pytest.raises(FileError, match="categories_ of OneHotEncoder"):
        bochner.load(path)


STEPS = {
    "standard": (StandardScaler(), X, {"mean_": np.ones((20, 20))}),
    "min_max": (MinMaxScaler(), X, {"scale_": np.ones(3)}),
    "max_abs": (MaxAbsScaler(), X, {"scale_": np.ones((20, 1))}),
    "robust": (RobustScaler(), X, {"center_": np.ones(20, dtype=int)}),
    "imputer": (SimpleImputer(), X, {"statistics_": np.ones((1, 20))}),
    "indicator": (
        MissingIndicator(features="all"),
        X,
        {"features_": np.array([0, 2**40])},
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_attributes_of_steps_have_one_form(name, path):
    step, rows, arrays = STEPS[name]
    save_with(path, step.fit(rows), arrays=arrays)
    with pytest.raises(FileError, match=f"{next(iter(arrays))} of .* another form"):
        bochner.load(path)
    save_with(path, step.fit(rows), fit_before_=1)
    with pytest.raises(FileError, match="has no 'fit_before_'"):
        bochner.load(path)


@pytest.mark.parametrize(
    "step",
    [
        OneHotEncoder(),
        OneHotEncoder(drop="first"),
        OneHotEncoder(drop="if_binary", min_frequency=6),
        OneHotEncoder(drop=["a", "x"], handle_unknown="ignore"),
        OneHotEncoder(max_categories=2, drop="first"),
        OneHotEncoder(min_frequency=0.3, handle_unknown="infrequent_if_exist"),
        OrdinalEncoder(),
        OrdinalEncoder(max_categories=2),
    ],
    ids=str,
)
def test_encoders_of_every_kind_are_still_saved(step, path):
    for rows in (WORDS, CODES) if step.get_params().get("drop") is None else (WORDS,):
        bochner.save(step.fit(rows), path)
        wanted, found = step.transform(rows), bochner.load(path).transform(rows)
        if sparse.issparse(wanted):
            wanted, found = wanted.toarray(), found.toarray()
        assert_array_equal(found, wanted)


def test_an_encoder_that_was_fitted_twice_is_still_saved(path):
    step = OneHotEncoder(max_categories=2).fit(WORDS)
    bochner.save(step.set_params(max_categories=None).fit(CODES), path)
    assert_array_equal(
        bochner.load(path).transform(CODES).toarray(), step.transform(CODES).toarray()
    )


def test_processes_and_weights_of_a_column_transformer(path):
    parts = [("one", StandardScaler(), [0, 1])]
    model = ColumnTransformer(parts, transformer_weights={"one": 2.0}).fit(X)
    bochner.save(model.set_params(n_jobs=2), path)
    again = bochner.load(path)
    assert again.n_jobs is None  # that is of the machine, as paths are
    assert_array_equal(again.transform(X), model.set_params(n_jobs=None).transform(X))
    weights = {"dict": [["one", {"array": "w"}]]}
    save_with(path, model, arrays={"w": np.ones((9, 1))}, transformer_weights=weights)
    with pytest.raises(FileError, match="weights of transformers are not numbers"):
        bochner.load(path)


def landmarks(path, **parts):
    """A file of sparse landmarks with some CSR parts exchanged."""
    model = Nystroem(5, kernel="laplacian", random_state=0).fit(sparse.csr_matrix(X))
    bochner.save(model, path)
    with_arrays(path, path, {f"landmarks_.{k}": v for k, v in parts.items()})
    return model.landmarks_


def test_csr_parts_that_are_one_array(path):
    rising = np.array([0, 1, 2, 3, 4, 6])  # fits as indices, and as indptr of 5 rows
    landmarks(path, data=np.ones(6), indices=rising)

    def edit(node):
        parts = node["state"]["landmarks_"]["csr"]
        parts[2] = parts[1]

    unused = "landmarks_.indptr.npy"
    drop = lambda held: [(n, c) for n, c in held if n != unused]  # noqa: E731
    changed(path, path, edit=edit, entries=drop)
    with pytest.raises(FileError, match="two CSR parts are one array"):
        bochner.load(path)


def test_csr_parts_must_be_canonical(path):
    good = landmarks(path)
    swapped, double, falling = good.indices.copy(), good.indices.copy(), good.indptr + 0
    swapped[:2] = swapped[1::-1]
    double[1] = double[0]
    landmarks(path, indices=swapped)
    assert bochner.load(path).landmarks_.has_canonical_format
    landmarks(path, indices=double)
    with pytest.raises(FileError, match="places are there twice"):
        bochner.load(path)
    falling[1] = falling[2] + 1
    landmarks(path, indptr=falling)
    with pytest.raises(FileError, match="rows are not in order"):
        bochner.load(path)


def test_rows_out_of_order_are_saved_in_order(path):
    rows = sparse.csr_matrix(X)
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        for part in (rows.indices, rows.data):
            part[start:stop] = part[start:stop][::-1].copy()
    rows.has_sorted_indices = False
    model = Nystroem(5, landmarks=rows[:5], kernel="laplacian").fit(rows)
    bochner.save(model, path)
    again = bochner.load(path)
    assert again.landmarks_.has_canonical_format
    np.testing.assert_allclose(again.transform(X), model.transform(X), atol=1e-9)


def test_csr_parts_are_copies(path):
    """Two matrices that name the same arrays do not change together."""
    landmarks(path)
    same = lambda node: node["state"].update(landmarks=node["state"]["landmarks_"])  # noqa: E731
    changed(path, path, edit=same)
    model = bochner.load(path)
    for name in ("data", "indices", "indptr"):
        parts = (getattr(rows, name) for rows in (model.landmarks, model.landmarks_))
        assert not np.shares_memory(*parts)


@pytest.mark.parametrize("name", sorted(projections.PROJECTIONS))
def test_drawing_takes_no_more_than_is_asked_for(name):
    for n_features, n in ((200, 400), (20, 4000)):
        rows = np.random.default_rng(0).normal(size=(40, n_features))
        kind = projections.PROJECTIONS[name]
        if kind.is_linear:
            n = min(n, n_features)
            model = RandomProjection(n, projection=name, random_state=0).fit(rows)
            how = draws.DRAWABLE["RandomProjection"]
        else:
            model = RandomFeatures(n, projection=name, random_state=0).fit(rows)
            how = draws.DRAWABLE["RandomFeatures"]
        tracemalloc.start()
        again = how.again(model)
        draws._seen(how, model, again)
        kept = again.astype(np.float32)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept.shape if hasattr(kept, "shape") else kept.n_components
        assert peak <= draws.peak_bytes(model)


def test_seeds_ask_before_they_draw(path):
    """Halton points of many coordinates take tables of gigabytes."""
    rows = np.random.default_rng(0).normal(size=(3, 2000))
    model = RandomFeatures(2, projection="dense", random_state=0).fit(rows)
    bochner.save(model, path, seeds=True)
    qmc = {"kind": "projections.QMC", "state": {"sequence": "halton"}}
    more = {"projection_": qmc, "n_features_in_": 20_000, "n_components": 1000}

    def edit(node):
        node["state"].update(more)
        node["drawn"]["bytes"] = 10**12

    changed(path, path, edit=edit)
    with_arrays(path, path, {"seen": np.zeros((2, 32))})
    tracemalloc.start()
    with pytest.raises(FileError, match=r"as a seed takes up to .* memory='…'"):
        bochner.load(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


def test_memory_of_load_is_a_parameter(path):
    model = methods.rff(60_000, random_state=0).fit(X)
    bochner.save(model, path, seeds=True)
    with pytest.raises(FileError, match=r"32 MiB are left .*allow more with load"):
        bochner.load(path, memory="32 MiB")
    again = bochner.load(path, memory="1 GiB")
    assert_array_equal(again.transform(X[:2]), model.transform(X[:2]))
    with pytest.raises(ValueError, match="load: memory must be"):
        bochner.load(path, memory="much")


def test_many_seeds_share_one_allowance(path):
    model = methods.rff(30_000, random_state=0).fit(X)
    steps = [methods.rff(30_000, random_state=0).fit(X) for _ in range(4)]
    bochner.save(model, path, seeds=True)
    bochner.load(path, memory="64 MiB")
    union = ColumnTransformer([(str(i), s, slice(0, 20)) for i, s in enumerate(steps)])
    bochner.save(union.fit(X), path, seeds=True)
    with pytest.raises(FileError, match="are left of what load may take"):
        bochner.load(path, memory="64 MiB")


def written(path, document, arrays):
    """A file of this document and these arrays."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(DOCUMENT, document)
        for name, array in arrays.items():
            file.writestr(f"{name}.npy", npy(array))
        file.comment = TAG + b"0" * DIGEST
    seal(path)


def projected(path, linear, arrays):
    """A file of a RandomProjection with another map."""
    state = {"n_components": 4, "n_features_in_": 20, "linear_map_": linear}
    model = {"kind": "RandomProjection", "state": state}
    written(path, json.dumps({"format": 1, "model": model}).encode(), arrays)


def matrix(name):
    return {"kind": "maps.Matrix", "state": {"transposed": {"array": name}}}


def composed(outer, inner):
    return {"kind": "maps.Compose", "state": {"outer": outer, "inner": inner}}


def test_a_single_entry_map_of_any_width(path):
    entry = {"outputs": {"array": "o"}, "values": {"array": "v"}, "n_out": 2 * 10**8}
    single = {"kind": "maps.SingleEntry", "state": entry}
    arrays = {"o": np.zeros(20, dtype=np.int32), "v": np.ones(20)}
    projected(path, single, arrays)
    with pytest.raises(FileError, match="a map of 40 numbers has 200000000 outputs"):
        bochner.load(path)


def test_a_product_through_no_dimension(path):
    wide = {"a": np.zeros((20, 0)), "b": np.zeros((0, 10**6))}
    projected(path, composed(matrix("b"), matrix("a")), wide)
    with pytest.raises(FileError, match="has no inputs or no outputs"):
        bochner.load(path)
    wide["b"] = np.zeros((0, 2 * 10**8))
    projected(path, composed(matrix("b"), matrix("a")), wide)
    with pytest.raises(FileError, match=r"'b.npy' has the shape \(0, 200000000\)"):
        bochner.load(path)


@pytest.mark.parametrize(
    ("times", "array", "reason"),
    [
        (50_000, np.ones((20, 100)), "mentioned too many times"),
        (20_000, np.ones((1, 62), dtype=np.float32), "62 numbers has 2480000 outputs"),
    ],
)
def test_a_stack_that_names_one_matrix_many_times(times, array, reason, path):
    maps = {"tuple": [matrix("a")] * times}
    projected(path, {"kind": "maps.Stack", "state": {"maps": maps}}, {"a": array})
    with pytest.raises(FileError, match=reason):
        bochner.load(path)


@pytest.mark.parametrize(
    ("item", "times", "memory"),
    [
        ("[]", 6_600_000, None),
        ("{}", 40_000, "64 MiB"),
        ('{"tuple": []}', 20_000, "64 MiB"),
        ('"ab"', 1_000_000, "64 MiB"),
    ],
)
def test_a_document_of_many_small_values(item, times, memory, path):
    text = '{"format": 1, "model": [' + ",".join([item] * times) + "]}"
    written(path, text.encode(), {})
    with pytest.raises(FileError, match=r"reading model\.json takes up to"):
        bochner.load(path, memory=memory)


def test_an_archive_of_many_entries(path):
    written(path, b"{}", {str(i): np.ones(1) for i in range(3000)})
    with pytest.raises(FileError, match="the list of entries takes up to"):
        bochner.load(path, memory="1 MiB")


@pytest.mark.parametrize(
    ("name", "shape"),
    [("moments.t", (4096,)), ("moments.ff", (6, 7)), ("sample.T", (90, 50))],
)
def test_sums_that_partial_fit_resumes_from_fit_each_other(name, shape, path):
    rff = methods.rff(6, random_state=0)
    model = bochner.KernelRegressor(rff).partial_fit(X, zoo.numbers())
    save_with(path, model, arrays={f"_incremental.state.{name}": np.ones(shape)})
    with pytest.raises(FileError, match="do not fit"):
        bochner.load(path)


def test_arrays_that_are_stored_by_columns(path):
    """Compiled loops read whole rows at a time."""
    model = methods.fastfood(100, random_state=0).fit(X)
    name = "feature_map_.linear.factors"
    factors = np.asfortranarray(model.feature_map_.linear.factors)
    save_with(path, model, arrays={name: factors})
    with pytest.raises(FileError, match="an array is stored by columns"):
        bochner.load(path)


def test_types_of_endless_text(path):
    save_with(path, SimpleImputer().fit(X), _fit_dtype={"dtype": "<U100000000"})
    with pytest.raises(FileError, match="a type takes 400000000 bytes"):
        bochner.load(path)


def test_objects_of_a_shape_that_they_do_not_have(path):
    model = OneHotEncoder().fit(WORDS)
    for shape in ([0, 10**12], [-1, -3], [3.0], ["3"]):
        save_with(path, model, categories_=[{"objects": ["a"] * 3, "shape": shape}])
        with pytest.raises(FileError, match="objects do not fit their shape"):
            bochner.load(path)


@pytest.mark.parametrize(("name", "size"), [("pca_sorf", 2**20), ("sorf", 2 * 10**8)])
def test_maps_that_a_later_fit_would_draw_are_charged(name, size, path):
    """`partial_fit` after `fit` starts with the map that the parameters describe."""
    sorf = methods.sorf(8, random_state=0)
    model = bochner.KernelClassifier(sorf, alpha=1.0, loss="log").fit(X, zoo.labels())
    if name == "pca_sorf":
        model = bochner.KernelPCA(2, features=sorf).fit(X)
    bochner.save(model, path)
    bochner.load(path, memory="1 MiB")

    def edit(node):
        node["state"]["features"]["state"]["n_components"] = size

    changed(path, path, edit=edit)
    with pytest.raises(FileError, match=r"a later fit would draw .* takes up to"):
        bochner.load(path)


def test_moments_larger_than_the_machine_are_refused_first():
    wide = methods.sorf(2**20, random_state=0)
    with pytest.raises(ValueError, match=r"1048576 features need .* use fewer"):
        bochner.KernelPCA(2, features=wide).partial_fit(X)


def test_forged_models_do_no_harm():
    """A few cases of `make fuzz-files`, in a process with checks of the heap."""
    command = [sys.executable, "-c", FEW]
    folder = Path(__file__).parents[1]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


FEW = "import sys, fuzz_models; sys.exit(bool(fuzz_models.fuzz(40, 1, None)))"
