"""Compressive projections: few measurements first, frequencies of those."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._core.random import Stream
from .._core.validation import check_choice, check_count
from ..kernels.laws import Law
from .algebra import Compose
from .auto import Auto
from .base import Cost, Projection
from .block_diagonal import BlockDiagonal
from .circulant import Circulant
from .dense import Dense
from .hadamard import SORF, Fastfood
from .orthogonal import Orthogonal, Orthoprojector
from .qmc import QMC

SECOND_STAGES: dict[str, type[Projection]] = {
    "auto": Auto,
    "dense": Dense,
    "orthogonal": Orthogonal,
    "sorf": SORF,
    "fastfood": Fastfood,
    "qmc": QMC,
    "block_diagonal": BlockDiagonal,
    "circulant": Circulant,
}
"""Projections that draw frequencies, by name."""

MEASURED_SHARE = 0.25
"""Measurements per feature where their number is left automatic."""

MEASURED_ROWS = 1000
"""Rows measured for what the second stage learns from data."""


class Compressive(Projection):
    """Ω P: p random measurements P x of the data, and frequencies Ω of those in R^p.

    P is an orthoprojector, √(d/p) times orthonormal rows, which keeps ‖x − y‖² within a
    relative deviation of √(2/p · (1 − p/d)), and far better on sparse differences with
    `theory.measurements_for_rip` of them. So Ω, drawn from the same kernel's law in
    R^p, serves the kernel on R^d: features of x are features of its measurements. Where
    a device measures P x by itself, `feature_map_.split()` gives P and the map of
    measurements apart.

    Time O(n p (d + m)) with a dense second stage, against O(n m d); memory O(p (d +
    m)). Needs an isotropic law: a kernel of ‖x − y‖ alone. Error beyond that of Ω does
    not vanish with m, but with p → d.

    Parameters
    ----------
    n_measurements : int or "auto"
        p, at most d. "auto": a quarter of the features.
    projection : Projection or name
        Draws Ω.
    ensemble : "gaussian" or "sign"
        Rows of P before they are made orthonormal.

    References
    ----------
    J.-H. R. Chang, A. C. Sankaranarayanan and B. V. K. Vijaya Kumar, Random features
    for sparse signal classification, CVPR 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatures, projections
    >>> X = np.array([[0.0, 1.0, 2.0, 1.0], [1.0, 0.0, 2.0, 1.0]])
    >>> measured = projections.Compressive(2, projection="orthogonal")
    >>> features = RandomFeatures(8, projection=measured, random_state=0).fit(X)
    >>> P, second = features.feature_map_.split()
    >>> bool(abs(second(P.apply(X)) - features.transform(X)).max() < 1e-12)
    True
    """

    needs: ClassVar = ("radii",)
    instead: ClassVar = "methods.rff, which takes every kernel, without measurements"

    def __init__(
        self,
        n_measurements: Any = "auto",
        projection: Any = "dense",
        ensemble: str = "gaussian",
    ) -> None:
        self.n_measurements = n_measurements
        self.projection = projection
        self.ensemble = ensemble

    @property
    def amplitude(self) -> float:  # type: ignore[override]
        """What the second stage asks its features to be multiplied with."""
        return self._second().amplitude

    def for_units(self, n_maps: int) -> Compressive:
        """What the second stage is for several maps at a time."""
        second = self._second().for_units(n_maps)
        return Compressive(self.n_measurements, second, self.ensemble)

    def resolve(self, X: Any, law: Law, n_out: int, rng: Stream) -> Compressive:
        """Settle p, and the second stage on measurements of rows of X."""
        p = self.measurements(X.shape[1])
        rows = X[rng.child("rows").subset(X.shape[0], MEASURED_ROWS)]
        # plain Gaussian measurements tell the same of the data, without a QR
        P = Dense().sample_isometry(p, X.shape[1], rng.child("measurements"))
        measured = P.astype(X.dtype).apply(rows)
        second = self._second()
        if second.input_factors(measured) is not None:
            raise ValueError(
                f"Compressive: the second stage {second!r} cannot divide measurements "
                "by their ranges, which would change the kernel; scale the data first."
            )
        second = second.resolve(measured, law, n_out, rng.child("projection"))
        return Compressive(p, second, self.ensemble)

    def cost(
        self,
        n_out: int,
        n_in: int,
        law: Law | None = None,
        filled: float | None = None,
    ) -> Cost:
        p = self.measurements(n_in)
        first = Orthoprojector(self.ensemble).cost(p, n_in, None, filled)
        second = self._second().cost(n_out, p, law)
        return Cost(first.flops + second.flops, first.numbers + second.numbers)

    def drawing_numbers(self, n_out: int, n_in: int, law: Law | None = None) -> float:
        p = self.measurements(n_in)
        first = Orthoprojector(self.ensemble).drawing_numbers(p, n_in)
        return first + self._second().drawing_numbers(n_out, p, law)

    def lacking(self, law: Law) -> list[str]:
        """What either stage needs."""
        return [*super().lacking(law), *self._second().lacking(law)]

    def _sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> Compose:
        p = self.measurements(n_in)
        first = Orthoprojector(self.ensemble)
        P = first.sample_isometry(p, n_in, rng.child("measurements"))
        return Compose(self._second().sample(law, n_out, p, rng.child("projection")), P)

    def _second(self) -> Projection:
        return check_choice(
            "Compressive", "projection", self.projection, SECOND_STAGES, Projection
        )

    def measurements(self, n_in: int) -> int:
        """How many are taken of n_in features."""
        if isinstance(self.n_measurements, str) and self.n_measurements == "auto":
            return int(np.ceil(MEASURED_SHARE * n_in))
        hint = " (Or 'auto', a quarter of the features.)"
        p = check_count("Compressive", "n_measurements", self.n_measurements, hint)
        if p > n_in:
            raise ValueError(
                f"Compressive: n_measurements must be at most the {n_in} features, got "
                f"{p}; take fewer, or methods.rff or methods.sorf, which measure none."
            )
        return p
