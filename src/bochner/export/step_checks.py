"""scikit-learn's steps: which attributes a file may give them, and of which form.

scikit-learn computes with its fitted attributes without checking them, some of it in
compiled code. So every attribute is listed here with its type and shape, and those that
follow from others are computed again: a file that disagrees is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from ..data.table_transformer import TableTransformer
from .checks import expect

Field = Callable[[Any, Any], Any]
"""Whether a value may stand in an attribute: a function of the step and the value."""


def _is_array(value: Any, kinds: str, *shape: int) -> bool:
    found = isinstance(value, np.ndarray) and value.dtype.kind in kinds
    return found and value.shape == shape


def _any(step: Any, value: Any) -> bool:
    """For attributes that `RELATED` looks at."""
    return True


def _bool(step: Any, value: Any) -> bool:
    return type(value) is bool


def _count(step: Any, value: Any) -> bool:
    return isinstance(value, Integral) and int(value) >= 0


def _numbers(step: Any, value: Any) -> bool:
    """One floating number for every column."""
    return _is_array(value, "f", step.n_features_in_) and value.itemsize <= 8


def _numbers_or_none(step: Any, value: Any) -> bool:
    return value is None or _numbers(step, value)


def _rows_seen(step: Any, value: Any) -> bool:
    return isinstance(value, Real) or _is_array(value, "iuf", step.n_features_in_)


def _cells(step: Any, value: Any) -> bool:
    """One value of any kind for every column."""
    return _is_array(value, "biufUSmMO", step.n_features_in_)


def _dtype(step: Any, value: Any) -> bool:
    return isinstance(value, np.dtype)


def _indicator(step: Any, value: Any) -> bool:
    return value is None or type(value) is MissingIndicator


def _places(step: Any, value: Any) -> bool:
    """Numbers of some columns, in order."""
    found = isinstance(value, np.ndarray) and _is_array(value, "iu", value.size)
    return bool(found and _rises_below(value, step._n_features))


def _rises_below(places: np.ndarray, end: int) -> bool:
    inside = not places.size or (places[0] >= 0 and places[-1] < end)
    return bool(inside and (np.diff(places.astype(np.int64)) > 0).all())


def _categories(step: Any, value: Any) -> bool:
    """Values of every column; numbers sorted, because they are found by bisection."""
    if type(value) is not list or len(value) != step.n_features_in_:
        return False
    for array in value:
        if not isinstance(array, np.ndarray) or array.ndim != 1 or not array.size:
            return False
        if array.dtype.kind not in "OUS":
            comparable = array.dtype.kind in "fmM"
            if not np.array_equal(array, np.sort(array), equal_nan=comparable):
                return False
    return True


def _columns(step: Any, value: Any) -> bool:
    """Columns as ColumnTransformer takes them."""
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "biuUO"
    if isinstance(value, list):
        return all(isinstance(item, str | Integral) for item in value)
    return isinstance(value, str | Integral | slice | make_column_selector)


def _part(step: Any, value: Any) -> bool:
    """(name, step, columns)."""
    if type(value) is not tuple or len(value) != 3 or type(value[0]) is not str:
        return False
    return _step(value[1]) and _columns(step, value[2])


def _step(value: Any) -> bool:
    named = isinstance(value, str) and value in ("drop", "passthrough")
    return named or isinstance(value, BaseEstimator)


def _parts(step: Any, value: Any) -> bool:
    return type(value) is list and all(_part(step, part) for part in value)


def _list_of_columns(step: Any, value: Any) -> bool:
    return type(value) is list and all(_columns(step, item) for item in value)


def _inputs(step: Any, value: Any) -> bool:
    """Numbers of the columns that each part takes."""
    if type(value) is not dict:
        return False
    for places in value.values():
        if type(places) is not list:
            return False
        if not all(type(i) is int and 0 <= i < step.n_features_in_ for i in places):
            return False
    return True


def _outputs(step: Any, value: Any) -> bool:
    """The range of columns that each part gives."""
    if type(value) is not dict:
        return False
    ends = [end for part in value.values() for end in _ends(part)]
    return all(type(end) is int and end >= 0 for end in ends)


def _ends(part: Any) -> tuple[Any, ...]:
    return (part.start, part.stop) if isinstance(part, slice) else (None,)


COLUMN_FIELDS: dict[str, Field] = {
    "transformers_": _parts,
    "sparse_output_": _bool,
    "output_indices_": _outputs,
    "_columns": _list_of_columns,
    "_transformer_to_input_indices": _inputs,
    "_remainder": _part,
}
ENCODER_FIELDS: dict[str, Field] = {
    "categories_": _categories,
    "_infrequent_enabled": _bool,
    "_infrequent_indices": _any,
    "_default_to_infrequent_mappings": _any,
}
FIELDS: dict[type, dict[str, Field]] = {
    ColumnTransformer: COLUMN_FIELDS,
    TableTransformer: COLUMN_FIELDS,
    FrozenEstimator: {},
    FunctionTransformer: {},
    Pipeline: {},
    make_column_selector: {},
    MaxAbsScaler: {
        "max_abs_": _numbers,
        "scale_": _numbers,
        "n_samples_seen_": _rows_seen,
    },
    MinMaxScaler: {
        **dict.fromkeys(("min_", "scale_"), _numbers),
        **dict.fromkeys(("data_min_", "data_max_", "data_range_"), _numbers),
        "n_samples_seen_": _rows_seen,
    },
    MissingIndicator: {
        "features_": _places,
        "_n_features": _count,
        "_precomputed": _bool,
    },
    OneHotEncoder: {
        **ENCODER_FIELDS,
        **dict.fromkeys(("drop_idx_", "_drop_idx_after_grouping"), _any),
        "_n_features_outs": _any,
    },
    OrdinalEncoder: {**ENCODER_FIELDS, "_missing_indices": _any},
    PowerTransformer: {"lambdas_": _any, "_scaler": _any},
    QuantileTransformer: dict.fromkeys(
        ("n_quantiles_", "references_", "quantiles_"), _any
    ),
    RobustScaler: dict.fromkeys(("center_", "scale_"), _numbers_or_none),
    SimpleImputer: {
        "statistics_": _cells,
        "indicator_": _indicator,
        **dict.fromkeys(("_fit_dtype", "_fill_dtype"), _dtype),
    },
    StandardScaler: {
        **dict.fromkeys(("mean_", "var_", "scale_"), _numbers_or_none),
        "n_samples_seen_": _rows_seen,
    },
    TargetEncoder: {
        **dict.fromkeys(("categories_", "encodings_", "classes_"), _any),
        **dict.fromkeys(("target_type_", "target_mean_"), _any),
        "_infrequent_enabled": _bool,
    },
}
"""Every attribute that a step may have beside its parameters, and its form."""


def check_step(made: Any) -> None:
    """Refuse a step whose attributes are not as `fit` leaves them."""
    name = type(made).__name__
    for attribute, fits in FIELDS[type(made)].items():
        if attribute in vars(made):
            fine = fits(made, vars(made)[attribute])
            expect(fine, f"{attribute} of {name} has another form")
    RELATED.get(type(made), _unrelated)(made)


def _unrelated(made: Any) -> None:
    """For steps whose attributes do not depend on each other."""


def _pipeline(made: Any) -> None:
    for step in made.steps:
        pair = type(step) is tuple and len(step) == 2 and type(step[0]) is str
        fits = pair and (step[1] is None or _step(step[1]))
        expect(fits, "a step of a Pipeline is not a name and an estimator")


def _column_transformer(made: Any) -> None:
    expect(_parts(made, made.transformers), "transformers have another form")
    expect(_step(made.remainder), "the remainder is not a step")
    weights = made.transformer_weights or {}
    numbers = all(isinstance(weight, Real) for weight in weights.values())
    expect(numbers, "weights of transformers are not numbers")


def _no_function(made: Any) -> None:
    plain = made.func is None and made.inverse_func is None
    expect(plain, "FunctionTransformer calls a function")


def _frozen(made: Any) -> None:
    expect(isinstance(made.estimator, BaseEstimator), "what is frozen is no estimator")


def _imputer(made: Any) -> None:
    """Some versions of scikit-learn look at a type that earlier ones did not keep."""
    if hasattr(made, "_fit_dtype"):
        vars(made).setdefault("_fill_dtype", made._fit_dtype)


def _one_hot(made: Any) -> None:
    """The columns of each feature, counted again from categories and groups."""
    if not hasattr(made, "categories_"):
        return
    mappings = _checked_groups(made, {})
    widths = [
        len(values) if mapping is None else int(mapping.max()) + 1
        for values, mapping in zip(made.categories_, mappings, strict=True)
    ]
    dropped = _dropped(made, widths, mappings)
    wanted = [n - (i is not None) for n, i in zip(widths, dropped, strict=True)]
    expect(
        made._n_features_outs == wanted and all(map(_is_int, made._n_features_outs)),
        "the columns of OneHotEncoder do not fit its categories",
    )


def _is_int(value: Any) -> bool:
    return type(value) is int


def _dropped(made: Any, widths: list[int], mappings: list[Any]) -> list[int | None]:
    """The column that each feature leaves out, None where it keeps all."""
    dropped, original = made._drop_idx_after_grouping, made.drop_idx_
    if dropped is None:
        expect(original is None, "dropped categories do not fit each other")
        return [None] * len(widths)
    for places in (dropped, original):
        expect(_is_array(places, "O", len(widths)), "dropped categories are missing")
    for i, (place, n) in enumerate(zip(dropped, widths, strict=True)):
        inside = isinstance(place, Integral) and 0 <= int(place) < n
        expect(place is None or inside, "dropped categories are not there")
        moved = place is not None and mappings[i] is not None
        wanted = int((mappings[i] == place).argmax()) if moved else place
        expect(original[i] == wanted, "dropped categories do not fit each other")
    return dropped.tolist()


def _ordinal(made: Any) -> None:
    if not hasattr(made, "categories_"):
        return
    missing = getattr(made, "_missing_indices", {})
    expect(type(missing) is dict, "_missing_indices of OrdinalEncoder")
    for column, place in missing.items():
        inside = type(column) is int and 0 <= column < len(made.categories_)
        expect(inside, "a column of missing values is not there")
        last = (
            isinstance(place, Integral) and place == len(made.categories_[column]) - 1
        )
        expect(last, "missing values are not the last category")
    _checked_groups(made, missing)


def _checked_groups(made: Any, missing: dict[int, int]) -> list[np.ndarray | None]:
    """The group of each category, computed again; None where all stand alone."""
    n = len(made.categories_)
    if not made._infrequent_enabled:
        for stale in ("_infrequent_indices", "_default_to_infrequent_mappings"):
            vars(made).pop(stale, None)  # of an earlier fit
        return [None] * n
    rare, told = made._infrequent_indices, made._default_to_infrequent_mappings
    lists = type(rare) is list and type(told) is list and len(rare) == len(told) == n
    expect(lists, "groups of rare categories are missing")
    groups = []
    for column, (places, mapping) in enumerate(zip(rare, told, strict=True)):
        n_values = len(made.categories_[column]) - (column in missing)
        wanted = None if places is None else _groups(places, n_values)
        same = mapping is None if wanted is None else np.array_equal(mapping, wanted)
        fits = same and (wanted is None or _is_array(mapping, "i", n_values))
        expect(fits, "groups do not fit the rare categories")
        groups.append(wanted)
    return groups


def _groups(rare: Any, n_values: int) -> np.ndarray:
    """Frequent categories in order, then one group of all that are rare."""
    fits = (
        isinstance(rare, np.ndarray) and rare.size and _is_array(rare, "i", rare.size)
    )
    expect(fits and _rises_below(rare, n_values), "rare categories are not there")
    groups = np.full(n_values, n_values - rare.size, dtype=np.int64)
    frequent = np.setdiff1d(np.arange(n_values), rare)
    groups[frequent] = np.arange(frequent.size)
    return groups


def _power(made: Any) -> None:
    if not hasattr(made, "lambdas_"):
        return
    expect(made.method in ("yeo-johnson", "box-cox"), f"{made.method!r} is no power")
    _check_numbers(made, made.lambdas_)
    if made.standardize:
        scaler = made._scaler
        found = type(scaler).__name__
        expect(type(scaler) is StandardScaler, f"{found} is not a scaler")
        _check_numbers(made, scaler.mean_, scaler.scale_)


def _check_numbers(made: Any, *arrays: Any) -> None:
    for array in arrays:
        expect(isinstance(array, np.ndarray), "an array is missing")
        expect(array.dtype.kind == "f", f"numbers of type {array.dtype} are not floats")
        expect(_numbers(made, array), "numbers do not fit the columns")


def _quantiles(made: Any) -> None:
    if not hasattr(made, "quantiles_"):
        return
    shape = made.output_distribution
    expect(shape in ("uniform", "normal"), f"{shape!r} is no distribution")
    references, quantiles, n = made.references_, made.quantiles_, made.n_quantiles_
    expect(_is_int(n) and n > 0, "quantiles have no number")
    fits = _is_array(references, "f", n) and _is_array(
        quantiles, "f", n, made.n_features_in_
    )
    expect(fits, "quantiles do not fit the columns")
    inside = references[0] >= 0 and references[-1] <= 1
    rising = inside and (np.diff(references) > 0).all()
    expect(rising, "shares of quantiles do not rise from 0 to 1")
    missing = np.isnan(quantiles).all(axis=0)  # columns without a value
    rising = (np.diff(quantiles[:, ~missing], axis=0) >= 0).all()
    finite = np.isfinite(quantiles[:, ~missing]).all()
    expect(rising and finite, "quantiles do not rise")


def _target(made: Any) -> None:
    if not hasattr(made, "encodings_"):
        return
    kind, n_each = made.target_type_, 1
    expect(kind in ("continuous", "binary", "multiclass"), f"{kind!r} is no target")
    expect(made._infrequent_enabled is False, "a TargetEncoder joins no categories")
    expect(_categories(made, made.categories_), "columns have no categories")
    if kind != "continuous":
        classes = made.classes_
        expect(isinstance(classes, np.ndarray) and classes.ndim == 1, "no classes")
        n_each = len(classes) if kind == "multiclass" else 1
    if kind == "multiclass":
        fits = _is_array(made.target_mean_, "f", n_each)
        expect(fits, "means do not fit the classes")
    else:
        expect(isinstance(made.target_mean_, Real), "the mean of targets is no number")
    sizes = [len(array) for array in made.categories_ for _ in range(n_each)]
    encodings = made.encodings_
    fits = type(encodings) is list and len(encodings) == len(sizes)
    fits = fits and all(map(_is_array, encodings, ["f"] * len(sizes), sizes))
    expect(fits, "encodings do not fit the categories")


RELATED: dict[type, Callable[[Any], None]] = {
    ColumnTransformer: _column_transformer,
    TableTransformer: _column_transformer,
    FrozenEstimator: _frozen,
    FunctionTransformer: _no_function,
    OneHotEncoder: _one_hot,
    OrdinalEncoder: _ordinal,
    Pipeline: _pipeline,
    PowerTransformer: _power,
    QuantileTransformer: _quantiles,
    SimpleImputer: _imputer,
    TargetEncoder: _target,
}
"""Checks of attributes that must agree with each other or with parameters."""
