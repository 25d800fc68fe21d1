"""trueval demo: a small world, four systems, and what an evaluation can and cannot see of them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import polars as pl

    from trueval.api import Result
    from trueval.data.world import World
    from trueval.splits.parts import Parts

SIZE = {"users": 2000, "items": 1000, "interactions": 100_000}
METRICS = (
    "ndcg@10", "recall@10", "precision@10", "auc", "novelty@10", "coverage@10", "gini@10", "ild@10", "unjudged@10",
)  # fmt: skip
BASELINE, THRESHOLD, LISTED, SHOWN = "popularity", 4, 100, 10
MARKER = "demo.json"


def demo_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write; new, empty or of a demo.")] = Path(
        "demo-output"
    ),
    seed: Annotated[int, typer.Option(help="Seed of all that is random.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads to use; the result is the same.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but the path of the report.")] = False,
) -> None:
    """Make a small world of users and items, evaluate four systems on it, and explain what one sees.

    Writes the log, its split, the systems' recommendations, the results and report.html into a folder, for
    you to go on with.

    Examples:

      trueval demo

      trueval demo -o /tmp/demo --seed 7
    """
    from trueval.cli.demo_files import demo_files, file_names
    from trueval.kernels import use_threads
    from trueval.progress import set_quiet
    from trueval.report.folder import check_folder, write_together

    set_quiet(quiet)
    check_folder(output, file_names(), marker=MARKER)
    with use_threads(threads):
        demo = make_demo(seed)
    write_together(output, demo_files(demo, output), marker=MARKER, told={"made by": "trueval demo", "seed": seed})
    if not quiet:
        _show(demo, output)
    print(output / "report.html")


@dataclass(frozen=True)
class Demo:
    """All that the demo made. `true` is the share of each system's top 10 that its users would really like."""

    world: World
    parts: Parts
    result: Result
    recs: Mapping[str, pl.DataFrame]
    true: Mapping[str, float]


def make_demo(seed: int) -> Demo:
    """Draw the world, split it by time, evaluate the systems, and look up the truth."""
    import trueval as tv
    from trueval.data.world import make_world

    world = make_world(**SIZE, seed=seed)
    parts = tv.split(world.log, "temporal", ratio=0.2)
    systems = {"random": "random", "popularity": "popularity", "average": "average"}
    named = {**systems, "oracle": tv.Function(world.true_values, ids=True)}
    result = tv.evaluate(
        parts, named, design="AR-AI-AN", metrics=METRICS, threshold=THRESHOLD, items=world.log.items, seed=seed
    )
    recs = make_lists(world, parts, named, seed)
    return Demo(world, parts, result, recs, {name: truly_liked(world, result, run) for name, run in recs.items()})


def make_lists(world: World, parts: Parts, systems: Mapping[str, object], seed: int) -> dict[str, pl.DataFrame]:
    """The first 100 of each system for every tested user: user, item, score, rank."""
    import polars as pl

    from trueval.design.design import Design
    from trueval.design.task import make_tasks
    from trueval.evaluation.experiment import train_set
    from trueval.facts.from_scores import rank_system
    from trueval.systems.registry import make_system

    assert world.log.items is not None
    (task,) = make_tasks(
        parts, Design.parse("AR-AI-AN"), threshold=THRESHOLD, catalogue=world.log.items["item"], seed=seed
    )
    train = train_set(parts, task, seed=seed)
    lists = {}
    for name, spec in systems.items():
        system = make_system(spec).fit(train)
        facts = rank_system(system, task, depth=LISTED, name=name)
        scores = system.score(task.unit_user)
        lists[name] = pl.DataFrame({
            "user": task.users.decode(task.unit_user[facts.list_unit]),
            "item": task.items.decode(facts.list_item),
            "score": scores[facts.list_unit, facts.list_item],
            "rank": facts.place,
        })  # fmt: skip
    return lists


def truly_liked(world: World, result: Result, run: pl.DataFrame) -> float:
    """Share of the first 10 that the evaluated users would give at least the threshold, were there no noise."""
    import polars as pl

    top = run.filter((pl.col("rank") <= SHOWN) & pl.col("user").is_in(result.per_user["user"].unique().implode()))
    true = world.relevance[world.users.codes(top["user"]), world.items.codes(top["item"])]
    return float((true >= THRESHOLD - 0.5).mean())


def truth_in_words(demo: Demo) -> list[str]:
    """What the test set cannot know and this world does."""
    from trueval.report.findings import listed, percent, values

    measured = values(demo.result.evaluation, f"precision@{SHOWN}")
    true = dict(sorted(demo.true.items(), key=lambda pair: -pair[1]))
    found = [f"{SHOWN * share:.1f} of {name}'s" for name, share in true.items()]
    credited = [f"{SHOWN * measured[name]:.1f}" for name in true]
    told = [
        f"Here the truth is known. Out of {SHOWN} items, users would really like {listed(found)}; "
        f"the test set sees {listed(credited)} of them."
    ]
    top = next(iter(true))
    if top != BASELINE:
        told.append(
            f"Measured by precision@{SHOWN}, {BASELINE} reaches {percent(measured[BASELINE] / measured[top])} of {top}; "
            f"in truth {percent(true[BASELINE] / true[top])}. People rate what they meet, and they meet what is popular."
        )
    return told


def next_commands(output: Path) -> str:
    """Commands that go on from the written files, broken so that they fit 80 columns."""
    folder = shlex.quote(str(output))
    return f"""\
# measure the same lists again, with other metrics
trueval evaluate {folder}/recs/*.parquet \\
    --test {folder}/test.parquet --train {folder}/train.parquet \\
    --items {folder}/items.parquet --threshold {THRESHOLD} --baseline {BASELINE} \\
    --metrics "ap@10,rr,hit@10,popularity_rank@10,epc@10"

# what a metric means, exactly
trueval metrics ndcg

# look at the log, split it another way
trueval data info {folder}/log.parquet
trueval split {folder}/log.parquet --how leave_one_out -o {folder}-split
"""


def _show(demo: Demo, output: Path) -> None:
    """The table, what one sees in it, and what to do next."""
    from rich.console import Console

    from trueval.report.findings import findings
    from trueval.report.terminal import print_evaluation

    comparisons = demo.result.compare(BASELINE)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)
    log, report = demo.world.log, demo.parts.report()
    console.print(
        f"[bold]A small world[/]: {log.n_users:,} users, {log.n_items:,} items, {len(log):,} ratings over two years.\n"
        f"Systems learn from {report['train']:,} of them and are tested on {report['test']:,} later ones.\n"
        "The oracle knows what every user truly likes: nothing can be better than it.\n"
    )
    print_evaluation(demo.result.evaluation, file=sys.stdout, comparisons=comparisons, brief=True)
    console.print("\n[bold]What one sees[/]\n")
    for line in [*findings(demo.result.evaluation, comparisons), *truth_in_words(demo)]:
        console.print(f"• {line}", markup=False, soft_wrap=False)
    console.print("\n[bold]Go on[/]\n")
    print(next_commands(output))
