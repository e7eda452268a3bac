"""What scikit-learn's own steps compute, in the operations of any namespace.

Written here because scikit-learn's classes are not ours to change.
"""

from __future__ import annotations

from collections import UserList
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from .ops import Ops, Tensor, Unsupported
from .steps import MISSING, NUMBERS, TEXT, WAY_OUT, Table, forward

Forward = Callable[[Any, Ops, Any], Any]
SKLEARN: dict[type, Forward] = {}
"""What scikit-learn's steps compute, by their exact class."""

TAKES_TABLES: set[type] = set()
"""Those of them that take columns of text or dates."""


def _computes(*classes: type, table: bool = False) -> Callable[[Forward], Forward]:
    """Register a function as the `forward` of scikit-learn's classes."""

    def register(function: Forward) -> Forward:
        SKLEARN.update(dict.fromkeys(classes, function))
        if table:
            TAKES_TABLES.update(classes)
        return function

    return register


def operations(step: Any) -> tuple[Forward, bool]:
    """What a step of scikit-learn's computes, and whether it takes a Table."""
    if type(step) not in SKLEARN:
        searched = " Export its best_estimator_." * hasattr(step, "best_estimator_")
        raise Unsupported(
            f"{type(step).__name__} has no operations here.{searched} Supported are "
            "bochner's maps and estimators, alone or at the end of Pipelines with "
            "scalers, PowerTransformer, SimpleImputer, ColumnTransformer, "
            "OneHotEncoder, TargetEncoder and bochner.preprocessing; of other "
            "Pipelines export the last step (model[-1]), and transform rows before."
        )
    return SKLEARN[type(step)], type(step) in TAKES_TABLES


def working_steps(pipeline: Pipeline) -> list[Any]:
    """All steps but those that pass rows through."""
    return [s for _, s in pipeline.steps if s is not None and s != "passthrough"]


def column_names(step: Any) -> list[str]:
    """Names of the columns that a step takes, as scikit-learn has them."""
    numbered = [f"x{j}" for j in range(step.n_features_in_)]
    return list(getattr(step, "feature_names_in_", numbered))


def column_kinds(step: ColumnTransformer) -> list[str]:
    """What each column must be for the steps that take it; "" if none does."""
    kinds = [""] * step.n_features_in_
    for _, one, chosen in step.transformers_:
        if isinstance(one, str) and one == "drop":
            continue
        for i, j in enumerate(_places(step, chosen)):
            kind = _kind(one, i)
            if kinds[j] not in ("", kind):
                raise Unsupported(
                    f"column {column_names(step)[j]!r} is taken as {kinds[j]} and as "
                    f"{kind}, and is one input; give the table a copy of it under "
                    "another name."
                )
            kinds[j] = kind
    return kinds


def _kind(step: Any, i: int) -> str:
    """What the i-th column that a step takes must be."""
    if isinstance(step, FrozenEstimator):
        return _kind(step.estimator, i)
    if isinstance(step, Pipeline):
        first = working_steps(step)[:1]
        return _kind(first[0], i) if first else NUMBERS
    if isinstance(step, ColumnTransformer):
        return column_kinds(step)[i] or NUMBERS
    encoder = isinstance(step, OneHotEncoder | TargetEncoder)
    if encoder and _is_text(step.categories_[i]):
        return TEXT
    # None is the most frequent value of a column without values
    if isinstance(step, SimpleImputer) and isinstance(step.statistics_[i], str | None):
        return TEXT
    return getattr(type(step), "column_kind", NUMBERS)


def _is_text(categories: np.ndarray) -> bool:
    return any(isinstance(category, str) for category in categories.tolist())


def _places(step: ColumnTransformer, chosen: Any) -> np.ndarray:
    """Columns by number, from numbers, names, a slice or truth values."""
    numbers = np.arange(step.n_features_in_)
    names = list(getattr(step, "feature_names_in_", ()))
    if isinstance(chosen, slice):
        if isinstance(chosen.start, str) or isinstance(chosen.stop, str):  # both ends
            start = 0 if chosen.start is None else names.index(chosen.start)
            stop = None if chosen.stop is None else names.index(chosen.stop) + 1
            chosen = slice(start, stop, chosen.step)
        return numbers[chosen]
    if isinstance(chosen, UserList):  # the remainder, which may warn when it is read
        chosen = chosen.data
    places = np.atleast_1d(np.asarray(chosen))
    if places.dtype.kind in "OU":
        places = np.array([names.index(name) for name in places], dtype=np.int64)
    return numbers[places] if places.size else numbers[:0]


@_computes(Pipeline, table=True)
def _pipeline(step: Pipeline, ops: Ops, X: Any) -> Any:
    for one in working_steps(step):
        X = forward(one, ops, X)
    return X


@_computes(FrozenEstimator, table=True)
def _frozen(step: FrozenEstimator, ops: Ops, X: Any) -> Any:
    return forward(step.estimator, ops, X)


@_computes(FunctionTransformer)
def _identity(step: FunctionTransformer, ops: Ops, X: Tensor) -> Tensor:
    if step.func is not None:
        raise Unsupported(
            f"FunctionTransformer calls {step.func!r}, which cannot be exported."
        )
    return X


@_computes(StandardScaler)
def _standard(step: StandardScaler, ops: Ops, X: Tensor) -> Tensor:
    X = ops.subtract(X, step.mean_) if step.with_mean else X
    return ops.divide(X, step.scale_) if step.with_std else X


@_computes(RobustScaler)
def _robust(step: RobustScaler, ops: Ops, X: Tensor) -> Tensor:
    X = ops.subtract(X, step.center_) if step.with_centering else X
    return ops.divide(X, step.scale_) if step.with_scaling else X


@_computes(MinMaxScaler)
def _min_max(step: MinMaxScaler, ops: Ops, X: Tensor) -> Tensor:
    X = ops.add(ops.multiply(X, step.scale_), step.min_)
    if step.clip:
        low, high = map(float, step.feature_range)
        X = ops.maximum(ops.minimum(X, high), low)
    return X


@_computes(MaxAbsScaler)
def _max_abs(step: MaxAbsScaler, ops: Ops, X: Tensor) -> Tensor:
    X = ops.divide(X, step.scale_)
    if getattr(step, "clip", False):
        X = ops.maximum(ops.minimum(X, 1.0), -1.0)
    return X


@_computes(PowerTransformer)
def _powers(step: PowerTransformer, ops: Ops, X: Tensor) -> Tensor:
    powers = step.lambdas_
    if np.isnan(powers).any():
        raise Unsupported(
            "PowerTransformer has no power for columns without a value; leave them out."
        )
    if step.method == "box-cox":
        Y = _power(ops, X, powers)
    else:  # Yeo and Johnson's: (1 + x)^λ for x ≥ 0, (1 − x)^(2 − λ) below
        positive = ops.greater_equal(X, 0.0)
        above = ops.add(ops.where(positive, X, 0.0), 1.0)
        below = ops.subtract(1.0, ops.where(positive, 0.0, X))
        low = ops.negative(_power(ops, below, 2 - powers))
        Y = ops.where(positive, _power(ops, above, powers), low)
    return _standard(step._scaler, ops, Y) if step.standardize else Y


def _power(ops: Ops, X: Tensor, powers: np.ndarray) -> Tensor:
    """(x^λ − 1)/λ with one λ for every column, log x where it is 0."""
    zero = np.abs(powers) < np.finfo(ops.dtype).eps
    divisors = np.where(zero, 1.0, powers)
    Y = ops.divide(ops.subtract(ops.pow(X, divisors), 1.0), divisors)
    return ops.where(zero, ops.log(X), Y) if zero.any() else Y


@_computes(SimpleImputer, table=True)
def _imputed(step: SimpleImputer, ops: Ops, X: Any) -> Any:
    if isinstance(X, Table):
        return _imputed_text(step, ops, X)
    try:
        numbers = np.asarray(step.statistics_, dtype=np.float64)
    except ValueError:
        raise Unsupported(
            f"SimpleImputer fills in text, {step.statistics_!r}, and this model takes "
            f"one tensor of numbers; {WAY_OUT}"
        ) from None
    absent = _absent(ops, X, step.missing_values)
    kept = np.flatnonzero(~np.isnan(numbers))
    filled = ops.where(absent, np.nan_to_num(numbers), X)
    if len(kept) < len(numbers) and not step.keep_empty_features:
        filled = ops.take(filled, kept)
    if step.indicator_ is None:
        return filled
    return ops.concat([filled, forward(step.indicator_, ops, X)])


def _imputed_text(step: SimpleImputer, ops: Ops, X: Table) -> Table:
    """Text in place of missing cells."""
    all_text = all(isinstance(text, str) for text in step.statistics_)
    if not all_text or step.indicator_ is not None:
        raise Unsupported(
            "SimpleImputer has operations for text alone, without add_indicator; it "
            f"fills in {list(step.statistics_)} here; {WAY_OUT}"
        )
    mark = step.missing_values if isinstance(step.missing_values, str) else MISSING
    filled = []
    for tensor, text in zip(X.tensors, step.statistics_, strict=True):
        absent = ops.cast(ops.codes_of_text(tensor, {mark: 1}, 0), bool)
        filled.append(ops.text_where(absent, str(text), tensor))
    return Table(tuple(filled), X.kinds)


@_computes(MissingIndicator)
def _indicator(step: MissingIndicator, ops: Ops, X: Tensor) -> Tensor:
    marks = ops.cast(_absent(ops, X, step.missing_values), ops.dtype)
    return ops.take(marks, step.features_)


def _absent(ops: Ops, X: Tensor, mark: Any) -> Tensor:
    is_nan = isinstance(mark, float) and np.isnan(mark)
    return ops.isnan(X) if is_nan else ops.equal(X, float(mark))


@_computes(OneHotEncoder, table=True)
def _one_hot(step: OneHotEncoder, ops: Ops, X: Any) -> Tensor:
    """Codes, column by column; of unknown categories zeros, or those of rare ones."""
    if step.drop is not None:
        raise Unsupported(
            "OneHotEncoder with drop has no operations here; leave drop out."
        )
    parts = []
    for j, categories in enumerate(step.categories_):
        column = _column(ops, X, j)
        if _is_text(categories):
            _check_table(step, X)
            parts.append(_one_hot_text(step, j, ops, column))
        else:
            parts.append(_one_hot_numbers(step, j, ops, column))
    return ops.concat(parts)


@_computes(TargetEncoder, table=True)
def _target_encoded(step: TargetEncoder, ops: Ops, X: Any) -> Tensor:
    """Means of targets by category, column by column; of unknown ones that of all."""
    mean = np.atleast_1d(step.target_mean_)
    parts = []
    for j, categories in enumerate(step.categories_):
        column = _column(ops, X, j)
        encodings = step.encodings_[j * len(mean) : (j + 1) * len(mean)]
        means = np.column_stack(encodings)  # (categories, classes)
        if _is_text(categories):
            _check_table(step, X)
            texts = _texts(step, categories)
            codes = {text: place for place, text in enumerate(texts)}
            places = ops.codes_of_text(column, codes, len(texts))
            parts.append(ops.look_up(np.vstack([means, mean]), places))
        else:
            hot = _equal_numbers(step, categories, ops, column)
            # the mean of all, which a known category takes back
            parts.append(ops.add(ops.matmul(hot, means - mean), mean))
    return ops.concat(parts)


def _check_table(step: Any, X: Any) -> None:
    if not isinstance(X, Table):
        raise Unsupported(
            f"{type(step).__name__} has text for categories, and this model takes one "
            "tensor of numbers; put it into a ColumnTransformer at the beginning, or "
            f"{WAY_OUT}"
        )


def _column(ops: Ops, X: Any, j: int) -> Tensor:
    return X.tensors[j] if isinstance(X, Table) else ops.take(X, np.array([j]))


def _codes(step: OneHotEncoder, j: int) -> tuple[np.ndarray, int]:
    """The codes of a column's categories, and of unknown ones: −1 is none."""
    rare = getattr(step, "infrequent_categories_", None)
    if rare is None or rare[j] is None:
        return np.arange(len(step.categories_[j])), -1
    codes = np.asarray(step._default_to_infrequent_mappings[j])  # rare ones are last
    joins = step.handle_unknown in ("infrequent_if_exist", "warn")
    return codes, int(codes.max()) if joins else -1


def _one_hot_text(step: OneHotEncoder, j: int, ops: Ops, column: Tensor) -> Tensor:
    codes, unknown = _codes(step, j)
    texts = _texts(step, step.categories_[j])
    known = dict(zip(texts, codes.tolist(), strict=True))
    places = ops.codes_of_text(column, known, unknown)
    n_codes = int(codes.max()) + 1
    return ops.cast(ops.equal(places, np.arange(n_codes)[None]), ops.dtype)


def _texts(step: Any, categories: np.ndarray) -> list[str]:
    """Categories as text, of which one may stand for missing cells."""
    texts = [str(c) if isinstance(c, str) else MISSING for c in categories.tolist()]
    if len(set(texts)) < len(texts):
        raise Unsupported(
            f"{type(step).__name__} has several categories for missing cells, "
            f"{[c for c in categories.tolist() if not c or c != c]}; put "
            "bochner.preprocessing.Texts before it."
        )
    return texts


def _equal_numbers(
    step: Any, categories: np.ndarray, ops: Ops, column: Tensor
) -> Tensor:
    """One where a number is a category, (n, categories); NaN, the last, is NaN."""
    categories = categories.astype(np.float64)
    if len(np.unique(categories.astype(ops.dtype))) < len(categories):
        raise ValueError(
            f"categories of {type(step).__name__} are the same in {ops.dtype}: "
            f"{categories!r}; use dtype='float64'."
        )
    known = categories[~np.isnan(categories)]
    marks = [ops.equal(column, known[None])]
    marks += [ops.isnan(column)] * (len(categories) - len(known))
    return ops.concat([ops.cast(one, ops.dtype) for one in marks])


def _one_hot_numbers(step: OneHotEncoder, j: int, ops: Ops, column: Tensor) -> Tensor:
    hot = _equal_numbers(step, step.categories_[j], ops, column)
    codes, unknown = _codes(step, j)
    mixing = np.eye(int(codes.max()) + 1)[codes]
    if unknown < 0:
        plain = len(mixing.T) == len(codes)
        return hot if plain else ops.matmul(hot, mixing)
    # the code of unknown ones, which a known one takes back
    rest = np.eye(len(mixing.T))[[unknown]]
    return ops.add(ops.matmul(hot, mixing - rest), rest)


def by_columns(step: ColumnTransformer, ops: Ops, X: Any) -> Tensor:
    """What a ColumnTransformer computes: its parts, side by side."""
    parts = []
    for name, one, chosen in step.transformers_:
        is_word = isinstance(one, str)
        places = _places(step, [] if is_word and one == "drop" else chosen)
        if len(places):
            is_table = isinstance(X, Table)
            part = X.chosen(ops, places) if is_table else ops.take(X, places)
            parts.append(part if is_word else forward(one, ops, part))
            if isinstance(parts[-1], Table):
                raise Unsupported(
                    f"the part {name!r} of a ColumnTransformer gives text or dates, "
                    f"and what follows takes numbers; {WAY_OUT}"
                )
    return ops.concat(parts)


_computes(ColumnTransformer, table=True)(by_columns)
