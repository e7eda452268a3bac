"""CompactMap: few features that are learned, instead of many that are drawn."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._core.ops import Ops, Tensor
from ..._core.parallel import one_blas_thread
from ..._core.progress import reporter
from ..._core.random import Stream, as_stream
from ..._core.rollback import restores_on_error
from ..._core.validation import check_count, check_flags, check_option, check_positive
from ...kernels.base import Kernel
from ...nonlinearities.cosine import Cos
from ..transformer import KernelTransformer
from .initial_model import (
    SEARCHED_ROWS,
    Recipe,
    chosen_nonlinearity,
    chosen_structure,
    search_factor,
)
from .model import Model
from .targets import OBJECTIVES, Classes, Targets, read
from .training import (
    BEYOND_HOPE,
    Adam,
    Pegasos,
    Schedule,
    Solver,
    TrainingRows,
    batch_size_for,
    exchanged,
    learn,
)

STREAM_STEPS = 1000
"""Steps after which the rate has fallen to 1/√2."""


@dataclass(eq=False)
class Online:
    """One pass over each block, at a rate that falls slowly.

    share(t) = (1 + t/1000)^-½ of the full rate at step t.
    """

    recipe: Recipe
    kernel: Kernel
    targets: Targets | None
    model: Model
    solver: Solver
    rng: Stream
    t: int = 0
    half: bool = False
    """Whether a block is being learned from, or was broken off meanwhile."""

    def add(self, rows: TrainingRows, batch_size: int | None) -> float:
        """Learn from one more block; its mean value, each batch before its step."""
        size = min(batch_size or batch_size_for(len(rows)), len(rows))
        total, rng = 0.0, self.rng.child(self.t)
        self.half = True
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for X, y in rows.batches(size, rng):
                share = (1 + self.t / STREAM_STEPS) ** -0.5
                total += self.solver.step(X, y, share)
                self.t += 1
            with exchanged(self.model, self.solver.iterate()):
                finite = all(np.isfinite(p.value).all() for p in self.model.parameters)
        return total / rows.n_batches(size) if finite else np.nan

    def settled(self) -> Self:
        """Itself, once the map that was learned is in place."""
        self.half = False
        return self


SOLVERS = "adam", "pegasos"
DEFAULT_LOSS = {"regression": "squared"}
CLASS_LOSS = {"adam": "hinge", "pegasos": "linear_hinge"}

PENALTY = {"adam": 0.0, "pegasos": 0.1}
"""λ where none is asked for."""


def _is_supervised(self: Any) -> bool:
    return self.objective != "kernel"


class CompactMap(KernelTransformer):
    """A compact nonlinear map: frequencies and phases learned for a task.

        φ(x) = √(2/M) [z_j(x)]_j,   z_j(x) = cos(θ_jᵀx + b_j)
        minimise over Θ, b, w, c   λ/2 ‖w‖² + (1/n) Σ_i loss(y_i, wᵀz(x_i) + c)

    starting from random Fourier features. As accurate as random features of many times
    its size. With objective="kernel" it learns to approximate a kernel on the data,

        minimise over Θ, b, a   mean of (k(x, x') − Σ_j a_j² z_j(x) z_j(x'))²

    (Pegasos leaves the amplitudes a alone), and φ_j(x) = a_j z_j(x).

    Parameters
    ----------
    n_components : int, default 64
        Number of features M; even for "cos_sin".
    projection : "dense" or "circulant"
        What is learned: any matrix Θ, or circulants of one vector for every d features,
        which take O(M) memory and O(M log d) time a row.
    objective : "classification", "regression" or "kernel"
        The first two need y in `fit`.
    nonlinearity : "cos" or "cos_sin"
        "cos" learns a phase for every feature.
    gamma : float, array of (n_features,) or rule, default "scale"
        Bandwidth of the kernel whose frequencies learning starts from (with
        objective="kernel", of the kernel to approximate).
    solver : "adam" or "pegasos"
        Adam on everything at once, or the paper's alternating subgradient steps, far
        behind and there for comparison.
    kernel : Kernel, name or None
        As in `RandomFeatures`.
    loss : None, "hinge", "linear_hinge" or "log"
        For classes: the squared hinge (Adam's default), the paper's (Pegasos'), or the
        logistic loss. Of more than two classes all scores are compared with each
        other. Numbers have the squared error.
    start : None, Projection or name
        The random map to start from, for projection="dense": see `projections`.
    phases : bool
        False leaves phases out (b = 0) in "cos", as the paper does.
    search : bool
        Where `gamma` is a rule, there are targets and 20 rows are held out, `fit` first
        looks for a factor on it by short runs.
    batch_size : None or int
        About how many rows a step takes. None: 500, less where there are few rows.
    max_iter : None or int
        Passes over the rows. None: as many as 4000 steps take, between 10 and 300.
    learning_rate : float
        Adam's: how far a step moves a frequency, relative to those at the start.
    alpha : None or float
        λ, for coefficients of plain cosines. None: 0 for Adam, 0.1 for Pegasos.
    validation_fraction : float
        Share of the rows (at most 5000) held out, on which the best iterate is chosen.
    n_iter_no_change : None or int
        Passes without a lower held-out loss after which learning stops. None: a third
        of max_iter.
    verbose : int
        Report progress on standard error.
    random_state : int, RandomState or None

    Attributes
    ----------
    feature_map_ : FeatureMap
        The learned map: immutable, a function of blocks of rows.
    kernel_ : Kernel
        The kernel approximated, or the one whose frequencies learning started from.
    coef_ : array of (n_outputs, n_components)
        The linear head learned along, for features of `transform`; of numbers, for
        targets less their mean, over their deviation. Not for objective="kernel".
    intercept_ : array of (n_outputs,)
    classes_ : array of (n_classes,)
    history_ : dict of arrays
        Of the last `fit`, from the start to the last pass: `epoch`, `loss`,
        `held_out_loss`, `held_out_error` (of classes: the share that is wrong) and
        `seconds`.
    n_iter_, best_iter_ : int
        Passes made, and the one whose iterate was kept.
    n_features_in_ : int

    Notes
    -----
    A pass takes 2 n d M multiply-adds for "dense" (rows beyond the margin of a hinge
    half of that), O(n max(M, d) log d) for "circulant", which pays where d is in the
    thousands; memory six times that of the map, and one batch. Rows are gathered batch
    by batch: a memory map of float32 or float64 is never read as a whole. Scale
    features that differ in size first; few rows of many features are not enough.

    References
    ----------
    F. X. Yu et al., Compact nonlinear maps and circulant extensions, 2015. Corrected:
    phases or pairs make the map shift-invariant, and Pegasos projects to 1/√λ.

    Examples
    --------
    >>> from bochner import CompactMap, datasets
    >>> digits = datasets.load("digits")
    >>> features = CompactMap(16, random_state=0).fit(digits.X_train, digits.y_train)
    >>> features.transform(digits.X_test).shape
    (360, 16)
    >>> bool((features.predict(digits.X_test) == digits.y_test).mean() > 0.94)
    True
    """

    def __init__(
        self,
        n_components: int = 64,
        *,
        projection: Any = "dense",
        objective: str = "classification",
        nonlinearity: Any = "cos",
        gamma: Any = "scale",
        solver: str = "adam",
        kernel: Any = None,
        loss: str | None = None,
        start: Any = None,
        phases: bool = True,
        search: bool = True,
        batch_size: int | None = None,
        max_iter: int | None = None,
        learning_rate: float = 0.1,
        alpha: float | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.projection = projection
        self.objective = objective
        self.nonlinearity = nonlinearity
        self.gamma = gamma
        self.solver = solver
        self.kernel = kernel
        self.loss = loss
        self.start = start
        self.phases = phases
        self.search = search
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.verbose = verbose
        self.random_state = random_state

    @restores_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw a map for X, then learn it.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
        y : array of (n,), or (n, n_targets) of numbers
            Labels of any type, or numbers; ignored for objective="kernel".

        Returns
        -------
        self
        """
        self._check()
        X, y = self._at_hand(X, y)
        targets, rows = read(self.objective, X, y)
        rng = as_stream(self.random_state)
        strata = None if targets is None else targets.strata(rows.y)
        rows, held = rows.split(self.validation_fraction, rng.child("held"), strata)
        given = self.batch_size, self.max_iter, self.n_iter_no_change
        schedule = Schedule.of(len(rows), *given)
        recipe = self._recipe()
        kernel, model = self._begin(recipe, X, targets, rows, held, rng)
        solver, report = self._solver(model), reporter(self)
        history = learn(
            model, solver, rows, held or rows, schedule, rng.child("learn"), report
        )
        self._set(recipe, kernel, targets, model)
        self.history_, self.best_iter_ = history.arrays(), history.best
        self.n_iter_ = len(history.loss) - 1
        self._n_steps = self.n_iter_ * rows.n_batches(schedule.batch_size)
        self._online: Any = None
        if history.complaint:
            warnings.warn(history.complaint, ConvergenceWarning, stacklevel=3)
        return self

    @restores_on_error
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from one more block of rows, in one pass.

        Goes on from what `fit` has learned; without that the first block sets the
        start, without a search. The rate falls with the root of the steps: there is no
        end to aim at, and nothing is held out.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
        y : array of (n,), or (n, n_targets) of numbers
        classes : array of (n_classes,)
            All labels there will be, where the first block does not hold them all.

        Returns
        -------
        self
        """
        self._check()
        X, y = self._at_hand(X, y, reset=not hasattr(self, "feature_map_"))
        left = getattr(self, "_online", None)
        online = left if left and not left.half else self._begin_online(X, y, classes)
        if online.recipe.signature != self._recipe().signature:
            raise ValueError(
                "CompactMap: partial_fit goes on from a map that was learned with "
                f"{online.recipe.signature}, which has been changed to "
                f"{self._recipe().signature}. Call fit to begin anew."
            )
        X = X.astype(online.model.dtype, copy=False)
        _, rows = read(self.objective, X, y, online.targets)
        if np.isfinite(online.add(rows, self.batch_size)):
            with exchanged(online.model, online.solver.iterate()):
                self._set(online.recipe, online.kernel, online.targets, online.model)
            self._online = online.settled()
        else:
            self._online = None
            warnings.warn(BEYOND_HOPE, ConvergenceWarning, stacklevel=3)
        return self

    def _begin_online(self, X: Any, y: Any, classes: Any) -> Online:
        """What the first block of a stream needs: a start, or what `fit` has left."""
        rng = as_stream(self.random_state)
        if hasattr(self, "feature_map_"):
            recipe, kernel, targets = self._fitted
            model = recipe.model_again(self.feature_map_, self._center, kernel, targets)
            if targets is not None:
                recipe.set_head(model, self.coef_, self.intercept_)
        else:
            recipe, targets = self._recipe(), None
            if classes is not None:
                only = ("classification",)
                check_option("CompactMap", "objective", self.objective, only)
                targets = Classes.of(classes)
            targets, rows = read(self.objective, X, y, targets)
            kernel, model = self._begin(recipe, X, targets, rows, None, rng)
        solver = self._solver(model, getattr(self, "_n_steps", 0))
        return Online(recipe, kernel, targets, model, solver, rng.child("stream"))

    @available_if(_is_supervised)
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the learned head, (n, n_outputs); (n,) where there is one.

        Of numbers, less their mean and over their deviation: see `predict`.
        """
        S = self._scores(X)
        return S[:, 0] if S.shape[1] == 1 else S

    @available_if(_is_supervised)
    def predict(self, X: Any) -> np.ndarray:
        """Labels or numbers that the learned head gives, (n,) or (n, n_targets)."""
        S = self._scores(X)
        return self._fitted[-1].decode(S)  # type: ignore[union-attr]

    @available_if(_is_supervised)
    def score(self, X: Any, y: Any) -> float:
        """Share of right labels, or R² of numbers."""
        from sklearn.metrics import accuracy_score, r2_score  # heavy to import

        judge = accuracy_score if self.objective == "classification" else r2_score
        return float(judge(y, self.predict(X)))

    def outputs(self, ops: Ops, X: Tensor) -> dict[str, Tensor]:
        """Features, and what the learned head says of them, by name."""
        F = self.forward(ops, X)
        targets = self._fitted[-1]
        if targets is None:
            return {"features": F}
        S = ops.add(ops.matmul(F, self.coef_.T), self.intercept_)
        return {"features": F} | targets.outputs(ops, S)

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "feature_map_")
        F = self.feature_map_(self._validated(X, reset=False))
        return F @ self.coef_.T.astype(F.dtype) + self.intercept_.astype(F.dtype)

    def _check(self) -> None:
        name = type(self).__name__
        check_count(name, "n_components", self.n_components)
        check_option(name, "objective", self.objective, tuple(OBJECTIVES))
        check_option(name, "solver", self.solver, SOLVERS)
        check_flags(self, "phases", "search")
        check_positive(name, "learning_rate", self.learning_rate)
        for parameter in ("batch_size", "max_iter", "n_iter_no_change"):
            if getattr(self, parameter) is not None:
                check_count(name, parameter, getattr(self, parameter))
        alpha: Any = self.alpha
        free = self.solver == "adam" and np.ndim(alpha) == 0 and alpha == 0
        if alpha is not None and not free:
            check_positive(name, "alpha", alpha)
        share = check_positive(name, "validation_fraction", self.validation_fraction)
        if share >= 1:
            raise ValueError(
                f"{name}: validation_fraction is a share of the rows, below 1; got "
                f"{share!r}."
            )
        if self.objective == "kernel":
            check_option(name, "loss (with objective='kernel')", self.loss, (None,))

    def _recipe(self) -> Recipe:
        """The parts asked for, and an error before any work if they cannot be."""
        nonlinearity = chosen_nonlinearity(self.nonlinearity, int(self.n_components))
        structure, projection = chosen_structure(self.projection, self.start)
        default = DEFAULT_LOSS.get(self.objective) or CLASS_LOSS[self.solver]
        return Recipe(
            structure,
            projection,
            nonlinearity,
            int(self.n_components),
            bool(self.phases) and isinstance(nonlinearity, Cos),
            default if self.loss is None else self.loss,
            self._penalty,
        )

    @property
    def _penalty(self) -> float:
        return PENALTY[self.solver] if self.alpha is None else float(self.alpha)

    def _begin(
        self,
        recipe: Recipe,
        X: Any,
        targets: Targets | None,
        rows: TrainingRows,
        held: TrainingRows | None,
        rng: Stream,
    ) -> tuple[Kernel, Model]:
        """The kernel, and the model before learning."""
        asked = self._kernel(recipe.nonlinearity)
        kernel = asked.resolve(X)
        start = recipe.draw(X, kernel, rng)
        self._center = start.center

        def make(factor: float) -> Model:
            return recipe.model(start, factor, kernel, targets)

        searches = self.search and asked.is_rule and targets is not None
        if not searches or held is None or len(held) < SEARCHED_ROWS:
            return kernel, make(1.0)
        factor = search_factor(
            make, self._solver, rows, held, rng.child("search"), reporter(self)
        )
        return kernel.rescaled(factor), make(factor)

    def _solver(self, model: Model, n_steps: int = 0) -> Solver:
        if self.solver == "adam":
            return Adam(model, self.learning_rate)
        return Pegasos(model, self._penalty, n_steps)

    def _set(
        self, recipe: Recipe, kernel: Kernel, targets: Targets | None, model: Model
    ) -> None:
        for stale in ("coef_", "intercept_", "classes_"):
            self.__dict__.pop(stale, None)
        self._fitted = recipe, kernel, targets
        self.kernel_ = kernel
        self.feature_map_ = recipe.feature_map(model)
        if targets is not None:
            self.coef_, self.intercept_ = recipe.head_of(model)
        if isinstance(targets, Classes):
            self.classes_ = targets.classes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.objective != "kernel"
        return tags
