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
| NumPy number | `{"number": …, "of": "float32"}` |
| NumPy dtype | `{"dtype": "<f4"}` |
| scalar type | `{"type": "float64"}` |
| `RandomState` | `{"random_state": [key, position, …]}` |
| object | `{"kind": name, "state": {…}}`, see `kinds` |
"""

from __future__ import annotations

import math
import os
from collections import UserList
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from . import draws
from .archive import PLAIN, Archive, FileError
from .checks import expect, refused
from .kinds import KINDS, NAMES, PREPROCESSING

CSR = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
SCALARS = {
    name: getattr(np, name)
    for name in (
        *("float16", "float32", "float64", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64"),
    )
}
TYPES = {**SCALARS, "bool_": np.bool_, "object_": np.object_, "str_": np.str_}
BUILT_IN = {"bool": bool, "int": int, "float": float, "str": str, "object": object}


class Encoder:
    """Values to nodes; arrays are collected by name.

    Parameters
    ----------
    seeds : bool
        Store the seeds of maps that can be drawn again instead of their arrays.
    """

    def __init__(self, seeds: bool) -> None:
        self._seeds = seeds
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[int, str] = {}

    def node(self, value: Any, path: str) -> Any:
        """A value at a dotted path, by which arrays and errors are named."""
        if isinstance(value, float) and type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, UserList):  # of scikit-learn: looking into it may warn
            return self._items(value.data, path)
        if isinstance(value, list):
            return self._items(value, path)
        if isinstance(value, tuple):
            return {"tuple": self._items(value, path)}
        if isinstance(value, dict):
            pairs = value.items()
            return {"dict": [self._pair(k, v, path) for k, v in pairs]}
        if isinstance(value, np.ndarray) or sparse.issparse(value):
            return self._array(value, path)
        if type(value) in NAMES:
            return self._object(value, path)
        return self._rare(value, path)

    def _items(self, values: Any, path: str) -> list[Any]:
        return [self.node(v, _joined(path, i)) for i, v in enumerate(values)]

    def _pair(self, key: Any, value: Any, path: str) -> list[Any]:
        return [self.node(key, path), self.node(value, _joined(path, key))]

    def _array(self, value: Any, path: str) -> Any:
        if sparse.issparse(value):
            name = type(value).__name__
            if name not in CSR:
                raise unstorable(path, f"a {name}; make it CSR")
            parts = ("data", "indices", "indptr")
            nodes = [self._array(getattr(value, p), _joined(path, p)) for p in parts]
            shape = [int(n) for n in value.shape]
            return {"csr": nodes, "shape": shape, "class": name}
        if value.dtype == object:
            flat = [self.node(v, path) for v in value.ravel().tolist()]
            return {"objects": flat, "shape": list(value.shape)}
        if value.dtype.kind not in PLAIN:
            raise unstorable(path, f"an array of type {value.dtype}")
        if id(value) not in self._names:
            name = path or "array"
            while name in self.arrays:
                name += "_"
            self._names[id(value)], self.arrays[name] = name, value
        return {"array": self._names[id(value)]}

    def _object(self, value: Any, path: str) -> Any:
        name = NAMES[type(value)]
        if name == "sklearn.FunctionTransformer" and value.func is not None:
            raise unstorable(path, f"a FunctionTransformer of {value.func!r}")
        stored = KINDS[name].stored(value)
        drawn = draws.drawn(name, value) if self._seeds else None
        if drawn is not None:
            stored.pop(drawn.attribute)
        state = {k: self.node(v, _joined(path, k)) for k, v in stored.items()}
        node = {"kind": name, "state": state}
        if drawn is not None:
            seen = self.node(drawn.seen, _joined(path, "seen"))
            node["drawn"] = {
                "bytes": drawn.n_bytes,
                "dtype": drawn.dtype.name,
                "seen": seen,
            }
        return node

    def _rare(self, value: Any, path: str) -> Any:
        if isinstance(value, np.generic) and type(value).__name__ in SCALARS:
            number = self.node(value.item(), path)
            return {"number": number, "of": type(value).__name__}
        if isinstance(value, np.bool_):
            return {"number": bool(value), "of": "bool_"}
        if isinstance(value, np.str_):
            return str(value)
        if isinstance(value, np.dtype) and value.kind in PLAIN + "O":
            return {"dtype": value.str}
        if isinstance(value, type) and value in TYPES.values():
            return {"type": value.__name__}
        if isinstance(value, type) and value in BUILT_IN.values():
            return {"type": value.__name__}
        if isinstance(value, slice):
            return {"slice": [value.start, value.stop, value.step]}
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, np.random.RandomState):
            _, key, *rest = value.get_state(legacy=True)
            return {"random_state": [self.node(key, _joined(path, "key")), *rest]}
        raise unstorable(path, _told(value))


class Decoder:
    """Nodes to values, of what is known and nothing else."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def value(self, node: Any) -> Any:
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.value(item) for item in node]
        tags = node.keys() & self._TAGGED.keys()
        expect(len(tags) == 1, f"a value with the tags {sorted(node)} is not known")
        return self._TAGGED[tags.pop()](self, node)

    def _float(self, node: Any) -> float:
        expect(node["float"] in ("nan", "inf", "-inf"), "a number is not one")
        return float(node["float"])

    def _tuple(self, node: Any) -> tuple[Any, ...]:
        return tuple(self.value(node["tuple"]))

    def _dict(self, node: Any) -> dict[Any, Any]:
        return {self.value(key): self.value(v) for key, v in node["dict"]}

    def _slice(self, node: Any) -> slice:
        return slice(*self.value(node["slice"]))

    def _array(self, node: Any) -> np.ndarray:
        return self._archive.array(node["array"])

    def _objects(self, node: Any) -> np.ndarray:
        values = self.value(node["objects"])
        expect(
            math.prod(node["shape"]) == len(values), "objects do not fit their shape"
        )
        flat = np.empty(len(values), dtype=object)
        flat[:] = values
        return flat.reshape(node["shape"])

    def _csr(self, node: Any) -> Any:
        data, indices, indptr = self.value(node["csr"])
        n, m = node["shape"]
        _check_csr(data, indices, indptr, n, m)
        made = CSR[node["class"]]
        return made((data, indices, indptr), shape=(n, m), copy=False)

    def _number(self, node: Any) -> Any:
        return TYPES[node["of"]](self.value(node["number"]))

    def _dtype(self, node: Any) -> np.dtype:
        dtype = np.dtype(str(node["dtype"]))
        expect(
            dtype.kind in PLAIN + "O" and dtype.fields is None, "a type is not plain"
        )
        return dtype

    def _type(self, node: Any) -> type:
        return (BUILT_IN | TYPES)[node["type"]]

    def _random_state(self, node: Any) -> np.random.RandomState:
        state = np.random.RandomState()
        state.set_state(("MT19937", *self.value(node["random_state"])))
        return state

    def _object(self, node: Any) -> Any:
        name = node["kind"]
        if name not in KINDS:
            raise refused(f"{name!r} is nothing that this version knows")
        stored = {key: self.value(value) for key, value in node["state"].items()}
        if "drawn" in node:
            told = {key: self.value(value) for key, value in node["drawn"].items()}
            stored = draws.with_drawn(KINDS[name], name, stored, told)
        return KINDS[name].make(stored)

    _TAGGED: ClassVar = {
        "float": _float,
        "tuple": _tuple,
        "dict": _dict,
        "slice": _slice,
        "array": _array,
        "objects": _objects,
        "csr": _csr,
        "number": _number,
        "dtype": _dtype,
        "type": _type,
        "random_state": _random_state,
        "kind": _object,
    }


def _check_csr(data: Any, indices: Any, indptr: Any, n: int, m: int) -> None:
    for part in (data, indices, indptr):
        expect(isinstance(part, np.ndarray) and part.ndim == 1, "CSR parts are missing")
    for part in (indices, indptr):
        expect(part.dtype in (np.int32, np.int64), "CSR places are not whole numbers")
    expect(len(indptr) == n + 1, "CSR rows do not fit their shape")
    expect(len(indices) == len(data) == indptr[-1], "CSR parts do not fit each other")
    expect(indptr[0] == 0 and (np.diff(indptr) >= 0).all(), "CSR rows are not in order")
    inside = not indices.size or (indices.min() >= 0 and indices.max() < m)
    expect(inside, "CSR places are outside their shape")


def _joined(path: str, name: Any) -> str:
    """A path one step further; names that no file could have become a mark."""
    word = str(name) if str(name).isidentifier() or isinstance(name, int) else "item"
    return f"{path}.{word}" if path else word


def _told(value: Any) -> str:
    name = getattr(value, "__qualname__", None)
    if callable(value) and name:
        return f"the function {name!r}"
    return f"a {type(value).__name__} of {type(value).__module__.split('.')[0]}"


def unstorable(path: str, what: str) -> TypeError:
    steps = ", ".join(name.removeprefix("sklearn.") for name in PREPROCESSING)
    return TypeError(
        f"save: {path or 'the model'} is {what}, which a file without pickles cannot "
        "hold. Files hold bochner's maps and estimators with kernels of "
        f"bochner.kernels, and of scikit-learn: {steps}."
    )


__all__ = ["Decoder", "Encoder", "FileError", "unstorable"]
