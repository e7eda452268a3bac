"""CompactMap: a map of few learned features instead of many random ones."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._core.ops import Ops, Tensor
from ..._core.progress import reporter
from ..._core.random import Stream, as_stream
from ..._core.rollback import restores_on_error
from ..._core.validation import check_count, check_flags, check_option, check_positive
from ...kernels.base import Kernel
from ...nonlinearities.base import Nonlinearity
from ...nonlinearities.cosine import Cos
from ...projections.base import Projection
from ..transformer import KernelTransformer
from .initial_model import (
    MIN_SEARCH_ROWS,
    Recipe,
    check_nonlinearity,
    check_structure,
    search_factor,
)
from .model import Model
from .online import OnlineTraining
from .optimizers import Adam, Pegasos, Solver
from .targets import OBJECTIVES, Classes, Targets, training_rows
from .training import (
    DIVERGENCE_MESSAGE,
    Schedule,
    TrainingRows,
    learn,
    temporary_values,
)

SOLVERS = "adam", "pegasos"
CLASS_LOSS = {"adam": "hinge", "pegasos": "linear_hinge"}
"""Default loss of classification, by solver."""

PENALTY = {"adam": 0.0, "pegasos": 0.1}
"""Default λ, by solver."""


def _is_supervised(self: Any) -> bool:
    return self.objective != "kernel"


class CompactMap(KernelTransformer):
    """A compact nonlinear map: frequencies and phases learned for a task.

        φ(x) = √(2/M) [z_j(x)]_j,   z_j(x) = cos(θ_jᵀx + b_j)
        minimise over Θ, b, w, c   λ/2 ‖w‖² + (1/n) Σ_i loss(y_i, wᵀz(x_i) + c)

    starting from random Fourier features. The learned map is as accurate as a random
    map with many times as many features. With objective="kernel" the map is learned to
    approximate a kernel on the data,

        minimise over Θ, b, a   mean of (k(x, x') − Σ_j a_j² z_j(x) z_j(x'))²

    and φ_j(x) = a_j z_j(x). (Pegasos does not learn the amplitudes a.)

    Parameters
    ----------
    n_components : int, default 64
        M, the number of features; even for "cos_sin".
    projection : {"dense", "circulant"} or Projection, default "dense"
        Structure of the learned Θ: any matrix, or circulants of one vector for every d
        features, which take O(M) memory and O(M log d) time per row.
    objective : {"classification", "regression", "kernel"}, default "classification"
        The task. The first two need y in `fit`.
    nonlinearity : {"cos", "cos_sin"} or Nonlinearity, default "cos"
        "cos" learns a phase for every feature; "cos_sin" has cosines and sines.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of `kernel`, or the name of a rule that derives it from the data (see
        `kernels.Gaussian`).
    solver : {"adam", "pegasos"}, default "adam"
        Adam on all parameters at once, or the paper's alternating subgradient steps,
        which are far less accurate and included for comparison.
    kernel : Kernel, str or None, default None
        The kernel whose random frequencies learning starts from, which is also the
        kernel to approximate with objective="kernel". None is the Gaussian kernel.
    loss : {"hinge", "linear_hinge", "log"} or None, default None
        Loss of classification: the squared hinge (default for Adam), the paper's hinge
        (default for Pegasos) or the logistic loss. With more than two classes all
        scores are compared with each other. Regression uses the squared error.
    start : Projection, str or None, default None
        Projection that draws the initial map, for projection="dense" only; None is
        `projection` itself.
    phases : bool, default True
        False omits the phases (b = 0) of "cos", as the paper does.
    search : bool, default True
        Whether `fit` first searches for a factor on the bandwidth by short runs, if
        `gamma` is a rule, y is used and at least 20 rows are held out.
    batch_size : int or None, default None
        Approximate number of rows per step. None: 500, or fewer if there are few rows.
    max_iter : int or None, default None
        Number of passes over the rows. None: as many as 4000 steps need, from 10 to
        300.
    learning_rate : float, default 0.1
        Step size of Adam, relative to the size of the initial frequencies.
    alpha : float or None, default None
        λ, for coefficients of cosines without a factor. None: 0 for Adam, 0.1 for
        Pegasos.
    validation_fraction : float, default 0.1
        Share of the rows to hold out (at most 5000 rows); the best iterate is chosen on
        them.
    n_iter_no_change : int or None, default None
        Number of passes without a lower held-out loss after which learning stops. None:
        a third of max_iter.
    verbose : int, default 0
        Whether to report progress on standard error.
    random_state : int, RandomState or None, default None
        Seed of all random draws.

    Attributes
    ----------
    feature_map_ : FeatureMap
        The learned map, an immutable function of rows.
    kernel_ : Kernel
        The kernel that learning started from or approximates, with its bandwidth
        resolved.
    coef_ : array of shape (n_outputs, n_components)
        Coefficients w of the learned linear head, for the features of `transform`. In
        regression they predict standardised targets. Not set for objective="kernel".
    intercept_ : array of shape (n_outputs,)
        Intercepts c of the linear head.
    classes_ : array of shape (n_classes,)
        Class labels; set for objective="classification" only.
    history_ : dict of arrays
        One entry per pass of the last `fit`, and one for the initial map: `epoch`,
        `loss`, `held_out_loss`, `held_out_error` (in classification, the share of wrong
        labels) and `seconds`.
    n_iter_ : int
        Number of passes.
    best_iter_ : int
        The pass whose iterate was kept.
    n_features_in_ : int
        Number of features of X.

    See Also
    --------
    RandomFeatures : The same maps with random frequencies.
    bochner.methods.compact_circulant : Learned maps of circulant structure.

    Notes
    -----
    A pass takes 2 n d M multiply-adds for "dense" (half of that for rows beyond the
    margin of a hinge loss), and O(n max(M, d) log d) time for "circulant", which is
    faster if d is in the thousands. Memory: six times that of the map, and one batch.
    Rows are read batch by batch: a memory map of float32 or float64 is never loaded as
    a whole. Features of different sizes should be scaled first. Learning needs more
    than a few rows if there are many features.

    References
    ----------
    F. X. Yu et al., Compact nonlinear maps and circulant extensions, 2015. Two
    corrections: phases or pairs make the map shift-invariant, and Pegasos projects to
    ‖w‖ ≤ 1/√λ.

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
        projection: Projection | str = "dense",
        objective: str = "classification",
        nonlinearity: Nonlinearity | str = "cos",
        gamma: float | str | ArrayLike = "scale",
        solver: str = "adam",
        kernel: Kernel | str | None = None,
        loss: str | None = None,
        start: Projection | str | None = None,
        phases: bool = True,
        search: bool = True,
        batch_size: int | None = None,
        max_iter: int | None = None,
        learning_rate: float = 0.1,
        alpha: float | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
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
        """Draw an initial map for X, then learn.

        Parameters
        ----------
        X : array, CSR matrix or Dask collection of shape (n, n_features)
            Training rows; of a Dask collection, a sample is used.
        y : array of shape (n,) or (n, n_targets), or None, default None
            Labels of any type, or numbers; ignored for objective="kernel".

        Returns
        -------
        self

        Warns
        -----
        ConvergenceWarning
            If the loss diverges or learning is interrupted.
        """
        self._check_parameters()
        X, y = self._in_memory(X, y)
        targets, rows = training_rows(self.objective, X, y)
        rng = as_stream(self.random_state)
        strata = None if targets is None else targets.strata(rows.y)
        rows, held = rows.split(self.validation_fraction, rng.child("held"), strata)
        schedule = Schedule.of(
            len(rows), self.batch_size, self.max_iter, self.n_iter_no_change
        )
        recipe = self._recipe()
        kernel, model = self._initial_model(recipe, X, targets, rows, held, rng)
        solver, report = self._solver(model), reporter(self)
        history = learn(
            model, solver, rows, held or rows, schedule, rng.child("learn"), report
        )
        self._set_fitted(recipe, kernel, targets, model)
        self.history_, self.best_iter_ = history.arrays(), history.best
        self.n_iter_ = len(history.loss) - 1
        self._n_steps = self.n_iter_ * rows.n_batches(schedule.batch_size)
        self._online: OnlineTraining | None = None
        if history.warning:
            warnings.warn(history.warning, ConvergenceWarning, stacklevel=3)
        return self

    @restores_on_error
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from one more block of rows, in one pass.

        Learning resumes from the map of an earlier `fit`. Without one, the first block
        determines the initial map, without a search for the bandwidth. The learning
        rate falls with the square root of the number of steps, because the end of the
        stream is unknown, and no rows are held out.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
            Rows of the block.
        y : array of shape (n,) or (n, n_targets), or None, default None
            Labels or numbers; ignored for objective="kernel".
        classes : array of shape (n_classes,) or None, default None
            All labels of the stream; needed if the first block does not contain all.

        Returns
        -------
        self

        Warns
        -----
        ConvergenceWarning
            If the parameters diverge; the map before the block is kept.
        """
        self._check_parameters()
        X, y = self._in_memory(X, y, reset=not hasattr(self, "feature_map_"))
        online = getattr(self, "_online", None)
        if online is None or online.incomplete:
            online = self._begin_online(X, y, classes)
        if online.recipe.signature != self._recipe().signature:
            raise ValueError(
                "CompactMap: partial_fit must have the parameters of the map that it "
                f"resumes from, {online.recipe.signature}; got "
                f"{self._recipe().signature}. Restore them, or call fit to start again."
            )
        X = X.astype(online.model.dtype, copy=False)
        _, rows = training_rows(self.objective, X, y, online.targets)
        if np.isfinite(online.add(rows, self.batch_size)):
            with temporary_values(online.model, online.solver.iterate()):
                self._set_fitted(
                    online.recipe, online.kernel, online.targets, online.model
                )
            online.incomplete = False
            self._online = online
        else:
            self._online = None
            warnings.warn(DIVERGENCE_MESSAGE, ConvergenceWarning, stacklevel=3)
        return self

    def _begin_online(self, X: Any, y: Any, classes: Any) -> OnlineTraining:
        """Training that starts from the fitted map, or from a new initial map."""
        rng = as_stream(self.random_state)
        if hasattr(self, "feature_map_"):
            recipe, kernel, targets = self._fitted
            model = recipe.restore_model(
                self.feature_map_, self._center, kernel, targets
            )
            if targets is not None:
                recipe.set_head(model, self.coef_, self.intercept_)
        else:
            recipe, targets = self._recipe(), None
            if classes is not None:
                allowed = ("classification",)
                check_option("CompactMap", "objective", self.objective, allowed)
                targets = Classes.of(classes)
            targets, rows = training_rows(self.objective, X, y, targets)
            kernel, model = self._initial_model(recipe, X, targets, rows, None, rng)
        solver = self._solver(model, getattr(self, "_n_steps", 0))
        stream_rng = rng.child("stream")
        return OnlineTraining(recipe, kernel, targets, model, solver, stream_rng)

    @available_if(_is_supervised)
    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of the learned linear head.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n,) or (n, n_outputs)
            One score for two classes, otherwise one per class; in regression,
            standardised predictions.
        """
        S = self._scores(X)
        return S[:, 0] if S.shape[1] == 1 else S

    @available_if(_is_supervised)
    def predict(self, X: Any) -> np.ndarray:
        """Predict with the learned linear head.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n,) or (n, n_targets)
            Labels or numbers.
        """
        S = self._scores(X)
        return self._fitted[-1].decode(S)  # type: ignore[union-attr]

    @available_if(_is_supervised)
    def score(self, X: Any, y: ArrayLike) -> float:
        """Accuracy of the predicted labels, or R² of the predicted numbers.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
            Rows.
        y : array of shape (n,) or (n, n_targets)
            True labels or numbers.

        Returns
        -------
        float
        """
        from sklearn.metrics import accuracy_score, r2_score  # heavy to import

        metric = accuracy_score if self.objective == "classification" else r2_score
        return float(metric(y, self.predict(X)))

    def outputs(self, ops: Ops, X: Tensor) -> dict[str, Tensor]:
        """The features and the outputs of the learned head for rows X, by name."""
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

    def _check_parameters(self) -> None:
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
        is_zero = np.ndim(alpha) == 0 and alpha == 0
        if alpha is not None and not (is_zero and self.solver == "adam"):
            check_positive(name, "alpha", alpha)
        share = check_positive(name, "validation_fraction", self.validation_fraction)
        if share >= 1:
            raise ValueError(
                f"{name}: validation_fraction must be a share of the rows, below 1; "
                f"got {share!r}."
            )
        if self.objective == "kernel":
            check_option(name, "loss (with objective='kernel')", self.loss, (None,))

    def _recipe(self) -> Recipe:
        """The parts as objects; raises an error if they do not work together."""
        nonlinearity = check_nonlinearity(self.nonlinearity, int(self.n_components))
        structure, projection = check_structure(self.projection, self.start)
        is_regression = self.objective == "regression"
        default = "squared" if is_regression else CLASS_LOSS[self.solver]
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

    def _initial_model(
        self,
        recipe: Recipe,
        X: Any,
        targets: Targets | None,
        rows: TrainingRows,
        held: TrainingRows | None,
        rng: Stream,
    ) -> tuple[Kernel, Model]:
        """The kernel with its bandwidth resolved, and the model before learning."""
        unresolved = self._kernel(recipe.nonlinearity)
        kernel = unresolved.resolve(X)
        initial = recipe.draw(X, kernel, rng)
        self._center = initial.center

        def make_model(factor: float) -> Model:
            return recipe.model(initial, factor, kernel, targets)

        searches = self.search and unresolved.is_rule and targets is not None
        if not searches or held is None or len(held) < MIN_SEARCH_ROWS:
            return kernel, make_model(1.0)
        factor = search_factor(
            make_model, self._solver, rows, held, rng.child("search"), reporter(self)
        )
        return kernel.rescaled(factor), make_model(factor)

    def _solver(self, model: Model, n_steps: int = 0) -> Solver:
        if self.solver == "adam":
            return Adam(model, self.learning_rate)
        return Pegasos(model, self._penalty, n_steps)

    def _set_fitted(
        self, recipe: Recipe, kernel: Kernel, targets: Targets | None, model: Model
    ) -> None:
        """Set the fitted attributes, and delete those of an earlier fit."""
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
