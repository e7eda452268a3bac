"""Files as strangers bring them: whole ones of every format, and damaged ones."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

N = 12


def _frame(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.normal(size=N),
            "b": rng.integers(0, 9, N),
            "text": rng.choice(["x", "y, z", 'q"', ""], N),
            "day": pd.Timestamp("2024-02-28") + pd.to_timedelta(range(N), "D"),
            "y": np.arange(N) % 2,
        }
    )


def _written(write: Callable[[Any], None]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def _npz(**entries: Any) -> bytes:
    return _written(lambda file: np.savez(file, **entries))


def _whole() -> dict[str, bytes]:
    frame = _frame(0)
    numbers = frame[["a", "b", "y"]]
    X, y = numbers[["a", "b"]].to_numpy(), numbers["y"].to_numpy()
    text, table = (f.to_csv(index=False).encode() for f in (numbers, frame))
    lines = _written(lambda file: dump_svmlight_file(X, y, file, zero_based=False))
    csr = _written(lambda file: sparse.save_npz(file, sparse.csr_matrix(X)))
    return {
        "numbers.csv": text,
        "table.csv": table,
        "table.tsv": frame.to_csv(index=False, sep="\t").encode(),
        "semicolons.csv": numbers.to_csv(index=False, sep=";").encode(),
        "packed.csv.gz": gzip.compress(text),
        "rows.svm": lines,
        "rows.svm.gz": gzip.compress(lines),
        "rows.svm.bz2": bz2.compress(lines),
        "rows.npy": _written(lambda file: np.save(file, X)),
        "rows.npz": _npz(X=X, y=y),
        "one.npz": _npz(values=X),
        "csr.npz": csr,
        "rows.parquet": _written(lambda file: frame.to_parquet(file)),
    }


WHOLE = _whole()
ODD_ARRAYS = {
    "scalar": np.array(3.0),
    "flat": np.arange(5.0),
    "cube": np.ones((2, 3, 4)),
    "empty": np.ones((0, 3)),
    "narrow": np.ones((3, 0)),
    "text": np.array([["a", "b"]]),
    "complex": np.ones((2, 2), complex),
    "objects": np.array([[1, None]], object),
    "records": np.zeros(3, [("a", "f8"), ("b", "i4")]),
    "dates": np.zeros((2, 2), "M8[D]"),
    "half": np.ones((2, 2), "f2"),
    "flags": np.ones((2, 2), bool),
    "swapped": np.ones((2, 2), ">f8"),
}
CRUMBS = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b",", b";", b"\t", b"\n", b"\r", b'"'),
    *(b"\n\n", b"nan", b"inf", b"-1e999", b"1e-320", b"1_000", b"0x10", b"#", b":"),
    *(b" qid:1 ", b"99999999999999999999", b"-1:2 ", b"2:1 1:1 ", b"\xc3\x28", b"a,a"),
    *(b"NA", b"None", b"\\", b"\xe2\x88\x92", b"1,5", b"y" * 300),
)


@st.composite
def damaged(draw: Any, whole: bytes) -> bytes:
    """A file with some of it cut out, changed, doubled, or with crumbs put in."""
    found = whole
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(found)))
        end = min(len(found), at + draw(st.integers(0, 40)))
        how = draw(st.sampled_from(("cut", "end", "flip", "crumb", "twice", "noise")))
        middle = {
            "cut": b"",
            "end": b"",
            "flip": bytes(255 - byte for byte in found[at:end]),
            "crumb": draw(st.sampled_from(CRUMBS)) + found[at:end],
            "twice": 2 * found[at:end],
            "noise": draw(st.binary(max_size=8)),
        }[how]
        found = found[:at] + middle + (b"" if how == "end" else found[end:])
    return found


@st.composite
def odd_array_files(draw: Any) -> tuple[str, bytes]:
    """`.npy` and `.npz` files of arrays that are no rows of numbers."""
    array = ODD_ARRAYS[draw(st.sampled_from(sorted(ODD_ARRAYS)))]
    if draw(st.booleans()):
        return "odd.npy", _written(lambda file: np.save(file, array))
    names = draw(st.sampled_from((("X",), ("X", "y"), ("y",), ("a", "b"), ("y", "X"))))
    other = ODD_ARRAYS[draw(st.sampled_from(sorted(ODD_ARRAYS)))]
    return "odd.npz", _npz(**dict(zip(names, (array, other), strict=False)))


CELLS = (
    "1",
    "-2.5",
    "",
    "x",
    "nan",
    "inf",
    '"a"',
    '"',
    "2024-01-31",
    "ä",
    " 3 ",
    "1;2",
)


@st.composite
def odd_tables(draw: Any) -> tuple[str, bytes]:
    """CSV files of odd headers and cells, with lines of several lengths."""
    names = draw(
        st.lists(st.sampled_from(("y", "a", "b", "", "a", "ä", "1")), max_size=4)
    )
    width = st.integers(max(0, len(names) - 1), len(names) + 1)
    lines = [names] + [
        draw(st.lists(st.sampled_from(CELLS), min_size=w, max_size=w))
        for w in draw(st.lists(width, max_size=6))
    ]
    end = draw(st.sampled_from(("\n", "\r\n", "\r", "\n\n")))
    return "odd.csv", end.join(",".join(line) for line in lines).encode()


def given_files() -> st.SearchStrategy:
    """Names and contents of files."""
    some = [st.tuples(st.just(name), damaged(whole)) for name, whole in WHOLE.items()]
    return st.one_of(*some, odd_array_files(), odd_tables())


def written(folder: Path, file: tuple[str, bytes]) -> Path:
    path = folder / file[0]
    path.write_bytes(file[1])
    return path
