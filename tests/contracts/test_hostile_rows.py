"""Rows that compiled code must never see, refused at every public entry."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from bochner import (
    CompactMap,
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    Nystroem,
    RandomFeatures,
    RandomProjection,
    blocks,
    kernels,
    metrics,
)
from bochner.compare.compare import compare
from bochner.compare.recommend import recommend

N, D = 60, 8
DENSE = np.random.default_rng(0).normal(size=(N, D))
LABELS = (DENSE[:, 0] > 0).astype(int)
NUMBERS = DENSE[:, 1] ** 2


def csr() -> sparse.csr_matrix:
    return sparse.csr_matrix(DENSE * (np.abs(DENSE) > 0.5))


def with_parts(X, **parts):
    """A sparse matrix whose parts were replaced after SciPy had checked them."""
    for name, values in parts.items():
        setattr(X, name, values)
    return X


def falling(X):
    indptr = X.indptr.copy()
    indptr[2] = indptr[-1] + 10**6
    return with_parts(X, indptr=indptr)


def negative(X):
    indptr = X.indptr.copy()
    indptr[1] = -(10**6)
    return with_parts(X, indptr=indptr)


def beyond_the_data(X):
    indptr = X.indptr.copy()
    indptr[-1] += 10**7
    return with_parts(X, indptr=indptr)


def late_start(X):
    indptr = X.indptr.copy()
    indptr[0] = 1
    return with_parts(X, indptr=indptr)


def short_indptr(X):
    return with_parts(X, indptr=X.indptr[:-3].copy())


def short_data(X):
    return with_parts(X, data=X.data[:5].copy())


def outside(X):
    indices = X.indices.copy()
    indices[3] = 10**7
    return with_parts(X, indices=indices)


def below_zero(X):
    indices = X.indices.copy()
    indices[3] = -(10**6)
    return with_parts(X, indices=indices)


def one_array(X):
    """Sorting the indices in place would change where rows begin."""
    shared = np.zeros_like(X.indptr)
    shared[-1] = 1
    return with_parts(X, indices=shared, indptr=shared, data=np.ones(len(shared)))


WILD = {
    "falling": falling,
    "negative": negative,
    "beyond the data": beyond_the_data,
    "late start": late_start,
    "short indptr": short_indptr,
    "short data": short_data,
    "outside": outside,
    "below zero": below_zero,
    "one array": one_array,
}

FEATURES = RandomFeatures(16, projection="sorf", random_state=0).fit(csr())
PROJECTION = RandomProjection(4, projection="sparse", random_state=0).fit(csr())
NYSTROEM = Nystroem(10, kernel="laplacian", random_state=0).fit(csr())
COMPACT = CompactMap(8, max_iter=2, search=False, random_state=0).fit(csr(), LABELS)
CLASSIFIER = KernelClassifier(16, alpha=1.0, random_state=0).fit(csr(), LABELS)
REGRESSOR = KernelRegressor(16, alpha=1.0, random_state=0).fit(csr(), NUMBERS)
PCA = KernelPCA(2, features=16, random_state=0).fit(csr())

ENTRIES = {
    "RandomFeatures.fit": lambda X: RandomFeatures(16).fit(X),
    "RandomFeatures.transform": FEATURES.transform,
    "RandomFeatures.approximate_kernel": lambda X: FEATURES.approximate_kernel(
        csr(), X
    ),
    "RandomProjection.fit": lambda X: RandomProjection(4).fit(X),
    "RandomProjection.transform": PROJECTION.transform,
    "Nystroem.fit": lambda X: Nystroem(10).fit(X),
    "Nystroem.transform": NYSTROEM.transform,
    "CompactMap.fit": lambda X: CompactMap(8).fit(X, LABELS),
    "CompactMap.transform": COMPACT.transform,
    "KernelClassifier.fit": lambda X: KernelClassifier(16).fit(X, LABELS),
    "KernelClassifier.partial_fit": lambda X: KernelClassifier(16).partial_fit(
        X, LABELS, classes=[0, 1]
    ),
    "KernelClassifier.predict": CLASSIFIER.predict,
    "KernelClassifier.score": lambda X: CLASSIFIER.score(X, LABELS),
    "KernelRegressor.fit": lambda X: KernelRegressor(16).fit(X, NUMBERS),
    "KernelRegressor.predict": REGRESSOR.predict,
    "KernelPCA.fit": lambda X: KernelPCA(2).fit(X),
    "KernelPCA.transform": PCA.transform,
    "blocks": lambda X: KernelClassifier(16).fit(blocks(X, target=LABELS)),
    "a list of blocks": lambda X: KernelClassifier(16).fit(blocks([(X, LABELS)])),
    "predict of blocks": lambda X: CLASSIFIER.predict(blocks([X])),
    "kernel": lambda X: kernels.Gaussian(1.0)(X),
    "kernel of two": lambda X: kernels.Laplacian(1.0)(csr(), X),
    "angular kernel": lambda X: kernels.ArcCosine()(X),
    "kernel_error": lambda X: metrics.kernel_error(FEATURES, X),
    "compare": lambda X: compare(X, LABELS, methods=["rff"], sizes=[8]),
    "recommend": lambda X: recommend(X, LABELS),
}


@pytest.mark.parametrize("wild", WILD.values(), ids=WILD)
@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_wild_index_arrays_are_refused(entry, format, wild):
    X = csr().asformat(format)
    words = rf"\b[XY] is a damaged {format.upper()} matrix of shape .*Build it again"
    with pytest.raises(ValueError, match=words):
        entry(wild(X))


@pytest.mark.parametrize("wild", WILD.values(), ids=WILD)
def test_maps_that_are_called_without_validation_refuse_them_too(wild):
    with pytest.raises(ValueError, match="X is a damaged CSR matrix"):
        FEATURES.feature_map_(wild(csr()))


def test_wild_landmarks_are_refused_by_their_name():
    with pytest.raises(ValueError, match="landmarks is a damaged CSR matrix"):
        Nystroem(10, landmarks=falling(csr())).fit(csr())


def test_other_sparse_formats_are_checked_before_they_are_converted():
    coo = csr().tocoo()
    coo.col[0] = 10**7
    with pytest.raises(
        ValueError, match="col must be from 0 to 7, and one is 10000000"
    ):
        FEATURES.transform(coo)
    bsr = falling(csr().tobsr((2, 2)))
    with pytest.raises(ValueError, match="damaged BSR"):
        FEATURES.transform(bsr)
    lil = csr().tolil()
    lil.rows[0] = [10**7] * len(lil.rows[0])
    with pytest.raises(ValueError, match="indices must be from 0 to 7"):
        FEATURES.transform(lil)


def test_an_unknown_index_is_named():
    with pytest.raises(
        ValueError, match=r"indices must be from 0 to 7, and one is -10+"
    ):
        FEATURES.transform(below_zero(csr()))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_sound_matrices_of_every_format_give_the_same(format):
    assert_array_equal(
        FEATURES.transform(csr().asformat(format)), FEATURES.transform(csr())
    )


def test_spare_room_behind_the_entries_is_no_fault():
    """SciPy keeps it where entries were removed."""
    X = csr()
    room = np.zeros(10)
    X.data = np.concatenate([X.data, room])
    X.indices = np.concatenate([X.indices, room.astype(X.indices.dtype)])
    assert_array_equal(FEATURES.transform(X), FEATURES.transform(csr()))


def masked(values, n=3):
    mask = np.zeros(np.shape(values), dtype=bool)
    mask.ravel()[:n] = True
    return np.ma.MaskedArray(values, mask)


ONES = np.ones(N)
MASKED = {
    "RandomFeatures": ("X", lambda m: RandomFeatures(16).fit(m(DENSE))),
    "transform": ("X", lambda m: FEATURES.transform(m(DENSE))),
    "feature_map_": ("X", lambda m: FEATURES.feature_map_(m(DENSE))),
    "Nystroem y": (
        "y",
        lambda m: Nystroem(8, landmarks="margin").fit(DENSE, m(LABELS)),
    ),
    "CompactMap y": ("y", lambda m: CompactMap(8).fit(DENSE, m(LABELS))),
    "classifier X": ("X", lambda m: KernelClassifier(16).fit(m(DENSE), LABELS)),
    "classifier y": ("y", lambda m: KernelClassifier(16).fit(DENSE, m(LABELS))),
    "classifier weight": (
        "sample_weight",
        lambda m: KernelClassifier(16).fit(DENSE, LABELS, m(ONES)),
    ),
    "regressor y": ("y", lambda m: KernelRegressor(16).fit(DENSE, m(NUMBERS))),
    "predict": ("X", lambda m: CLASSIFIER.predict(m(DENSE))),
    "score y": ("y", lambda m: CLASSIFIER.score(DENSE, m(LABELS))),
    "score weight": (
        "sample_weight",
        lambda m: CLASSIFIER.score(DENSE, LABELS, m(ONES)),
    ),
    "blocks X": ("X", lambda m: list(blocks(m(DENSE)))),
    "blocks target": ("target", lambda m: list(blocks(DENSE, target=m(LABELS)))),
    "blocks weight": ("weight", lambda m: list(blocks(DENSE, weight=m(ONES)))),
    "list of blocks": (
        "y",
        lambda m: KernelClassifier(16).fit(blocks([(DENSE, m(LABELS))])),
    ),
    "kernel": ("X", lambda m: kernels.Gaussian(1.0)(m(DENSE))),
    "kernel Y": ("Y", lambda m: kernels.Gaussian(1.0)(DENSE, m(DENSE))),
    "kernel_error": ("X", lambda m: metrics.kernel_error(FEATURES, m(DENSE))),
    "equal_codes": (
        "codes",
        lambda m: metrics.equal_codes(m(np.zeros((3, 4), dtype=int))),
    ),
    "compare": ("X", lambda m: compare(m(DENSE), LABELS)),
    "recommend": ("y", lambda m: recommend(DENSE, m(LABELS))),
}


@pytest.mark.parametrize(("name", "call"), MASKED.values(), ids=MASKED)
def test_masked_entries_are_refused(name, call):
    words = rf"\b{name} is a masked array with 3 masked entries of .*{name}.filled"
    with pytest.raises(ValueError, match=words):
        call(masked)


def test_a_masked_array_without_masked_entries_is_an_array():
    whole = np.ma.MaskedArray(DENSE), np.ma.MaskedArray(LABELS)
    features = RandomFeatures(16, random_state=0)
    model = KernelClassifier(features, alpha=1.0).fit(*whole)
    plain = KernelClassifier(features, alpha=1.0).fit(DENSE, LABELS)
    assert_array_equal(model.predict(whole[0]), plain.predict(DENSE))
    assert type(model.predict(whole[0])) is np.ndarray


@pytest.mark.parametrize("loss", ["hinge", "log", "squared"])
@pytest.mark.filterwarnings("ignore")
def test_features_that_overflow_are_refused_with_a_way_out(loss):
    huge = (1e37 * DENSE).astype(np.float32)
    features = Nystroem(10, gamma=1.0, random_state=0)
    with pytest.raises(ValueError, match=r"beyond the range of .*scale X first"):
        KernelClassifier(features, loss=loss).fit(huge, LABELS)
    with pytest.raises(ValueError, match=r"beyond the range of .*scale X first"):
        KernelClassifier(RandomProjection(4), loss="squared").fit(1e200 * DENSE, LABELS)


@pytest.mark.filterwarnings("ignore")
def test_targets_do_not_hide_features_that_overflow():
    huge = (1e37 * DENSE).astype(np.float32)
    with pytest.raises(ValueError, match="scale X first"):
        KernelRegressor(Nystroem(10, gamma=1.0)).fit(huge, NUMBERS)


def many_classes(n_classes):
    """Two rows of each."""
    X = np.random.default_rng(0).normal(size=(2 * n_classes, 2))
    return X, np.repeat(np.arange(n_classes), 2)


@pytest.mark.parametrize("features", [64, RandomFeatures(64), "rff"])
def test_too_many_classes_are_refused_before_any_work(features, monkeypatch):
    """10⁵ classes would take 48.8 GiB for the codes of one chunk of rows alone."""
    monkeypatch.setattr("bochner.learners.preparation.machine_bytes", lambda: 16 << 30)
    monkeypatch.setattr(KernelClassifier, "_fitted_map", no_work)
    X, y = many_classes(100_000)
    words = r"y has 100,000 classes, which take at least .* GiB .*machine has 16.0 GiB"
    with pytest.raises(ValueError, match=words + r".*Group rare classes"):
        KernelClassifier(features).fit(X, y)


def no_work(*given):
    raise AssertionError("the map is fitted before the memory is checked")


def test_the_memory_of_classes_is_within_the_budget():
    X, y = many_classes(3000)
    small = KernelClassifier(64, memory="100 MiB")
    with pytest.raises(ValueError, match=r"3,000 classes, .*memory='100 MiB' allows"):
        small.fit(X, y)
    with pytest.raises(ValueError, match=r"3,000 classes, .*memory='100 MiB' allows"):
        small.partial_fit(X, y, classes=np.unique(y))
    few = KernelClassifier(RandomFeatures(16), loss="squared", memory="100 MiB")
    assert len(few.fit(X, y % 30).classes_) == 30
