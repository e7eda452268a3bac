"""Spectral laws: the distributions whose characteristic functions are kernels.

By Bochner's theorem a shift-invariant kernel is k(x − y) = E cos(ωᵀ(x − y)), where ω is
drawn from the spectral law of the kernel. A law is an immutable value. All laws have

- `frequencies(m, d, rng)`: m independent draws;
- `ppf(U, d)`: the same draws from given uniform numbers, for quasi-Monte-Carlo;
- `characteristic(D)`: the kernel, as a function of distances in the law's `metric`.

Some laws have further capabilities. A projection that needs one of them declares it:

- `radii(m, d, rng)`: lengths only, for laws with uniform directions (isotropic laws);
- `coordinates(shape, rng)` and `multipliers(m, rng)`: independent coordinates, and one
  factor per frequency; a frequency is the product of the two;
- `on_block(d, b)`: the law and the scale to use on b of d coordinates.

Every draw uses inversion: `frequencies` is `ppf` of uniform numbers. A law is therefore
implemented once, and the first m of 2m frequencies are the m frequencies drawn alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
from scipy.special import gammaincinv, gammaln, kve, ndtri, sici

from .._core.ops import Ops, Tensor, Unsupported
from .._core.random import Stream

LARGE_NU = 50.0
"""From this ν on K_ν may overflow at moderate distances, and its expansion is exact."""

GAUSSIAN_NU = 1e7
"""Beyond this ν the Matérn kernel equals its Gaussian limit to 1e-7; evaluation through
logarithms would be less exact because of cancellation."""

LARGEST_ORDER = 20
"""Largest ν − ½ for which `Student.forward` evaluates the Matérn polynomial."""


class Law:
    """A spectral law on R^d, for every dimension d."""

    metric = "sqeuclidean"
    """Distance that `characteristic` takes: ‖δ‖², or ‖δ‖₁ ("cityblock")."""

    def n_uniforms(self, d: int) -> int:
        """Return the number of uniform numbers that one frequency in R^d consumes."""
        return d

    def ppf(self, U: np.ndarray, d: int) -> np.ndarray:
        """Map U, (m, n_uniforms(d)), to frequencies, (m, d)."""
        raise NotImplementedError

    def frequencies(self, m: int, d: int, rng: Stream) -> np.ndarray:
        """Draw m independent frequencies, (m, d)."""
        return self.ppf(rng.uniform(m, self.n_uniforms(d)), d)

    def characteristic(self, D: np.ndarray) -> np.ndarray:
        """Return E cos ωᵀδ for distances D of any shape; D may be overwritten."""
        raise NotImplementedError

    def forward(self, ops: Ops, D: Tensor) -> Tensor:
        """Compute `characteristic` with the operations `ops` of any array namespace."""
        raise NotImplementedError

    def second_moment(self, d: int) -> float:
        """Return E‖ω‖² in R^d; infinite unless a subclass overrides this method."""
        return np.inf


class ScaleMixture(Law):
    """ω = scale · t · g with g ~ N(0, I_d) and one multiplier t per frequency.

    Subclasses implement the multiplier. The marginal law of b coordinates is the same
    law on R^b.
    """

    scale: float

    def _multiplier(self, u: np.ndarray) -> np.ndarray:
        """Map uniform numbers to multipliers t."""
        raise NotImplementedError

    def _multiplier_square(self) -> float:
        """Return E t²."""
        return 1.0

    def second_moment(self, d: int) -> float:
        return self.scale**2 * self._multiplier_square() * d

    def n_uniforms(self, d: int) -> int:
        return d + 1

    def ppf(self, U: np.ndarray, d: int) -> np.ndarray:
        t = self._multiplier(U[:, 0])
        return (self.scale * t)[:, None] * ndtri(U[:, 1:])

    def radii(self, m: int, d: int, rng: Stream) -> np.ndarray:
        """Draw the lengths of m frequencies in R^d, (m,): scale · t · χ_d."""
        U = rng.uniform(m, 2)
        return self.scale * self._multiplier(U[:, 0]) * _chi(U[:, 1], d)

    def coordinates(self, shape: tuple[int, ...], rng: Stream) -> np.ndarray:
        """Draw the normal factor of every coordinate, scale · g."""
        return self.scale * rng.normal(*shape)

    def multipliers(self, m: int, rng: Stream) -> np.ndarray:
        """Draw the multiplier t of m frequencies, (m,)."""
        return self._multiplier(rng.uniform(m))

    def on_block(self, d: int, b: int) -> tuple[Law, float]:
        """Return this law and √(d/b): on average ‖√(d/b) δ_B‖² = ‖δ‖²."""
        return self, (d / b) ** 0.5


@dataclass(frozen=True)
class Normal(ScaleMixture):
    """N(0, scale² I): the law of the Gaussian kernel."""

    scale: float

    def n_uniforms(self, d: int) -> int:
        return d

    def ppf(self, U: np.ndarray, d: int) -> np.ndarray:
        return self.scale * ndtri(U)

    def radii(self, m: int, d: int, rng: Stream) -> np.ndarray:
        return self.scale * _chi(rng.uniform(m), d)

    def multipliers(self, m: int, rng: Stream) -> np.ndarray:
        return np.ones(m)

    def characteristic(self, D: np.ndarray) -> np.ndarray:
        return np.exp(np.multiply(D, -0.5 * self.scale**2, out=D), out=D)

    def forward(self, ops: Ops, D: Tensor) -> Tensor:
        return ops.exp(ops.multiply(D, -0.5 * float(self.scale) ** 2))


@dataclass(frozen=True)
class Student(ScaleMixture):
    """Multivariate t with 2ν degrees of freedom: the law of the Matérn kernel.

    t = √(ν/τ), τ ~ Gamma(ν). The second moment is infinite for ν ≤ 1.
    """

    scale: float
    nu: float

    def _multiplier(self, u: np.ndarray) -> np.ndarray:
        gamma = np.maximum(gammaincinv(self.nu, u), np.finfo(np.float64).tiny)
        return np.sqrt(self.nu / gamma)

    def _multiplier_square(self) -> float:
        return self.nu / (self.nu - 1) if self.nu > 1 else np.inf

    def characteristic(self, D: np.ndarray) -> np.ndarray:
        # The kernel is 0 beyond the bound, which prevents ∞ · 0.
        t = np.minimum(np.sqrt(2 * self.nu * D) * self.scale, 1e4 * (1 + self.nu))
        if self.nu == 0.5:
            return np.exp(-t)
        if self.nu == 1.5:
            return (1 + t) * np.exp(-t)
        if self.nu == 2.5:
            return (1 + t + t**2 / 3) * np.exp(-t)
        return _matern(t, self.nu)

    def forward(self, ops: Ops, D: Tensor) -> Tensor:
        """Evaluate exp(−t) times a polynomial in t = √(2ν)‖δ‖s, for ν = p + ½."""
        p = float(self.nu) - 0.5
        if p != int(p) or not 0 <= p <= LARGEST_ORDER:
            raise Unsupported(
                "Matérn kernels can be exported for nu = 0.5, 1.5, 2.5, … up to "
                f"{LARGEST_ORDER + 0.5}; got nu={self.nu}. Random features "
                "(methods.sorf) can be exported for any nu."
            )
        t = ops.multiply(ops.sqrt(D), float((2 * self.nu) ** 0.5 * self.scale))
        *lower, leading = _matern_coefficients(int(p))
        polynomial = ops.constant(leading)
        for coefficient in reversed(lower):
            polynomial = ops.add(ops.multiply(polynomial, t), coefficient)
        return ops.multiply(polynomial, ops.exp(ops.negative(t)))


@dataclass(frozen=True)
class VarianceGamma(ScaleMixture):
    """t = √(τ/α), τ ~ Gamma(α): the law of the rational quadratic kernel."""

    scale: float
    alpha: float

    def _multiplier(self, u: np.ndarray) -> np.ndarray:
        return np.sqrt(gammaincinv(self.alpha, u) / self.alpha)

    def characteristic(self, D: np.ndarray) -> np.ndarray:
        return (1 + D * (self.scale**2 / (2 * self.alpha))) ** -self.alpha

    def forward(self, ops: Ops, D: Tensor) -> Tensor:
        factor = float(self.scale) ** 2 / (2 * float(self.alpha))
        return ops.pow(ops.add(ops.multiply(D, factor), 1.0), -float(self.alpha))


@dataclass(frozen=True)
class CauchyProduct(Law):
    """Independent Cauchy(0, scale) coordinates: the law of exp(−scale ‖δ‖₁).

    The law is not isotropic, so it has no radii, and it has no moments.
    """

    scale: float
    metric = "cityblock"

    def ppf(self, U: np.ndarray, d: int) -> np.ndarray:
        return self.scale * np.tan(np.pi * (U - 0.5))

    def coordinates(self, shape: tuple[int, ...], rng: Stream) -> np.ndarray:
        """Draw independent coordinates of any shape."""
        return self.ppf(rng.uniform(*shape), shape[-1])

    def multipliers(self, m: int, rng: Stream) -> np.ndarray:
        """Return m ones: the coordinates alone make up a frequency."""
        return np.ones(m)

    def on_block(self, d: int, b: int) -> tuple[Law, float]:
        """Return this law and d/b: on average ‖(d/b) δ_B‖₁ = ‖δ‖₁."""
        return self, d / b

    def characteristic(self, D: np.ndarray) -> np.ndarray:
        return np.exp(np.multiply(D, -self.scale, out=D), out=D)

    def forward(self, ops: Ops, D: Tensor) -> Tensor:
        return ops.exp(ops.multiply(D, -float(self.scale)))


@dataclass(frozen=True)
class Ball(Law):
    """|Fourier transform of a ball in R³|²: the law of the spherical kernel.

    A draw has radius 2u·scale, where u has the density (6/π)(sin u − u cos u)²/u⁴, and
    a uniform direction in R³. The first d ≤ 3 coordinates are kept. The second moment
    is infinite.
    """

    scale: float

    def n_uniforms(self, d: int) -> int:
        return min(d + 1, 3)

    def ppf(self, U: np.ndarray, d: int) -> np.ndarray:
        check_spherical_dimension(d)
        radius = 2 * self.scale * _ball_ppf(U[:, 0])
        height = 2 * U[:, 1] - 1  # uniform on [−1, 1], by Archimedes
        coordinates = [height]
        if d > 1:
            angle = 2 * np.pi * U[:, 2]
            width = np.sqrt(1 - height**2)
            coordinates += [width * np.cos(angle), width * np.sin(angle)]
        return radius[:, None] * np.stack(coordinates[:d], axis=1)

    def radii(self, m: int, d: int, rng: Stream) -> np.ndarray:
        """Draw the lengths of m frequencies in R^d, (m,)."""
        return np.linalg.norm(self.frequencies(m, d, rng), axis=1)

    def on_block(self, d: int, b: int) -> tuple[Law, float]:
        """Return this law and √(d/b), as for every isotropic law; d is at most 3."""
        check_spherical_dimension(d)
        return self, (d / b) ** 0.5

    def characteristic(self, D: np.ndarray) -> np.ndarray:
        r = np.minimum(np.sqrt(D) * self.scale, 1)
        return 1 - 1.5 * r + 0.5 * r**3

    def forward(self, ops: Ops, D: Tensor) -> Tensor:
        r = ops.minimum(ops.multiply(ops.sqrt(D), float(self.scale)), 1.0)
        factor = ops.subtract(ops.multiply(ops.multiply(r, r), 0.5), 1.5)
        return ops.add(ops.multiply(factor, r), 1.0)


def check_spherical_dimension(d: int) -> None:
    """Raise an error for more than three features: no spherical kernel exists there."""
    if d > 3:
        raise ValueError(
            "The spherical kernel is positive definite for at most 3 features, "
            f"got {d}; use kernels.Matern or kernels.Gaussian."
        )


def _chi(u: np.ndarray, d: int) -> np.ndarray:
    """Return quantiles of the length of a standard normal vector in R^d."""
    return np.sqrt(2 * gammaincinv(d / 2, u))


def _ball_cdf(u: np.ndarray) -> np.ndarray:
    """Return (6/π)∫₀ᵘ (sin v − v cos v)²/v⁴ dv by its closed form."""
    sine = np.sin(u)
    exact = sici(2 * u)[0] - (1 + sine**2) / u + np.sin(2 * u) / u**2 - sine**2 / u**3
    series = u**3 / 9 - u**5 / 75  # near zero the closed form cancels
    return 2 / np.pi * np.where(u < 0.02, series, exact)


def _ball_ppf(p: np.ndarray) -> np.ndarray:
    """Invert `_ball_cdf` by bisection of log u; the tail is 1 − p ≈ 3/(πu)."""
    low = np.full_like(p, np.log(1e-6))
    high = np.full_like(p, np.log(1e17))
    for _ in range(64):
        middle = 0.5 * (low + high)
        below = _ball_cdf(np.exp(middle)) < p
        low = np.where(below, middle, low)
        high = np.where(below, high, middle)
    return np.exp(high)


def _matern(t: np.ndarray, nu: float) -> np.ndarray:
    """Return 2^{1−ν}/Γ(ν) t^ν K_ν(t), by logarithms because K_ν may overflow."""
    if nu > GAUSSIAN_NU:
        return np.exp(-(t**2) / (4 * nu))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_k = np.log(2) - gammaln(nu) + nu * np.log(t / 2) + _log_bessel(t, nu)
    # K_ν still overflows for t → 0, where the kernel is 1.
    return np.where(np.isfinite(log_k), np.exp(np.minimum(log_k, 0)), 1.0)


def _matern_coefficients(p: int) -> list[float]:
    """Return the coefficients of t⁰, t¹, …, t^p in the Matérn polynomial for ν = p + ½.

    The polynomial is p!/(2p)! · Σ_i (p + i)!/(i! (p − i)!) (2t)^{p − i}.
    """
    factor = factorial(p) / factorial(2 * p)
    return [
        factor * factorial(p + i) / (factorial(i) * factorial(p - i)) * 2 ** (p - i)
        for i in range(p, -1, -1)  # i = p gives t⁰
    ]


def _log_bessel(t: np.ndarray, nu: float) -> np.ndarray:
    """Return log K_ν(t); for large ν by Debye's uniform expansion (DLMF 10.41.4)."""
    if nu < LARGE_NU:
        return np.log(kve(nu, t)) - t
    root = np.sqrt(1 + (t / nu) ** 2)
    p = 1 / root
    u1 = (3 * p - 5 * p**3) / 24
    u2 = (81 * p**2 - 462 * p**4 + 385 * p**6) / 1152
    u3 = 30375 * p**3 - 369603 * p**5 + 765765 * p**7 - 425425 * p**9
    series = 1 - u1 / nu + u2 / nu**2 - u3 / (414720 * nu**3)
    eta = root + np.log(t / nu / (1 + root))
    return 0.5 * np.log(np.pi / (2 * nu) * p) - nu * eta + np.log(series)
