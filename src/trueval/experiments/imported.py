"""Systems of other people's modules: found by name, beside the experiment file or installed."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trueval.errors import DefinitionError, suggest


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Let modules of a folder be imported inside the block."""
    place = str(folder)
    sys.path.insert(0, place)
    try:
        yield
    finally:
        if place in sys.path:
            sys.path.remove(place)


def find_maker(text: str, folder: Path) -> Callable[..., Any]:
    """The class or function that `module:name` names.

    >>> find_maker("fractions:Fraction", Path())(1, 2)
    Fraction(1, 2)
    """
    module_name, colon, name = text.partition(":")
    if not colon or not module_name or not name:
        raise DefinitionError("import must be module:name", found=text, do='for example "mypackage.models:MyModel"')
    _forget(module_name, folder)
    try:
        with importable(folder):
            found = importlib.import_module(module_name)
    except ImportError as problem:
        raise DefinitionError(
            f"the module {module_name} cannot be imported",
            found=str(problem),
            do=f"put it beside the experiment file ({folder}), or install it",
        ) from None
    except Exception as problem:  # whatever a module does while it is imported
        raise DefinitionError(
            f"the module {module_name} fails while it is imported", found=f"{type(problem).__name__}: {problem}"
        ) from None
    for part in name.split("."):
        if not hasattr(found, part):
            public = [one for one in vars(found) if not one.startswith("_")]
            raise DefinitionError(f"{module_name} has no {part!r}", do=suggest(part, public))
        found = getattr(found, part)
    if not callable(found):
        raise DefinitionError(
            f"{text} is no class or function", found=type(found).__name__, do="name what makes the system"
        )
    return found


def check_parameters(make: Callable[..., Any], parameters: Mapping[str, Any], *, name: str) -> None:
    """Refuse parameters that a class or function does not take."""
    try:
        signature = inspect.signature(make)
    except (TypeError, ValueError):  # some compiled classes do not say what they take
        return
    takes = signature.parameters.values()
    known = [p.name for p in takes if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not any(p.kind is p.VAR_KEYWORD for p in takes):
        for one in parameters:
            if one not in known:
                do = suggest(one, known) if known else "it has none"
                raise DefinitionError(f"{name} has no parameter {one!r}", do=do)
    try:
        signature.bind(**parameters)
    except TypeError as problem:
        raise DefinitionError(f"{name} cannot be made", found=str(problem)) from None


def source_digest(text: str, folder: Path) -> str:
    """A digest of the source behind `module:name`: the whole package beside the experiment file, else one file."""
    name = text.partition(":")[0]
    beside = _beside(name, folder)
    if beside is None:
        module = sys.modules[name]
        place = getattr(module, "__file__", None)
        files = [Path(place)] if place else []
        version = str(getattr(sys.modules[name.partition(".")[0]], "__version__", ""))
    else:
        files, version = [beside] if beside.is_file() else sorted(beside.rglob("*.py")), ""
    digest = hashlib.sha256(version.encode())
    for file in files:
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _beside(name: str, folder: Path) -> Path | None:
    """The file or package beside the experiment file that a module is in."""
    top = name.partition(".")[0]
    if (folder / f"{top}.py").is_file():
        return folder / f"{top}.py"
    return folder / top if (folder / top / "__init__.py").is_file() else None


def _forget(name: str, folder: Path) -> None:
    """A module beside the file is imported afresh: it may have changed, or be another experiment's of the same name."""
    top = name.partition(".")[0]
    if _beside(name, folder) is None or top == "trueval":
        return
    for loaded in [one for one in sys.modules if one == top or one.startswith(f"{top}.")]:
        del sys.modules[loaded]
    importlib.invalidate_caches()
