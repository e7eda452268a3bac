"""A graph of ONNX operators that is built by calling them."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._version import __version__
from ..execution.memory import readable

OPSET = 18
"""Operators of ONNX 1.13 and later; onnxruntime knows them since 1.14."""

IR_VERSION = 8
"""The format of the file that belongs to them."""

ML, ML_OPSET = "ai.onnx.ml", 3
"""Where LabelEncoder is: named in a file only where it is used."""

INPUT = "X"

LARGEST = (1 << 31) - (1 << 20)
"""Bytes of arrays in a file: a protocol buffer has 2 GiB, of which operators take
some."""


class Graph:
    """Operators and constants in one floating type, applied to rows X.

    Parameters
    ----------
    dtype : float32 or float64
    n_features : int
        Columns of X; the number of its rows stays open. There is no X where `column`
        was called.
    """

    def __init__(self, dtype: Any, n_features: int) -> None:
        import onnx

        self._onnx = onnx
        self.dtype = np.dtype(dtype)
        self._n_features = n_features
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._names: dict[Any, str] = {}
        self._columns: dict[str, Any] = {}
        self._n_bytes = 0

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """The name of an operator's output; inputs are such names, or arrays."""
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        output = self._free(f"{operator}_{len(self._nodes)}")
        node = self._onnx.helper.make_node(operator, names, [output], **attributes)
        self._nodes.append(node)
        return output

    def column(self, name: str, dtype: Any) -> str:
        """One more input, (n, 1), of the name of a table's column."""
        if not name:
            raise ValueError(
                "onnx.export: a column is called '', which no input can be; rename "
                "it, and fit again."
            )
        self._columns[name] = dtype
        return name

    def _free(self, name: str) -> str:
        """A name that no column has."""
        while name in self._columns:
            name += "_"
        return name

    def looked_up(self, X: str, values: dict[str, int], default: int) -> str:
        """Whole numbers for text."""
        keys, found = list(values), list(values.values())
        more = {"keys_strings": keys, "values_int64s": found, "default_int64": default}
        return self("LabelEncoder", X, domain=ML, **more)

    def constant(self, value: Any) -> str:
        """An array as it is, floats in the graph's type; each is stored once."""
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(self.dtype)
        return self.exact(array)

    def exact(self, value: Any) -> str:
        """An array in its own type."""
        array = np.ascontiguousarray(value).reshape(np.shape(value))
        plain = array.dtype != object
        content = array.tobytes() if plain else repr(array.tolist()).encode()
        found = hashlib.sha256(content)
        key = (array.dtype.str, array.shape, found.digest())
        if key not in self._names:
            self._count(array)
            name = self._free(f"constant_{len(self._constants)}")
            stored = self._onnx.numpy_helper.from_array(array, name)
            self._constants.append(stored)
            self._names[key] = name
        return self._names[key]

    def _count(self, array: np.ndarray) -> None:
        """Refuse what no file could hold before it is made."""
        self._n_bytes += array.nbytes
        if self._n_bytes > LARGEST:
            raise ValueError(
                f"onnx.export: the model's arrays take {readable(self._n_bytes)} and "
                "more, and a file of ONNX holds 2 GiB; use dtype='float32', a "
                "structured map (methods.sorf) or fewer components."
            )

    def scaled(self, X: str, factor: float, n_columns: int) -> str:
        """Columns times one number.

        It is written out for all columns: onnxruntime fuses a single one with the next
        product, where it is rounded to float32.
        """
        return self("Mul", X, np.full(n_columns, factor))

    def reshape(self, X: str, *shape: int) -> str:
        """Another shape: 0 keeps a dimension, −1 is what is left."""
        return self("Reshape", X, np.array(shape, dtype=np.int64))

    def first(self, X: str, n_columns: int) -> str:
        """The first columns."""
        start, end, axis = (np.array([i], dtype=np.int64) for i in (0, n_columns, 1))
        return self("Slice", X, start, end, axis)

    @contextlib.contextmanager
    def computing_in(self, dtype: Any) -> Iterator[None]:
        """Constants in another floating type meanwhile."""
        own, self.dtype = self.dtype, np.dtype(dtype)
        try:
            yield
        finally:
            self.dtype = own

    def cast(self, X: str, dtype: Any) -> str:
        return self("Cast", X, to=self._code(dtype))

    def model(self, outputs: dict[str, tuple[str, Any, list[Any]]], **told: str) -> Any:
        """The ONNX model with outputs by name: (tensor, type, shape) each.

        `told` is kept as metadata.
        """
        helper = self._onnx.helper
        results = []
        for name, (tensor, dtype, shape) in outputs.items():
            self._check_output(name)
            self._nodes.append(helper.make_node("Identity", [tensor], [name]))
            results.append(self._info(name, dtype, shape))
        graph = helper.make_graph(
            self._nodes, "bochner", self._inputs(), results, self._constants
        )
        model = helper.make_model(
            graph,
            opset_imports=self._opsets(),
            ir_version=IR_VERSION,
            producer_name="bochner",
            producer_version=__version__,
        )
        helper.set_model_props(model, told)
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _inputs(self) -> list[Any]:
        if not self._columns:
            return [self._info(INPUT, self.dtype, ["n", self._n_features])]
        pairs = self._columns.items()
        return [self._info(name, dtype, ["n", 1]) for name, dtype in pairs]

    def _opsets(self) -> list[Any]:
        used = {node.domain for node in self._nodes}
        versions = {"": OPSET} | ({ML: ML_OPSET} if ML in used else {})
        return [self._onnx.helper.make_opsetid(*pair) for pair in versions.items()]

    def _check_output(self, name: str) -> None:
        if name in self._columns:
            raise ValueError(
                f"onnx.export: the column {name!r} is called like an output of the "
                "graph, and names must differ; rename it, and fit again."
            )

    def _info(self, name: str, dtype: Any, shape: list[Any]) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, self._code(dtype), shape)

    def _code(self, dtype: Any) -> int:
        if dtype is str:
            return self._onnx.TensorProto.STRING
        return self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
