"""`partial_fit`: what is kept between blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..execution.features import FeatureRows, RawFeatures
from ..linear.losses import Loss
from ..linear.online import Online
from ..linear.rows import mixed
from .labels import Labels
from .selection import select_alpha
from .solving import Linear, Sums, check_alpha, fits_moments, solve_ridge


@dataclass
class Incremental:
    """Sums for least squares, an online solver for the other losses.

    Parameters
    ----------
    owner : str
        For messages.
    loss : Loss
    alpha : "auto", float or array
    intercept : bool
    gram : str
        Arithmetic of sums.
    labels : Labels, optional
        Which know how many rows moments of weighted classes are of.
    state, chosen
        What was learned so far, and α where that was chosen.
    half
        Whether a block is being added, in place, or was broken off meanwhile.
    """

    owner: str
    loss: Loss
    alpha: Any
    intercept: bool
    gram: str
    labels: Labels | None = None
    state: Sums | Online | None = None
    chosen: float | None = None
    half: bool = False

    def add(self, rows: FeatureRows, raw: RawFeatures) -> Linear:
        """Learn from one more block; the model of all so far."""
        if self.half:
            raise ValueError(
                f"{self.owner}: the last call of partial_fit was broken off, and a "
                "part of its rows has been counted; call fit to begin anew."
            )
        for F, y, weight in rows.chunks():
            F, T = mixed(F, raw.mixing), self.loss.encode(y, np.float64)
            if self.state is None:
                self.state = self._begin(rows, raw, T.shape[1])
            self.half = True
            if isinstance(self.state, Sums):
                self.state.add(F, T, weight, np.dtype(self.gram))
            else:
                self.state.add(self.loss, F, y, weight)
        return self._linear(raw)

    def settled(self) -> Self:
        """Itself, once the model of all blocks so far is in place."""
        self.half = False
        return self

    def _begin(self, rows: FeatureRows, raw: RawFeatures, n_outputs: int) -> Any:
        if not fits_moments(raw):
            raise ValueError(
                f"{self.owner}: partial_fit keeps the square of the number of "
                f"features, which is too much for {raw.n_columns}; use fewer, or fit "
                "on bochner.blocks."
            )
        if self.loss.quadratic:
            return Sums.zero(raw.n_columns, n_outputs)
        alpha, candidates = check_alpha(self.owner, self.alpha)
        if alpha is None:
            alpha = select_alpha(self.loss, rows, raw, candidates, self.intercept)
        self.chosen = alpha
        return Online.start(raw.n_columns, n_outputs, self.intercept, alpha)

    def _linear(self, raw: RawFeatures) -> Linear:
        if isinstance(self.state, Sums):
            moments = self.state.moments
            size = moments.size if self.labels is None else self.labels.size(moments)
            return solve_ridge(self.state, self.alpha, self.owner, self.intercept, size)
        assert self.state is not None and self.chosen is not None
        B, m = self.state.B, raw.n_columns
        seen: Any = {"sample": self.state.sample, "n_rows": self.state.n_rows}
        return Linear(B[:m], B[m:].sum(axis=0), self.chosen, **seen)
