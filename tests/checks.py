"""The contract suites: what every linear map and every feature map must do.

A new part is tested by one more line in the lists of `test_projections.py` and
`test_maps.py`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import norm

from bochner import RandomFeatures
from bochner.kernels.base import Kernel
from bochner.projections.base import LinearMap

ALPHA = 1e-6
"""Probability that a statistical check fails for correct code."""


def data(n: int, d: int, dtype=np.float64, seed: int = 0) -> np.ndarray:
    """Read-only rows with a third of their entries zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) > 1 / 3)
    X = X.astype(dtype)
    X.flags.writeable = False
    return X


def check_linear_map(linear: LinearMap) -> None:
    """apply, adjoint, dense form, dtype, input kept, CSR, n = 0 and 1, pickle."""
    n_out, n_in = linear.shape
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
        op = linear.astype(dtype)
        W = op.to_dense()
        assert W.shape == (n_out, n_in)
        X, Z = data(9, n_in, dtype), data(9, n_out, dtype, seed=1)
        scale = float(np.abs(W).max()) * n_in + 1

        applied = op.apply(X)
        assert applied.dtype == op.dtype == dtype
        assert_allclose(applied, X @ W.T, rtol=0, atol=tolerance * scale)
        adjoint = op.apply_adjoint(Z)
        assert adjoint.dtype == dtype
        assert_allclose(adjoint, Z @ W, rtol=0, atol=tolerance * scale * n_out)
        assert_allclose(
            np.vdot(applied, Z), np.vdot(X, adjoint), atol=tolerance * scale * n_out
        )
        from_csr: Any = op.apply(sparse.csr_matrix(X))
        if sparse.issparse(from_csr):
            from_csr = from_csr.toarray()
        assert from_csr.dtype == dtype
        assert_allclose(from_csr, applied, rtol=0, atol=tolerance * scale)

        rows = np.linspace(1, 2, n_out).astype(dtype)
        columns = np.linspace(1, 2, n_in).astype(dtype)
        scaled = op.scale_rows(rows).scale_columns(columns).to_dense()
        assert_allclose(scaled, rows[:, None] * W * columns, atol=tolerance * scale)

        kept = np.array([n_out - 1, 0, n_out // 2])
        some = op.select(kept)
        assert some.shape == (3, n_in) and some.dtype == dtype
        assert_allclose(some.to_dense(), W[kept], atol=tolerance * scale)
        assert_array_equal(np.asarray(op), W)

        out = np.full((9, n_out), np.nan, dtype=dtype)
        assert op.apply(X, out=out) is out
        assert_array_equal(out, applied)
        assert op.apply(X[:0]).shape == (0, n_out)
        assert_allclose(op.apply(X[:1]), applied[:1], atol=tolerance * scale)
        assert_array_equal(pickle.loads(pickle.dumps(op)).apply(X), applied)


def check_feature_map(
    make: Callable[..., RandomFeatures], d: int = 5, *, exact: bool = False
) -> None:
    """dtype, input kept, CSR == dense, chunked == whole, pickle, seeds, n = 1.

    `exact`: results must agree bit for bit (no BLAS underneath), else to rounding.
    """
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 2e-5)):
        X = data(600, d, dtype)
        features = make(128, random_state=0).fit(X)
        F = features.transform(X)
        atol = 0 if exact else tolerance
        assert F.dtype == dtype and F.shape == (600, 128)
        assert F.flags.c_contiguous
        assert_allclose(features.transform(sparse.csr_matrix(X)), F, atol=tolerance)
        assert_allclose(features.transform(sparse.csc_matrix(X)), F, atol=tolerance)
        assert_allclose(features.transform(np.asfortranarray(X)), F, atol=tolerance)
        chunks = [features.transform(X[i : i + 7]) for i in range(0, 600, 7)]
        assert_allclose(np.vstack(chunks), F, rtol=0, atol=atol)
        assert_allclose(features.transform(X[:1]), F[:1], rtol=0, atol=atol)
        assert features.feature_map_(X[:0]).shape == (0, 128)
        assert_array_equal(pickle.loads(pickle.dumps(features)).transform(X), F)
        again = make(128, random_state=0).fit(X).transform(X)
        assert_array_equal(again, F)
        other = make(128, random_state=1).fit(X).transform(X)
        assert abs(other - F).max() > 1e-3


def check_prefix(make: Callable[..., RandomFeatures], d: int = 5) -> None:
    """The frequencies of a small map are the first ones of a large one."""
    X = data(10, d)
    small = make(64, random_state=0).fit(X).feature_map_.stages
    large = make(128, random_state=0).fit(X).feature_map_.stages
    for few, many in zip(small, large, strict=True):
        W = few.to_dense()
        # a rotation cut short agrees to rounding
        assert_allclose(many.to_dense()[: len(W)], W, atol=1e-12)


def check_unbiased(
    make: Callable[..., RandomFeatures],
    kernel: Kernel,
    d: int,
    *,
    seed: int = 0,
    inflation: float = 1.0,
    n_components: int = 4096,
    pairs: int = 200,
) -> None:
    """Inner products equal the kernel within the bound that their variance gives.

    With independent frequencies the variance of an entry is `iid_variance`; a
    structured map may have `inflation` times as much. Failure probability ALPHA over
    all pairs (Bonferroni, normal tail).
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(pairs, d))
    Y = X + rng.normal(size=(pairs, d)) * rng.uniform(0.1, 1.5, size=(pairs, 1))
    features = make(n_components, kernel=kernel, random_state=seed).fit(X)
    estimate = (features.transform(X) * features.transform(Y)).sum(axis=1)
    exact = features.kernel_
    k = np.array([exact(X[[i]], Y[[i]])[0, 0] for i in range(pairs)])
    doubled = np.array([exact(2 * X[[i]], 2 * Y[[i]])[0, 0] for i in range(pairs)])
    variance = iid_variance(k, doubled, features)
    z = (estimate - k) / np.sqrt(inflation * variance)
    assert np.abs(z).max() < norm.isf(ALPHA / (2 * pairs))


def iid_variance(k, doubled, features: RandomFeatures) -> np.ndarray:
    """Variance of ⟨φ(x), φ(y)⟩; k = k(δ), doubled = k(2δ).

    cos/sin: ½(1 + k(2δ)) − k² per frequency. cos + phase: ½ more, from the second
    cosine of a sum of phases, per feature.
    """
    sampled = features.feature_map_.nonlinearity
    phase = sampled.n_in == sampled.n_out
    return (0.5 * (1 + doubled) - k**2 + (0.5 if phase else 0)) / sampled.n_in
