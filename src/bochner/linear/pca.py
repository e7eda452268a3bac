"""Principal components of features, from their moments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

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
    mean = moments.f / moments.weight
    C /= moments.weight
    size = len(C)
    values, vectors = eigh(C, subset_by_index=[size - n_components, size - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = abs(vectors).argmax(axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(n_components)])
    return Components(vectors, mean, np.maximum(values, 0), float(np.trace(C)))
