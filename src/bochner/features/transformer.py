"""What bochner's transformers share: validation, names, tags, the kernel they take."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.column_names import NamedRows, in_order, remember_names, text_refused
from .._core.ops import Ops, Tensor
from .._core.remote_rows import (
    LazyRows,
    as_array,
    in_memory,
    is_lazy,
    is_stream,
    over_chunks,
)
from .._core.spread import warn_of_resolution
from .._core.validation import (
    FLOAT_NAMES,
    FLOATS,
    check_choice,
    check_storage,
    check_unmasked,
    check_weight,
)
from ..kernels import KERNELS
from ..kernels.base import Kernel
from ..nonlinearities.base import Nonlinearity
from .feature_map import all_finite, inner_products


def checked_rows(
    owner: Any, X: Any, y: Any = None, *, reset: bool, **checks: Any
) -> Any:
    """X, or X and y, validated: dense or CSR, float32 or float64, finite.

    Columns that have names are put in the order of the fit as `_names` describes.
    """
    given = {} if y is None else {"y": y, **checks}
    checks = {
        "accept_sparse": "csr",
        "dtype": FLOATS,
        "ensure_all_finite": False,  # all cores look, below
        **given,
    }
    check_unmasked("y", y)
    X = _checked_storage(X)
    if not reset:
        X = in_order(owner, X)
    rows = X.X if isinstance(X, NamedRows) else X
    with text_refused(owner, rows):
        if rows is not X and not reset and hasattr(owner, "feature_names_in_"):
            # names agree, but an array does not show that to `validate_data`
            check = check_array if y is None else check_X_y
            out = check(rows, estimator=owner, **checks)
        else:
            out = validate_data(owner, rows, reset=reset, **checks)
    if reset:
        remember_names(owner, X)
    rows = out if y is None else out[0]
    if not (get_config()["assume_finite"] or all_finite(rows)):
        raise _not_finite(owner, rows)
    if reset:
        warn_of_resolution(rows)
    return out


def _checked_storage(X: Any) -> Any:
    if isinstance(X, NamedRows):
        return NamedRows(check_storage(X.X), X.names)
    return check_storage(X)


def _not_finite(owner: Any, X: Any) -> ValueError:
    """What rows X hold that is no number, how often, where first, and the way out."""
    numbers = X.data if sparse.issparse(X) else X
    missing = np.isnan(numbers)
    infinite = not missing.any()
    odd = np.isinf(numbers) if infinite else missing
    place = int(odd.ravel().argmax())
    row, column = divmod(place, X.shape[1])
    if sparse.issparse(X):
        row = int(np.searchsorted(X.indptr, place, side="right")) - 1
        column = int(X.indices[place])
    names = getattr(owner, "feature_names_in_", None)
    where = f"column {column}" if names is None else f"column {names[column]!r}"
    what = "NaN"
    way_out = (
        "fill missing values in first, by sklearn.impute.SimpleImputer in a Pipeline, "
        "or by bochner.preprocessing.for_table for a data frame"
    )
    if infinite:
        what = f"infinity or a value too large for {X.dtype}"
        way_out = "replace such values, or scale the data"
    return ValueError(
        f"Input X contains {what}: {np.count_nonzero(odd)} of {X.shape[0]} × "
        f"{X.shape[1]} entries, the first in row {row}, {where}. "
        f"{type(owner).__name__} takes finite numbers; {way_out}."
    )


def set_columns(owner: Any, X: Any) -> None:
    """Number and names of the columns of a Dask collection, as a fit keeps them."""
    like = X._meta if hasattr(X, "columns") else np.empty((0, X.shape[1]))
    validate_data(owner, like, reset=True, skip_check_array=True)
    remember_names(owner, like)


class RowTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What transformers of dense or CSR rows share: validation, names and tags."""

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """What `transform` gives for rows X, in the operations of any namespace."""
        raise NotImplementedError

    def outputs(self, ops: Ops, X: Tensor) -> dict[str, Tensor]:
        """Everything an exported model says of rows X, by name."""
        return {"features": self.forward(ops, X)}

    def _validated(self, X: Any, *, reset: bool) -> Any:
        if is_stream(X):
            raise TypeError(
                f"{type(self).__name__}: a map is fitted on rows in memory, and this "
                "is a stream. Give the map to a learner, which fits it on the first "
                "block: KernelRegressor(features=…); or fit it on the rows of a block."
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
        set_columns(self, X if hasattr(X, "columns") else rows)
        return rows

    def _weighted(self, X: Any, weight: Any) -> tuple[Any, Any]:
        """Rows and their weights, validated; of a Dask collection those that count."""
        owner = type(self).__name__
        if isinstance(X, LazyRows):
            return X.weighted(owner, weight)
        return X, check_weight(owner, weight, X)

    def _at_hand(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any]:
        """Validated rows with their targets; of a Dask collection a sample."""
        return in_memory(self._validated(X, reset=reset), y)

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

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """What `transform` gives for rows X, in the operations of any namespace."""
        return self.feature_map_.forward(ops, X)

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
