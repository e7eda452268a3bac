"""Learners by library, as their users would write them: `fit`, then `predict`.

Runs inside a peer's own environment as well as in ours, so libraries are imported
where they are used. γ and penalties are one `Setting` for all that take them; classes
are 0, 1, 2, …, targets of regression standardised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Learners = dict[str, Callable[[int], Any]]
"""Names, and models by seed."""


@dataclass
class Setting:
    """What the learners of a data set share, chosen on training rows held out.

    Gaussian kernels exp(−γ‖x − y‖²): one γ for features, another for exact machines,
    which bear a narrower kernel; the penalty α of least squares on features of unit
    length, and C of support vector machines on features and on the exact kernel.
    """

    task: str
    gamma: float
    alpha: float
    exact_gamma: float
    C: float = 10.0
    exact_C: float = 10.0
    exact_rows: int = 10_000

    @property
    def classify(self) -> bool:
        return self.task == "classify"


@dataclass
class Few:
    """A model that is fitted on some of the rows only, as it bears no more."""

    model: Any
    rows: int

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        kept = np.random.default_rng(0).permutation(len(X))[: self.rows]
        self.model.fit(X[kept], y[kept])

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(X)


def bochner(setting: Setting) -> Learners:
    """Ours: all chosen by itself; of given γ, α and size; and learned features."""
    from bochner import CompactMap, KernelClassifier, KernelRegressor, Nystroem, methods

    make: Any = KernelClassifier if setting.classify else KernelRegressor
    squared: dict[str, Any] = {"alpha": setting.alpha, "gram": "float32"}
    hinge: dict[str, Any] = {"alpha": 1 / setting.C}
    given: dict[str, tuple[Any, dict[str, Any]]] = {"": (None, {})}
    for m in (256, 512, 1024, 1536, 2048, 4096):
        given[f"sorf {m}"] = (methods.sorf(m, gamma=setting.gamma), squared)
    for m in (256, 500, 1000, 2000):
        given[f"Nystroem {m}"] = (Nystroem(m, gamma=setting.exact_gamma), squared)
    if setting.classify:
        squared["loss"] = "squared"
        margin = Nystroem(1000, gamma=setting.exact_gamma, landmarks="margin")
        given["Nystroem 1000, hinge"] = (margin, hinge)
        given["sorf 1024, hinge"] = (methods.sorf(1024, gamma=setting.gamma), hinge)
        given["sorf 4096, hinge"] = (methods.sorf(4096, gamma=setting.gamma), hinge)
    objective = "classification" if setting.classify else "regression"

    def learner(features: Any, more: dict[str, Any]) -> Callable[[int], Any]:
        return lambda seed: make(features, **more, random_state=seed)

    def compact(m: int) -> Callable[[int], Any]:
        return lambda seed: CompactMap(m, objective=objective, random_state=seed)

    return {
        **{f"{make.__name__}({title})": learner(*p) for title, p in given.items()},
        **{f"CompactMap({m})": compact(m) for m in (32, 256)},
    }


def scikit_learn(setting: Setting) -> Learners:
    """Its samplers before its linear models, and its exact machines."""
    from sklearn.kernel_approximation import Nystroem, RBFSampler
    from sklearn.linear_model import Ridge, RidgeClassifier, SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC, SVR, LinearSVC

    ridge = RidgeClassifier if setting.classify else Ridge

    def sampler(make: Any, m: int, linear: Any) -> Callable[[int], Any]:
        gamma = setting.gamma if make is RBFSampler else setting.exact_gamma
        return lambda seed: make_pipeline(
            make(n_components=m, gamma=gamma, random_state=seed), linear
        )

    least = ridge(alpha=setting.alpha)
    learners = {
        f"{make.__name__} {m} + {ridge.__name__}": sampler(make, m, least)
        for make, m in (
            (RBFSampler, 256),
            (RBFSampler, 1024),
            (RBFSampler, 4096),
            (Nystroem, 256),
            (Nystroem, 1000),
        )
    }
    if not setting.classify:
        return {**learners, **_exact(SVR, setting), **_processes()}
    margin = LinearSVC(C=setting.C)
    return {
        **learners,
        "RBFSampler 1024 + LinearSVC": sampler(RBFSampler, 1024, margin),
        "Nystroem 1000 + LinearSVC": sampler(Nystroem, 1000, margin),
        "RBFSampler 4096 + SGDClassifier": sampler(
            RBFSampler, 4096, SGDClassifier(random_state=0)
        ),
        **_exact(SVC, setting),
    }


def _exact(make: Any, setting: Setting) -> Learners:
    """A machine of the exact kernel, on all rows and on some."""
    more = {"C": setting.exact_C, "gamma": setting.exact_gamma, "cache_size": 1000}
    name, rows = make.__name__, setting.exact_rows
    return {
        name: lambda seed: make(**more),
        f"{name} on {rows:,} rows": lambda seed: Few(make(**more), rows),
    }


def _processes() -> Learners:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel() * RBF() + WhiteKernel()
    return {
        "GP on 2000 rows": lambda seed: Few(
            GaussianProcessRegressor(kernel, random_state=seed), 2000
        )
    }


def sklearn_extra(setting: Setting) -> Learners:
    """Fastfood before scikit-learn's linear models, and EigenPro."""
    from sklearn.linear_model import Ridge, RidgeClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC
    from sklearn_extra.kernel_approximation import Fastfood
    from sklearn_extra.kernel_methods import EigenProClassifier, EigenProRegressor

    ridge = RidgeClassifier if setting.classify else Ridge
    eigenpro = EigenProClassifier if setting.classify else EigenProRegressor

    def fastfood(m: int, linear: Any) -> Callable[[int], Any]:
        sigma = (2 * setting.gamma) ** -0.5
        return lambda seed: make_pipeline(  # columns are twice its n_components
            Fastfood(sigma=sigma, n_components=m // 2, random_state=seed), linear
        )

    least = ridge(alpha=setting.alpha)
    learners: Learners = {
        f"Fastfood {m} + {ridge.__name__}": fastfood(m, least) for m in (1024, 4096)
    }
    if setting.classify:
        margin = LinearSVC(C=setting.C)
        learners["Fastfood 1024 + LinearSVC"] = fastfood(1024, margin)
    learners[eigenpro.__name__] = lambda seed: eigenpro(
        gamma=setting.exact_gamma, n_epoch=5, random_state=seed
    )
    return learners


@dataclass
class Dataset:
    """xGPR's way: a data set is built, hyper-parameters set or tuned, then a fit."""

    model: Any
    build: Callable[..., Any]
    logarithms: np.ndarray | None

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        data = self.build(X, y)
        self.model.set_hyperparams(self.logarithms, data)
        if self.logarithms is None:
            self.model.tune_hyperparams_crude(data)
        self.model.fit(data, mode="exact")

    def predict(self, X: np.ndarray) -> np.ndarray:
        found = self.model.predict(X)
        return found if found.ndim == 1 else found.argmax(axis=1)


def xgpr(setting: Setting) -> Learners:
    """Its discriminant, or its Gaussian process, also with a search of its own."""
    from xGPR import (
        build_classification_dataset,
        build_regression_dataset,
        xGPDiscriminant,
        xGPRegression,
    )

    known = np.log([np.sqrt(setting.alpha), np.sqrt(2 * setting.gamma)])
    if setting.classify:
        make, build = xGPDiscriminant, build_classification_dataset
    else:
        make, build = xGPRegression, build_regression_dataset

    def learner(m: int, logarithms: np.ndarray | None) -> Callable[[int], Any]:
        return lambda seed: Dataset(
            make(num_rffs=m, verbose=False, random_seed=seed), build, logarithms
        )

    learners = {f"{make.__name__} {m}": learner(m, known) for m in (1024, 4096)}
    if not setting.classify:
        learners[f"{make.__name__} 1024, tuned"] = learner(1024, None)
    return learners


def rfflearn(setting: Setting) -> Learners:
    """Its machines on random and orthogonal features; their length is √(M/2), not 1."""
    from rfflearn import cpu

    width = np.sqrt(2 * setting.gamma)

    def learner(make: Any, m: int, **more: Any) -> Callable[[int], Any]:
        def made(seed: int) -> Any:
            cpu.seed(seed)
            return make(dim_kernel=m, std_kernel=width, **more)

        return made

    process = cpu.RFFGPC if setting.classify else cpu.RFFGPR
    learners = {
        f"{process.__name__} {m}": learner(
            process, m, std_error=np.sqrt(setting.alpha * m / 2)
        )
        for m in (1024, 4096)
    }
    machines = (cpu.RFFSVC, cpu.ORFSVC) if setting.classify else (cpu.RFFRegressor,)
    more = {"C": 2 * setting.C / 1024} if setting.classify else {}
    for make in machines:
        learners[f"{make.__name__} 1024"] = learner(make, 1024, **more)
    return learners


LEARNERS: dict[str, Callable[[Setting], Learners]] = {
    "bochner": bochner,
    "scikit-learn": scikit_learn,
    "sklearn-extra": sklearn_extra,
    "xgpr": xgpr,
    "rfflearn": rfflearn,
}
