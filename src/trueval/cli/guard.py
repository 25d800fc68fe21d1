"""What every command goes through before it starts: no output may be one of its inputs."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Command = TypeVar("Command", bound=Callable[..., None])

# Parameters of commands that are written to. All others may be read: those that name no file do not matter.
OUTPUTS = {"output": "-o", "per_user": "--per-user", "report": "--report", "save": "--save"}


def guarded(command: Command, *, folder: Callable[[str | None], bool] = lambda output: False) -> Command:
    """The command, which refuses outputs that are inputs or each other; `folder` says whether -o is a folder."""

    @functools.wraps(command)
    def checked(**given: Any) -> None:
        written = {name: given[name] for name in OUTPUTS if given.get(name) is not None}
        if written:
            _check(written, given, folder)
        command(**given)

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
