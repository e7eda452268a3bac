"""Compressive projections: few measurements, then frequencies of the measurements."""

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

AUTO_SHARE = 0.25
"""Measurements per feature for n_measurements="auto"."""

RESOLVE_ROWS = 1000
"""Rows that are measured to resolve the second stage."""


class Compressive(Projection):
    """W = Ω P: p random measurements P x of the data, then frequencies Ω in R^p.

    P is an orthoprojector, √(d/p) times orthonormal rows. It preserves ‖x − y‖² up to a
    relative standard deviation of √(2/p · (1 − p/d)), and sparse differences much
    better (`theory.measurements_for_rip` gives the number of measurements). Ω is drawn
    from the law of the same kernel in R^p, so the features of x are features of its
    measurements. Where a device measures P x itself, `feature_map_.split()` returns P
    and the map of the measurements separately.

    Time is O(n p (d + m)) with a dense second stage, instead of O(n m d); memory is
    O(p (d + m)). The law must be isotropic: the kernel must be a function of ‖x − y‖.
    The error that P adds to that of Ω does not decrease with m, only with p → d.

    Parameters
    ----------
    n_measurements : int or "auto", default "auto"
        p, at most d. "auto" takes a quarter of the features.
    projection : Projection or str, default "dense"
        The projection that draws Ω, or its name.
    ensemble : {"gaussian", "sign"}, default "gaussian"
        Distribution of the entries of P before orthonormalisation.

    Raises
    ------
    ValueError
        When fitted with more measurements than features, or a kernel that is not
        isotropic.

    See Also
    --------
    bochner.methods.compressive : Random features with this projection.
    bochner.theory.compressive_failure : Bound on the error of both stages.

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
        n_measurements: int | str = "auto",
        projection: Projection | str = "dense",
        ensemble: str = "gaussian",
    ) -> None:
        self.n_measurements = n_measurements
        self.projection = projection
        self.ensemble = ensemble

    @property
    def amplitude(self) -> float:  # type: ignore[override]
        """The factor of the features that the second stage needs."""
        return self._second_stage().amplitude

    def for_units(self, n_maps: int) -> Compressive:
        """Return this projection with the second stage for several maps."""
        second = self._second_stage().for_units(n_maps)
        return Compressive(self.n_measurements, second, self.ensemble)

    def resolve(self, X: Any, law: Law, n_out: int, rng: Stream) -> Compressive:
        """Return a copy with p set and the second stage resolved on measurements."""
        p = self.measurements(X.shape[1])
        rows = X[rng.child("rows").subset(X.shape[0], RESOLVE_ROWS)]
        # Gaussian measurements are sufficient here, and need no QR decomposition.
        P = Dense().sample_isometry(p, X.shape[1], rng.child("measurements"))
        measured = P.astype(X.dtype).apply(rows)
        second = self._second_stage()
        if second.input_factors(measured) is not None:
            raise ValueError(
                f"Compressive: projection={second!r} cannot divide measurements by "
                "their ranges, which would change the kernel; use normalize=False and "
                "scale the data before fitting."
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
        second = self._second_stage().cost(n_out, p, law)
        return Cost(first.flops + second.flops, first.numbers + second.numbers)

    def drawing_numbers(self, n_out: int, n_in: int, law: Law | None = None) -> float:
        p = self.measurements(n_in)
        first = Orthoprojector(self.ensemble).drawing_numbers(p, n_in)
        return first + self._second_stage().drawing_numbers(n_out, p, law)

    def lacking(self, law: Law) -> list[str]:
        """Return the capabilities that either stage needs and the law lacks."""
        return [*super().lacking(law), *self._second_stage().lacking(law)]

    def _sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> Compose:
        p = self.measurements(n_in)
        first = Orthoprojector(self.ensemble)
        P = first.sample_isometry(p, n_in, rng.child("measurements"))
        second = self._second_stage().sample(law, n_out, p, rng.child("projection"))
        return Compose(second, P)

    def _second_stage(self) -> Projection:
        """Return the projection that draws Ω."""
        return check_choice(
            "Compressive", "projection", self.projection, SECOND_STAGES, Projection
        )

    def measurements(self, n_in: int) -> int:
        """Return the number of measurements of n_in features."""
        if isinstance(self.n_measurements, str) and self.n_measurements == "auto":
            return int(np.ceil(AUTO_SHARE * n_in))
        hint = " (Or use 'auto', a quarter of the features.)"
        p = check_count("Compressive", "n_measurements", self.n_measurements, hint)
        if p > n_in:
            raise ValueError(
                f"Compressive: n_measurements must be at most the {n_in} features, got "
                f"{p}; use fewer measurements, or methods.rff or methods.sorf, which "
                "need none."
            )
        return p
