"""Files as blocks: every format, columns by name, hashing, and what is wrong."""

import errno
import gzip
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.feature_extraction import FeatureHasher

from bochner import (
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    blocks,
    load,
    methods,
    save,
)
from bochner.data import tables
from bochner.data.formats import arrays as array_files
from bochner.data.formats import svmlight as svmlight_files
from bochner.data.read_errors import ReadError, named
from bochner.data.stream import prefetched

pq = pytest.importorskip("pyarrow.parquet")
N = 300
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
Y = X[:, 0] + np.sin(X[:, 1])
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(y=Y, w=np.arange(N) + 1.0)
MAP = methods.rff(32, gamma=0.1, random_state=0)


def write(kind, folder):
    """FRAME, or its arrays, as a file of a format, and how to read it."""
    path, named = folder / f"data.{kind}", {"target": "y", "columns": list("abcd")}
    if kind == "parquet":
        FRAME.to_parquet(path, row_group_size=70)
    elif kind in ("csv", "csv.gz"):
        FRAME.to_csv(path, index=False)
    elif kind == "tsv":
        FRAME.to_csv(path, index=False, sep="\t")
    elif kind == "npy":
        np.save(path, X)
        np.save(folder / "y.npy", Y)
        named = {"target": folder / "y.npy"}
    elif kind == "npz":
        np.savez(path, X=X, y=Y)
        named = {}
    elif kind in ("svm", "svmlight.gz"):
        dump_svmlight_file(X, Y, str(folder / "plain"), zero_based=kind == "svm")
        text = (folder / "plain").read_bytes()
        path.write_bytes(gzip.compress(text) if kind.endswith("gz") else text)
        named = {}
    return path, named


FORMATS = ["parquet", "csv", "csv.gz", "tsv", "npy", "npz", "svm", "svmlight.gz"]


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_same_rows(kind, tmp_path):
    path, named = write(kind, tmp_path)
    stream = blocks(path, rows=64, **named)
    walked = list(stream)
    assert [len(y) for _, y in walked] == [64, 64, 64, 64, 44]
    rows = [B.toarray() if sparse.issparse(B) else B for B, _ in walked]
    assert_allclose(np.vstack(rows), X, rtol=1e-6)
    assert_allclose(np.concatenate([y for _, y in walked]), Y, rtol=1e-6)
    assert len(list(stream)) == 5, "it can be walked again"
    known = stream.about_rows()
    assert (known is None) == (kind == "npz")
    assert kind == "npz" or abs(known - N) <= 0.5 * N


@pytest.mark.parametrize("kind", ["parquet", "csv", "npy", "svm"])
def test_a_fit_on_a_file_is_a_fit_on_its_rows(kind, tmp_path):
    path, named = write(kind, tmp_path)
    model = KernelRegressor(methods.rff(64, gamma=0.1, random_state=0), alpha=0.1)
    found = model.fit(blocks(path, rows=100, **named)).coef_
    assert_allclose(found, model.fit(X, Y).coef_, rtol=1e-4, atol=1e-6)


def test_several_files(tmp_path):
    for i in range(3):
        FRAME[100 * i : 100 * (i + 1)].to_parquet(tmp_path / f"part-{i}.parquet")
    paths = sorted(tmp_path.iterdir())
    for source in (tmp_path, str(tmp_path / "part-*.parquet"), paths):
        walked = list(blocks(source, target="y", weight="w"))
        assert_array_equal(np.vstack([B for B, _, _ in walked]), X)
        assert_array_equal(np.concatenate([w for _, _, w in walked]), FRAME["w"])


def test_labels_keep_their_type(tmp_path):
    frame = FRAME[["a", "b"]].assign(n=Y > 0, t=np.where(Y > 0, "yes", "no"))
    frame["n"] = frame["n"].astype(int)
    frame.to_csv(tmp_path / "a.csv", index=False)
    for target, kind in (("n", "i"), ("t", "O")):
        ((_, y),) = blocks(tmp_path / "a.csv", target=target, columns=["a", "b"])
        assert y.dtype.kind == kind
        model = KernelClassifier(16, random_state=0)
        model.fit(blocks(tmp_path / "a.csv", target=target, columns=["a", "b"]))
        assert set(model.classes_) == set(frame[target])


def test_float32_stays(tmp_path):
    FRAME.astype(np.float32).to_parquet(tmp_path / "a.parquet")
    ((B, _),) = blocks(tmp_path / "a.parquet", target="y")
    assert B.dtype == np.float32


CLICKS = pd.DataFrame(
    {
        "city": ["Ulm", None, "Ulm", "Köln", ""],
        "kind": pd.Categorical(["a", "b", None, "a", "b"]),
        "price": [1.5, np.nan, 0.0, -2.0, 4.0],
        "click": [0, 1, 0, 1, 1],
    }
)


def test_hashing_is_scikit_learns(tmp_path):
    CLICKS.to_parquet(tmp_path / "a.parquet")
    cells = CLICKS.drop(columns="click").astype(object)
    dicts = [
        {name: cell for name, cell in row.items() if not pd.isna(cell)}
        for row in cells.to_dict("records")
    ]
    wanted = FeatureHasher(2**10).transform(dicts).toarray()
    sources = (tmp_path / "a.parquet", CLICKS, pl.from_pandas(CLICKS))
    for source in sources:
        ((B, y),) = blocks(source, target="click", hashed=2**10)
        assert sparse.issparse(B)
        assert_array_equal(B.toarray(), wanted)
        assert_array_equal(y, CLICKS["click"])


def test_files_without_header(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False, header=False)
    names = list(FRAME.columns)
    ((B, _),) = blocks(tmp_path / "a.csv", names=names, target="y", columns=names[:4])
    assert_allclose(B, X)


def test_tabs_by_format_and_other_delimiters(tmp_path):
    FRAME.to_csv(tmp_path / "train.txt", index=False, sep="\t")
    ((B, _),) = blocks(tmp_path / "train.txt", format="tsv", target="y")
    assert B.shape == (N, 5)
    FRAME.to_csv(tmp_path / "a.csv", index=False, sep=";")
    ((B, _),) = blocks(tmp_path / "a.csv", delimiter=";", target="y")
    assert B.shape == (N, 5)


def test_text_with_newlines_and_late_text(tmp_path, monkeypatch):
    monkeypatch.setattr("bochner.data.formats.csv.READ_BYTES", 1 << 12)
    frame = pd.DataFrame({"t": [None] * 2000 + ["a\nb"] * 2000, "y": 1})
    frame.to_csv(tmp_path / "a.csv", index=False)
    ((B, _),) = blocks(tmp_path / "a.csv", target="y", hashed=64)
    assert_array_equal(np.diff(B.indptr), np.repeat([0, 1], 2000))


def test_several_npy_files_share_a_target(tmp_path):
    paths = [tmp_path / f"{i}.npy" for i in range(3)]
    for i, path in enumerate(paths):
        np.save(path, X[100 * i : 100 * (i + 1)])
    stream = blocks(paths, target=Y, rows=64)
    assert stream.about_rows() == N
    assert_array_equal(np.concatenate([y for _, y in stream]), Y)
    assert not any(isinstance(B, np.memmap) for B, _ in stream)
    with pytest.raises(ValueError, match="the files have 300 rows and target has 100"):
        list(blocks(paths, target=Y[:100]))


def test_svmlight_blocks_are_cut_by_size(tmp_path, monkeypatch):
    monkeypatch.setattr("bochner.data.formats.svmlight.BLOCK_BYTES", 4000)
    path, _ = write("svm", tmp_path)
    assert len(list(blocks(path))) > 5


def test_wide_rows_come_in_smaller_blocks():
    wide = np.zeros((1000, 100_000), dtype=np.uint8)
    first, _ = next(iter(blocks(wide)))
    assert first.nbytes <= 128 << 20 < 2 * first.nbytes


def _bad(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


LONG = "".join(f"{i},{i}.5,1\n" for i in range(1000))


@pytest.mark.parametrize(
    "text, message",
    [
        ("a,b,y\n1,2,0\n1,two,0\n", "a.csv, row 2: column 'b' holds 'two', which is"),
        ("a,b,y\n" + LONG + "1,x,1\n", "a.csv, row 1001: column 'b' holds 'x'"),
        ("a,b,y\n" + LONG + "1,2\n", "a.csv, row 1001: 2 cells instead of the 3"),
        ("a,b,y\n1,2,0\n1,2,\n", "a.csv, row 2: the target 'y' is missing"),
        ("a,b,z\n1,2,0\n", "a.csv has no column 'y'; its columns are 'a', 'b', 'z'"),
        ("y\n1\n", "a.csv has no columns left to be features"),
    ],
)
def test_bad_tables(text, message, tmp_path, monkeypatch):
    monkeypatch.setattr("bochner.data.formats.csv.READ_BYTES", 1 << 12)
    with pytest.raises(ValueError, match=message):
        list(blocks(_bad(tmp_path, "a.csv", text), target="y"))


def test_names_must_be_names_and_differ(tmp_path):
    path = _bad(tmp_path, "a.csv", "a,a,y\n1,2,0\n")
    with pytest.raises(ValueError, match="several columns called 'a'; names must"):
        list(blocks(path, target="y"))
    with pytest.raises(TypeError, match="must be names of columns; got ndarray"):
        list(blocks(path, target=Y))


def test_the_target_is_no_feature(tmp_path):
    with pytest.raises(ValueError, match="'y' is the target or the weight, and among"):
        list(blocks(FRAME, target="y", columns=["a", "y"]))
    dated = FRAME.assign(when=pd.Timestamp("2020-01-01"))
    with pytest.raises(ValueError, match=r"'when' holds timestamp.*neither numbers"):
        list(blocks(dated, target="when", columns=["a"]))


def test_the_row_of_a_bad_cell_in_a_later_block(tmp_path):
    path = _bad(tmp_path, "a.csv", "a,b,y\n" + "1,2,0\n2,3,1\n" * 50 + "1,oops,0\n")
    stream = iter(blocks(path, target="y", rows=10))
    first, _ = next(stream)
    assert_array_equal(first[:2], [[1, 2], [2, 3]])
    with pytest.raises(ValueError, match=r"row 101: column 'b' holds 'oops', which"):
        list(stream)


def test_near_names_are_suggested(tmp_path):
    path = _bad(tmp_path, "a.csv", "price,label\n1,0\n")
    with pytest.raises(ValueError, match=r"'labels' \(did you mean 'label'\?\)"):
        list(blocks(path, target="labels"))


def test_files_that_change_their_columns(tmp_path):
    FRAME.to_parquet(tmp_path / "1.parquet")
    for change, message in (
        (FRAME.drop(columns="b"), "2.parquet lacks 'b'; all files must have"),
        (FRAME.assign(z=1), "2.parquet has the new column 'z'"),
        (FRAME.assign(b="x"), "2.parquet: column 'b' holds text, and held numbers"),
    ):
        change.to_parquet(tmp_path / "2.parquet")
        with pytest.raises(ValueError, match=message):
            list(blocks(tmp_path, target="y"))


def test_a_broken_row_group(tmp_path):
    path = tmp_path / "a.parquet"
    FRAME.to_parquet(path, row_group_size=100, compression="snappy")
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).dictionary_page_offset
    damaged = bytearray(path.read_bytes())
    damaged[start : start + 60] = b"\xff" * 60  # the header of a page
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"a.parquet, row group 1, rows 101 to 200,"):
        list(blocks(path, target="y", rows=50))
    path.write_bytes(damaged[:1000])
    with pytest.raises(ValueError, match=r"a.parquet is not a Parquet file"):
        list(blocks(path, target="y"))


@pytest.mark.parametrize(
    "text, message",
    [
        ("1 1:2\n-1 3:x\n", r"a.svm, row 2 is not svmlight, .*: b'-1 3:x"),
        ("1 1:2\nyes 2:1\n", r"a.svm, row 2 is not svmlight"),
    ],
)
def test_bad_svmlight(text, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        list(blocks(_bad(tmp_path, "a.svm", text)))
    good = _bad(tmp_path, "b.svm", "1 1:2\n-1 3:1\n")
    with pytest.raises(ValueError, match="row 2: the index 3 is outside 1 to 2"):
        list(blocks(good, n_features=2))
    for unused in ({"target": "y"}, {"weight": Y}, {"hashed": 8}):
        with pytest.raises(
            ValueError, match="does not serve svmlight; what does is n_f"
        ):
            blocks(good, **unused)


def test_bad_sources(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file 'no.csv'"):
        blocks("no.csv")
    with pytest.raises(FileNotFoundError, match="no file of a known format in"):
        blocks(tmp_path)
    path = _bad(tmp_path, "a9a", "1 1:2\n")
    with pytest.raises(ValueError, match=r"does not tell its format.*format='csv'"):
        blocks(path)
    assert len(list(blocks(path, format="svmlight"))) == 1
    with pytest.raises(ValueError, match="format must be one of parquet, csv"):
        blocks(path, format="xml")
    for bad in (0, True, -4, 2.0**20):
        with pytest.raises(ValueError, match="hashed must be a positive integer"):
            blocks(FRAME, target="y", hashed=bad)
    np.save(tmp_path / "flat.npy", Y)
    with pytest.raises(ValueError, match=r"two dimensions; got shape \(300,\) of"):
        list(blocks(tmp_path / "flat.npy"))
    with pytest.raises(TypeError, match=r"LazyFrame is lazy; give source.collect"):
        blocks(pl.from_pandas(FRAME).lazy())
    with pytest.raises(TypeError, match=r"rows in memory; got a stream.*features="):
        methods.rff(8).fit(blocks(X))
    with pytest.raises(ValueError, match="hashed=8 does not serve blocks as they are"):
        blocks(X, hashed=8)
    np.savez(tmp_path / "a.npz", A=X, B=X)
    with pytest.raises(ValueError, match="must have an entry 'X', or only one"):
        list(blocks(tmp_path / "a.npz"))
    with pytest.raises(ValueError, match="has no entry 'z'; its entries are A, B"):
        list(blocks(tmp_path / "a.npz", target="z"))


def test_errors_of_a_fit_say_where(tmp_path):
    frame = FRAME[["a", "b", "y"]].copy()
    frame.loc[150, "b"] = np.nan
    frame.to_csv(tmp_path / "a.csv", index=False)
    stream = blocks(tmp_path / "a.csv", target="y", rows=100)
    with pytest.raises(
        ValueError, match=r"a.csv, rows 101 to 200 \(row 151\): Input X.*NaN"
    ):
        KernelRegressor(16, random_state=0).fit(stream)
    parts = [(X[:50], Y[:50]), (X[50:60], None)]
    with pytest.raises(ValueError, match="block 2: KernelRegressor requires y"):
        KernelRegressor(16, random_state=0).fit(blocks(parts))
    parts = [(X[:50], Y[:50]), (X[50:60, :2], Y[50:60])]
    with pytest.raises(ValueError, match=r"block 2: X has 2 features, but.*ing 4"):
        KernelRegressor(16, random_state=0).fit(blocks(parts))


def test_targets_beside_blocks_are_refused():
    stream = blocks(X, target=Y)
    with pytest.raises(
        ValueError, match=r"KernelRegressor: y beside blocks, which carry"
    ):
        KernelRegressor(16).fit(stream, Y)
    with pytest.raises(ValueError, match=r"sample_weight beside blocks"):
        KernelClassifier(16).fit(stream, sample_weight=Y)


def test_predictions_of_blocks():
    stream = blocks(X, target=Y, rows=70)
    model = KernelRegressor(16, random_state=0).fit(stream)
    assert_allclose(model.predict(stream), model.predict(X), atol=1e-10)
    for found, one in zip(
        model.predict(stream, return_std=True),
        model.predict(X, return_std=True),
        strict=True,
    ):
        assert_allclose(found, one, atol=1e-10)
    bad = [(X[:5], Y[:5]), (X[:5] * np.nan, Y[:5])]
    with pytest.raises(ValueError, match=r"block 2: Input X contains NaN"):
        model.predict(blocks(bad))
    codes = methods.maxout_codes(4, output="onehot", random_state=0).fit(X)
    assert (codes.transform(stream) != codes.transform(X)).nnz == 0


def test_empty_blocks_are_passed_over():
    parts = [(X[:0], Y[:0]), (X[:80], Y[:80]), (X[:0], Y[:0]), (X[80:], Y[80:])]
    model = KernelRegressor(methods.rff(32, gamma=0.1, random_state=0), alpha=1.0)
    assert_allclose(model.fit(blocks(parts)).coef_, model.fit(X, Y).coef_, atol=1e-9)
    with pytest.raises(ValueError, match="there are no rows"):
        model.fit(blocks([(X[:0], Y[:0])]))
    once = blocks(iter(parts))
    assert_allclose(model.fit(once).coef_, model.fit(X, Y).coef_, atol=1e-9)
    with pytest.raises(ValueError, match="can be walked only once"):
        model.fit(once)


def test_blocks_that_weigh_nothing():
    w = np.where(np.arange(N) < 100, 0.0, 1.0)
    model = KernelRegressor(methods.rff(32, gamma=0.1, random_state=0), alpha=1.0)
    found = model.fit(blocks(X, target=Y, weight=w, rows=50)).coef_
    assert_allclose(found, model.fit(X, Y, sample_weight=w).coef_, atol=1e-9)
    labels = np.where(w == 0, "a", np.where(Y > 0, "b", "c"))
    features = methods.rff(32, gamma=0.1, random_state=0)
    classifier = KernelClassifier(features, alpha=1.0, class_weight={"a": 0})
    found = classifier.fit(blocks(X, target=labels, rows=50)).coef_
    assert_allclose(found, classifier.fit(X, labels).coef_, atol=1e-5)


@pytest.mark.parametrize(
    "model",
    [KernelRegressor(MAP), KernelPCA(features=MAP), MAP],
    ids=lambda model: type(model).__name__,
)
def test_every_row_of_a_stream_has_a_result(model):
    """Weights teach; they do not choose what is predicted or transformed."""
    w = np.zeros(N)
    w[110:190] = 1  # of three blocks one weighs something, and not all of its rows do
    stream = blocks(X, target=Y, weight=w, rows=100)
    model = clone(model).fit(X, Y)
    for method in ("predict", "transform"):
        if hasattr(model, method):
            found, wanted = (getattr(model, method)(rows) for rows in (stream, X))
            assert_allclose(found, wanted, atol=1e-12)
            once = blocks(iter(list(stream)))
            assert_array_equal(getattr(model, method)(once), found)


def test_all_methods_of_a_classifier_give_a_result_per_row():
    stream = blocks(X, target=Y > 0, weight=np.repeat([0.0, 1.0, 0.0], 100), rows=100)
    model = KernelClassifier(MAP, loss="log").fit(stream)
    for method in ("predict", "decision_function", "predict_proba"):
        found, wanted = (getattr(model, method)(rows) for rows in (stream, X))
        assert_allclose(found, wanted, atol=1e-12)


def files_of(frame, folder, kind, parts=3):
    """A frame as several files."""
    folder.mkdir(exist_ok=True)
    size = -(-len(frame) // parts)
    for i in range(parts):
        part, path = frame[i * size : (i + 1) * size], folder / f"part-{i}.{kind}"
        if kind == "csv":
            part.to_csv(path, index=False)
        else:
            part.to_parquet(path)
    return str(folder / f"part-*.{kind}")


ROWS = FRAME[list("abcd")]


@pytest.mark.parametrize("kind", ["csv", "parquet", "frames", "table"])
def test_later_columns_are_put_in_the_order_of_the_stream(kind, tmp_path):
    if kind == "frames":
        stream = blocks([(ROWS[:150], Y[:150]), (ROWS[150:][list("dbca")], Y[150:])])
    elif kind == "table":
        stream = blocks(FRAME, target="y", columns=list("abcd"))
    else:
        stream = blocks(files_of(FRAME.drop(columns="w"), tmp_path, kind), target="y")
    model = KernelRegressor(MAP, alpha=1.0).fit(stream)
    assert list(model.feature_names_in_) == list("abcd")
    wanted = KernelRegressor(MAP, alpha=1.0).fit(X, Y).predict(X)
    # (warnings are errors here: none comes where names agree)
    assert_allclose(model.predict(stream), wanted, atol=1e-9)
    for order in ("abcd", "dcba"):
        later = ROWS[list(order)]
        assert_allclose(model.predict(later), wanted, atol=1e-9)
        assert_allclose(model.predict(pl.from_pandas(later)), wanted, atol=1e-9)
        files = files_of(later, tmp_path / order, "csv")
        assert_allclose(model.predict(blocks(files)), wanted, atol=1e-9)
    path = tmp_path / "model.bochner"
    save(model, path)
    assert_allclose(load(path).predict(ROWS[list("badc")]), wanted, atol=1e-9)


def test_columns_that_are_not_those_of_the_stream_are_named(tmp_path):
    train = files_of(FRAME.drop(columns="w"), tmp_path, "csv")
    model = KernelRegressor(MAP).fit(blocks(train, target="y"))
    with pytest.raises(ValueError, match=r"unseen at fit time: 'y'\. Name the columns"):
        model.predict(blocks(train))
    with pytest.raises(ValueError, match=r"part-0.csv, rows 1 to 100: .*missing: 'd'"):
        model.predict(blocks(train, columns=list("abc")))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- y"):
        model.predict(FRAME.drop(columns="w"))
    with pytest.raises(ValueError, match=r"now missing:\n- b"):
        model.predict(ROWS[list("acd")])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    fitted_on_rows = KernelRegressor(MAP).fit(X, Y)
    with pytest.warns(UserWarning, match="X has feature names, but KernelRegressor"):
        fitted_on_rows.predict(blocks(train, target="y"))


def test_a_learner_fitted_on_a_frame_keeps_scikit_learns_rule(tmp_path):
    """Files go by name; another order of a frame is refused."""
    later = ROWS[list("dcba")]
    model = KernelRegressor(MAP).fit(ROWS, Y)
    found = model.predict(blocks(files_of(later, tmp_path, "csv")))
    assert_allclose(found, model.predict(ROWS), atol=1e-9)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(later)
    model.fit(blocks(ROWS, target=Y)).predict(later)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.fit(ROWS, Y).predict(later)  # a new fit, a new rule


def test_hashed_columns_have_no_names(tmp_path):
    stream = blocks(
        files_of(FRAME, tmp_path, "csv"), target="y", hashed=16, columns=["a", "b"]
    )
    assert not hasattr(KernelRegressor(MAP).fit(stream), "feature_names_in_")


def test_transformed_streams_have_no_names(tmp_path):
    stream = blocks(files_of(ROWS.assign(y=Y), tmp_path, "csv"), target="y", rows=80)
    model = KernelRegressor(MAP).fit(stream.transformed(lambda rows: rows[:, :2]))
    assert not hasattr(model, "feature_names_in_")
    cut = KernelRegressor(MAP).fit(stream.cut(30))
    assert list(cut.feature_names_in_) == list("abcd")


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_streams_are_scored_in_one_pass(offset):
    w = np.random.default_rng(1).integers(0, 3, N).astype(float)
    w[:100] = 0
    y = Y + offset
    two = np.column_stack([y, np.cos(3 * X[:, 2])])
    for target in (y, two):
        model = KernelRegressor(MAP).fit(X, target)
        for weight in (None, w):
            items = list(blocks(X, target=target, weight=weight, rows=37))
            wanted = model.score(X, target, weight)
            assert model.score(blocks(iter(items))) == pytest.approx(wanted, abs=1e-7)
    labels = np.where(Y > 0, "a", "b")
    model = KernelClassifier(MAP).fit(X, labels)
    found = model.score(blocks(X, target=labels, weight=w, rows=37))
    assert found == pytest.approx(model.score(X, labels, w), abs=1e-12)


def test_scores_of_targets_that_do_not_vary():
    model = KernelRegressor(MAP).fit(X, Y)
    same = np.full(N, 0.1)
    assert model.score(blocks(X, target=same, rows=70)) == 0.0
    constant = KernelRegressor(MAP).fit(X, np.zeros(N))
    assert constant.score(blocks(X, target=np.zeros(N), rows=70)) == 1.0
    with pytest.warns(UndefinedMetricWarning, match="less than two samples"):
        assert np.isnan(model.score(blocks(X[:1], target=Y[:1])))


def test_bad_scores():
    model = KernelRegressor(MAP).fit(X, Y)
    classifier = KernelClassifier(MAP).fit(X, np.where(Y > 0, "a", "b"))
    with pytest.raises(ValueError, match="KernelRegressor requires y"):
        model.score(X)
    with pytest.raises(ValueError, match=r"rows 1 to 300: KernelRegressor requires y"):
        model.score(blocks(X))
    with pytest.raises(ValueError, match="KernelRegressor: y beside blocks"):
        model.score(blocks(X, target=Y), Y)
    with pytest.raises(ValueError, match="score needs rows of positive weight"):
        model.score(blocks(X, target=Y, weight=np.zeros(N)))
    with pytest.raises(ValueError, match="sample_weight must be one finite number ≥ 0"):
        model.score(blocks(X, target=Y, weight=-np.ones(N)))
    with pytest.raises(ValueError, match=r"labels in y have type bool .*convert y"):
        classifier.score(blocks(X, target=Y > 0))
    with pytest.raises(ValueError, match=r"shape of the predictions.* got \(300, 2\)"):
        model.score(blocks(X, target=np.column_stack([Y, Y])))


def test_reading_overlaps_computing():
    read = threading.Event()

    def source():
        yield 1
        read.set()
        yield 2

    items = prefetched(source())
    assert next(items) == 1
    assert read.wait(10), "the second item is made while the first is worked on"
    assert list(items) == [2]


def test_errors_and_ends_of_reading_ahead():
    def broken():
        yield 1
        raise OSError("disk")

    items = prefetched(broken())
    assert next(items) == 1
    with pytest.raises(OSError, match="disk"):
        next(items)
    before = threading.active_count()
    endless = prefetched(iter(int, 1))
    next(endless)
    endless.close()
    assert threading.active_count() == before, "the reader ends with the walk"


def test_frames_hold_columns_as_they_come(tmp_path):
    frame = pd.DataFrame(
        {
            "n": [1.5, None, 3.0],
            "t": ["x, y", None, "a\nb"],
            "d": pd.to_datetime(["2020-02-29T00:00", None, "1955-01-01T12:30"]),
            "b": [True, False, True],
            "y": [0, 1, 1],
        }
    )
    frame.to_csv(tmp_path / "f.csv", index=False)
    frame.to_parquet(tmp_path / "f.parquet")
    for ending in ("csv", "parquet"):
        path = str(tmp_path / f"f.{ending}")
        X, y = next(iter(blocks(path, target="y", frames=True)))
        assert list(X.columns) == ["n", "t", "d", "b"] and y.tolist() == [0, 1, 1]
        assert X["n"].isna().tolist() == [False, True, False]
        assert X["t"][0] == "x, y" and X["t"][2] == "a\nb" and pd.isna(X["t"][1])
        assert X["d"].dtype.kind == "M" and X["d"][2].hour == 12
        assert X["b"].tolist() == [1.0, 0.0, 1.0]


def test_frames_of_kinds_that_are_known(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("code,n,rest\n007,1,z\n12,2,z\n")
    found = blocks(str(path), frames={"n": "numbers", "code": "categories"})
    X, _ = next(iter(found))
    assert list(X.columns) == ["n", "code"] and X["code"].tolist() == ["007", "12"]
    with pytest.raises(ValueError, match=r"has no column 'size', 'hue'"):
        next(iter(blocks(str(path), frames={"size": "numbers", "hue": "dates"})))


def test_transformed_blocks_tell_their_place():
    def refuse(X):
        raise ValueError("no")

    stream = blocks(np.eye(4), rows=2).transformed(refuse)
    with pytest.raises(ValueError, match="rows 1 to 2: no"):
        next(iter(stream))


def test_arguments_that_frames_do_not_take():
    frame = pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0], "y": [0, 1]})
    found = next(iter(blocks(frame, target="y", frames=True)))
    assert list(found[0].columns) == ["a", "b"] and found[0]["a"].tolist() == ["x", "y"]
    with pytest.raises(ValueError, match="delimiter=';' does not serve frames"):
        blocks(frame, target="y", delimiter=";")
    with pytest.raises(ValueError, match="format='csv' is for files; leave it out"):
        blocks(frame, target="y", format="csv")


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("a.npz", b"PK\x03\x04 cut off", r"a.npz cannot be read as npz \("),
        ("a.npz", b"", r"a.npz cannot be read as npz \("),
        ("a.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'", "a.npy cannot be read as"),
        ("a.csv.gz", b"\x1f\x8b\x08 no more", r"a.csv.gz cannot be read as csv \("),
        ("a.svm.gz", b"\x1f\x8b\x08 no more", r"a.svm.gz cannot be read as svmlight"),
        ("a.svm.bz2", b"BZh91AY&SY", r"a.svm.bz2 cannot be read as svmlight \("),
    ],
)
def test_damaged_archives_are_named(tmp_path, name, content, match):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=match):
        list(blocks(tmp_path / name))


def test_arrays_that_are_no_rows_of_numbers(tmp_path):
    for i, X in enumerate(
        (np.array(3.0), np.ones((2, 2), complex), np.array([["a", "b"]]))
    ):
        np.save(tmp_path / f"{i}.npy", X)
        np.savez(tmp_path / f"{i}.npz", X=X)
        for name in (f"{i}.npy", f"{i}.npz"):
            with pytest.raises(ValueError, match=f"{name} must hold rows of real"):
                list(blocks(tmp_path / name))
    with pytest.raises(FileNotFoundError, match=r"target='y' must be the values, or"):
        np.save(tmp_path / "rows.npy", np.ones((2, 2)))
        list(blocks(tmp_path / "rows.npy", target="y"))
    for make in (sparse.csr_matrix, sparse.csc_matrix, sparse.bsr_matrix):
        bad = make(np.eye(3))
        bad.indices[0] = 7_000_000
        sparse.save_npz(tmp_path / "bad.npz", bad)
        with pytest.raises(ValueError, match=r"bad.npz cannot be read as npz"):
            list(blocks(tmp_path / "bad.npz"))
    for indptr in ([0, 3, 0, 0], [0, 2, 1, 3], [0, 1, 2, 9], [1, 2, 3, 3]):
        # SciPy looks at none of them where the last is 0, and reads outside
        for kind in (b"csr", b"csc", b"bsr"):
            data = np.ones((3, 1, 1)) if kind == b"bsr" else np.ones(3)
            parts = {"data": data, "indices": np.arange(3), "indptr": np.array(indptr)}
            np.savez(tmp_path / "bad.npz", shape=(3, 3), format=kind, **parts)
            with pytest.raises(ValueError, match=r"bad.npz cannot be read as npz"):
                list(blocks(tmp_path / "bad.npz"))
    sparse.save_npz(tmp_path / "good.npz", sparse.csc_matrix(np.eye(3)))
    with pytest.raises(FileNotFoundError, match=r"^blocks: target='.*nope.npy' must"):
        list(blocks(tmp_path / "good.npz", target=str(tmp_path / "nope.npy")))
    np.save(tmp_path / "one.npy", np.array(3.0))
    with pytest.raises(ValueError, match=r"one.npy must hold a target of every row"):
        list(blocks(tmp_path / "good.npz", target=tmp_path / "one.npy"))
    assert len(list(blocks(tmp_path / "good.npz", target=np.arange(3)))) == 1
    np.savez(tmp_path / "rows.npz", X=np.eye(3))
    with pytest.raises(ValueError, match=r"one.npy must hold a weight of every row"):
        list(blocks(tmp_path / "rows.npz", weight=tmp_path / "one.npy"))
    np.savez(tmp_path / "short.npz", X=np.ones((3, 2)), y=np.ones(2))
    with pytest.raises(ValueError, match=r"short.npz: X has 3 rows and target has 2"):
        list(blocks(tmp_path / "short.npz"))


def test_errors_that_are_not_of_the_content_stay(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.ones((2, 2)))

    def failing(error):
        def load(*args, **kwargs):
            raise error

        monkeypatch.setattr(array_files.zipfile, "ZipFile", load)
        return list(blocks(path))

    with pytest.raises(MemoryError, match="no room"):
        failing(MemoryError("no room"))
    with pytest.raises(OSError, match=r"Input/output error.*a.npz"):
        failing(OSError(5, "Input/output error"))


FAULTS = [AttributeError, TypeError, KeyError, NameError, AssertionError, ValueError]
FILES = {"a.csv": "x,y\n1,2\n", "a.svm": "1 1:2 2:3\n", "a.npz": None, "a.npy": None}


def readable_file(folder, name):
    path = folder / name
    if FILES[name] is not None:
        path.write_text(FILES[name])
    elif path.suffix == ".npy":
        np.save(path, np.ones((3, 2)))
    else:
        np.savez(path, X=np.ones((3, 2)))
    return path


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", FILES)
def test_faults_of_ours_stay_what_they_are(name, fault, tmp_path, monkeypatch):
    """Whatever the code between the libraries raises is not the file's doing."""
    path = readable_file(tmp_path, name)
    assert len(list(blocks(path))) == 1

    def broken(*args, **kwargs):
        raise fault("blocks: of the reader itself")

    part = {
        "a.csv": (tables.Plan, "item"),
        "a.svm": (svmlight_files, "Item"),
        "a.npz": (array_files, "_check_numbers"),
        "a.npy": (array_files, "_check_numbers"),
    }[name]
    monkeypatch.setattr(*part, broken)
    with pytest.raises(fault) as raised:
        list(blocks(path))
    assert type(raised.value) is fault
    assert raised.value.args == ("blocks: of the reader itself",)


def test_what_a_library_says_of_a_file_is_kept(tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'")
    with pytest.raises(ReadError) as raised:
        list(blocks(path))
    assert raised.value.__cause__ is not None
    said = " ".join(str(raised.value.__cause__).split())
    assert said and said in str(raised.value)
    wide = pd.DataFrame({"x": [[1, 2], [3]], "y": [0, 1]})
    wide.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ReadError, match=r"^blocks: a.parquet: column 'x' holds list"):
        list(blocks(tmp_path / "a.parquet", target="y", frames=True))


def test_errors_of_the_system_stay_what_they_are(tmp_path):
    path = readable_file(tmp_path, "a.npz")
    with pytest.raises(PermissionError) as raised, named(path, "npz"):
        raise PermissionError(errno.EACCES, "denied")
    assert raised.value.filename == str(path)
    with pytest.raises(MemoryError), named(path, "npz"):
        raise MemoryError
