"""GIGA: greedy iterative geodesic ascent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .greedy import Greedy, Problem, Step

LIMIT = 1e-14
"""1 − cos² of an angle that float64 can no longer tell from zero."""


class GIGA(Greedy):
    """Keep the weighted subset of candidates whose kernel points where the target does.

    With unit vectors ℓ_u = R_u/‖R_u‖ and ℓ = r/‖r‖ over pairs of rows, R_u(x, y) the
    share of candidate u in the estimated kernel, y starts at the ℓ_u nearest to ℓ and
    moves on the great circle towards the ℓ_u whose direction is best aligned with ℓ's,
    as far as brings it nearest; then y is scaled to fit r. The kept map is √w_u z_u:
    several times fewer features than plain random ones for the same kernel error.
    By default the weights are fitted anew as units come in, and y starts again there.

    Selection takes O(s J₊² + J³) time and O(J₊²) memory with all products kept (up to a
    gigabyte of them), or O(J s J₊) and O(s J₊) beyond, with s rows, J₊ candidates and
    J kept; the exact target adds O(s² (J₊ + d)). Features then cost what J rows of the
    projection cost; structured projections keep whole blocks of rows where that is
    faster than J plain ones.

    Parameters
    ----------
    n_candidates : int, default 5000
        J₊, columns drawn.
    target : "kernel" (default) or "features"
        r: the exact kernel, or the estimate by all candidates as in the paper.
    refit : bool, default True
        Fit the weights of the kept again, by non-negative least squares, each time
        there are a quarter more of them and in the end. False: as in the paper.
    n_rows : int, default 2000
        s, rows sampled; all their pairs count.
    n_pairs : int, optional
        Sample so many pairs of all rows instead, as in the paper: slower and larger
        than all pairs of n_rows rows (20,000 take 20 s and a gigabyte), no better.

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

    def steps(
        self, problem: Problem, kept: np.ndarray, weights: np.ndarray
    ) -> Iterator[Step]:
        """Great-circle steps; y is known by its cosines with the ℓ_u and with ℓ."""
        norms, length = problem.norms, problem.target_norm
        to_target = problem.target / norms / length  # ⟨ℓ_u, ℓ⟩
        if kept.size:
            y = problem.combination(kept, weights)
            size = np.sqrt(weights @ y[kept])
            to_y = y / norms / size  # ⟨ℓ_u, y⟩
            aligned = weights @ problem.target[kept] / size / length  # ⟨ℓ, y⟩
        else:
            u = problem.best(to_target)
            to_y = problem.column(u) / norms / norms[u]
            aligned = to_target[u]
            yield Step(u, 0.0, length * aligned / norms[u], _error(aligned))
        while 1 - aligned**2 > LIMIT:
            u = problem.best(_alignment(to_target, to_y, aligned))
            step = _great_circle(to_target[u], aligned, to_y[u])
            if step is None:
                return
            shrink, added, nearer = step
            to_y = shrink * to_y + added * (problem.column(u) / norms / norms[u])
            # the weights stand for the multiple of y that is nearest to r
            shrink, added = shrink * nearer / aligned, added * nearer * length
            aligned = nearer
            yield Step(u, shrink, added / norms[u], _error(aligned))


def _alignment(to_target: np.ndarray, to_y: np.ndarray, aligned: float) -> np.ndarray:
    """How well the geodesic from y to each candidate is aligned with that to ℓ."""
    across = 1 - to_y**2
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = (to_target - aligned * to_y) / np.sqrt(across)
    cosine /= np.sqrt(1 - aligned**2)
    # a candidate at ±y has no direction from there
    return np.where(across > LIMIT, cosine, -np.inf)


def _great_circle(
    zeta0: float, zeta1: float, zeta2: float
) -> tuple[float, float, float] | None:
    """y ← shrink y + added ℓ_u nearest to ℓ, and its cosine with ℓ; None at the limit.

    ζ₀ = ⟨ℓ, ℓ_u⟩, ζ₁ = ⟨ℓ, y⟩, ζ₂ = ⟨ℓ_u, y⟩.
    """
    towards, beyond = zeta0 - zeta1 * zeta2, zeta1 - zeta0 * zeta2
    if towards <= 0 or beyond < 0:
        return None
    gamma = towards / (towards + beyond)
    length = np.sqrt((1 - gamma) ** 2 + gamma**2 + 2 * gamma * (1 - gamma) * zeta2)
    shrink, added = (1 - gamma) / length, gamma / length
    nearer = shrink * zeta1 + added * zeta0
    return (shrink, added, nearer) if nearer > zeta1 else None


def _error(aligned: float) -> float:
    return float(np.sqrt(max(1 - aligned**2, 0.0)))
