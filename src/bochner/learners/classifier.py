"""KernelClassifier: kernel machines for classification."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.ops import Ops, Tensor
from .._core.parallel import one_blas_thread
from .._core.progress import reporter
from .._core.remote_rows import LazyRows, is_lazy, over_chunks
from .._core.rollback import restores_on_error
from .._core.steps import class_outputs, forward_linear
from .._core.validation import (
    check_count,
    check_flags,
    check_option,
    check_positive,
    check_weight,
)
from ..data.stream import Blocks
from ..engines.checkpoint import checkpoint_of, fingerprint, matches
from ..engines.local import KeptRows
from ..engines.sources import ArraySource, Block, BlockSource, Source
from ..features.transformer import checked_rows
from ..solvers.left_out import left_out_scores
from ..solvers.losses import LOSSES, Loss
from .automatic.leave_one_out import default_map, search_bandwidth
from .labels import (
    Labels,
    check_in_memory,
    class_numbers,
    gives_probabilities,
    label_counts,
    learns_in_parts,
    probabilities,
    split,
    temperature,
)
from .preparation import (
    Training,
    canonical,
    check_alone,
    check_class_memory,
    default_size,
    first_look,
    fit_transformer,
    gathered,
    given_features,
    is_automatic,
    kept_map,
    lazy_source,
    missing_target,
    on_few_threads,
    predicted,
    rng_of,
    seed,
    training,
)
from .scoring import AccuracyMixin
from .solving import (
    Incremental,
    Linear,
    check_alpha,
    fits_moments,
    solve_newton,
    solve_ridge,
    sums_of,
)


class KernelClassifier(AccuracyMixin, BaseEstimator):
    """A kernel machine for classification: features, and a linear classifier on them.

        minimise over w_k, b_k   Σ_i loss(y_i, w_kᵀφ(x_i) + b_k) + α/2 Σ_k ‖w_k‖²

    As it comes: Nyström features of a Gaussian kernel, landmarks near the decision
    boundary, bandwidth, scaling and α by validation, and the squared hinge of support
    vector machines. As accurate as `SVC(kernel="rbf")`, in time and memory that grow
    with n.

    Parameters
    ----------
    features : None, int, method's name or transformer
        None: map, size and bandwidth are chosen. An int: that many components of the
        default map. A name from `methods`, at automatic size. A transformer is cloned
        and fitted with y; a `FrozenEstimator` is used as it is.
    loss : "hinge", "squared" or "log"
        Squared hinge max(0, 1 − ys)² (one class against the rest), ½(y − s)² on ±1
        codes, or the multinomial logistic loss.
    alpha : "auto", float or array
        Penalty: Ridge's alpha for "squared", 1/C of `LinearSVC` and
        `LogisticRegression` for the others. "auto" or an array of candidates: by
        leave-one-out on 1000 rows (hinge) or rows held out of 2000 (log), along with
        the bandwidth where that is chosen too; for "squared", exactly, on 4096 rows.
    class_weight : None, "balanced" or dict
    fit_intercept : bool
    calibrate : bool
        The careful version of `predict_proba`: its one number is found on a fifth of
        the rows, which a second fit, choices included, never sees. By default it is
        found by leave-one-out from the fit itself.
    max_iter : int
        Newton steps.
    tol : float
        Relative gain at which they stop. Problems of up to 10⁷ feature values are
        solved to 1e-9.
    gram : "float64" or "float32"
        Arithmetic of sums of "squared"; float32 is twice as fast.
    warm_start : bool
        Keep the map and start from the coefficients of the last `fit`.
    memory : None, int or str
        Budget beside the data, as "2 GiB" (the default, or a quarter of the machine).
        Features that do not fit are made anew in every pass.
    checkpoint, checkpoint_every : path and int, optional
        As for `KernelRegressor`; "hinge" and "log" write after every Newton step.
    verbose : int
        Report progress on standard error.
    random_state : int, RandomState or None
        Fixes the map; fills nested random states that are None.

    Attributes
    ----------
    features_ : fitted transformer
    coef_ : array of (n_classes, n_components), or (1, n_components) for two classes
    intercept_ : array of (n_classes,) or (1,)
    alpha_ : float
    classes_ : array of (n_classes,)
    n_iter_ : int, Newton steps taken
    n_features_in_ : int

    Notes
    -----
    Time O(n M (d + K · passes)) for Nyström features, some tens of passes (Newton steps
    as of S. Keerthi and D. DeCoste, JMLR 2005); memory O(M²) and the budget. The
    default map alone standardises features, where validation prefers it. Predictions
    take blocks and Dask.

    Examples
    --------
    >>> from bochner import KernelClassifier, datasets
    >>> digits = datasets.load("digits")
    >>> model = KernelClassifier(random_state=0).fit(digits.X_train, digits.y_train)
    >>> model.score(digits.X_test, digits.y_test) > 0.98
    True
    """

    def __init__(
        self,
        features: Any = None,
        *,
        loss: str = "hinge",
        alpha: Any = "auto",
        class_weight: Any = None,
        fit_intercept: bool = True,
        calibrate: bool = False,
        max_iter: int = 50,
        tol: float = 0.05,
        gram: str = "float64",
        warm_start: bool = False,
        memory: Any = None,
        checkpoint: Any = None,
        checkpoint_every: int = 16,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.features = features
        self.loss = loss
        self.alpha = alpha
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.calibrate = calibrate
        self.max_iter = max_iter
        self.tol = tol
        self.gram = gram
        self.warm_start = warm_start
        self.memory = memory
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose
        self.random_state = random_state

    @restores_on_error
    @on_few_threads
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose and fit the map, then learn the linear classifier.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features), Dask collection or `blocks`
            Blocks carry their labels and are read several times, the first by the map.
        y : array of (n,)
            Labels of any type.
        sample_weight : array of (n,), optional

        Returns
        -------
        self
        """
        self._check()
        source, first = self._source(X, y, sample_weight)
        check_class_memory(self, len(self.classes_), first)
        if self.calibrate:
            check_in_memory(source)
        keep = self.warm_start and self._continues(first)
        checkpoint = checkpoint_of(self, first if isinstance(X, Blocks) else None)
        if keep:
            transformer = self.features_
        else:
            found = kept_map(self, checkpoint, lambda: self._fitted_map(first))
            transformer, self._found_alpha = found
        parts = training(self, source, transformer, first, checkpoint=checkpoint)
        self._set(parts, self._learn(parts, self._start if keep else None))
        if self.calibrate:
            self._temperature = self._calibrated(first)
        self._incremental: Any = None
        checkpoint.clear()
        return self

    @available_if(learns_in_parts)
    @restores_on_error
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from one more block; the map is fitted on the first.

        Exact for "squared": any split gives what `fit` gives on the same map. The other
        losses see each block once, tied to the curvature of the blocks before. α is
        chosen anew from all blocks for "squared", on the first block otherwise.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
        y : array of (n,)
        classes : array of (n_classes,)
            All labels there will be; needed at the first call, unless `fit` has seen
            them (what it learned is not continued).
        sample_weight : array of (n,), optional

        Returns
        -------
        self
        """
        self._check()
        begun = getattr(self, "_incremental", None) is not None
        X, y = checked_rows(self, X, y, reset=not begun)
        weight = check_weight(type(self).__name__, sample_weight, X)
        incremental = self._incremental if begun else self._begin(X, y, weight, classes)
        block = self._labels.block(X, y, weight)
        parts = training(self, ArraySource(*block), self._map, block)
        self._set(parts, incremental.add(parts.rows, parts.raw))
        self._incremental = incremental.settled()
        return self

    @over_chunks
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores, (n, n_classes); (n,) for two classes, positive for the second."""
        S = self._scores(X)
        return S[:, 0] if S.shape[1] == 1 else S

    @over_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The label of the largest score, (n,)."""
        S = self._scores(X)
        if S.shape[1] == 1:
            return self.classes_[(S[:, 0] > 0).astype(int)]
        return self.classes_[S.argmax(axis=1)]

    @available_if(gives_probabilities)
    @over_chunks
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities, (n, n_classes), in the order of `classes_`.

        softmax(a s) of the scores s. For "log" a is 1; for the other losses it is the
        number of least log loss on at most 4096 rows, each scored by the model without
        it (approximate leave-one-out), or on held-out rows with calibrate=True.
        """
        return probabilities(self._scores(X), self._temperature)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """Scores, (n, n_scores), in the operations of any namespace."""
        return forward_linear(self.features_, ops, X, self._columns, self.intercept_)

    def outputs(self, ops: Ops, X: Tensor) -> dict[str, Tensor]:
        """Everything an exported model says of rows X, by name."""
        S = self.forward(ops, X)
        results = class_outputs(ops, S, self.classes_)
        if not gives_probabilities(self):
            return results
        scaled = ops.multiply(S, float(self._temperature))
        if len(self.classes_) > 2:
            return results | {"probabilities": ops.softmax(scaled)}
        both = ops.concat([ops.negative(scaled), scaled])
        return results | {"probabilities": ops.sigmoid(both)}

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "coef_")
        X = checked_rows(self, X, reset=False)
        return predicted(self.features_, self._columns, self.intercept_, X)

    def _check(self) -> None:
        name = type(self).__name__
        check_option(name, "loss", self.loss, tuple(LOSSES))
        check_option(name, "gram", self.gram, ("float64", "float32"))
        check_count(name, "max_iter", self.max_iter)
        check_positive(name, "tol", self.tol)
        check_alpha(name, self.alpha)
        check_flags(self, "fit_intercept", "calibrate", "warm_start")

    @property
    def _loss(self) -> Loss:
        return LOSSES[self.loss](len(self.classes_))

    def _source(self, X: Any, y: Any, weight: Any) -> tuple[Source, Block]:
        """Rows with class numbers, and the rows that the map is fitted on."""
        if isinstance(X, Blocks):
            check_alone(self, y, weight)
            first, counts = first_look(X, self._checked)
            self._set_labels(Labels.of(counts, self.class_weight))
            source, first = BlockSource(X, self._labelled), self._labels.block(*first)
            return source, first if first.X.shape[0] else source.first()
        X, y, weight = gathered(X, y, weight)
        if is_lazy(X):
            lazy = lazy_source(self, X, y, weight, self._labelled, supervised=True)
            counts = lazy.summaries(label_counts)
            self._set_labels(Labels.of(counts, self.class_weight))
            return lazy, Block(lazy.X, self._labels.lazy_codes(lazy.y), lazy.weight)
        X, y, weight = self._checked(X, y, weight, True)
        self._set_labels(Labels.of([(y, weight)], self.class_weight))
        first = Labels(self.classes_, None).block(X, y, weight)
        return canonical(*self._labels.block(X, y, weight)), first

    def _checked(self, X: Any, y: Any, weight: Any, reset: bool) -> Block:
        if y is None:
            raise missing_target(self)
        X, y = checked_rows(self, X, y, reset=reset)
        return Block(X, y, check_weight(type(self).__name__, weight, X))

    def _labelled(self, X: Any, y: Any, weight: Any) -> Block:
        return self._labels.block(*self._checked(X, y, weight, False))

    def _set_labels(self, labels: Labels) -> None:
        self._labels, self.classes_ = labels, labels.classes

    def _fitted_map(self, first: Block) -> tuple[Any, float | None]:
        """The map, and α where the search for its bandwidth has found that too."""
        X, y, weight = first
        rng, report = rng_of(self), reporter(self)
        rows, alpha = canonical(*first), None
        if is_automatic(self.features):
            with one_blas_thread():  # its matrices are small, however many the rows
                gamma, alpha = search_bandwidth(rows, len(self.classes_), report)
            size = default_size(self, rows.n_rows)
            transformer = default_map(size, gamma, seed(rng, "map"))
        else:
            transformer = given_features(self, rows.n_rows, rng)
        report(f"map: {transformer}")
        labels = y if isinstance(y, LazyRows) else self.classes_[y]
        return fit_transformer(transformer, X, labels, weight), alpha

    def _learn(self, parts: Training, start: Any = None) -> Linear:
        name, loss = type(self).__name__, self._loss
        if self.loss == "squared" and fits_moments(parts.raw):
            dtype = np.dtype(self.gram)
            sums = sums_of(loss, parts.rows, self._n_outputs, dtype, self.alpha)
            size = self._labels.size(sums.moments)
            return solve_ridge(sums, self.alpha, name, self.fit_intercept, size)
        return solve_newton(
            loss,
            parts.rows,
            parts.raw,
            self._penalty,
            name,
            intercept=self.fit_intercept,
            n_outputs=self._n_outputs,
            tol=self.tol,
            max_iter=self.max_iter,
            report=reporter(self),
            checkpoint=parts.checkpoint,
            start=start,
        )

    @property
    def _n_outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    @property
    def _penalty(self) -> Any:
        """α as asked for, or as the search for the hinge's bandwidth has found it."""
        automatic = isinstance(self.alpha, str) and self.loss == "hinge"
        return self._found_alpha if automatic and self._found_alpha else self.alpha

    def _set(self, parts: Training, linear: Linear) -> None:
        B = linear.B
        self.features_, self._columns = parts.transformer, parts.raw.to_columns(B)
        self._fitted_features = fingerprint(self.features)
        self.coef_, self.intercept_ = B.T, linear.intercept
        self.alpha_, self.n_iter_ = linear.alpha, linear.n_iter
        if not self.calibrate:
            self._temperature = self._left_out_temperature(parts, linear)

    def _continues(self, first: Block) -> bool:
        """Whether the last fit was of as many classes, and of the same features."""
        if not matches(getattr(self, "_fitted_features", None), self.features):
            return False
        width = getattr(self.features_, "n_features_in_", first.X.shape[1])
        return (width, len(self.coef_)) == (first.X.shape[1], self._n_outputs)

    @property
    def _start(self) -> np.ndarray:
        """The coefficients of the last fit, with the intercept behind them."""
        return np.vstack([self.coef_.T, self.intercept_][: 1 + self.fit_intercept])

    def _left_out_temperature(self, parts: Training, linear: Linear) -> float:
        """The temperature of scores, by leave-one-out on some of the rows."""
        if self.loss == "log":
            return 1.0  # its scores are logarithms of probabilities already
        sample, rows = linear.sample, parts.rows
        if sample is not None and sample.T is not None:
            if linear.path is not None:
                S = linear.path.left_out(sample, linear.alpha).scores
                return temperature(S, class_numbers(sample.T), sample.weight)
            rows = KeptRows(sample.F, sample.T[:, 0], sample.weight, None)
        B = np.vstack([linear.B, linear.intercept][: 1 + self.fit_intercept])
        return temperature(
            *left_out_scores(self._loss, rows, B, linear.alpha, linear.n_rows)
        )

    def _calibrated(self, first: Block) -> float:
        """The same from rows that had no part in choosing or learning anything."""
        learned, held = split(canonical(*first))
        other = {"calibrate": False, "checkpoint": None, "warm_start": False}
        model = clone(self).set_params(**other)
        model.fit(learned.X, self.classes_[learned.y], learned.weight)
        X, y, weight = self._labels.block(held.X, self.classes_[held.y], held.weight)
        return temperature(model._scores(X), y, weight)

    def _begin(self, X: Any, y: Any, weight: Any, classes: Any) -> Incremental:
        """The first block of a stream: classes, map, and nothing learned yet."""
        name = type(self).__name__
        if classes is None and not hasattr(self, "classes_"):
            raise ValueError(
                f"{name}: the first call of partial_fit needs classes, all labels "
                "there will be."
            )
        classes = self.classes_ if classes is None else classes
        self._set_labels(Labels.named(classes, self.class_weight))
        block = self._labels.block(X, y, weight)
        check_class_memory(self, len(self.classes_), block)
        self._map, self._found_alpha = self._fitted_map(block)
        how = self.fit_intercept, self.gram, self._labels
        return Incremental(name, self._loss, self._penalty, *how)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
