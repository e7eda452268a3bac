"""How good a feature map is, on the user's own rows."""

from __future__ import annotations

from typing import Any

import numpy as np
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
    kernel: Any = None,
    scaled: bool = False,
    n_points: int = 2000,
    random_state: Any = None,
) -> float:
    """Relative Frobenius error ‖FFᵀ − K‖_F / ‖K‖_F on random rows of X.

    Scaled: after the one scalar a that minimises ‖a FFᵀ − K‖_F, which is fair beside
    maps that shrink. Time O(s² (d + M)), memory O(s²) for s = n_points.

    Parameters
    ----------
    features : fitted transformer
    X : array or CSR matrix of shape (n, d)
    kernel : callable, optional
        The exact kernel; the transformer's `kernel_` if None.
    scaled : bool
    n_points : int
        Rows drawn from X without replacement, at most all of them.
    random_state : int, RandomState or None
        Which rows. None means the same rows at every call, so that methods compared
        one after the other are scored on the same points.

    Returns
    -------
    float

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
        raise TypeError(f"kernel_error: kernel must be callable, got {kernel!r}.")
    X = check_storage(X)
    rng = as_stream(0 if random_state is None else random_state)
    chosen = rng.child("points").subset(_num_samples(X), n_points)
    rows = _safe_indexing(X, chosen)  # a frame stays a frame, with its column names
    approximate = np.asarray(_gram(features, rows), dtype=np.float64)
    exact = np.asarray(kernel(check_rows(rows, "kernel_error")), dtype=np.float64)
    size = np.linalg.norm(exact)
    if size == 0:
        raise ValueError(
            "kernel_error: the kernel is zero for all of these rows, so there is "
            "nothing to compare with; look for rows of zeros."
        )
    if scaled:
        # argmin over a of ‖a A − K‖²: a = ⟨A, K⟩/⟨A, A⟩
        approximate *= np.vdot(approximate, exact) / np.vdot(approximate, approximate)
    return float(np.linalg.norm(approximate - exact) / size)


def equal_codes(A: Any, B: Any = None) -> np.ndarray:
    """Share of equal codes for all rows of A and B: one less their Hamming distance.

    For codes of `methods.maxout_codes` that are kept, to search among them; of M codes
    it estimates κ_q with variance κ_q(1 − κ_q)/M. O(n n' M) time, some 20 codes of one
    byte a nanosecond on two cores.

    Parameters
    ----------
    A : array of whole numbers, (n, M)
    B : array of whole numbers, (n', M), optional
        Codes of the same fitted map, as those of another mean nothing here. A itself
        if None.

    Returns
    -------
    float32 array of shape (n, n')

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import metrics
    >>> metrics.equal_codes(np.array([[0, 1, 2, 3]]), np.array([[0, 1, 0, 0]]))
    array([[0.5]], dtype=float32)
    """
    A = _checked_codes(A)
    B = A if B is None else _checked_codes(B)
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"equal_codes: rows of A have {A.shape[1]} codes and rows of B "
            f"{B.shape[1]}; they must come from the same map."
        )
    return inner_products(A, B)


def _checked_codes(codes: Any) -> np.ndarray:
    if sparse.issparse(codes):
        raise TypeError(
            "equal_codes: codes must be an array of whole numbers; got a sparse "
            "matrix. Inner products of one-hot codes are their shares: "
            "(F @ G.T).toarray()."
        )
    check_unmasked("codes", codes)
    codes = np.ascontiguousarray(codes)
    if codes.ndim != 2 or codes.dtype.kind not in "iub" or codes.shape[1] == 0:
        raise ValueError(
            "equal_codes: codes must be whole numbers, (n, M), as "
            "methods.maxout_codes gives them; got shape "
            f"{codes.shape} of {codes.dtype}."
        )
    return codes


def _kernel_of(features: Any) -> Any:
    if not hasattr(features, "kernel_"):
        raise TypeError(
            f"kernel_error: {type(features).__name__} has no kernel_; pass a fitted "
            "bochner transformer (of a pipeline its last step, with the rows that step "
            "sees: pipeline[-1], pipeline[:-1].transform(X)), or the exact kernel as "
            "kernel=."
        )
    return features.kernel_


def _gram(features: Any, X: Any) -> np.ndarray:
    if hasattr(features, "approximate_kernel"):
        return features.approximate_kernel(X)
    F = features.transform(X)
    G = F @ F.T
    return G.toarray() if sparse.issparse(G) else G
