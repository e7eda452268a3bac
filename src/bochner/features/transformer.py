"""Base classes of transformers: validation, column names, tags and the kernel."""

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
    """Validate X, or X and y: dense or CSR, float32 or float64, finite.

    Named columns are put into the order of the fit (see `_core.column_names`).

    Parameters
    ----------
    owner : estimator
        Holds the names and the number of columns.
    X : array, CSR matrix or data frame of shape (n, n_features)
        Rows.
    y : array or None, default None
        Targets.
    reset : bool
        Whether this is a fit, which stores the columns on `owner`; otherwise the
        columns are compared with the stored ones.
    **checks
        Further arguments of scikit-learn's `validate_data`, used together with y.

    Returns
    -------
    The validated X, or the pair of X and y.

    Raises
    ------
    ValueError
        If X is not numeric or not finite, or if its columns differ from the fit.
    """
    target_checks = {} if y is None else {"y": y, **checks}
    checks = {
        "accept_sparse": "csr",
        "dtype": FLOATS,
        "ensure_all_finite": False,  # `all_finite` below is faster: it uses all cores
        **target_checks,
    }
    check_unmasked("y", y)
    X = _checked_storage(X)
    if not reset:
        X = in_order(owner, X)
    rows = X.X if isinstance(X, NamedRows) else X
    with text_refused(owner, rows):
        if rows is not X and not reset and hasattr(owner, "feature_names_in_"):
            # `in_order` has compared the names; `validate_data` sees only an array
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
    """The error for rows X with NaN or infinity: how many, where first, a way out."""
    numbers = X.data if sparse.issparse(X) else X
    missing = np.isnan(numbers)
    infinite = not missing.any()
    invalid = np.isinf(numbers) if infinite else missing
    place = int(invalid.ravel().argmax())
    row, column = divmod(place, X.shape[1])
    if sparse.issparse(X):
        row = int(np.searchsorted(X.indptr, place, side="right")) - 1
        column = int(X.indices[place])
    names = getattr(owner, "feature_names_in_", None)
    where = f"column {column}" if names is None else f"column {names[column]!r}"
    problem = "NaN"
    way_out = (
        "fill in missing values first, with sklearn.impute.SimpleImputer in a Pipeline "
        "or, for a data frame, with bochner.preprocessing.for_table"
    )
    if infinite:
        problem = f"infinity or a value too large for {X.dtype}"
        way_out = "replace these values, or scale the data"
    return ValueError(
        f"Input X contains {problem}: {np.count_nonzero(invalid)} of {X.shape[0]} × "
        f"{X.shape[1]} entries, the first in row {row}, {where}. "
        f"{type(owner).__name__} takes finite numbers; {way_out}."
    )


def set_columns(owner: Any, X: Any) -> None:
    """Store the number and names of the columns of a Dask collection on `owner`."""
    like = X._meta if hasattr(X, "columns") else np.empty((0, X.shape[1]))
    validate_data(owner, like, reset=True, skip_check_array=True)
    remember_names(owner, like)


class RowTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of transformers of dense or CSR rows: validation, names and tags."""

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """The output of `transform` for rows X, in the operations of `ops`.

        Parameters
        ----------
        ops : Ops
            Array operations, for instance those of NumPy or of the ONNX writer.
        X : Tensor of shape (n, n_features)
            Rows, as a tensor of `ops`.

        Returns
        -------
        Tensor of shape (n, n_components)
        """
        raise NotImplementedError

    def outputs(self, ops: Ops, X: Tensor) -> dict[str, Tensor]:
        """All outputs of an exported model for rows X, by name.

        The parameters are those of `forward`.
        """
        return {"features": self.forward(ops, X)}

    def _validated(self, X: Any, *, reset: bool) -> Any:
        if is_stream(X):
            raise TypeError(
                f"{type(self).__name__}: X must be rows in memory; got a stream. Pass "
                "the map to a learner, which fits it on the first block of the stream "
                "(KernelRegressor(features=…)), or fit it on the rows of one block."
            )
        if is_lazy(X) or isinstance(X, LazyRows):
            return self._lazy_rows(X, reset=reset)
        return checked_rows(self, X, reset=reset)

    def _lazy_rows(self, X: Any, *, reset: bool) -> LazyRows:
        """A Dask collection as rows, of which a fit reads only a few."""
        if not reset:
            raise TypeError(
                f"{type(self).__name__}: X must be rows in memory; got a Dask "
                "collection. Pass X.compute() of some rows."
            )
        rows = X if isinstance(X, LazyRows) else LazyRows(as_array(X))
        set_columns(self, X if hasattr(X, "columns") else rows)
        return rows

    def _weighted(self, X: Any, weight: Any) -> tuple[Any, Any]:
        """Rows and their validated weights; LazyRows drop rows of weight zero."""
        owner = type(self).__name__
        if isinstance(X, LazyRows):
            return X.weighted(owner, weight)
        return X, check_weight(owner, weight, X)

    def _in_memory(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any]:
        """Validated rows and targets in memory; a sample of a Dask collection."""
        return in_memory(self._validated(X, reset=reset), y)

    def _part(self, name: str, known: Any, kind: type) -> Any:
        """The parameter `name` as an object, created by name if it is a string."""
        return check_choice(type(self).__name__, name, getattr(self, name), known, kind)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = FLOAT_NAMES.copy()
        return tags


class KernelTransformer(RowTransformer):
    """Base class of transformers whose inner products approximate a kernel.

    Subclasses have the parameters `kernel` and `gamma`. Their `fit` sets
    `feature_map_`, a function of rows.
    """

    @over_chunks
    def transform(self, X: Any) -> np.ndarray:
        """Compute the features of X.

        Parameters
        ----------
        X : array, CSR matrix or Dask collection of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n, n_components), in X's floating type
            Integers or a CSR matrix if the features are codes; a lazy Dask array if X
            is a Dask collection.
        """
        check_is_fitted(self, "feature_map_")
        return self.feature_map_(self._validated(X, reset=False))

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """The output of `transform` for rows X, in the operations of `ops`."""
        return self.feature_map_.forward(ops, X)

    def approximate_kernel(self, X: Any, Y: Any = None) -> np.ndarray:
        """⟨φ(x), φ(y)⟩ for all rows of X and Y; for codes, the share of equal codes.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
            Rows x.
        Y : array or CSR matrix of shape (n', n_features) or None, default None
            Rows y; None means X.

        Returns
        -------
        array of shape (n, n')
            The approximate Gram matrix.
        """
        check_is_fitted(self, "feature_map_")
        F = self.feature_map_(self._validated(X, reset=False))
        G = F if Y is None else self.feature_map_(self._validated(Y, reset=False))
        return inner_products(F, G)

    def _kernel(self, nonlinearity: Nonlinearity) -> Kernel:
        """The kernel parameter as an object, or the nonlinearity's default kernel.

        Raises an error if the nonlinearity does not approximate the kernel.
        """
        if self.kernel is None:
            return nonlinearity.default_kernel(self.gamma)
        kernel = self._named_kernel()
        nonlinearity.check_kernel(kernel)
        return kernel

    def _named_kernel(self) -> Kernel:
        """The kernel parameter as an object; a name takes its bandwidth from gamma."""
        owner = type(self).__name__
        if isinstance(self.kernel, Kernel) and not _is_default(self.gamma):
            warnings.warn(
                f"{owner}: gamma={self.gamma!r} is not used, because kernel is an "
                f"object with its own parameters: {self.kernel!r}. Set the bandwidth "
                "there (kernel__… in a grid search), or give the kernel by name.",
                stacklevel=5,
            )
        known = {name: partial(k.with_gamma, self.gamma) for name, k in KERNELS.items()}
        return self._part("kernel", known, Kernel)

    @property
    def _n_features_out(self) -> int:
        return self.feature_map_.n_components


def check_fitted(model: Any) -> None:
    """Raise NotFittedError unless the model, or every step of a Pipeline, is fitted."""
    check_is_fitted(model)
    for _, step in getattr(model, "steps", ()):
        if isinstance(step, BaseEstimator):
            check_fitted(step)


def _is_default(gamma: Any) -> bool:
    return isinstance(gamma, str) and gamma == "scale"
