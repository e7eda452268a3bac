"""The model before learning, and the feature map of a learned model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.progress import Report, silent
from ..._core.random import Stream
from ..._core.validation import check_choice
from ...kernels.base import Kernel
from ...kernels.laws import Law
from ...nonlinearities.base import Nonlinearity
from ...nonlinearities.cosine import Cos, CosSin, SampledCos, SampledCosSin
from ...projections import PROJECTIONS
from ...projections.base import LinearMap, Projection, check_projection
from ...projections.circulant import Circulant
from ...projections.dense import Dense
from ..feature_map import FeatureMap
from .model import RADIANS, Head, KernelHead, LinearHead, Model
from .optimizers import Solver
from .targets import Targets
from .training import Schedule, TrainingRows, learn
from .weights import CirculantWeights, DenseWeights, Weights

STRUCTURES: dict[str, tuple[type[Projection], Callable[..., Weights]]] = {
    "dense": (Dense, DenseWeights),
    "circulant": (Circulant, CirculantWeights),
}
"""Structures of learned maps: the projection of the initial map, and its weights."""

MIN_SEARCH_ROWS = 20
"""Fewest held-out rows with which bandwidths can be compared."""

SHORT_ROWS = 3000
"""Largest number of training rows of a short run."""

SHORT_BATCH, SHORT_STEPS = 100, 250
"""Batch size and number of steps of a short run: enough to compare bandwidths."""

SLACK = 1.05
"""The smallest factor is chosen whose value is within this ratio of the least value:
wide kernels learn more slowly at first and are better at the end."""

COARSE_FACTORS = 1 / 16, 1 / 4, 1.0, 4.0, 16.0
"""First factors on the initial frequencies; a factor of 2 is a factor of 4 on γ."""


@dataclass(frozen=True)
class InitialMap:
    """The random map that learning starts from.

    Parameters
    ----------
    structure : str
        A key of `STRUCTURES`.
    linear : LinearMap of shape (m, d)
        Frequencies drawn from the law, in the floating type of the rows.
    input_scale : array of shape (d,) or None
        Factors of the inputs (ARD).
    biases : array of shape (m,)
        Phases in radians.
    center : array of shape (d,)
        c, which is subtracted from the rows during learning.
    """

    structure: str
    linear: LinearMap
    input_scale: np.ndarray | None
    biases: np.ndarray
    center: np.ndarray

    def weights(self, factor: float) -> Weights:
        """The weights to learn, with all frequencies multiplied by a factor."""
        linear = self.linear
        if factor != 1:
            # scale the inputs, not the rows of W, whose scales are part of the map
            linear = linear.scale_columns(np.full(linear.shape[1], factor))
        return STRUCTURES[self.structure][1](linear, self.input_scale, self.center)


def search_factor(
    make_model: Callable[[float], Model],
    make_solver: Callable[[Model], Solver],
    rows: TrainingRows,
    held: TrainingRows,
    rng: Stream,
    report: Report,
) -> float:
    """The factor on the frequencies whose short run has the least held-out loss.

    There is a short run on at most `SHORT_ROWS` rows for every factor of
    `COARSE_FACTORS`, and then for half and twice the best factor. The coarse factors
    are far apart, because the loss hardly changes while a bandwidth is far off.

    Parameters
    ----------
    make_model : callable
        Makes a model, given the factor.
    make_solver : callable
        Makes a solver, given the model.
    rows : TrainingRows
        Rows to learn from.
    held : TrainingRows
        Held-out rows.
    rng : Stream
        Source of all random choices.
    report : Report
        Receives one line per run.

    Returns
    -------
    float
    """
    sample = rows.sample(SHORT_ROWS, rng.child("rows"))
    size = min(SHORT_BATCH, len(sample))
    n_epochs = -(-SHORT_STEPS // sample.n_batches(size))
    short = Schedule(n_epochs, size, patience=n_epochs)

    def short_run(factor: float) -> float:
        model = make_model(factor)
        history = learn(
            model, make_solver(model), sample, held, short, rng.child("short"), silent
        )
        if history.ended == "interrupted":
            raise KeyboardInterrupt
        least = min(history.held_out_loss)
        report(f"start × {factor:g}: held out {least:.4g}")
        return least

    losses = {factor: short_run(factor) for factor in COARSE_FACTORS}
    best = min(losses, key=losses.__getitem__)
    losses |= {factor: short_run(factor) for factor in (best / 2, best * 2)}
    least = min(losses.values())
    return min(factor for factor, loss in losses.items() if loss <= SLACK * least)


OWNER = "CompactMap"
CENTER_ROWS = 10_000
"""Rows whose mean estimates the centre of all rows."""

NONLINEARITIES: dict[str, type[Cos | CosSin]] = {"cos": Cos, "cos_sin": CosSin}


def check_nonlinearity(value: Any, n_components: int) -> Cos | CosSin:
    """The parameter `nonlinearity` as an object; only cosines can be learned."""
    nonlinearity = check_choice(
        OWNER, "nonlinearity", value, NONLINEARITIES, Nonlinearity
    )
    if type(nonlinearity) not in NONLINEARITIES.values():
        raise ValueError(
            f"{OWNER}: nonlinearity must be 'cos' or 'cos_sin', because no gradient "
            f"is implemented for others; got {nonlinearity!r}."
        )
    if nonlinearity.phase_dtype is not None:
        raise ValueError(
            f"{OWNER}: phase_dtype must be None, because frequencies are learned in "
            f"the data's type; got {nonlinearity!r}. Pass float64 rows instead."
        )
    nonlinearity = nonlinearity.resolve(n_components)
    nonlinearity.check_components(OWNER, "n_components", n_components)
    return nonlinearity


def check_structure(value: Any, start: Any) -> tuple[str, Projection]:
    """The parameters `projection` and `start`, checked.

    Returns
    -------
    structure : str
        A key of `STRUCTURES`: what is learned.
    projection : Projection
        Draws the initial map.
    """
    kinds = {name: kind for name, (kind, _) in STRUCTURES.items()}
    projection = check_choice(OWNER, "projection", value, kinds, Projection)
    names = [name for name, kind in kinds.items() if type(projection) is kind]
    if not names:
        raise ValueError(
            f"{OWNER}: projection must be 'dense' or 'circulant', which can be "
            f"learned; got {projection!r}. To start from that map, use "
            "projection='dense' and pass the map as start."
        )
    structure = names[0]
    if start is None:
        return structure, projection
    if structure != "dense":
        raise ValueError(
            f"{OWNER}: start must be None with projection={structure!r}, which starts "
            f"from a random map of its own structure; got {start!r}."
        )
    return structure, check_choice(OWNER, "start", start, PROJECTIONS, Projection)


@dataclass(frozen=True)
class Recipe:
    """The parts of a learned map, and the conversions between model and feature map.

    Parameters
    ----------
    structure : {"dense", "circulant"}
        Structure of the learned linear map.
    projection : Projection
        Draws the initial map.
    nonlinearity : Cos or CosSin
        Turns projections into features.
    n_components : int
        Number of features.
    phases : bool
        Whether cosines have phases, which are then learned.
    loss : str
        Name of the loss of scores.
    penalty : float
        λ.
    """

    structure: str
    projection: Projection
    nonlinearity: Cos | CosSin
    n_components: int
    phases: bool
    loss: str
    penalty: float

    @property
    def pairs(self) -> bool:
        """Whether sines are features too."""
        return isinstance(self.nonlinearity, CosSin)

    @property
    def signature(self) -> dict[str, Any]:
        """The parameters that must not change between calls of `partial_fit`."""
        return {
            "n_components": self.n_components,
            "projection": self.structure,
            "nonlinearity": "cos_sin" if self.pairs else "cos",
            "phases": self.phases,
            "loss": self.loss,
        }

    def draw(self, X: Any, kernel: Kernel, rng: Stream) -> InitialMap:
        """Draw the initial map of a kernel for the rows X."""
        m = self.nonlinearity.n_projections(self.n_components)
        law, d = kernel.spectral_law(), X.shape[1]
        self._check_projection(kernel, law)
        if self.projection.input_factors(X) is not None:
            raise ValueError(
                f"{OWNER}: start={self.projection!r} scales features by statistics of "
                "X, but learning finds its own scales; use a start without "
                "normalisation."
            )
        projection = self.projection.resolve(X, law, m, rng.child("resolve"))
        linear = projection.sample(law, m, d, rng.child("projection"))
        biases = np.zeros(m)
        if self.phases:
            biases = RADIANS * rng.child("nonlinearity").uniform(m)
        return InitialMap(
            self.structure,
            linear.astype(X.dtype),
            kernel.input_scale,
            biases.astype(X.dtype),
            self._center(X).astype(X.dtype),
        )

    def _check_projection(self, kernel: Kernel, law: Law) -> None:
        """Raise an error if the projection cannot draw the kernel's frequencies."""
        name, known = "start", PROJECTIONS
        if self.structure != "dense":
            name, known = "projection", {k: kind for k, (kind, _) in STRUCTURES.items()}
        shown = f"{name}={self.projection!r}"
        check_projection(
            OWNER, shown, self.projection, f"kernel={kernel!r}", law, known
        )

    def _center(self, X: Any) -> np.ndarray:
        """The centre of X, (d,); zero if the map cannot absorb it into phases."""
        if not (self.pairs or self.phases):
            return np.zeros(X.shape[1])
        rows = X[Stream(0).child("center").subset(X.shape[0], CENTER_ROWS)]
        return np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()

    def model(
        self,
        initial: InitialMap,
        factor: float,
        kernel: Kernel,
        targets: Targets | None,
    ) -> Model:
        """The model before learning: the initial map, and a head of zeros.

        `factor` multiplies the initial frequencies.
        """
        head = self._head(initial.biases, kernel, targets)
        return Model(
            initial.weights(factor),
            initial.biases.copy(),
            head,
            pairs=self.pairs,
            learns_biases=self.phases,
        )

    def _head(self, biases: np.ndarray, kernel: Kernel, targets: Any) -> Head:
        """The initial head: amplitudes of random features, or zero coefficients."""
        dtype = biases.dtype
        if targets is None:
            amplitudes = np.full(len(biases), self._sampled(biases).scale, dtype=dtype)
            return KernelHead(kernel, amplitudes)
        loss = targets.loss(self.loss)
        B = np.zeros((self.n_components, loss.n_outputs), dtype=dtype)
        b = np.zeros(loss.n_outputs, dtype=dtype)
        return LinearHead(loss, B, b, self.penalty)

    def restore_model(
        self,
        feature_map: FeatureMap,
        center: np.ndarray,
        kernel: Kernel,
        targets: Targets | None,
    ) -> Model:
        """The model of a learned map, to resume learning; its linear head is zero."""
        sampled: Any = feature_map.nonlinearity
        linear = feature_map.linear
        offset = linear.apply(center[None].astype(linear.dtype))[0]
        scale = kernel.input_scale
        if scale is not None:
            linear = linear.scale_columns(1 / scale)  # InitialMap applies the scale
        biases = np.zeros(linear.shape[0], dtype=linear.dtype)
        if not self.pairs:
            biases = sampled.biases * linear.dtype.type(RADIANS) + offset
        initial = InitialMap(self.structure, linear, scale, biases, center)
        model = self.model(initial, 1.0, kernel, targets)
        if feature_map.amplitudes is not None:
            amplitudes = feature_map.amplitudes[: len(biases)] * sampled.scale
            model.head.parameters[0].value[0] = amplitudes
        return model

    def set_head(self, model: Model, coef: np.ndarray, intercept: np.ndarray) -> None:
        """Set coefficients and intercepts, in the form that `head_of` returns."""
        B, b = (p.value for p in model.head.parameters)
        B[:] = self._rotated(coef.T * self._scale(model), -model.weights.offset())
        b[0] = intercept

    def feature_map(self, model: Model) -> FeatureMap:
        """The current map of a model, as a new, immutable value."""
        # cos(W (x − c) + b) = cos(W x + (b − W c)): phases absorb the centre
        sampled = self._sampled(model.biases.value[0] - model.weights.offset())
        amplitudes = None
        if model.head.coefficients is None:
            factors = model.head.parameters[0].value[0] / model.dtype.type(
                sampled.scale
            )
            amplitudes = np.tile(factors, 2 if self.pairs else 1)
        return FeatureMap(model.weights.linear_map(), sampled, amplitudes)

    def head_of(self, model: Model) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients, (K, n_components), and intercepts, (K,), for `feature_map`."""
        B, b = (p.value for p in model.head.parameters)
        B = self._rotated(B / self._scale(model), model.weights.offset())
        return B.T.copy(), b[0].copy()

    def _rotated(self, B: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """Coefficients at phases z, given coefficients B at phases z − angles.

        Without pairs the phases are learned and absorb the angles: B is unchanged.
        """
        if not self.pairs:
            return B
        B_cos, B_sin = np.split(B, 2)
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        return np.vstack([B_cos * cos - B_sin * sin, B_cos * sin + B_sin * cos])

    def _scale(self, model: Model) -> Any:
        """The factor between the map's features and the cosines of the model."""
        scale = self._sampled(model.biases.value[0]).scale
        return model.dtype.type(scale)

    def _sampled(self, biases: np.ndarray) -> SampledCos | SampledCosSin:
        """The nonlinearity of the feature map, with phases in radians."""
        if self.pairs:
            return SampledCosSin(len(biases))
        return SampledCos(np.mod(biases / biases.dtype.type(RADIANS), 1))
