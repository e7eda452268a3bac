"""Eight numbers at a time, for compiled kernels: a vector type for Numba.

Butterflies read and write several rows of one array, which the loop vectoriser has to
suspect of overlapping; written with explicit vectors they need no proof. `load`,
`store`, `splat`, `fma`, `transpose`, and `+ − *` of vectors are all there is.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

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
    """Eight rows of a square to its eight columns."""

    def generate(context, builder, signature, args):
        rows = list(args)
        for half in (1, 2, 4):
            # swap the off-diagonal halves of every square of side 2·half
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
