"""Frank-Wolfe selection of features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .greedy import Greedy, Problem, Step


class FrankWolfe(Greedy):
    """Keep candidates by Frank-Wolfe on {w ≥ 0, Σ_u w_u σ_u = σ}, σ_u = ‖R_u‖.

    σ = Σ_u σ_u; the vertices are (σ/σ_u) R_u. Each step goes to the vertex best aligned
    with what is left of the target, as far as an exact line search says. The constraint
    forbids shrinking, so without the refit the kernel error is about that of plain
    features where few are kept; `GIGA` is the better choice.

    Cost and parameters are those of `GIGA`.

    References
    ----------
    R. Agrawal, T. Campbell, J. Huggins and T. Broderick, Data-dependent compression of
    random features for large-scale kernel approximation, AISTATS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatures, compression
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> few = compression.FrankWolfe(n_candidates=1000)
    >>> RandomFeatures(32, compression=few, random_state=0).fit_transform(X).shape
    (200, 32)
    """

    def steps(
        self, problem: Problem, kept: np.ndarray, weights: np.ndarray
    ) -> Iterator[Step]:
        """Steps to vertices; y is known by its products with the R_u, r and itself."""
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
        error = square - 2 * with_target + with_itself
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
            if gamma <= 0 or lower >= error:  # rounding has the last word
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
    return float(np.sqrt(max(square, 0.0)))
