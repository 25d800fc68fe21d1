"""The commands together."""

from __future__ import annotations

from typing import Annotated

import typer

from trueval.cli import data, simulate
from trueval.cli.ab import ab_command, plan_command
from trueval.cli.audit import audit_command
from trueval.cli.calibrate import calibrate_command
from trueval.cli.compare import compare_command
from trueval.cli.demo import demo_command
from trueval.cli.designs import designs_command
from trueval.cli.evaluate import evaluate_command
from trueval.cli.gate import gate_command
from trueval.cli.guard import guarded, is_folder
from trueval.cli.metrics import metrics_command
from trueval.cli.ope import ope_command
from trueval.cli.reproduce import reproduce_command
from trueval.cli.run import run_command
from trueval.cli.split import split_command
from trueval.cli.split_options import SplitCommand
from trueval.cli.systems import systems_command
from trueval.cli.track import track_command


def make_app() -> typer.Typer:
    """The `trueval` application."""
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
    app.command("demo")(guarded(demo_command, folder=_always))
    app.command("evaluate")(guarded(evaluate_command, folder=is_folder))
    app.command("run")(run_command)  # tv.run guards itself: only it knows which files the experiment reads
    app.command("compare")(guarded(compare_command))
    app.command("gate")(guarded(gate_command))
    app.command("audit")(guarded(audit_command))
    app.command("split", cls=SplitCommand)(guarded(split_command, folder=_always))
    app.command("metrics")(metrics_command)
    app.command("systems")(systems_command)
    app.command("designs")(designs_command)
    app.command("calibrate")(guarded(calibrate_command))
    app.command("ab")(guarded(ab_command))
    app.command("ab-plan")(plan_command)
    app.command("ope")(guarded(ope_command))
    app.command("track")(guarded(track_command))
    app.command("reproduce")(guarded(reproduce_command, folder=_always))
    app.add_typer(simulate.app, name="simulate")
    app.add_typer(data.app, name="data")
    return app


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
