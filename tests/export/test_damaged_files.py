"""Damaged and forged files: one clear error, and nothing run, made or read."""

import contextlib
import json
import os
import pickle
import re
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import bochner
import zoo
from bochner import RandomFeatures, methods
from bochner.export.archive import DIGEST, DOCUMENT, TAG, FileError
from forging import changed, npy, seal, with_arrays


class Bomb:
    """A pickle that would be noticed."""

    def __reduce__(self):
        return os.system, ("touch exploded",)


def refuses(path):
    with pytest.raises(FileError, match=r"load: .* cannot be read: .+ Nothing of it"):
        bochner.load(path)


def test_files_that_were_cut_off_or_have_changed_bytes(saved, tmp_path):
    whole, path = saved.read_bytes(), tmp_path / "damaged.bochner"
    rng = np.random.default_rng(0)
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


def test_shapes_that_compiled_code_does_not_know(tmp_path):
    path, damaged = tmp_path / "sorf.bochner", tmp_path / "damaged.bochner"
    bochner.save(methods.sorf(16, random_state=0).fit(zoo.rows("dense-float64")), path)
    for factors in ((0, 1, 32), (3, 0, 32), (3, 16, 1), (3, 8, 2), (3, 1, 24)):
        arrays = {
            "feature_map_.linear.factors": np.ones(factors),
            "feature_map_.linear.orders": np.zeros(factors, dtype=np.int32),
        }
        with_arrays(path, damaged, arrays)
        refuses(damaged)


def test_a_small_file_makes_nothing_large(saved, tmp_path):
    """Each of these declares gigabytes that it does not hold."""
    path, X = tmp_path / "a.bochner", zoo.rows("dense-float64")
    nothing = npy(np.empty(0, dtype="<U1"), shape=(5 * 10**8,)).replace(b"U1", b"U0")
    ones = npy(np.ones(10**5, dtype=np.int8))
    many = [{"number": {"array": "b"}, "of": "numpy.float64"}] * 2000
    for value in (
        {"objects": {"array": "a"}, "shape": [5 * 10**8]},
        {"tuple": {"array": "a"}},
        {"array": "a"},
        many,
        {"csr": [{"array": "b"}] * 3, "shape": [10**5, 10**12], "class": "csr_matrix"},
    ):
        added = lambda held: [*held, ("a.npy", nothing), ("b.npy", ones)]  # noqa: E731
        edit = lambda node, v=value: node["state"].update(alpha=v)  # noqa: E731
        changed(saved, path, edit=edit, entries=added)
        tracemalloc.start()
        refuses(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
        tracemalloc.stop()
    for model in (
        methods.jl(30, n_candidates=100, random_state=0),
        RandomFeatures(30, nonlinearity="cos", random_state=0),
    ):
        bochner.save(model.fit(X), path, seeds=True)
        edit = lambda node: node["state"].update(n_components=10**9)  # noqa: E731
        changed(path, path, edit=edit)
        refuses(path)


def test_a_random_state_that_would_read_elsewhere(tmp_path):
    path, X = tmp_path / "a.bochner", zoo.rows("dense-float64")
    model = methods.rff(4, random_state=np.random.RandomState(0)).fit(X)
    bochner.save(model, path)
    state = lambda node: node["state"]["random_state"]["random_state"]  # noqa: E731
    changed(path, path, edit=lambda node: state(node).__setitem__(1, 10**8))
    refuses(path)


def test_headers_that_were_changed_under_a_new_checksum(saved, tmp_path):
    """Whatever zipfile and NumPy raise, it is one error."""
    whole, path = saved.read_bytes(), tmp_path / "damaged.bochner"
    rng = np.random.default_rng(0)
    starts = [m.start() for m in re.finditer(b"PK|NUMPY", whole)]
    for start in rng.choice(starts, 60):
        place = int(start + rng.integers(2, 60))
        if place < len(whole) - DIGEST - len(TAG):
            other = bytes([int(rng.integers(256))])
            path.write_bytes(whole[:place] + other + whole[place + 1 :])
            seal(path)
            with contextlib.suppress(FileError):
                bochner.load(path)


def test_what_is_told_twice_must_agree(saved, tmp_path):
    path = tmp_path / "damaged.bochner"
    with np.load(saved) as file:
        columns = file["_columns"]
    with_arrays(saved, path, {"_columns": 0 * columns})
    with pytest.raises(FileError, match="of columns and of features do not agree"):
        bochner.load(path)


def test_names_that_would_hide_methods(tmp_path):
    path, X = tmp_path / "a.bochner", zoo.rows("dense-float64")
    bochner.save(StandardScaler().fit(X), path)
    changed(path, path, edit=lambda node: node["state"].update(transform=3))
    with pytest.raises(FileError, match="StandardScaler has no 'transform'"):
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
    rng = np.random.default_rng(0)
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
    changed(saved, path, edit=lambda node: node.update(quantised=True))
    with pytest.raises(FileError, match=r"'quantised', 'state'\] do not go together"):
        bochner.load(path)
    with_format(saved, path, compressed=True)
    with pytest.raises(FileError, match="'compressed' is nothing that this version"):
        bochner.load(path)
    with_format(saved, path, format=True)
    with pytest.raises(FileError, match="True is not a format"):
        bochner.load(path)
    deep = "[" * 100_000 + "]" * 100_000
    changed(saved, path, entries=lambda held: [(DOCUMENT, deep.encode()), *held[1:]])
    with pytest.raises(FileError, match=r"model\.json cannot be read"):
        bochner.load(path)
