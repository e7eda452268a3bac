"""GIGA: greedy iterative geodesic ascent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .greedy import Greedy
from .products import Problem
from .walk import Step

LIMIT = 1e-14
"""1 − cos² of an angle that float64 can no longer tell from zero."""


class GIGA(Greedy):
    """Keep the weighted subset of candidates whose kernel points where the target does.

    With unit vectors ℓ_u = R_u/‖R_u‖ and ℓ = r/‖r‖ over pairs of rows, R_u(x, y) the
    share of candidate u in the estimated kernel, y starts at the ℓ_u nearest to ℓ and
    moves on the great circle towards the ℓ_u whose direction is best aligned with ℓ's,
    as far as brings it nearest; then y is scaled to fit r. The kept map is √w_u z_u:
    several times fewer features than plain random ones for the same kernel error.

    Selection takes O(s J₊²) time and O(J₊²) memory with all products kept (up to a
    gigabyte of them), or O(J s J₊) and O(s J₊) beyond, with s rows, J₊ candidates and
    J kept; the exact target adds O(s² (J₊ + d)). Features then cost what J rows of the
    projection cost; structured projections keep whole blocks of rows where that is
    faster than J plain ones.

    Parameters
    ----------
    n_candidates : int
        J₊, columns drawn.
    target : "kernel" or "features"
        r: the exact kernel, or the estimate by all candidates as in the paper.
    refit : bool
        Fit the weights of the kept again, by non-negative least squares.
    n_rows : int
        s, rows sampled; all their pairs count.
    n_pairs : int, optional
        Sample so many pairs of all rows instead, as in the paper.

    References
    ----------
    R. Agrawal, T. Campbell, J. Huggins and T. Broderick, Data-dependent compression of
    random features for large-scale kernel approximation, AISTATS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatures, compression
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> few = RandomFeatures(
    ...     32, compression=compression.GIGA(n_candidates=1000), random_state=0
    ... ).fit(X)
    >>> few.transform(X).shape
    (200, 32)
    >>> bool((few.feature_map_.weights_ > 0).all())
    True
    """

    def steps(self, problem: Problem) -> Iterator[Step]:
        """Great-circle steps; y is known by its cosines with the ℓ_u and with ℓ."""
        norms = problem.norms
        to_target = problem.target / norms / problem.target_norm  # ⟨ℓ_u, ℓ⟩
        u = int(to_target.argmax())
        to_y = problem.column(u) / norms / norms[u]  # ⟨ℓ_u, y⟩
        aligned = to_target[u]  # ⟨ℓ, y⟩
        yield _step(problem, u, 0.0, 1.0, aligned)
        while 1 - aligned**2 > LIMIT:
            u = _best(to_target, to_y, aligned)
            # ζ₀ = ⟨ℓ, ℓ_u⟩, ζ₁ = ⟨ℓ, y⟩, ζ₂ = ⟨ℓ_u, y⟩
            zeta0, zeta1, zeta2 = to_target[u], aligned, to_y[u]
            towards, beyond = zeta0 - zeta1 * zeta2, zeta1 - zeta0 * zeta2
            if towards <= 0 or beyond < 0:
                return
            gamma = towards / (towards + beyond)
            length = np.sqrt(
                (1 - gamma) ** 2 + gamma**2 + 2 * gamma * (1 - gamma) * zeta2
            )
            shrink, added = (1 - gamma) / length, gamma / length
            nearer = shrink * zeta1 + added * zeta0
            if nearer <= aligned:  # rounding has the last word
                return
            to_y = shrink * to_y + added * (problem.column(u) / norms / norms[u])
            aligned = nearer
            yield _step(problem, u, shrink, added, aligned)


def _best(to_target: np.ndarray, to_y: np.ndarray, aligned: float) -> int:
    """The candidate whose geodesic from y has the direction best aligned with ℓ's."""
    across = 1 - to_y**2
    direction = to_target - aligned * to_y
    with np.errstate(divide="ignore", invalid="ignore"):
        score = direction / np.sqrt(across)
    # a candidate at ±y has no direction from there
    return int(np.where(across > LIMIT, score, -np.inf).argmax())


def _step(
    problem: Problem, u: int, shrink: float, added: float, aligned: float
) -> Step:
    scale = problem.target_norm * aligned  # of the multiple of y that is nearest to r
    return Step(u, shrink, added, scale, np.sqrt(max(1 - aligned**2, 0.0)))
