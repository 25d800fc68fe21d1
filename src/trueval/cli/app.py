"""The commands together."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from trueval.cli.guard import guarded, is_folder, needing


def make_app(words: Sequence[str] = ()) -> typer.Typer:
    """The `trueval` application; where the words of a command line begin with a command, with that one alone.

    The others would be imported, and their options put together, only to be passed over.
    """
    app = typer.Typer(
        name="trueval",
        help="Measure recommender systems by what is true, not by what is popular.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    asked = words[0] if words and words[0] in _COMMANDS else None
    for name, (place, add) in _COMMANDS.items():
        if asked in (None, name):
            module, _, function = place.partition(":")
            add(app, name, getattr(importlib.import_module(f"trueval.cli.{module}"), function))
    return app


def _plain(app: typer.Typer, name: str, command: Any) -> None:
    app.command(name)(command)


def _needing(app: typer.Typer, name: str, command: Any) -> None:
    app.command(name)(needing(command))


def _guarded(app: typer.Typer, name: str, command: Any) -> None:
    app.command(name)(guarded(command))


def _result(app: typer.Typer, name: str, command: Any) -> None:
    app.command(name)(guarded(command, folder=is_folder))


def _folder(app: typer.Typer, name: str, command: Any) -> None:
    app.command(name)(guarded(command, folder=_always))


def _split(app: typer.Typer, name: str, command: Any) -> None:
    from trueval.cli.split_options import SplitCommand

    app.command(name, cls=SplitCommand)(guarded(command, folder=_always))


def _several(app: typer.Typer, name: str, inner: typer.Typer) -> None:
    app.add_typer(inner, name=name)


# Where each command is, and how it is added, in the order of the help. `tv.run` guards itself: only it knows which
# files the experiment reads.
_COMMANDS: dict[str, tuple[str, Callable[[typer.Typer, str, Any], None]]] = {
    "demo": ("demo:demo_command", _folder),
    "evaluate": ("evaluate:evaluate_command", _result),
    "run": ("run:run_command", _plain),
    "compare": ("compare:compare_command", _guarded),
    "gate": ("gate:gate_command", _guarded),
    "audit": ("audit:audit_command", _guarded),
    "split": ("split:split_command", _split),
    "metrics": ("metrics:metrics_command", _needing),
    "systems": ("systems:systems_command", _plain),
    "designs": ("designs:designs_command", _plain),
    "calibrate": ("calibrate:calibrate_command", _guarded),
    "ab": ("ab:ab_command", _guarded),
    "ab-plan": ("ab:plan_command", _plain),
    "ope": ("ope:ope_command", _guarded),
    "track": ("track:track_command", _guarded),
    "reproduce": ("reproduce:reproduce_command", _folder),
    "simulate": ("simulate:app", _several),
    "data": ("data:app", _several),
    "study": ("study:app", _several),
}


def _always(output: str | None) -> bool:
    """These commands write folders."""
    return True


def _version(asked: bool) -> None:
    if asked:
        from trueval import __version__

        typer.echo(__version__)
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[  # taken by `main`, which also finds it after a command; here for the help
        bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")
    ] = False,
) -> None:
    """Measure recommender systems by what is true, not by what is popular."""
