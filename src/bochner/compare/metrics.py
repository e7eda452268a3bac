"""Metrics of feature maps on the user's rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .._core.random import as_stream
from .._core.validation import check_count, check_rows, check_storage, check_unmasked
from ..features.feature_map import inner_products


def kernel_error(
    features: Any,
    X: Any,
    *,
    kernel: Callable[..., np.ndarray] | None = None,
    scaled: bool = False,
    n_points: int = 2000,
    random_state: int | np.random.RandomState | None = None,
) -> float:
    """Relative Frobenius error ‖FFᵀ − K‖_F / ‖K‖_F of features F on rows of X.

    Time O(s² (d + M)) and memory O(s²) for s = n_points rows and M features.

    Parameters
    ----------
    features : fitted transformer
        A map whose features F have the inner products FFᵀ ≈ K.
    X : array-like, CSR matrix or DataFrame of shape (n, d)
        Rows to draw from.
    kernel : callable, default=None
        The exact kernel, `kernel(rows)` → K of shape (s, s). None takes the
        transformer's `kernel_`.
    scaled : bool, default=False
        Whether FFᵀ is first multiplied by the scalar a that minimises ‖a FFᵀ − K‖_F.
        This is fair to maps whose inner products are too small by a constant factor.
    n_points : int, default=2000
        Number of rows drawn from X without replacement; all rows if X has fewer.
    random_state : int, RandomState or None, default=None
        Seed of the drawn rows. None draws the same rows in every call, so that methods
        are compared on the same points.

    Returns
    -------
    float
        The relative error; 0 for the exact kernel.

    Raises
    ------
    TypeError
        If the transformer has no `kernel_` and no kernel is given.
    ValueError
        If the kernel is zero for all drawn rows.

    See Also
    --------
    compare : Measure kernel errors, scores and times of many maps.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import methods, metrics
    >>> X = np.linspace(0, 1, 40).reshape(20, 2)
    >>> features = methods.rff(4096, gamma=1.0, random_state=0).fit(X)
    >>> metrics.kernel_error(features, X) < 0.1
    True
    """
    n_points = check_count("kernel_error", "n_points", n_points)
    kernel = _kernel_of(features) if kernel is None else kernel
    if not callable(kernel):
        raise TypeError(f"kernel_error: kernel must be callable; got {kernel!r}.")
    X = check_storage(X)
    rng = as_stream(0 if random_state is None else random_state)
    places = rng.child("points").subset(_num_samples(X), n_points)
    rows = _safe_indexing(X, places)  # a frame stays a frame, with its column names
    approximate = np.asarray(_gram(features, rows), dtype=np.float64)
    exact = np.asarray(kernel(check_rows(rows, "kernel_error")), dtype=np.float64)
    norm = np.linalg.norm(exact)
    if norm == 0:
        raise ValueError(
            "kernel_error: the kernel is zero for all of these rows of X, so a "
            "relative error is not defined; remove rows that are all zeros."
        )
    if scaled:
        # the minimiser of ‖a A − K‖² is a = ⟨A, K⟩/⟨A, A⟩
        approximate *= np.vdot(approximate, exact) / np.vdot(approximate, approximate)
    return float(np.linalg.norm(approximate - exact) / norm)


def equal_codes(A: ArrayLike, B: ArrayLike | None = None) -> np.ndarray:
    """Share of equal codes for every pair of rows: 1 − (Hamming distance) / M.

    This searches among stored codes of `methods.maxout_codes`. The share of M codes
    estimates the kernel κ_q with variance κ_q(1 − κ_q)/M. Time O(n n' M), about 20
    one-byte codes per nanosecond on two cores; memory O(n n').

    Parameters
    ----------
    A : array-like of int, shape (n, M)
        Codes of a fitted map.
    B : array-like of int, shape (n', M), default=None
        Codes of the same fitted map; codes of different maps are not comparable. None
        compares A with itself.

    Returns
    -------
    ndarray of float32, shape (n, n')
        Shares of equal codes.

    See Also
    --------
    kernel_error : The error of a map on all pairs of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import metrics
    >>> metrics.equal_codes(np.array([[0, 1, 2, 3]]), np.array([[0, 1, 0, 0]]))
    array([[0.5]], dtype=float32)
    """
    codes_A = _check_codes(A)
    codes_B = codes_A if B is None else _check_codes(B)
    if codes_A.shape[1] != codes_B.shape[1]:
        raise ValueError(
            f"equal_codes: A and B must hold codes of the same map; rows of A have "
            f"{codes_A.shape[1]} codes and rows of B have {codes_B.shape[1]}."
        )
    return inner_products(codes_A, codes_B)


def _check_codes(codes: Any) -> np.ndarray:
    if sparse.issparse(codes):
        raise TypeError(
            "equal_codes: codes must be an array of integers; got a sparse matrix. For "
            "one-hot codes F and G the shares are (F @ G.T).toarray()."
        )
    check_unmasked("codes", codes)
    codes = np.ascontiguousarray(codes)
    if codes.ndim != 2 or codes.dtype.kind not in "iub" or codes.shape[1] == 0:
        raise ValueError(
            "equal_codes: codes must be integers of shape (n, M), as "
            "methods.maxout_codes returns them; got shape "
            f"{codes.shape} of {codes.dtype}."
        )
    return codes


def _kernel_of(features: Any) -> Any:
    if not hasattr(features, "kernel_"):
        raise TypeError(
            f"kernel_error: {type(features).__name__} has no kernel_; pass a fitted "
            "bochner transformer (for a pipeline its last step and the rows that this "
            "step receives: pipeline[-1], pipeline[:-1].transform(X)), or the exact "
            "kernel as kernel=."
        )
    return features.kernel_


def _gram(features: Any, X: Any) -> np.ndarray:
    if hasattr(features, "approximate_kernel"):
        return features.approximate_kernel(X)
    F = features.transform(X)
    G = F @ F.T
    return G.toarray() if sparse.issparse(G) else G
