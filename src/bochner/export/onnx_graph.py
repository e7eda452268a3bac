"""A namespace of operations that writes an ONNX graph instead of computing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._core.memory import readable
from .._core.ops import Ops
from .._core.version import __version__

OPSET = 18
"""Operators of ONNX 1.13 and later; onnxruntime has them since 1.14."""

IR_VERSION = 8
"""The version of the file format that belongs to these operators."""

ML, ML_OPSET = "ai.onnx.ml", 3
"""The domain of LabelEncoder: named in a file only where it is used."""

INPUT = "X"

LARGEST = (1 << 31) - (1 << 20)
"""Bytes of arrays in a file: a protocol buffer has 2 GiB, of which operators take
some."""

OPERATORS = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "pow": "Pow",
    "negative": "Neg",
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "cos": "Cos",
    "sin": "Sin",
    "round": "Round",
    "maximum": "Max",
    "minimum": "Min",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "equal": "Equal",
    "isnan": "IsNaN",
    "where": "Where",
    "matmul": "MatMul",
    "floor_divide": "Div",  # cuts off towards zero; Mod does not
    "remainder": "Mod",
}
"""ONNX's names for operations of the array API standard."""


class Graph(Ops):
    """Operators and constants in one floating type, applied to rows X.

    A tensor is the name of an operator's output.

    Parameters
    ----------
    dtype : float32 or float64
    n_features : int
        Columns of X; the number of its rows stays open. There is no X where `column`
        was called.
    """

    def __init__(self, dtype: Any, n_features: int) -> None:
        import onnx

        super().__init__(dtype)
        self._onnx = onnx
        self._n_features = n_features
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._names: dict[Any, str] = {}
        self._columns: dict[str, Any] = {}
        self._n_bytes = 0

    def _write(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Append an operator; inputs are tensors, or arrays."""
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        output = self._free(f"{operator}_{len(self._nodes)}")
        node = self._onnx.helper.make_node(operator, names, [output], **attributes)
        self._nodes.append(node)
        return output

    def _call(self, name: str, *operands: Any, **options: Any) -> str:
        return self._write(OPERATORS[name], *operands, **options)

    def column(self, name: str, dtype: Any) -> str:
        """One more input, (n, 1), with the name of a table's column."""
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

    def constant(self, value: Any) -> str:
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(self.dtype)
        return self._exact(array)

    def _exact(self, value: Any) -> str:
        """An array in its own type; equal ones are stored once."""
        array = np.ascontiguousarray(value).reshape(np.shape(value))
        plain = array.dtype != object
        content = array.tobytes() if plain else repr(array.tolist()).encode()
        key = (array.dtype.str, array.shape, hashlib.sha256(content).digest())
        if key not in self._names:
            self._count(array)
            name = self._free(f"constant_{len(self._constants)}")
            stored = self._onnx.numpy_helper.from_array(array, name)
            self._constants.append(stored)
            self._names[key] = name
        return self._names[key]

    def _count(self, array: np.ndarray) -> None:
        """Refuse arrays that no file could hold before they are stored."""
        self._n_bytes += array.nbytes
        if self._n_bytes > LARGEST:
            raise ValueError(
                f"onnx.export: the model's arrays take {readable(self._n_bytes)} and "
                "more, and a file of ONNX holds 2 GiB; use dtype='float32', a "
                "structured map (methods.sorf) or fewer components."
            )

    def cos(self, x: Any) -> str:
        # earlier versions of onnxruntime have no cosine of float64, but a sine
        if self.dtype == np.float32:
            return self._write("Cos", x)
        return self.sin(self.add(x, np.pi / 2))

    def largest(self, tensors: Sequence[Any]) -> Any:
        return self._write("Max", *tensors) if len(tensors) > 1 else tensors[0]

    def scale(self, X: Any, factor: float, n_columns: int) -> str:
        # written out for all columns: onnxruntime fuses a single number with the next
        # product, where it is rounded to float32
        return self.multiply(X, np.full(n_columns, factor))

    def sum_squares(self, X: Any) -> str:
        # ReduceL2 of float64 is rounded to float32 in earlier versions of onnxruntime
        return self._write("ReduceSumSquare", X, np.array([-1]), keepdims=1)

    def sum_absolute(self, X: Any) -> str:
        return self._write("ReduceL1", X, np.array([-1]), keepdims=0)

    def argmax(self, X: Any, axis: int) -> str:
        return self._write("ArgMax", X, axis=axis, keepdims=0)

    def softmax(self, X: Any) -> str:
        return self._write("Softmax", X, axis=-1)

    def sigmoid(self, X: Any) -> str:
        return self._write("Sigmoid", X)

    def take(self, X: Any, places: np.ndarray, axis: int = 1) -> str:
        return self._write("Gather", X, np.asarray(places, dtype=np.int64), axis=axis)

    def look_up(self, table: np.ndarray, places: Any) -> str:
        rows = self._write("Gather", table, places, axis=0)
        return self.reshape(rows, -1, table.shape[1])

    def first_columns(self, X: Any, n_columns: int) -> str:
        start, end, axis = (np.array([i], dtype=np.int64) for i in (0, n_columns, 1))
        return self._write("Slice", X, start, end, axis)

    def pad_columns(self, X: Any, n_columns: int) -> str:
        return self._write("Pad", X, np.array([0, 0, 0, n_columns], dtype=np.int64))

    def concat(self, tensors: Sequence[Any], axis: int = 1) -> str:
        return self._write("Concat", *tensors, axis=axis)

    def reshape(self, X: Any, *shape: int) -> str:
        return self._write("Reshape", X, np.array(shape, dtype=np.int64))

    def expand_dims(self, X: Any, axis: int) -> str:
        return self._write("Unsqueeze", X, np.array([axis]))

    def transpose(self, X: Any) -> str:
        return self._write("Transpose", X, perm=[1, 0])

    def cast(self, X: Any, dtype: Any) -> str:
        return self._write("Cast", X, to=self._code(dtype))

    def labels(self, names: np.ndarray, places: Any) -> str:
        return self._write("Gather", self._exact(_label_names(names)), places, axis=0)

    def codes_of_text(self, X: Any, codes: Mapping[str, int], other: int) -> str:
        return self._write(
            "LabelEncoder",
            X,
            domain=ML,
            keys_strings=list(codes),
            values_int64s=list(codes.values()),
            default_int64=other,
        )

    def text_where(self, condition: Any, text: str, X: Any) -> str:
        fill = self._exact(np.array([[text]], dtype=object))
        return self._write("Where", condition, fill, X)

    def model(self, outputs: Mapping[str, str], **metadata: str) -> Any:
        """The ONNX model with tensors as outputs by name, and metadata in the file."""
        helper = self._onnx.helper
        for name, tensor in outputs.items():
            self._check_output(name)
            self._nodes.append(helper.make_node("Identity", [tensor], [name]))
        results = [helper.make_empty_tensor_value_info(name) for name in outputs]
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
        helper.set_model_props(model, metadata)
        self._infer_outputs(model)
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _infer_outputs(self, model: Any) -> None:
        """Types and shapes of outputs, whose first dimension is the rows."""
        inferred = self._onnx.shape_inference.infer_shapes(model)
        for output, known in zip(
            model.graph.output, inferred.graph.output, strict=True
        ):
            output.CopyFrom(known)
            output.type.tensor_type.shape.dim[0].Clear()
            output.type.tensor_type.shape.dim[0].dim_param = "n"

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


def _label_names(names: np.ndarray) -> np.ndarray:
    """Labels in a type of ONNX: whole numbers, floats, truth values or text."""
    if names.dtype.kind in "iu" and names.max() <= np.iinfo(np.int64).max:
        return names.astype(np.int64)
    if names.dtype.kind in "fb":
        return names
    if all(isinstance(name, str) for name in names.tolist()):
        return names.astype(object)
    raise TypeError(
        "onnx.export: labels must be numbers (of at most 64 bits with their sign) or "
        f"text; got {names!r}."
    )
