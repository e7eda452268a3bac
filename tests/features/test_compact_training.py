"""Training of learned maps: losses, exact gradients, solvers, batches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import reference
from bochner import kernels, projections
from bochner._core.random import Stream
from bochner.features.compact import initial_model, losses, training
from bochner.features.compact.model import KernelHead, LinearHead, Model
from bochner.features.compact.online import OnlineTraining
from bochner.features.compact.optimizers import ALTERNATION, Adam, Pegasos
from bochner.features.compact.training import Schedule, TrainingRows, learn
from bochner.features.compact.weights import CirculantWeights, DenseWeights
from checks import data

WEIGHTS = {"dense": DenseWeights, "circulant": CirculantWeights}
SCALE = np.array([1.0, 2.0, 0.5, 1.5, 1.0, 3.0, 0.7])
D = len(SCALE)
CENTER = np.linspace(-1, 2, D)


def weights_of(structure, n_out, input_scale=SCALE):
    law = kernels.Gaussian(0.3).spectral_law()
    projection = projections.PROJECTIONS[structure]()
    linear = projection.sample(law, n_out, D, Stream(2))
    return WEIGHTS[structure](linear, input_scale, CENTER)


def model_of(structure, m, head, *, pairs=False, learns_biases=True):
    biases = 2 * np.pi * Stream(3).uniform(m)
    return Model(
        weights_of(structure, m),
        biases,
        head,
        pairs=pairs,
        learns_biases=learns_biases,
    )


def linear_head(loss, n_features, penalty=0.1):
    rng = np.random.default_rng(5)
    B = rng.normal(size=(n_features, loss.n_outputs)) / 2
    return LinearHead(loss, B, rng.normal(size=loss.n_outputs), penalty)


def check_gradients(model, X, y, objective):
    """Every entry of every gradient against central differences of the objective."""
    model.differentiate(X, y)
    for parameter in model.parameters:
        gradient = parameter.gradient.copy()
        expected = np.empty_like(gradient)
        for place in np.ndindex(parameter.value.shape):
            value = parameter.value[place]
            step = 1e-6
            parameter.value[place] = value + step
            above = objective(model, X, y)
            parameter.value[place] = value - step
            expected[place] = (above - objective(model, X, y)) / (2 * step)
            parameter.value[place] = value
        assert np.abs(expected).max() > 1e-4  # a zero gradient would test nothing
        assert_allclose(gradient, expected, rtol=2e-5, atol=2e-7)


def mean_value(model, X, y):
    """The mean value of a batch, with the penalty of a linear head."""
    value = model.assess(X, y)[0].mean()
    if model.head.coefficients is not None:
        value += model.head.penalty / 2 * np.sum(model.head.coefficients.value**2)
    return value


SHAPES = [("dense", 3), ("circulant", 3), ("circulant", 8), ("circulant", 19)]


@pytest.mark.parametrize("structure, m", SHAPES)
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(
    "loss",
    [
        losses.Hinge(2),
        losses.Hinge(4),
        losses.Log(2),
        losses.Log(4),
        losses.linear_hinge(4),
        losses.Squared(2),
    ],
    ids=repr,
)
def test_gradients_are_exact(structure, m, pairs, loss):
    X, rng = data(13, D), np.random.default_rng(0)
    y = rng.normal(size=(13, 2))
    if not isinstance(loss, losses.Squared):
        y = rng.integers(loss.n_classes, size=13)
    head = linear_head(loss, m * (1 + pairs))
    model = model_of(structure, m, head, pairs=pairs, learns_biases=not pairs)
    check_gradients(model, X, y, mean_value)


@pytest.mark.parametrize("structure, m", SHAPES)
@pytest.mark.parametrize("pairs", [False, True])
def test_gradients_of_the_kernel_objective_are_exact(structure, m, pairs):
    head = KernelHead(kernels.Gaussian(0.2), np.linspace(0.2, 0.6, m))
    model = model_of(structure, m, head, pairs=pairs, learns_biases=not pairs)
    check_gradients(model, data(9, D), None, mean_value)


@settings(max_examples=25, deadline=None)
@given(
    structure=st.sampled_from(["dense", "circulant"]),
    m=st.integers(1, 40),
    n=st.integers(1, 90),
    is_sparse=st.booleans(),
)
def test_gradient_is_the_adjoint_of_the_projection(structure, m, n, is_sparse):
    """⟨W(θ) x, S⟩ = ⟨θ, gradient(S)⟩: projections are linear in the parameter θ."""
    weights = weights_of(structure, m)
    X = data(n, D)
    S = np.random.default_rng(1).normal(size=(n, m))
    batch = weights.prepare(sparse.csr_matrix(X) if is_sparse else X)
    Z = np.empty((n, m))
    weights.project(batch, Z)
    weights.differentiate(batch, S)
    inner = np.vdot(weights.parameter.value, weights.parameter.gradient)
    assert_allclose(inner, np.vdot(Z, S), rtol=1e-10, atol=1e-9)
    W = weights.linear_map().to_dense()
    assert_allclose(Z, (X - CENTER) @ W.T, atol=1e-10)
    assert_allclose(weights.offset(), W @ CENTER, atol=1e-10)
    even = np.arange(0, n, 2)
    weights.differentiate(weights.select(batch, even), S[even])
    inner = np.vdot(weights.parameter.value, weights.parameter.gradient)
    assert_allclose(inner, np.vdot(Z[even], S[even]), rtol=1e-10, atol=1e-9)


def test_circulant_gradient_equals_that_of_its_matrix():
    """−x_{i−j} w_i sin z_i summed over rows i and points, as in the paper's (16)."""
    weights = weights_of("circulant", 11, None)
    linear = weights.linear_map()
    r = linear.vectors
    W = reference.circulant_rows(r, linear.signs, 11) * linear.scale[:, None]
    X, S = data(6, D), np.random.default_rng(0).normal(size=(6, 11))
    batch, Z = weights.prepare(X), np.empty((6, 11))
    weights.project(batch, Z)
    assert_allclose(Z, (X - CENTER) @ W.T, atol=1e-12)
    weights.differentiate(batch, S)
    expected = np.zeros_like(r)
    for i in range(11):
        for j in range(D):
            x = (X[:, j] - CENTER[j]) * linear.signs[j]
            slope = S[:, i] @ x * linear.scale[i]
            expected[i // r.shape[1], (i - j) % r.shape[1]] += slope
    assert_allclose(weights.parameter.gradient, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["hinge", "linear_hinge", "log"])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_losses_equal_the_naive_formulas(name, n_classes):
    loss = losses.LOSSES[name](n_classes)
    rng = np.random.default_rng(0)
    S = 2 * rng.normal(size=(40, loss.n_outputs))
    y = rng.integers(n_classes, size=40)
    values, slopes = loss(S, loss.encode(y, S.dtype))
    expected = [
        reference.class_loss(name, s, k, n_classes) for s, k in zip(S, y, strict=True)
    ]
    assert_allclose(values, expected, rtol=1e-12)
    assert slopes.shape == S.shape
    predicted = S[:, 0] > 0 if n_classes == 2 else S.argmax(axis=1)
    assert_array_equal(loss.errors(S, loss.encode(y, S.dtype)), predicted != y)


def test_log_loss_does_not_overflow():
    S = np.array([[1e4, -1e4, 0.0]], dtype=np.float32)
    values, slopes = losses.Log(3)(S, np.array([1]))
    assert_allclose(values, [2e4])
    assert_allclose(slopes, [[1, -1, 0]], atol=1e-6)


def test_rows_with_zero_gradient_are_skipped():
    """Gradients are the same with and without the rows beyond the margin."""
    X, y = data(40, D), np.arange(40) % 2
    head = linear_head(losses.Hinge(2), 6, penalty=0.0)
    head.coefficients.value *= 20  # most rows are far from the margin, on either side
    model = model_of("dense", 6, head)
    value = model.differentiate(X, y)
    active = head.active()
    assert active is not None and 0 < len(active) < 30
    gradients = [p.gradient.copy() for p in model.parameters]
    head.active = lambda: None
    assert model.differentiate(X, y) == value
    for gradient, parameter in zip(gradients, model.parameters, strict=True):
        assert_allclose(gradient, parameter.gradient, rtol=1e-12, atol=1e-14)


def test_pegasos_is_the_corrected_alternation():
    """Gradients over the whole batch, projection to 1/√λ, 100 steps of each kind."""
    penalty, rng = 0.05, np.random.default_rng(0)
    model = model_of("dense", 4, linear_head(losses.linear_hinge(2), 4, penalty))
    for parameter in model.head.parameters:
        parameter.value[:] = 0
    W = model.weights.parameter.value.T.copy()
    b = model.biases.value[0].copy()
    batches = []
    for _ in range(ALTERNATION + 3):
        X = rng.normal(size=(8, D)) + CENTER
        batches.append((X, (X[:, 0] > CENTER[0]).astype(int)))
    solver = Pegasos(model, penalty)
    lengths = []
    for X, y in batches:
        solver.step(X, y, 1.0)
        lengths.append(np.linalg.norm(model.head.coefficients.value))
    assert max(lengths) <= penalty**-0.5 * (1 + 1e-12)
    assert np.isclose(max(lengths), penalty**-0.5)  # the projection was active
    signed = [(X - CENTER, 2 * y - 1) for X, y in batches]
    w, intercept, W, b = reference.pegasos(signed, W, b, penalty, ALTERNATION)
    B, offset = (p.value for p in model.head.parameters)
    assert_allclose(B[:, 0], w, atol=1e-8)
    assert_allclose(offset[0, 0], intercept, atol=1e-8)
    assert_allclose(model.weights.parameter.value, W.T, atol=1e-8)
    assert_allclose(model.biases.value[0], b, atol=1e-8)


def test_adam_equals_the_textbook_algorithm():
    model = model_of("dense", 3, linear_head(losses.Squared(1), 3))
    X, y = data(10, D), np.linspace(0, 1, 10)
    solver = Adam(model, 0.01)
    state = [(np.zeros_like(p.value), np.zeros_like(p.value)) for p in model.parameters]
    for t in range(1, 4):
        before = [p.value.copy() for p in model.parameters]
        solver.step(X, y, 0.5)
        for old, p, moments in zip(before, model.parameters, state, strict=True):
            mean, square = moments
            mean += 0.1 * (p.gradient - mean)
            square += 0.001 * (p.gradient**2 - square)
            sizes = p.sizes[:, None]
            root = np.sqrt(square / (1 - 0.999**t))
            step = (mean / (1 - 0.9**t)) / (root + 1e-8 / sizes)
            expected = old - 0.01 * 0.5 * sizes * step
            assert_allclose(p.value, expected, rtol=1e-9, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 300), size=st.integers(1, 120))
def test_batches_contain_every_row_once(n, size):
    rows = TrainingRows.all(np.arange(n, dtype=float)[:, None], np.arange(n))
    batches = list(rows.batches(min(size, n), Stream(0)))
    assert_array_equal(np.sort(np.concatenate([y for _, y in batches])), np.arange(n))
    for X, y in batches:
        assert_array_equal(X[:, 0], y)
    sizes = [len(y) for _, y in batches]
    assert max(sizes) - min(sizes) <= 1 and max(sizes) <= 1.5 * size + 1


def test_held_out_rows_are_stratified():
    y = np.repeat([0, 1, 2], [500, 300, 200])
    rows, held = TrainingRows.all(np.zeros((1000, 1)), y).split(0.1, Stream(0), y)
    assert_array_equal(np.bincount(y[held.index]), [50, 30, 20])
    assert not set(rows.index) & set(held.index)
    assert len(rows) + len(held) == 1000
    y = np.repeat([0, 1, 2], [4, 1, 95])  # a class of one row is not held out
    for seed in range(20):
        rows, held = TrainingRows.all(np.zeros((100, 1)), y).split(0.1, Stream(seed), y)
        assert 1 in y[rows.index] and 9 <= len(held) <= 11
    few = TrainingRows.all(np.zeros((20, 1)), None).split(0.1, Stream(0), None)
    assert few[1] is None and len(few[0]) == 20


class RecordingSolver:
    """A solver that takes no steps and records the shares of the learning rate."""

    by_error = False

    def __init__(self, model):
        self.model, self.shares = model, []

    def step(self, X, y, share):
        self.shares.append(share)
        return 1.0

    def iterate(self):
        return [p.value for p in self.model.parameters]


def test_learning_rates_fall():
    """In `fit` to zero along a cosine; in a stream with the root of the steps."""
    model = model_of("dense", 5, linear_head(losses.Hinge(2), 5))
    solver = RecordingSolver(model)
    short_training(model, solver, n_epochs=10, patience=10)
    expected = (1 + np.cos(np.pi * np.arange(30) / 30)) / 2
    assert_allclose(solver.shares, expected)
    solver = RecordingSolver(model)
    online = OnlineTraining(None, None, None, model, solver, Stream(0))
    for _ in range(2):
        online.add(TrainingRows.all(data(60, D), np.arange(60) % 2), 20)
    assert_allclose(solver.shares, (1 + np.arange(6) / 1000) ** -0.5)


def test_adam_averages_its_iterates():
    model = model_of("dense", 3, linear_head(losses.Squared(1), 3))
    solver, iterates = Adam(model, 0.1), []
    for _ in range(4):
        solver.step(data(10, D), np.linspace(0, 1, 10), 1.0)
        iterates.append([p.value.copy() for p in model.parameters])
    by_parameter = zip(*iterates, strict=True)
    for average, values in zip(solver.iterate(), by_parameter, strict=True):
        assert_allclose(average, np.mean(values, axis=0), atol=1e-12)


def short_training(model, solver, n_epochs=6, patience=6, rows=None):
    """Train on 60 rows, which are also the held-out rows."""
    X = data(60, D)
    rows = rows or TrainingRows.all(X, (X[:, 0] > 0.1).astype(int))
    schedule = Schedule(n_epochs, 20, patience)
    return learn(model, solver, rows, rows, schedule, Stream(0), lambda line: None)


def test_the_best_iterate_is_kept():
    model = model_of("dense", 5, linear_head(losses.Hinge(2), 5, 0.0))
    solver = Adam(model, 3.0)  # so large that values go up and down
    history = short_training(model, solver, n_epochs=20, patience=20)
    assert history.best == int(np.argmin(history.held_out_loss))
    assert history.best < 20
    X = data(60, D)
    value = model.assess(X, (X[:, 0] > 0.1).astype(int))[0].mean()
    assert_allclose(value, min(history.held_out_loss), rtol=1e-12)


def test_pegasos_iterates_are_compared_by_error():
    history = training.History(by_error=True)
    assert history.add(np.nan, (1.0, 0.5), 0.0)
    assert history.add(9.0, (9.0, 0.3), 0.1)  # a larger loss, but fewer errors
    assert not history.add(0.5, (0.5, 0.4), 0.2)
    assert history.best == 1
    model = model_of("dense", 5, linear_head(losses.Hinge(2), 5))
    assert short_training(model, Pegasos(model, 0.1), n_epochs=2).by_error


def test_training_stops_without_improvement():
    model = model_of("dense", 5, linear_head(losses.Hinge(2), 5, 0.0))
    history = short_training(model, Adam(model, 3.0), n_epochs=60, patience=3)
    assert len(history.loss) - 1 == history.best + 3 < 60


@pytest.mark.parametrize(
    "values, expected",
    [
        ({1.0: 0.5, 4.0: 0.52, 2.0: 0.51, 0.5: 0.8}, 1.0),
        ({1.0: 0.5, 4.0: 0.3, 8.0: 0.2, 2.0: 0.6}, 8.0),
        ({0.25: 0.1, 0.125: 0.104, 0.5: 0.2}, 0.125),  # wider, within the slack
    ],
)
def test_search_prefers_wide_kernels_within_the_slack(monkeypatch, values, expected):
    def short_run(model, solver, rows, held, schedule, rng, report):
        assert len(rows) == 300 and schedule.n_epochs * 3 >= initial_model.SHORT_STEPS
        return training.History(held_out_loss=[1.0, values.get(model, 1.0)])

    monkeypatch.setattr(initial_model, "learn", short_run)
    rows = TrainingRows.all(np.zeros((300, 1)), np.zeros(300))
    lines = []
    factor = initial_model.search_factor(
        lambda factor: factor, lambda model: None, rows, rows, Stream(0), lines.append
    )
    assert factor == expected
    assert len(lines) == 7


def test_squared_hinge_ranks_classes_by_probability():
    """The minimum over constant scores, if no class has half of the rows.

    If scores were compared with the best other class only, all scores would be equal.
    """
    counts = np.array([40, 35, 25])
    y = np.repeat([0, 1, 2], counts)
    loss, s = losses.Hinge(3), np.zeros(3)
    for _ in range(2000):
        s = s - 0.05 * loss(np.tile(s, (100, 1)), y)[1].mean(axis=0)
    assert_array_equal(np.argsort(-s), [0, 1, 2])
    assert np.diff(-s).min() > 0.01
