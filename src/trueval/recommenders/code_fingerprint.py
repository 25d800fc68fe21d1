"""The code behind a class or function in memory, as a digest: results of other code are not taken for results of this.

The code of a module is that of its file and of all files behind it (`own_files`). What was written in a notebook or at
a prompt has no file: there the code is followed in memory, from methods to the functions, classes and constants that
they name.
"""

from __future__ import annotations

import ast
import dis
import functools
import hashlib
import inspect
import sys
import types
from collections import Counter
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import Any

import numpy as np

from trueval.recommenders.source_files import files_digest, is_own, own_files

# Things by id, kept alive: the id of a thing that is gone is given to another one. Digests by name of the module.
Seen = dict[int | str, Any]
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), np.generic, np.dtype)
# Made by Python from the rest, or of no influence on what a class does.
_MADE = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__firstlineno__", "__static_attributes__",
    "__dataclass_fields__", "__dataclass_params__", "__abstractmethods__", "_abc_impl", "__annotate_func__",
    "__annotate__", "__annotations_cache__", "__parameters__", "__orig_bases__",
}  # fmt: skip


class Unknown(Exception):
    """Code that cannot be followed; the text says why."""


def code_digest(thing: Any) -> str:
    """A digest of all code behind a class, function or value; raises Unknown where it cannot be determined.

    >>> from functools import partial
    >>> code_digest(partial(int, base=2)) == code_digest(partial(int, base=3))
    False
    """
    digest = hashlib.sha256()
    for piece in _pieces(thing, {}):
        digest.update(f"{len(piece)} ".encode() + piece)
    return digest.hexdigest()[:16]


def _pieces(thing: Any, seen: Seen) -> Iterator[bytes]:
    """What makes a thing what it is, bit by bit. Things that were met before are represented by their name."""
    if isinstance(thing, _PLAIN):
        yield f"{type(thing).__name__} {thing!r}".encode()
        return
    if isinstance(thing, types.CodeType):
        yield from _of_code(thing, seen)
        return
    yield f"{type(thing).__name__} {getattr(thing, '__qualname__', '')}".encode()
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    if isinstance(thing, types.ModuleType):
        yield _module_digest(thing.__name__, seen)
    elif isinstance(thing, (list, tuple)):
        for value in thing:
            yield from _pieces(value, seen)
    elif isinstance(thing, (set, frozenset)):
        yield "".join(sorted(map(repr, thing))).encode()
    elif isinstance(thing, (dict, types.MappingProxyType)):
        yield from _of_mapping(thing, seen)
    elif isinstance(thing, np.ndarray) and not thing.dtype.hasobject:
        yield f"{thing.dtype} {thing.shape}".encode() + thing.tobytes()
    elif isinstance(thing, functools.partial):
        yield from _pieces([thing.func, thing.args, thing.keywords], seen)
    elif isinstance(thing, (staticmethod, classmethod, types.MethodType)):
        yield from _pieces([thing.__func__, getattr(thing, "__self__", None)], seen)
    elif isinstance(thing, (property, functools.cached_property)):
        yield from _pieces([getattr(thing, name, None) for name in ("fget", "fset", "fdel", "func")], seen)
    elif isinstance(thing, (type, types.FunctionType)):
        yield from _of_code_with_a_name(thing, seen)
    elif (
        inspect.isbuiltin(thing)
        or inspect.isroutine(thing)
        or isinstance(thing, (np.ufunc, types.MemberDescriptorType))
    ):
        yield str(getattr(thing, "__module__", "")).encode()
    else:
        raise Unknown(f"an object of type {type(thing).__name__}")


def _of_code_with_a_name(thing: Any, seen: Seen) -> Iterator[bytes]:
    """A class or function: by the files behind it, and in memory where there are none or it was made in a call."""
    name = thing.__module__
    module = sys.modules.get(name)
    place = getattr(module, "__file__", None)
    if place is not None:
        yield _module_digest(name, seen)
        if not is_own(place) or "<locals>" not in thing.__qualname__:
            return
    elif name.partition(".")[0] in sys.stdlib_module_names:
        yield name.encode()
        return
    if isinstance(thing, type):
        yield from _pieces(list(thing.__bases__), seen)
        yield from _of_mapping({k: v for k, v in vars(thing).items() if k not in _MADE}, seen)
        return
    cells = [cell.cell_contents for cell in thing.__closure__ or () if _is_filled(cell)]
    yield from _pieces([thing.__code__, thing.__defaults__, thing.__kwdefaults__, cells, vars(thing)], seen)
    for used in sorted(_names(thing.__code__)):
        if place is None and used in thing.__globals__:
            yield from _pieces(thing.__globals__[used], seen)


def _of_mapping(thing: Any, seen: Seen) -> Iterator[bytes]:
    for key in sorted(thing, key=repr):
        yield repr(key).encode() if isinstance(key, (*_PLAIN, tuple)) else str(key).encode()
        yield from _pieces(thing[key], seen)


def _of_code(code: types.CodeType, seen: Seen) -> Iterator[bytes]:
    """What a function does, wherever it stands; modules that it imports when it is called count, too."""
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_flags, code.co_argcount)).encode()
    for const in code.co_consts:
        yield from _pieces(const, seen)
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME" and step.argval and own_files(step.argval, loaded=True):
            yield _module_digest(step.argval, seen)


def _names(code: types.CodeType) -> set[str]:
    """Names that a function may look up among the globals, also from functions inside it."""
    inside = [_names(const) for const in code.co_consts if isinstance(const, types.CodeType)]
    return set(code.co_names).union(*inside)


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _module_digest(name: str, seen: Seen) -> bytes:
    """The files behind a module, none of which may have changed since it was loaded."""
    if name not in seen:
        for module, path in own_files(name, loaded=True).items():
            if module in sys.modules and not _is_as_loaded(sys.modules[module], path):
                raise Unknown(f"{path.name} has changed since it was loaded")
        seen[name] = files_digest(name).encode()
    found: bytes = seen[name]
    return found


def _is_as_loaded(module: types.ModuleType, path: Path) -> bool:
    """Whether the code of a module is that of its file as it is now.

    At first sight functions and constants are compared, later the file with what it was. Nothing can be said where
    something else than Python's own loader made the module, as pytest does with tests.
    """
    if not isinstance(getattr(module, "__loader__", None), SourceFileLoader):
        return True
    try:
        source = path.read_bytes()
        spec, before = _SIGHTS.get(module.__name__, (None, b""))
        if spec is not None and spec is module.__spec__:  # a reload gives it another one
            return source == before
        tree, compiled = ast.parse(source), compile(source, str(path), "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return False
    same = _has_functions_of(module, set(_codes(compiled)), path) and _has_constants_of(module, tree)
    if same:
        _SIGHTS[module.__name__] = module.__spec__, source
    return same


# Files of modules when they were first looked at, and whose they were.
_SIGHTS: dict[str, tuple[ModuleSpec | None, bytes]] = {}


def _has_functions_of(module: types.ModuleType, written: set[types.CodeType], path: Path) -> bool:
    for value in vars(module).values():
        members = vars(value).values() if isinstance(value, type) and value.__module__ == module.__name__ else [value]
        for member in members:
            code = getattr(getattr(member, "__func__", getattr(member, "fget", member)), "__code__", None)
            if isinstance(code, types.CodeType) and Path(code.co_filename).name == path.name and code not in written:
                return False
    return True


def _has_constants_of(module: types.ModuleType, tree: ast.Module) -> bool:
    """Whether numbers and texts that are named once, and by no function, have the values that the file gives them."""
    elsewhere = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    bodies: list[tuple[list[ast.stmt], Any]] = [(tree.body, vars(module))]
    bodies += [(n.body, vars(vars(module).get(n.name, object))) for n in tree.body if isinstance(n, ast.ClassDef)]
    for body, names in bodies:
        given = [pair for node in body for pair in _given(node)]
        times = Counter(name for name, _ in given)
        for name, value in given:
            if times[name] == 1 and name not in elsewhere and repr(names.get(name)) != repr(value):
                return False
    return True


def _given(node: ast.stmt) -> Iterator[tuple[str, Any]]:
    """Names that a statement gives numbers or texts; lists and the like may be filled later."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    try:
        value = ast.literal_eval(getattr(node, "value", None) or "[]")
    except (ValueError, TypeError, SyntaxError):
        return
    if isinstance(value, (bool, int, float, complex, str, bytes)):
        yield from ((target.id, value) for target in targets if isinstance(target, ast.Name))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)
