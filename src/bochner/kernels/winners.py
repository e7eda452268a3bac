"""Who wins among q projections: the functions behind the maxout kernels.

Of q pairs (g_j, g'_j), independent of each other and standard normal with correlation
ρ, κ_q(ρ) is the probability that one j has both the largest g and the largest g'. With
the density φ₂ and the distribution function Φ₂ of a pair

    κ_q(ρ) = q ∫∫ φ₂(s, t; ρ) Φ₂(s, t; ρ)^{q−1} ds dt,
    E max_j g_j · max_j g'_j = μ_q² + ∫₀^ρ κ_q,   μ_q = E max_j g_j

(Price's theorem: the derivative of an expectation in a correlation is the expectation
of the mixed second derivative, and that of a maximum is the indicator of its winner).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import ndtr, owens_t

NODES = 32
"""Chebyshev nodes in arcsin ρ: κ_q is smooth in it, with its cusp √(1 − ρ) at one."""

REACH = 8.0
"""The normal density is below 1e-14 beyond."""

STEP, FINE_STEP, LARGE_POOL = 0.25, 0.125, 64
"""Of the trapezoid rule, which converges like exp(−c/step²); maxima of more than 64
normals are narrower. κ_q is then off by less than 1e-9, for q up to 65,535 by 2e-8."""


@dataclass(frozen=True)
class Winners:
    """κ_q and its integral as polynomials in 2 arcsin(ρ)/π, and μ_q."""

    mean: float  # μ_q
    agreement: np.ndarray  # κ_q
    integral: np.ndarray  # ∫₀^ρ κ_q

    def agree(self, rho: np.ndarray) -> np.ndarray:
        """κ_q(ρ) for ρ in [−1, 1], of any shape."""
        return np.clip(_evaluated(self.agreement, rho), 0, 1)

    def covariance(self, rho: np.ndarray) -> np.ndarray:
        """∫₀^ρ κ_q, the covariance of the two maxima."""
        return _evaluated(self.integral, rho)


@cache
def winners(q: int) -> Winners:
    """The functions of pools of q, in 0.05 s the first time (0.3 s past 64)."""
    step = STEP if q <= LARGE_POOL else FINE_STEP
    x = chebyshev.chebpts1(NODES)
    values = [_agreement(q, angle, step) for angle in np.pi / 2 * x]
    agreement = chebyshev.chebfit(x, values, NODES - 1)
    x = chebyshev.chebpts1(2 * NODES)
    # dρ = cos(πx/2) π/2 dx for ρ = sin(πx/2)
    slope = chebyshev.chebval(x, agreement) * np.cos(np.pi / 2 * x) * np.pi / 2
    integral = chebyshev.chebint(chebyshev.chebfit(x, slope, 2 * NODES - 1), lbnd=0)
    return Winners(_mean(q, step), agreement, integral)


def _agreement(q: int, angle: float, step: float) -> float:
    """κ_q(sin angle) by the trapezoid rule.

    s = cu + dv, t = cu − dv with independent normal u and v make the integrand smooth
    for every ρ: in s and t it would become a ridge.
    """
    g = _grid(step)
    u, v = g[:, None], g[g > 0]  # symmetric in v
    c, d = np.sqrt((1 + np.sin(angle)) / 2), np.sqrt((1 - np.sin(angle)) / 2)
    both = _below_both(c * u + d * v, c * u - d * v, np.sin(angle))
    density = step**2 / (2 * np.pi) * np.exp(-(u**2 + v**2) / 2)
    return float(2 * q * np.sum(density * np.clip(both, 0, 1) ** (q - 1)))


def _mean(q: int, step: float) -> float:
    """μ_q = q ∫ g φ(g) Φ(g)^{q−1} dg."""
    g = _grid(step)
    density = step / np.sqrt(2 * np.pi) * np.exp(-(g**2) / 2)
    return float(q * np.sum(g * density * ndtr(g) ** (q - 1)))


def _grid(step: float) -> np.ndarray:
    """Points of the trapezoid rule, symmetric and never zero, where slopes t/s end."""
    return np.arange(0.5 * step - REACH, REACH, step)


def _below_both(s: np.ndarray, t: np.ndarray, rho: float) -> np.ndarray:
    """Φ₂(s, t; ρ) by Owen's T function, for s, t ≠ 0 and |ρ| < 1."""
    root = np.sqrt(1 - rho**2)
    apart = 0.5 * (s * t < 0)
    halves = 0.5 * (ndtr(s) + ndtr(t)) - apart
    return halves - owens_t(s, (t / s - rho) / root) - owens_t(t, (s / t - rho) / root)


def _evaluated(coefficients: np.ndarray, rho: np.ndarray) -> np.ndarray:
    return chebyshev.chebval(np.arcsin(rho) * (2 / np.pi), coefficients)
