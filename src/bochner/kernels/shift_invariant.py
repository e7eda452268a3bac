"""Kernels of the difference x − y: characteristic functions of spectral laws.

A bandwidth is a number, an array of one number per feature (automatic relevance
determination, ARD), or the name of a rule that `resolve(X)` evaluates on the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone

from .._core.spread import centre_of
from .._core.validation import check_positive, check_positive_array, did_you_mean
from . import laws
from .bandwidth import RULES
from .base import Kernel
from .distances import as_float64, distances


class ShiftInvariant(Kernel):
    """k(x, y) = φ(s ∘ (x − y)), where φ is the characteristic function of a law.

    Subclasses name the bandwidth parameter and implement the scale s of the inputs
    (`_scale`) and the law at any scale (`_law`).

    See Also
    --------
    Gaussian, Laplacian, Cauchy, Matern, RationalQuadratic, Spherical : Subclasses.

    References
    ----------
    A. Rahimi and B. Recht, Random features for large-scale kernel machines, NIPS 2007.

    Examples
    --------
    >>> from bochner import kernels
    >>> kernels.Matern.with_gamma(0.5)
    Matern(length_scale=1.0)
    """

    _bandwidth_name = "gamma"
    _rules: ClassVar = RULES

    @classmethod
    def with_gamma(cls, gamma: float | ArrayLike | str) -> Self:
        """Return the kernel whose bandwidth matches exp(−γ · distance).

        Parameters
        ----------
        gamma : float, array of shape (n_features,) or name of a rule
            γ, one γ per feature, or a rule such as "scale".

        Returns
        -------
        ShiftInvariant
        """
        if not isinstance(gamma, str):
            gamma = cls._from_gamma(check_positive_array(cls.__name__, "gamma", gamma))
        return cls(**{cls._bandwidth_name: gamma})

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Self:
        """Return a copy whose bandwidth is a number, or one number per feature of X."""
        owner, name = type(self).__name__, self._bandwidth_name
        value = getattr(self, name)
        if isinstance(value, str) and value in self._rules:
            rule, metric = self._rules[value], self._law(1.0).metric
            value = self._from_gamma(rule(X, metric, sample_weight))
        hint = " or one per feature"
        if self._rules:
            hint += f", or one of {', '.join(map(repr, self._rules))}"
        if isinstance(value, str):
            raise ValueError(
                f"{owner}: {name} must be a positive number{hint}; got "
                f"{value!r}{did_you_mean(value, self._rules)}."
            )
        value = check_positive_array(owner, name, value, hint)
        if np.ndim(value) == 1 and len(value) != X.shape[1]:
            raise ValueError(
                f"{owner}: {name} has {len(value)} entries, but X has {X.shape[1]} "
                "features; give one entry per feature."
            )
        self._check(X.shape[1])
        return clone(self).set_params(**{name: value})

    @property
    def made_by(self) -> str:
        return "nonlinearity='cos_sin' or 'cos'"

    def diagonal(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
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
        """Float64 copies of X and Y times the scale; dense rows are centred first.

        Centring keeps the differences of dense rows exact far from the origin.
        """
        pair = as_float64(X), as_float64(Y)
        if any(map(sparse.issparse, pair)):
            factors = np.broadcast_to(self._scale(), X.shape[1])
            return tuple(sparse.csr_matrix(A).multiply(factors).tocsr() for A in pair)
        centre = centre_of(pair[1])
        return tuple((A - centre) * self._scale() for A in pair)

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
        """Return the law at s = 1, whose characteristic function is φ."""
        return self._law(1.0)

    def rescaled(self, factors: ArrayLike) -> Self:
        bandwidth: Any = self._from_scale(self._scale() * np.asarray(factors))
        bandwidth = float(bandwidth) if np.ndim(bandwidth) == 0 else bandwidth
        return clone(self).set_params(**{self._bandwidth_name: bandwidth})

    @staticmethod
    def _from_scale(scale: np.ndarray) -> np.ndarray:
        """Return the bandwidth that gives this input scale: the inverse of `_scale`."""
        return scale**2

    @staticmethod
    def _from_gamma(gamma: Any) -> Any:
        """Return the bandwidth that matches exp(−γ · distance)."""
        return gamma

    def _check(self, d: int) -> None:
        """Raise an error if another parameter, or the dimension d, is invalid."""

    def _scale(self) -> Any:
        """Return s, as a float or one float per feature."""
        raise NotImplementedError

    def _law(self, scale: float) -> laws.Law:
        """Return the law of kernels φ(scale · (x − y))."""
        raise NotImplementedError


class Gaussian(ShiftInvariant):
    """k(x, y) = exp(−γ‖x − y‖²).

    A Gram matrix takes O(n n' d) time and the memory of the result.

    Parameters
    ----------
    gamma : float, array, {"scale", "median", "knn", "cnm"}, default "scale"
        γ as a number, an array of one γ per feature (ARD), or a rule:

        - "scale": 1/(d · var X), as in scikit-learn;
        - "median": 1/(median of ‖x − y‖²) over at most 2000 rows;
        - "knn": 1/(2σ²), σ the mean distance to the 50th neighbour of 1000 rows;
        - "cnm": 2/σ² with the same σ, to reproduce the compact-maps paper.

        Every rule gives 1 on constant data.

    See Also
    --------
    bochner.methods.sorf : Fast random features of this kernel.
    Matern : A kernel of adjustable smoothness.

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

    def __init__(self, gamma: float | ArrayLike | str = "scale") -> None:
        self.gamma: Any = gamma

    def _scale(self) -> Any:
        return np.sqrt(self.gamma)

    def _law(self, scale: float) -> laws.Law:
        return laws.Normal(np.sqrt(2) * scale)  # E cos ωᵀδ = exp(−‖δ‖²) for N(0, 2I)


class Laplacian(ShiftInvariant):
    """k(x, y) = exp(−γ‖x − y‖₁), as scikit-learn's "laplacian".

    The kernel is not isotropic, so orthogonal and Hadamard projections cannot be used.
    For exp(−‖x − y‖₂/ℓ) use `Matern(nu=0.5)`.

    A Gram matrix takes O(n n' d) time and the memory of the result.

    Parameters
    ----------
    gamma : float, array, {"scale", "median", "knn", "cnm"}, default "scale"
        γ as a number, an array of one γ per feature (ARD), or a rule. `Gaussian`
        describes the rules; here they use ℓ1 distances.

    See Also
    --------
    Matern : With nu=0.5, an isotropic kernel with the same profile.

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

    def __init__(self, gamma: float | ArrayLike | str = "scale") -> None:
        self.gamma: Any = gamma

    def _scale(self) -> Any:
        return self.gamma

    @staticmethod
    def _from_scale(scale: np.ndarray) -> np.ndarray:
        return scale

    def _law(self, scale: float) -> laws.Law:
        return laws.CauchyProduct(scale)


class Cauchy(ShiftInvariant):
    """k(x, y) = 1/(1 + γ‖x − y‖²), which is smooth at zero and has heavy tails.

    A Gram matrix takes O(n n' d) time and the memory of the result.

    Parameters
    ----------
    gamma : float, array, {"scale", "median", "knn", "cnm"}, default "scale"
        γ as a number, an array of one γ per feature (ARD), or a rule. `Gaussian`
        describes the rules.

    See Also
    --------
    RationalQuadratic : The same kernel with an exponent other than 1.

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

    def __init__(self, gamma: float | ArrayLike | str = "scale") -> None:
        self.gamma: Any = gamma

    def _scale(self) -> Any:
        return np.sqrt(self.gamma)

    def _law(self, scale: float) -> laws.Law:
        return laws.VarianceGamma(np.sqrt(2) * scale, 1.0)  # mixed with Gamma(1)


class _LengthScale(ShiftInvariant):
    """Base class of kernels of ‖x − y‖/ℓ; rules set ℓ = 1/√(2γ) for the rule's γ."""

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

    ν = 1/2 gives exp(−‖x − y‖/ℓ). Larger ν give smoother kernels, and ν → ∞ gives the
    Gaussian kernel with γ = 1/(2ℓ²).

    A Gram matrix takes O(n n' d) time and the memory of the result.

    Parameters
    ----------
    nu : float, default 1.5
        ν, the smoothness.
    length_scale : float, array, {"scale", "median", "knn", "cnm"}, default "scale"
        ℓ as a number, an array of one ℓ per feature (ARD), or a rule for γ, from which
        ℓ = 1/√(2γ). `Gaussian` describes the rules.

    See Also
    --------
    Gaussian : The limit for large ν.

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

    def __init__(
        self, nu: float = 1.5, length_scale: float | ArrayLike | str = "scale"
    ) -> None:
        self.nu = nu
        self.length_scale: Any = length_scale

    def _check(self, d: int) -> None:
        check_positive("Matern", "nu", self.nu)

    def _law(self, scale: float) -> laws.Law:
        return laws.Student(scale, check_positive("Matern", "nu", self.nu))


class RationalQuadratic(_LengthScale):
    """k(x, y) = (1 + ‖x − y‖²/(2αℓ²))^−α, a mixture of Gaussian kernels.

    A Gram matrix takes O(n n' d) time and the memory of the result.

    Parameters
    ----------
    alpha : float, default 1.0
        α. Large values approach the Gaussian kernel with γ = 1/(2ℓ²).
    length_scale : float, array, {"scale", "median", "knn", "cnm"}, default "scale"
        ℓ as a number, an array of one ℓ per feature (ARD), or a rule for γ, from which
        ℓ = 1/√(2γ). `Gaussian` describes the rules.

    See Also
    --------
    Cauchy : The kernel with α = 1, in terms of γ = 1/(2ℓ²).
    Gaussian : The limit for large α.

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

    def __init__(
        self, alpha: float = 1.0, length_scale: float | ArrayLike | str = "scale"
    ) -> None:
        self.alpha = alpha
        self.length_scale: Any = length_scale

    def _check(self, d: int) -> None:
        check_positive("RationalQuadratic", "alpha", self.alpha)

    def _law(self, scale: float) -> laws.Law:
        alpha = check_positive("RationalQuadratic", "alpha", self.alpha)
        return laws.VarianceGamma(scale, alpha)


class Spherical(ShiftInvariant):
    """k(x, y) = 1 − 3r/2 + r³/2 for r = ‖x − y‖/radius ≤ 1, and 0 for r > 1.

    The kernel has compact support, and is positive definite for at most three features.

    A Gram matrix takes O(n n' d) time and the memory of the result.

    Parameters
    ----------
    radius : float or array of shape (n_features,)
        Distance at which the kernel reaches zero, or one distance per feature (ARD).

    Raises
    ------
    ValueError
        When the kernel is evaluated or fitted on more than three features.

    See Also
    --------
    Matern : A kernel for any number of features.

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

    def __init__(self, radius: float | ArrayLike) -> None:
        self.radius: Any = radius

    def _check(self, d: int) -> None:
        laws.check_spherical_dimension(d)

    def _scale(self) -> Any:
        return 1.0 / self.radius

    @staticmethod
    def _from_scale(scale: np.ndarray) -> np.ndarray:
        return 1.0 / scale

    def _law(self, scale: float) -> laws.Law:
        return laws.Ball(scale)
