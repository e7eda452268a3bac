"""Contenders: learners on every map, the default learner, and three references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..learners.classifier import KernelClassifier
from ..learners.regressor import KernelRegressor
from ..methods import METHODS
from .results import DEFAULT, EXACT, LINEAR, METHOD, OURS, TREES
from .task import CLASSIFICATION, Step, assembled, boosted_trees, learner_of, trees_code

COSTS = [1, 10, 100]
PENALTIES = [1, 0.1, 0.01]


def exact_machine(task: str, gamma: float) -> Any:
    """A support vector machine, or kernel ridge on centred targets."""
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
    """Imports, and Python for the same."""
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


WITHOUT_BANDWIDTH = "maxout", "maxout_codes"
"""Methods whose kernel has no γ."""

CANDIDATES_PER_COMPONENT = 4
"""Columns drawn for each that compressed features keep, at least."""

CODE_COLUMNS = 4
"""One-hot columns of a unit of argmax codes."""

EXACT_NAME, TREES_NAME = "exact kernel", "boosted trees"
DEFAULT_NAME = "default learner"


@dataclass(frozen=True)
class Contender:
    """A way to learn, which is made anew for every draw.

    Parameters
    ----------
    name : str
        A method's, "default learner", "linear", "exact kernel" or "boosted trees".
    role : str
    size : int or None
        Columns of a method's features.
    gamma : float or None
    loss : str
        Of classifiers; "squared" takes one factorisation, and the others many.
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
    def described(self) -> str:
        """The label, with the bandwidth where there is one."""
        return self.label if self.gamma is None else f"{self.label}, γ {self.gamma:g}"

    @property
    def is_learned(self) -> bool:
        """Whether the map is learned, and so approximates no kernel."""
        return self.name.startswith("compact")

    @property
    def is_random(self) -> bool:
        """Whether another seed draws another map."""
        return self.role in OURS

    @property
    def scales_itself(self) -> bool:
        """Whether it chooses how to scale features, and so gets them unscaled."""
        return self.role in (DEFAULT, TREES)

    def estimator(self, task: str, seed: int) -> Any:
        """Unfitted."""
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
        """The unfitted map; None where the learner chooses it."""
        if self.role == DEFAULT:
            return None
        if self.role == LINEAR:
            from sklearn.preprocessing import FunctionTransformer

            return FunctionTransformer(accept_sparse=True)
        return METHODS[self.name](self._n_components, **self.keywords(task))

    @property
    def _n_components(self) -> int:
        """Units of one-hot codes have several columns each, and sizes count columns."""
        assert self.size is not None
        columns = CODE_COLUMNS if self.name == "maxout_codes" else 1
        return max(1, self.size // columns)

    def keywords(self, task: str) -> dict[str, Any]:
        """Arguments of the method beside its size."""
        found: dict[str, Any] = {}
        if self.gamma is not None and self.name not in WITHOUT_BANDWIDTH:
            found["gamma"] = self.gamma
        if self.is_learned and task != CLASSIFICATION:
            found["objective"] = task
        if self.name == "maxout_codes":
            found |= {"pool_size": CODE_COLUMNS, "output": "onehot"}
        if self.name in ("giga", "frank_wolfe", "jl"):
            assert self.size is not None
            found["n_candidates"] = max(CANDIDATES_PER_COMPONENT * self.size, 1000)
        return found

    def code(self, task: str, before: tuple[Step, ...] = (), seed: int = 0) -> str:
        """Python that makes the model, with what stands before it."""
        learner = learner_of(task)
        if self.role == EXACT:
            assert self.gamma is not None
            return assembled(*exact_code(task, self.gamma), before)
        if self.role == TREES:
            return assembled(*trees_code(task, seed), before)
        if self.role == DEFAULT:
            model = f"{learner}(random_state={seed})"
            return assembled([f"from bochner import {learner}"], model, before)
        if self.role == LINEAR:
            imports = [
                "from sklearn.preprocessing import FunctionTransformer",
                f"from bochner import {learner}",
            ]
            features = "FunctionTransformer(accept_sparse=True)"
        else:
            imports = [f"from bochner import {learner}, methods"]
            given = {"": self._n_components, **self.keywords(task)}
            words = [f"{k}={v!r}" if k else f"{v!r}" for k, v in given.items()]
            features = f"methods.{self.name}({', '.join(words)})"
        loss = f", loss={self.loss!r}" if task == CLASSIFICATION else ""
        model = f"{learner}({features}{loss}, random_state={seed})"
        return assembled(imports, model, before)


def method_contenders(
    names: list[str], sizes: list[int], gamma: float, loss: str
) -> list[Contender]:
    """Every method at every size."""
    return [Contender(n, METHOD, size, gamma, loss) for size in sizes for n in names]


def default_contender() -> Contender:
    """`KernelClassifier()` or `KernelRegressor()`, as `bochner fit` has them."""
    return Contender(DEFAULT_NAME, DEFAULT, loss=KernelClassifier().loss)


def trees_contender() -> Contender:
    """Boosted trees of scikit-learn."""
    return Contender(TREES_NAME, TREES)


def references(gamma: float, loss: str, with_exact: bool) -> list[Contender]:
    """What is not ours, for comparison."""
    exact = [Contender(EXACT_NAME, EXACT, gamma=gamma)] if with_exact else []
    return [Contender("linear", LINEAR, loss=loss), *exact, trees_contender()]
