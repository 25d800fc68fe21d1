"""Compiled loops as machine code, called without numba: to import numba takes longer than many an evaluation.

numba compiles a loop (a function of `loops`) when it is called for the first time with arguments of some kinds, and the
machine code is kept on disk (see `extract_code`). From then on, in any process, llvmlite puts that code into memory in
a few milliseconds, and it is called like a function of C.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from trueval.kernels.cache_folder import cache_folder
from trueval.kernels.sealed_files import read_sealed, say_compiling, source_stamp, write_sealed

RETURNS: dict[str, Any] = {"none": None, "int64": ctypes.c_int64, "float64": ctypes.c_double}
_SCALARS = {
    "int32": ctypes.c_int32, "int64": ctypes.c_int64, "uint64": ctypes.c_uint64, "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}  # fmt: skip
_lock = Lock()


class Kernel:
    """A loop, by module and name; called with arrays and numbers. Truth values count as numbers."""

    def __init__(self, loops: str, name: str) -> None:
        self.loops, self.name = loops, name
        self._forms: dict[tuple[str, ...], Callable[..., Any]] = {}

    def __call__(self, *given: Any) -> Any:
        arguments = [int(value) if isinstance(value, (bool, np.bool_)) else value for value in given]
        kinds = tuple(map(kind_of, arguments))
        form = self._forms.get(kinds)
        if form is None:
            with _lock:
                form = self._forms[kinds] = self._forms.get(kinds) or self._find(kinds, arguments)
        return form(*arguments)

    def _find(self, kinds: tuple[str, ...], arguments: list[Any]) -> Callable[..., Any]:
        """The loop for some kinds of arguments: as it was kept, or else compiled now, and kept."""
        if os.environ.get("NUMBA_DISABLE_JIT"):
            return self._source()
        folder = cache_folder()
        path = None if folder is None else code_path(folder, self.loops, self.name, kinds)
        kept = None if path is None else read_sealed(path, source_stamp())
        if kept is None:
            say_compiling()
            from trueval.kernels.extract_code import NoMachineCode, compile_loop

            try:
                head, code = compile_loop(self._source(), arguments)
            except NoMachineCode:  # another version of numba, another kind of machine: numba calls it then
                from trueval.kernels.jit import kernel

                return kernel(self._source().py_func)
            if path is not None:
                write_sealed(path, json.dumps(head).encode() + b"\n" + code, source_stamp())
        else:
            text, _, code = kept.partition(b"\n")
            head = json.loads(text)
        return _callable(head, code, kinds)

    def _source(self) -> Any:
        return getattr(importlib.import_module(f"trueval.kernels.loops.{self.loops}"), self.name)


def code_path(folder: Path, loops: str, name: str, kinds: tuple[str, ...]) -> Path:
    """Where the machine code of a loop for some kinds of arguments is kept, for this processor."""
    text = repr((kinds, _processor(), sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))))
    return folder / f"{loops}.{name}-{hashlib.blake2b(text.encode(), digest_size=10).hexdigest()}.code.kernel"


def kind_of(value: Any) -> str:
    """The kind of an argument: what numba compiles for, as text.

    >>> kind_of(np.zeros(3, np.int32)), kind_of(7), kind_of(np.uint64(7))
    ('<i4 1 C', 'int64', 'uint64')
    """
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        rest = ("" if flags.writeable else " read only") + ("" if flags.aligned else " unaligned")
        return f"{value.dtype.str} {value.ndim} {layout}{rest}"
    if isinstance(value, np.generic):
        return type(value).__name__
    return "float64" if isinstance(value, float) else "int64" if -(2**63) <= value < 2**63 else "uint64"


def _callable(head: dict[str, str], code: bytes, kinds: tuple[str, ...]) -> Callable[..., Any]:
    """A function over machine code. An array is what numba makes of it: seven words or more, one after the other."""
    types: list[Any] = []
    for kind in kinds:
        if kind in _SCALARS:
            types.append(_SCALARS[kind])
        else:
            types += [ctypes.c_ssize_t] * (5 + 2 * int(kind.split()[1]))
    call = ctypes.CFUNCTYPE(RETURNS[head["returns"]], *types)(_address(head["symbol"], code))

    def form(*arguments: Any) -> Any:
        words: list[Any] = []
        for value in arguments:
            if isinstance(value, np.ndarray):
                words += (0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides)
            else:
                words.append(value.item() if isinstance(value, np.generic) else value)
        return call(*words)

    return form


_engines: list[Any] = []  # the code is in memory as long as they are


def _address(symbol: str, code: bytes) -> int:
    """Put machine code into memory, and say where a function of it is."""
    binding = _llvm()
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return int(engine.get_function_address(symbol))


@cache
def _llvm() -> Any:
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


def load_llvm() -> None:
    """Load LLVM, which takes a while, before a kernel is called."""
    with _lock:
        _processor()


@cache
def _processor() -> tuple[str, str]:
    binding = _llvm()
    return binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
