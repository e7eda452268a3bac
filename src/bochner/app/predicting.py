"""A fitted model on rows of a stream: predictions as CSV, and how good they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from .._core.atomic_files import new_file
from ..compare.recommendation import Z
from ..data.formats import frame_kinds
from ..data.stream import Blocks, Item
from ..data.table_kinds import kinds
from .opening import open_data

PREDICTED_ROWS = 8192
"""Rows that are encoded and predicted at a time."""


def columns_wanted(model: Any) -> dict[str, str]:
    """Columns of the tables that a model was fitted on, and what they hold.

    A learner without preprocessing that was fitted on a table takes numbers.
    """
    if isinstance(model, Pipeline):
        return kinds(model[0])
    return dict.fromkeys(getattr(model, "feature_names_in_", ()), "numbers")


def last_step(model: Any) -> Any:
    """The estimator itself."""
    return model[-1] if isinstance(model, Pipeline) else model


def rows_for(model: Any, source: str, target: str | None, supervised: bool) -> Blocks:
    """Blocks of rows that the model takes; of data sets, those held out for testing."""
    if not hasattr(model, "predict"):
        raise ValueError(
            f"A {type(model).__name__} predicts nothing; give a model that "
            "'bochner fit' has written."
        )
    wanted = columns_wanted(model)
    if target in wanted:
        raise ValueError(
            f"--target {target}: the model learned from that column, and does not "
            "predict it."
        )
    data = open_data(source, target=target, kinds=wanted or None, supervised=supervised)
    if wanted and not data.is_table:
        raise ValueError(
            f"The model was fitted on a table with the columns {', '.join(wanted)}; "
            f"{data.name} is not a table."
        )
    if data.is_table and not wanted:
        raise ValueError(
            f"The model was fitted on arrays without names of columns, and {data.name} "
            "is a table; give an array (npy, npz, svmlight), or fit on a table."
        )
    found = data.test or data.blocks
    found = found.cut(PREDICTED_ROWS)
    return found if data.is_table else found.transformed(_as_wide_as(model))


def unknown_columns(model: Any, source: str) -> list[str]:
    """Columns of a table that the model has no use for, the target among them."""
    wanted = columns_wanted(model)
    if not wanted:
        return []
    return [name for name in frame_kinds(source) if name not in wanted]


def _as_wide_as(model: Any) -> Any:
    """Sparse rows that end before the model's last column, made as wide."""
    n_columns = int(model.n_features_in_)

    def widened(X: Any) -> Any:
        if sparse.issparse(X) and X.shape[1] < n_columns:
            X = X.copy()
            X.resize(X.shape[0], n_columns)
        return X

    return widened


def walked(source: Blocks) -> Iterator[Item]:
    """Blocks that have rows."""
    for item in source.walk():
        if item.X.shape[0]:
            yield item


def told_of(item: Item, use: Callable[[Any], Any]) -> Any:
    """What `use` makes of a block's rows; errors say which those are."""
    try:
        return use(item.X)
    except ValueError as error:
        raise ValueError(f"{item.place}: {error}") from error


def labels_of(model: Any) -> np.ndarray | None:
    """Classes of a classifier."""
    return getattr(last_step(model), "classes_", None)


@dataclass(frozen=True)
class ClassFigures:
    """One class: shares that are right of its rows, and of those said to be it."""

    label: str
    n_rows: int
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class Evaluation:
    """Figures of a classifier, or of a regressor (R², and errors in units of y)."""

    n_rows: int
    accuracy: float | None = None
    balanced_accuracy: float | None = None
    classes: tuple[ClassFigures, ...] = ()
    r2: float | None = None
    rmse: float | None = None
    mae: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = asdict(self) | {"interval": self.interval}
        kept = {k: v for k, v in found.items() if v is not None}
        if self.accuracy is None:
            kept.pop("classes")
        return kept

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the accuracy on all rows of the kind is, 19 times in 20."""
        if self.accuracy is None:
            return None
        # Wilson's, which does not promise perfection of a few rows
        n, p = self.n_rows, self.accuracy
        middle = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
        return float(middle - half), float(middle + half)


def evaluate(
    model: Any, source: Blocks, read: Callable[[int], None] = lambda n: None
) -> Evaluation:
    """One pass; `accuracy` and `r2` are what `model.score` gives."""
    judge = _Numbers() if labels_of(model) is None else _Classes()
    for item in walked(source):
        if item.y is None:
            raise ValueError("evaluate: there is no target; name it with --target.")
        judge.add(np.asarray(item.y), told_of(item, model.predict))
        read(item.X.shape[0])
    if not judge.n_rows:
        raise ValueError("evaluate: there are no rows.")
    return judge.figures()


class _Classes:
    """Counts of (label, prediction)."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._counts: Counter = Counter()

    def add(self, y: np.ndarray, predicted: np.ndarray) -> None:
        if (y.dtype.kind in "OUS") != (predicted.dtype.kind in "OUS"):
            raise ValueError(
                f"evaluate: labels are {y.dtype} here ({y[0]!r}), and in the model "
                f"{predicted.dtype} ({predicted[0]!r}); make them of one kind."
            )
        self.n_rows += len(y)
        self._counts.update(zip(y.tolist(), predicted.tolist(), strict=True))

    def figures(self) -> Evaluation:
        rows: Counter = Counter()
        said: Counter = Counter()
        right: Counter = Counter()
        for (label, prediction), n in self._counts.items():
            rows[label] += n
            said[prediction] += n
            right[label] += n * (label == prediction)
        share = sum(right.values()) / self.n_rows
        recalls = [right[label] / n for label, n in rows.items()]
        return Evaluation(
            self.n_rows,
            accuracy=share,
            balanced_accuracy=float(np.mean(recalls)),
            classes=tuple(
                ClassFigures(
                    str(label),
                    rows[label],
                    right[label] / said[label] if said[label] else None,
                    right[label] / rows[label] if rows[label] else None,
                )
                for label in sorted(rows.keys() | said.keys())
            ),
        )


class _Numbers:
    """Sums of errors, and of targets about their first block's mean."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._shift = self._sum = self._squares = 0.0
        self._error = self._squared_error = 0.0

    def add(self, y: np.ndarray, predicted: np.ndarray) -> None:
        y = y.astype(np.float64)
        if not self.n_rows:
            self._shift = float(y.mean())  # so that sums of squares keep their digits
        self.n_rows += len(y)
        self._sum += float((y - self._shift).sum())
        self._squares += float(((y - self._shift) ** 2).sum())
        self._error += float(abs(y - predicted).sum())
        self._squared_error += float(((y - predicted) ** 2).sum())

    def figures(self) -> Evaluation:
        total = self._squares - self._sum**2 / self.n_rows
        return Evaluation(
            self.n_rows,
            r2=1 - self._squared_error / total if total > 0 else None,
            rmse=float(np.sqrt(self._squared_error / self.n_rows)),
            mae=self._error / self.n_rows,
        )


FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a cell begins with that spreadsheets take for a formula."""


def columns_of(
    model: Any, X: Any, probabilities: bool = False, escape_formulas: bool = False
) -> dict[str, Any]:
    """`prediction`, then `score_<class>` (or `probability_<class>`), or `std`.

    `escape_formulas`: an apostrophe stands before labels that spreadsheets would run.
    """
    classes = labels_of(model)
    if classes is None:
        return _numbers(model, X)
    if probabilities:
        S, word = model.predict_proba(X), "probability"
    else:
        S, word = np.asarray(model.decision_function(X)), "score"
        S = np.column_stack([-S, S]) if S.ndim == 1 else S
    # what `predict` would make of the same scores, whose features take the time
    labels = _as_text(classes) if escape_formulas else classes
    found: dict[str, Any] = {"prediction": labels[S.argmax(axis=1)]}
    return found | {f"{word}_{_name(c)}": S[:, k] for k, c in enumerate(classes)}


def _as_text(labels: np.ndarray) -> np.ndarray:
    """Labels that spreadsheets show instead of running them; numbers stay."""
    if labels.dtype.kind not in "OU":
        return labels
    text = [f"'{c}" if str(c).startswith(FORMULA) else c for c in labels.tolist()]
    return np.array(text, dtype=object)


def _name(label: Any) -> str:
    """A label in a column's name: 1 of svmlight's 1.0."""
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label) if whole else label)


def write_predictions(
    model: Any,
    source: Blocks,
    path: Any,
    *,
    probabilities: bool = False,
    escape_formulas: bool = False,
    read: Callable[[int], None] = lambda n: None,
) -> int:
    """A CSV file of predictions, block by block, and how many rows it has.

    It takes the place of an old one as a whole, or not at all.
    """
    with new_file("predict", path) as file:
        return stream_predictions(
            model, source, file, probabilities, read, escape_formulas
        )


def stream_predictions(
    model: Any,
    source: Blocks,
    file: Any,
    probabilities: bool = False,
    read: Callable[[int], None] = lambda n: None,
    escape_formulas: bool = False,
) -> int:
    """The same to a binary file that is open."""
    import pyarrow as pa
    from pyarrow import csv

    if probabilities:
        _check_probabilities(model)
    of_rows = partial(
        columns_of,
        model,
        probabilities=probabilities,
        escape_formulas=escape_formulas,
    )
    writer, n_rows = None, 0
    for item in walked(source):
        table = pa.table(told_of(item, of_rows))
        if writer is None:
            writer = csv.CSVWriter(file, table.schema)
        writer.write_table(table)
        n_rows += table.num_rows
        read(table.num_rows)
    if writer is None:
        raise ValueError("predict: there are no rows.")
    writer.close()
    return n_rows


def _numbers(model: Any, X: Any) -> dict[str, Any]:
    """Means, and deviations where the model keeps them."""
    if getattr(last_step(model), "_posterior", None) is None:
        return {"prediction": model.predict(X)}
    mean, std = model.predict(X, return_std=True)
    return {"prediction": mean, "std": std}


def _check_probabilities(model: Any) -> None:
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            "predict: this model has no probabilities: it is no classifier, or was "
            "saved by an earlier version; fit it again."
        )
