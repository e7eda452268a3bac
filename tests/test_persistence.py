"""Saving and loading: the same bits in another process, and no way to fool `load`."""

import errno
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import bochner
import zoo
from bochner import KernelClassifier, KernelPCA, KernelRegressor, Nystroem, methods
from bochner._atomic import checksum
from bochner.persistence import FileError, files
from bochner.persistence.archive import DIGEST, DOCUMENT, TAG
from bochner.persistence.kinds import FITTED, KINDS, NAMES

FIXTURES = Path(__file__).parent / "fixtures"
LOADER = """
import sys, json, zoo, bochner
from pathlib import Path
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
    maps = methods.rff(4, gamma=np.ones(20)).set_output(transform="default").fit(X)
    bochner.save(maps, tmp_path / "b.bochner")
    assert_array_equal(bochner.load(tmp_path / "b.bochner").gamma, np.ones(20))


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
    changed(path, path, edit=lambda node: node["state"].update(n_components=10**15))
    with pytest.raises(FileError, match="larger than declared"):
        bochner.load(path)


def seal(path):
    """Write the checksum that belongs to the bytes."""
    with open(path, "r+b") as file:
        digest = checksum(file, file.seek(0, 2) - DIGEST).hexdigest()
        file.seek(-DIGEST, 2)
        file.write(digest.encode())


def changed(source, target, edit=None, entries=None, compression=zipfile.ZIP_STORED):
    """A file with other entries or another document, and a checksum that agrees."""
    with zipfile.ZipFile(source) as file:
        held = [(name, file.read(name)) for name in file.namelist()]
    if edit is not None:
        document = json.loads(held[0][1])
        edit(document["model"])
        held[0] = (DOCUMENT, json.dumps(document).encode())
    if entries is not None:
        held = entries(held)
    with zipfile.ZipFile(target, "w", compression) as file:
        for name, content in held:
            file.writestr(name, content)
        file.comment = TAG + b"0" * DIGEST
    seal(target)


def npy(array, shape=None, pickled=False):
    """Bytes of an array, its shape declared otherwise."""
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=pickled)
    if shape is None:
        return out.getvalue()
    found = out.getvalue()
    end = found.index(b"\n") + 1
    header = {"descr": array.dtype.str, "fortran_order": False, "shape": shape}
    return found[:10] + repr(header).encode().ljust(end - 11) + b"\n" + found[end:]


class Bomb:
    """A pickle that would be noticed."""

    def __reduce__(self):
        return os.system, ("touch exploded",)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.bochner"
    X = zoo.rows("dense-float64")
    bochner.save(
        KernelClassifier(methods.fastfood(16, random_state=0)).fit(X, zoo.labels()),
        path,
    )
    return path


def refuses(path):
    with pytest.raises(FileError, match=r"load: .* cannot be read: .+ Nothing of it"):
        bochner.load(path)


def test_files_that_were_cut_off_or_have_changed_bytes(saved, tmp_path):
    whole, path = saved.read_bytes(), tmp_path / "damaged.bochner"
    rng = np.random.default_rng()  # any place will do
    for place in rng.integers(len(whole), size=40).tolist():
        path.write_bytes(whole[:place])
        refuses(path)
    for place in rng.integers(len(whole), size=60).tolist():
        other = whole[place] ^ (1 << int(rng.integers(8)))
        path.write_bytes(whole[:place] + bytes([other]) + whole[place + 1 :])
        refuses(path)
    path.write_bytes(whole + b"more")
    refuses(path)
    path.write_bytes(b"")
    refuses(path)
    path.write_bytes(pickle.dumps(Bomb()))
    refuses(path)


def test_entries_that_were_removed_added_or_renamed(saved, tmp_path):
    path = tmp_path / "damaged.bochner"
    with zipfile.ZipFile(saved) as file:
        names = file.namelist()
    for i, name in enumerate(names):
        changed(saved, path, entries=lambda held, i=i: held[:i] + held[i + 1 :])
        refuses(path)
        for other in (f"../{name}", f"/{name}", f"{name}x", f"other_{name}"):
            renamed = lambda held, i=i, other=other: [  # noqa: E731
                (other if j == i else n, content) for j, (n, content) in enumerate(held)
            ]
            changed(saved, path, entries=renamed)
            refuses(path)
    array = npy(np.ones(3))
    for name in ("more.npy", "../more.npy", "code.py", "model.pkl", "a\\b.npy"):
        changed(saved, path, entries=lambda held, n=name: [*held, (n, array)])
        refuses(path)
    changed(saved, path, compression=zipfile.ZIP_DEFLATED)
    refuses(path)


@pytest.mark.parametrize(
    "content",
    [
        npy(np.ones(16), shape=(10**15,)),
        npy(np.ones(16), shape=(-1, -16)),
        npy(np.ones(15)),
        npy(np.ones((4, 4))),
        npy(np.full(16, 3)),
        npy(np.ones(16)) + b"more",
        npy(np.ones(16))[:-8],
        npy(np.array([Bomb()], dtype=object), pickled=True),
        npy(np.ones(2, dtype=[("a", "f8")])),
        pickle.dumps(Bomb()),
        b"",
    ],
    ids=range(11),
)
def test_arrays_that_are_not_what_they_should_be(content, saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("features_.feature_map_.linear.scale.npy", "_columns.npy"):
        swapped = lambda held, name=name: [  # noqa: E731
            (n, content if n == name else found) for n, found in held
        ]
        changed(saved, "damaged.bochner", entries=swapped)
        refuses("damaged.bochner")
    assert not Path("exploded").exists()


def test_places_outside_their_arrays_never_reach_compiled_code(saved, tmp_path):
    path = tmp_path / "damaged.bochner"
    name = "features_.feature_map_.linear.orders"
    with np.load(saved) as file:
        orders = file[name]
    for value in (-1, orders.shape[2], 2**31 - 1):
        wrong = orders.copy()
        wrong[1, 0, 5] = value
        swapped = lambda held, wrong=wrong: [  # noqa: E731
            (n, npy(wrong) if n == f"{name}.npy" else found) for n, found in held
        ]
        changed(saved, path, entries=swapped)
        with pytest.raises(FileError, match="places reach beyond"):
            bochner.load(path)


def leaves(node, path=()):
    """Places of all values inside a document."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in pairs:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))


def test_any_changed_value_is_refused_or_harmless(tmp_path):
    """No document makes `load` or `transform` crash."""
    X = zoo.rows("dense-float64")
    rng = np.random.default_rng()
    strange = [None, -1, 0, 10**18, "x", [], {}, 0.5, True, {"tuple": []}]
    names = ("block_diagonal", "sorf", "nystroem", "maxout_codes", "compact", "giga")
    for name in names:
        path, damaged = tmp_path / f"{name}.bochner", tmp_path / "damaged.bochner"
        bochner.save(zoo.fitted(zoo.every_method()[name], X), path)
        with zipfile.ZipFile(path) as file:
            places = list(leaves(json.loads(file.read(DOCUMENT))["model"]))
        for i in rng.integers(len(places), size=15).tolist():

            def edit(node, place=places[i]):
                for key in place[:-1]:
                    node = node[key]
                node[place[-1]] = strange[int(rng.integers(len(strange)))]

            changed(path, damaged, edit=edit)
            try:
                model = bochner.load(damaged)
            except FileError:
                continue
            try:
                model.transform(X)
            except Exception as error:
                assert not isinstance(error, MemoryError | SystemError), places[i]


def with_format(saved, target, **values):
    def entries(held):
        document = json.loads(held[0][1]) | values
        return [(DOCUMENT, json.dumps(document).encode()), *held[1:]]

    changed(saved, target, entries=entries)


def test_newer_formats_say_which_version_reads_them(saved, tmp_path):
    path = tmp_path / "new.bochner"
    with_format(saved, path, format=2, bochner="3.1.0")
    with pytest.raises(FileError, match=r"format 2.* Use bochner 3\.1\.0 or newer"):
        bochner.load(path)
    changed(saved, path, edit=lambda node: node.update(kind="QuantumMap"))
    with pytest.raises(FileError, match="'QuantumMap' is nothing that this version"):
        bochner.load(path)
    changed(saved, path, edit=lambda node: node["state"].update(__class__="x"))
    with pytest.raises(FileError, match="KernelClassifier has no '__class__'"):
        bochner.load(path)
    deep = "[" * 100_000 + "]" * 100_000
    changed(saved, path, entries=lambda held: [(DOCUMENT, deep.encode()), *held[1:]])
    with pytest.raises(FileError, match=r"model\.json cannot be read"):
        bochner.load(path)
    with pytest.raises(FileNotFoundError):
        bochner.load(tmp_path / "none.bochner")


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # fork
def test_a_kill_in_mid_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.bochner"
    X = zoo.rows("dense-float64")
    large = methods.rff(200_000, random_state=1).fit(X)
    bochner.save(large, path)
    new = path.read_bytes()
    bochner.save(methods.rff(16, random_state=0).fit(X), path)
    old, kept = path.read_bytes(), 0
    for _ in range(5):
        path.write_bytes(old)
        process = os.fork()
        if not process:
            bochner.save(large, path)
            os._exit(0)
        while not list(tmp_path.glob(".model.bochner.*")):
            pass
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        assert path.read_bytes() in (old, new)
        kept += path.read_bytes() == old
    assert kept
    bochner.save(large, path)
    assert list(tmp_path.iterdir()) == [path], "leftovers are removed"
    assert path.read_bytes() == new


def test_a_failed_save_leaves_the_old_file(saved, tmp_path, monkeypatch):
    path = tmp_path / "model.bochner"
    path.write_bytes(saved.read_bytes())
    model = bochner.load(path)

    def full(file, document, arrays):
        file.write(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "write_archive", full)
    with pytest.raises(OSError, match="the disk is full; the old file is as it was"):
        bochner.save(model, path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == saved.read_bytes()

    def locked(file, document, arrays):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(files, "write_archive", locked)
    with pytest.raises(PermissionError, match="not yours to write to; nothing"):
        bochner.save(model, tmp_path / "new.bochner")


def test_links_are_followed(saved, tmp_path):
    target, link = tmp_path / "target.bochner", tmp_path / "link.bochner"
    target.write_bytes(b"old")
    link.symlink_to(target)
    bochner.save(bochner.load(saved), link)
    assert link.is_symlink() and target.read_bytes() == saved.read_bytes()


def test_what_cannot_be_saved_is_named(tmp_path):
    X, y = zoo.rows("dense-float64"), zoo.labels()
    path = tmp_path / "a.bochner"
    with pytest.raises(NotFittedError, match="RandomFeatures"):
        bochner.save(methods.rff(8), path)
    with pytest.raises(TypeError, match=r"steps\.0\.1 is a PCA of sklearn"):
        bochner.save(make_pipeline(PCA(2), methods.rff(8)).fit(X), path)
    with pytest.raises(TypeError, match=r"kernel is the function 'rbf_kernel'"):
        bochner.save(Nystroem(8, kernel=rbf_kernel).fit(X), path)
    logs = make_pipeline(FunctionTransformer(np.abs), methods.rff(8)).fit(X)
    with pytest.raises(TypeError, match=r"FunctionTransformer of <ufunc 'absolute'>"):
        bochner.save(logs, path)
    search = GridSearchCV(KernelClassifier(8), {"alpha": [0.1, 1.0]}, cv=2).fit(X, y)
    with pytest.raises(TypeError, match=r"a GridSearchCV \(save its best_estimator_\)"):
        bochner.save(search, path)
    with pytest.raises(TypeError, match="the model is a BaseEstimator"):
        bochner.save(BaseEstimator(), path)
    assert not path.exists()
    model = methods.rff(8).fit(X)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        bochner.save(model, tmp_path / "none" / "a.bochner")
    with pytest.raises(IsADirectoryError, match="is a folder; name a file"):
        bochner.save(model, tmp_path)
