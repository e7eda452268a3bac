"""datasets.load: built in, from a folder, absent, broken."""

import urllib.error

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.utils import Bunch

from bochner import datasets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BOCHNER_DATA", str(tmp_path))
    return tmp_path


def test_digits():
    digits = datasets.load("digits")
    assert digits.X_train.shape == (1437, 64) and digits.X_train.max() == 1
    assert set(digits.y_test) == set(range(10))


def test_split_is_made_once(folder):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10)
    np.savez(folder / "plain.npz", X=X, y=y)
    first, second = datasets.load("plain"), datasets.load("plain")
    assert first.X_train.shape == (8, 2) and first.X_train.dtype == np.float32
    assert_array_equal(first.X_test, second.X_test)
    assert_array_equal(first.X_test[:, 0], 2 * first.y_test)


def test_official_split_images_and_scale(folder):
    pixels = np.array([[0, 255]], dtype=np.uint8)
    parts = {"X_train": pixels, "y_train": [1], "X_test": pixels, "y_test": [2]}
    np.savez(folder / "mnist.npz", **parts)
    assert_array_equal(datasets.load("mnist").X_train, [[0, 1]])
    np.savez(folder / "sensor.npz", scale=np.float64(0.5), **parts)
    assert_array_equal(datasets.load("sensor").X_test, [[0, 127.5]])
    channels = np.array([[1, 2, 3, 4]], dtype=np.int16)
    parts = {"X_train": channels, "y_train": [1], "X_test": channels, "y_test": [2]}
    np.savez(folder / "windows.npz", scale=np.array([1.0, 10.0]), **parts)
    assert_array_equal(datasets.load("windows").X_test, [[1, 20, 3, 40]])


def test_sparse_stays_sparse(folder):
    A = sparse.random(10, 5, density=0.3, format="csr", random_state=0)
    parts = {"X_data": A.data, "X_indices": A.indices, "X_indptr": A.indptr}
    np.savez(folder / "counts.npz", X_shape=A.shape, y=np.arange(10), **parts)
    bunch = datasets.load("counts")
    assert sparse.isspmatrix_csr(bunch.X_train) and bunch.X_train.shape == (8, 5)
    assert datasets.available() == ["counts", "digits"]


def test_absent_and_offline(folder, monkeypatch):
    def offline(*args, **kwargs):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)
    with pytest.raises(ValueError, match=r"'nowhere'.*digits.*BOCHNER_DATA .*nowhere"):
        datasets.load("nowhere")
    with pytest.raises(ValueError, match="OpenML did not give it"):
        datasets.load("../digits")


def test_openml(folder, monkeypatch):
    bunch = sklearn.datasets.load_iris()
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *a, **k: bunch)
    assert datasets.load("iris").X_train.shape == (120, 4)


@pytest.mark.parametrize("error", [ValueError("unknown"), OSError("no network")])
def test_openml_without_the_data_set(folder, monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(ValueError, match=r"OpenML did not give it .*Set BOCHNER_DATA"):
        datasets.load("nowhere")


def test_openml_images_are_scaled(folder, monkeypatch):
    asked = []
    bunch = Bunch(data=np.full((10, 2), 255.0), target=np.arange(10))

    def fetch(name, **kwargs):
        asked.append(name)
        return bunch

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    assert datasets.load("mnist").X_train.max() == 1
    assert asked == ["mnist_784"]


def test_file_without_a_data_set(folder):
    np.savez(folder / "odd.npz", picture=np.zeros(3))
    with pytest.raises(ValueError, match=r"odd.npz holds picture; a data set needs X"):
        datasets.load("odd")


def test_pickles_are_not_loaded(folder):
    np.savez(folder / "evil.npz", X=np.array([{}], dtype=object), y=[1])
    with pytest.raises(ValueError, match="pickle"):
        datasets.load("evil")


def test_near_name():
    with pytest.raises(ValueError, match=r"'Digits' \(did you mean 'digits'"):
        datasets.load("Digits")


@pytest.mark.parametrize("name", ["", None, 3])
def test_bad_name(name):
    with pytest.raises(ValueError, match="must be a data set's name"):
        datasets.load(name)


@pytest.mark.data
@pytest.mark.parametrize(
    "name, shape", [("mnist", (60000, 784)), ("news20_bydate_counts", (11314, 56438))]
)
def test_real(real_data, name, shape):
    assert real_data(name).X_train.shape == shape


def test_forged_data_sets_are_refused(tmp_path):
    path = tmp_path / "bad.npz"
    parts = {"data": np.ones(3), "indices": np.arange(3), "indptr": [0, 3, 0, 0]}
    parts = {f"X_{name}": part for name, part in parts.items()}
    np.savez(path, X_shape=(3, 3), y=np.arange(3), **parts)
    with pytest.raises(ValueError, match=r"bad.npz holds no valid CSR matrix X \("):
        datasets.read(path)
    np.savez(path, X=np.ones((3, 2)), y=np.array([1, None], dtype=object))
    with pytest.raises(ValueError, match=r"bad.npz cannot be read as npz"):
        datasets.read(path)
