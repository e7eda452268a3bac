"""What bochner's transformers share: validation, names, tags, the kernel they take."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted, validate_data

from ._lazy import LazyRows, as_array, at_hand, is_lazy, is_stream, over_chunks
from ._validation import FLOAT_NAMES, FLOATS, check_choice
from .feature_map import all_finite, inner_products
from .kernels import KERNELS, Kernel
from .nonlinearities import Nonlinearity


def checked_rows(
    owner: Any, X: Any, y: Any = None, *, reset: bool, **checks: Any
) -> Any:
    """X, or X and y, validated: dense or CSR, float32 or float64, finite."""
    given = {} if y is None else {"y": y, **checks}
    out = validate_data(
        owner,
        X,
        accept_sparse="csr",
        dtype=FLOATS,
        ensure_all_finite=False,  # all cores look, below
        reset=reset,
        **given,
    )
    rows = out if y is None else out[0]
    if not (get_config()["assume_finite"] or all_finite(rows)):
        assert_all_finite(rows, estimator_name=type(owner).__name__, input_name="X")
    return out


class RowTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What transformers of dense or CSR rows share: validation, names and tags."""

    def _validated(self, X: Any, *, reset: bool) -> Any:
        if is_stream(X):
            raise TypeError(
                f"{type(self).__name__}: maps are fitted on rows at hand; give those "
                "of a block, or the map to a learner that is fitted on blocks."
            )
        if is_lazy(X) or isinstance(X, LazyRows):
            return self._lazy_rows(X, reset=reset)
        return checked_rows(self, X, reset=reset)

    def _lazy_rows(self, X: Any, *, reset: bool) -> LazyRows:
        """Rows of a Dask collection, of which a fit reads little."""
        if not reset:
            raise TypeError(
                f"{type(self).__name__}: this needs rows at hand; give X.compute() of "
                "some rows instead of a Dask collection."
            )
        rows = X if isinstance(X, LazyRows) else LazyRows(as_array(X))
        names = X._meta if hasattr(X, "columns") else np.empty((0, rows.shape[1]))
        validate_data(self, names, reset=True, skip_check_array=True)
        return rows

    def _at_hand(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any]:
        """Validated rows with their targets; of a Dask collection a sample."""
        return at_hand(self._validated(X, reset=reset), y)

    def _part(self, name: str, known: Any, kind: type) -> Any:
        return check_choice(type(self).__name__, name, getattr(self, name), known, kind)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = FLOAT_NAMES.copy()
        return tags


class KernelTransformer(RowTransformer):
    """A transformer whose features have a kernel for their inner products.

    Subclasses have the parameters `kernel` and `gamma`, and set `feature_map_`, a
    function of rows, in `fit`.
    """

    @over_chunks
    def transform(self, X: Any) -> np.ndarray:
        """Features of X.

        Parameters
        ----------
        X : array, CSR matrix or Dask collection of shape (n, n_features)

        Returns
        -------
        array of shape (n, n_components), in X's floating type
            (whole numbers or CSR where the features are codes; a lazy Dask array for a
            Dask collection)
        """
        check_is_fitted(self, "feature_map_")
        return self.feature_map_(self._validated(X, reset=False))

    def approximate_kernel(self, X: Any, Y: Any = None) -> np.ndarray:
        """⟨φ(x), φ(y)⟩ for all rows of X and Y; of codes, the share of equal ones.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
        Y : array or CSR matrix of shape (n', n_features), optional
            X itself if None.

        Returns
        -------
        array of shape (n, n')
        """
        check_is_fitted(self, "feature_map_")
        F = self.feature_map_(self._validated(X, reset=False))
        G = F if Y is None else self.feature_map_(self._validated(Y, reset=False))
        return inner_products(F, G)

    def _kernel(self, nonlinearity: Nonlinearity) -> Kernel:
        """The kernel asked for, or the nonlinearity's own; refused if it has none."""
        if self.kernel is None:
            return nonlinearity.default_kernel(self.gamma)
        kernel = self._named_kernel()
        nonlinearity.check_kernel(kernel)
        return kernel

    def _named_kernel(self) -> Kernel:
        """The kernel asked for by name, with `gamma`, or by object, without it."""
        owner = type(self).__name__
        if isinstance(self.kernel, Kernel) and not _is_default(self.gamma):
            warnings.warn(
                f"{owner}: gamma={self.gamma!r} is not used, because the kernel is an "
                f"object, which has a bandwidth of its own or none: {self.kernel!r}. "
                "Set that one (kernel__… in a grid search), or give the kernel by "
                "name.",
                stacklevel=5,
            )
        known = {name: partial(k.with_gamma, self.gamma) for name, k in KERNELS.items()}
        return self._part("kernel", known, Kernel)

    @property
    def _n_features_out(self) -> int:
        return self.feature_map_.n_components


def check_fitted(model: Any) -> None:
    """Refuse a model that is not fitted, or a Pipeline with a step that is not."""
    check_is_fitted(model)
    for _, step in getattr(model, "steps", ()):
        if isinstance(step, BaseEstimator):
            check_fitted(step)


def _is_default(gamma: Any) -> bool:
    return isinstance(gamma, str) and gamma == "scale"
