"""The operations that every part is written with, once.

A part (a linear map, a nonlinearity, a kernel's columns, a transformer, a learner)
says what it computes in `forward(ops, X)`, in the words of `Ops`. Who runs it decides
what X and the result are:

- `ArrayOps()` computes with NumPy: the reference that compiled code is tested against;
- `ArrayOps(xp)` computes with any array-API namespace, on the device of its arrays;
- `onnx.graph.Graph` writes operators of an ONNX graph, and X is a tensor's name.

Names and meanings are those of the Python array API standard where it has them. An
operand is a tensor of the namespace, a NumPy array or a number; the last two are
constants of the part.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

Tensor = Any
"""What a namespace computes with: an array, or the name of one in a graph."""


class Unsupported(TypeError):
    """A part, or a step of others, that a namespace has no operations for."""


class Ops:
    """A namespace of operations in one floating type.

    Subclasses implement `constant`, `_call` and what is not an operator of one name.

    Parameters
    ----------
    dtype : float32 or float64
        The type of the constants of parts.
    """

    def __init__(self, dtype: Any = np.float64) -> None:
        self.dtype = np.dtype(dtype)

    def constant(self, value: Any) -> Tensor:
        """An array of a part; floating ones in the namespace's type."""
        raise NotImplementedError

    def _call(self, name: str, *operands: Any, **options: Any) -> Tensor:
        """An operation by its name in the array API standard."""
        raise NotImplementedError

    @contextlib.contextmanager
    def computing_in(self, dtype: Any) -> Iterator[None]:
        """Constants in another floating type inside the `with` block."""
        outside, self.dtype = self.dtype, np.dtype(dtype)
        try:
            yield
        finally:
            self.dtype = outside

    # one operation, entry by entry
    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return self._call("add", x, y)

    def subtract(self, x: Tensor, y: Tensor) -> Tensor:
        return self._call("subtract", x, y)

    def multiply(self, x: Tensor, y: Tensor) -> Tensor:
        return self._call("multiply", x, y)

    def divide(self, x: Tensor, y: Tensor) -> Tensor:
        return self._call("divide", x, y)

    def pow(self, x: Tensor, y: Tensor) -> Tensor:
        return self._call("pow", x, y)

    def negative(self, x: Tensor) -> Tensor:
        return self._call("negative", x)

    def exp(self, x: Tensor) -> Tensor:
        return self._call("exp", x)

    def log(self, x: Tensor) -> Tensor:
        return self._call("log", x)

    def sqrt(self, x: Tensor) -> Tensor:
        return self._call("sqrt", x)

    def cos(self, x: Tensor) -> Tensor:
        return self._call("cos", x)

    def sin(self, x: Tensor) -> Tensor:
        return self._call("sin", x)

    def round(self, x: Tensor) -> Tensor:
        """The nearest whole number, of two the even one."""
        return self._call("round", x)

    def maximum(self, x: Tensor, y: Tensor) -> Tensor:
        return self._call("maximum", x, y)

    def minimum(self, x: Tensor, y: Tensor) -> Tensor:
        return self._call("minimum", x, y)

    def greater(self, x: Tensor, y: Tensor) -> Tensor:
        return self._call("greater", x, y)

    def greater_equal(self, x: Tensor, y: Tensor) -> Tensor:
        return self._call("greater_equal", x, y)

    def equal(self, x: Tensor, y: Tensor) -> Tensor:
        return self._call("equal", x, y)

    def isnan(self, x: Tensor) -> Tensor:
        return self._call("isnan", x)

    def where(self, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return self._call("where", condition, x, y)

    def floor_divide(self, x: Tensor, y: int) -> Tensor:
        """⌊x/y⌋ of whole numbers x ≥ 0, or of multiples of y."""
        return self._call("floor_divide", x, np.int64(y))

    def remainder(self, x: Tensor, y: int) -> Tensor:
        """x − y⌊x/y⌋ of whole numbers, which is not negative."""
        return self._call("remainder", x, np.int64(y))

    # several entries at a time
    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        return self._call("matmul", x, y)

    def largest(self, tensors: Sequence[Tensor]) -> Tensor:
        """The largest of several tensors, entry by entry."""
        result = tensors[0]
        for tensor in tensors[1:]:
            result = self.maximum(result, tensor)
        return result

    def scale(self, X: Tensor, factor: float, n_columns: int) -> Tensor:
        """All n_columns columns times one number."""
        return self.multiply(X, float(factor))

    def sum_squares(self, X: Tensor) -> Tensor:
        """‖x‖² along the last axis, which stays with length 1."""
        raise NotImplementedError

    def sum_absolute(self, X: Tensor) -> Tensor:
        """‖x‖₁ along the last axis, which goes."""
        raise NotImplementedError

    def argmax(self, X: Tensor, axis: int) -> Tensor:
        """The place of the largest entry along an axis, the first of equal ones."""
        raise NotImplementedError

    def softmax(self, X: Tensor) -> Tensor:
        """exp(x)/Σ exp(x) along the last axis."""
        raise NotImplementedError

    def sigmoid(self, X: Tensor) -> Tensor:
        """1/(1 + exp(−x))."""
        raise NotImplementedError

    # shapes
    def take(self, X: Tensor, places: np.ndarray, axis: int = 1) -> Tensor:
        """Entries at constant places along an axis."""
        raise NotImplementedError

    def look_up(self, table: np.ndarray, places: Tensor) -> Tensor:
        """Rows of a constant table at computed places."""
        raise NotImplementedError

    def first_columns(self, X: Tensor, n_columns: int) -> Tensor:
        raise NotImplementedError

    def pad_columns(self, X: Tensor, n_columns: int) -> Tensor:
        """X with n_columns columns of zeros appended."""
        raise NotImplementedError

    def concat(self, tensors: Sequence[Tensor], axis: int = 1) -> Tensor:
        raise NotImplementedError

    def reshape(self, X: Tensor, *shape: int) -> Tensor:
        """Another shape: 0 keeps a dimension, −1 is what is left."""
        raise NotImplementedError

    def expand_dims(self, X: Tensor, axis: int) -> Tensor:
        raise NotImplementedError

    def transpose(self, X: Tensor) -> Tensor:
        """Xᵀ of a matrix."""
        raise NotImplementedError

    def cast(self, X: Tensor, dtype: Any) -> Tensor:
        raise NotImplementedError

    # labels and text
    def labels(self, names: np.ndarray, places: Tensor) -> Tensor:
        """Names of classes at computed places.

        Class numbers instead of text where a namespace has no text.
        """
        raise NotImplementedError

    def codes_of_text(self, X: Tensor, codes: Mapping[str, int], other: int) -> Tensor:
        """Whole numbers for text; `other` where a text has no code."""
        raise NotImplementedError

    def text_where(self, condition: Tensor, text: str, X: Tensor) -> Tensor:
        """One text where a condition holds, X elsewhere."""
        raise NotImplementedError


class ArrayOps(Ops):
    """Operations on arrays of one namespace, NumPy's by default.

    Parameters
    ----------
    xp : module
        A namespace of the Python array API standard.
    dtype : float32 or float64

    Examples
    --------
    >>> from bochner import methods
    >>> from bochner._core.ops import ArrayOps
    >>> features = methods.sorf(8, random_state=0).fit([[0.0, 1.0]])
    >>> F = features.forward(ArrayOps(), [[1.0, 2.0]])
    >>> bool(abs(F - features.transform([[1.0, 2.0]])).max() < 1e-12)
    True
    """

    def __init__(self, xp: Any = np, dtype: Any = np.float64) -> None:
        super().__init__(dtype)
        self._xp = xp

    def constant(self, value: Any) -> Tensor:
        if hasattr(value, "__array_namespace__") and not isinstance(value, np.ndarray):
            return value
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(self.dtype, copy=False)
        # other namespaces take no views that cannot be written
        return array if self._xp is np else self._xp.asarray(array.copy())

    def _call(self, name: str, *operands: Any, **options: Any) -> Tensor:
        return getattr(self._xp, name)(*map(self.constant, operands), **options)

    def sum_squares(self, X: Tensor) -> Tensor:
        return self._xp.sum(self.multiply(X, X), axis=-1, keepdims=True)

    def sum_absolute(self, X: Tensor) -> Tensor:
        return self._xp.sum(self._xp.abs(X), axis=-1)

    def argmax(self, X: Tensor, axis: int) -> Tensor:
        return self._xp.argmax(X, axis=axis)

    def softmax(self, X: Tensor) -> Tensor:
        powers = self._xp.exp(X - self._xp.max(X, axis=-1, keepdims=True))
        return powers / self._xp.sum(powers, axis=-1, keepdims=True)

    def sigmoid(self, X: Tensor) -> Tensor:
        # tanh does not overflow
        return self.multiply(self.add(self._xp.tanh(self.multiply(X, 0.5)), 1.0), 0.5)

    def take(self, X: Tensor, places: np.ndarray, axis: int = 1) -> Tensor:
        return self._call("take", X, np.asarray(places, dtype=np.int64), axis=axis)

    def look_up(self, table: np.ndarray, places: Tensor) -> Tensor:
        flat = self._xp.reshape(places, (-1,))
        return self._xp.take(self.constant(table), flat, axis=0)

    def first_columns(self, X: Tensor, n_columns: int) -> Tensor:
        return self.constant(X)[:, :n_columns]

    def pad_columns(self, X: Tensor, n_columns: int) -> Tensor:
        X = self.constant(X)
        zeros = self._xp.zeros((X.shape[0], n_columns), dtype=X.dtype)
        return self.concat([X, zeros])

    def concat(self, tensors: Sequence[Tensor], axis: int = 1) -> Tensor:
        return self._xp.concat([self.constant(one) for one in tensors], axis=axis)

    def reshape(self, X: Tensor, *shape: int) -> Tensor:
        X = self.constant(X)
        sizes = [X.shape[i] if size == 0 else size for i, size in enumerate(shape)]
        return self._xp.reshape(X, tuple(sizes))

    def expand_dims(self, X: Tensor, axis: int) -> Tensor:
        return self._xp.expand_dims(self.constant(X), axis=axis)

    def transpose(self, X: Tensor) -> Tensor:
        return self._xp.permute_dims(self.constant(X), (1, 0))

    def cast(self, X: Tensor, dtype: Any) -> Tensor:
        name = np.dtype(dtype).name
        own = np.dtype(dtype) if self._xp is np else getattr(self._xp, name)
        X = X if hasattr(X, "dtype") else self.constant(X)
        return self._xp.astype(X, own)

    def labels(self, names: np.ndarray, places: Tensor) -> Tensor:
        if self._xp is np:
            return names[places]
        is_number = names.dtype.kind in "biuf"
        return self._xp.take(self._xp.asarray(names), places) if is_number else places

    def codes_of_text(self, X: Tensor, codes: Mapping[str, int], other: int) -> Tensor:
        self._check_text()
        flat = [codes.get(text, other) for text in X.ravel().tolist()]
        return np.array(flat, dtype=np.int64).reshape(X.shape)

    def text_where(self, condition: Tensor, text: str, X: Tensor) -> Tensor:
        self._check_text()
        return np.where(condition, text, X)

    def _check_text(self) -> None:
        if self._xp is not np:
            raise Unsupported(
                f"Text has no arrays in {self._xp.__name__}; compute with NumPy, or "
                "transform columns of text first (model[0].transform)."
            )
