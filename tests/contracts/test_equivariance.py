"""Laws that hold for every learner: moved, scaled, reordered and repeated data.

`pytest tests/contracts/test_equivariance.py --collect-only -q` lists them by estimator;
`-k offset` selects those about data far from zero.

Values lie on a dyadic grid and constants are powers of two, so that X + c, sX and y + b
are exact: whatever differs is the learner's doing. Where a sum is rounded, the learner
has to agree with itself on the rounded rows moved back, which again is exact
(fl(x + c) − c is, by Sterbenz' lemma), and with itself on the rows before rounding to
`AMPLIFICATION` times the rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from bochner import (
    CompactMap,
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    Nystroem,
    RandomFeatures,
    blocks,
)

N, N_NEW = 120, 40
UNITS = np.array([2.0**10, 1.0, 2.0**-10])
"""Standard deviations of the columns, about."""

GRID = 2.0**-16
"""Step of the values, in units: 2³⁰ units and a value take 50 of float64's 53 bits."""

OFFSETS = {"1e3": 2.0**10, "1e6": 2.0**20, "1e9": 2.0**30}
"""Distances of the data from zero, in units."""

SIGNS = np.array([1.0, -0.5, 1.0])
TOLERANCE = 1e-5
"""Share of the largest prediction by which predictions on X + c and on X may differ."""

AMPLIFICATION = 200
"""Change of predictions for each unit of change of the rows, at most, in this file."""


def rows(n: int, seed: int) -> np.ndarray:
    """Normal rows in units."""
    Z = np.random.default_rng(seed).normal(size=(n, len(UNITS)))
    return np.round(Z / GRID) * GRID


def signal(Z: np.ndarray) -> np.ndarray:
    return np.sin(2 * Z[:, 0]) + Z[:, 1] * Z[:, 2]


def rounded(y: np.ndarray) -> np.ndarray:
    return np.round(y / GRID) * GRID


Z, Z_NEW = rows(N, 0), rows(N_NEW, 1)
X, X_NEW = Z * UNITS, Z_NEW * UNITS
NUMBERS = rounded(signal(Z) + 0.1 * np.random.default_rng(2).normal(size=N))
CLASSES = np.array(["a", "b", "c"])[np.digitize(signal(Z), [-0.5, 0.5])]
PAIR = np.array(["no", "yes"])[(signal(Z) > 0).astype(int)]
RULES = ("scale", "median", "knn", "cnm")


@dataclass(frozen=True)
class Learner:
    """An estimator, unfitted, and what of the data it learns from."""

    model: Any
    targets: np.ndarray | None
    units: Any = 1.0
    common: bool = False
    # ^ the rule "scale", 1/(d · var of all entries), promises a common offset alone

    @property
    def X(self) -> np.ndarray:
        """Rows to learn from."""
        return Z * self.units

    @property
    def X_new(self) -> np.ndarray:
        return Z_NEW * self.units

    def offset(self, size: float) -> np.ndarray:
        """What is added to the columns, `size` units away from zero."""
        return size * self.units * (np.ones(len(SIGNS)) if self.common else SIGNS)

    def fit(self, X: Any, y: Any = None, **more: Any) -> Any:
        y = self.targets if y is None else y
        return clone(self.model).fit(X, y, **more)


def random_features(**parameters: Any) -> RandomFeatures:
    given = {"gamma": "median", "random_state": 0, **parameters}
    return RandomFeatures(64, **given)


def nystroem(**parameters: Any) -> Nystroem:
    given = {"gamma": "median", "random_state": 0, **parameters}
    return Nystroem(40, **given)


def maps(supervised: bool) -> dict[str, Any]:
    """The default map and given ones; None is the default."""
    margin = {"margin": nystroem(landmarks="margin")} if supervised else {}
    return {
        "default": None,
        "cos_sin": random_features(),
        "matern": random_features(kernel="matern"),
        "uniform": nystroem(),
        "kmeans": nystroem(landmarks="kmeans"),
        "rpcholesky": nystroem(landmarks="rpcholesky"),
        **margin,
        **{rule: nystroem(gamma=rule) for rule in RULES},
    }


def learners() -> dict[str, Learner]:
    """All of them; those that choose their map have columns of different units."""
    found = {}

    def add(name: str, model: Any, y: Any, features: str) -> None:
        units = UNITS if features in AUTOMATIC else 1.0
        key = f"{name}-{features}"
        found[key] = Learner(model, y, units, common=features == "scale")

    for loss in ("hinge", "squared", "log"):
        for name, features in maps(supervised=True).items():
            model = KernelClassifier(features, loss=loss, random_state=0)
            add(f"KernelClassifier-{loss}", model, CLASSES, name)
        pair = KernelClassifier(loss=loss, random_state=0)
        add(f"KernelClassifier-{loss}", pair, PAIR, "two_classes")
    for name, features in maps(supervised=False).items():
        number = KernelRegressor(features, random_state=0)
        add("KernelRegressor", number, NUMBERS, name)
        parts = KernelPCA(3, features=features, random_state=0)
        add("KernelPCA", parts, None, name)
    short: dict[str, Any] = {"max_iter": 4, "random_state": 0}
    for objective, y in (("classification", CLASSES), ("regression", NUMBERS)):
        for rule in RULES:
            model = CompactMap(16, objective=objective, gamma=rule, **short)
            add(f"CompactMap-{objective}", model, y, rule)
    return found


AUTOMATIC = ("default", "two_classes")
"""Learners that choose their map."""

LEARNERS = learners()
EXACT = [name for name in LEARNERS if not name.startswith("CompactMap")]
"""Learners that solve a problem; learned maps walk over rows in an order."""

every_learner = pytest.mark.parametrize("name", LEARNERS)
every_exact_learner = pytest.mark.parametrize("name", EXACT)


def outputs(model: Any, X: Any) -> dict[str, np.ndarray]:
    """Everything that a fitted learner predicts, and its figures."""
    if isinstance(model, KernelPCA):
        return {"transform": model.transform(X), **figures(model)}
    if isinstance(model, KernelRegressor):
        mean, std = model.predict(X, return_std=True)
        return {"predict": mean, "std": std, **figures(model)}
    scores = model.decision_function(X)
    if getattr(model, "loss", None) == "log" and scores.ndim == 2:
        # a constant common to all classes changes neither the loss nor the penalty
        scores = scores - scores.mean(axis=1, keepdims=True)
    found = {"decision_function": scores}
    if hasattr(model, "predict_proba"):
        found["predict_proba"] = model.predict_proba(X)
    return found


def figures(model: Any) -> dict[str, np.ndarray]:
    names = ("noise_", "log_marginal_likelihood_", "explained_variance_ratio_")
    return {n: np.asarray(getattr(model, n)) for n in names if hasattr(model, n)}


@cache
def reference(name: str) -> dict[str, np.ndarray]:
    """Outputs of a learner on the data before any change."""
    learner = LEARNERS[name]
    return outputs(learner.fit(learner.X), learner.X_new)


def assert_same(
    found: dict[str, np.ndarray], wanted: dict[str, np.ndarray], share: float
) -> None:
    """Outputs agree to a share of their largest value."""
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        other = found[name]
        if name == "transform":  # the sign of a component means nothing
            other = other * np.sign((other * value).sum(axis=0))
        bound = share * float(np.abs(value).max())
        assert_allclose(other, value, rtol=0, atol=bound, err_msg=name)


# X → X + c


@every_learner
@pytest.mark.parametrize("size", ["1e3", "1e9"])
def test_offset_of_features(name, size):
    learner = LEARNERS[name]
    c = learner.offset(OFFSETS[size])
    moved, new = learner.X + c, learner.X_new + c
    assert_array_equal(moved - c, learner.X)
    assert_same(outputs(learner.fit(moved), new), reference(name), TOLERANCE)


@pytest.mark.parametrize("name", [n for n in LEARNERS if n.endswith("default")])
def test_offset_of_features_that_is_rounded(name):
    """Rows off the grid: the sum rounds to multiples of 2⁻²³ of a unit."""
    learner = LEARNERS[name]
    fine = X + UNITS * GRID * np.random.default_rng(4).random(X.shape)
    c = np.pi / 4 * 1e9 * UNITS * SIGNS
    moved, new = fine + c, X_NEW + c
    rounding = np.spacing(np.pi / 4 * 1e9) / 2
    assert 0 < (abs((moved - c) - fine) / UNITS).max() <= rounding
    found = outputs(learner.fit(moved), new)
    back = outputs(learner.fit(moved - c), new - c)
    assert_same(found, back, TOLERANCE)
    before = outputs(learner.fit(fine), X_NEW)
    assert_same(found, before, AMPLIFICATION * rounding)


IN_FLOAT32 = [
    name
    for name in LEARNERS
    if name.endswith(("default", "uniform", "two_classes", "classification-median"))
]


@pytest.mark.parametrize("name", IN_FLOAT32)
def test_offset_of_features_in_float32(name):
    """A thousand standard deviations leave float32 8000 steps in each: no warning."""
    learner = LEARNERS[name]
    c = learner.offset(OFFSETS["1e3"])
    given = learner.X, learner.X_new
    moved, new = ((A + c).astype(np.float32) for A in given)
    found = outputs(learner.fit(moved), new)
    back = learner.fit((moved - c).astype(np.float32))
    wanted = outputs(back, (new - c).astype(np.float32))
    assert_same(found, wanted, 1e-2)


@pytest.mark.parametrize("name", IN_FLOAT32)
def test_offset_that_float32_cannot_hold_is_reported(name):
    """A million standard deviations leave 8 steps in each."""
    learner = LEARNERS[name]
    moved = (learner.X + learner.offset(OFFSETS["1e6"])).astype(np.float32)
    with pytest.warns(UserWarning, match=r"float32.*column"):
        learner.fit(moved)


# streams and Dask see the same rows


def in_blocks(learner: Learner, X: np.ndarray, y: Any = None) -> Any:
    y = learner.targets if y is None else y
    return clone(learner.model).fit(blocks(X, target=y, rows=50))


def in_dask(learner: Learner, X: np.ndarray, y: Any = None) -> Any:
    da = pytest.importorskip("dask.array")
    y = learner.targets if y is None else y
    lazy = da.from_array(X, chunks=(50, -1))
    more = () if y is None else (da.from_array(y, chunks=50),)
    return clone(learner.model).fit(lazy, *more)


def in_parts(learner: Learner, X: np.ndarray, y: Any = None) -> Any:
    model, y = clone(learner.model), learner.targets if y is None else y
    classes = isinstance(model, KernelClassifier)
    more = {"classes": np.unique(y)} if classes else {}
    for start in range(0, len(X), 50):
        part = slice(start, start + 50)
        model.partial_fit(X[part], None if y is None else y[part], **more)
    return model


WAYS = {"blocks": in_blocks, "dask": in_dask, "partial_fit": in_parts}
STREAMED = (
    "KernelClassifier-squared",
    "KernelClassifier-log",
    "KernelRegressor",
    "KernelPCA",
)
IN_PARTS = [f"{n}-{m}" for n in STREAMED for m in ("default", "cos_sin", "uniform")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", IN_PARTS)
def test_offset_of_streamed_features(name, way):
    learner, fit = LEARNERS[name], WAYS[way]
    c = learner.offset(OFFSETS["1e9"])
    wanted = outputs(fit(learner, learner.X), learner.X_new)
    found = outputs(fit(learner, learner.X + c), learner.X_new + c)
    assert_same(found, wanted, TOLERANCE)


# what transformers choose from the data

TRANSFORMERS = {
    "RandomFeatures": lambda **p: RandomFeatures(16, random_state=0, **p),
    "RandomFeatures-cos": lambda **p: RandomFeatures(
        16, nonlinearity="cos", random_state=0, **p
    ),
    "RandomFeatures-block_diagonal": lambda **p: RandomFeatures(
        16, projection="block_diagonal", random_state=0, **p
    ),
    "Nystroem": lambda **p: Nystroem(16, random_state=0, **p),
    "CompactMap": lambda **p: CompactMap(
        16, max_iter=1, search=False, random_state=0, **p
    ),
}
KERNELS = ("gaussian", "laplacian", "cauchy", "matern", "rational_quadratic")


def transformer(name: str, **parameters: Any) -> Any:
    return TRANSFORMERS[name](**parameters)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_offset_and_bandwidth(name, kernel, rule):
    """The kernel that a rule reads off X + c is the one that it reads off X."""
    features = transformer(name, kernel=kernel, gamma=rule)
    model = Learner(features, CLASSES, common=rule == "scale")
    c = model.offset(OFFSETS["1e9"])
    here, there = model.fit(model.X), model.fit(model.X + c)
    K = here.kernel_(model.X_new)
    assert_allclose(there.kernel_(model.X_new + c), K, atol=1e-9)
    if hasattr(here, "projection_"):
        assert repr(there.projection_) == repr(here.projection_)


@pytest.mark.parametrize("nonlinearity", ["cos_sin", "cos"])
def test_offset_and_frequencies(nonlinearity):
    c = OFFSETS["1e9"] * SIGNS
    model = random_features(nonlinearity=nonlinearity)
    here, there = (clone(model).fit(A).feature_map_.linear for A in (Z, Z + c))
    assert_allclose(there.to_dense(), here.to_dense(), rtol=1e-9)


@pytest.mark.parametrize("rule", ["uniform", "kmeans", "rpcholesky", "margin"])
def test_offset_and_landmarks(rule):
    c = OFFSETS["1e9"] * SIGNS
    model = nystroem(landmarks=rule)
    here, there = (clone(model).fit(A, CLASSES) for A in (Z, Z + c))
    bound = 0 if here.landmark_indices_ is not None else 1e-5
    # ^ means of clusters are rounded, rows are not
    difference = there.landmarks_ - c - here.landmarks_
    assert abs(difference).max() <= bound
    if here.landmark_indices_ is not None:
        assert_array_equal(there.landmark_indices_, here.landmark_indices_)


@pytest.mark.parametrize("name", ["RandomFeatures", "Nystroem"])
def test_offset_and_inner_products(name):
    c = OFFSETS["1e9"] * SIGNS
    model = transformer(name, gamma="median")
    here, there = (clone(model).fit(A) for A in (Z, Z + c))
    found = there.approximate_kernel(Z_NEW + c)
    assert_allclose(found, here.approximate_kernel(Z_NEW), atol=TOLERANCE)


# X → sX


@every_learner
@pytest.mark.parametrize("factor", [2.0**-7, 1000.0])
def test_scaled_features(name, factor):
    """One factor for all columns: every rule of a bandwidth follows it."""
    learner = LEARNERS[name]
    model = learner.fit(factor * learner.X)
    assert_same(outputs(model, factor * learner.X_new), reference(name), TOLERANCE)


STANDARDISING = [
    name for name in LEARNERS if name.endswith(AUTOMATIC) and "PCA" not in name
]


@pytest.mark.parametrize("name", STANDARDISING)
def test_scaled_columns(name):
    """One factor for each column: learners that standardise them do not notice.

    Regressors always do; classifiers where validation prefers it, as here, where units
    differ by a million before and after. Components have nothing to validate it by.
    """
    factors = np.array([2.0**-2, 1.0, 2.0**3])
    model = LEARNERS[name].fit(factors * X)
    assert_same(outputs(model, factors * X_NEW), reference(name), TOLERANCE)


# y → a y + b


@dataclass(frozen=True)
class Way:
    """How a regressor is fitted: on a model, rows and targets."""

    fit: Callable[[Learner, np.ndarray, np.ndarray], Any]
    model: Any
    tolerance: float = TOLERANCE


def at_once(learner: Learner, X: np.ndarray, y: Any = None) -> Any:
    return learner.fit(X, y)


def resumed(learner: Learner, X: np.ndarray, y: Any = None) -> Any:
    """A fit on blocks that breaks off in its last pass, and the fit that resumes it."""
    walks = 0

    def read() -> Any:
        nonlocal walks
        walks += 1
        for i, start in enumerate(range(0, len(X), 20)):
            if walks == 2 and i == 5:
                raise OSError("the disk is gone")
            yield X[start : start + 20], y[start : start + 20]

    model = clone(learner.model)
    with pytest.raises(OSError, match="the disk is gone"):
        model.fit(blocks(read))
    assert model.checkpoint.exists()
    return model.fit(blocks(read))


def regressor(features: Any = None, **parameters: Any) -> KernelRegressor:
    return KernelRegressor(features, random_state=0, **parameters)


REGRESSORS: dict[str, Way] = {
    "KernelRegressor-default": Way(at_once, regressor()),
    "KernelRegressor-cos_sin": Way(at_once, regressor(random_features())),
    "KernelRegressor-uniform": Way(at_once, regressor(nystroem())),
    "KernelRegressor-given_alpha": Way(
        at_once, regressor(random_features(), alpha=0.1)
    ),
    "KernelRegressor-gram_float32": Way(
        at_once, regressor(random_features(), gram="float32"), 1e-3
    ),
    "KernelRegressor-partial_fit": Way(in_parts, regressor(random_features())),
    "KernelRegressor-partial_fit_default": Way(in_parts, regressor()),
    "KernelRegressor-blocks": Way(in_blocks, regressor(random_features())),
    "KernelRegressor-blocks_float32": Way(
        in_blocks, regressor(random_features(), gram="float32"), 1e-3
    ),
    "KernelRegressor-dask": Way(in_dask, regressor(random_features())),
    "KernelRegressor-checkpoint": Way(resumed, regressor(random_features())),
    "KernelRegressor-iterative": Way(
        at_once,
        regressor(RandomFeatures(8194, gamma="median", random_state=0), alpha=0.1),
    ),
    "KernelRegressor-iterative_alpha": Way(
        at_once, regressor(RandomFeatures(8194, gamma="median", random_state=0))
    ),
    "CompactMap-regression": Way(
        at_once,
        CompactMap(
            16, objective="regression", gamma="median", max_iter=4, random_state=0
        ),
    ),
}


def regression(name: str, y: np.ndarray, folder: Any) -> dict[str, np.ndarray]:
    """What a regressor predicts after a fit to the targets y, and its figures."""
    way = REGRESSORS[name]
    model = clone(way.model)
    if name.endswith("checkpoint"):
        model.set_params(checkpoint=folder / "checkpoint", checkpoint_every=1)
    fitted = way.fit(Learner(model, None), Z, y)
    if hasattr(fitted, "noise_"):
        mean, std = fitted.predict(Z_NEW, return_std=True)
        return {"predict": mean, "std": std, **figures(fitted)}
    return {"predict": fitted.predict(Z_NEW), **figures(fitted)}


def moved_back(
    found: dict[str, np.ndarray], a: float, b: float
) -> dict[str, np.ndarray]:
    """Outputs after y → a y + b, as they have to be before it."""
    powers = {"predict": 1, "std": 1, "noise_": 2}
    back = dict(found, predict=found["predict"] - b)
    for name, power in powers.items():
        if name in back:
            back[name] = back[name] / a**power
    if "log_marginal_likelihood_" in back:
        # a density of n − 1 numbers: those about their mean
        back["log_marginal_likelihood_"] = found["log_marginal_likelihood_"] + (
            N - 1
        ) * np.log(a)
    return back


every_regressor = pytest.mark.parametrize("name", REGRESSORS)


@every_regressor
@pytest.mark.parametrize("a", [2.0**-20, 3e4])
def test_scaled_targets(name, a, tmp_path):
    wanted = regression(name, NUMBERS, tmp_path)
    found = regression(name, a * NUMBERS, tmp_path)
    assert_same(moved_back(found, a, 0.0), wanted, REGRESSORS[name].tolerance)


@every_regressor
@pytest.mark.parametrize("size", OFFSETS)
def test_offset_of_targets(name, size, tmp_path):
    b = OFFSETS[size]
    assert_array_equal((NUMBERS + b) - b, NUMBERS)
    wanted = regression(name, NUMBERS, tmp_path)
    found = regression(name, NUMBERS + b, tmp_path)
    assert_same(moved_back(found, 1.0, b), wanted, REGRESSORS[name].tolerance)


@every_regressor
def test_offset_of_scaled_targets(name, tmp_path):
    a, b = 2.0**-10, -(2.0**19)  # 5e8 deviations
    wanted = regression(name, NUMBERS, tmp_path)
    found = regression(name, a * NUMBERS + b, tmp_path)
    assert_same(moved_back(found, a, b), wanted, REGRESSORS[name].tolerance)


def test_offset_of_one_of_several_targets():
    both = np.stack([NUMBERS, -2 * NUMBERS], axis=1)
    moved = both + np.array([2.0**30, 0.0])
    models = [regressor(random_features()).fit(Z, y) for y in (both, moved)]
    here, there = (model.predict(Z_NEW, return_std=True) for model in models)
    assert_allclose(there[0] - [2.0**30, 0.0], here[0], atol=1e-4)
    assert_allclose(there[1], here[1], rtol=1e-4)
    assert_allclose(models[1].noise_, models[0].noise_, rtol=1e-4)


def test_evidence_without_intercept_is_of_all_targets():
    models = [
        regressor(random_features(), fit_intercept=False).fit(Z, a * NUMBERS)
        for a in (1.0, 8.0)
    ]
    here, there = (model.log_marginal_likelihood_ for model in models)
    assert_allclose(there, here - N * np.log(8.0), rtol=1e-9)


# rows and columns in another order, rows repeated


@every_exact_learner
def test_permuted_rows(name):
    learner = LEARNERS[name]
    order = np.random.default_rng(0).permutation(N)
    y = None if learner.targets is None else learner.targets[order]
    model = learner.fit(learner.X[order], y)
    assert_same(outputs(model, learner.X_new), reference(name), 1e-8)


ALL_ROWS = [
    # every row is a landmark, so that the order of columns draws nothing
    *("KernelClassifier-hinge-default", "KernelClassifier-hinge-two_classes"),
    *("KernelClassifier-squared-default", "KernelClassifier-squared-two_classes"),
    *("KernelRegressor-default", "KernelPCA-default"),
]


@pytest.mark.parametrize("name", ALL_ROWS)
def test_permuted_columns(name):
    """Regressors climb to their bandwidths: rounding moves where the climb ends."""
    order = np.array([2, 0, 1])
    model = LEARNERS[name].fit(X[:, order])
    share = 1e-3 if "Regressor" in name else TOLERANCE
    assert_same(outputs(model, X_NEW[:, order]), reference(name), share)


def test_permuted_columns_of_logistic_regression_at_a_given_penalty():
    order = np.array([2, 0, 1])
    model = KernelClassifier(loss="log", alpha=0.1, random_state=0)
    here = clone(model).fit(X, CLASSES)
    there = clone(model).fit(X[:, order], CLASSES)
    assert_same(outputs(there, X_NEW[:, order]), outputs(here, X_NEW), TOLERANCE)


COUNTS = np.random.default_rng(3).integers(0, 4, size=N)


@every_exact_learner
def test_duplicated_rows_are_integer_weights(name):
    learner = LEARNERS[name]
    places = np.repeat(np.arange(N), COUNTS)
    y = None if learner.targets is None else learner.targets[places]
    repeated = outputs(learner.fit(learner.X[places], y), learner.X_new)
    weighted = learner.fit(learner.X, sample_weight=COUNTS.astype(float))
    assert_same(outputs(weighted, learner.X_new), repeated, TOLERANCE)


@pytest.mark.parametrize(
    "name", ["KernelClassifier-squared", "KernelClassifier-log", "KernelRegressor"]
)
def test_duplicated_rows_of_streams_are_integer_weights(name):
    """At a given penalty: equal rows of several blocks are not left out together.

    So probabilities, which are scaled by leave-one-out, are those of other rows.
    """
    learner = LEARNERS[f"{name}-cos_sin"]
    places = np.repeat(np.arange(N), COUNTS)
    features = random_features(gamma=0.5)
    model = clone(learner.model).set_params(features=features, alpha=0.1)
    assert learner.targets is not None
    y, w = learner.targets, COUNTS.astype(float)
    weighted = clone(model).fit(blocks(Z, target=y, weight=w, rows=30))
    repeated = clone(model).fit(blocks(Z[places], target=y[places], rows=30))
    found, wanted = outputs(weighted, Z_NEW), outputs(repeated, Z_NEW)
    if name == "KernelClassifier-squared":
        del found["predict_proba"], wanted["predict_proba"]
    assert_same(found, wanted, TOLERANCE)
