"""A vector type of eight numbers for Numba, and transposition of eight rows.

Butterflies read and write several rows of one array. The loop vectoriser must assume
that these rows overlap; explicit vectors avoid the problem. The operations are `load`,
`store`, `splat`, `fma`, `transpose`, and `+ − *` of vectors.

`to_lanes` transposes eight rows of data into lanes: T[8j : 8j + 8] of a flat buffer
holds coordinate j of the eight rows, so that an operation on one row becomes a vector
operation on eight rows. `from_lanes` transposes the result back.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from .._core._compiled import compiled

LANES = 8
INDEX = ir.IntType(32)


class Vector(types.Type):
    """LANES numbers of one floating type."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Vector({dtype})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, vector):
        element = manager.lookup(vector.dtype).get_value_type()
        super().__init__(manager, vector, ir.VectorType(element, LANES))


@intrinsic
def load(typingctx, array, i):
    """The vector array[i : i + LANES] of a flat array."""

    def generate(context, builder, signature, args):
        pointer, bytes_ = _address(context, builder, signature, args)
        value = builder.load(pointer)
        value.align = bytes_
        return value

    return Vector(array.dtype)(array, types.intp), generate


@intrinsic
def store(typingctx, array, i, vector):
    """array[i : i + LANES] = vector."""

    def generate(context, builder, signature, args):
        pointer, bytes_ = _address(context, builder, signature, args)
        builder.store(args[2], pointer).align = bytes_
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


def _address(context, builder, signature, args):
    """Pointer to a vector inside an array, and the alignment of its elements."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    element = context.get_value_type(signature.args[0].dtype)
    pointer = builder.gep(array.data, [args[1]])
    vector = ir.VectorType(element, LANES).as_pointer()
    return builder.bitcast(pointer, vector), context.get_abi_alignment(element)


@intrinsic
def splat(typingctx, number):
    """The vector whose entries are all `number`."""

    def generate(context, builder, signature, args):
        empty = ir.Constant(ir.VectorType(args[0].type, LANES), ir.Undefined)
        first = builder.insert_element(empty, args[0], ir.Constant(INDEX, 0))
        return _shuffle(builder, first, empty, [0] * LANES)

    return Vector(number)(number), generate


@intrinsic
def fma(typingctx, a, b, c):
    """a·b + c, rounded once."""

    def generate(context, builder, signature, args):
        vector = args[0].type
        name = f"llvm.fma.v{LANES}{vector.element.intrinsic_name}"
        kind = ir.FunctionType(vector, [vector] * 3)
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(function, args)

    return a(a, a, a), generate


@intrinsic
def transpose(typingctx, a, b, c, d, e, f, g, h):
    """The eight columns of the square matrix with the given eight rows."""

    def generate(context, builder, signature, args):
        rows = list(args)
        for half in (1, 2, 4):
            # Swap the off-diagonal quarters of every square of side 2·half.
            upper = [k if not k & half else LANES + (k ^ half) for k in range(LANES)]
            lower = [k | half if not k & half else LANES + k for k in range(LANES)]
            for i in range(LANES):
                if not i & half:
                    pair = rows[i], rows[i | half]
                    rows[i] = _shuffle(builder, *pair, upper)
                    rows[i | half] = _shuffle(builder, *pair, lower)
        return context.make_tuple(builder, signature.return_type, rows)

    return types.UniTuple(a, LANES)(*[a] * LANES), generate


def _shuffle(builder, a, b, chosen):
    mask = ir.Constant(ir.VectorType(INDEX, len(chosen)), chosen)
    return builder.shuffle_vector(a, b, mask)


def _arithmetic(symbol, instruction):
    @intrinsic
    def compute(typingctx, a, b):
        def generate(context, builder, signature, args):
            return getattr(builder, instruction)(*args)

        return a(a, a), generate

    @overload(symbol)
    def between_vectors(a, b):
        if isinstance(a, Vector) and isinstance(b, Vector):
            return lambda a, b: compute(a, b)


for _symbol, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
):
    _arithmetic(_symbol, _instruction)


@compiled()
def to_lanes(X, T):
    """Transpose up to eight rows of X into T."""
    rows, d = X.shape
    full = d - d % LANES if rows == LANES else 0
    if full:
        x0, x1, x2, x3, x4, x5, x6, x7 = X[0], X[1], X[2], X[3], X[4], X[5], X[6], X[7]
        for j in range(0, full, LANES):
            low = load(x0, j), load(x1, j), load(x2, j), load(x3, j)
            high = load(x4, j), load(x5, j), load(x6, j), load(x7, j)
            columns = transpose(*low, *high)
            for k in range(LANES):
                store(T, LANES * (j + k), columns[k])
    for v in range(rows):
        for j in range(full, d):
            T[LANES * j + v] = X[v, j]


@compiled()
def from_lanes(T, scale, Z):
    """Z = (scale ∘ T)ᵀ for up to eight rows of Z."""
    rows, n = Z.shape
    full = n - n % LANES if rows == LANES else 0
    if full:
        z0, z1, z2, z3, z4, z5, z6, z7 = Z[0], Z[1], Z[2], Z[3], Z[4], Z[5], Z[6], Z[7]
        for j in range(0, full, LANES):
            i = LANES * j
            low = load(T, i), load(T, i + 8), load(T, i + 16), load(T, i + 24)
            high = load(T, i + 32), load(T, i + 40), load(T, i + 48), load(T, i + 56)
            r = transpose(*low, *high)
            s = load(scale, j)
            store(z0, j, s * r[0])
            store(z1, j, s * r[1])
            store(z2, j, s * r[2])
            store(z3, j, s * r[3])
            store(z4, j, s * r[4])
            store(z5, j, s * r[5])
            store(z6, j, s * r[6])
            store(z7, j, s * r[7])
    for v in range(rows):
        for j in range(full, n):
            Z[v, j] = scale[j] * T[LANES * j + v]
