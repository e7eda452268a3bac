"""What a file may hold: every class by a name that stays, and what is stored of it.

Names are those of the documentation, not of modules, so that files outlive moves. A
class that is not listed here is neither written nor made: see `docs/saving.md`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from .. import compression, kernels, nonlinearities, projections
from ..compression.base import Selection
from ..compression.jl import SketchedMap
from ..data import column_readers
from ..data.table_transformer import TableTransformer
from ..features import kernel_columns as _columns
from ..features.compact.compact_map import CompactMap
from ..features.compact.initial_model import Recipe
from ..features.compact.targets import Classes, Numbers
from ..features.feature_map import FeatureMap
from ..features.nystroem import Nystroem, NystroemMap
from ..features.random_features import RandomFeatures, RandomProjection
from ..kernels import laws
from ..learners.classifier import KernelClassifier
from ..learners.labels import Labels
from ..learners.pca import KernelPCA
from ..learners.regressor import KernelRegressor
from ..learners.solving import Incremental, Sums
from ..nonlinearities import argmax_code, cosine, maxout, rectified
from ..projections import circulant, hadamard
from ..projections import sparse as sparse_maps
from ..solvers import losses, newton, ridge
from ..solvers.moments import Moments
from ..solvers.rows import RowSample
from . import checks
from . import learned_checks as learned
from . import step_checks as steps

FITTED = (
    *("n_features_in_", "feature_names_in_", "_columns_by_name"),
    "_sklearn_output_config",
)
"""What every fit keeps of the columns, and scikit-learn of `set_output`."""

Check = Callable[[Any], None]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A class, and what is stored of its objects beside their parameters.

    Parameters
    ----------
    made : type
    state : tuple of str
        Fitted attributes of an estimator.
    check : function
        Refuses an object that compiled code or its owner could not take on trust, or
        mends one of another version.
    forgotten : tuple of str
        Parameters that depend on the writer's machine, such as names of files: neither
        written nor read.
    defaults : bool
        Whether parameters at their default are written. Not for classes of
        scikit-learn, whose parameters change from version to version.
    """

    made: type
    state: tuple[str, ...] = ()
    check: Check = checks.nothing
    forgotten: tuple[str, ...] = ()
    defaults: bool = True

    @property
    def is_data(self) -> bool:
        return dataclasses.is_dataclass(self.made)

    def parameters(self) -> dict[str, Any]:
        """Names of what is given at making, with defaults where there are any."""
        found = inspect.signature(self.made).parameters
        return {name: parameter.default for name, parameter in found.items()}

    def stored(self, value: Any) -> dict[str, Any]:
        """All that makes the object anew."""
        names = self.parameters()
        kept = [name for name in names if name not in self.forgotten]
        given = {name: getattr(value, name) for name in kept}
        if self.is_data:
            return given
        held = vars(value)
        if not self.defaults:
            given = {k: v for k, v in given.items() if not _same(v, names[k])}
        fitted = [name for name in (*self.state, *FITTED) if name in held]
        return given | {name: held[name] for name in fitted}

    def make(self, stored: dict[str, Any]) -> Any:
        """The object of what was stored; names must be known."""
        names = self.parameters()
        rest = {name: v for name, v in stored.items() if name not in names}
        allowed = () if self.is_data else (*self.state, *FITTED)
        for name in rest:
            if name not in allowed:
                raise checks.refused(f"{self.made.__name__} has no {name!r}")
        known = names.keys() - set(self.forgotten)
        made = self.made(**{k: v for k, v in stored.items() if k in known})
        vars(made).update(rest)
        checks.columns(made)
        self.check(made)
        return made


def _same(value: Any, default: Any) -> bool:
    """Whether a parameter was left as it comes; NaN equals NaN."""
    plain = isinstance(value, bool | int | float | str | type(None) | type)
    if not plain or type(value) is not type(default):
        return False
    both_nan = value != value and default != default
    return both_nan or value == default


def _named(prefix: str, made: Iterable[type], check: Check = checks.nothing) -> Any:
    return {f"{prefix}.{one.__name__}": Kind(one, (), check) for one in made}


MODELS = {
    "RandomFeatures": Kind(
        RandomFeatures,
        ("kernel_", "projection_", "compression_", "feature_map_", "_seed"),
        checks.map_of_features,
    ),
    "RandomProjection": Kind(
        RandomProjection, ("linear_map_", "_seed"), checks.map_of_projection
    ),
    "Nystroem": Kind(
        Nystroem,
        ("kernel_", "landmarks_", "landmark_indices_", "feature_map_"),
        checks.map_of_landmarks,
    ),
    "CompactMap": Kind(
        CompactMap,
        (
            *("kernel_", "feature_map_", "coef_", "intercept_", "classes_"),
            *("history_", "n_iter_", "best_iter_", "_center", "_n_steps", "_fitted"),
        ),
        checks.compact_map,
    ),
    "KernelClassifier": Kind(
        KernelClassifier,
        (
            *("features_", "coef_", "intercept_", "alpha_", "classes_", "n_iter_"),
            *("_columns", "_labels", "_temperature", "_found_alpha"),
            *("_fitted_features", "_incremental", "_map"),
        ),
        checks.classifier,
        ("checkpoint",),
    ),
    "KernelRegressor": Kind(
        KernelRegressor,
        (
            *("features_", "coef_", "intercept_", "alpha_", "noise_"),
            *("log_marginal_likelihood_", "_B", "_b", "_posterior", "_target_shape"),
            *("_incremental", "_map", "_missed_interval"),
        ),
        checks.regressor,
        ("checkpoint",),
    ),
    "KernelPCA": Kind(
        KernelPCA,
        (
            *("features_", "components_", "mean_", "explained_variance_"),
            *("explained_variance_ratio_", "_columns", "_moments"),
        ),
        checks.components,
        ("checkpoint",),
    ),
    **_named("preprocessing", (column_readers.DateParts, column_readers.Numbers)),
    **_named("preprocessing", (column_readers.Texts,)),
}
"""bochner's own maps and estimators, and what reads the cells of tables."""

MACHINE = {
    ColumnTransformer: ("n_jobs",),
    TableTransformer: ("n_jobs",),
    Pipeline: ("memory",),
}
"""Parameters of steps that depend on the writer's machine: its processes and files."""


def _step(made: type) -> Kind:
    attributes, forgotten = tuple(steps.FIELDS[made]), MACHINE.get(made, ())
    return Kind(made, attributes, steps.check_step, forgotten, defaults=False)


PREPROCESSING = {
    f"sklearn.{made.__name__}": _step(made)
    for made in steps.FIELDS
    if made is not TableTransformer
}
"""What may stand before them in a Pipeline."""

MODELS["preprocessing.TableTransformer"] = _step(TableTransformer)

PARTS = {
    **_named(
        "kernels",
        (
            *(kernels.Gaussian, kernels.Laplacian, kernels.Cauchy, kernels.Matern),
            *(kernels.RationalQuadratic, kernels.Spherical, kernels.Maxout),
            *(kernels.ArgmaxCode, kernels.ArcCosine),
        ),
    ),
    **_named(
        "laws",
        (
            *(laws.Normal, laws.Student, laws.VarianceGamma, laws.CauchyProduct),
            laws.Ball,
        ),
        checks.law,
    ),
    **_named("projections", dict.fromkeys(projections.PROJECTIONS.values())),
    **_named("nonlinearities", nonlinearities.NONLINEARITIES.values()),
    **_named("compression", compression.COMPRESSIONS.values()),
    **_named("maps", (projections.Matrix,), checks.matrix),
    **_named("maps", (projections.Scale,), checks.scale),
    **_named("maps", (projections.Compose,), checks.compose),
    **_named("maps", (projections.Stack,), checks.stack),
    **_named("maps", (projections.Rows,), checks.rows),
    **_named("maps", (cosine.ReducedPhases,), checks.reduced_phases),
    **_named("maps", (hadamard.HadamardChain,), checks.hadamard_chain),
    **_named("maps", (circulant.CirculantMap,), checks.circulant),
    **_named("maps", (sparse_maps.SparseMatrix,), checks.sparse_matrix),
    **_named("maps", (sparse_maps.SingleEntry,), checks.single_entry),
    **_named("maps", (FeatureMap,), checks.feature_map),
    **_named("maps", (SketchedMap,), checks.sketched_map),
    **_named("maps", (NystroemMap,), checks.nystroem_map),
    **_named("columns", (_columns.Distance,), checks.distance),
    **_named("columns", (_columns.Function,), checks.function),
    **_named("columns", (_columns.Precomputed,), checks.precomputed),
    **_named(
        "sampled",
        (
            *(cosine.SampledCosSin, rectified.SampledReLU, rectified.SampledSign),
            *(maxout.SampledMaxout, argmax_code.SampledCodes),
            argmax_code.SampledOneHot,
        ),
        checks.sampled,
    ),
    **_named("sampled", (cosine.SampledCos,), checks.sampled_cos),
    **_named("sampled", (maxout.SampledPool,), checks.sampled_pool),
    **_named("learned", (Recipe, Classes, Numbers, Selection, ridge.Posterior)),
    **_named("learned", (Labels,), learned.labels),
    **_named("learned", (Incremental,), learned.incremental),
    **_named("learned", (Sums,), learned.sums),
    **_named("learned", (Moments,), learned.moments),
    **_named("learned", (RowSample,), learned.row_sample),
    **_named("learned", (newton.Online,), learned.online),
    **_named("learned", (losses.Squared,), learned.squared),
    **_named(
        "learned",
        (losses.SquaredHinge, losses.Logistic, losses.Multinomial),
        learned.loss,
    ),
}
"""What they are made of."""

KINDS: dict[str, Kind] = {**MODELS, **PREPROCESSING, **PARTS}
NAMES: dict[type, str] = {kind.made: name for name, kind in KINDS.items()}


def is_model(value: Any) -> bool:
    """Whether it is something that `save` takes by itself."""
    name = NAMES.get(type(value))
    known = name in MODELS or name in PREPROCESSING
    return known and isinstance(value, BaseEstimator)
