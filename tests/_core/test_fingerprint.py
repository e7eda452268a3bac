"""Fingerprints of parameters, and the warm starts that compare them."""

import copy
import functools
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from bochner import KernelClassifier, Nystroem, RandomFeatures
from bochner.engines.checkpoint import fingerprint, matches

MAP = RandomFeatures(8, gamma="scale", random_state=0)
X3 = np.random.default_rng(0).normal(size=(30, 4))
LANDMARKS = np.random.default_rng(5).normal(size=(60, 20))
"""More entries than NumPy writes out."""


def test_warm_start_notices_every_parameter_of_the_map():
    X = np.random.default_rng(6).normal(size=(80, 20))
    y = (X[:, 0] > 0).astype(int)
    landmarks = LANDMARKS.copy()
    features = Nystroem(60, landmarks=landmarks, gamma=0.1)
    model = KernelClassifier(features, warm_start=True, alpha=0.1).fit(X, y)
    first = model.features_
    features.fit(X)  # a fit of the user's own object is no other parameter
    assert model.fit(X, y).features_ is first
    landmarks[30, 10] += 1  # in place, amid what is abbreviated
    assert model.fit(X, y).features_ is not first
    assert_array_equal(model.features_.landmarks, landmarks)
    model.set_params(features=Nystroem(60, landmarks=LANDMARKS, gamma=0.1))
    assert_array_equal(model.fit(X, y).features_.landmarks, LANDMARKS)


def kernel_function(c):
    return lambda A, B: np.exp(-c * cdist(A, B))


def pair_of_lambdas():
    return [kernel_function(1.0), kernel_function(2.0)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: [1, 2],
        lambda: ["rff", "orf"],
        lambda: [LANDMARKS, LANDMARKS + (LANDMARKS == LANDMARKS.max())],
        lambda: [LANDMARKS, LANDMARKS.astype(np.float32)],
        lambda: [sparse.csr_matrix(LANDMARKS), sparse.csr_matrix(-LANDMARKS)],
        lambda: [MAP, clone(MAP).set_params(gamma=0.123)],
        lambda: [{"a": [MAP]}, {"b": [MAP]}],
        lambda: [np.array([1, None]), np.array([None, 1])],
        lambda: [FrozenEstimator(clone(MAP).fit(A)) for A in (X3, X3 + np.eye(30, 4))],
        pair_of_lambdas,
        lambda: [functools.partial(kernel, c=1) for kernel in pair_of_lambdas()],
    ],
)
def test_fingerprints_follow_contents(make):
    (one, other), (same, _) = make(), make()
    assert fingerprint(one) == fingerprint(same) == fingerprint(copy.deepcopy(one))
    assert fingerprint(one) != fingerprint(other)
    assert matches(fingerprint(one), one)


def test_what_cannot_be_read_matches_nothing():
    lock = {"gamma": threading.Lock()}
    assert fingerprint(lock) is None and not matches(fingerprint(lock), lock)
