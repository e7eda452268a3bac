"""Frank-Wolfe selection of features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .greedy import Greedy, Problem, Step


class FrankWolfe(Greedy):
    """Keep a weighted subset of candidates, chosen by the Frank-Wolfe algorithm.

    With R_u(x, y) the contribution of candidate u to the estimated kernel, r the target
    kernel, σ_u = ‖R_u‖ and σ = Σ_u σ_u, the algorithm minimises ‖Σ_u w_u R_u − r‖ over
    {w ≥ 0, Σ_u w_u σ_u = σ}. The vertices of that set are (σ/σ_u) R_u. Each step moves
    towards the vertex that is best aligned with the residual, by an exact line search.
    The constraint forbids shrinking: without the refit, a map of few features has about
    the kernel error of plain random features. `GIGA` is the better choice.

    Time and memory are those of `GIGA`.

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
        pairs of n_rows rows.

    See Also
    --------
    GIGA : Lower error at the same cost.
    bochner.methods.frank_wolfe : Random features with this compression.

    References
    ----------
    R. Agrawal, T. Campbell, J. Huggins and T. Broderick, Data-dependent compression of
    random features for large-scale kernel approximation, AISTATS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatures, compression
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> spec = compression.FrankWolfe(n_candidates=1000)
    >>> RandomFeatures(32, compression=spec, random_state=0).fit_transform(X).shape
    (200, 32)
    """

    def steps(
        self, problem: Problem, kept: np.ndarray, weights: np.ndarray
    ) -> Iterator[Step]:
        """Yield steps towards vertices, from the current combination y.

        y is represented by its inner products with the R_u, with r and with itself.
        """
        norms, target, square = problem.norms, problem.target, problem.target_norm**2
        sigma = norms[problem.present].sum()
        if kept.size:
            to_y = problem.combination(kept, weights)  # ⟨R_u, y⟩
            with_target, with_itself = weights @ target[kept], weights @ to_y[kept]
        else:
            u = problem.best(target / norms / problem.target_norm)
            vertex = sigma / norms[u]
            to_y = vertex * problem.column(u)
            with_target, with_itself = vertex * target[u], sigma**2
        error = square - 2 * with_target + with_itself  # ‖y − r‖²
        if not kept.size:
            yield Step(u, 0.0, vertex, _root(error / square))
        while True:
            u = problem.best((target - to_y) / norms / problem.target_norm)
            vertex = sigma / norms[u]
            # γ = ⟨v − y, r − y⟩/‖v − y‖² for the vertex v
            gain = vertex * (target[u] - to_y[u]) - with_target + with_itself
            length = sigma**2 - 2 * vertex * to_y[u] + with_itself
            gamma = min(gain / length, 1.0) if length > 0 else 0.0
            lower = error - 2 * gamma * gain + gamma**2 * length
            if gamma <= 0 or lower >= error:  # further steps would only add rounding
                return
            with_itself = (
                (1 - gamma) ** 2 * with_itself
                + 2 * gamma * (1 - gamma) * vertex * to_y[u]
                + (gamma * sigma) ** 2
            )
            to_y = (1 - gamma) * to_y + gamma * vertex * problem.column(u)
            with_target = (1 - gamma) * with_target + gamma * vertex * target[u]
            error = lower
            yield Step(u, 1 - gamma, gamma * vertex, _root(error / square))


def _root(square: float) -> float:
    """√square; 0 for a square that rounding has made negative."""
    return float(np.sqrt(max(square, 0.0)))
