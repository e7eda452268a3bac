"""Columns of tables as operators: inputs by name, text, dates, one-hot codes."""

from __future__ import annotations

from collections import UserList
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from ..preprocessing import DateParts, Texts
from ..preprocessing.cells import NAT, THURSDAY
from .graph import INPUT, Graph

NUMBERS, TEXT, DATES = "numbers", "text", "dates"
MISSING = ""
"""Text that stands for a missing cell."""

WAY_OUT = "export the last step (model[-1]), and transform rows before."


@dataclass(frozen=True)
class Table:
    """Columns of different types, which are tensors (n, 1) by themselves.

    Parameters
    ----------
    tensors : tuple of str
        Empty where no step looks at a column.
    kinds : tuple of str
        Numbers in the graph's type, text, or dates as seconds since 1970, int64.
    """

    tensors: tuple[str, ...]
    kinds: tuple[str, ...]

    def chosen(self, graph: Graph, places: Iterable[int]) -> str | Table:
        """Some of the columns: one tensor if all are numbers, as steps take it."""
        tensors = tuple(self.tensors[i] for i in places)
        kinds = tuple(self.kinds[i] for i in places)
        all_numbers = set(kinds) == {NUMBERS}
        return joined(graph, tensors) if all_numbers else Table(tensors, kinds)


def joined(graph: Graph, tensors: Iterable[str]) -> str:
    return graph("Concat", *tensors, axis=1)


def rows(step: Any, graph: Graph) -> str | Table:
    """What the first step takes: the tensor X, or columns if some are not numbers."""
    kinds = _kinds(step) if isinstance(step, ColumnTransformer) else []
    if not {TEXT, DATES} & set(kinds):
        return INPUT
    names = column_names(step)
    types = {NUMBERS: graph.dtype, TEXT: str, DATES: np.int64}
    pairs = zip(names, kinds, strict=True)
    tensors = [graph.column(n, types[k]) if k else "" for n, k in pairs]
    return Table(tuple(tensors), tuple(kinds))


def column_names(step: Any) -> list[str]:
    """Names of the columns that a step takes, as scikit-learn has them."""
    numbered = [f"x{j}" for j in range(step.n_features_in_)]
    return list(getattr(step, "feature_names_in_", numbered))


def _kinds(step: ColumnTransformer) -> list[str]:
    """What each column must be for the steps that take it; "" if none does."""
    found = [""] * step.n_features_in_
    for _, one, chosen in step.transformers_:
        if isinstance(one, str) and one == "drop":
            continue
        for i, j in enumerate(places(step, chosen)):
            kind = _kind(one, i)
            if found[j] not in ("", kind):
                raise TypeError(
                    f"onnx.export: column {column_names(step)[j]!r} is taken as "
                    f"{found[j]} and as {kind}, and is one input; give the table a "
                    "copy of it under another name."
                )
            found[j] = kind
    return found


def _kind(step: Any, i: int) -> str:
    """What the i-th column that a step takes must be."""
    if isinstance(step, FrozenEstimator):
        return _kind(step.estimator, i)
    if isinstance(step, Pipeline):
        first = working_steps(step)[:1]
        return _kind(first[0], i) if first else NUMBERS
    if isinstance(step, ColumnTransformer):
        return _kinds(step)[i] or NUMBERS
    if isinstance(step, DateParts):
        return DATES
    coded = isinstance(step, OneHotEncoder) and _is_text(step.categories_[i])
    # None is what a column of objects has most
    filled = isinstance(step, SimpleImputer) and isinstance(
        step.statistics_[i], str | None
    )
    return TEXT if coded or filled or isinstance(step, Texts) else NUMBERS


def _is_text(categories: np.ndarray) -> bool:
    return any(isinstance(category, str) for category in categories.tolist())


def working_steps(pipeline: Pipeline) -> list[Any]:
    """All steps but those that pass rows through."""
    return [s for _, s in pipeline.steps if s is not None and s != "passthrough"]


def places(step: ColumnTransformer, chosen: Any) -> np.ndarray:
    """Columns by number, from numbers, names, a slice or truth values."""
    numbers = np.arange(step.n_features_in_)
    names = list(getattr(step, "feature_names_in_", ()))
    if isinstance(chosen, slice):
        if isinstance(chosen.start, str) or isinstance(chosen.stop, str):  # both ends
            start = 0 if chosen.start is None else names.index(chosen.start)
            stop = None if chosen.stop is None else names.index(chosen.stop) + 1
            chosen = slice(start, stop, chosen.step)
        return numbers[chosen]
    if isinstance(chosen, UserList):  # of what remains: looking into it may warn
        chosen = chosen.data
    found = np.atleast_1d(np.asarray(chosen))
    if found.dtype.kind in "OU":
        found = np.array([names.index(name) for name in found], dtype=np.int64)
    return numbers[found] if found.size else numbers[:0]


def filled_text(step: SimpleImputer, graph: Graph, X: Table) -> Table:
    """Text in place of what is missing."""
    all_text = all(isinstance(text, str) for text in step.statistics_)
    if not all_text or step.indicator_ is not None:
        raise TypeError(
            "onnx.export: SimpleImputer has operators for text alone, without "
            f"add_indicator; it fills in {list(step.statistics_)} here; {WAY_OUT}"
        )
    mark = step.missing_values if isinstance(step.missing_values, str) else MISSING
    filled = []
    for tensor, text in zip(X.tensors, step.statistics_, strict=True):
        absent = graph.cast(graph.looked_up(tensor, {mark: 1}, 0), bool)
        fill = graph.exact(np.array([[str(text)]], dtype=object))
        filled.append(graph("Where", absent, fill, tensor))
    return Table(tuple(filled), X.kinds)


def one_hot(step: OneHotEncoder, graph: Graph, X: str | Table) -> str:
    """Codes, column by column; of unknown categories zeros, or those of rare ones."""
    if step.drop is not None:
        raise TypeError(
            "onnx.export: OneHotEncoder with drop has no operators here; leave it out."
        )
    parts = []
    for j, categories in enumerate(step.categories_):
        column = _column(graph, X, j)
        if not _is_text(categories):
            parts.append(_codes_of_numbers(step, j, graph, column))
        elif isinstance(X, Table):
            parts.append(_codes_of_text(step, j, graph, column))
        else:
            raise TypeError(
                "onnx.export: OneHotEncoder has text for categories, and the graph "
                "takes one tensor of numbers; put it into a ColumnTransformer at the "
                f"beginning, or {WAY_OUT}"
            )
    return joined(graph, parts)


def _column(graph: Graph, X: str | Table, j: int) -> str:
    if isinstance(X, Table):
        return X.tensors[j]
    return graph("Gather", X, np.array([j]), axis=1)


def _codes(step: OneHotEncoder, j: int) -> tuple[np.ndarray, int]:
    """The codes of a column's categories, and of unknown ones: −1 is none."""
    rare = getattr(step, "infrequent_categories_", None)
    if rare is None or rare[j] is None:
        return np.arange(len(step.categories_[j])), -1
    codes = np.asarray(step._default_to_infrequent_mappings[j])  # rare ones are last
    joins = step.handle_unknown in ("infrequent_if_exist", "warn")
    return codes, int(codes.max()) if joins else -1


def _codes_of_text(step: OneHotEncoder, j: int, graph: Graph, column: str) -> str:
    codes, unknown = _codes(step, j)
    categories = step.categories_[j].tolist()
    texts = [str(c) if isinstance(c, str) else MISSING for c in categories]
    if len(set(texts)) < len(texts):
        raise TypeError(
            "onnx.export: OneHotEncoder has several categories for what is missing, "
            f"{[c for c in categories if not c or c != c]}; put "
            "bochner.preprocessing.Texts before it."
        )
    known = dict(zip(texts, codes.tolist(), strict=True))
    found = graph.looked_up(column, known, unknown)
    n_codes = int(codes.max()) + 1
    return graph.cast(graph("Equal", found, np.arange(n_codes)[None]), graph.dtype)


def _codes_of_numbers(step: OneHotEncoder, j: int, graph: Graph, column: str) -> str:
    categories = step.categories_[j].astype(np.float64)
    if len(np.unique(categories.astype(graph.dtype))) < len(categories):
        raise ValueError(
            f"onnx.export: categories of OneHotEncoder are the same in "
            f"{graph.dtype}: {categories!r}; use dtype='float64'."
        )
    known = categories[~np.isnan(categories)]
    found = [graph("Equal", column, known[None])]
    found += [graph("IsNaN", column)] * (len(categories) - len(known))
    hot = joined(graph, [graph.cast(one, graph.dtype) for one in found])
    codes, unknown = _codes(step, j)
    mixing = np.eye(int(codes.max()) + 1)[codes]
    if unknown < 0:
        plain = len(mixing.T) == len(codes)
        return hot if plain else graph("MatMul", hot, mixing)
    # the code of unknown ones, which a known one takes back
    rest = np.eye(len(mixing.T))[[unknown]]
    return graph("Add", graph("MatMul", hot, mixing - rest), rest)


def date_parts(graph: Graph, X: Table) -> str:
    """Year, month, day, weekday and hour of seconds since 1970; NaN of INT64_MIN."""
    seconds = joined(graph, X.tensors)
    absent = graph("Equal", seconds, np.int64(NAT))
    seconds = graph("Where", absent, np.int64(0), seconds)
    days, of_day = _divided(graph, seconds, 86_400)
    _, weekday = _divided(graph, graph("Add", days, np.int64(THURSDAY)), 7)
    hour = graph("Div", graph.cast(of_day, graph.dtype), 3600.0)
    whole = [*_civil(graph, days), weekday]
    parts = [*(graph.cast(part, graph.dtype) for part in whole), hour]
    parts = [graph("Where", absent, np.nan, part) for part in parts]
    deep = [graph("Unsqueeze", part, np.array([2])) for part in parts]
    return graph.reshape(graph("Concat", *deep, axis=2), 0, len(parts) * len(X.tensors))


def _divided(graph: Graph, x: str, by: int) -> tuple[str, str]:
    """⌊x/by⌋ and what is left, ≥ 0: ONNX's Div cuts off towards zero, Mod does not."""
    rest = graph("Mod", x, np.int64(by))
    return graph("Div", graph("Sub", x, rest), np.int64(by)), rest


def _civil(graph: Graph, days: str) -> tuple[str, str, str]:
    """Year, month and day of days since 1970, all int64.

    Years begin on 1 March, so that a leap day is their last; 400 of them, an era, have
    146 097 days. H. Hinnant, "chrono-compatible low-level date algorithms" (2013).
    """

    def div(x: str, by: int) -> str:
        return graph("Div", x, np.int64(by))

    def times(x: str, factor: int) -> str:
        return graph("Mul", x, np.int64(factor))

    def plus(x: str, y: Any) -> str:
        return graph("Add", x, y if isinstance(y, str) else np.int64(y))

    def minus(x: str, y: str) -> str:
        return graph("Sub", x, y)

    era, doe = _divided(graph, plus(days, 719_468), 146_097)  # day of the era
    leaps = minus(plus(div(doe, 1460), div(doe, 146_096)), div(doe, 36_524))
    yoe = div(minus(doe, leaps), 365)
    before = minus(plus(times(yoe, 365), div(yoe, 4)), div(yoe, 100))
    doy = minus(doe, before)
    mp = div(plus(times(doy, 5), 2), 153)  # months since March
    day = plus(minus(doy, div(plus(times(mp, 153), 2), 5)), 1)
    late = graph.cast(graph("Greater", mp, np.int64(9)), np.int64)  # January, February
    month = minus(plus(mp, 3), times(late, 12))
    return plus(plus(yoe, times(era, 400)), late), month, day
