"""Spectral laws: the distributions whose characteristic functions are kernels.

By Bochner's theorem a shift-invariant kernel is k(x − y) = E cos(ωᵀ(x − y)), ω drawn
from its spectral law. A law is an immutable value. All laws have

- `frequencies(m, d, rng)`: m independent draws;
- `ppf(U, d)`: the same draws from given uniform numbers, for quasi-Monte-Carlo;
- `characteristic(D)`: the kernel, as a function of distances in the law's `metric`;

and some have further capabilities, which a projection names if it needs them:

- `radii(m, d, rng)`: lengths alone, if every direction is as likely (isotropic);
- `coordinates(shape, rng)` and `multipliers(m, rng)`: independent coordinates, and one
  factor per frequency, whose product is a draw;
- `on_block(d, b)`: the law and the scale that serve b of d coordinates.

Every draw is by inversion, so `frequencies` is `ppf` of uniform numbers: a law is
written once, and m rows are a prefix of 2m.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
from scipy.special import gammaincinv, gammaln, kve, ndtri, sici

from .._core.ops import Ops, Tensor, Unsupported
from .._core.random import Stream

LARGE_NU = 50.0
"""Where K_ν overflows in the middle of the profile, and its expansion is exact."""

GAUSSIAN_NU = 1e7
"""Where the profile is the Gaussian's to 1e-7, and logarithms would cancel to less."""


LARGEST_ORDER = 20
"""ν − ½ of Matérn kernels whose polynomial `forward` writes out."""


class Law:
    """A spectral law on R^d for every d, at its natural scale."""

    metric = "sqeuclidean"
    """What `characteristic` is a function of: ‖δ‖², or ‖δ‖₁ ("cityblock")."""

    def n_uniforms(self, d: int) -> int:
        """How many uniform numbers one frequency takes."""
        return d

    def ppf(self, U: np.ndarray, d: int) -> np.ndarray:
        """Map U, (m, n_uniforms(d)), to frequencies, (m, d)."""
        raise NotImplementedError

    def frequencies(self, m: int, d: int, rng: Stream) -> np.ndarray:
        """m independent frequencies, (m, d)."""
        return self.ppf(rng.uniform(m, self.n_uniforms(d)), d)

    def characteristic(self, D: np.ndarray) -> np.ndarray:
        """E cos ωᵀδ from distances D of any shape, which it may overwrite."""
        raise NotImplementedError

    def forward(self, ops: Ops, D: Tensor) -> Tensor:
        """The same kernel of distances D in the operations of any namespace."""
        raise NotImplementedError

    def second_moment(self, d: int) -> float:
        """E‖ω‖² in R^d: infinite unless a law says otherwise."""
        return np.inf


class ScaleMixture(Law):
    """ω = scale · t · g with g ~ N(0, I_d) and one multiplier t per frequency.

    Subclasses give the multiplier; a b-dimensional marginal is the same law on R^b.
    """

    scale: float

    def _multiplier(self, u: np.ndarray) -> np.ndarray:
        """t from uniform numbers."""
        raise NotImplementedError

    def _multiplier_square(self) -> float:
        """E t²."""
        return 1.0

    def second_moment(self, d: int) -> float:
        return self.scale**2 * self._multiplier_square() * d

    def n_uniforms(self, d: int) -> int:
        return d + 1

    def ppf(self, U: np.ndarray, d: int) -> np.ndarray:
        t = self._multiplier(U[:, 0])
        return (self.scale * t)[:, None] * ndtri(U[:, 1:])

    def radii(self, m: int, d: int, rng: Stream) -> np.ndarray:
        """Lengths of m frequencies in R^d, (m,): scale · t · χ_d."""
        U = rng.uniform(m, 2)
        return self.scale * self._multiplier(U[:, 0]) * _chi(U[:, 1], d)

    def coordinates(self, shape: tuple[int, ...], rng: Stream) -> np.ndarray:
        """The normal factor of every coordinate, scale · g."""
        return self.scale * rng.normal(*shape)

    def multipliers(self, m: int, rng: Stream) -> np.ndarray:
        """The factor t of m frequencies, (m,)."""
        return self._multiplier(rng.uniform(m))

    def on_block(self, d: int, b: int) -> tuple[Law, float]:
        """This law on b coordinates; √(d/b) stretches ‖δ_B‖² to ‖δ‖² on average."""
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

    t = √(ν/τ), τ ~ Gamma(ν). No second moment for ν ≤ 1.
    """

    scale: float
    nu: float

    def _multiplier(self, u: np.ndarray) -> np.ndarray:
        gamma = np.maximum(gammaincinv(self.nu, u), np.finfo(np.float64).tiny)
        return np.sqrt(self.nu / gamma)

    def _multiplier_square(self) -> float:
        return self.nu / (self.nu - 1) if self.nu > 1 else np.inf

    def characteristic(self, D: np.ndarray) -> np.ndarray:
        # far beyond its reach the profile is 0: keep ∞ · 0 away
        t = np.minimum(np.sqrt(2 * self.nu * D) * self.scale, 1e4 * (1 + self.nu))
        if self.nu == 0.5:
            return np.exp(-t)
        if self.nu == 1.5:
            return (1 + t) * np.exp(-t)
        if self.nu == 2.5:
            return (1 + t + t**2 / 3) * np.exp(-t)
        return _matern(t, self.nu)

    def forward(self, ops: Ops, D: Tensor) -> Tensor:
        """exp(−t) times a polynomial of degree p in t = √(2ν)‖δ‖s, for ν = p + ½."""
        p = float(self.nu) - 0.5
        if p != int(p) or not 0 <= p <= LARGEST_ORDER:
            raise Unsupported(
                "Matérn kernels can be exported for ν = ½, 1½, 2½, … up to "
                f"{LARGEST_ORDER + 0.5}; got ν = {self.nu}. Random features "
                "(methods.sorf) can be exported for any ν."
            )
        t = ops.multiply(ops.sqrt(D), float((2 * self.nu) ** 0.5 * self.scale))
        *lower, value = _half_integer_matern(int(p))
        polynomial = ops.constant(value)
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

    Not isotropic, so it has no radii. No moments at all.
    """

    scale: float
    metric = "cityblock"

    def ppf(self, U: np.ndarray, d: int) -> np.ndarray:
        return self.scale * np.tan(np.pi * (U - 0.5))

    def coordinates(self, shape: tuple[int, ...], rng: Stream) -> np.ndarray:
        """Independent coordinates of any shape."""
        return self.ppf(rng.uniform(*shape), shape[-1])

    def multipliers(self, m: int, rng: Stream) -> np.ndarray:
        """One: coordinates are all there is."""
        return np.ones(m)

    def on_block(self, d: int, b: int) -> tuple[Law, float]:
        """This law on b coordinates; d/b stretches ‖δ_B‖₁ to ‖δ‖₁ on average."""
        return self, d / b

    def characteristic(self, D: np.ndarray) -> np.ndarray:
        return np.exp(np.multiply(D, -self.scale, out=D), out=D)

    def forward(self, ops: Ops, D: Tensor) -> Tensor:
        return ops.exp(ops.multiply(D, -float(self.scale)))


@dataclass(frozen=True)
class Ball(Law):
    """|Fourier transform of a ball in R³|²: the law of the spherical kernel.

    Radius 2u·scale with u of density (6/π)(sin u − u cos u)²/u⁴ and a uniform direction
    in R³, of which the first d ≤ 3 coordinates are kept. No second moment.
    """

    scale: float

    def n_uniforms(self, d: int) -> int:
        return min(d + 1, 3)

    def ppf(self, U: np.ndarray, d: int) -> np.ndarray:
        check_spherical_dimension(d)
        radius = 2 * self.scale * _ball_ppf(U[:, 0])
        height = 2 * U[:, 1] - 1  # Archimedes: uniform on [−1, 1]
        coordinates = [height]
        if d > 1:
            angle = 2 * np.pi * U[:, 2]
            around = np.sqrt(1 - height**2)
            coordinates += [around * np.cos(angle), around * np.sin(angle)]
        return radius[:, None] * np.stack(coordinates[:d], axis=1)

    def radii(self, m: int, d: int, rng: Stream) -> np.ndarray:
        """Lengths of m frequencies in R^d, (m,)."""
        return np.linalg.norm(self.frequencies(m, d, rng), axis=1)

    def on_block(self, d: int, b: int) -> tuple[Law, float]:
        """This law on b coordinates, as for every isotropic law, where d ≤ 3."""
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
    """The spherical function is a kernel in at most three dimensions."""
    if d > 3:
        raise ValueError(
            "The spherical kernel is positive definite for at most 3 features, "
            f"got {d}; use kernels.Matern or kernels.Gaussian."
        )


def _chi(u: np.ndarray, d: int) -> np.ndarray:
    """Quantiles of the length of a standard normal vector in R^d."""
    return np.sqrt(2 * gammaincinv(d / 2, u))


def _ball_cdf(u: np.ndarray) -> np.ndarray:
    """(6/π)∫₀ᵘ (sin v − v cos v)²/v⁴ dv, in closed form with the sine integral."""
    sine = np.sin(u)
    exact = sici(2 * u)[0] - (1 + sine**2) / u + np.sin(2 * u) / u**2 - sine**2 / u**3
    series = u**3 / 9 - u**5 / 75  # its terms cancel to nothing near zero
    return 2 / np.pi * np.where(u < 0.02, series, exact)


def _ball_ppf(p: np.ndarray) -> np.ndarray:
    """Inverse of `_ball_cdf` by bisection of log u; the tail is 1 − p ≈ 3/(πu)."""
    low = np.full_like(p, np.log(1e-6))
    high = np.full_like(p, np.log(1e17))
    for _ in range(64):
        middle = 0.5 * (low + high)
        below = _ball_cdf(np.exp(middle)) < p
        low = np.where(below, middle, low)
        high = np.where(below, high, middle)
    return np.exp(high)


def _matern(t: np.ndarray, nu: float) -> np.ndarray:
    """2^{1−ν}/Γ(ν) t^ν K_ν(t), through logarithms so that K_ν cannot overflow."""
    if nu > GAUSSIAN_NU:
        return np.exp(-(t**2) / (4 * nu))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_k = np.log(2) - gammaln(nu) + nu * np.log(t / 2) + _log_bessel(t, nu)
    # K_ν still overflows for t → 0, where the profile is 1
    return np.where(np.isfinite(log_k), np.exp(np.minimum(log_k, 0)), 1.0)


def _half_integer_matern(p: int) -> list[float]:
    """Of t⁰, t¹, …: p!/(2p)! · Σ_i (p + i)!/(i! (p − i)!) (2t)^{p − i}, ν = p + ½."""
    lead = factorial(p) / factorial(2 * p)
    orders = range(p, -1, -1)  # i = p gives t⁰
    return [
        lead * factorial(p + i) / (factorial(i) * factorial(p - i)) * 2 ** (p - i)
        for i in orders
    ]


def _log_bessel(t: np.ndarray, nu: float) -> np.ndarray:
    """log K_ν(t); for large ν by Debye's uniform expansion (DLMF 10.41.4)."""
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
