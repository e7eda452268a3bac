"""Approximate leave-one-out: exact for least squares, close for the squared hinge."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from bochner.engines.local import KeptRows
from bochner.solvers import left_out
from bochner.solvers.left_out import left_out_scores
from bochner.solvers.losses import Squared, SquaredHinge
from bochner.solvers.newton import newton
from bochner.solvers.rows import scores

RNG = np.random.default_rng(0)
N, M, ALPHA = 90, 12, 0.5
F = RNG.normal(size=(N, M))
CLASSES = (F[:, 0] + F[:, 1] ** 2 + RNG.normal(size=N) > 1).astype(int)
WEIGHTS = RNG.uniform(0.5, 2, size=N)


def solved(loss, places=slice(None), weight=WEIGHTS):
    w = None if weight is None else weight[places]
    rows = KeptRows(F[places], CLASSES[places], w, None)
    start = np.zeros((M, 1))
    return rows, newton(loss, rows, ALPHA, start, tol=1e-14, max_iter=50).B


def refitted(loss, i, weight):
    """The score of a row by a fit without it."""
    _, B = solved(loss, np.delete(np.arange(N), i), weight)
    return float(scores(F[i : i + 1], B)[0, 0])


@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_exact_for_least_squares(form, weight):
    loss = Squared(2)
    rows, B = solved(loss, weight=weight)
    rows.F = form(rows.F)
    S, y, w = left_out_scores(loss, rows, B, ALPHA)
    assert (y == CLASSES).all()
    assert w is None if weight is None else (w == weight).all()
    wanted = [refitted(loss, i, weight) for i in range(N)]
    assert_allclose(S[:, 0], wanted, rtol=1e-6, atol=1e-7)


def test_close_for_the_squared_hinge():
    """Rows enter and leave the margin as one is left out: a tenth of the change."""
    loss = SquaredHinge(2)
    rows, B = solved(loss, weight=None)
    S, _, _ = left_out_scores(loss, rows, B, ALPHA)
    before = scores(F, B)[:, 0]
    wanted = np.array([refitted(loss, i, None) for i in range(N)])
    changes = np.abs(wanted - before)
    assert changes.max() > 0.1
    assert np.abs(S[:, 0] - wanted).sum() < 0.1 * changes.sum()


def test_fewer_rows_stand_for_all(monkeypatch):
    """Curvature of every second row, twice as heavy: leverages of the right size."""
    loss = Squared(2)
    rows, B = solved(loss, weight=None)
    exact, _, _ = left_out_scores(loss, rows, B, ALPHA)
    monkeypatch.setattr(left_out, "CURVED_ROWS", N // 2)
    few, _, _ = left_out_scores(loss, rows, B, ALPHA)
    before = scores(F, B)[:, 0]
    ratio = np.abs(few[:, 0] - before).sum() / np.abs(exact[:, 0] - before).sum()
    assert 0.8 < ratio < 1.25


def test_rows_of_a_larger_fit_move_less():
    loss = SquaredHinge(2)
    rows, B = solved(loss, weight=None)
    before = scores(F, B)
    alone = np.abs(left_out_scores(loss, rows, B, ALPHA)[0] - before).sum()
    among = np.abs(left_out_scores(loss, rows, B, ALPHA, 10 * N)[0] - before).sum()
    assert 0 < among < 0.3 * alone
