"""The model before learning, and the feature map that is made of it afterwards."""

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
from .targets import Targets
from .training import Schedule, Solver, TrainingRows, learn
from .weights import CirculantWeights, DenseWeights, Weights

STRUCTURES: dict[str, tuple[type[Projection], Callable[..., Weights]]] = {
    "dense": (Dense, DenseWeights),
    "circulant": (Circulant, CirculantWeights),
}
"""What learned maps are made of, and the projection that starts each."""

SEARCHED_ROWS = 20
"""Held-out rows below which bandwidths cannot be told apart."""

SHORT_ROWS = 3000
"""Rows of a short run."""

SHORT_BATCH, SHORT_STEPS = 100, 250
"""Rows and number of its steps: enough for bandwidths to tell themselves apart."""

SLACK = 1.05
"""Of factors whose values are within so much of the least, the smallest is taken: wide
kernels are slower at first and better in the end."""

COARSE = 1 / 16, 1 / 4, 1.0, 4.0, 16.0
"""Factors on the frequencies at the start; a factor of 2 is 4 on γ."""


@dataclass(frozen=True)
class Start:
    """A random map to start from.

    Parameters
    ----------
    structure : name of one of `STRUCTURES`
    linear : LinearMap of shape (m, d)
        Drawn from the law, in the floating type of the rows.
    input_scale : array of (d,) or None
        Factors of the inputs (ARD).
    biases : array of (m,)
        Phases in radians.
    center : array of (d,)
        c, which rows are measured from while the map is learned.
    """

    structure: str
    linear: LinearMap
    input_scale: np.ndarray | None
    biases: np.ndarray
    center: np.ndarray

    def weights(self, factor: float) -> Weights:
        """The linear map to be learned, its frequencies multiplied first."""
        linear = self.linear
        if factor != 1:
            # of the inputs: scales of rows stay what the law has drawn
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
    """The factor on the frequencies whose short run ends at the least held-out value.

    Short runs on at most `SHORT_ROWS` rows from every factor of `COARSE`, then from
    twice and half the best: values are flat where a bandwidth is far off.
    """
    few = rows.sample(SHORT_ROWS, rng.child("rows"))
    size = min(SHORT_BATCH, len(few))
    n_epochs = -(-SHORT_STEPS // few.n_batches(size))
    short = Schedule(n_epochs, size, patience=n_epochs)

    def value(factor: float) -> float:
        model = make_model(factor)
        history = learn(
            model, make_solver(model), few, held, short, rng.child("short"), silent
        )
        if history.ended == "interrupted":
            raise KeyboardInterrupt
        least = min(history.held_out_loss)
        report(f"start × {factor:g}: held out {least:.4g}")
        return least

    found = {factor: value(factor) for factor in COARSE}
    best = min(found, key=found.__getitem__)
    found |= {factor: value(factor) for factor in (best / 2, best * 2)}
    least = min(found.values())
    return min(factor for factor, value in found.items() if value <= SLACK * least)


OWNER = "CompactMap"
CENTER_ROWS = 10_000
"""Rows whose mean is the middle of all."""

NONLINEARITIES: dict[str, type[Cos | CosSin]] = {"cos": Cos, "cos_sin": CosSin}


def chosen_nonlinearity(asked: Any, n_components: int) -> Cos | CosSin:
    """The nonlinearity asked for, by name or by object, if its slopes are known."""
    chosen = check_choice(OWNER, "nonlinearity", asked, NONLINEARITIES, Nonlinearity)
    if type(chosen) not in NONLINEARITIES.values():
        raise ValueError(
            f"{OWNER}: nonlinearity must be 'cos' or 'cos_sin', whose slopes are "
            f"known; got {chosen!r}."
        )
    if chosen.phase_dtype is not None:
        raise ValueError(
            f"{OWNER}: phase_dtype must be None, because frequencies are learned in "
            f"the data's type; got {chosen!r}. Give float64 rows instead."
        )
    chosen = chosen.resolve(n_components)
    chosen.check_components(OWNER, "n_components", n_components)
    return chosen


def chosen_structure(asked: Any, start: Any) -> tuple[str, Projection]:
    """What is learned, and the projection that draws its start."""
    named = {name: kind for name, (kind, _) in STRUCTURES.items()}
    projection = check_choice(OWNER, "projection", asked, named, Projection)
    names = [name for name, kind in named.items() if type(projection) is kind]
    if not names:
        raise ValueError(
            f"{OWNER}: projection must be 'dense' or 'circulant', which can be "
            f"learned; got {projection!r}. To start from that map, take "
            "projection='dense' and give it as start."
        )
    if start is None:
        return names[0], projection
    if names[0] != "dense":
        raise ValueError(
            f"{OWNER}: projection={names[0]!r} starts from its own kind; leave "
            f"start=None, got {start!r}."
        )
    return names[0], check_choice(OWNER, "start", start, PROJECTIONS, Projection)


@dataclass(frozen=True)
class Recipe:
    """What a learned map is made of.

    Parameters
    ----------
    structure : "dense" or "circulant"
    projection : Projection
        Draws the start.
    nonlinearity : Cos or CosSin
    n_components : int
    phases : bool
        Whether cosines have phases, which are then learned.
    loss : str
        Name of the loss of scores.
    penalty : float
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
        """What cannot change while a map is learned."""
        return {
            "n_components": self.n_components,
            "projection": self.structure,
            "nonlinearity": "cos_sin" if self.pairs else "cos",
            "phases": self.phases,
            "loss": self.loss,
        }

    def draw(self, X: Any, kernel: Kernel, rng: Stream) -> Start:
        """The random map of a kernel for the rows X."""
        m = self.nonlinearity.n_projections(self.n_components)
        law, d = kernel.spectral_law(), X.shape[1]
        self._check_projection(kernel, law)
        if self.projection.input_factors(X) is not None:
            raise ValueError(
                f"{OWNER}: start={self.projection!r} scales features by what it sees "
                "of them, which learning does for itself; leave that out."
            )
        projection = self.projection.resolve(X, law, m, rng.child("resolve"))
        linear = projection.sample(law, m, d, rng.child("projection"))
        biases = np.zeros(m)
        if self.phases:
            biases = RADIANS * rng.child("nonlinearity").uniform(m)
        return Start(
            self.structure,
            linear.astype(X.dtype),
            kernel.input_scale,
            biases.astype(X.dtype),
            self._center(X).astype(X.dtype),
        )

    def _check_projection(self, kernel: Kernel, law: Law) -> None:
        """Refuse a start that cannot draw frequencies of the kernel."""
        name, known = "start", PROJECTIONS
        if self.structure != "dense":
            name, known = "projection", {k: kind for k, (kind, _) in STRUCTURES.items()}
        asked = f"{name}={self.projection!r}"
        check_projection(
            OWNER, asked, self.projection, f"kernel={kernel!r}", law, known
        )

    def _center(self, X: Any) -> np.ndarray:
        """The middle of X, (d,); zero where features have nothing to take it up."""
        if not (self.pairs or self.phases):
            return np.zeros(X.shape[1])
        rows = X[Stream(0).child("center").subset(X.shape[0], CENTER_ROWS)]
        return np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()

    def model(
        self, start: Start, factor: float, kernel: Kernel, targets: Targets | None
    ) -> Model:
        """The model before learning: a random map and a head of zeros."""
        head = self._head(start.biases, kernel, targets)
        return Model(
            start.weights(factor),
            start.biases.copy(),
            head,
            pairs=self.pairs,
            learns_biases=self.phases,
        )

    def _head(self, biases: np.ndarray, kernel: Kernel, targets: Any) -> Head:
        dtype = biases.dtype
        if targets is None:
            amplitudes = np.full(len(biases), self._sampled(biases).scale, dtype=dtype)
            return KernelHead(kernel, amplitudes)
        loss = targets.loss(self.loss)
        B = np.zeros((self.n_components, loss.n_outputs), dtype=dtype)
        b = np.zeros(loss.n_outputs, dtype=dtype)
        return LinearHead(loss, B, b, self.penalty)

    def model_again(
        self,
        feature_map: FeatureMap,
        center: np.ndarray,
        kernel: Kernel,
        targets: Targets | None,
    ) -> Model:
        """The model of a map that has been learned, to go on from; its head is zero."""
        sampled: Any = feature_map.nonlinearity
        linear = feature_map.linear
        offset = linear.apply(center[None].astype(linear.dtype))[0]
        scale = kernel.input_scale
        if scale is not None:
            linear = linear.scale_columns(1 / scale)  # as drawn: the start scales it
        biases = np.zeros(linear.shape[0], dtype=linear.dtype)
        if not self.pairs:
            biases = sampled.biases * linear.dtype.type(RADIANS) + offset
        start = Start(self.structure, linear, scale, biases, center)
        model = self.model(start, 1.0, kernel, targets)
        if feature_map.amplitudes is not None:
            amplitudes = feature_map.amplitudes[: len(biases)] * sampled.scale
            model.head.parameters[0].value[0] = amplitudes
        return model

    def set_head(self, model: Model, coef: np.ndarray, intercept: np.ndarray) -> None:
        """Put in coefficients and intercepts as `head_of` gives them."""
        B, b = (p.value for p in model.head.parameters)
        B[:] = self._turned(coef.T * self._scale(model), -model.weights.offset())
        b[0] = intercept

    def feature_map(self, model: Model) -> FeatureMap:
        """The map as it stands: a new, immutable value."""
        # cos(W (x − c) + b) = cos(W x + (b − W c)): phases take up the middle
        sampled = self._sampled(model.biases.value[0] - model.weights.offset())
        amplitudes = None
        if model.head.coefficients is None:
            factors = model.head.parameters[0].value[0] / model.dtype.type(
                sampled.scale
            )
            amplitudes = np.tile(factors, 2 if self.pairs else 1)
        return FeatureMap(model.weights.linear_map(), sampled, amplitudes)

    def head_of(self, model: Model) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients, (K, n_components), of the map's features, and intercepts."""
        B, b = (p.value for p in model.head.parameters)
        B = self._turned(B / self._scale(model), model.weights.offset())
        return B.T.copy(), b[0].copy()

    def _turned(self, B: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """Coefficients of pairs at phases z for those of pairs at z − angles."""
        if not self.pairs:
            return B
        B_cos, B_sin = np.split(B, 2)
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        return np.vstack([B_cos * cos - B_sin * sin, B_cos * sin + B_sin * cos])

    def _scale(self, model: Model) -> Any:
        """What features are beside the plain cosines that models learn on."""
        scale = self._sampled(model.biases.value[0]).scale
        return model.dtype.type(scale)

    def _sampled(self, biases: np.ndarray) -> SampledCos | SampledCosSin:
        if self.pairs:
            return SampledCosSin(len(biases))
        return SampledCos(np.mod(biases / biases.dtype.type(RADIANS), 1))
