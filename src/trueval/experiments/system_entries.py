"""The systems of an experiment: by name, from a run file, from somebody's module."""

from __future__ import annotations

import glob
import hashlib
import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueval.data.read import locate
from trueval.data.table_columns import parse_columns
from trueval.errors import DataError, DefinitionError, TruevalError, suggest
from trueval.experiments.experiment_file import Written, show
from trueval.experiments.imported import check_parameters, find_maker, importable, source_digest
from trueval.recommenders.adapters import library_of
from trueval.recommenders.registry import find, make_system, systems, text_of
from trueval.recommenders.run import Run

_KINDS = ("system", "run", "import")


@dataclass(frozen=True)
class Entry:
    """One system of an experiment. `text` says what it is, whatever it is called."""

    name: str
    kind: str  # "system", "run" or "import"
    text: str
    target: str  # name of the system, path of the run, module:name
    parameters: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] | None = None
    make: Callable[..., Any] | None = field(default=None, repr=False)
    folder: Path = field(default_factory=Path, repr=False)
    source: str = ""  # a digest of the code that was imported

    @property
    def one_for_all(self) -> bool:
        """Whether it is one run, whatever the split."""
        return self.kind == "run" and "{seed}" not in self.target and "{fold}" not in self.target

    def run_path(self, seed: int, fold: int) -> Path:
        """The run of one split: {seed} and {fold} in its path stand for theirs."""
        written = self.target.replace("{seed}", str(seed)).replace("{fold}", str(fold))
        return locate(self.folder / Path(written).expanduser())

    def run_paths(self) -> list[Path]:
        """All runs that the path of a run may stand for, as far as they are there."""
        path = self.folder / Path(self.target).expanduser()
        if self.one_for_all:
            return [path]
        pattern = glob.escape(str(path)).replace("{seed}", "*").replace("{fold}", "*")
        return [Path(found) for found in glob.glob(pattern)]

    def made(self, seed: int, fold: int, *, test: Any) -> Any:
        """The system, ready to be fitted, or the run."""
        if self.kind == "run":
            return Run(self.run_path(seed, fold), columns=self.columns)
        if self.kind == "system":
            return make_system(self.target, test=test, **self.parameters)
        assert self.make is not None
        return make_system(self.make(**self.parameters))

    def importable(self) -> AbstractContextManager[None]:
        """Let its code import from its own folder inside the block, as it may do in fit and score."""
        return importable(self.target, self.folder) if self.kind == "import" else nullcontext()

    def identity(self, seed: int, fold: int) -> dict[str, Any]:
        """All that decides what the system does, apart from data and seed: code as it was when it was imported."""
        if self.kind == "system":
            return {"system": self.text}
        if self.kind == "run":
            return {"run": file_digest(self.run_path(seed, fold)), "columns": self.columns}
        return {"import": self.text, "source": self.source}

    def is_still(self, identity: Mapping[str, Any], seed: int, fold: int) -> bool:
        """Whether the files behind it are still those of an identity."""
        if self.kind == "import":
            return identity["source"] == source_digest(self.target, self.folder)
        return identity == self.identity(seed, fold)


def read_entries(written: Written) -> dict[str, Entry]:
    """The systems by name, each checked as far as it can be without data."""
    entries: dict[str, Entry] = {}
    for name, choices in written.section("systems").items():
        if not isinstance(choices, Mapping):
            raise DefinitionError(
                f"{name} must be a table of its parameters",
                where=written.at("systems", name),
                found=f"{name} = {show(choices)}",
                do=f"write {name} = {{}}, or {name} = {{ factors = 50 }}",
            )
        try:
            entries[name] = _entry(name, dict(choices), written.base)
        except TruevalError as problem:
            raise written.refused(problem, "systems", name) from None
    return entries


def _entry(name: str, choices: dict[str, Any], folder: Path) -> Entry:
    named = [kind for kind in _KINDS if kind in choices]
    if len(named) > 1:
        raise DefinitionError(
            f"{name} must be only one of system, run and import", found=" and ".join(named), do="keep one of them"
        )
    kind = named[0] if named else "system"
    target = choices.pop(kind, name)
    if not isinstance(target, str) or not target.strip():
        raise DefinitionError(f"{kind} must be a string", found=f"{kind} = {show(target)}")
    if kind == "run":
        return _run_entry(name, target, choices, folder)
    if kind == "import":
        make = find_maker(target, folder)
        check_parameters(make, choices, name=target)
        _check_maker(make, target)
        text, source = f"{target}{_format_parameters(choices)}", source_digest(target, folder)
        return Entry(name, kind, text, target, choices, make=make, folder=folder, source=source)
    if "[" in target:
        raise DefinitionError(
            "parameters are written as keys, not in brackets",
            found=target,
            do='for example { system = "plsa", factors = 20 }',
        )
    if kind not in named and target not in systems():
        raise DefinitionError(
            f"there is no system {name!r}",
            do=f"{suggest(name, systems())}\nlist all with trueval systems; to use a name of your own, write "
            f'{name} = {{ system = "plsa" }}',
        )
    find(target).check(choices)
    return Entry(name, kind, text_of(make_system(target, **choices)), target, choices, folder=folder)


def _run_entry(name: str, target: str, choices: dict[str, Any], folder: Path) -> Entry:
    columns = choices.pop("columns", None)
    if choices:
        raise DefinitionError(
            "a run file takes no parameters", found=", ".join(choices), do="leave them out; columns may be given"
        )
    roles = parse_columns(columns) if isinstance(columns, str) else columns
    return Entry(name, "run", f"run {target}", target, columns=roles, folder=folder)


def _check_maker(make: Callable[..., Any], target: str) -> None:
    """A class must be a system, or a model of a library that is known; what a function makes is seen later."""
    if not isinstance(make, type) or library_of(make) is not None:
        return
    missing = [method for method in ("fit", "score") if not hasattr(make, method)]
    if missing:
        raise DefinitionError(
            f"{target} is not a system",
            found=f"no method {' and no method '.join(missing)}",
            do="a system has fit(train), which returns it, and score(users)",
        )


def _format_parameters(parameters: Mapping[str, Any]) -> str:
    text = ",".join(f"{key}={json.dumps(parameters[key], default=str)}" for key in sorted(parameters))
    return f"[{text}]" if text else ""


def file_digest(path: Path) -> str:
    """A digest of a file, or of all files of a folder."""
    digest = hashlib.sha256()
    try:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(file.name.encode() if path.is_dir() else b"")
                with file.open("rb") as content:
                    while block := content.read(1 << 20):
                        digest.update(block)
    except OSError as problem:
        raise DataError("a file cannot be read", where=str(path), found=problem.strerror or str(problem)) from None
    return digest.hexdigest()[:16]


@contextmanager
def system_errors(entry: Entry) -> Iterator[None]:
    """Add the system, and the line of an imported module, to errors inside the block."""
    place = f"[systems] {entry.name}"
    try:
        yield
    except TruevalError as problem:
        where = f"{place}: {problem.where}" if problem.where else place
        raise type(problem)(problem.what, where=where, found=problem.found, do=problem.do) from problem
    except Exception as problem:
        if entry.kind != "import":
            raise
        last = traceback.extract_tb(problem.__traceback__)[-1]
        raise DataError(
            f"{entry.target} failed",
            where=f"{place}: {last.filename}, line {last.lineno}",
            found=f"{type(problem).__name__}: {problem}",
            do="fix it and resume with --resume: other systems that are finished are kept",
        ) from problem
