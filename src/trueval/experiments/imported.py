"""Systems of other people's modules: found by name, beside the experiment file or installed."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trueval.errors import DefinitionError, suggest
from trueval.recommenders.own_files import files_digest, forget


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
    try:
        with importable(folder):
            forget(module_name)
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
            f"{text} is not a class or function",
            found=type(found).__name__,
            do="name the class or function that makes the system",
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
    """A digest of all code behind `module:name`, as the files are now: see `own_files` for what counts."""
    with importable(folder):
        return files_digest(text.partition(":")[0], loaded=False)
