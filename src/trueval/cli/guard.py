"""What every command goes through before it starts: no output may be one of its inputs."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import typer

Command = TypeVar("Command", bound=Callable[..., None])

# Parameters of commands that are written to. All others may be read: those that name no file do not matter.
OUTPUTS = {"output": "-o", "per_user": "--per-user", "report": "--report", "save": "--save"}


# Options that do something only together with another one, by the function of the command: parameters, and those of
# which at least one must be there. Commands that refuse such a thing themselves are not here.
_RUNS = ("recs", "systems")
NEEDS: dict[str, dict[str, tuple[str, ...]]] = {
    "metrics_command": {"worlds": ("axioms",), "seed": ("axioms",)},
    "evaluate_command": {"min_group": ("by",)},
    "audit_command": {
        "min_group": ("by",), "design": ("systems",),
        **dict.fromkeys(("only_users", "relevant_change", "metrics", "missing", "invalid", "ties", "simulate"), _RUNS),
    },
    "skew_command": {"columns": ("data",)},
    "opposed_command": {"columns": ("data",)},
    "loop_command": {"columns": ("world",)},
    "analyse_command": {"metrics": ("against",)},
}  # fmt: skip


def check_needs(command: Callable[..., None], given: dict[str, Any]) -> None:
    """Refuse an option that would do nothing, because the one that it belongs to is not given."""
    for name, others in NEEDS.get(command.__name__, {}).items():
        usual = inspect.signature(command).parameters[name].default
        if given.get(name, usual) == usual or any(given.get(other) for other in others):
            continue
        from trueval.errors import DefinitionError

        options = " or ".join(_option(command, other) for other in others)
        raise DefinitionError(
            f"{_option(command, name)} does nothing without {options}", where=_option(command, name),
            found=f"{given[name]}, and no {options}", do=f"add {options}, or leave {_option(command, name)} out",
        )  # fmt: skip


def _option(command: Callable[..., None], name: str) -> str:
    """A parameter as it is written on the command line: an argument by its name in capitals."""
    told = get_type_hints(command, include_extras=True)[name]
    arguments = [one for one in getattr(told, "__metadata__", ()) if type(one).__name__ == "ArgumentInfo"]
    return name.upper() if arguments else f"--{name.replace('_', '-')}"


def needing(command: Command) -> Command:
    """A command that writes nothing, with refusals of options that would do nothing."""

    @functools.wraps(command)
    def checked(**given: Any) -> None:
        check_needs(command, given)
        command(**given)

    return checked  # type: ignore[return-value]


def guarded(command: Command, *, folder: Callable[[str | None], bool] = lambda output: False) -> Command:
    """The command, which refuses outputs that are inputs or each other, and writes all of several outputs or none.

    `folder` says whether -o is a folder.
    """

    @functools.wraps(command)
    def checked(**given: Any) -> None:
        check_needs(command, given)
        written = {name: given[name] for name in OUTPUTS if given.get(name) is not None}
        if written:
            _check(written, given, folder)
        if len(written) < 2:
            command(**given)
            return
        from trueval.data.writing import together

        verdict = None
        with together():  # a report beside a result that could not be written would be taken for that of this call
            try:
                command(**given)
            except typer.Exit as end:  # an exit code that tells a verdict is no failure
                verdict = end
        if verdict is not None:
            raise verdict

    checked.guarded = True  # type: ignore[attr-defined]  # for the test that no command is forgotten
    return checked  # type: ignore[return-value]


def is_folder(output: str | None) -> bool:
    """Whether a result folder is asked for: by a slash, by a name without an ending, or because it is there."""
    if output is None:
        return False
    return output.endswith(("/", os.sep)) or not Path(output).suffix or Path(output).is_dir()


def _check(written: dict[str, Any], given: dict[str, Any], folder: Callable[[str | None], bool]) -> None:
    from trueval.report.protected import Output, check_outputs
    from trueval.report.saved_results import MANIFEST, SUMMARY, TABLE

    names = TABLE, SUMMARY, MANIFEST
    outputs = [
        Output(OUTPUTS[name], Path(path), True, names)
        if name == "output" and folder(str(path))
        else Output(OUTPUTS[name], Path(path))
        for name, path in written.items()
    ]
    inputs = [value for name, value in given.items() if name not in OUTPUTS]
    inputs += [inner.obj for inner in inputs if hasattr(inner, "obj")]  # options that only some splits have
    check_outputs(outputs, inputs)
