"""GIGA: greedy iterative geodesic ascent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .greedy import Greedy, Problem, Step

LIMIT = 1e-14
"""Values of 1 − cos² of an angle below this are zero to the precision of float64."""


class GIGA(Greedy):
    """Keep a weighted subset of candidates, chosen by greedy iterative geodesic ascent.

    R_u(x, y) is the contribution of candidate u to the estimated kernel and r the
    target kernel, both as functions of pairs of rows; ℓ_u = R_u/‖R_u‖ and ℓ = r/‖r‖ are
    unit vectors. The iterate y starts at the ℓ_u nearest to ℓ. Each step moves y along
    the great circle towards the ℓ_u whose direction is best aligned with the direction
    of ℓ, up to the point nearest to ℓ. At the end y is scaled to fit r, which gives
    weights w, and the kept map is √w_u z_u. It needs several times fewer features than
    a plain random map of the same kernel error. By default the weights are refitted
    whenever the number of kept units has grown by a quarter, and y continues from
    there.

    With s rows, J₊ candidates and J kept, the selection takes O(s J₊² + J³) time and
    O(J₊²) memory if all inner products fit into a gigabyte, O(J s J₊) time and O(s J₊)
    memory otherwise; the exact target adds O(s² (J₊ + d)) time. The features then cost
    as much as J rows of the projection. A structured projection keeps whole blocks of
    rows where that is faster than J single rows.

    Parameters
    ----------
    n_candidates : int, default 5000
        J₊, the number of columns drawn.
    target : {"kernel", "features"}, default "kernel"
        r: the exact kernel, or its estimate from all candidates as in the paper.
    refit : bool, default True
        Whether to refit the weights of the kept units by non-negative least squares,
        each time their number has grown by a quarter and at the end. False is the
        paper's algorithm.
    n_rows : int, default 2000
        s, the number of sampled rows, all pairs of which are used.
    n_pairs : int or None, default None
        Number of pairs to sample from all rows, as in the paper, instead of using all
        pairs of n_rows rows. Sampled pairs take more time and memory (20,000 pairs take
        20 s and a gigabyte) and give no lower error.

    See Also
    --------
    JL : Compression that reads no data.
    bochner.methods.giga : Random features with this compression.

    References
    ----------
    R. Agrawal, T. Campbell, J. Huggins and T. Broderick, Data-dependent compression of
    random features for large-scale kernel approximation, AISTATS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatures, compression
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> features = RandomFeatures(
    ...     32, compression=compression.GIGA(n_candidates=1000), random_state=0
    ... ).fit(X)
    >>> features.transform(X).shape
    (200, 32)
    >>> bool((features.feature_map_.weights_ > 0).all())
    True
    """

    def steps(
        self, problem: Problem, kept: np.ndarray, weights: np.ndarray
    ) -> Iterator[Step]:
        """Yield great-circle steps; y is represented by its cosines with ℓ_u and ℓ."""
        norms, length = problem.norms, problem.target_norm
        to_target = problem.target / norms / length  # ⟨ℓ_u, ℓ⟩
        if kept.size:
            y = problem.combination(kept, weights)
            size = np.sqrt(weights @ y[kept])
            to_y = y / norms / size  # ⟨ℓ_u, y⟩
            cosine = weights @ problem.target[kept] / size / length  # ⟨ℓ, y⟩
        else:
            u = problem.best(to_target)
            to_y = problem.column(u) / norms / norms[u]
            cosine = to_target[u]
            yield Step(u, 0.0, length * cosine / norms[u], _error(cosine))
        while 1 - cosine**2 > LIMIT:
            u = problem.best(_alignment(to_target, to_y, cosine))
            step = _great_circle(to_target[u], cosine, to_y[u])
            if step is None:
                return
            shrink, added, new_cosine = step
            to_y = shrink * to_y + added * (problem.column(u) / norms / norms[u])
            # the weights are those of the multiple of y that is nearest to r
            shrink, added = shrink * new_cosine / cosine, added * new_cosine * length
            cosine = new_cosine
            yield Step(u, shrink, added / norms[u], _error(cosine))


def _alignment(to_target: np.ndarray, to_y: np.ndarray, cosine: float) -> np.ndarray:
    """Cosines between the geodesics from y to each candidate and from y to ℓ."""
    squared_sine = 1 - to_y**2
    with np.errstate(divide="ignore", invalid="ignore"):
        alignment = (to_target - cosine * to_y) / np.sqrt(squared_sine)
    alignment /= np.sqrt(1 - cosine**2)
    # the geodesic to a candidate at ±y has no direction
    return np.where(squared_sine > LIMIT, alignment, -np.inf)


def _great_circle(
    zeta0: float, zeta1: float, zeta2: float
) -> tuple[float, float, float] | None:
    """Step y ← shrink y + added ℓ_u to the point nearest to ℓ.

    ζ₀ = ⟨ℓ, ℓ_u⟩, ζ₁ = ⟨ℓ, y⟩, ζ₂ = ⟨ℓ_u, y⟩. Returns shrink, added and the new cosine
    ⟨ℓ, y⟩; None if no step increases the cosine.
    """
    towards, beyond = zeta0 - zeta1 * zeta2, zeta1 - zeta0 * zeta2
    if towards <= 0 or beyond < 0:
        return None
    gamma = towards / (towards + beyond)
    length = np.sqrt((1 - gamma) ** 2 + gamma**2 + 2 * gamma * (1 - gamma) * zeta2)
    shrink, added = (1 - gamma) / length, gamma / length
    new_cosine = shrink * zeta1 + added * zeta0
    return (shrink, added, new_cosine) if new_cosine > zeta1 else None


def _error(cosine: float) -> float:
    """‖y − r‖/‖r‖ = √(1 − cos²) for the multiple of y that is nearest to r."""
    return float(np.sqrt(max(1 - cosine**2, 0.0)))
