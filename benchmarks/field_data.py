"""The data sets of `automatic` and `field`, read without bochner.

The rivals work in environments of their own, so this module needs NumPy, SciPy,
scikit-learn and pandas alone. Rows and splits of `.npz` sets are those of
`bochner.datasets.load` (a test compares them); tables stay data frames.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

N_FOLDS = 5
FOLDED_ROWS = 10_000
"""`field` runs sets with fewer rows several times: on folds, or with several seeds."""

IMAGES = ("mnist", "fashion_mnist", "cifar10_20k", "orl_faces")
"""Sets of 8-bit pixels, divided by 255; no contender standardises them further."""
REGRESSION = (
    "house_16H",
    "house_8L",
    "california_houses",
    "cpusmall",
    "cpu_act",
    "elevators",
    "diamonds",
    "abalone_reg",
    "2dplanes",
    "fried",
    "puma8nh",
)
UNUSABLE = ("usc_sipi_misc",)
"""Images without labels."""

AUTOMATIC = (
    # below 5,000 rows
    *("vehicle", "credit_g", "splice", "abalone_reg", "churn", "page_blocks"),
    "spambase",
    # up to 30,000
    *("banana", "puma8nh", "ring", "bank_customer_churn_dataset", "cpusmall", "usps"),
    *("elevators", "magic04", "california_houses", "letter", "house_16H", "krkopt"),
    "default_cb",
    # about 50,000
    *("a9a", "fried", "2dplanes", "electricity", "diamonds", "adult_raw", "ijcnn1"),
    "sensorless",
    # more
    *("fars", "mnist", "covtype"),
)
"""Sets of `automatic`, by their number of rows."""

LOADED = ("churn", "cpusmall", "magic04", "letter", "electricity")
"""Sets of `automatic --load`."""


@dataclass
class Part:
    """Training and test rows of one run; classes are numbered 0, 1, 2, …"""

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    @property
    def classify(self) -> bool:
        return self.name not in REGRESSION

    def limited(self, rows: int | None) -> Part:
        """The part with at most that many training rows, drawn at random."""
        if rows is None or rows >= len(self.y):
            return self
        kept = np.sort(np.random.default_rng(0).permutation(len(self.y))[:rows])
        return Part(
            self.name, take(self.X, kept), self.y[kept], self.X_test, self.y_test
        )


def folder() -> Path:
    """The folder BOCHNER_DATA, with `.npz` files and `tables`."""
    return Path(os.environ.get("BOCHNER_DATA", "../shared/data"))


def available() -> list[str]:
    """Names of all usable sets in the folder, arrays before tables."""
    arrays = sorted(path.stem for path in folder().glob("*.npz"))
    tables = sorted(
        path.name.removesuffix(".train.parquet")
        for path in (folder() / "tables").glob("*.train.parquet")
    )
    return [name for name in (*arrays, *tables) if name not in UNUSABLE]


def take(X: Any, rows: np.ndarray) -> Any:
    """Rows of an array, a CSR matrix or a frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows].reset_index(drop=True)
    return X[rows]


def load(name: str, part: str = "split") -> Part:
    """One part of a set: "split" or one of `parts(name)`."""
    X, y, test_rows = _read(name)
    if name not in REGRESSION:
        y = np.unique(y, return_inverse=True)[1]
    if part.startswith("fold"):
        test_rows = _fold(name, y, int(part.removeprefix("fold")))
    train = np.setdiff1d(np.arange(len(y)), test_rows, assume_unique=True)
    if part == "split" and _has_no_split(name):
        train = _halves(len(y))[0]  # in the order of `bochner.datasets.load`
    return Part(name, take(X, train), y[train], take(X, test_rows), y[test_rows])


def parts(name: str) -> list[str]:
    """The runs of a set in `field`.

    The split of a large set; of a small set folds of all rows, or, where the split is
    the publisher's, that split with several seeds.
    """
    n, published = _shape(name)
    if n >= FOLDED_ROWS:
        return ["split"]
    kind = "seed" if published else "fold"
    return [f"{kind}{i}" for i in range(N_FOLDS)]


def seed_of(part: str) -> int:
    """The seed of the models of a part."""
    return int(part.removeprefix("seed")) if part.startswith("seed") else 0


def is_table(name: str) -> bool:
    return (folder() / "tables" / f"{name}.train.parquet").exists()


def _has_no_split(name: str) -> bool:
    if is_table(name):
        return False
    with np.load(folder() / f"{name}.npz") as arrays:
        return "y" in arrays


def _shape(name: str) -> tuple[int, bool]:
    """All rows, and whether a split is the publisher's."""
    if is_table(name):
        from pyarrow import parquet

        return sum(
            parquet.read_metadata(
                folder() / "tables" / f"{name}.{half}.parquet"
            ).num_rows
            for half in ("train", "test")
        ), False
    with np.load(folder() / f"{name}.npz") as arrays:
        if "y" in arrays:
            return len(arrays["y"]), False
        return len(arrays["y_train"]) + len(arrays["y_test"]), True


def _read(name: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """All rows, all targets, and which rows are the test rows."""
    halves = _read_table(name) if is_table(name) else _read_arrays(name)
    if len(halves) == 1:
        X, y = halves[0]
        return X, y, _halves(len(y))[1]
    (X, y), (X_test, y_test) = halves
    if hasattr(X, "iloc"):
        import pandas

        whole: Any = pandas.concat([X, X_test], ignore_index=True)
    else:
        whole = (sparse.vstack if sparse.issparse(X) else np.vstack)([X, X_test])
        whole = whole.tocsr() if sparse.issparse(X) else whole
    targets = np.concatenate([y, y_test])
    return whole, targets, np.arange(len(y), len(targets))


def _halves(n: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.model_selection import train_test_split

    return tuple(train_test_split(np.arange(n), test_size=0.2, random_state=0))


def _fold(name: str, y: np.ndarray, which: int) -> np.ndarray:
    """Test rows of a fold; classes are spread evenly over the folds."""
    from sklearn.model_selection import KFold, StratifiedKFold

    make = KFold if name in REGRESSION else StratifiedKFold
    folds = make(N_FOLDS, shuffle=True, random_state=0)
    return list(folds.split(np.zeros(len(y)), y))[which][1]


def _read_table(name: str) -> list[tuple[Any, np.ndarray]]:
    import pandas

    halves = []
    for half in ("train", "test"):
        frame = pandas.read_parquet(folder() / "tables" / f"{name}.{half}.parquet")
        y = frame.pop("target").to_numpy()
        halves.append((frame, y.astype(np.float64) if name in REGRESSION else y))
    return halves


def _read_arrays(name: str) -> list[tuple[Any, np.ndarray]]:
    with np.load(folder() / f"{name}.npz") as arrays:
        keys = [""] if "y" in arrays else ["_train", "_test"]
        return [(_rows(arrays, f"X{key}", name), arrays[f"y{key}"]) for key in keys]


def _rows(arrays: Any, key: str, name: str) -> Any:
    if f"{key}_data" in arrays:
        halves = (arrays[f"{key}_{half}"] for half in ("data", "indices", "indptr"))
        X = sparse.csr_matrix(tuple(halves), shape=tuple(arrays[f"{key}_shape"]))
        return X.astype(np.float32)
    X = np.ascontiguousarray(arrays[key], dtype=np.float32)
    if name in IMAGES:
        X /= np.float32(255)
    if "scale" in arrays:  # one number, or one for each of several channels
        X *= np.resize(arrays["scale"], X.shape[1]).astype(np.float32)
    return X
