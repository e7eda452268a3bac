"""Randomised block-diagonal projections: k rows for d multiplications."""

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

PAIRS = 256
"""Differences looked at: averages over them are good to a few per cent."""

BLOCKS = 64
"""Random blocks of each difference."""

LARGEST_LOG_SCALE = 2.0
"""Bound of the search for a frequency scale: beyond e², blocks see nothing at all."""


def differences(X: Any, rng: Stream) -> Any:
    """x_i − x_j of up to PAIRS pairs of rows, float64, dense or CSC, no zero rows."""
    words = rng.words(2, PAIRS) % np.uint64(X.shape[0])
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
    """κ = d·Σv²/(Σv)², v = δ² or |δ|, averaged: 1 where even, d for spikes."""
    V = _terms(differences(X, rng), metric)
    if V.shape[0] == 0:
        return 1.0
    # κ has no scale: divide first, so that no power over- or underflows
    V = _divide_rows(V, _row_sums(V))
    square = V.multiply(V) if sparse.issparse(V) else V**2
    return float(X.shape[1] * _row_sums(square).mean())


def amplitude_for(X: Any, law: Law, sizes: np.ndarray, rng: Stream) -> float:
    """√a of the factor a that brings block kernels closest to the kernel."""
    exact, blocks = _kernels(X, law, sizes, rng)
    seen = law.characteristic(blocks.copy()).mean(axis=1)
    return float(np.sqrt((seen @ exact) / (seen @ seen))) if seen.size else 1.0


def frequency_scale_for(X: Any, law: Law, sizes: np.ndarray, rng: Stream) -> float:
    """The factor on frequencies that brings block kernels closest to the kernel."""
    # Imported on use: scipy.optimize would add to the time of `import bochner`.
    from scipy.optimize import minimize_scalar

    exact, blocks = _kernels(X, law, sizes, rng)
    if not exact.size:
        return 1.0
    power = 2 if law.metric == "sqeuclidean" else 1

    def error(log_scale: float) -> float:
        seen = law.characteristic(blocks * np.exp(power * log_scale)).mean(axis=1)
        return float(((seen - exact) ** 2).sum())

    best = minimize_scalar(error, bounds=(0, LARGEST_LOG_SCALE), method="bounded")
    return float(np.exp(best.x))


def _kernels(
    X: Any, law: Law, sizes: np.ndarray, rng: Stream
) -> tuple[np.ndarray, np.ndarray]:
    """The kernel, (pairs,), and distances as blocks see them, (pairs, BLOCKS).

    Block sizes are those of one pass, in proportion.
    """
    V = _terms(differences(X, rng), law.metric)
    d = V.shape[1]
    seen = np.empty((V.shape[0], BLOCKS))
    for block in range(BLOCKS):
        size = int(sizes[block * len(sizes) // BLOCKS])
        seen[:, block] = _row_sums(V[:, rng.subset(d, size)]) * (d / size)
    return law.characteristic(_row_sums(V)), seen


def _terms(delta: Any, metric: str) -> Any:
    """What a distance sums over the features: δ², or |δ|."""
    if metric == "cityblock":
        return abs(delta)
    return delta.multiply(delta) if sparse.issparse(delta) else delta**2


def _row_sums(V: Any) -> np.ndarray:
    return np.asarray(V.sum(axis=1)).ravel()


def _divide_rows(V: Any, by: np.ndarray) -> Any:
    if sparse.issparse(V):
        return sparse.diags(1 / by) @ V
    return V / by[:, None]


CORRECTIONS = (None, "scalar", "bandwidth")
IMAGE_KURTOSIS = 3.0
"""κ of differences of images, to which the block size 1.5·√m was fitted."""


class BlockDiagonal(Projection):
    """Shuffle the features, cut them into blocks, give each its own random vector.

    One pass over the d features gives k = round(d/b) rows: the phase of row i is
    s_i·C_iᵀu_{B_i}, with C_i drawn from the law on the b_i coordinates of block B_i and
    s_i = √(d/b_i) (d/b_i for ℓ1 kernels). More rows take further passes, each with its
    own shuffle; blocks differ by one where k does not divide d.

    A Fourier feature sees b of d coordinates, so the map estimates E_B k(s·δ_B) ≥ k(δ):
    a bias that more features do not remove; for the Gaussian, relative to k, about
    ½(γ‖δ‖²)²(κ − 1)(1/b − 1/d) with κ = d·Σδ⁴/‖δ‖⁴. `block_size` is the knob. As a
    random projection (`RandomProjection`) it is unbiased for every block size.

    Time O(n m b), for CSR rows O(nnz·m·b/d + m) each; memory O(m b). For a given block
    size, a map of m rows is a prefix of one of 2m.

    Parameters
    ----------
    block_size : "auto", "paper" or int
        b. "auto": 1.5·√m·(κ − 1)/2, which keeps the bias below the noise of m
        frequencies, κ measured on the data; in a random projection one pass. "paper":
        d/m, one pass, whatever the bias.
    bias_correction : None, "scalar" or "bandwidth"
        "scalar": features times the square root of the one factor that brings sampled
        inner products closest to the kernel; k(x, x) is then below 1. "bandwidth":
        frequencies times the one factor that does; k(x, x) stays 1, and close pairs
        gain most. Both are averages: neither mends a single pair.
    normalize : bool
        Divide each feature by its range in `fit` first. This changes the kernel, as
        `kernel_` then says; a shift would not, so none is taken.
    frequency_scale, amplitude : float
        What a bias correction comes to once resolved on data; leave them alone.

    References
    ----------
    Fast random Fourier features through randomized block-diagonal projection, preprint;
    its variance is put right in `theory.block_diagonal_moments`.

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
        block_size: Any = "auto",
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
        """1/range of each feature where `normalize` asks for it."""
        check_option("BlockDiagonal", "normalize", self.normalize, (False, True))
        return _reciprocal_ranges(X) if self.normalize else None

    def resolve(self, X: Any, law: Law, n_out: int, rng: Stream) -> BlockDiagonal:
        """Settle block size and bias on the rows of X."""
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
        return Cost(flops, 2 * n_out * n_in / k)  # values and their places

    def _sample(self, law: Any, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        k = self.blocks_per_pass(n_out, n_in)
        sizes = _sizes(n_in, k, n_out)
        C = np.zeros((n_out, int(sizes.max())))
        for b in np.unique(sizes).tolist():
            rows = np.flatnonzero(sizes == b)
            block_law, stretch = law.on_block(n_in, b)
            drawn = block_law.frequencies(rows.size, b, rng.child("entries").child(b))
            C[rows, :b] = stretch * self.frequency_scale * drawn
        return _assemble(C, sizes, n_in, k, rng)

    def _sample_isometry(self, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        """V with E‖V u‖² = ‖u‖²: for every u and shuffle where passes are complete."""
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
        """Into how many blocks n_in features are cut; `linear`: to keep lengths."""
        if self._is_size("paper") or (linear and self._is_size("auto")):
            return min(n_out, n_in)
        b = self.block_size
        if self._is_size("auto"):
            b = min(n_in, _block_size(n_out, IMAGE_KURTOSIS))  # no data to ask
        hint = f" From 1 to {n_in} features, 'auto' or 'paper' work here."
        b = check_count("BlockDiagonal", "block_size", b, hint)
        if b > n_in:
            raise ValueError(
                f"BlockDiagonal: block_size must be at most the number of features, "
                f"{n_in}; got {b}."
            )
        return max(1, round(n_in / b))


def _block_size(n_out: int, kappa: float) -> int:
    """1.5·√m·(κ − 1)/2, at least 1: the bias stays below the noise of m frequencies."""
    spread = (kappa - 1) / (IMAGE_KURTOSIS - 1)
    return max(1, int(np.ceil(1.5 * np.sqrt(n_out) * spread)))


def _sizes(n_in: int, k: int, n_out: int) -> np.ndarray:
    """Sizes of the blocks of the first n_out rows: n_in cut into k, pass by pass."""
    one_pass = np.full(k, n_in // k)
    one_pass[: n_in % k] += 1
    return np.resize(one_pass, n_out)


def _assemble(
    C: np.ndarray, sizes: np.ndarray, n_in: int, k: int, rng: Stream
) -> LinearMap:
    """Row i holds C[i, :sizes[i]] on the features of its block."""
    order = rng.child("order")
    columns = [
        order.permutation(n_in)[: int(sizes[start : start + k].sum())]
        for start in range(0, len(sizes), k)
    ]
    values = C[np.arange(C.shape[1]) < sizes[:, None]]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    parts = (values, np.concatenate(columns).astype(np.int32), starts)
    W = sparse.csr_matrix(parts, shape=(len(sizes), n_in))
    W.sort_indices()  # X is read in order
    return sparse_matrix(W)


def _reciprocal_ranges(X: Any) -> np.ndarray:
    """1/(max − min) of each feature, 1 where it is constant."""
    X, _ = in_memory(X)
    if sparse.issparse(X):
        spans = (X.max(axis=0) - X.min(axis=0)).toarray().ravel()
    else:
        spans = X.max(axis=0) - X.min(axis=0)
    spans = spans.astype(np.float64)
    return 1 / np.where(spans > 0, spans, 1)
