"""Checkpoints: a fit that is killed goes on where it was, to the same bits."""

import errno
import hashlib
import json
import os
import pickle
import signal
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator

from bochner import (
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    Nystroem,
    blocks,
    load,
    methods,
)
from bochner.engines.checkpoint import Checkpoint
from bochner.export.archive import write_archive


def fit(kind, path, kill_at, walk):
    """A fit that may kill its own process before a block; how many walks it took."""
    walks = 0

    def read():
        nonlocal walks
        walks += 1
        for i in range(8):
            if i == kill_at and walks == walk:
                os.kill(os.getpid(), signal.SIGKILL)
            A = np.random.default_rng(i).normal(size=(150, 3))
            labels = A[:, 0] > A[:, 1] ** 2
            yield A, np.sin(A[:, 0]) + A[:, 1] if kind == "ridge" else labels

    features = methods.rff(40, gamma=0.3, random_state=0)
    model = KernelRegressor(features, checkpoint=path, checkpoint_every=1)
    if kind == "log":
        small = {"memory": "90 KiB", "checkpoint": path}  # a walk every pass
        model = KernelClassifier(features, loss="log", alpha=0.1, **small)
    return model.fit(blocks(read)).coef_, walks


def run(kind, folder, kill_at=-1, walk=0):
    """The same in a process of its own: what it was ended by."""
    process = os.fork()
    if not process:
        coef, walks = fit(kind, folder / "fit.checkpoint", kill_at, walk)
        np.savez(folder / "found.npz", coef=coef, walks=walks)
        os._exit(0)
    return os.waitpid(process, 0)[1]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # fork
@pytest.mark.parametrize("kind, kills", [("ridge", 5), ("log", 2)])
def test_kill_and_resume_to_the_same_bits(kind, kills, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    assert run(kind, whole) == 0
    wanted = np.load(whole / "found.npz")
    rng = np.random.default_rng()
    for kill in range(kills):
        # ridge sums up in its second walk; others make a step in a few of them
        walk = 2 if kind == "ridge" else int(wanted["walks"]) // 2 - kill
        assert run(kind, broken, int(rng.integers(8)), walk) == signal.SIGKILL
        assert (broken / "fit.checkpoint").exists()
    assert run(kind, broken) == 0
    found = np.load(broken / "found.npz")
    if kind == "log":
        assert found["walks"] < wanted["walks"], "steps are not done again"
    assert_array_equal(found["coef"], wanted["coef"])
    assert not (broken / "fit.checkpoint").exists(), "deleted at the end"


X = np.random.default_rng(0).normal(size=(400, 3))
Y = np.sin(X[:, 0])
PARTS = [(X[i : i + 50], Y[i : i + 50]) for i in range(0, 400, 50)]
FEATURES = methods.rff(32, gamma=0.3, random_state=0)
LARGE = np.random.default_rng(1).normal(size=(400, 3))


def interrupted(path, model=None, stop=5):
    """Leave a checkpoint behind: the stream breaks at a block."""

    def read():
        for i, part in enumerate(PARTS):
            if i == stop:
                raise OSError("the disk is gone")
            yield part

    model = model or KernelRegressor(FEATURES, checkpoint=path)
    with pytest.raises(OSError, match="the disk is gone"):
        model.fit(blocks(read))
    return model


@pytest.mark.parametrize(
    "make",
    [
        lambda path: KernelRegressor(FEATURES, checkpoint=path),
        lambda path: KernelPCA(2, features=FEATURES, checkpoint=path),
    ],
)
def test_an_error_keeps_the_work_so_far(make, tmp_path):
    model = interrupted(tmp_path / "c", make(tmp_path / "c"))

    def read():
        for i, (A, y) in enumerate(PARTS):
            # of blocks that were done nothing but their number counts
            yield (A, y) if i in (0, 5, 6, 7) else (A * np.nan, y)

    model.fit(blocks(read))
    again = make(None).fit(blocks(PARTS))
    fitted = "coef_" if isinstance(model, KernelRegressor) else "components_"
    assert_array_equal(getattr(model, fitted), getattr(again, fitted))


def test_the_map_is_kept_without_a_seed(tmp_path):
    path = tmp_path / "c"
    model = KernelRegressor(methods.rff(32, gamma=0.3), checkpoint=path)
    interrupted(path, model)
    resumed = Checkpoint(path, 1, _identity_of(path)).get("map")
    model.fit(blocks(PARTS))
    assert_array_equal(model.features_.transform(X), resumed.transform(X))


def _identity_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("checkpoint.json"))["fit"]


def test_damaged_checkpoints_are_never_read(tmp_path):
    path = tmp_path / "c"
    model = interrupted(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    cuts = [whole[:n] for n in (0, 5, 50, len(whole) - 1)]
    cuts += [whole[: int(n)] for n in rng.integers(0, len(whole), 10)]
    for place in rng.integers(0, len(whole), 10):
        flipped = bytearray(whole)
        flipped[place] ^= 1
        cuts.append(bytes(flipped))
    for damaged in [*cuts, whole + b"x", b"something else"]:
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"is damaged.*Delete it to start anew"):
            model.fit(blocks(PARTS))
        assert path.read_bytes() == damaged, "left as it is"
    path.write_bytes(whole)
    (tmp_path / ".c.123").write_bytes(whole[:100])  # what a kill in mid-write leaves
    model.fit(blocks(PARTS))


def forged(path, change):
    """The checkpoint with another document and other arrays, under a right checksum."""
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("checkpoint.json"))
        names = [n for n in archive.namelist() if n.endswith(".npy")]
        arrays = {n.removesuffix(".npy"): np.load(archive.open(n)) for n in names}
    change(document, arrays)
    with open(path, "w+b") as file:
        write_archive(file, document, arrays, "checkpoint.json")


def put(name, value):
    def change(document, arrays):
        (place,) = [n for n in arrays if n.endswith(name)]
        arrays[place] = value(arrays[place])

    return change


def state(name, value):
    return lambda document, arrays: document["state"].update({name: value})


def of_fold(change):
    """Change the state of the moments that a fold has come to."""

    def changed(document, arrays):
        total = document["state"]["fold 1"]["tuple"]
        change(total[0]["state"]["moments"]["state"], total)

    return changed


def wider(document, arrays):
    """A map that takes more columns than the rows have."""
    found = document["state"]["map"]["state"]
    found["n_features_in_"] += 1
    (place,) = [n for n in arrays if n.endswith("transposed")]
    arrays[place] = np.vstack([arrays[place], arrays[place][:1]])


FORGED = {
    "an unknown entry": (lambda d, a: a.update(more=np.ones(2)), "does not belong"),
    "a header that is none": (lambda d, a: d.pop("fit"), "does not say what it is"),
    "more in the header": (lambda d, a: d.update(more=1), "does not say what it is"),
    "unknown state": (state("more", 1), "nothing that this version knows"),
    "a kind that is not known": (
        state("map", {"kind": "os.system", "state": {}}),
        "'os.system' is nothing that this version knows",
    ),
    "no map": (state("map", {"kind": "sklearn.StandardScaler", "state": {}}), "'map'"),
    "a number as map": (state("map", 3), "int is not a map"),
    "a text as alpha": (state("alpha", "1"), "'1' is not a number"),
    "a newton of no steps": (state("newton", {"dict": []}), "'newton' cannot be read"),
    "sums that do not fit": (put(".ft", lambda A: A[:-1]), "sums do not fit"),
    "sums that are smaller": (put(".ff", lambda A: A[:4, :4]), "sums do not fit"),
    "sums in another order": (
        put(".ff", np.ascontiguousarray),
        "sums are in another order",
    ),
    "sums of another type": (
        put(".ff", lambda A: np.asfortranarray(A, np.float32)),
        "not of floats",
    ),
    "rows that do not fit": (put("sample.T", lambda A: A[:3]), "rows do not fit"),
    "an origin that does not fit": (
        put("origin_f", lambda A: A[:3]),
        "an origin and its sums do not fit",
    ),
    "rows below zero": (of_fold(lambda m, total: m.update(n_rows=-1)), "not a count"),
    "blocks below zero": (of_fold(lambda m, t: t.__setitem__(1, -1)), "not a count"),
    "one array twice": (
        of_fold(lambda m, total: m.update(ff=m["ft"])),
        "sums do not fit each other",
    ),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_checkpoints_are_refused(case, tmp_path):
    path = tmp_path / "c"
    model = interrupted(path)
    change, match = FORGED[case]
    forged(path, change)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=rf"is damaged.*{match}.*Delete it to start"):
        model.fit(blocks(PARTS))
    assert path.read_bytes() == before, "left as it is"


def test_state_of_another_size_than_the_fit_is_refused(tmp_path):
    path = tmp_path / "c"
    small = KernelRegressor(methods.rff(16, gamma=0.3, random_state=0), checkpoint=path)
    interrupted(path, small)
    identity = json.loads(zipfile.ZipFile(path).read("checkpoint.json"))
    path.unlink()
    model = interrupted(path)
    whole = zipfile.ZipFile(path).read("checkpoint.json")
    sums = Checkpoint(path, 1, json.loads(whole)["fit"]).get("fold 1")
    path.unlink()
    interrupted(path, small)
    other = Checkpoint(path, 1, identity["fit"])
    other.save(**{"fold 1": sums})
    with pytest.raises(ValueError, match="'fold 1' has another form than this fit's"):
        small.fit(blocks(PARTS))
    path.unlink()
    interrupted(path, model)
    forged(path, wider)
    with pytest.raises(ValueError, match="was fitted on 4 columns; X has 3"):
        model.fit(blocks(PARTS))


class Trap:
    def __reduce__(self):
        return os.mkdir, (Trap.place,)


def test_pickled_checkpoints_are_refused_and_not_run(tmp_path):
    path, Trap.place = tmp_path / "c", str(tmp_path / "ran")
    header = json.dumps({"version": "0.1.0", "fit": {}}).encode()
    text = b"bochner checkpoint 1\n" + header + b"\n" + pickle.dumps({"a": Trap()})
    path.write_bytes(text + hashlib.sha256(text).digest())
    with pytest.raises(ValueError, match=r"as a pickle.*Delete it to start anew, or"):
        KernelRegressor(FEATURES, checkpoint=path).fit(blocks(PARTS))
    assert not os.path.exists(Trap.place)


def test_checkpoints_hold_json_and_arrays_alone(tmp_path):
    interrupted(tmp_path / "c")
    with zipfile.ZipFile(tmp_path / "c") as archive:
        names = archive.namelist()
        for name in names[1:]:
            np.load(archive.open(name), allow_pickle=False)
    assert names[0] == "checkpoint.json" and len(names) > 5
    with pytest.raises(ValueError, match=r"checkpoint.json' is neither model.json"):
        load(tmp_path / "c")


def test_maps_that_no_file_holds_are_given_fitted(tmp_path):
    path = tmp_path / "c"
    model = KernelRegressor(PCA(2), checkpoint=path)
    with pytest.raises(TypeError, match=r"without pickles.*FrozenEstimator\(map.fit"):
        model.fit(blocks(PARTS))
    assert not path.exists()
    frozen = FrozenEstimator(PCA(2).fit(X))
    model = interrupted(path, KernelRegressor(frozen, checkpoint=path))
    again = KernelRegressor(frozen).fit(blocks(PARTS))
    assert path.exists()
    assert_array_equal(model.fit(blocks(PARTS)).coef_, again.coef_)


def test_a_full_disk_names_the_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "c"
    model = interrupted(path)
    before = path.read_bytes()

    def full(file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("bochner._core.atomic_files.os.fsync", full)
        with pytest.raises(OSError, match=r"/c' cannot be written: the disk is full"):
            KernelRegressor(FEATURES, checkpoint=path, checkpoint_every=1).fit(
                blocks(PARTS)
            )
    assert path.read_bytes() == before, "the old one is whole"
    model.fit(blocks(PARTS))


def test_a_pipe_is_no_checkpoint(tmp_path):
    os.mkfifo(tmp_path / "c")
    with pytest.raises(ValueError, match="is a pipe or a device; give a file's name"):
        KernelRegressor(FEATURES, checkpoint=tmp_path / "c").fit(blocks(PARTS))


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "c"
    kept = Checkpoint(path)
    kept.save(a=1)
    before = path.read_bytes()
    with pytest.raises(TypeError, match="pickle"):
        kept.save(a=(i for i in []))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["c"], "nothing half-written"


def test_checkpoints_of_another_fit_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "c"
    interrupted(path)
    other = KernelRegressor(FEATURES, alpha=2.0, checkpoint=path)
    with pytest.raises(ValueError, match=r"another fit: alpha was 'auto' and is 2.0"):
        other.fit(blocks(PARTS))
    same = KernelRegressor(FEATURES, checkpoint=path)
    with pytest.raises(ValueError, match="of another fit: the first block was"):
        same.fit(blocks(PARTS[1:]))
    weighted = [(A, y, y**2) for A, y in PARTS]
    with pytest.raises(ValueError, match="of another fit: the first block was"):
        same.fit(blocks(weighted))
    with pytest.raises(ValueError, match="at least 5 blocks, and this one ends"):
        same.fit(blocks(PARTS[:2]))
    with pytest.raises(ValueError, match="of another fit: estimator was KernelRegr"):
        KernelPCA(2, features=FEATURES, checkpoint=path).fit(blocks(PARTS))
    monkeypatch.setattr("bochner.engines.checkpoint.__version__", "9.9")
    with pytest.raises(ValueError, match=r"written by bochner 0.*and this is 9.9"):
        same.fit(blocks(PARTS))


@pytest.mark.parametrize(
    "one, other",
    [
        (lambda: FrozenEstimator(rff(0.3)), lambda: FrozenEstimator(rff(0.9))),
        (lambda: Nystroem(landmarks=LARGE), lambda: Nystroem(landmarks=LARGE + 1)),
    ],
)
def test_maps_are_told_apart_beyond_their_words(one, other, tmp_path):
    path = tmp_path / "c"
    interrupted(path, KernelRegressor(one(), checkpoint=path))
    with pytest.raises(ValueError, match="of another fit: features was"):
        KernelRegressor(other(), checkpoint=path).fit(blocks(PARTS))
    KernelRegressor(one(), checkpoint=path).fit(blocks(PARTS))


def rff(gamma):
    return methods.rff(16, gamma=gamma, random_state=0).fit(X)


def test_text_beside_components(tmp_path):
    path, words = tmp_path / "c", np.array(["a", "b"] * 25, dtype=object)
    model = KernelPCA(2, features=FEATURES, checkpoint=path)

    def read(stop):
        for i, (A, _) in enumerate(PARTS):
            if i == stop:
                raise OSError("gone")
            yield A, words.copy()

    with pytest.raises(OSError, match="gone"):
        model.fit(blocks(lambda: read(3)))
    model.fit(blocks(lambda: read(None)))


def test_bad_parameters(tmp_path):
    warm = KernelClassifier(FEATURES, warm_start=True, checkpoint=tmp_path / "c")
    with pytest.raises(
        ValueError, match="checkpoint and warm_start do not go together"
    ):
        warm.fit(blocks([(A, y > 0) for A, y in PARTS]))
    with pytest.raises(ValueError, match=r"is for streams; give X as bochner.blocks"):
        KernelRegressor(FEATURES, checkpoint=tmp_path / "c").fit(X, Y)
    with pytest.raises(ValueError, match="is a folder; give a file's name"):
        KernelRegressor(FEATURES, checkpoint=tmp_path).fit(blocks(PARTS))
    with pytest.raises(ValueError, match="there is no folder"):
        KernelRegressor(FEATURES, checkpoint=tmp_path / "no" / "c").fit(blocks(PARTS))
    with pytest.raises(ValueError, match="checkpoint_every must be a positive integer"):
        KernelRegressor(FEATURES, checkpoint_every=0).fit(blocks(PARTS))


def test_newton_steps_are_kept(tmp_path):
    path = tmp_path / "c"
    labels = [(A, (y > 0).astype(int)) for A, y in PARTS]
    walks = []

    def read(stop):
        walks.append(1)
        if len(walks) == stop:
            raise OSError("gone")
        yield from labels

    small = {"loss": "log", "alpha": 0.1, "memory": "60 KiB"}  # a walk every pass
    again = KernelClassifier(FEATURES, **small).fit(blocks(lambda: read(None)))
    stop, total = len(walks) // 2, len(walks)
    walks.clear()
    model = KernelClassifier(FEATURES, checkpoint=path, **small)
    with pytest.raises(OSError, match="gone"):
        model.fit(blocks(lambda: read(stop)))
    kept = Checkpoint(path, 1, _identity_of(path)).get("newton")
    assert 1 <= kept.step < again.n_iter_
    whole = path.read_bytes()
    forged(path, put("newton.B", lambda B: B[1:]))
    with pytest.raises(ValueError, match="its coefficients do not fit the features"):
        model.fit(blocks(lambda: read(None)))
    path.write_bytes(whole)
    walks.clear()
    model.fit(blocks(lambda: read(None)))
    assert len(walks) < total, "steps that were done are not done again"
    assert_array_equal(model.coef_, again.coef_)
    assert model.n_iter_ == again.n_iter_
