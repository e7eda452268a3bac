"""Linear learners: against formulas, finite differences and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.svm import LinearSVC

import reference
from bochner import threads
from bochner.engines.local import KeptRows
from bochner.solvers import newton as newton_module
from bochner.solvers import preconditioner as preconditioner_module
from bochner.solvers.losses import (
    Logistic,
    Multinomial,
    Squared,
    SquaredHinge,
    log_loss,
)
from bochner.solvers.moments import Moments, mirrored
from bochner.solvers.newton import Online, newton
from bochner.solvers.pca import components, components_of_rows
from bochner.solvers.ridge import RidgePath
from bochner.solvers.rows import RowSample, mixed, multiply, reduce_rows, scores

RNG = np.random.default_rng(0)
F = RNG.normal(size=(400, 12))
CLASSES = (F[:, :3] + 0.7 * RNG.normal(size=(400, 3))).argmax(axis=1)
TARGETS = F[:, :2] @ RNG.normal(size=(2, 2)) + 0.3 * RNG.normal(size=(400, 2))
WEIGHTS = RNG.integers(1, 4, size=400).astype(float)
LOSSES = [
    pytest.param(SquaredHinge(3), CLASSES, id="hinge"),
    pytest.param(SquaredHinge(2), CLASSES % 2, id="hinge-two"),
    pytest.param(Logistic(), CLASSES % 2, id="log-two"),
    pytest.param(Multinomial(3), CLASSES, id="log"),
    pytest.param(Squared(), TARGETS, id="squared"),
    pytest.param(Squared(3), CLASSES, id="squared-codes"),
]


@pytest.mark.parametrize("loss, y", LOSSES)
@pytest.mark.parametrize("weight", [None, WEIGHTS])
def test_slopes_and_curvature_are_derivatives(loss, y, weight):
    y, weight = y[:9], None if weight is None else weight[:9]
    T = loss.encode(y, np.float64)
    S = RNG.normal(size=T.shape)
    D = RNG.normal(size=T.shape)
    slopes, bent = loss.slopes(S, T, weight)
    h = 1e-5

    def value(t):
        return loss.values(S + t * D, T, weight).sum()

    assert_allclose((slopes * D).sum(), (value(h) - value(-h)) / (2 * h), rtol=1e-6)
    after, _ = loss.slopes(S + h * D, T, weight)
    before, _ = loss.slopes(S - h * D, T, weight)
    curved = loss.curve(bent, D)
    # the hinge's second derivative jumps at the margin, which nobody hits
    assert_allclose(curved, (after - before) / (2 * h), atol=1e-6)
    assert ((curved * D).sum(axis=1) <= loss.most_curved(bent) * (D**2).sum(axis=1)
            + 1e-9).all()  # fmt: skip


@pytest.mark.parametrize("loss, y", LOSSES)
@pytest.mark.parametrize("weight", [None, WEIGHTS])
@pytest.mark.parametrize("direct", [True, False])
def test_newton_finds_the_minimum(loss, y, weight, direct, monkeypatch):
    if not direct:
        monkeypatch.setattr(newton_module, "DIRECT_OPERATIONS", 0)
    rows = KeptRows(F, y, weight, None)
    K = loss.encode(y, float).shape[1]
    found = newton(loss, rows, 0.5, np.zeros((13, K)), tol=1e-18, max_iter=100)
    least = reference.objective(loss, F, y, weight, 0.5, found.B)
    for _ in range(10):
        other = found.B + 1e-4 * RNG.normal(size=found.B.shape)
        assert reference.objective(loss, F, y, weight, 0.5, other) > least
    T = loss.encode(y, float)
    slopes, _ = loss.slopes(F @ found.B[:-1] + found.B[-1], T, weight)
    gradient = F.T @ slopes + 0.5 * found.B[:-1]
    assert abs(gradient).max() < 1e-5 and abs(slopes.sum(axis=0)).max() < 1e-5


def test_newton_agrees_with_scikit_learn():
    rows = KeptRows(F, CLASSES, None, None)
    start = np.zeros((13, 3))
    control = {"tol": 1e-18, "max_iter": 100}
    B = newton(Multinomial(3), rows, 0.5, start, **control).B
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=1000).fit(F, CLASSES)
    assert_allclose(B[:-1].T, theirs.coef_, atol=1e-4)
    # without an intercept, which LIBLINEAR penalises
    B = newton(SquaredHinge(3), rows, 0.5, start[:-1], **control).B
    machine = LinearSVC(C=2.0, fit_intercept=False, tol=1e-10, max_iter=100_000)
    assert_allclose(B.T, machine.fit(F, CLASSES).coef_, atol=1e-5)
    B = newton(
        Squared(), KeptRows(F, TARGETS, None, None), 0.5, np.zeros((13, 2)), **control
    ).B
    theirs = Ridge(alpha=0.5).fit(F, TARGETS)
    assert_allclose(B[:-1].T, theirs.coef_, atol=1e-9)
    assert_allclose(B[-1], theirs.intercept_, atol=1e-9)


def test_mixing_is_a_change_of_features(monkeypatch):
    monkeypatch.setattr(newton_module, "DIRECT_OPERATIONS", 0)
    mixing = np.triu(RNG.normal(size=(12, 12))) + 3 * np.eye(12)
    assert_allclose(mixed(F, mixing), F @ mixing)
    assert_allclose(mixed(F.astype(np.float32), mixing.astype(np.float32)),
                    F @ mixing, atol=1e-4)  # fmt: skip
    y, start = CLASSES, np.zeros((13, 3))
    for loss in (SquaredHinge(3), Multinomial(3)):
        a = newton(
            loss, KeptRows(F, y, None, mixing), 1.0, start, tol=1e-18, max_iter=99
        )
        b = newton(
            loss,
            KeptRows(F @ mixing, y, None, None),
            1.0,
            start,
            tol=1e-18,
            max_iter=99,
        )
        assert_allclose(a.B, b.B, atol=1e-6)


def test_sampled_preconditioner_gives_the_same_answer(monkeypatch):
    """Past 8192 features: by few sampled rows, here forced."""
    monkeypatch.setattr(newton_module, "DIRECT_OPERATIONS", 0)
    monkeypatch.setattr(preconditioner_module, "FACTORED_COLUMNS", 10)
    monkeypatch.setattr(preconditioner_module, "SAMPLED_ROWS", 20)
    wide = RNG.normal(size=(300, 80)) * 0.8 ** np.arange(80)
    T = RNG.normal(size=(300, 1))
    start = np.zeros((81, 1))
    found = newton(
        Squared(), KeptRows(wide, T, None, None), 1e-3, start, tol=1e-20, max_iter=20
    )
    coef, constant = reference.ridge(wide, T, np.ones(300), 1e-3)
    assert_allclose(found.B[:-1], coef, atol=1e-7 * abs(coef).max())
    assert_allclose(found.B[-1], constant, atol=1e-8)
    plain = newton(
        Squared(),
        KeptRows(wide, T, None, None),
        1e-3,
        start,
        tol=1e-20,
        max_iter=20,
        precondition=lambda R: R,
    )
    assert found.n_passes < plain.n_passes


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHTS[:30]])
def test_sampled_preconditioner_inverts_the_curvature(intercept, weight, monkeypatch):
    monkeypatch.setattr(preconditioner_module, "FACTORED_COLUMNS", 10)
    monkeypatch.setattr(preconditioner_module, "STRIP", 7)
    wide = RNG.normal(size=(30, 80))
    rows = KeptRows(wide, np.zeros((30, 1)), weight, None)
    solve = preconditioner_module.preconditioner(Squared(), rows, 0.5, 80 + intercept)
    A = np.hstack([wide, np.ones((30, 1))]) if intercept else wide
    w = np.ones(30) if weight is None else weight
    H = 0.5 * np.eye(A.shape[1]) + (A * w[:, None]).T @ A
    R = RNG.normal(size=(A.shape[1], 3))
    assert_allclose(solve(R), np.linalg.solve(H, R), atol=1e-10)


def test_products_do_not_depend_on_threads():
    A = RNG.normal(size=(5000, 60)).astype(np.float32)
    B = RNG.normal(size=(61, 3))
    results = []
    for n in (1, 2, 3):
        with threads(n):
            results.append(reduce_rows(A, B, lambda block, S: np.sin(S)))
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()
    S = np.sin(scores(A, B))
    assert_allclose(results[0][:-1], A.T @ S, rtol=1e-3, atol=1e-3)
    assert_allclose(results[0][-1], S.sum(axis=0), rtol=1e-4)
    assert_allclose(multiply(A, B[:-1]), A @ B[:-1].astype(np.float32), rtol=1e-5)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_ridge_path(intercept, alpha):
    moments = Moments.zero(12, 2)
    for part in np.array_split(np.arange(400), 7):
        moments.add(F[part], TARGETS[part], WEIGHTS[part])
    path = RidgePath(moments, intercept)
    coef, constant = reference.ridge(F, TARGETS, WEIGHTS, alpha, intercept)
    found, b = path.coefficients(alpha)
    assert_allclose(found, coef, atol=1e-11)
    assert_allclose(b, constant, atol=1e-11)
    residual = WEIGHTS @ (TARGETS - F @ coef - constant) ** 2
    assert_allclose(path.residual(alpha), residual, rtol=1e-9)
    hat = _hat(intercept, alpha)
    assert_allclose(path.freedom(alpha), np.trace(hat), rtol=1e-9)


def _gcv(path, n, alpha):
    """Leave-one-out with every row's leverage replaced by their mean."""
    return n * path.residual(alpha).sum() / (n - path.freedom(alpha)) ** 2


def _hat(intercept, alpha):
    """Row i of the prediction, from all targets."""
    units = [
        reference.ridge(F, e[:, None], WEIGHTS, alpha, intercept) for e in np.eye(400)
    ]
    return np.column_stack([(F @ coef + b)[:, 0] for coef, b in units])


def test_ridge_of_one_feature_and_of_constants():
    moments = Moments.zero(1, 1)
    moments.add(F[:, :1], TARGETS[:, :1], None)
    coef, b = RidgePath(moments).coefficients(1e-12)
    theirs = LinearRegression().fit(F[:, :1], TARGETS[:, :1])
    assert_allclose(coef[:, 0], theirs.coef_[0])
    moments = Moments.zero(3, 1)
    moments.add(np.ones((5, 3)), np.full((5, 1), 2.0), None)
    path = RidgePath(moments)
    sample = RowSample()
    sample.add(np.ones((5, 3)), np.full((5, 1), 2.0), None)
    coef, b = path.coefficients(path.best(sample))
    assert_allclose(coef, 0, atol=1e-12)
    assert_allclose(b, 2)


@pytest.mark.parametrize("intercept", [True, False])
def test_leave_one_out_is_exact(intercept):
    moments, sample = Moments.zero(12, 2), RowSample()
    moments.add(F, TARGETS, None)
    sample.add(F, TARGETS, None)
    path = RidgePath(moments, intercept)
    ones = np.ones(400)
    errors = []
    for i in range(400):
        rest = np.arange(400) != i
        coef, b = reference.ridge(F[rest], TARGETS[rest], ones[rest], 3.0, intercept)
        errors.append((TARGETS[i] - F[i] @ coef - b) ** 2)
    exact = np.sum(errors)
    assert_allclose(path.leave_one_out(sample, 3.0), exact, rtol=1e-9)
    # leverages of Gaussian features are about equal: so is their mean
    assert_allclose(_gcv(path, 400, 3.0) * 400, exact, rtol=0.01)
    near = path.best(sample)
    assert path.leave_one_out(sample, near) <= path.leave_one_out(sample, 10 * near)
    assert path.leave_one_out(sample, near) <= path.leave_one_out(sample, near / 10)
    assert path.best(sample, np.array([1e-3, near, 1e5])) == near


def test_a_row_far_away_misleads_gcv_and_not_leave_one_out():
    """Heavy tails: a few rows whose features nobody else has."""
    rng = np.random.default_rng(0)
    heavy = rng.standard_t(1.2, size=(200, 60))
    T = heavy[:, :1] / (1 + abs(heavy[:, :1])) + rng.normal(size=(200, 1))
    moments, sample = Moments.zero(60, 1), RowSample()
    moments.add(heavy, T, None)
    sample.add(heavy, T, None)
    path = RidgePath(moments)
    grid = 10.0 ** np.arange(-4, 7)
    by_gcv = min(grid, key=lambda alpha: _gcv(path, 200, alpha))
    assert path.leave_one_out(sample, path.best(sample)) <= path.leave_one_out(
        sample, by_gcv
    )


def test_a_sample_does_not_depend_on_the_cut():
    whole, parts = RowSample(size=50), RowSample(size=50)
    whole.add(F, TARGETS, WEIGHTS)
    for part in np.array_split(np.arange(400), 11):
        parts.add(F[part], TARGETS[part], WEIGHTS[part])
    for name in ("keys", "F", "T", "weight"):
        assert_allclose(getattr(whole, name), getattr(parts, name))
    assert len(whole.F) == 50 and whole.seen == 400
    csr = RowSample(size=50)
    csr.add(sparse.csr_matrix(F), TARGETS, WEIGHTS)
    assert_allclose(csr.F, whole.F)


def test_evidence_is_that_of_the_process():
    y = TARGETS[:, 0]
    moments = Moments.zero(12, 1)
    moments.add(F, y[:, None], None)
    path = RidgePath(moments, intercept=False)
    alpha = 2.0
    K = F @ F.T / alpha + np.eye(400)
    variance = y @ np.linalg.solve(K, y) / 400
    exact = reference.log_marginal_likelihood(variance * K, y)
    assert_allclose(path.log_evidence(alpha), exact, rtol=1e-10)
    others = [
        reference.log_marginal_likelihood(c * variance * K, y) for c in (0.9, 1.1)
    ]
    assert max(others) < exact  # the variance is the best one


def test_posterior_is_the_process_variance():
    moments = Moments.zero(12, 1)
    moments.add(F, TARGETS[:, :1], None)
    posterior = RidgePath(moments, intercept=False).posterior(2.0)
    new = RNG.normal(size=(5, 12))
    H = F.T @ F + 2.0 * np.eye(12)
    exact = np.einsum("ij,jk,ik->i", new, np.linalg.inv(H), new)
    assert_allclose(posterior.leverage(new), exact, rtol=1e-9)


def test_moments_merge():
    whole, left, right = (Moments.zero(12, 2) for _ in range(3))
    whole.add(F, TARGETS, WEIGHTS)
    left.add(F[:100], TARGETS[:100], WEIGHTS[:100])
    right.add(F[100:], TARGETS[100:], WEIGHTS[100:])
    left.merge(right)
    left, whole = left.about(None, None), whole.about(None, None)
    for name in ("n_rows", "weight", "f", "t", "ft", "tt"):
        assert_allclose(getattr(left, name), getattr(whole, name), rtol=1e-12)
    assert_allclose(mirrored(left.ff), (F.T * WEIGHTS) @ F, rtol=1e-11, atol=1e-11)
    single = Moments.zero(12, 2)
    single.add(F, TARGETS, WEIGHTS, np.float32)
    single = single.about(None, None)
    assert_allclose(mirrored(single.ff), mirrored(whole.ff), rtol=1e-4, atol=1e-2)
    empty = Moments.zero(12, 2)
    empty.merge(whole)
    empty.merge(Moments.zero(12, 2))
    assert_allclose(empty.ff, whole.ff)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_moments_keep_their_digits_far_from_zero(offset, dtype):
    """Features and targets moved by a constant: sums about the means stay the same.

    Merged from parts whose own means differ, one of them a single row.
    """
    grid = 2.0**-10  # so that moved rows are exact
    rows, targets = np.round(F / grid) * grid, np.round(TARGETS / grid) * grid
    shift = np.round(offset / grid) * grid
    total = Moments.zero(12, 2)
    for part in (slice(0, 1), slice(1, 150), slice(150, None)):
        some = Moments.zero(12, 2)
        some.add(rows[part] + shift, targets[part] + shift, WEIGHTS[part], dtype)
        total.merge(some)
    w = WEIGHTS / WEIGHTS.sum()
    A, T = rows - w @ rows, targets - w @ targets
    tol = 1e-6 if dtype == np.float64 else 1e-4
    ff, ft, tt = total.centred(True)
    assert_allclose(ff, (A.T * WEIGHTS) @ A, rtol=tol, atol=tol * WEIGHTS.sum())
    assert_allclose(ft, (A.T * WEIGHTS) @ T, rtol=tol, atol=tol * WEIGHTS.sum())
    assert_allclose(tt, WEIGHTS @ T**2, rtol=tol)
    assert_allclose(total.mean_t - shift, w @ targets, atol=1e-6)


def test_components_are_scikit_learns():
    moments = Moments.zero(12, 0)
    moments.add(F, np.empty((400, 0)), None)
    found = components(moments, 4)
    theirs = PCA(4).fit(F)
    assert_allclose(found.variances * 400 / 399, theirs.explained_variance_)
    assert_allclose(abs(found.vectors.T @ theirs.components_.T), np.eye(4), atol=1e-9)
    assert_allclose(found.variances / found.total, theirs.explained_variance_ratio_)


@pytest.mark.parametrize("weight", [None, WEIGHTS[:9]])
def test_components_of_few_rows(weight):
    """Fewer rows than features: the same without M² moments."""
    moments = Moments.zero(12, 0)
    moments.add(F[:9], np.empty((9, 0)), weight)
    long, short = components(moments, 4), components_of_rows(F[:9], weight, 4)
    assert_allclose(short.variances, long.variances, atol=1e-10)
    assert_allclose(short.vectors, long.vectors, atol=1e-8)
    assert_allclose(short.mean, long.mean, atol=1e-12)
    assert short.total == pytest.approx(long.total)


def test_one_pass_is_exact_for_least_squares():
    online = Online.start(12, 2, True, 0.5)
    for part in np.array_split(np.arange(400), 5):
        online.add(Squared(), F[part], TARGETS[part], WEIGHTS[part])
    coef, b = reference.ridge(F, TARGETS, WEIGHTS, 0.5)
    assert_allclose(online.B[:-1], coef, atol=1e-8)
    assert_allclose(online.B[-1], b, atol=1e-8)


@pytest.mark.parametrize("make", [SquaredHinge, log_loss], ids=["hinge", "log"])
def test_one_pass_comes_close_for_other_losses(make):
    loss = make(3)
    online = Online.start(12, 3, True, 0.5)
    for part in np.array_split(np.arange(400), 5):
        online.add(loss, F[part], CLASSES[part], None)
    best = newton(
        loss, KeptRows(F, CLASSES, None, None), 0.5, np.zeros((13, 3)), tol=1e-12,
        max_iter=50,
    ).B  # fmt: skip
    least = reference.objective(loss, F, CLASSES, None, 0.5, best)
    reached = reference.objective(loss, F, CLASSES, None, 0.5, online.B)
    nothing = reference.objective(loss, F, CLASSES, None, 0.5, np.zeros((13, 3)))
    assert least < reached < least + 0.05 * (nothing - least)


def test_penalties_of_rows_that_are_all_the_same():
    """Features without any spread about their mean: α is chosen without overflow."""
    F = np.ones((5, 3))
    T = np.arange(5.0)[:, None]
    moments, sample = Moments.zero(3, 1), RowSample()
    moments.add(F, T, None)
    sample.add(F, T, None)
    with np.errstate(all="raise"):
        path = RidgePath(moments)
        B, intercept = path.coefficients(path.best(sample))
        assert path.left_out(sample, 1e-12).noise.min() > 0
    assert_allclose(F @ B + intercept, 2.0, rtol=1e-9)
