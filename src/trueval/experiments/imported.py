"""Systems of other people's modules: found by name, beside the experiment file or installed.

`import = "module:name"` runs the code of that module, and nothing else makes a file beside an experiment run. The
folder of the experiment is a place to import from only while such a module is loaded, its code is looked at, or its
system is made, fitted and asked for scores; and it is the last place, so that no file in it takes the place of an
installed module or of one of Python's own. For modules that are not from that folder, it is no such place at all.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import Any

from trueval.errors import DefinitionError, suggest
from trueval.recommenders.source_files import files_digest, find_spec, forget


@contextmanager
def importable(text: str, folder: Path) -> Iterator[None]:
    """Let modules of a folder be imported inside the block, after all others, if `module:name` is in one of them."""
    place = os.path.abspath(folder)
    if _beside(_top(text), folder) is None:
        yield
        return
    sys.path.append(place)
    try:
        yield
    finally:
        if place in sys.path:  # the last one: it may also have been there before
            del sys.path[len(sys.path) - 1 - sys.path[::-1].index(place)]


def find_maker(text: str, folder: Path) -> Callable[..., Any]:
    """The class or function that `module:name` names.

    >>> find_maker("fractions:Fraction", Path())(1, 2)
    Fraction(1, 2)
    """
    module_name, colon, name = text.partition(":")
    if not colon or not module_name or not name:
        raise DefinitionError("import must be module:name", found=text, do='for example "mypackage.models:MyModel"')
    _refuse_two(module_name.partition(".")[0], folder)
    try:
        with importable(text, folder):
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
    with importable(text, folder):
        return files_digest(text.partition(":")[0], loaded=False)


def _top(text: str) -> str:
    """The module or package that is looked for first.

    >>> _top("models.deep:Net")
    'models'
    """
    return text.partition(":")[0].partition(".")[0]


def _beside(top: str, folder: Path) -> Path | None:
    """The file or folder that a module would be, in a folder."""
    names = [f"{top}{ending}" for ending in all_suffixes()]
    files = [folder / name for name in names if (folder / name).is_file()]
    return files[0] if files else folder / top if top and (folder / top).is_dir() else None


def _refuse_two(top: str, folder: Path) -> None:
    """Refuse a module that is there twice: the one beside the experiment would never be loaded, without a word."""
    beside = _beside(top, folder)
    if beside is None or (beside.is_dir() and not (beside / "__init__.py").is_file()):
        return
    spec = find_spec(top)
    if spec is None or spec.loader is None:
        return
    origin = spec.origin or "a part of Python"
    if not os.path.realpath(origin).startswith(os.path.realpath(folder) + os.sep):
        raise DefinitionError(
            f"two modules are called {top}",
            found=f"{beside} and {origin}",
            do=f"rename {beside.name}: modules that are installed come first",
        )
