"""Values as JSON: what is plain stays plain, the rest is an object with one tag.

| value | JSON |
|---|---|
| None, bool, int, str, finite float, list | itself |
| other float | `{"float": "nan"}` |
| tuple | `{"tuple": […]}` |
| dict | `{"dict": [[key, value], …]}` |
| slice | `{"slice": [start, stop, step]}` |
| array | `{"array": name}`, in the entry `name.npy` |
| array of objects | `{"objects": […], "shape": […]}` |
| CSR matrix | `{"csr": [data, indices, indptr], "shape": […], "class": …}` |
| NumPy number | `{"number": …, "of": "numpy.float32"}` |
| NumPy dtype | `{"dtype": "<f4"}` |
| scalar type | `{"type": "numpy.float64"}` |
| `RandomState` | `{"random_state": [key, position, …]}` |
| object | `{"kind": name, "state": {…}}`, see `kinds` |
"""

from __future__ import annotations

import math
import os
import re
from collections import UserList
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from . import draws
from .archive import PLAIN, Allowance, Archive
from .checks import check_csr, check_random_state, expect, refused
from .kinds import KINDS, NAMES, PREPROCESSING
from .later_fits import charge_later_fit

CSR = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
NUMBERS = (
    *(np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64),
    *(np.uint8, np.uint16, np.uint32, np.uint64, np.bool_),
)
TYPES = (
    *(*NUMBERS, np.object_, np.str_, np.number, np.integer, np.floating, np.generic),
    *(bool, int, float, str, object),
)
TYPE_NAMES = {made: f"{made.__module__}.{made.__name__}" for made in TYPES}
NAMED_TYPES = {name: made for made, name in TYPE_NAMES.items()}
TEXT_BYTES = 1 << 20
"""Longest text that a type may stand for: arrays of it take that much for each cell."""

WAY_OUT = "Take one of these in its place."
PLAIN_VALUES = (type(None), bool, int, float, str)


class Encoder:
    """Values to nodes; arrays are collected by name.

    Parameters
    ----------
    seeds : bool
        Store the seeds of maps that can be drawn again instead of their arrays.
    """

    def __init__(self, seeds: bool) -> None:
        self._seeds = seeds
        self._steps: list[str] = []
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[int, str] = {}

    def model(self, model: Any) -> Any:
        """The node of a whole model."""
        self._steps = [_joined("", name) for name, _ in getattr(model, "steps", ())]
        return self.node(model, "")

    def _unstorable(self, path: str, what: str, way_out: str = "") -> TypeError:
        return unstorable(path, what, way_out or self._way_out(path))

    def _way_out(self, path: str) -> str:
        """What a user can do about the part at a path that is refused."""
        first, _, rest = path.partition(".")
        name = rest.partition(".")[0]
        if first != "steps" or name not in self._steps:
            return WAY_OUT
        place, last = self._steps.index(name), len(self._steps) - 1
        if place < last:
            return (
                "Take one of these in its place, or apply it to the rows yourself and "
                f"save the steps behind it: save(model[{place + 1}:], …)."
            )
        before = f", or save the steps before it: save(model[:{place}], …)"
        more = before if place else ""
        return f"Learn with KernelClassifier or KernelRegressor in its place{more}."

    def node(self, value: Any, path: str) -> Any:
        """A value at a dotted path, by which arrays and errors are named."""
        if type(value) is float and not math.isfinite(value):
            return {"float": repr(value)}
        if type(value) in PLAIN_VALUES:
            return value
        if isinstance(value, UserList):  # of scikit-learn: looking into it may warn
            value = value.data
        if isinstance(value, list):
            return self._items(value, path)
        if isinstance(value, tuple):
            step = [self.node(v, path) for v in value] if _is_step(value) else None
            return {"tuple": step or self._items(value, path)}
        if isinstance(value, dict):
            pairs = value.items()
            return {"dict": [self._pair(k, v, path) for k, v in pairs]}
        if isinstance(value, np.ndarray) or sparse.issparse(value):
            return self._array(value, path)
        if type(value) in NAMES:
            return self._object(value, path)
        return self._rare(value, path)

    def _items(self, values: Any, path: str) -> list[Any]:
        names = [v[0] if _is_step(v) else i for i, v in enumerate(values)]
        pairs = zip(names, values, strict=True)
        return [self.node(v, _joined(path, name)) for name, v in pairs]

    def _pair(self, key: Any, value: Any, path: str) -> list[Any]:
        return [self.node(key, path), self.node(value, _joined(path, key))]

    def _array(self, value: Any, path: str) -> Any:
        if sparse.issparse(value):
            return self._csr(value, path)
        if value.dtype == object:
            flat = [self.node(v, path) for v in value.ravel().tolist()]
            return {"objects": flat, "shape": list(value.shape)}
        masked = isinstance(value, np.ma.MaskedArray)
        if masked or value.dtype.kind not in PLAIN or not value.dtype.itemsize:
            what = f"a {type(value).__name__} of type {value.dtype}"
            raise self._unstorable(path, what)
        if id(value) not in self._names:
            name = path or "array"
            while name in self.arrays:
                name += "_"
            self._names[id(value)], self.arrays[name] = name, value
        return {"array": self._names[id(value)]}

    def _csr(self, value: Any, path: str) -> Any:
        name = type(value).__name__
        if name not in CSR:
            raise self._unstorable(path, f"a {name}", "Make it CSR.")
        parts = ("data", "indices", "indptr")
        if not type(value)(value, copy=False).has_canonical_format:
            value = value.copy()
            value.sum_duplicates()
        nodes = [self._array(getattr(value, p), _joined(path, p)) for p in parts]
        return {"csr": nodes, "shape": [int(n) for n in value.shape], "class": name}

    def _object(self, value: Any, path: str) -> Any:
        name = NAMES[type(value)]
        if name == "sklearn.FunctionTransformer" and value.func is not None:
            what = f"a FunctionTransformer that calls {value.func!r}"
            raise self._unstorable(path, what)
        stored = KINDS[name].stored(value)
        drawn = draws.drawn(name, value) if self._seeds else None
        if drawn is not None:
            stored.pop(drawn.attribute)
        state = {k: self.node(v, _joined(path, k)) for k, v in stored.items()}
        if drawn is None:
            return {"kind": name, "state": state}
        told = {"bytes": drawn.n_bytes, "dtype": drawn.dtype.name}
        told["seen"] = self.node(drawn.seen, _joined(path, "seen"))
        return {"kind": name, "state": state, "drawn": told}

    def _rare(self, value: Any, path: str) -> Any:
        if type(value) in NUMBERS:
            number = self.node(value.item(), path)
            return {"number": number, "of": TYPE_NAMES[type(value)]}
        if isinstance(value, np.str_):
            return str(value)
        if isinstance(value, np.dtype) and value.kind in PLAIN + "O":
            return {"dtype": value.str}
        if isinstance(value, type) and value in TYPE_NAMES:
            return {"type": TYPE_NAMES[value]}
        if isinstance(value, slice):
            return {"slice": self._items((value.start, value.stop, value.step), path)}
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, np.random.RandomState):
            _, key, *rest = value.get_state(legacy=True)
            key = self.node(key, _joined(path, "key"))
            return {"random_state": [key, *self._items(rest, path)]}
        if type(value).__module__.startswith("pandas") and hasattr(value, "tolist"):
            return self._items(value.tolist(), path)  # an Index of column names
        raise self._unstorable(path, _told(value))


class Decoder:
    """Nodes to values, of what is known and nothing else.

    Parameters
    ----------
    archive : Archive
    allowance : Allowance, optional
        What maps that are drawn from seeds may take.
    """

    def __init__(self, archive: Archive, allowance: Allowance | None = None) -> None:
        self._archive = archive
        self._allowance = Allowance() if allowance is None else allowance

    def value(self, node: Any) -> Any:
        if type(node) in PLAIN_VALUES:
            return node
        if isinstance(node, list):
            return [self.value(item) for item in node]
        for tag, (beside, read) in self._TAGGED.items():
            if tag in node:
                keys = node.keys() - {"drawn"} if tag == "kind" else node.keys()
                expect(keys == {tag, *beside}, f"{sorted(node)} do not go together")
                return read(self, node)
        raise refused(f"a value with the tags {sorted(node)} is not known")

    def _float(self, node: Any) -> float:
        expect(node["float"] in ("nan", "inf", "-inf"), "a number is not one")
        return float(node["float"])

    def _list(self, node: Any) -> list[Any]:
        expect(isinstance(node, list), "a list is missing")
        return self.value(node)

    def _tuple(self, node: Any) -> tuple[Any, ...]:
        return tuple(self._list(node["tuple"]))

    def _dict(self, node: Any) -> dict[Any, Any]:
        pairs: Any = self._list(node["dict"])
        return dict(pairs)

    def _slice(self, node: Any) -> slice:
        return slice(*self._list(node["slice"]))

    def _array(self, node: Any) -> np.ndarray:
        expect(isinstance(node["array"], str), "the name of an array is missing")
        return self._archive.array(node["array"])

    def _objects(self, node: Any) -> np.ndarray:
        values, shape = self._list(node["objects"]), self._list(node["shape"])
        counts = all(type(n) is int and 0 <= n <= len(values) for n in shape)
        fits = counts and math.prod(shape) == len(values)
        expect(fits, "objects do not fit their shape")
        flat = np.empty(len(values), dtype=object)
        for place, value in enumerate(values):  # a list of lists stays a list
            flat[place] = value
        return flat.reshape(shape)

    def _csr(self, node: Any) -> Any:
        data, indices, indptr = self._list(node["csr"])
        n, m = node["shape"]
        check_csr(data, indices, indptr, n, m)
        made = CSR[node["class"]]
        # copied: SciPy and scikit-learn sort such parts in place
        matrix = made((data, indices, indptr), shape=(n, m), copy=True)
        matrix.sort_indices()  # earlier versions stored rows in any order
        expect(matrix.has_canonical_format, "CSR places are there twice")
        return matrix

    def _number(self, node: Any) -> Any:
        number = self.value(node["number"])
        expect(type(number) in (bool, int, float), "a number is not one")
        made: Any = NAMED_TYPES[node["of"]]
        expect(made in NUMBERS, f"{node['of']!r} is not a type of numbers")
        return made(number)

    def _dtype(self, node: Any) -> np.dtype:
        dtype = np.dtype(str(node["dtype"]))
        expect(dtype.kind in PLAIN + "O", "a type is not plain")
        fits = dtype.itemsize <= TEXT_BYTES
        expect(fits, f"a type takes {dtype.itemsize} bytes for each value")
        return dtype

    def _type(self, node: Any) -> type:
        return NAMED_TYPES[node["type"]]

    def _random_state(self, node: Any) -> np.random.RandomState:
        parts = self._list(node["random_state"])
        expect(len(parts) == 4, "a random state is not one")
        check_random_state(*parts)
        state = np.random.RandomState()
        state.set_state(("MT19937", *parts))
        return state

    def _object(self, node: Any) -> Any:
        name, state = node["kind"], node["state"]
        if not isinstance(name, str) or name not in KINDS:
            raise refused(f"{name!r} is nothing that this version knows")
        expect(isinstance(state, dict), f"the state of {name} is missing")
        stored = {key: self.value(value) for key, value in state.items()}
        if "drawn" in node:
            told = {key: self.value(value) for key, value in node["drawn"].items()}
            expect(told.keys() == {"bytes", "dtype", "seen"}, "a seed is not told")
            stored = draws.with_drawn(KINDS[name], name, stored, told, self._allowance)
        made = KINDS[name].make(stored)
        charge_later_fit(made, self._allowance)
        return made

    _TAGGED: ClassVar = {
        "float": ((), _float),
        "tuple": ((), _tuple),
        "dict": ((), _dict),
        "slice": ((), _slice),
        "array": ((), _array),
        "objects": (("shape",), _objects),
        "csr": (("shape", "class"), _csr),
        "number": (("of",), _number),
        "dtype": ((), _dtype),
        "type": ((), _type),
        "random_state": ((), _random_state),
        "kind": (("state",), _object),
    }
    """What stands beside a tag, and how it is read."""


def _is_step(value: Any) -> bool:
    """Whether it is (name, estimator, …), as in Pipeline and ColumnTransformer."""
    named = isinstance(value, tuple) and len(value) > 1 and isinstance(value[0], str)
    return named and isinstance(value[1], BaseEstimator)


def _joined(path: str, name: Any) -> str:
    """A path one step further; names that no file could have become a mark."""
    word = str(name) if re.fullmatch(r"\w[\w-]*", str(name), re.ASCII) else "item"
    return f"{path}.{word}" if path else word


def _told(value: Any) -> str:
    name = getattr(value, "__qualname__", None)
    if isinstance(value, type):
        return f"the type {name!r}"
    if callable(value) and name:
        return f"the function {name!r}"
    module = type(value).__module__.split(".")[0]
    return f"of the type {type(value).__name__} ({module})"


def unstorable(path: str, what: str, way_out: str = "") -> TypeError:
    steps = ", ".join(name.removeprefix("sklearn.") for name in PREPROCESSING)
    return TypeError(
        f"save: {path or 'the model'} is {what}, which a file without pickles cannot "
        "hold. Files hold bochner's maps and estimators with kernels of "
        "bochner.kernels, and in Pipelines before them, of scikit-learn: "
        f"{steps}. {way_out or WAY_OUT}"
    )
