"""`partial_fit`: what is kept between blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..execution.features import FeatureRows, RawFeatures
from ..linear.losses import Loss
from ..linear.moments import Moments
from ..linear.online import Online
from ..linear.rows import mixed
from .selection import select_alpha
from .solving import Linear, Sums, check_alpha, fits_moments, solve_ridge


class Incremental:
    """Sums for least squares, an online solver for the other losses.

    Parameters
    ----------
    owner : str
        For messages.
    loss : Loss
    alpha : "auto", float or array
    intercept : bool
    dtype : numpy type
        Arithmetic of sums.
    size : callable
        How many rows moments are of.
    """

    def __init__(
        self,
        owner: str,
        loss: Loss,
        alpha: Any,
        intercept: bool,
        dtype: Any,
        size: Callable[[Moments], float],
    ) -> None:
        self._owner, self._loss, self._alpha = owner, loss, alpha
        self._intercept, self._dtype = intercept, np.dtype(dtype)
        self._size = size
        self._state: Sums | Online | None = None
        self._chosen: float | None = None

    def add(self, rows: FeatureRows, raw: RawFeatures) -> Linear:
        """Learn from one more block; the model of all so far."""
        for F, y, weight in rows.chunks():
            F, T = mixed(F, raw.mixing), self._loss.encode(y, np.float64)
            if self._state is None:
                self._state = self._begin(rows, raw, T.shape[1])
            if isinstance(self._state, Sums):
                self._state.add(F, T, weight, self._dtype)
            else:
                self._state.add(self._loss, F, y, weight)
        return self._linear(raw)

    def _begin(self, rows: FeatureRows, raw: RawFeatures, n_outputs: int) -> Any:
        if not fits_moments(raw):
            raise ValueError(
                f"{self._owner}: partial_fit keeps the square of the number of "
                f"features, which is too much for {raw.n_columns}; use fewer, or fit "
                "on bochner.blocks."
            )
        if self._loss.quadratic:
            return Sums.zero(raw.n_columns, n_outputs)
        alpha, candidates = check_alpha(self._owner, self._alpha)
        if alpha is None:
            alpha = select_alpha(self._loss, rows, raw, candidates, self._intercept)
        self._chosen = alpha
        return Online.start(raw.n_columns, n_outputs, self._intercept, alpha)

    def _linear(self, raw: RawFeatures) -> Linear:
        if isinstance(self._state, Sums):
            return solve_ridge(
                self._state,
                self._alpha,
                self._owner,
                self._intercept,
                self._size(self._state.moments),
            )
        assert self._state is not None and self._chosen is not None
        B, m = self._state.B, raw.n_columns
        return Linear(B[:m], B[m:].sum(axis=0), self._chosen)
