"""Principal components of features, from their moments or from few rows of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, svd

from .moments import Moments


@dataclass(frozen=True)
class Components:
    """Directions of largest variance: x → (f(x) − mean) · vectors."""

    vectors: np.ndarray  # (M, k), orthonormal columns
    mean: np.ndarray  # (M,)
    variances: np.ndarray  # (k,), decreasing
    total: float  # variance of all directions


def components(moments: Moments, n_components: int) -> Components:
    """The first directions, given the moments of the features.

    Signs are fixed: the entry of largest size is positive. O(M³) time.
    """
    C, _, _ = moments.centred(True)
    mean = moments.mean_f
    C /= moments.weight
    size = len(C)
    values, vectors = eigh(C, subset_by_index=[size - n_components, size - 1])
    vectors = _with_signs(vectors[:, ::-1])
    return Components(vectors, mean, np.maximum(values[::-1], 0), float(np.trace(C)))


def components_of_rows(
    F: np.ndarray, weight: np.ndarray | None, n_components: int
) -> Components:
    """The same of n < M rows, (n, M) float64, n_components ≤ n: O(n² M) time."""
    share = np.full(len(F), 1.0) if weight is None else weight
    share = share / share.sum()
    mean = share @ F
    A = np.sqrt(share)[:, None] * (F - mean)
    _, singular, right = svd(A, full_matrices=False, overwrite_a=True)
    variances = singular**2
    vectors = _with_signs(right[:n_components].T)
    return Components(vectors, mean, variances[:n_components], float(variances.sum()))


def _with_signs(vectors: np.ndarray) -> np.ndarray:
    largest = abs(vectors).argmax(axis=0)
    return vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])
