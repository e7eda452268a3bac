"""Changes of a model file's meaning, by number: the same number, the same file."""

from __future__ import annotations

import copy
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

import bochner
import zoo
from bochner import KernelClassifier, KernelPCA, KernelRegressor, Nystroem, methods
from bochner.export.archive import DIGEST, DOCUMENT, TAG
from forging import npy, seal

WORDS = np.array([["a", "x"], ["b", "y"], ["c", "x"], ["a", "z"]] * 15, dtype=object)
CODES = np.array([[0.0, 3], [1, 4], [2, np.nan], [0, 5]] * 15)
NUMBERS = (-1, 0, 1, 2, 3, 5, 7, 100, 2**20, 2 * 10**8, 2**31 - 1, 2**31, 2**40, 2**63)
STRANGE: tuple[Any, ...] = (
    None,
    True,
    "x",
    "",
    0.5,
    -1e300,
    [],
    {},
    {"float": "nan"},
    {"tuple": []},
)
KEYS = (
    *("_n_features_outs", "_default_to_infrequent_mappings", "_infrequent_indices"),
    *("_infrequent_enabled", "_drop_idx_after_grouping", "categories_", "drop_idx_"),
    *(
        "n_features_in_",
        "scale_",
        "mean_",
        "features_",
        "_missing_indices",
        "transform",
    ),
    *("statistics_", "_fit_dtype", "quantiles_", "feature_map_", "_columns", "n_jobs"),
)
DTYPES = ("f8", "f4", "f2", "i8", "i4", "i1", "u8", "?", "U3", "M8[D]", "c16", ">f8")

LONGEST = 1 << 22
"""Letters that a repeated part of the document may come to."""

Place = tuple[Any, Any]
"""A list or object of the document, and an index or key of it."""


def _numbers() -> np.ndarray:
    return zoo.rows("dense-float64")


def _steps() -> dict[str, Any]:
    """Steps of scikit-learn by themselves, and before a learner."""
    X, y = _numbers(), zoo.labels()
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    columns = ColumnTransformer(
        [("one", OneHotEncoder(), [0]), ("two", OrdinalEncoder(), [1])]
    )
    rare = OneHotEncoder(
        max_categories=2, drop="first", handle_unknown="infrequent_if_exist"
    )
    ignoring = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    ordinal = OrdinalEncoder(max_categories=2)
    scaled = make_pipeline(
        SimpleImputer(add_indicator=True), StandardScaler(), methods.rff(6)
    )
    learner = KernelClassifier(methods.rff(6, random_state=0), alpha=1.0)
    scalers = (MaxAbsScaler(), MinMaxScaler(), RobustScaler(), PowerTransformer())
    return {
        "words-onehot": OneHotEncoder().fit(WORDS),
        "words-rare": rare.fit(WORDS),
        "codes-onehot": ignoring.fit(CODES),
        "codes-ordinal": ordinal.fit(CODES),
        "words-target": TargetEncoder().fit(WORDS, y[:60]),
        "words-columns": make_pipeline(columns, learner).fit(WORDS, y[:60]),
        "gaps-scaled": scaled.fit(gaps),
        "gaps-missing": MissingIndicator().fit(gaps),
        "rows-scalers": make_pipeline(*scalers).fit(X),
        "rows-quantiles": QuantileTransformer(n_quantiles=9).fit(X),
    }


def _models() -> dict[str, Any]:
    X, y = _numbers(), zoo.labels()
    maps = {**zoo.every_method(), **zoo.every_map(), **zoo.every_estimator()}
    left: tuple[str, ...] = (
        "giga",
        "frank_wolfe",
        "jl",
        "qmc",
        "one",
        "sign",
        "nystroem_quadratic",
    )
    left += ("matern", "wide_phases", "nystroem_matern", "many_blocks", "compact")
    found = {f"rows-{k}": zoo.fitted(v, X) for k, v in maps.items() if k not in left}
    rows = sparse.csr_matrix(X)
    for kernel in ("laplacian", "gaussian"):
        model = Nystroem(9, kernel=kernel, random_state=0).fit(rows)
        landmarks = sparse.csr_matrix(model.feature_map_.columns.landmarks)
        columns = replace(model.feature_map_.columns, landmarks=landmarks)
        model.feature_map_ = replace(model.feature_map_, columns=columns)
        found[f"csr-{kernel}"] = model  # as of landmarks too many to write out
    rff = methods.rff(6, random_state=0)
    classes = {"classes": [0, 1]}
    found |= {
        "rows-stream": KernelClassifier(rff, loss="log").partial_fit(X, y, **classes),
        "rows-sums": KernelRegressor(rff).partial_fit(X, zoo.numbers()),
        "rows-moments": KernelPCA(2, features=rff).partial_fit(X),
    }
    return found


def write_sources(folder: Path) -> None:
    """Every model as a file, and those that can be as seeds."""
    folder.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in {**_models(), **_steps()}.items():
            bochner.save(model, folder / f"{name}.bochner")
            if name.startswith("rows-"):
                seeds = folder / f"{name}+seeds.bochner"
                bochner.save(model, seeds, seeds=True)
                if seeds.read_bytes() == (folder / f"{name}.bochner").read_bytes():
                    seeds.unlink()


def probes(name: str, model: Any) -> list[Any]:
    """Rows for a model: those of its kind, and others of the width that it asks for."""
    kind = name.partition("-")[0]
    if kind in ("words", "codes"):
        return [(WORDS if kind == "words" else CODES)[:4]]
    X = _numbers()[:5]
    width = getattr(model, "n_features_in_", None)
    if isinstance(width, int) and 0 < width < 10**5 and width != X.shape[1]:
        X = np.ones((3, width))
    return [X, X.astype(np.float32), sparse.csr_matrix(X)]


def used(model: Any, name: str) -> None:
    """All that a model can do with rows; the first error is raised at the end."""
    first = None
    calls = ("transform", "predict_proba", "predict", "decision_function", "learn")
    for X in probes(name, model):
        for call in calls:
            try:
                if call == "learn":
                    _learn(model, X)
                elif hasattr(model, call):
                    getattr(model, call)(X)
            except (MemoryError, SystemError):
                raise
            except Exception as error:
                if first is None or str(error) == "index is out of bounds":
                    first = error
    if first is not None:
        raise first


def _learn(model: Any, X: Any) -> None:
    if isinstance(model, KernelRegressor):
        model.predict(X, return_std=True)
    if isinstance(model, KernelClassifier | KernelRegressor | KernelPCA):
        model.partial_fit(X, np.arange(X.shape[0]) % 2)


class Forgery:
    """Forged files of sources in a folder.

    Parameters
    ----------
    folder : path
        As `write_sources` leaves it.
    """

    def __init__(self, folder: Path) -> None:
        self._sources = {path.stem: _read(path) for path in sorted(folder.iterdir())}
        self.changes: list[str] = []

    def write(self, path: Path, seed: int, case: int) -> str:
        """Write the file of a case; returns the name of its source."""
        rng = np.random.default_rng([seed, case])
        name = str(rng.choice(list(self._sources)))
        document, arrays = copy.deepcopy(self._sources[name])
        self.changes = []
        for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
            change = CHANGES[int(rng.integers(len(CHANGES)))]
            told = change(rng, document, arrays, self._sources)
            self.changes.append(f"{change.__name__}: {told}")
        _write(path, document, arrays)
        return name


def _read(path: Path) -> tuple[Any, dict[str, np.ndarray]]:
    with zipfile.ZipFile(path) as file:
        document = json.loads(file.read(DOCUMENT))
        names = [n for n in file.namelist() if n != DOCUMENT]
        arrays = {n[:-4]: np.load(io.BytesIO(file.read(n))) for n in names}
    return document, arrays


def _write(path: Path, document: Any, arrays: dict[str, np.ndarray]) -> None:
    text = json.dumps(document)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(DOCUMENT, text)
        for name, array in arrays.items():
            if f'"{name}"' in text:  # what no one mentions would be refused
                file.writestr(f"{name}.npy", npy(array))
        file.comment = TAG + b"0" * DIGEST
    seal(path)


def _places(node: Any) -> Iterator[Place]:
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(pairs):
        yield node, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _some(rng: Any, document: Any, wanted: Callable[[Any], bool]) -> Place | None:
    """A place of the model that holds what is wanted."""
    model = document["model"]
    places = _places(model) if isinstance(model, dict | list) else ()
    found = [(n, k) for n, k in places if wanted(n[k])]
    return found[int(rng.integers(len(found)))] if found else None


def _is_array(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"array"}


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("state"), dict)


def _alias(rng: Any, document: Any, arrays: Any, sources: Any) -> str:
    """One array in the place of another, or all parts of a CSR matrix one array."""
    place = _some(rng, document, _is_array)
    csr = _some(rng, document, lambda v: isinstance(v, dict) and "csr" in v)
    if csr is not None and rng.random() < 0.5:
        parts = csr[0][csr[1]]["csr"]
        i, j = rng.integers(3, size=2)
        parts[i] = parts[j]
        return f"{parts}"
    if place is None:
        return "nothing"
    place[0][place[1]] = {"array": str(rng.choice(list(arrays)))}
    return f"{place[1]} is {place[0][place[1]]}"


def _reshape(rng: Any, document: Any, arrays: Any, sources: Any) -> str:
    """An array of another shape."""
    if not arrays:
        return "nothing"
    name = str(rng.choice(list(arrays)))
    A = arrays[name]
    other: list[Callable[[], np.ndarray]] = [
        lambda: A.T,
        lambda: A.ravel(),
        lambda: A[:-1],
        lambda: A[:0],
        lambda: A[..., :0],
        lambda: np.concatenate([A, A]),
        lambda: np.repeat(A, 7, axis=-1),
        lambda: A[None],
        lambda: A[..., None],
        lambda: A.ravel()[:1].reshape((1,) * A.ndim),
        lambda: np.resize(A, (4096,) + (1,) * max(0, A.ndim - 1)),
        lambda: np.resize(A, (1,) * max(0, A.ndim - 1) + (5000,)),
        lambda: np.zeros((0, 2**40), A.dtype),
        lambda: np.zeros((2**20, 0), A.dtype),
        lambda: np.asfortranarray(A),
        lambda: A[::-1],
    ]
    changed = other[int(rng.integers(len(other)))]
    if A.size and A.ndim:
        arrays[name] = changed()
    return f"{name} {A.shape} is {arrays[name].shape}"


def _revalue(rng: Any, document: Any, arrays: Any, sources: Any) -> str:
    """An array with other numbers, some of them far outside."""
    if not arrays:
        return "nothing"
    name = str(rng.choice(list(arrays)))
    A = arrays[name].copy()
    if A.size and A.dtype.kind in "iuf":
        some = rng.random(A.shape) < rng.choice([0.02, 0.3, 1.0])
        some.flat[int(rng.integers(A.size))] = True
        with np.errstate(all="ignore"):
            values = [*NUMBERS, A.size, A.size - 1, *A.shape, np.nan, np.inf, 1e300]
            value = values[int(rng.integers(len(values)))]
            A[some] = np.float64(value).astype(A.dtype)
        arrays[name] = A
        return f"{name} has {value}"
    return "nothing"


def _retype(rng: Any, document: Any, arrays: Any, sources: Any) -> str:
    if not arrays:
        return "nothing"
    name = str(rng.choice(list(arrays)))
    dtype = str(rng.choice(DTYPES))
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        try:
            arrays[name] = arrays[name].astype(dtype)
        except (TypeError, ValueError):
            return "nothing"
    return f"{name} is {dtype}"


def _recount(rng: Any, document: Any, arrays: Any, sources: Any) -> str:
    """Another number in the document."""
    place = _some(rng, document, lambda v: type(v) is int)
    if place is None:
        return "nothing"
    node, key = place
    near = [node[key] + 1, node[key] - 1, 2 * node[key], 1000 * node[key]]
    values = [*NUMBERS, *near]
    node[key] = values[int(rng.integers(len(values)))]
    return f"{key} is {node[key]}"


def _replace(rng: Any, document: Any, arrays: Any, sources: Any) -> str:
    """Something strange in any place."""
    place = _some(rng, document, lambda v: True)
    if place is None:
        return "nothing"
    node, key = place
    values = [*STRANGE, *NUMBERS, {"array": next(iter(arrays), "x")}]
    node[key] = copy.deepcopy(values[int(rng.integers(len(values)))])
    return f"{key} is {node[key]}"


def _transplant(rng: Any, document: Any, arrays: Any, sources: Any) -> str:
    """A part of another model, with its arrays, in the place of a part."""
    place = _some(rng, document, _is_object if rng.random() < 0.7 else lambda v: True)
    other, others = sources[str(rng.choice(list(sources)))]
    given: Any = _some(rng, other, _is_object if rng.random() < 0.7 else lambda v: True)
    if place is None or given is None:
        return "nothing"
    given = [copy.deepcopy(given[0][given[1]])]
    for node, key in list(_places(given)):
        if _is_array(node[key]) and node[key]["array"] in others:
            name = f"other.{node[key]['array']}"
            arrays[name] = others[node[key]["array"]]
            node[key] = {"array": name}
    place[0][place[1]] = given[0]
    return f"{place[1]} is {str(given[0])[:80]}"


def _repeat(rng: Any, document: Any, arrays: Any, sources: Any) -> str:
    """A list with items left out, or there many times."""
    place = _some(rng, document, lambda v: isinstance(v, list) and len(v) > 0)
    if place is None:
        return "nothing"
    node, key = place
    i = int(rng.integers(len(node[key])))
    most = LONGEST // len(json.dumps(node[key][i]))
    times = min(most, int(rng.choice([0, 2, 3, 50, 5000])))
    node[key] = node[key][:i] + node[key][i : i + 1] * times + node[key][i + 1 :]
    return f"item {i} of {key} is there {times} times"


def _rename(rng: Any, document: Any, arrays: Any, sources: Any) -> str:
    """An attribute under another name, or away, or one more."""
    if not _is_object(document["model"]):
        return "nothing"
    inner = _some(rng, document, lambda v: _is_object(v) and v["state"])
    owner = document["model"] if inner is None else inner[0][inner[1]]
    state = owner["state"]
    if not state:
        return "nothing"
    keys = list(state)
    old, new = str(rng.choice(keys)), str(rng.choice([*KEYS, *keys]))
    how = int(rng.integers(3))
    if how == 0:
        del state[old]
    else:
        state[new] = copy.deepcopy(state[old]) if how == 1 else state.pop(old)
    return f"{old} {('goes', 'is also', 'is now')[how]} {new if how else ''}"


def _wrap(rng: Any, document: Any, arrays: Any, sources: Any) -> str:
    """A linear map inside others."""
    maps = ("Matrix", "HadamardChain", "SingleEntry", "Stack", "Compose")
    place = _some(
        rng,
        document,
        lambda v: _is_object(v) and v.get("kind") in [f"maps.{n}" for n in maps],
    )
    if place is None:
        return "nothing"
    node, key = place
    inner = node[key]
    arrays |= {"w.ones": np.ones(20), "w.zero": np.zeros((16, 0)), "w.at": np.arange(9)}
    arrays |= {"w.none": np.zeros((0, 2**20)), "w.out": np.zeros(16, np.int32)}
    arrays |= {"w.sixteen": np.ones(16)}
    entry = {"outputs": {"array": "w.out"}, "values": {"array": "w.sixteen"}}
    n_out = int(rng.choice([16, 2**20, 2 * 10**8, 2**40]))
    single = {"kind": "maps.SingleEntry", "state": entry | {"n_out": n_out}}
    matrix = lambda name: {  # noqa: E731
        "kind": "maps.Matrix",
        "state": {"transposed": {"array": name}},
    }
    compose = lambda outer, inner: {  # noqa: E731
        "kind": "maps.Compose",
        "state": {"outer": outer, "inner": inner},
    }
    times = int(rng.choice([1, 2, 300, 5000]))
    wrapped = [
        {"kind": "maps.Stack", "state": {"maps": {"tuple": [inner] * times}}},
        compose(single, inner),
        compose(matrix("w.none"), compose(matrix("w.zero"), inner)),
        {"kind": "maps.Rows", "state": {"linear": inner, "kept": {"array": "w.at"}}},
        {"kind": "maps.Scale", "state": {"factors": {"array": "w.ones"}}},
        single,
    ]
    node[key] = wrapped[int(rng.integers(len(wrapped)))]
    return f"{key} is {str(node[key])[:120]}"


def _bomb(rng: Any, document: Any, arrays: Any, sources: Any) -> str:
    """Many small values."""
    place = _some(rng, document, lambda v: True)
    if place is None:
        return "nothing"
    items: tuple[Any, ...] = (
        [],
        0,
        "ab",
        {},
        {"float": "nan"},
        {"tuple": []},
        {"number": 1, "of": "x"},
    )
    item = items[int(rng.integers(len(items)))]
    times = int(rng.choice([1000, 30_000, 200_000]))
    place[0][place[1]] = [copy.copy(item) for _ in range(times)]
    return f"{place[1]} is {times} times {item}"


CHANGES = (
    *(_alias, _alias, _reshape, _reshape, _revalue, _revalue, _retype, _recount),
    *(_recount, _replace, _transplant, _transplant, _repeat, _rename, _rename, _wrap),
    _bomb,
)
