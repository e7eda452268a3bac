"""Probabilities from scores: one temperature, found on rows held out.

Squared hinge and least squares on ±1 codes both estimate 2 P(class) − 1, up to scale,
so that one positive number a in softmax(a s) is as much as they need, and the most
probable class stays the one of the largest score.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._random import Stream
from ..execution.sources import ArraySource, Block, Source
from ..linear.losses import log_loss

HELD = 5
HELD_ROWS = 10_000
"""One row in five is held out, at most so many."""


def split(source: Source) -> tuple[ArraySource, Block]:
    """Rows to learn from and rows held out, every class among the former."""
    if not isinstance(source, ArraySource):
        raise ValueError(
            "KernelClassifier: calibrate=True needs rows in memory; use loss='log' "
            "for probabilities from blocks and Dask collections."
        )
    n = source.n_rows
    out = np.zeros(n, dtype=bool)
    out[Stream(0).child("calibrate").subset(n, min(-(-n // HELD), HELD_ROWS))] = True
    out[np.unique(source.y, return_index=True)[1]] = False
    if not out.any():
        raise ValueError(
            "KernelClassifier: calibrate=True needs more rows than classes, to hold "
            f"some out; got {n} rows."
        )
    return ArraySource(*source.take(np.flatnonzero(~out))), source.take(
        np.flatnonzero(out)
    )


def temperature(S: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
    """a > 0 of the least log loss of softmax(a s), or of 1/(1 + exp(−a s))."""
    from scipy.optimize import minimize_scalar  # heavy to import

    loss = log_loss(2 if S.shape[1] == 1 else S.shape[1])
    T = loss.encode(y, S.dtype)
    found = minimize_scalar(
        lambda a: loss.values(S * S.dtype.type(np.exp(a)), T, weight).sum(),
        bounds=(np.log(1e-2), np.log(1e3)),
        method="bounded",
    )
    return float(np.exp(found.x))


def probabilities(S: np.ndarray, a: float) -> np.ndarray:
    """(n, K) from scores (n, K), or (n, 2) from (n, 1)."""
    loss = log_loss(2 if S.shape[1] == 1 else S.shape[1])
    return loss.probabilities(S.astype(np.float64) * a)


def gives_probabilities(self: Any) -> bool:
    """Whether a classifier has `predict_proba`."""
    if self.loss == "log" or self.calibrate:
        return True
    raise AttributeError(
        f"predict_proba needs loss='log' or calibrate=True; this {type(self).__name__} "
        f"has loss={self.loss!r}."
    )


def learns_in_parts(self: Any) -> bool:
    """Whether it has `partial_fit`."""
    if not self.calibrate:
        return True
    raise AttributeError(
        "partial_fit cannot hold rows out as calibrate=True asks; use loss='log' for "
        "probabilities."
    )
