"""The files behind a system's code: its module, and every module that this one loads, and so on.

Followed are imports at any place of a file (also relative ones, inside functions, and `import_module("name")`), to
modules that are no installed library: those beside the experiment, on PYTHONPATH, in a package that is being worked
on. Where a file imports by names that are worked out as it runs, all Python files of its folder count. Installed
libraries count by their version. Files that code reads by itself (data, weights, settings) do not count.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path

_BY_NAME = ("import_module", "__import__", "run_path", "run_module", "spec_from_file_location")


def own_files(name: str, *, loaded: bool) -> dict[str, Path]:
    """Files by module of all modules behind one that are no library; without any where that one is a library itself.

    With `loaded`, a module that is loaded is the one meant, wherever it came from; otherwise the one that an import
    would find now.
    """
    found: dict[str, Path] = {}
    waiting = [name]
    while waiting:
        one = waiting.pop()
        path = None if one in found else _own_file(one, loaded=loaded)
        if path is None:
            continue
        found[one] = path
        waiting += [one.rpartition(".")[0]] if "." in one else []
        names, by_name = _imports(path, one)
        waiting += names
        if by_name:
            top = path.parents[one.count(".") + (path.stem == "__init__")]
            found |= {_module_name(other.relative_to(top)): other for other in _python_files(top)}
    return found


def files_digest(name: str, *, loaded: bool = True) -> str:
    """A digest of all code behind a module (see `own_files`); of an installed one its file and version."""
    files = own_files(name, loaded=loaded)
    digest = hashlib.sha256()
    if files:
        libraries = {used.partition(".")[0] for path in files.values() for used in _imports(path, "")[0]}
        for library in sorted(libraries - set(files)):
            digest.update(f"{library} {_version(library)}\n".encode())
    else:
        path = _file(name, loaded=loaded)
        files = {} if path is None else {name: path}
        digest.update(_version(name.partition(".")[0]).encode())
    for content in sorted({path: path.read_bytes() for path in files.values() if path.is_file()}.items()):
        digest.update(f"{content[0].name} {len(content[1])}\n".encode() + content[1])
    return digest.hexdigest()[:16]


def forget(name: str) -> None:
    """Let a module and all own ones behind it be loaded anew: they may have changed, or be others of the same name."""
    files = own_files(name, loaded=False)
    tops = {module.partition(".")[0] for module in files} - {"__main__"}
    for loaded in [module for module in sys.modules if module.partition(".")[0] in tops]:
        del sys.modules[loaded]
    for path in files.values():
        with suppress(OSError, NotImplementedError):
            # Python takes an older compiled file for that of a newer source of the same size and second
            compiled = Path(importlib.util.cache_from_source(str(path)))
            if compiled.stat().st_mtime_ns <= path.stat().st_mtime_ns:
                compiled.unlink()
    importlib.invalidate_caches()


def is_own(path: str | Path | None) -> bool:
    """Whether a file is somebody's own code: there is such a file, and it belongs to no installed library."""
    if path is None or not os.path.isfile(path):
        return False
    place = os.path.realpath(path)
    return not any(place.startswith(folder) for folder in _libraries())


def _own_file(name: str, *, loaded: bool) -> Path | None:
    path = None if name.partition(".")[0] == "trueval" else _file(name, loaded=loaded)
    return path if is_own(path) else None


def _file(name: str, *, loaded: bool) -> Path | None:
    if (loaded or name == "__main__") and name in sys.modules:
        place = getattr(sys.modules[name], "__file__", None)
        return None if place is None else Path(place)
    spec = find_spec(name)
    return None if spec is None or spec.origin is None or not os.path.isfile(spec.origin) else Path(spec.origin)


def find_spec(name: str) -> ModuleSpec | None:
    """Where an import would find a module. Nothing is loaded for it, other than by importlib.util.find_spec."""
    places = None
    if parent := name.rpartition(".")[0]:
        above = find_spec(parent)
        if above is None or above.submodule_search_locations is None:
            return None
        try:
            places = list(above.submodule_search_locations)
        except KeyError:  # a folder without __init__ in another one, neither of them loaded
            places = above.submodule_search_locations._path  # type: ignore[attr-defined]
    for finder in sys.meta_path:
        with suppress(Exception):  # whatever a finder of somebody else does
            spec = finder.find_spec(name, places)
            if spec is not None:
                return spec
    return None


def _imports(path: Path, module: str) -> tuple[list[str], bool]:
    """Names that a file may import, and whether it imports by names that only show when it runs."""
    try:
        tree = ast.parse(path.read_bytes()) if path.suffix == ".py" else ast.Module([], [])
    except (SyntaxError, ValueError):
        return [], False
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    names, by_name = [], False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node.module or "", node.level, package)
            names += [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
        elif isinstance(node, ast.Call) and _called(node.func) in _BY_NAME:
            text = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
            if isinstance(text, str) and _called(node.func) in ("import_module", "__import__"):
                level = len(text) - len(text.lstrip("."))
                names.append(_absolute(text.lstrip("."), level, package))
            else:
                by_name = True
    return [name for name in names if name], by_name


def _module_name(path: Path) -> str:
    """What a file is called as a module.

    >>> _module_name(Path("models/deep/__init__.py"))
    'models.deep'
    """
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _called(function: ast.expr) -> str:
    return getattr(function, "attr", "") or getattr(function, "id", "")


def _absolute(name: str, level: int, package: str) -> str:
    """The full name of what `from ..name import` means in a package.

    >>> _absolute("base", 2, "models.deep")
    'models.base'
    """
    if level == 0:
        return name
    above = package.split(".")
    return ".".join([*above[: len(above) - level + 1], *filter(None, [name])])


def _python_files(folder: Path) -> Iterator[Path]:
    """All Python files below a folder that are somebody's own."""
    for place, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith((".", "__pycache__")) and not _is_environment(place, f)]
        yield from (Path(place, file) for file in files if file.endswith(".py"))


def _is_environment(place: str, folder: str) -> bool:
    return os.path.exists(os.path.join(place, folder, "pyvenv.cfg")) or folder in ("site-packages", "node_modules")


@cache
def _libraries() -> tuple[str, ...]:
    """Folders of Python and of installed libraries."""
    paths = sysconfig.get_paths()
    folders = {paths[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {*site.getsitepackages(), site.getusersitepackages()}
    return tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)


@cache
def _version(library: str) -> str:
    """The version of an installed library, where it is called like its module."""
    if library in sys.stdlib_module_names:
        return ""
    try:
        return importlib.metadata.version(library)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return ""
