"""Compiled: asking for memory before it is needed. It changes nothing but speed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload


def fetch(values: Any, place: Any) -> None:
    """Ask for what is at a place of an array, which must not be negative, without waiting for it to come."""


@intrinsic
def _fetch(_: Any, values: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        word, address = ir.IntType(32), cgutils.voidptr_t
        kind = ir.FunctionType(ir.VoidType(), [address, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch")
        where = builder.bitcast(builder.gep(array.data, [arguments[1]]), address)
        # to be read (0), into the second cache of three (2), data (1)
        builder.call(function, [where, word(0), word(2), word(1)])
        return context.get_dummy_value()

    return types.void(values, types.uint64), generate


@overload(fetch)
def _compiled_fetch(values: Any, place: Any) -> Any:
    def ask(values: Any, place: Any) -> None:
        _fetch(values, place)  # type: ignore[call-arg]

    return ask
