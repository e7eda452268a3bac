"""Contenders of a comparison: feature maps, the default learner, three references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..learners.classifier import KernelClassifier
from ..learners.regressor import KernelRegressor
from ..methods import METHODS
from .results import DEFAULT, EXACT, LINEAR, METHOD, OURS, TREES
from .task import (
    CLASSIFICATION,
    Step,
    boosted_trees,
    learner_of,
    model_code,
    trees_code,
)

COSTS = [1, 10, 100]
PENALTIES = [1, 0.1, 0.01]
"""Candidates of C and alpha for the exact machines."""

WITHOUT_BANDWIDTH = "maxout", "maxout_codes"
"""Methods whose kernel has no γ."""

CANDIDATES_PER_COMPONENT = 4
"""Candidates drawn for every column that compressed features keep, at least."""

MIN_CANDIDATES = 1000
"""Candidates of compressed features, at least."""

CODE_COLUMNS = 4
"""One-hot columns of a unit of argmax codes."""

EXACT_NAME, TREES_NAME = "exact kernel", "boosted trees"
DEFAULT_NAME = "default learner"


def exact_machine(task: str, gamma: float) -> Any:
    """A support vector machine, or kernel ridge regression on standardised targets."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV, ShuffleSplit
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    held_out = ShuffleSplit(1, test_size=0.2, random_state=0)
    if task == CLASSIFICATION:
        return GridSearchCV(
            SVC(gamma=gamma), {"C": COSTS}, cv=held_out, error_score="raise"
        )
    ridge = GridSearchCV(
        KernelRidge(kernel="rbf", gamma=gamma),
        {"alpha": PENALTIES},
        cv=held_out,
        error_score="raise",
    )
    return TransformedTargetRegressor(ridge, transformer=StandardScaler())


def exact_code(task: str, gamma: float) -> tuple[list[str], str]:
    """Import lines and the expression that build `exact_machine(task, gamma)`."""
    imports = ["from sklearn.model_selection import GridSearchCV, ShuffleSplit"]
    split = "ShuffleSplit(1, test_size=0.2, random_state=0)"
    held_out = f"cv={split}, error_score='raise'"
    if task == CLASSIFICATION:
        imports.append("from sklearn.svm import SVC")
        return (
            imports,
            f"GridSearchCV(SVC(gamma={gamma}), {{'C': {COSTS}}}, {held_out})",
        )
    imports += [
        "from sklearn.compose import TransformedTargetRegressor",
        "from sklearn.kernel_ridge import KernelRidge",
        "from sklearn.preprocessing import StandardScaler",
    ]
    ridge = f"KernelRidge(kernel='rbf', gamma={gamma})"
    search = f"GridSearchCV({ridge}, {{'alpha': {PENALTIES}}}, {held_out})"
    return (
        imports,
        f"TransformedTargetRegressor({search}, transformer=StandardScaler())",
    )


@dataclass(frozen=True)
class Contender:
    """A recipe for an estimator, from which every seed builds a new one.

    Parameters
    ----------
    name : str
        Name of a method, "default learner", "linear", "exact kernel" or "boosted
        trees".
    role : str
        One of the roles in `results`.
    size : int, default=None
        Number of feature columns of a method; None for other roles.
    gamma : float, default=None
        Bandwidth of the kernel; None for contenders without one.
    loss : {"squared", "hinge", "log"}, default="squared"
        Loss of classifiers. "squared" needs one factorisation, the others many.
    """

    name: str
    role: str
    size: int | None = None
    gamma: float | None = None
    loss: str = "squared"

    @property
    def label(self) -> str:
        return self.name if self.size is None else f"{self.name}, {self.size}"

    @property
    def description(self) -> str:
        """The label, followed by the bandwidth if there is one."""
        return self.label if self.gamma is None else f"{self.label}, γ {self.gamma:g}"

    @property
    def is_learned(self) -> bool:
        """Whether the map is learned and therefore does not approximate a kernel."""
        return self.name.startswith("compact")

    @property
    def is_random(self) -> bool:
        """Whether the contender draws a random map, which repeats average over."""
        return self.role in OURS

    @property
    def scales_itself(self) -> bool:
        """Whether the contender scales features itself and receives them unscaled."""
        return self.role in (DEFAULT, TREES)

    def estimator(self, task: str, seed: int) -> Any:
        """The unfitted estimator."""
        if self.role == EXACT:
            assert self.gamma is not None
            return exact_machine(task, self.gamma)
        if self.role == TREES:
            return boosted_trees(task, seed)
        if task == CLASSIFICATION:
            return KernelClassifier(
                self.features(task), loss=self.loss, random_state=seed
            )
        return KernelRegressor(self.features(task), random_state=seed)

    def features(self, task: str) -> Any:
        """The unfitted map; None if the learner chooses the map."""
        if self.role == DEFAULT:
            return None
        if self.role == LINEAR:
            from sklearn.preprocessing import FunctionTransformer

            return FunctionTransformer(accept_sparse=True)
        return METHODS[self.name](self._n_components, **self._method_arguments(task))

    @property
    def _n_components(self) -> int:
        """The size in units: a unit of one-hot codes has several columns."""
        assert self.size is not None
        columns_per_unit = CODE_COLUMNS if self.name == "maxout_codes" else 1
        return max(1, self.size // columns_per_unit)

    def _method_arguments(self, task: str) -> dict[str, Any]:
        """Keyword arguments of the method."""
        arguments: dict[str, Any] = {}
        if self.gamma is not None and self.name not in WITHOUT_BANDWIDTH:
            arguments["gamma"] = self.gamma
        if self.is_learned and task != CLASSIFICATION:
            arguments["objective"] = task
        if self.name == "maxout_codes":
            arguments |= {"pool_size": CODE_COLUMNS, "output": "onehot"}
        if self.name in ("giga", "frank_wolfe", "jl"):
            assert self.size is not None
            arguments["n_candidates"] = max(
                CANDIDATES_PER_COMPONENT * self.size, MIN_CANDIDATES
            )
        return arguments

    def code(self, task: str, steps: tuple[Step, ...] = (), seed: int = 0) -> str:
        """Python code that builds the model behind the given preprocessing steps."""
        learner = learner_of(task)
        if self.role == EXACT:
            assert self.gamma is not None
            return model_code(*exact_code(task, self.gamma), steps)
        if self.role == TREES:
            return model_code(*trees_code(task, seed), steps)
        if self.role == DEFAULT:
            model = f"{learner}(random_state={seed})"
            return model_code([f"from bochner import {learner}"], model, steps)
        if self.role == LINEAR:
            imports = [
                "from sklearn.preprocessing import FunctionTransformer",
                f"from bochner import {learner}",
            ]
            features = "FunctionTransformer(accept_sparse=True)"
        else:
            imports = [f"from bochner import {learner}, methods"]
            keywords = self._method_arguments(task).items()
            arguments = [str(self._n_components), *(f"{k}={v!r}" for k, v in keywords)]
            features = f"methods.{self.name}({', '.join(arguments)})"
        loss = f", loss={self.loss!r}" if task == CLASSIFICATION else ""
        model = f"{learner}({features}{loss}, random_state={seed})"
        return model_code(imports, model, steps)


def method_contenders(
    names: list[str], sizes: list[int], gamma: float, loss: str
) -> list[Contender]:
    """Every method at every size."""
    return [Contender(n, METHOD, size, gamma, loss) for size in sizes for n in names]


def default_contender() -> Contender:
    """`KernelClassifier()` or `KernelRegressor()`, as `bochner fit` uses them."""
    return Contender(DEFAULT_NAME, DEFAULT, loss=KernelClassifier().loss)


def trees_contender() -> Contender:
    """scikit-learn's boosted trees."""
    return Contender(TREES_NAME, TREES)


def references(gamma: float, loss: str, with_exact: bool) -> list[Contender]:
    """The linear model, the exact machine if requested, and boosted trees."""
    exact = [Contender(EXACT_NAME, EXACT, gamma=gamma)] if with_exact else []
    return [Contender("linear", LINEAR, loss=loss), *exact, trees_contender()]
