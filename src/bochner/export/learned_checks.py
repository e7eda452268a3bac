"""What `partial_fit` resumes from: sums, samples of rows and losses that fit together.

Their shapes are multiplied with those of new rows, so one that does not fit could ask
for any amount of memory.
"""

from __future__ import annotations

import re
from numbers import Real
from typing import Any

import numpy as np

from ..features.transformer import check_fitted
from ..learners.labels import Labels
from ..learners.solving import Sums
from ..solvers import losses
from ..solvers.moments import Moments
from ..solvers.newton import Online, State
from ..solvers.rows import RowSample
from .checks import expect

LOSSES = (losses.Squared, losses.SquaredHinge, losses.Logistic, losses.Multinomial)


def _check(value: Any, kinds: str, *shape: int, what: str = "sums do") -> None:
    """An array of this shape, of numbers of one of these kinds."""
    fits = isinstance(value, np.ndarray) and value.dtype.kind in kinds
    expect(fits and value.shape == shape, f"{what} not fit each other")


def _count(value: Any) -> None:
    expect(type(value) is int and value >= 0, f"{value!r} is not a count")


def _optional(value: Any, kind: Any) -> None:
    name = type(value).__name__
    expect(value is None or isinstance(value, kind), f"{name} is out of place")


def moments(made: Any) -> None:
    """Sums over rows of M features and K targets."""
    _count(made.n_rows)
    expect(isinstance(made.weight, Real), "the weight of sums is not a number")
    expect(np.ndim(made.ft) == 2, "sums do not fit each other")
    M, K = made.ft.shape
    _check(made.ft, "f", M, K)
    _check(made.ff, "f", M, M)
    for sums, n in ((made.f, M), (made.t, K), (made.tt, K)):
        _check(sums, "f", n)
    for origin, n in ((made.origin_f, M), (made.origin_t, K)):
        if origin is not None:
            _check(origin, "f", n, what="an origin and its sums do")


def row_sample(made: Any) -> None:
    """Some rows with their targets and weights."""
    _count(made.seen)
    _count(made.size)
    if made.keys is None:
        expect(made.F is made.T is made.weight is None, "rows have no keys")
        return
    s = len(made.keys)
    _check(made.keys, "u", s, what="sampled rows do")
    _check(made.weight, "f", s, what="sampled rows do")
    for rows in (made.F, made.T):
        expect(np.ndim(rows) == 2, "sampled rows do not fit each other")
        _check(rows, "iuf", s, rows.shape[1], what="sampled rows do")


def sums(made: Any) -> None:
    expect(isinstance(made.moments, Moments), "sums are missing")
    expect(isinstance(made.sample, RowSample), "sampled rows are missing")
    _check_sample(made.sample, *made.moments.ft.shape)


def _check_sample(sample: RowSample, M: int, K: int) -> None:
    """Sampled rows of M features, and K targets or one code."""
    if sample.F is not None and sample.T is not None:
        fits = sample.F.shape[1] == M and sample.T.shape[1] in (K, 1)
        expect(fits, "sampled rows do not fit the sums")


def online(made: Any) -> None:
    """Coefficients (M, K), the intercept's among them, and their curvature."""
    expect(np.ndim(made.B) == 2, "coefficients are missing")
    size, K = made.B.shape
    _check(made.B, "f", size, K)
    _check(made.P, "f", size, size)
    _count(made.n_rows)
    _optional(made.sample, RowSample)


def loss(made: Any) -> None:
    n = made.n_classes
    expect(n is None or (type(n) is int and n > 1), f"a loss of {n!r} classes")


def squared(made: Any) -> None:
    loss(made)
    plain = isinstance(made.origin, Real)
    found = isinstance(made.origin, np.ndarray) and made.origin.dtype.kind == "f"
    expect(plain or (found and made.origin.ndim < 2), "the origin is not a number")


def labels(made: Any) -> None:
    expect(np.ndim(made.classes) == 1, "classes are missing")
    if made.factors is not None:
        _check(made.factors, "f", len(made.classes))


def incremental(made: Any) -> None:
    """A loss, and a state with as many outputs as the loss has."""
    expect(isinstance(made.loss, LOSSES), "a loss is missing")
    expect(made.gram in ("float64", "float32"), f"sums in {made.gram!r}")
    _optional(made.labels, Labels)
    _optional(made.state, Sums | Online)
    _optional(made.chosen, Real)
    if made.state is None:
        return
    is_sums = isinstance(made.state, Sums)
    K = (made.state.moments.ft if is_sums else made.state.B).shape[1]
    n_classes = made.loss.n_classes
    if n_classes is not None:
        expect(K == (1 if n_classes == 2 else n_classes), "classes do not fit the sums")
    else:
        expect(np.size(made.loss.origin) in (1, K), "the origin does not fit the sums")
    if made.labels is not None and n_classes is not None:
        expect(len(made.labels.classes) == n_classes, "labels do not fit the loss")


def checked_state(name: str, value: Any) -> Any:
    """The state of a checkpoint by its name, of the kind that the name promises."""
    if name == "newton":
        state = State(**value)
        is_matrix = isinstance(state.B, np.ndarray) and state.B.ndim == 2
        expect(is_matrix and state.B.dtype == np.float64, "B is not of floats")
        _count(state.step)
        _numbers(state.left, state.first)
        return state
    if name == "alpha":
        _numbers(value)
    elif re.fullmatch(r"fold [0-9]+", name):
        total, done, n_rows = value
        _count(done)
        _count(n_rows)
        _check_total(total)
    elif name == "map":
        _check_map(value)
    else:
        expect(False, "it is nothing that this version knows")
    return value


def _check_total(total: Any) -> None:
    """Sums that a fold adds to in place: LAPACK wants them in its own order."""
    found = total.moments if isinstance(total, Sums) else total
    expect(isinstance(found, Moments), "sums are missing")
    expect(found.ff.dtype == np.float64, "sums are not of floats in double precision")
    expect(found.ff.flags.f_contiguous, "sums are in another order")


def _check_map(value: Any) -> None:
    """A fitted map; for classifiers together with the α that the search has found."""
    from .kinds import is_model  # imports this module

    if isinstance(value, tuple):
        value, alpha = value
        _numbers(*([] if alpha is None else [alpha]))
    is_map = is_model(value) and hasattr(value, "transform")
    expect(is_map, f"{type(value).__name__} is not a map")
    check_fitted(value)


def _numbers(*values: Any) -> None:
    for value in values:
        expect(isinstance(value, float), f"{value!r} is not a number")
