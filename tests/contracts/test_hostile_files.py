"""Files that were made to harm: bombs, labels beyond floats, links, pipes, names."""

import gzip
import io
import os
import struct
import tracemalloc
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from bochner import KernelClassifier, blocks, methods
from bochner.data import read_errors as naming
from bochner.data.formats import arrays as array_files
from bochner.data.formats import csv as csv_files
from bochner.data.formats import svmlight as svmlight_files
from fuzz_readers import NAMES, run_mutations

MIB = 1 << 20


def packed(path, *parts):
    with gzip.open(path, "wb", compresslevel=1) as file:
        for part in parts:
            file.write(part)
    return path


def peak(read):
    """Bytes that Python and NumPy have had at a time."""
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


LINES = {
    "a.csv.gz": (b"a,b\n1,2\n", 3),
    "a.tsv.gz": (b"a\tb\n1\t2\n", 3),
    "a.svm.gz": (b"1 1:2\n", 2),
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_of_gigabytes_is_not_read(name, tmp_path):
    head, line = LINES[name]
    path = packed(tmp_path / name, head, *[b"1" * MIB] * 48)
    assert path.stat().st_size < MIB

    def read():
        match = rf"{name}, line {line} is longer than 4,194,304 bytes.*limit="
        with pytest.raises(ValueError, match=match):
            list(blocks(path))

    assert peak(read) < 40 * MIB


@pytest.mark.parametrize(
    "name, text",
    [("a.csv", "a,b\n1,2\n3," + "4" * 300), ("a.svm", "1 1:2\n2 1:" + 300 * "4")],
)
def test_longer_lines_are_read_where_they_are_trusted(
    name, text, tmp_path, monkeypatch
):
    monkeypatch.setattr(csv_files, "READ_BYTES", 64)
    monkeypatch.setattr(svmlight_files, "LINE_BYTES", 64)
    path = tmp_path / name
    path.write_text(text + "\n")
    with pytest.raises(ValueError, match=r"is longer than 64 bytes.*limit="):
        list(blocks(path))
    found = np.concatenate(
        [
            np.asarray(B.todense()) if sparse.issparse(B) else B
            for B, _ in blocks(path, limit=1000)
        ]
    )
    assert found[-1, -1] == float("4" * 300)
    with pytest.raises(ValueError, match="limit must be a positive integer"):
        blocks(path, limit=0)


def test_a_long_cell_of_several_lines_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "READ_BYTES", 1000)
    path = tmp_path / "a.csv"
    path.write_text('t,y\na,1\n"' + "b\n" * 2000 + '",2\n')
    with pytest.raises(ValueError, match=r"a.csv, .* is longer than 1,000 bytes"):
        list(blocks(path, target="y", hashed=8))


def test_errors_do_not_show_all_of_a_long_cell(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3," + "x" * 100_000 + "\n")
    with pytest.raises(ValueError, match="row 2: column 'b' holds 'xxx") as raised:
        list(blocks(path))
    assert len(str(raised.value)) < 300
    path.write_text("a," + "b" * 100_000 + "\n1,2\n")
    with pytest.raises(ValueError, match="has no column 'nope'") as raised:
        list(blocks(path, target="nope"))
    assert len(str(raised.value)) < 300


def test_more_columns_than_there_is_memory_for(tmp_path):
    row = b"," * (csv_files.COLUMNS + 10) + b"\n"
    path = packed(tmp_path / "a.csv.gz", b"\n" * 3, row, row)
    with pytest.raises(ValueError, match=r"a.csv.gz has 100,011 columns, and 100,000"):
        list(blocks(path))


def test_wide_tables_are_read_in_linear_time(tmp_path):
    """Names are looked up in sets: 5,000 columns were 25 million comparisons."""
    names = [f"c{i}" for i in range(5000)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join([",".join(names), ",".join("1" * 5000)]) + "\n")
    ((B, _),) = blocks(path)
    assert B.shape == (1, 5000)


def test_long_texts_come_in_smaller_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(csv_files, "READ_BYTES", 1 << 16)
    path = tmp_path / "a.csv"
    path.write_text("t,y\n" + "".join(f"{'x' * 1000}{i},{i}\n" for i in range(600)))
    found = list(blocks(path, target="y", hashed=8))
    assert len(found) > 2
    assert_array_equal(np.concatenate([y for _, y in found]), np.arange(600))
    ((B, _),) = blocks(path, target="y", hashed=8, rows=600)
    assert B.shape[0] == 600


def member(path, name, shape, content, order=False, method=zipfile.ZIP_DEFLATED):
    """An archive with one member whose header and content need not agree."""
    head = io.BytesIO()
    form = {"descr": "<f8", "fortran_order": order, "shape": shape}
    np.lib.format.write_array_header_1_0(head, form)
    with zipfile.ZipFile(path, "w", method) as archive:
        with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
            file.write(head.getvalue())
            for part in content:
                file.write(part)
    return path


def test_a_packed_array_is_read_in_blocks(tmp_path):
    path = member(tmp_path / "a.npz", "X", (MIB, 8), [bytes(MIB)] * 64)
    assert path.stat().st_size < MIB

    def read():
        assert sum(len(B) for B, _ in blocks(path, rows=4096)) == MIB

    assert peak(read) < 16 * MIB


def test_what_is_read_whole_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(array_files, "WHOLE_BYTES", MIB)
    path = member(tmp_path / "a.npz", "X", (MIB // 4, 8), [bytes(MIB)] * 16, order=True)
    with pytest.raises(ValueError, match=r"a.npz takes 16 MiB unpacked.*1 MiB is"):
        list(blocks(path))
    ((B, _), *_) = blocks(path, limit=16 * MIB)
    assert B.shape[1] == 8
    sparse.save_npz(path, sparse.csr_matrix((MIB, 3)))
    with pytest.raises(ValueError, match=r"a.npz takes .* unpacked, and is read whole"):
        list(blocks(path))
    sparse.save_npz(path, sparse.csc_matrix((1 << 40, 3)))  # as CSR, a row is a number
    with pytest.raises(ValueError, match=r"a.npz takes 8192.0 GiB unpacked"):
        list(blocks(path))
    sparse.save_npz(path, sparse.csc_matrix(np.eye(3)))
    ((B, _),) = blocks(path)
    assert_array_equal(B.toarray(), np.eye(3))


@pytest.mark.parametrize("order", [False, True])
def test_headers_that_declare_more_than_there_is(order, tmp_path):
    match = r"cannot be read as np[yz] \(its header declares \d+ bytes, and \d+ are"
    path = member(tmp_path / "a.npz", "X", (1 << 50, 8), [bytes(1000)], order)
    with pytest.raises(ValueError, match=match):
        list(blocks(path))
    with zipfile.ZipFile(path) as archive:
        (tmp_path / "a.npy").write_bytes(archive.read("X.npy"))
    with pytest.raises(ValueError, match=match):
        list(blocks(tmp_path / "a.npy"))
    np.save(tmp_path / "b.npy", np.ones((2, 2)))
    with pytest.raises(ValueError, match=match):
        list(blocks(tmp_path / "b.npy", target=tmp_path / "a.npy"))


def test_a_header_of_gigabytes_is_not_read(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        head = b"\x93NUMPY\x02\x00" + struct.pack("<I", 64 * MIB)
        archive.writestr("X.npy", head + b" " * 64 * MIB)

    def read():
        with pytest.raises(ValueError, match=r"a.npz cannot be read as npz"):
            list(blocks(path))

    assert peak(read) < 8 * MIB


def test_rows_without_columns_are_refused(tmp_path):
    """2**62 of them would be read for ever."""
    path = member(tmp_path / "a.npz", "X", (1 << 62, 0), [])
    with pytest.raises(ValueError, match=r"a.npz must hold rows of real numbers"):
        list(blocks(path))


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", ["<f8", "<f4", ">f8", "<i2", "?"])
def test_arrays_are_read_as_they_were_saved(order, dtype, tmp_path):
    X = (np.arange(70).reshape(14, 5) % 7).astype(dtype, order=order)
    y = np.arange(28).reshape(14, 2).astype(order=order, dtype="M8[s]")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    np.savez(tmp_path / "a.npz", X=X, y=y)
    np.savez_compressed(tmp_path / "b.npz", X=X, y=y)
    for path, target in (
        (tmp_path / "X.npy", tmp_path / "y.npy"),
        (tmp_path / "X.npy", y),
        (tmp_path / "a.npz", None),
        (tmp_path / "b.npz", "y"),
    ):
        found = list(blocks(path, target=target, rows=4))
        assert_array_equal(np.concatenate([B for B, _ in found]), X)
        assert_array_equal(np.concatenate([b for _, b in found]), y)
        assert {B.dtype for B, _ in found} == {X.dtype}


@pytest.mark.parametrize("order", "CF")
def test_a_file_that_is_cut_off_while_it_is_read(order, tmp_path):
    """Mapped into memory, it would end the process."""
    path = tmp_path / "a.npy"
    np.save(path, np.ones((1 << 16, 8), order=order))
    stream = iter(blocks(path, rows=1 << 12))
    next(stream)
    os.truncate(path, 5000)
    with pytest.raises(
        ValueError, match=r"a.npy ends behind row \d+, before the 65536"
    ):
        list(stream)


def test_a_packed_array_that_was_changed(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.ones((100, 8)))
    content = bytearray(path.read_bytes())
    content[2000] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a.npz cannot be read as npz \(Bad CRC-32"):
        list(blocks(path))


LARGE = [2**53, 2**53 + 1, 2**63 - 1, 2**63 - 2, -(2**63), -(2**53) - 1]


@pytest.mark.parametrize("kind", ["csv", "parquet", "frames"])
def test_whole_targets_are_exact(kind, tmp_path):
    frame = pd.DataFrame({"x": np.arange(12.0), "y": LARGE * 2})
    path = tmp_path / ("a.parquet" if kind == "parquet" else "a.csv")
    frame.to_parquet(path) if kind == "parquet" else frame.to_csv(path, index=False)
    frames = {"frames": True} if kind == "frames" else {}
    found = list(blocks(path, target="y", rows=5, **frames))
    y = np.concatenate([y for _, y in found])
    assert y.dtype == np.int64 and y.tolist() == LARGE * 2


def test_labels_that_floats_do_not_tell_apart_are_classes(tmp_path):
    path = tmp_path / "a.csv"
    rows = "".join(f"{i},{2**53 + i % 2}\n" for i in range(20))
    path.write_text("x,y\n" + rows)
    features = methods.rff(4, random_state=0)
    model = KernelClassifier(features, loss="squared").fit(blocks(path, target="y"))
    assert model.classes_.tolist() == [2**53, 2**53 + 1]


def test_targets_that_turn_out_to_have_fractions(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "READ_BYTES", 64)
    path = tmp_path / "a.csv"
    cells = ["1"] * 30 + [" 2.5", '"3"', "4 ", "-1e3"]
    path.write_text("x,y\n" + "".join(f"0,{cell}\n" for cell in cells))
    y = np.concatenate([y for _, y in blocks(path, target="y", rows=10)])
    assert_array_equal(y, [1.0] * 30 + [2.5, 3, 4, -1000])
    path.write_text("x,y\n" + "".join(f"0,{cell}\n" for cell in [*cells, "no"]))
    match = "a.csv, row 35: column 'y' holds 'no', which is not a number"
    with pytest.raises(ValueError, match=match):
        list(blocks(path, target="y", rows=10))
    path.write_text("x,y\n" + "".join(f"0,{cell}\n" for cell in [*cells, "NA"]))
    with pytest.raises(ValueError, match=r"a.csv, row 35: the target 'y' is missing"):
        list(blocks(path, target="y", rows=10))


def test_svmlight_labels_that_floats_change_are_refused(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text(f"1 1:2\n1e300 1:2\n{2**60} 1:3\n")  # exact, or a float as it is
    ((_, y),) = blocks(path)
    assert y.tolist() == [1, 1e300, 2**60]
    for label in (2**53 + 1, -(2**53) - 1, "1" * 5000):
        path.write_text(f"1 1:2\n{label} 1:2\n")
        with pytest.raises(ValueError, match=r"a.svm, row 2: the label '.* is beyond"):
            list(blocks(path))


ENDINGS = ["a.csv", "a.csv.gz", "a.svm", "a.npy", "a.npz", "a.parquet"]


@pytest.mark.parametrize("name", ENDINGS)
def test_links_and_pipes_are_named(name, tmp_path):
    path = tmp_path / name
    path.symlink_to(name)
    with pytest.raises(ValueError, match=f"{name} is a link that leads in a circle"):
        blocks(path)
    path.unlink()
    path.symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match=f"{name} is a link that leads to no"):
        blocks(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ValueError, match=f"{name} is a pipe, a device or a folder"):
        blocks(path)
    with pytest.raises(ValueError, match=f"{name} is a pipe, a device or a folder"):
        blocks(tmp_path)
    rows = tmp_path / "rows"
    np.save(rows, np.eye(3))
    with pytest.raises(ValueError, match=f"{name} is a pipe, a device or a folder"):
        list(blocks(tmp_path / "rows.npy", target=path))


def test_names_that_are_not_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(
        ValueError, match=r"a.csv: the name 'a\\ud800' of a column holds"
    ):
        list(blocks(path, names=["a\ud800", "b"]))
    with pytest.raises(ValueError, match=r"has no column '\\ud800'"):
        list(blocks(path, target="\ud800"))
    with pytest.raises(ValueError, match=r"the name 'a\\ud800' of a column holds half"):
        naming.check_text(["b", "a\ud800"])
    path.write_bytes(b"x,\xed\xa0\x80\n1,2\n")
    with pytest.raises(ValueError, match=r"a.csv cannot be read as csv \('utf-8'"):
        list(blocks(path))
    for delimiter in ("\ud800", "", ",,", "é", '"', "\n"):
        with pytest.raises(ValueError, match="delimiter must be one ASCII character"):
            blocks(path, delimiter=delimiter)


@pytest.mark.parametrize("name", ENDINGS)
def test_names_of_files_that_are_not_text(name, tmp_path):
    path = tmp_path / os.fsdecode(b"\xff" + name.encode())
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    if name.endswith("parquet"):
        frame.to_parquet(tmp_path / name)
        os.rename(tmp_path / name, path)
    elif ".csv" in name:
        frame.to_csv(path, index=False, compression="gzip" if "gz" in name else None)
    elif name.endswith("svm"):
        path.write_text("1 1:2 2:3\n2 1:4\n")
    else:
        with open(path, "wb") as file:
            (np.save if name.endswith("npy") else np.savez)(file, frame.to_numpy())
    ((B, _),) = blocks(path)
    assert B.shape == (2, 2)


def test_headers_that_are_not_text(tmp_path):
    """Python's tokenizer raises a SystemError, which is the file's doing."""
    text = b" " * 10 + b"\xff" * 36 + b" " * 71 + b"\n"
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00v\x00" + text)
    with pytest.raises(ValueError, match=r"a.npy cannot be read as npy"):
        list(blocks(path))


def test_hashed_text_that_is_all_missing(tmp_path):
    frame = pd.DataFrame({"t": ["a", "b", None, None], "y": range(4)})
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = list(blocks(tmp_path / "a.csv", target="y", hashed=8, rows=2))
    assert [B.nnz for B, _ in found] == [2, 0]
    assert [B.shape for B, _ in found] == [(2, 8), (2, 8)]


def test_a_negative_number_of_rows(tmp_path, monkeypatch):
    from pyarrow import parquet

    class Forged(parquet.ParquetFile):
        metadata = SimpleNamespace(num_rows=-3)

    path = tmp_path / "a.parquet"
    pd.DataFrame({"a": [1.0]}).to_parquet(path)
    monkeypatch.setattr(parquet, "ParquetFile", Forged)
    with pytest.raises(ValueError, match=r"a.parquet is not a Parquet.*declares -3"):
        list(blocks(path))


@pytest.mark.parametrize("name", NAMES)
def test_readers_withstand_mutations(name, tmp_path):
    """A few of what `python tests/fuzz_readers.py` tries by the ten thousand."""
    run_mutations(name, 20, tmp_path)
