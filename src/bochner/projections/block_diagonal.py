"""Randomised block-diagonal projections: k rows with d multiplications."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._core.random import Stream
from .._core.remote_rows import in_memory
from .._core.validation import check_count, check_option, check_positive
from ..kernels.laws import Law
from .base import Cost, LinearMap, Projection
from .sparse import sparse_matrix

SAMPLED_PAIRS = 256
"""Pairs of rows that are sampled: averages over them are exact to a few per cent."""

SAMPLED_BLOCKS = 64
"""Random blocks that are sampled for each pair."""

LARGEST_LOG_SCALE = 2.0
"""Limit of the search for a frequency scale. Beyond e² the kernel of blocks is zero."""


def differences(X: Any, rng: Stream) -> Any:
    """Return x_i − x_j of at most SAMPLED_PAIRS pairs of rows.

    The result is float64, dense or CSC, without rows of zeros.
    """
    words = rng.words(2, SAMPLED_PAIRS) % np.uint64(X.shape[0])
    first, second = (X[w.astype(np.int64)].astype(np.float64) for w in words)
    delta = first - second
    largest = np.asarray(
        abs(delta).max(axis=1).todense()
        if sparse.issparse(delta)
        else abs(delta).max(axis=1)
    ).ravel()
    delta = delta[np.flatnonzero(largest)]
    return delta.tocsc() if sparse.issparse(delta) else delta


def kurtosis(X: Any, metric: str, rng: Stream) -> float:
    """Return the average of κ = d·Σv²/(Σv)² over differences, with v = δ² or |δ|.

    κ is 1 if all features contribute equally to the distance, and d if only one does.
    """
    V = _terms(differences(X, rng), metric)
    if V.shape[0] == 0:
        return 1.0
    # κ does not depend on the scale: dividing first avoids overflow and underflow.
    V = _divide_rows(V, _row_sums(V))
    square = V.multiply(V) if sparse.issparse(V) else V**2
    return float(X.shape[1] * _row_sums(square).mean())


def amplitude_for(X: Any, law: Law, sizes: np.ndarray, rng: Stream) -> float:
    """Return √a, where a · (block kernel) is closest to the kernel in least squares."""
    exact, distances = _kernel_and_block_distances(X, law, sizes, rng)
    mean = law.characteristic(distances.copy()).mean(axis=1)
    return float(np.sqrt((mean @ exact) / (mean @ mean))) if mean.size else 1.0


def frequency_scale_for(X: Any, law: Law, sizes: np.ndarray, rng: Stream) -> float:
    """Return the frequency scale whose block kernel is closest in least squares."""
    # Imported on use: scipy.optimize would add to the time of `import bochner`.
    from scipy.optimize import minimize_scalar

    exact, distances = _kernel_and_block_distances(X, law, sizes, rng)
    if not exact.size:
        return 1.0
    power = 2 if law.metric == "sqeuclidean" else 1

    def error(log_scale: float) -> float:
        scaled = distances * np.exp(power * log_scale)
        mean = law.characteristic(scaled).mean(axis=1)
        return float(((mean - exact) ** 2).sum())

    best = minimize_scalar(error, bounds=(0, LARGEST_LOG_SCALE), method="bounded")
    return float(np.exp(best.x))


def _kernel_and_block_distances(
    X: Any, law: Law, sizes: np.ndarray, rng: Stream
) -> tuple[np.ndarray, np.ndarray]:
    """Return the exact kernel, (pairs,), and distances within blocks, (pairs, blocks).

    `sizes` are the block sizes of one pass; the sampled blocks have them in proportion.
    """
    V = _terms(differences(X, rng), law.metric)
    d = V.shape[1]
    distances = np.empty((V.shape[0], SAMPLED_BLOCKS))
    for block in range(SAMPLED_BLOCKS):
        size = int(sizes[block * len(sizes) // SAMPLED_BLOCKS])
        distances[:, block] = _row_sums(V[:, rng.subset(d, size)]) * (d / size)
    return law.characteristic(_row_sums(V)), distances


def _terms(delta: Any, metric: str) -> Any:
    """Return the terms whose sum over features is the distance: δ², or |δ|."""
    if metric == "cityblock":
        return abs(delta)
    return delta.multiply(delta) if sparse.issparse(delta) else delta**2


def _row_sums(V: Any) -> np.ndarray:
    return np.asarray(V.sum(axis=1)).ravel()


def _divide_rows(V: Any, divisors: np.ndarray) -> Any:
    if sparse.issparse(V):
        return sparse.diags(1 / divisors) @ V
    return V / divisors[:, None]


CORRECTIONS = (None, "scalar", "bandwidth")
IMAGE_KURTOSIS = 3.0
"""κ of differences of images, for which the block size 1.5·√m was determined."""


class BlockDiagonal(Projection):
    """Rows w_i = s_i C_i on random blocks B_i of the features, and zero elsewhere.

    One pass shuffles the d features and cuts them into k = round(d/b) blocks, which
    give k rows: the phase of row i is s_i·C_iᵀu_{B_i}, where C_i is drawn from the law
    on the b_i coordinates of block B_i and s_i = √(d/b_i) (d/b_i for ℓ1 kernels). More
    rows need further passes, each with another shuffle. Block sizes differ by one if k
    does not divide d.

    A Fourier feature depends on b of d coordinates, so the map estimates
    E_B k(s·δ_B) ≥ k(δ). More features do not reduce this bias; larger blocks do. For
    the Gaussian kernel the relative bias is about ½(γ‖δ‖²)²(κ − 1)(1/b − 1/d) with
    κ = d·Σδ⁴/‖δ‖⁴. As a linear projection (`RandomProjection`) the map is unbiased for
    every block size.

    Time is O(n m b), or O(nnz·m·b/d + m) per CSR row; memory is O(m b). For a given
    block size, the first m rows of a map with 2m rows are those of a map with m rows.

    Parameters
    ----------
    block_size : int, {"auto", "paper"}, default "auto"
        b. "auto" is 1.5·√m·(κ − 1)/2 with κ measured on the data, which keeps the bias
        below the noise of m frequencies; in a linear projection "auto" uses one pass.
        "paper" is d/m, which is one pass with any bias.
    bias_correction : {None, "scalar", "bandwidth"}, default None
        "scalar" multiplies the features by the square root of the factor that brings
        sampled inner products closest to the kernel; k(x, x) is then below 1.
        "bandwidth" multiplies the frequencies by the factor that does so; k(x, x) stays
        1, and close pairs improve most. Both correct the average bias, not the bias of
        a single pair.
    normalize : bool, default False
        Whether to divide each feature by its range on the training rows. This changes
        the kernel, and `kernel_` of the fitted map includes the ranges. Features are
        not shifted, because the kernel does not depend on a shift.
    frequency_scale, amplitude : float, default 1.0
        Results of a bias correction, which `resolve` sets. Do not set them yourself.

    See Also
    --------
    bochner.theory.block_diagonal_moments : Bias and variance of the kernel estimate.
    bochner.methods.block_diagonal : Random features with this projection.

    References
    ----------
    Fast random Fourier features through randomized block-diagonal projection, preprint.
    `theory.block_diagonal_moments` corrects the variance of the paper.

    Examples
    --------
    >>> from bochner import RandomFeatures, RandomProjection, projections
    >>> X = [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]
    >>> blocks = projections.BlockDiagonal(2)
    >>> RandomFeatures(8, projection=blocks, random_state=0).fit_transform(X).shape
    (2, 8)
    >>> RandomProjection(2, projection="block_diagonal").fit_transform(X).shape
    (2, 2)
    """

    needs: ClassVar = ("on_block",)

    def __init__(
        self,
        block_size: int | str = "auto",
        *,
        bias_correction: str | None = None,
        normalize: bool = False,
        frequency_scale: float = 1.0,
        amplitude: float = 1.0,
    ) -> None:
        self.block_size = block_size
        self.bias_correction = bias_correction
        self.normalize = normalize
        self.frequency_scale = frequency_scale
        self.amplitude = amplitude

    def input_factors(self, X: Any) -> np.ndarray | None:
        """Return 1/range of each feature if `normalize` is set, otherwise None."""
        check_option("BlockDiagonal", "normalize", self.normalize, (False, True))
        return _reciprocal_ranges(X) if self.normalize else None

    def resolve(self, X: Any, law: Law, n_out: int, rng: Stream) -> BlockDiagonal:
        """Return a copy with the block size and the bias correction computed on X."""
        check_option(
            "BlockDiagonal", "bias_correction", self.bias_correction, CORRECTIONS
        )
        for name in ("frequency_scale", "amplitude"):
            check_positive("BlockDiagonal", name, getattr(self, name))
        resolved = clone(self).set_params(bias_correction=None)
        pairs, d = rng.child("pairs"), X.shape[1]
        if self._is_size("auto"):
            size = _block_size(n_out, kurtosis(X, law.metric, pairs))
            resolved.set_params(block_size=min(size, d))
        k = resolved.blocks_per_pass(n_out, d)
        sizes = _sizes(d, k, k)
        if self.bias_correction == "scalar":
            resolved.set_params(amplitude=amplitude_for(X, law, sizes, pairs))
        if self.bias_correction == "bandwidth":
            scale = frequency_scale_for(X, law, sizes, pairs)
            resolved.set_params(frequency_scale=scale)
        return resolved

    def cost(
        self,
        n_out: int,
        n_in: int,
        law: Law | None = None,
        filled: float | None = None,
    ) -> Cost:
        k = self.blocks_per_pass(n_out, n_in, linear=law is None)
        flops = 2 * n_out / k * (n_in if filled is None else filled)
        return Cost(flops, 2 * n_out * n_in / k)  # values and indices

    def _sample(self, law: Any, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        k = self.blocks_per_pass(n_out, n_in)
        sizes = _sizes(n_in, k, n_out)
        C = np.zeros((n_out, int(sizes.max())))
        for b in np.unique(sizes).tolist():
            rows = np.flatnonzero(sizes == b)
            block_law, stretch = law.on_block(n_in, b)
            stream = rng.child("entries").child(b)
            frequencies = block_law.frequencies(rows.size, b, stream)
            C[rows, :b] = stretch * self.frequency_scale * frequencies
        return _assemble(C, sizes, n_in, k, rng)

    def _sample_isometry(self, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        """Draw V with E‖V u‖² = ‖u‖².

        With complete passes this holds for every u and every fixed shuffle.
        """
        k = self.blocks_per_pass(n_out, n_in, linear=True)
        sizes = _sizes(n_in, k, n_out)
        C = rng.child("entries").normal(n_out, int(sizes.max()))
        if n_out % k == 0:
            C *= (n_out // k) ** -0.5  # each of P complete passes has E‖v‖² = ‖u‖²
        else:
            C *= np.sqrt(n_in / (n_out * sizes))[:, None]
        return _assemble(C, sizes, n_in, k, rng)

    def _is_size(self, name: str) -> bool:
        return isinstance(self.block_size, str) and self.block_size == name

    def blocks_per_pass(self, n_out: int, n_in: int, linear: bool = False) -> int:
        """Return the number of blocks of n_in features; `linear`: for an isometry."""
        if self._is_size("paper") or (linear and self._is_size("auto")):
            return min(n_out, n_in)
        b = self.block_size
        if self._is_size("auto"):
            b = min(n_in, _block_size(n_out, IMAGE_KURTOSIS))  # without data
        hint = f" Use an integer from 1 to {n_in} (features), 'auto' or 'paper'."
        b = check_count("BlockDiagonal", "block_size", b, hint)
        if b > n_in:
            raise ValueError(
                "BlockDiagonal: block_size must be at most the number of features, "
                f"{n_in}; got {b}. Use a smaller block_size or 'auto'."
            )
        return max(1, round(n_in / b))


def _block_size(n_out: int, kappa: float) -> int:
    """Return 1.5·√m·(κ − 1)/2, at least 1; the bias is below the noise of m rows."""
    spread = (kappa - 1) / (IMAGE_KURTOSIS - 1)
    return max(1, int(np.ceil(1.5 * np.sqrt(n_out) * spread)))


def _sizes(n_in: int, k: int, n_out: int) -> np.ndarray:
    """Return the block sizes of n_out rows, for passes of k blocks of n_in features."""
    one_pass = np.full(k, n_in // k)
    one_pass[: n_in % k] += 1
    return np.resize(one_pass, n_out)


def _assemble(
    C: np.ndarray, sizes: np.ndarray, n_in: int, k: int, rng: Stream
) -> LinearMap:
    """Return the map whose row i has the entries C[i, :sizes[i]] on block i."""
    order = rng.child("order")
    columns = [
        order.permutation(n_in)[: int(sizes[start : start + k].sum())]
        for start in range(0, len(sizes), k)
    ]
    values = C[np.arange(C.shape[1]) < sizes[:, None]]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    parts = (values, np.concatenate(columns).astype(np.int32), starts)
    W = sparse.csr_matrix(parts, shape=(len(sizes), n_in))
    W.sort_indices()  # so that X is read in order
    return sparse_matrix(W)


def _reciprocal_ranges(X: Any) -> np.ndarray:
    """Return 1/(max − min) of each feature, or 1 for constant features."""
    X, _ = in_memory(X)
    if sparse.issparse(X):
        spans = (X.max(axis=0) - X.min(axis=0)).toarray().ravel()
    else:
        spans = X.max(axis=0) - X.min(axis=0)
    spans = spans.astype(np.float64)
    return 1 / np.where(spans > 0, spans, 1)
