"""Phases in float64, for features in float32: whole turns are taken off in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .._cosine import take_turns
from .._ops import Ops, Tensor
from .._validation import read_only
from ..projections import LinearMap
from ..projections.algebra import FLOAT64
from ..projections.base import checked_output


@dataclass(frozen=True, eq=False)
class ReducedPhases(LinearMap):
    """z = W x − 2π·rint(W x / 2π), made in float64 and rounded after: for cosines.

    Cosines do not see whole turns, and what is left of a phase is as good in float32 as
    in float64. Where rows and features are float64, it is W itself. Linear but for
    whole turns: `to_dense` and `apply_adjoint` are those of W.

    Parameters
    ----------
    wide : LinearMap in float64
    dtype : float32 or float64
        Of rows and phases.

    Notes
    -----
    Time of W in float64: about twice that in float32. Memory beside: a block of
    rows and of their phases in float64.
    """

    wide: LinearMap
    dtype: np.dtype = FLOAT64

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.wide.shape

    @property
    def work_columns(self) -> int:
        if self.dtype == FLOAT64:
            return self.wide.work_columns
        # a number in float64 takes the room of two
        return 2 * (self.wide.work_columns + self.shape[1]) + self.shape[0]

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        if self.dtype == FLOAT64:
            return self.wide.apply(X, out=out)
        out = checked_output(X, self, out)
        take_turns(read_only(self.wide.apply(X.astype(FLOAT64))), out)
        return out

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        if ops.dtype == np.float64:
            return self.wide.forward(ops, X)
        with ops.computing_in(np.float64):
            Z = self.wide.forward(ops, ops.cast(X, np.float64))
            turns = ops.round(ops.multiply(Z, 1 / (2 * np.pi)))
            Z = ops.subtract(Z, ops.multiply(turns, 2 * np.pi))
        return ops.cast(Z, ops.dtype)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return self.wide.apply_adjoint(Z.astype(FLOAT64)).astype(self.dtype)

    def astype(self, dtype: Any) -> Self:
        return replace(self, dtype=np.dtype(dtype))

    def scale_rows(self, factors: np.ndarray) -> ReducedPhases:
        return replace(self, wide=self.wide.scale_rows(factors))

    def scale_columns(self, factors: np.ndarray) -> ReducedPhases:
        return replace(self, wide=self.wide.scale_columns(factors))

    def select(self, kept: np.ndarray) -> ReducedPhases:
        return replace(self, wide=self.wide.select(kept))

    def to_dense(self) -> np.ndarray:
        return self.wide.to_dense().astype(self.dtype)
