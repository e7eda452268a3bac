"""Are probabilities what they say? Calibration error and log loss compared with peers.

KernelClassifier with its probabilities by default (where the version has them), with
`calibrate=True` and with `loss="log"`; LightGBM in an environment of its own; and SVC
on at most 10,000 rows, with its own probabilities (while scikit-learn has them) and in
`CalibratedClassifierCV`. All see the same numbers: tables go through
`preprocessing.for_table`, arrays are standardised. Seconds are of fit and predict_proba
together. Needs BOCHNER_DATA.

ECE, the expected calibration error: test rows are put into 15 bins of equal width by
the probability of the predicted class; the mean over rows of |share of right
predictions − mean probability| of their bin.
"""

from __future__ import annotations

import inspect
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.preprocessing import LabelEncoder, StandardScaler
from sklearn.svm import SVC

from bochner import KernelClassifier, datasets
from bochner.preprocessing import for_table

from .peers import worker
from .timing import print_table

ARRAYS = "letter", "magic04"
TABLES = "electricity", "fars"
BINS = 15
SVC_ROWS = 10_000
FOLDS = 5
"""Of the cross-validation that calibrates SVC: every class needs as many rows."""

QUICK_ROWS = 2000
SEED = 0
LIMIT = 600.0
"""Seconds that LightGBM may take."""


@dataclass(frozen=True)
class Data:
    """Numbers for all alike, and classes as 0, 1, …"""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def some(self, n: int, n_test: int) -> Data:
        """About that many rows of each part, of every class as many as folds need."""
        rng = np.random.default_rng(SEED)
        rows, test = rng.permutation(len(self.y)), rng.permutation(len(self.y_test))
        few = [rows[self.y[rows] == k][:FOLDS] for k in np.unique(self.y)]
        kept, test = np.union1d(rows[:n], np.concatenate(few)), test[:n_test]
        return replace(
            self,
            X=self.X[kept],
            y=self.y[kept],
            X_test=self.X_test[test],
            y_test=self.y_test[test],
        )


def run(quick: bool = False) -> None:
    """One table for each data set."""
    for name in (*ARRAYS, *TABLES):
        data = _loaded(name)
        if data is None:
            continue
        if quick:
            data = data.some(QUICK_ROWS, QUICK_ROWS)
        part = data.some(SVC_ROWS, len(data.y_test))
        rows = [
            *(_measured(title, make, data) for title, make in _ours().items()),
            _boosted(data),
            *(
                _measured(f"{title}, {len(part.y):,} rows", make, part)
                for title, make in _svcs().items()
            ),
        ]
        print_table(
            f"{name}: {len(data.y):,} rows, {len(data.y_test):,} to test on, "
            f"{len(np.unique(data.y))} classes",
            ["learner", "accuracy %", "log loss", "ECE %", "seconds"],
            [row for row in rows if row],
        )


def calibration_error(P: np.ndarray, y: np.ndarray) -> float:
    """ECE of probabilities (n, K) for class numbers y (n,)."""
    confidence, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=right - confidence, minlength=BINS)
    return float(abs(gaps).sum() / len(y))


def log_loss(P: np.ndarray, y: np.ndarray) -> float:
    """Mean of −log p(y), p at least float64's smallest step."""
    p = P[np.arange(len(y)), y].astype(np.float64)
    return float(-np.log(np.maximum(p, np.finfo(np.float64).eps)).mean())


def _ours() -> dict[str, Callable[[], Any]]:
    seeded: dict[str, Any] = {"random_state": SEED}
    return {
        "KernelClassifier()": lambda: KernelClassifier(**seeded),
        "KernelClassifier(calibrate=True)": lambda: KernelClassifier(
            calibrate=True, **seeded
        ),
        'KernelClassifier(loss="log")': lambda: KernelClassifier(loss="log", **seeded),
    }


def _svcs() -> dict[str, Callable[[], Any]]:
    """With probabilities of its own until scikit-learn 1.11, and with those advised."""
    found: dict[str, Callable[[], Any]] = {
        "CalibratedClassifierCV(SVC())": lambda: CalibratedClassifierCV(
            SVC(random_state=SEED), cv=FOLDS, ensemble=False
        )
    }
    if "probability" in inspect.signature(SVC).parameters:
        own = {
            "SVC(probability=True)": lambda: SVC(probability=True, random_state=SEED)
        }
        found = own | found
    return found


def _measured(title: str, make: Callable[[], Any], data: Data) -> list[str]:
    """A line of the table; "none" where a version gives no probabilities."""
    model = make()
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of SVC's probabilities
        model.fit(data.X, data.y)
    if not hasattr(model, "predict_proba"):
        score = f"{100 * model.score(data.X_test, data.y_test):.2f}"
        seconds = time.perf_counter() - start
        return [title, score, "none", "none", f"{seconds:.1f}"]
    P = model.predict_proba(data.X_test)
    return _line(title, P, data.y_test, time.perf_counter() - start)


def _boosted(data: Data) -> list[str]:
    """LightGBM's `LGBMClassifier()`, or an empty line where it cannot be installed."""
    with TemporaryDirectory() as place:
        path = Path(place)
        given = path / "data.npz"
        np.savez(given, X_train=data.X, y_train=data.y, X_test=data.X_test)
        with worker("lightgbm", "calibration_worker", [given]) as peer:
            if peer is None:
                return []
            try:
                seconds = peer.ask({"save": str(path / "P.npy")}, limit=LIMIT)
            except (TimeoutError, ChildProcessError, RuntimeError) as error:
                return ["LGBMClassifier()", type(error).__name__, "", "", ""]
            P = np.load(path / "P.npy")
    return _line("LGBMClassifier()", P, data.y_test, seconds)


def _line(title: str, P: np.ndarray, y: np.ndarray, seconds: float) -> list[str]:
    accuracy = 100 * (P.argmax(axis=1) == y).mean()
    figures = f"{accuracy:.2f}", f"{log_loss(P, y):.4f}"
    return [title, *figures, f"{100 * calibration_error(P, y):.2f}", f"{seconds:.1f}"]


def _loaded(name: str) -> Data | None:
    if name in ARRAYS:
        if name not in datasets.available():
            return None
        found = datasets.load(name)
        scaler = StandardScaler().fit(found.X_train.astype(np.float32))
        X, X_test = (
            scaler.transform(A.astype(np.float32))
            for A in (found.X_train, found.X_test)
        )
        return _coded(name, X, found.y_train, X_test, found.y_test)
    return _table(name)


def _table(name: str) -> Data | None:
    import pandas

    tables = Path(os.environ.get(datasets.VARIABLE, ".")) / "tables"
    paths = [tables / f"{name}.{part}.parquet" for part in ("train", "test")]
    if not all(path.exists() for path in paths):
        return None
    train, test = map(pandas.read_parquet, paths)
    columns = for_table(train, drop=["target"]).fit(train)
    X, X_test = (_dense(columns.transform(frame)) for frame in (train, test))
    return _coded(name, X, train["target"], X_test, test["target"])


def _dense(X: Any) -> np.ndarray:
    X = X.toarray() if sparse.issparse(X) else X
    return np.asarray(X, dtype=np.float32)


def _coded(name: str, X: Any, y: Any, X_test: Any, y_test: Any) -> Data:
    """Classes as numbers; test rows of a class without training rows are left out."""
    labels = LabelEncoder().fit(np.asarray(y).astype(str))
    y_test = np.asarray(y_test).astype(str)
    known = np.isin(y_test, labels.classes_)
    codes = labels.transform(np.asarray(y).astype(str))
    return Data(name, X, codes, X_test[known], labels.transform(y_test[known]))
