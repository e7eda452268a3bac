"""How good a model is on rows of a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..execution import Blocks
from ..recommend.judging import Z
from .using import labels_of, told_of, walked


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
