"""Kernels of the difference x − y: characteristic functions of their spectral laws.

A bandwidth is a number, one number per feature (ARD), or the name of a rule that
`resolve(X)` turns into a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._core.spread import centre_of
from .._core.validation import check_positive, check_positive_array, did_you_mean
from . import laws
from .bandwidth import RULES
from .base import Kernel
from .distances import as_float64, distances


class ShiftInvariant(Kernel):
    """The characteristic function of a spectral law, at s ∘ (x − y).

    Subclasses name the bandwidth parameter, and give the scale s that it puts on the
    inputs and the law at s = 1.
    """

    _bandwidth_name = "gamma"
    _rules: ClassVar = RULES

    @classmethod
    def with_gamma(cls, gamma: Any) -> Self:
        """The kernel whose bandwidth matches exp(−γ · distance), or follows a rule."""
        if not isinstance(gamma, str):
            gamma = cls._from_gamma(check_positive_array(cls.__name__, "gamma", gamma))
        return cls(**{cls._bandwidth_name: gamma})

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Self:
        """This kernel with its bandwidth a number (or one per feature of X)."""
        name = type(self).__name__
        value = getattr(self, self._bandwidth_name)
        if isinstance(value, str) and value in self._rules:
            rule, metric = self._rules[value], self._law(1.0).metric
            value = self._from_gamma(rule(X, metric, sample_weight))
        hint = " or one per feature"
        if self._rules:
            hint += f", or one of {', '.join(map(repr, self._rules))}"
        if isinstance(value, str):
            raise ValueError(
                f"{name}: {self._bandwidth_name} must be a positive number{hint}; got "
                f"{value!r}{did_you_mean(value, self._rules)}."
            )
        value = check_positive_array(name, self._bandwidth_name, value, hint)
        if np.ndim(value) == 1 and len(value) != X.shape[1]:
            raise ValueError(
                f"{name}: {self._bandwidth_name} has {len(value)} entries, "
                f"but X has {X.shape[1]} features; give one entry per feature."
            )
        self._check(X.shape[1])
        return clone(self).set_params(**{self._bandwidth_name: value})

    @property
    def made_by(self) -> str:
        return "nonlinearity='cos_sin' or 'cos'"

    def diagonal(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0])

    def _block(self, X: Any, Y: Any, same: bool) -> Callable[[slice], np.ndarray]:
        law = self._law(1.0)
        scaled_X, scaled_Y = self._scaled(X, Y)

        def block(rows: slice) -> np.ndarray:
            D = distances(scaled_X[rows], scaled_Y, law.metric)
            if same:
                D[np.arange(len(D)), np.arange(rows.start, rows.stop)] = 0
            return law.characteristic(D)

        return block

    def _scaled(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """Float64 copies times the scale, moved to the origin where rows are dense."""
        both = as_float64(X), as_float64(Y)
        if any(map(sparse.issparse, both)):
            factors = np.broadcast_to(self._scale(), X.shape[1])
            return tuple(sparse.csr_matrix(A).multiply(factors).tocsr() for A in both)
        origin = centre_of(both[1])
        return tuple((A - origin) * self._scale() for A in both)

    def spectral_law(self) -> laws.Law:
        scale = self._scale()
        return self._law(scale if np.ndim(scale) == 0 else 1.0)

    @property
    def is_rule(self) -> bool:  # type: ignore[override]
        return isinstance(getattr(self, self._bandwidth_name), str)

    @property
    def input_scale(self) -> np.ndarray | None:  # type: ignore[override]
        scale = self._scale()
        return None if np.ndim(scale) == 0 else scale

    @property
    def scale(self) -> Any:
        """s of k(x, y) = φ(s ∘ (x − y)): one number, or one per feature (ARD)."""
        return self._scale()

    def unit_law(self) -> laws.Law:
        """The law at s = 1, whose characteristic function is φ."""
        return self._law(1.0)

    def rescaled(self, factors: Any) -> Self:
        bandwidth: Any = self._from_scale(self._scale() * factors)
        bandwidth = float(bandwidth) if np.ndim(bandwidth) == 0 else bandwidth
        return clone(self).set_params(**{self._bandwidth_name: bandwidth})

    @staticmethod
    def _from_scale(scale: np.ndarray) -> np.ndarray:
        """The bandwidth that puts this scale on the inputs: inverse of `_scale`."""
        return scale**2

    @staticmethod
    def _from_gamma(gamma: Any) -> Any:
        """The bandwidth parameter that matches exp(−γ · distance)."""
        return gamma

    def _check(self, d: int) -> None:
        """Refuse other parameters, or a dimension, that make no kernel."""

    def _scale(self) -> Any:
        raise NotImplementedError

    def _law(self, scale: float) -> laws.Law:
        raise NotImplementedError


class Gaussian(ShiftInvariant):
    """k(x, y) = exp(−γ‖x − y‖²).

    A Gram matrix takes O(n n′ d) time and the memory of the result.

    Parameters
    ----------
    gamma : float, array of (n_features,), "scale", "median", "knn" or "cnm"
        γ, one γ per feature (ARD), or a rule.

    References
    ----------
    A. Rahimi and B. Recht, Random features for large-scale kernel machines, NIPS
    2007.

    Examples
    --------
    >>> from bochner import kernels
    >>> kernels.Gaussian(gamma=0.5)([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065]])
    """

    def __init__(self, gamma: Any = "scale") -> None:
        self.gamma = gamma

    def _scale(self) -> Any:
        return np.sqrt(self.gamma)

    def _law(self, scale: float) -> laws.Law:
        return laws.Normal(np.sqrt(2) * scale)  # exp(−‖δ‖²) is N(0, 2)'s


class Laplacian(ShiftInvariant):
    """k(x, y) = exp(−γ‖x − y‖₁), as scikit-learn's "laplacian".

    Not isotropic: its law has no radii, so orthogonal and Hadamard projections refuse
    it. For exp(−‖x − y‖₂/ℓ) take `Matern(nu=0.5)`.

    A Gram matrix takes O(n n′ d) time and the memory of the result.

    Parameters
    ----------
    gamma : float, array of (n_features,), "scale", "median", "knn" or "cnm"
        γ, one γ per feature (ARD), or a rule (with ℓ1 distances).

    References
    ----------
    A. Rahimi and B. Recht, Random features for large-scale kernel machines, NIPS
    2007.

    Examples
    --------
    >>> from bochner import kernels
    >>> kernels.Laplacian(gamma=0.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    def __init__(self, gamma: Any = "scale") -> None:
        self.gamma = gamma

    def _scale(self) -> Any:
        return self.gamma

    @staticmethod
    def _from_scale(scale: np.ndarray) -> np.ndarray:
        return scale

    def _law(self, scale: float) -> laws.Law:
        return laws.CauchyProduct(scale)


class Cauchy(ShiftInvariant):
    """k(x, y) = 1/(1 + γ‖x − y‖²): heavy tails, smooth at zero.

    A Gram matrix takes O(n n′ d) time and the memory of the result.

    Parameters
    ----------
    gamma : float, array of (n_features,), "scale", "median", "knn" or "cnm"
        γ, one γ per feature (ARD), or a rule.

    References
    ----------
    A. Rahimi and B. Recht, Random features for large-scale kernel machines, NIPS
    2007.

    Examples
    --------
    >>> from bochner import kernels
    >>> kernels.Cauchy(gamma=1.0)([[0.0]], [[1.0]])
    array([[0.5]])
    """

    def __init__(self, gamma: Any = "scale") -> None:
        self.gamma = gamma

    def _scale(self) -> Any:
        return np.sqrt(self.gamma)

    def _law(self, scale: float) -> laws.Law:
        return laws.VarianceGamma(np.sqrt(2) * scale, 1.0)  # exponential mixing


class _LengthScale(ShiftInvariant):
    """A kernel of ‖x − y‖/ℓ, whose rules match the Gaussian's γ = 1/(2ℓ²)."""

    _bandwidth_name = "length_scale"

    @staticmethod
    def _from_gamma(gamma: Any) -> Any:
        return (0.5 / gamma) ** 0.5

    def _scale(self) -> Any:
        return 1.0 / self.length_scale

    @staticmethod
    def _from_scale(scale: np.ndarray) -> np.ndarray:
        return 1.0 / scale


class Matern(_LengthScale):
    """k(x, y) = 2^{1−ν}/Γ(ν) · t^ν K_ν(t), t = √(2ν)‖x − y‖/ℓ.

    ν = 1/2 is exp(−‖x − y‖/ℓ); larger ν are smoother, up to the Gaussian with
    γ = 1/(2ℓ²).

    A Gram matrix takes O(n n′ d) time and the memory of the result.

    Parameters
    ----------
    nu : float
        Smoothness ν.
    length_scale : float, array of (n_features,), "scale", "median", "knn" or "cnm"
        ℓ, one ℓ per feature (ARD), or a rule, with ℓ = 1/√(2γ).

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, Gaussian processes for machine learning, MIT
    Press 2006, section 4.2.

    Examples
    --------
    >>> from bochner import kernels
    >>> kernels.Matern(nu=0.5, length_scale=2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3679]])
    """

    def __init__(self, nu: float = 1.5, length_scale: Any = "scale") -> None:
        self.nu = nu
        self.length_scale = length_scale

    def _check(self, d: int) -> None:
        check_positive("Matern", "nu", self.nu)

    def _law(self, scale: float) -> laws.Law:
        return laws.Student(scale, check_positive("Matern", "nu", self.nu))


class RationalQuadratic(_LengthScale):
    """k(x, y) = (1 + ‖x − y‖²/(2αℓ²))^−α: a mixture of Gaussians of many scales.

    A Gram matrix takes O(n n′ d) time and the memory of the result.

    Parameters
    ----------
    alpha : float
        α; large values approach the Gaussian with γ = 1/(2ℓ²).
    length_scale : float, array of (n_features,), "scale", "median", "knn" or "cnm"
        ℓ, one ℓ per feature (ARD), or a rule, with ℓ = 1/√(2γ).

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, Gaussian processes for machine learning, MIT
    Press 2006, section 4.2.

    Examples
    --------
    >>> from bochner import kernels
    >>> kernels.RationalQuadratic(1.0, length_scale=1.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3333]])
    """

    def __init__(self, alpha: float = 1.0, length_scale: Any = "scale") -> None:
        self.alpha = alpha
        self.length_scale = length_scale

    def _check(self, d: int) -> None:
        check_positive("RationalQuadratic", "alpha", self.alpha)

    def _law(self, scale: float) -> laws.Law:
        alpha = check_positive("RationalQuadratic", "alpha", self.alpha)
        return laws.VarianceGamma(scale, alpha)


class Spherical(ShiftInvariant):
    """k(x, y) = 1 − 3r/2 + r³/2 for r = ‖x − y‖/radius ≤ 1, and 0 beyond.

    Compact support; positive definite for at most three features.

    A Gram matrix takes O(n n′ d) time and the memory of the result.

    Parameters
    ----------
    radius : float or array of (n_features,)
        Where the kernel reaches zero.

    References
    ----------
    N. Cressie, Statistics for spatial data, Wiley 1993.

    Examples
    --------
    >>> from bochner import kernels
    >>> kernels.Spherical(radius=2.0)([[0.0]], [[1.0], [3.0]])
    array([[0.3125, 0.    ]])
    """

    _bandwidth_name = "radius"
    _rules: ClassVar = {}

    def __init__(self, radius: Any) -> None:
        self.radius = radius

    def _check(self, d: int) -> None:
        laws.check_spherical_dimension(d)

    def _scale(self) -> Any:
        return 1.0 / self.radius

    @staticmethod
    def _from_scale(scale: np.ndarray) -> np.ndarray:
        return 1.0 / scale

    def _law(self, scale: float) -> laws.Law:
        return laws.Ball(scale)
