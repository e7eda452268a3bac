"""KernelRegressor: kernel ridge regression and approximate Gaussian processes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from .._core.ops import Ops, Tensor
from .._core.parallel import one_blas_thread
from .._core.progress import reporter
from .._core.remote_rows import LazyRows, is_lazy, over_chunks
from .._core.rollback import restores_on_error
from .._core.steps import forward, forward_linear
from .._core.validation import (
    check_flags,
    check_numeric_target,
    check_option,
    check_weight,
    warn_user,
)
from ..data.stream import Blocks
from ..engines.checkpoint import checkpoint_of
from ..engines.local import PASSING_BYTES, FeatureRows, raw_features
from ..engines.sources import ArraySource, Block, BlockSource, Source
from ..features.nystroem import Nystroem
from ..features.transformer import checked_rows
from ..solvers.losses import Squared
from ..solvers.rows import mixed
from .automatic.evidence import search_kernel
from .preparation import (
    Training,
    canonical,
    check_alone,
    default_size,
    first_block,
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
from .scoring import R2Mixin
from .solving import (
    Incremental,
    Linear,
    check_alpha,
    fits_moments,
    solve_newton,
    solve_ridge,
    sums_of,
)

LARGEST_TARGET = 1e100
"""Residuals are divided by as little as ALONE = 1e-6, squared and summed over rows:
(1e100 · 1e6)² · 2^63 is 1e231, well inside float64's 1e308."""

CG_TOL = 1e-14
"""Relative gain at which conjugate gradients stop: coefficients to about 1e-7."""


class KernelRegressor(MultiOutputMixin, R2Mixin, BaseEstimator):
    """Kernel ridge regression on features: a Gaussian process that scales.

        minimise over w, b   ½ Σ_i (y_i − wᵀφ(x_i) − b)² + α/2 ‖w‖²

    which is the mean of a Gaussian process with kernel σ²/α ⟨φ(x), φ(y)⟩ and noise σ².
    As it comes: Nyström features of a Gaussian or Matérn kernel, one bandwidth per
    feature, chosen by the evidence of the exact process on at most 1000 rows, and α by
    leave-one-out.

    Parameters
    ----------
    features : None, int, method's name or transformer
        As for `KernelClassifier`.
    alpha : "auto", float or array
        Ridge's alpha. "auto" or an array of candidates: by exact leave-one-out on 4096
        rows, from the factorisation that the fit needs anyway (generalised
        cross-validation, which needs no rows, is misled by rows far from the others);
        on a part of 2000 rows held out past 8192 features.
    fit_intercept : bool
    gram : "float64" or "float32"
        Arithmetic of the sums; float32 is twice as fast.
    memory : None, int or str
        Budget beside the data, as "2 GiB" (the default, or a quarter of the machine).
        Choosing α takes 4096 rows of features beside it, twice, in float64.
    checkpoint : path, optional
        A file for the state of a fit on `blocks`, from which the same call goes on
        after a kill, with the same `memory` to the same bits. It is deleted at the end.
        A pickle: resume only from files that you wrote.
    checkpoint_every : int
        Blocks between two writings.
    verbose : int
        Report progress on standard error.
    random_state : int, RandomState or None
        Fixes the map; fills nested random states that are None.

    Attributes
    ----------
    features_ : fitted transformer
    coef_ : array of (n_components,), or (n_targets, n_components)
    intercept_ : float, or array of (n_targets,)
    alpha_ : float
    noise_ : float, or array of (n_targets,)
        Variance of the noise, σ², from residuals of at most 4096 rows; a few outliers
        leave it as it is.
    log_marginal_likelihood_ : float
        log p(y) of the process with this map and α, at the best σ²; with an intercept
        of y about its mean. Not there past 8192 features.
    n_features_in_ : int

    Notes
    -----
    Time O(n M (d + M)) and O(M³), memory O(M²) whatever n. Standard deviations take
    another O(M²) a row. `predict` takes blocks and Dask collections too, the latter
    lazily.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, Gaussian processes for machine learning, MIT
    Press 2006, sections 2.3 and 8.3.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelRegressor
    >>> X = np.linspace(0, 6, 200).reshape(-1, 1)
    >>> model = KernelRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict([[1.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 1e-3)
    True
    """

    def __init__(
        self,
        features: Any = None,
        *,
        alpha: Any = "auto",
        fit_intercept: bool = True,
        gram: str = "float64",
        memory: Any = None,
        checkpoint: Any = None,
        checkpoint_every: int = 16,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.features = features
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.gram = gram
        self.memory = memory
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose
        self.random_state = random_state

    @restores_on_error
    @on_few_threads
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose and fit the map, then solve for the coefficients.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features), Dask collection or `blocks`
            Blocks carry their targets; the map is fitted on the first.
        y : array of (n,) or (n, n_targets)
        sample_weight : array of (n,), optional

        Returns
        -------
        self
        """
        self._check()
        source, first = self._source(X, y, sample_weight)
        checkpoint = checkpoint_of(self, first if isinstance(X, Blocks) else None)
        transformer = kept_map(self, checkpoint, lambda: self._fitted_map(first))
        parts = training(self, source, transformer, first, checkpoint=checkpoint)
        self._set(parts, self._learn(parts))
        self._incremental: Any = None
        checkpoint.clear()
        return self

    @restores_on_error
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from one more block; the map is fitted on the first.

        Exact: any split of the rows gives what `fit` gives on the same map (but that
        equal rows in different blocks are not left out together when α is chosen). Each
        call solves for all blocks so far, in O(M³). After `fit` a new stream begins.
        """
        self._check()
        self._add(self._checked(X, y, sample_weight, not self._begun))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean, (n,) or (n, n_targets), and on request its standard deviation.

        The deviation is that of a new observation: √(σ² (1 + φᵀ(FᵀF + αI)⁻¹φ)).
        """
        check_is_fitted(self, "coef_")
        if return_std:
            self._warn_of_intervals()
        return self._predict(X, return_std)

    @over_chunks
    def _predict(self, X: Any, return_std: bool) -> Any:
        X = checked_rows(self, X, reset=False)
        S = predicted(self.features_, self._B, self._b, X)
        mean = S[:, 0] if self._flat else S
        if not return_std:
            return mean
        self._check_posterior()
        variance = np.outer(1 + self._leverage(X), np.atleast_1d(self.noise_))
        std = np.sqrt(variance).astype(S.dtype)
        return mean, std[:, 0] if self._flat else std

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """Predictions, (n,) or (n, n_targets), in the operations of any namespace."""
        S = forward_linear(self.features_, ops, X, self._B, self._b)
        return ops.reshape(S, -1) if self._flat else S

    def outputs(self, ops: Ops, X: Tensor) -> dict[str, Tensor]:
        """Everything an exported model says of rows X, by name."""
        return {"prediction": self.forward(ops, X)}

    def forward_std(self, ops: Ops, X: Tensor) -> Tensor:
        """√(noise (1 + φᵀ(FᵀF + αI)⁻¹φ)), computed in float64."""
        self._check_posterior()
        F = ops.cast(forward(self.features_, ops, X), np.float64)
        posterior, noise = self._posterior, np.atleast_1d(self.noise_)
        with ops.computing_in(np.float64):
            A = ops.subtract(ops.matmul(F, posterior.root), posterior.shift)
            spread = ops.add(ops.sum_squares(A), 1.0 + float(posterior.constant))
            std = ops.sqrt(ops.multiply(spread, noise.astype(np.float64)))
        std = ops.cast(std, ops.dtype)
        return ops.reshape(std, -1) if self._flat else std

    def _check_posterior(self) -> None:
        if self._posterior is None:
            raise ValueError(
                "KernelRegressor: standard deviations need the square of the number of "
                "features in memory, at most 8192²; use fewer features."
            )

    def _warn_of_intervals(self) -> None:
        """Warn where intervals do not hold what they promise on rows left out."""
        missed = getattr(self, "_missed_interval", None)  # earlier versions kept none
        if missed is not None:
            level, share = missed
            warn_user(
                "KernelRegressor: the noise is not the same everywhere, or far from "
                f"normal: {share:.0%} of the training targets, each left out, lie "
                f"inside the interval that should hold {level:.0%}. Where intervals "
                "matter, take quantiles of residuals on held-out rows."
            )

    def _check(self) -> None:
        check_option(type(self).__name__, "gram", self.gram, ("float64", "float32"))
        check_alpha(type(self).__name__, self.alpha)
        check_flags(self, "fit_intercept")

    def _source(self, X: Any, y: Any, sample_weight: Any) -> tuple[Source, Block]:
        """Rows with their targets, and the rows that the map is fitted on."""
        if isinstance(X, Blocks):
            check_alone(self, y, sample_weight)
            return BlockSource(X, self._again), first_block(X, self._checked)
        X, y, sample_weight = gathered(X, y, sample_weight)
        if is_lazy(X):
            return self._lazy_source(X, y, sample_weight)
        block = self._checked(X, y, sample_weight, True)
        return canonical(*block), block

    def _lazy_source(self, X: Any, y: Any, weight: Any) -> tuple[Source, Block]:
        source = lazy_source(self, X, y, weight, self._again, supervised=True)
        self._target_shape = source.y.shape[1:]
        y = source.y.converted(lambda t: t.reshape(len(t), -1).astype(np.float64))
        return source, Block(source.X, y, source.weight)

    def _checked(self, X: Any, y: Any, weight: Any, reset: bool) -> Block:
        if y is None:
            raise missing_target(self)
        check_numeric_target(type(self).__name__, y)
        X, y = checked_rows(self, X, y, reset=reset, multi_output=True, y_numeric=True)
        weight = check_weight(type(self).__name__, weight, X)
        shape = y.shape[1:]
        if reset:
            self._target_shape = shape
        elif shape != self._target_shape:
            raise ValueError(
                "KernelRegressor: y of the first block had shape (n, "
                f"{', '.join(map(str, self._target_shape))}) and this one "
                f"{y.shape}; blocks must agree."
            )
        y = y.reshape(len(y), -1).astype(np.float64)
        if np.abs(y).max(initial=0) > min(float(np.finfo(X.dtype).max), LARGEST_TARGET):
            raise ValueError(
                f"KernelRegressor: y reaches {np.abs(y).max():.3g}, beyond the range "
                f"of predictions in {X.dtype}, X's type, or of their squares; divide y "
                "by a constant."
            )
        return Block(X, y, weight).present()

    @property
    def _flat(self) -> bool:
        return self._target_shape == ()

    def _again(self, X: Any, y: Any, weight: Any) -> Block:
        return self._checked(X, y, weight, False)

    def _fitted_map(self, first: Block) -> Any:
        X, y, weight = first
        rng, report = rng_of(self), reporter(self)
        if is_automatic(self.features):
            rows = canonical(*first)
            with one_blas_thread():  # its matrices are small, however many the rows
                kernel = search_kernel(rows.X, rows.y, rows.weight, report)
            size = default_size(self, rows.n_rows)
            transformer: Any = Nystroem(
                size, kernel=kernel, random_state=seed(rng, "map")
            )
        else:
            transformer = given_features(self, canonical(*first).n_rows, rng)
        report(f"map: {transformer}")
        lazy = isinstance(y, LazyRows)
        target = y[:, 0] if self._flat and not lazy else y
        return fit_transformer(transformer, X, target, weight)

    def _learn(self, parts: Training) -> Linear:
        name, loss = type(self).__name__, Squared()
        n_outputs = int(np.prod(self._target_shape))
        if fits_moments(parts.raw):
            dtype = np.dtype(self.gram)
            sums = sums_of(loss, parts.rows, n_outputs, dtype, self.alpha)
            return solve_ridge(sums, self.alpha, name, self.fit_intercept)
        return solve_newton(
            loss,
            parts.rows,
            parts.raw,
            self.alpha,
            name,
            intercept=self.fit_intercept,
            n_outputs=n_outputs,
            tol=CG_TOL,
            max_iter=20,
            report=reporter(self),
            checkpoint=parts.checkpoint,
        )

    @property
    def _begun(self) -> bool:
        return getattr(self, "_incremental", None) is not None

    def _add(self, block: Block) -> None:
        incremental = self._incremental if self._begun else None
        if incremental is None:
            self._map = self._fitted_map(block)
            incremental = Incremental(
                type(self).__name__,
                Squared(),
                self.alpha,
                self.fit_intercept,
                self.gram,
            )
        parts = training(self, ArraySource(*block), self._map, block)
        self._set(parts, incremental.add(parts.rows, parts.raw))
        self._incremental = incremental.settled()

    def _set(self, parts: Training, linear: Linear) -> None:
        self.features_ = parts.transformer
        self._B, self._b = parts.raw.to_columns(linear.B), linear.intercept
        self.coef_ = linear.B[:, 0] if self._flat else linear.B.T
        self.intercept_ = float(self._b[0]) if self._flat else self._b
        self.alpha_ = linear.alpha
        self._posterior: Any = None
        for name in ("noise_", "log_marginal_likelihood_"):
            self.__dict__.pop(name, None)
        self._missed_interval: Any = None
        if linear.path is not None and linear.sample is not None:
            left_out = linear.path.left_out(linear.sample, linear.alpha)
            self.noise_ = float(left_out.noise[0]) if self._flat else left_out.noise
            self._missed_interval = left_out.missed_interval()
            self.log_marginal_likelihood_ = linear.path.log_evidence(linear.alpha)
            self._posterior = linear.path.posterior(linear.alpha)

    def _leverage(self, X: Any) -> np.ndarray:
        """φᵀ(FᵀF + αI)⁻¹φ of rows X about the mean, and 1/Σw for the intercept."""
        raw = raw_features(self.features_, X)
        # a chunk is there three times in float64
        size = PASSING_BYTES // 4
        rows = FeatureRows(ArraySource(X, np.empty(X.shape[0])), raw, size)
        parts = [
            self._posterior.leverage(mixed(chunk.F, raw.mixing))
            for chunk in rows.chunks()
        ]
        return np.concatenate(parts)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
