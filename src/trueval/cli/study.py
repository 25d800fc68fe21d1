"""trueval study: user studies, from planning to analysis."""

from __future__ import annotations

import typer

from trueval.cli import study_analysis

app = typer.Typer(
    help="User studies: do people agree with the numbers?", no_args_is_help=True, rich_markup_mode=None
)  # fmt: skip
study_analysis.register(app)
