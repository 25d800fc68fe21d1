"""Machine code of loops, as numba compiles it (see `machine_code`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numba import typeof


class NoMachineCode(Exception):
    """Code that cannot be kept."""


def compile_loop(function: Any, arguments: Sequence[Any]) -> tuple[dict[str, str], bytes]:
    """The machine code of a loop for arguments like these: its name and what it returns, and the code.

    Code that refers to something outside of itself, which in the next process would be elsewhere or nowhere, is none
    that could be kept. Of numba, this takes parts that no version promises.
    """
    kinds = tuple(map(typeof, arguments))
    function.compile(kinds)
    compiled = function.overloads[kinds]
    try:
        named = [f.name for f in compiled.library._final_module.functions if f.is_declaration]
        code: bytes = compiled.library.serialize_using_object_code()[2][0]
        head = {"symbol": compiled.fndesc.llvm_cfunc_wrapper_name, "returns": str(compiled.signature.return_type)}
    except (AttributeError, LookupError, TypeError) as problem:
        raise NoMachineCode(f"numba does not give the code of {function.__name__}: {problem}") from problem
    if outside := [name for name in named if not name.startswith("llvm.")]:
        raise NoMachineCode(f"the loop {function.__name__} refers to {', '.join(outside)}")
    return head, code
