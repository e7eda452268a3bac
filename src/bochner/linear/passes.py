"""Passes over feature rows: what Newton's method asks of them, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .losses import Loss
from .moments import add_gram
from .rows import Chunk, Rows, mixed, reduce_rows, scores

STEPS = 2.0 ** -np.array([0, 1, 2, 4, 6, 8, 10, 12])
"""Step lengths that one pass tries."""

NARROW_SHARE = 0.6
"""Share of rows with curvature below which they are copied to be kept together."""


class Derivative(Protocol):
    """Slopes of Σ loss at coefficients B of the columns, and its curvature there."""

    values: np.ndarray  # (K,), of the losses
    slopes: np.ndarray  # (M or M + 1, K)

    def curved(self, Q: np.ndarray) -> np.ndarray:
        """The curvature times a direction Q, a pass, (M or M + 1, K)."""
        ...

    def hessian(self, k: int) -> np.ndarray:
        """The curvature of one output in the features, its upper triangle."""
        ...


@dataclass
class KeptCurvature:
    """The derivative of rows at hand: their curvature is kept from the first pass."""

    rows: Rows
    loss: Loss
    values: np.ndarray
    slopes: np.ndarray
    curvature: list[np.ndarray]
    _narrow: tuple[Rows, list[np.ndarray]] | None = None

    def curved(self, Q: np.ndarray) -> np.ndarray:
        if self._narrow is None:
            self._narrow = self._with_curvature()
        rows, curvature = self._narrow
        out = np.zeros_like(Q)
        for chunk, bent in zip(rows.chunks(), curvature, strict=True):
            out += chunk_curved(self.loss, chunk, bent, Q)
        return out

    def hessian(self, k: int) -> np.ndarray:
        size = len(self.slopes)
        H = np.zeros((size, size), order="F")
        for chunk, bent in zip(self.rows.chunks(), self.curvature, strict=True):
            add_hessian(H, chunk, bent[:, k], self.rows.mixing)
        return H

    def _with_curvature(self) -> tuple[Rows, list[np.ndarray]]:
        """The rows that curve, if they are few enough to be kept by themselves."""
        masks: list[Any] = [bent.any(axis=1) for bent in self.curvature]
        if sum(mask.sum() for mask in masks) > NARROW_SHARE * self.rows.n_rows:
            return self.rows, self.curvature
        rows = self.rows.narrowed(masks)
        if rows is None:
            return self.rows, self.curvature
        kept = [bent[mask] for bent, mask in zip(self.curvature, masks, strict=True)]
        return rows, [np.concatenate(kept)]


def differentiate(rows: Rows, loss: Loss, B: np.ndarray) -> KeptCurvature:
    """One pass: values, slopes and curvature at B, (M or M + 1, K)."""
    values, slopes, curvature = np.zeros(B.shape[1]), np.zeros(B.shape), []
    for chunk in rows.chunks():
        value, slope, bent = chunk_derivative(loss, chunk, B)
        values, slopes = values + value, slopes + slope
        curvature.append(bent)
    return KeptCurvature(rows, loss, values, slopes, curvature)


def values_along(rows: Rows, loss: Loss, both: np.ndarray) -> np.ndarray:
    """One pass: Σ loss at B + t D for every step length t; `both` is [B, D]."""
    total = np.zeros((len(STEPS), both.shape[1] // 2))
    for chunk in rows.chunks():
        total += chunk_values(loss, chunk, both)
    return total


def chunk_derivative(
    loss: Loss, chunk: Chunk, B: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values (K,), slopes (len(B), K) and curvature (b, …) of a chunk's losses."""
    F, y, weight = chunk
    T = loss.encode(y, F.dtype)
    found: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def step(block: slice, S: np.ndarray) -> np.ndarray:
        w = None if weight is None else weight[block]
        slopes, bent = loss.slopes(S, T[block], w)
        found[block.start] = loss.values(S, T[block], w), bent
        return slopes

    G = reduce_rows(F, B, step)
    ordered = list(_in_order(found))
    values = np.sum([value for value, _ in ordered], axis=0)
    return values, G, np.concatenate([bent for _, bent in ordered])


def chunk_curvature(loss: Loss, chunk: Chunk, B: np.ndarray) -> np.ndarray:
    """The curvature of a chunk's losses alone, (b, …): half of the products."""
    F, y, weight = chunk
    return loss.slopes(scores(F, B), loss.encode(y, F.dtype), weight)[1]


def chunk_curved(
    loss: Loss, chunk: Chunk, bent: np.ndarray, Q: np.ndarray
) -> np.ndarray:
    """A chunk's curvature times a direction, (len(Q), K)."""

    def step(block: slice, S: np.ndarray) -> np.ndarray:
        return loss.curve(bent[block], S)

    return reduce_rows(chunk.F, Q, step)


def add_hessian(
    H: np.ndarray, chunk: Chunk, bent: np.ndarray, mixing: np.ndarray | None
) -> None:
    """H += Fᵀ diag(bent) F in place, of features and perhaps an intercept."""
    active = np.flatnonzero(bent)
    F = mixed(chunk.F[active], mixing)
    weight = bent[active].astype(np.float64)
    add_gram(H, F, weight, intercept=len(H) > F.shape[1])


def chunk_values(loss: Loss, chunk: Chunk, both: np.ndarray) -> np.ndarray:
    """Values of a chunk's losses at every step length, (len(STEPS), K)."""
    F, y, weight = chunk
    T = loss.encode(y, F.dtype)
    k = both.shape[1] // 2
    found: dict[int, np.ndarray] = {}

    def step(block: slice, S: np.ndarray) -> None:
        w = None if weight is None else weight[block]
        tried = [S[:, :k] + F.dtype.type(t) * S[:, k:] for t in STEPS]
        found[block.start] = np.array([loss.values(s, T[block], w) for s in tried])

    reduce_rows(F, both, step)
    return np.sum(list(_in_order(found)), axis=0)


def _in_order(found: dict) -> Iterator:
    """What threads have found, whichever was first."""
    return (found[start] for start in sorted(found))
