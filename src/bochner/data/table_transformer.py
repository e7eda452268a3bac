"""The ColumnTransformer that takes streams and Dask frames, too.

scikit-learn's reads all rows at once. This one is fitted on a uniform sample of rows of
a stream or Dask frame, as `bochner fit` does, and transforms them block by block when
a learner asks for them. So a Pipeline of it and a learner is fitted on a stream, and
predicts and scores streams, without more code.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.utils.validation import check_is_fitted

from .._core.ops import Ops, Tensor
from .._core.remote_rows import is_lazy, is_stream, over_partitions
from .._core.sklearn_steps import by_columns
from .stream import SAMPLE_ROWS, block_rows, sampled_frame, sampled_rows
from .table_kinds import encoded_bytes


class TableTransformer(ColumnTransformer):
    """A ColumnTransformer of frames in memory, of streams of frames and Dask frames."""

    takes_tables = True
    """`forward` takes columns of every kind."""

    def forward(self, ops: Ops, X: Any) -> Tensor:
        """What `transform` gives, in the operations of any namespace."""
        return by_columns(self, ops, X)

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit every part on a frame; on a stream or Dask frame, on a sample of rows.

        Parameters
        ----------
        X : DataFrame, `blocks` of frames, or Dask DataFrame
            Of the last two, 50,000 rows at random places, in one more pass.
        y : array of (n,), optional
            Not used by the parts that `for_table` gives.

        Returns
        -------
        self
        """
        super().fit(rows_in_memory(X), None if is_elsewhere(X) else y, **params)
        return self


def is_elsewhere(X: Any) -> bool:
    """Whether rows are those of a stream or Dask collection."""
    return is_stream(X) or is_lazy(X)


def rows_in_memory(X: Any) -> Any:
    """Rows as they are; of a stream or Dask frame a sample."""
    if is_stream(X):
        return sampled_rows(X, SAMPLE_ROWS, encoded_bytes)[0]
    if is_lazy(X):
        return sampled_frame(X, SAMPLE_ROWS, encoded_bytes)
    return X


def _transform(self: TableTransformer, X: Any, **params: Any) -> Any:
    """Numbers of X, (n, n_columns).

    Those of a stream are a stream again, and those of a Dask frame a lazy Dask array.
    """
    if not is_elsewhere(X):
        return ColumnTransformer.transform(self, X, **params)
    check_is_fitted(self)
    n_columns = len(self.get_feature_names_out())
    if is_lazy(X):
        return over_partitions(partial(_array, self), X, n_columns)
    return X.cut(block_rows(None, 8 * n_columns)).transformed(self.transform)


def _array(columns: ColumnTransformer, X: Any) -> np.ndarray:
    """Numbers of a partition, also where `set_output` asks for frames."""
    return np.asarray(columns.transform(X))


def _fit_transform(self: TableTransformer, X: Any, y: Any = None, **params: Any) -> Any:
    """Fit, and transform the same rows."""
    if is_elsewhere(X):
        return self.fit(X, **params).transform(X)
    return ColumnTransformer.fit_transform(self, X, y, **params)


# Set after the class is made: scikit-learn wraps methods that a class body defines, to
# turn their results into frames (`set_output`), and a stream is not one. The methods
# of ColumnTransformer that they call are wrapped.
TableTransformer.transform = _transform
TableTransformer.fit_transform = _fit_transform
