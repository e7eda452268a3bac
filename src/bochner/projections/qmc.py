"""Quasi-Monte-Carlo projections: frequencies from low-discrepancy points."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .._core.random import Stream
from .._core.validation import check_option
from ..kernels.laws import Law
from .algebra import Matrix
from .base import Projection

SEQUENCES = ("halton", "sobol")
MARGIN = 2.0**-53
"""Smallest distance of points from 0 and 1, where quantiles are infinite."""


SOBOL_NUMBERS = 1 << 8
"""Numbers that SciPy keeps for each coordinate of Sobol points: direction numbers."""


def _halton_numbers(d: int) -> float:
    """An upper bound on SciPy's tables of d Halton coordinates.

    Coordinate i has ⌈54/log₂ p⌉ − 1 permutations of its base p, the i-th prime. The
    bases are at most k (ln k + ln ln k), k = max(d, 6), and half as large on average.
    """
    k = max(d, 6)
    largest = k * (np.log(k) + np.log(np.log(k)))
    return 0.6 * d * largest * np.ceil(54 / np.log2(largest)) + 1000


class QMC(Projection):
    """Frequencies ω_t = F⁻¹(u_t) of a scrambled low-discrepancy sequence u_t.

    The points cover the law more evenly than independent draws. The error is much
    smaller in few dimensions, and the gain decreases with the dimension; Sobol points
    keep more of the gain than Halton points. Every law can be used; a scale mixture
    needs one additional coordinate.

    Sampling takes O(m d log m) time, applying O(n m d) time (BLAS), and the matrix
    O(m d) memory. The first m rows of a map with 2m rows are those of a map with m
    rows.

    Parameters
    ----------
    sequence : {"halton", "sobol"}, default "halton"
        The sequence, scrambled by SciPy with random bits of the stream. Sobol points
        have at most 21,201 coordinates.

    See Also
    --------
    Dense : Independent frequencies.

    References
    ----------
    H. Avron et al., Quasi-Monte Carlo feature maps for shift-invariant kernels,
    JMLR 2016.

    Examples
    --------
    >>> from bochner import RandomFeatures, projections
    >>> qmc = projections.QMC("sobol")
    >>> X = [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]
    >>> RandomFeatures(8, projection=qmc, random_state=0).fit_transform(X).shape
    (2, 8)
    """

    needs: ClassVar = ("ppf",)

    def __init__(self, sequence: str = "halton") -> None:
        self.sequence = sequence

    def for_units(self, n_maps: int) -> QMC:
        raise ValueError(
            "QMC: points of low-discrepancy sequences depend on each other, so "
            "features of several projections would be biased for any number of "
            "components; use projection='dense' or 'sorf'."
        )

    def drawing_numbers(self, n_out: int, n_in: int, law: Law | None = None) -> float:
        n_coordinates = n_in + 1  # a scale mixture takes one more
        if self.sequence == "sobol":
            points = n_coordinates * (1 << (n_out - 1).bit_length())
            return 4 * points + SOBOL_NUMBERS * n_coordinates
        return super().drawing_numbers(n_out, n_in, law) + _halton_numbers(
            n_coordinates
        )

    def _sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> Matrix:
        check_option("QMC", "sequence", self.sequence, SEQUENCES)
        U = self._points(n_out, law.n_uniforms(n_in), rng)
        np.clip(U, MARGIN, 1 - MARGIN, out=U)
        return Matrix(np.ascontiguousarray(law.ppf(U, n_in).T))

    def _points(self, n: int, d: int, rng: Stream) -> np.ndarray:
        """Return n points of the sequence in [0, 1]^d."""
        # Imported on use: scipy.stats would add to the time of `import bochner`.
        from scipy.stats import qmc

        if self.sequence == "halton":
            return qmc.Halton(d, rng=rng.generator()).random(n)
        if d > qmc.Sobol.MAXDIM:
            raise ValueError(
                f"QMC: Sobol points have at most {qmc.Sobol.MAXDIM} coordinates, and "
                f"this law needs {d}; use QMC('halton') or projection='sorf'."
            )
        points = qmc.Sobol(d, rng=rng.generator())
        return points.random_base2((n - 1).bit_length())[:n]
