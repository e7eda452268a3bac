"""The figures of the calibration benchmark, on probabilities worked out by hand."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

calibration = pytest.importorskip("benchmarks.calibration")


def test_calibration_error_is_the_mean_gap_of_bins():
    """Two rows at 0.9, one of them right; two at 0.6, both right: (0.8 + 0.8) / 4."""
    P = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.4, 0.6]])
    y = np.array([0, 1, 1, 1])
    assert calibration.calibration_error(P, y) == pytest.approx(0.4)


def test_calibration_error_of_certain_and_right_rows_is_zero():
    P = np.eye(3)
    assert calibration.calibration_error(P, np.arange(3)) == 0
    assert calibration.calibration_error(P, np.array([1, 2, 0])) == 1


def test_gaps_of_one_bin_cancel_and_of_two_do_not():
    """0.55 and 0.59 lie in one bin of fifteen; 0.55 and 0.65 in two."""
    y = np.array([0, 1])
    same = np.array([[0.55, 0.45], [0.59, 0.41]])
    other = np.array([[0.55, 0.45], [0.65, 0.35]])
    assert calibration.calibration_error(same, y) == pytest.approx(0.07)
    assert calibration.calibration_error(other, y) == pytest.approx(0.55)


def test_log_loss_is_the_mean_of_minus_log_p():
    P = np.array([[0.5, 0.5], [0.25, 0.75]])
    expected = -(np.log(0.5) + np.log(0.25)) / 2
    assert calibration.log_loss(P, np.array([0, 0])) == pytest.approx(expected)
    worst = -np.log(np.finfo(float).eps)
    assert calibration.log_loss(np.eye(2), np.array([1, 0])) == pytest.approx(worst)


def test_parts_of_the_rows_keep_every_class():
    y = np.r_[np.zeros(300, int), np.ones(6, int)]
    data = calibration.Data("some", y[:, None], y, y[:, None], y)
    part = data.some(20, 10)
    assert len(part.y_test) == 10 and 20 <= len(part.y) <= 26
    assert (np.bincount(part.y) >= calibration.FOLDS).all()
