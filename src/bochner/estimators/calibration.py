"""Probabilities from scores: one temperature, found on scores of rows left out.

Squared hinge and least squares on ±1 codes both estimate 2 P(class) − 1, up to scale,
so that one positive number a in softmax(a s) is as much as they need, and the most
probable class stays the one of the largest score. The scores are those of the model
without the row: by leave-one-out from the fit itself, or, with calibrate=True, of rows
that a second fit has never seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._random import Stream
from ..execution.sources import ArraySource, Block, Source
from ..linear.losses import Multinomial, log_loss

HELD = 5
HELD_ROWS = 10_000
"""One row in five is held out, at most this many."""

LOG_BOUNDS = np.log(1e-2), np.log(1e3)
"""Where the logarithm of a is searched."""


def check_in_memory(source: Source) -> None:
    """Refuse rows that are not in memory: a part of them has to be held out."""
    if not isinstance(source, ArraySource):
        raise ValueError(
            "KernelClassifier: calibrate=True needs rows in memory; leave "
            "calibrate=False, which has probabilities too, for blocks and Dask."
        )


def split(source: ArraySource) -> tuple[ArraySource, Block]:
    """Rows to learn from and rows held out, every class among the former."""
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
    """a > 0 of the least log loss of softmax(a s), or of 1/(1 + exp(−a s)).

    One further row counts as one of every class in equal parts, so that rows without
    an error do not make the model certain of everything.
    """
    from scipy.optimize import minimize_scalar  # heavy to import

    S = S.astype(np.float64)
    S = np.hstack([-S, S]) / 2 if S.shape[1] == 1 else S
    n_classes = S.shape[1]
    loss = Multinomial(n_classes)
    unsure = 1 / (len(S) + 1)
    T = (1 - unsure) * loss.encode(y, np.float64) + unsure / n_classes
    best = minimize_scalar(
        lambda a: loss.values(S * np.exp(a), T, weight).sum(),
        bounds=LOG_BOUNDS,
        method="bounded",
    )
    return float(np.exp(best.x))


def class_numbers(T: np.ndarray) -> np.ndarray:
    """Class numbers of ±1 codes (n, K), or (n, 1) for two classes."""
    return (T[:, 0] > 0).astype(int) if T.shape[1] == 1 else T.argmax(axis=1)


def probabilities(S: np.ndarray, a: float) -> np.ndarray:
    """(n, K) from scores (n, K), or (n, 2) from (n, 1)."""
    loss = log_loss(2 if S.shape[1] == 1 else S.shape[1])
    return loss.probabilities(S.astype(np.float64) * a)


def gives_probabilities(self: Any) -> bool:
    """Whether a classifier has `predict_proba`."""
    if getattr(self, "_temperature", 1.0) is not None:
        return True
    raise AttributeError(
        "predict_proba: this KernelClassifier was saved by an earlier version of "
        "bochner, which kept no probabilities; fit it again."
    )


def learns_in_parts(self: Any) -> bool:
    """Whether it has `partial_fit`."""
    if not self.calibrate:
        return True
    raise AttributeError(
        "partial_fit cannot hold rows out as calibrate=True asks; leave "
        "calibrate=False, which has probabilities too."
    )
