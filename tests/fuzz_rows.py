"""Rows as strangers give them: strategies for every form, type, order and defect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st
from scipy import sparse

MOST_ROWS, MOST_FEATURES = 14, 6
VALUES = (
    "normal",
    "constant",
    "repeated",
    "zeros",
    "denormal",
    "tiny",
    "large",
    "huge",
    "scales",
    "counts",
)
DTYPES = ("float64", "float32", "float16", "int64", "int8", "uint8", "bool", "object")
SPARSE = ("csr", "csc", "coo", "lil", "bsr", "dok", "dia")
FORMS = (
    "array",
    "fortran",
    "strided",
    "backwards",
    "read-only",
    "subclass",
    "list",
    "pandas",
    "polars",
    *SPARSE,
    "csr-array",
    "duplicates",
    "explicit-zeros",
    "long-indices",
)
DEFECTS = ("nan", "inf", "-inf")
OFFSETS = (1.0, 1e3, 1e6, 1e9, 1e12)
"""Distances of columns and targets from zero, in spreads."""


class Subclass(np.ndarray):
    """An array of somebody else's type."""


@dataclass(frozen=True)
class Given:
    """Rows, and what they are."""

    X: Any
    dense: np.ndarray  # the same, as float64
    form: str
    values: str
    dtype: str
    defect: str | None
    offset: float = 0.0

    def __repr__(self) -> str:
        defect = f", {self.defect}" if self.defect else ""
        moved = f" + {self.offset:g} spreads" if self.offset else ""
        shape = self.dense.shape
        return f"{self.form} of {self.values}{moved} {self.dtype} {shape}{defect}"


@st.composite
def given_rows(draw: Any, least_rows: int = 1) -> Given:
    """Rows of any form; one in five has a NaN or an infinity, or is far from zero."""
    n = draw(st.integers(least_rows, MOST_ROWS), label="n")
    d = draw(st.integers(1, MOST_FEATURES), label="d")
    values = draw(st.sampled_from(VALUES), label="values")
    dtype = draw(st.sampled_from(DTYPES), label="dtype")
    form = draw(st.sampled_from(FORMS), label="form")
    seed = draw(st.integers(0, 2**16), label="seed")
    defect = draw(st.sampled_from((None,) * 8 + DEFECTS), label="defect")
    offset = draw(st.sampled_from((0.0,) * 20 + OFFSETS), label="offset")
    with np.errstate(all="ignore"):
        A = _values(values, n, d, np.random.default_rng(seed))
        A = (A + offset * _spreads(A)).astype(dtype)
    if defect and A.dtype.kind in "fO":
        A[draw(st.integers(0, n - 1)), draw(st.integers(0, d - 1))] = float(defect)
    if not np.isfinite(A.astype(np.float64)).all():
        defect = defect or "inf"  # half a float's range is soon left
    elif defect:
        defect = None
    dense = A.astype(np.float64)
    return Given(_formed(form, A), dense, form, values, dtype, defect, offset)


def _spreads(A: np.ndarray) -> np.ndarray:
    """The standard deviation of every column, 1 where there is none, by turns ±."""
    spread = A.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return spread * np.where(np.arange(A.shape[1]) % 2, -1.0, 1.0)


@dataclass(frozen=True)
class Exact:
    """Rows on a grid of few bits and a constant a row, whose sum is exact."""

    X: np.ndarray
    c: np.ndarray

    def __repr__(self) -> str:
        return f"X = {self.X.tolist()}, c = {self.c.tolist()}"


@st.composite
def given_moves(draw: Any, least_rows: int = 1) -> Exact:
    """Rows of eleven bits and offsets of up to 2³⁰ of their units, in any unit.

    Units of columns differ by at most a hundred: "median" has one bandwidth for all.
    """
    n = draw(st.integers(least_rows, MOST_ROWS), label="n")
    d = draw(st.integers(1, MOST_FEATURES), label="d")
    rng = np.random.default_rng(draw(st.integers(0, 2**16), label="seed"))
    units = 2.0 ** (rng.integers(-20, 21) + rng.integers(-3, 4, size=d))
    X = rng.integers(-1024, 1025, size=(n, d)) / 256
    X[:, rng.random(d) < 0.2] = 1.0
    if draw(st.booleans(), label="repeated"):
        X = X[rng.integers(0, max(1, n // 2), size=n)]
    power = draw(st.sampled_from((0, 10, 20, 30)), label="power")
    c = 2.0**power * rng.choice([-1.0, -0.5, 0.5, 1.0], size=d)
    return Exact(X * units, c * units)


@st.composite
def given_cuts(draw: Any, n: int) -> list[slice]:
    """Blocks of n rows: of one row each, or of any sizes, one row among them."""
    if draw(st.booleans(), label="single rows"):
        return [slice(i, i + 1) for i in range(n)]
    places = draw(st.sets(st.integers(1, max(1, n - 1)), max_size=4), label="cuts")
    ends = sorted({*places, min(1, n), n} - {0})
    return [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]


def _values(kind: str, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    A = rng.normal(size=(n, d)) * (rng.random((n, d)) > 0.3)
    if kind == "constant":
        return np.full((n, d), 3.0)
    if kind == "repeated":
        return A[rng.integers(0, max(1, n // 3), size=n)]
    if kind == "counts":
        return rng.integers(0, 5, size=(n, d)).astype(float)
    if kind == "scales":
        return A * 10.0 ** rng.integers(-8, 9, size=d)
    factor = {"zeros": 0.0, "denormal": 5e-324, "tiny": 1e-150}
    factor |= {"large": 1e6, "huge": 1e150}
    return A * factor.get(kind, 1.0)


def _formed(form: str, A: np.ndarray) -> Any:
    if form in SPARSE or form == "csr-array":
        return _sparse(form, A)
    if form == "duplicates":
        return _duplicates(_numbers(A))
    if form == "explicit-zeros":
        B = _numbers(A)
        places = np.arange(A.shape[1])
        indptr = np.arange(0, B.size + 1, A.shape[1])
        return sparse.csr_matrix((B.ravel(), np.tile(places, len(B)), indptr), B.shape)
    if form == "long-indices":
        S = sparse.csr_matrix(_numbers(A))
        S.indices, S.indptr = (P.astype(np.int64) for P in (S.indices, S.indptr))
        return S
    if form == "fortran":
        return np.asfortranarray(A)
    if form == "strided":
        return np.repeat(np.repeat(A, 2, axis=0), 3, axis=1)[::2, ::3]
    if form == "backwards":
        return A[::-1, ::-1].copy()[::-1, ::-1]
    if form == "read-only":
        A = A.copy()
        A.flags.writeable = False
        return A
    if form == "subclass":
        return A.view(Subclass)
    if form == "list":
        return A.tolist()
    if form == "pandas":
        odd = ["a b", "", "é∑", "<b>", "__x", "1"][: A.shape[1]]
        return pd.DataFrame(A, columns=odd)
    if form == "polars":
        return pl.DataFrame({f"c {j}": A[:, j].tolist() for j in range(A.shape[1])})
    return A


def _numbers(A: np.ndarray) -> np.ndarray:
    """SciPy's sparse matrices know neither objects nor half floats."""
    return A.astype(np.float64) if A.dtype in (object, np.float16) else A


def _sparse(form: str, A: np.ndarray) -> Any:
    if form == "csr-array":
        return sparse.csr_array(_numbers(A))
    return sparse.csr_matrix(_numbers(A)).asformat(form)


def _duplicates(A: np.ndarray) -> Any:
    """Every entry in two parts, one of them zero, out of order."""
    n, d = A.shape
    rows = np.repeat(np.arange(n), 2 * d)
    columns = np.tile(np.r_[np.arange(d)[::-1], np.arange(d)], n)
    halves = np.concatenate([A[:, ::-1], np.zeros_like(A)], axis=1)
    order = np.argsort(rows, kind="stable")
    indptr = np.arange(0, 2 * n * d + 1, 2 * d)
    return sparse.csr_matrix((halves.ravel()[order], columns, indptr), A.shape)


LABELS = ("int", "float", "str", "bool", "object", "bytes", "one", "many", "nan")
NUMBERS = (
    *("normal", "constant", "int", "huge", "tiny", "column", "columns", "nan"),
    *("shifted", "scaled", "shifted columns"),
)
WEIGHTS = (
    *("none", "ones", "zeros", "some", "negative", "nan", "short", "number"),
    *("one row", "half", "first half"),
)
HOLDERS = ("array", "list", "series", "float32")


@st.composite
def given_labels(draw: Any, n: int) -> Any:
    """Labels of n rows, in any type; some of one class only, or missing."""
    kind = draw(st.sampled_from(LABELS), label="labels")
    codes = np.arange(n) % (1 if kind == "one" else n if kind == "many" else 2)
    y: Any = {
        "float": codes + 0.0,
        "str": np.array(["a b", "<b>é"])[codes % 2],
        "bool": codes > 0,
        "object": np.array(["x", "y"], dtype=object)[codes % 2],
        "bytes": np.array([b"x", b"y"])[codes % 2],
        "nan": np.where(codes > 0, np.nan, 1.0),
    }.get(kind, codes)
    return _held(draw, y)


@st.composite
def given_numbers(draw: Any, n: int) -> Any:
    """Targets of n rows, one or two to each."""
    kind = draw(st.sampled_from(NUMBERS), label="numbers")
    y: Any = np.random.default_rng(draw(st.integers(0, 99))).normal(size=n)
    if kind == "nan":
        y[0] = np.nan
    b = draw(st.sampled_from(OFFSETS)) if kind.startswith("shifted") else 0.0
    a = draw(st.sampled_from((1e-30, 1e-6, 1e6, 1e30))) if kind == "scaled" else 1.0
    shaped = {
        "constant": np.full(n, 2.0),
        "int": np.arange(n),
        "huge": 1e150 * y,
        "tiny": 1e-150 * y,
        "column": y[:, None],
        "columns": np.stack([y, -y], axis=1),
        "shifted": y + b,
        "shifted columns": np.stack([y + b, -y], axis=1),
        "scaled": a * y,
    }
    return _held(draw, shaped.get(kind, y))


@st.composite
def given_weights(draw: Any, n: int) -> Any:
    """Weights of n rows, good ones mostly."""
    kind = draw(st.sampled_from(("none",) * 4 + WEIGHTS), label="weights")
    w = np.linspace(0, 2, n)
    places = np.arange(n)
    return {
        "none": None,
        "ones": np.ones(n),
        "zeros": np.zeros(n),
        "some": w,
        "negative": w - 1,
        "nan": np.full(n, np.nan),
        "short": np.ones(max(n - 1, 0)),
        "number": 2.0,
        "one row": (places == n // 2).astype(float),
        "half": places % 2.0,
        "first half": (places >= n // 2).astype(float),
    }[kind]


@st.composite
def given_counts(draw: Any, n: int) -> np.ndarray:
    """Weights 0, 1 and 2 of n rows; some are zero in long runs."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16), label="counts"))
    w = rng.integers(0, 3, size=n).astype(float)
    if draw(st.booleans(), label="a run of zeros"):
        start = int(rng.integers(n))
        w[start : start + 1 + n // 3] = 0
    if not w.any():
        w[-1] = 1.0
    return w


def _held(draw: Any, y: Any) -> Any:
    holder = draw(st.sampled_from(HOLDERS), label="holder")
    if holder == "list":
        return y.tolist()
    if holder == "series":
        return pd.Series(y) if y.ndim == 1 else pd.DataFrame(y)
    if holder == "float32" and y.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return y.astype(np.float32)
    return y
