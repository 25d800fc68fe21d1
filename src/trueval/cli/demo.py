"""trueval demo: a small world, four systems, and what an evaluation can and cannot measure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueval.cli.options import Seed, Threads, held
from trueval.report.output_formats import check_folder_name

if TYPE_CHECKING:
    from trueval.cli.demo_run import Demo

MARKER = "demo.json"


def demo_command(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Output folder; it must be new, empty or of an earlier demo.")
    ] = Path("demo-output"),
    seed: Seed = 0,
    threads: Threads = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the path of the report.")] = False,
) -> None:
    """Make a small world of users and items, evaluate four systems on it, and explain the findings.

    Writes the log, its split, the systems' recommendations, the results and report.html into a folder,
    so that you can continue with them.

    Examples:

      trueval demo

      trueval demo -o /tmp/demo --seed 7
    """
    from trueval.cli.demo_files import demo_files, file_names
    from trueval.cli.demo_run import make_demo
    from trueval.kernels import use_threads
    from trueval.progress import set_quiet
    from trueval.report.folder import check_folder, write_together

    set_quiet(quiet)
    check_folder_name(output)
    check_folder(output, file_names(), marker=MARKER)
    with held(output), use_threads(threads):
        demo = make_demo(seed)
        manifest = {"made by": "trueval demo", "seed": seed}
        write_together(output, demo_files(demo, output), marker=MARKER, manifest=manifest)
    if not quiet:
        _show(demo, output)
    print(output / "report.html")


def _show(demo: Demo, output: Path) -> None:
    """The table, the findings, and the next steps."""
    from trueval.cli.demo_files import next_commands
    from trueval.cli.demo_run import BASELINE, truth_sentences
    from trueval.render.terminal import console_for, fill
    from trueval.render.widths import READING_WIDTH
    from trueval.report.findings import findings
    from trueval.report.terminal import print_evaluation

    comparisons = demo.result.compare(BASELINE)
    console = console_for(sys.stdout, width=None if sys.stdout.isatty() else READING_WIDTH)
    log, report = demo.world.log, demo.parts.report()
    console.print(
        f"[bold]A small world[/]: {log.n_users:,} users, {log.n_items:,} items, {len(log):,} ratings over two years.\n"
        f"Systems learn from {report['train']:,} of them and are tested on {report['test']:,} later ones.\n"
        "The oracle knows what every user truly likes: no system can truly be better.\n"
    )
    evaluation = demo.result.evaluation
    print_evaluation(evaluation, file=sys.stdout, comparisons=comparisons, width=console.width, brief=True)
    console.print("\n[bold]Findings[/]\n")
    for line in [*findings(evaluation, comparisons), *truth_sentences(demo)]:
        console.print(fill(line, min(console.width, 100), begin="• "), markup=False)
    console.print("\n[bold]Next steps[/]\n")
    print(next_commands(output))
