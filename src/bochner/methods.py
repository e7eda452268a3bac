"""Methods: named compositions of parts, one short function per published method."""

from __future__ import annotations

from typing import Any

from .maps import RandomFeatures


def rff(
    n_components: int = 1024,
    *,
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    **parts: Any,
) -> RandomFeatures:
    """Random Fourier features: independent frequencies.

    φ(x) = [cos ω_iᵀx, sin ω_iᵀx]_i / √m, ω_i independent draws of the spectral law.
    O(n d M) time, O(d M) memory.

    Parameters
    ----------
    n_components, gamma, kernel, random_state
        As in `RandomFeatures`.
    **parts
        Other parameters of `RandomFeatures`, e.g. ``nonlinearity="cos"``.

    Returns
    -------
    RandomFeatures
        Not fitted.

    References
    ----------
    A. Rahimi and B. Recht, Random features for large-scale kernel machines, NIPS 2007.

    Examples
    --------
    >>> from bochner import methods
    >>> methods.rff(64, gamma=0.1, random_state=0).fit_transform([[1.0, 2.0]]).shape
    (1, 64)
    """
    parts = {"projection": "dense", **parts}
    return RandomFeatures(
        n_components, kernel=kernel, gamma=gamma, random_state=random_state, **parts
    )
