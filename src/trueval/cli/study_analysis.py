"""trueval study analyse, plan and simulate: what a user study found, how many people it takes, simulated people."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from trueval.cli.guard import guarded
from trueval.cli.options import (
    CsvSafe,
    Format,
    Level,
    Output,
    Quiet,
    Report,
    Seed,
    bounded,
    give,
    named_numbers,
    result_format,
    width_for,
    write_page,
)
from trueval.report.output_formats import check_format, rendered

_ANSWERS = (
    "A study file (.toml), the folder that `trueval study export` wrote, or one table: rankings (participant, system, "
    "rank), choices (participant, left, right, answer) or scales (participant, system, value); each may have task, "
    "position and check."
)
_FIRST = "Systems that were expected to be ranked first before anybody answered, separated by commas."
_AGAINST = "Results of trueval evaluate or run on the same systems; may be given several times."
_BLANKS = (
    "What a list without a place in a ranking means: worse (than all that have one) or 'not looked at'. Default: what "
    "the study file says; tables of elsewhere that have blanks need it."
)
_DATABASE = "Address of the study's database. Default: the SQLite file beside the study file."
_PREFERENCE = (
    "True strengths (logarithms) of the systems: a=1,b=0.5,c=0. Of two, a is preferred with chance e^a / (e^a + e^b). "
    "Default: all equal."
)


def register(app: typer.Typer) -> None:
    """Add the commands to `trueval study`."""
    app.command("analyse")(guarded(analyse_command))
    app.command("plan")(plan_command)
    app.command("simulate")(simulate_command)


def analyse_command(
    answers: Annotated[str, Argument(help=_ANSWERS)],
    first: Annotated[str | None, Option(help=_FIRST)] = None,
    against: Annotated[list[str] | None, Option(help=_AGAINST)] = None,
    metrics: Annotated[str | None, Option(help="Metrics of these results. Default: all.")] = None,
    blanks: Annotated[str | None, Option(help=_BLANKS)] = None,
    database: Annotated[str | None, Option(help=_DATABASE)] = None,
    level: Level = 0.95,
    resamples: Annotated[
        int, Option(help="Resamples of participants for intervals.", callback=bounded("resamples"))
    ] = 1000,
    format: Format = None,
    output: Output = None,
    csv_safe: CsvSafe = False,
    report: Report = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Analyse a user study: what people prefer, how sure that is, and which offline metric would have told it.

    Rankings: mean ranks, constraints fulfilled and violated, first places with exact intervals, Friedman's test, exact
    sign tests of every two systems (Holm), strengths (Bradley–Terry with ties). Choices: the same for pairs. Scales:
    means, medians and paired differences. Always: position bias, planted checks, who left, time. Where answers are
    missing depending on the list, no order is told.

    Examples:

      trueval study analyse study.toml --report study.html

      trueval study analyse rankings.csv --first small-bias,no-bias --blanks worse

      trueval study analyse exported/ --against results/ --format json
    """
    from trueval.online.user_study.render import as_text
    from trueval.progress import set_quiet
    from trueval.report.pages import page_of
    from trueval.study.analysis import study_analysis

    set_quiet(quiet)
    chosen = result_format(format, output, report, csv_safe=csv_safe)
    found = study_analysis(
        answers, first=first, against=against or None, metrics=metrics, blanks=blanks, database=database,
        level=level, resamples=resamples, seed=seed,
    )  # fmt: skip
    name = Path(answers).stem
    title = "User study" if name == "study" else f"User study: {name}"
    write_page(lambda made_from: page_of("study", found, title=title, origin=made_from), report, answers)
    text = rendered(found, chosen, table=lambda: as_text(found, width=width_for(output)), csv_safe=csv_safe)
    give(text, output)


def plan_command(
    systems: Annotated[int, Option(help="Number of systems that are compared.")] = 2,
    share: Annotated[
        float | None, Option(help="True share of participants who rank one of the named systems first.")
    ] = None,
    prefer: Annotated[
        float | None, Option(help="True share, of those with a preference, who prefer one system to another.")
    ] = None,
    named: Annotated[int, Option(help="Number of systems named before the study, with --share.")] = 1,
    participants: Annotated[int | None, Option(help="Number of participants, to compute the power.")] = None,
    ties: Annotated[float, Option(help="Share of participants who see no difference, with --prefer.")] = 0.0,
    lost: Annotated[float, Option(help="Share of people who leave, or whose answers do not count.")] = 0.0,
    power: Annotated[float, Option(help="Power: probability of finding the difference if it exists.")] = 0.8,
    level: Level = 0.95,
    format: Annotated[str, Option(help="table or json.")] = "table",
    seed: Seed = 0,
) -> None:
    """Plan a user study: the participants that it takes, or the power of a number of them.

    The power of the exact tests is exact; that of Friedman's test is simulated.

    Examples:

      trueval study plan --systems 5 --share 0.4

      trueval study plan --systems 5 --named 2 --share 0.7 --participants 20

      trueval study plan --prefer 0.65 --ties 0.2 --lost 0.1
    """
    from trueval.data.json_values import json_text
    from trueval.online.user_study.plan import study_plan

    check_format(format, ("table", "json"))
    plan = study_plan(
        systems=systems, share=share, prefer=prefer, named=named, participants=participants, ties=ties, lost=lost,
        power=power, level=level, seed=seed,
    )  # fmt: skip
    sys.stdout.write(json_text(plan.record()) + "\n" if format == "json" else str(plan))


def simulate_command(
    study: Annotated[Path, Argument(help="A study file (.toml).")],
    participants: Annotated[int, Option(help="Number of simulated participants.", min=1, max=100_000)],
    preference: Annotated[str | None, Option(help=_PREFERENCE)] = None,
    position_bias: Annotated[float, Option(help="Added to the strength of the list that stands first.")] = 0.0,
    careless: Annotated[float, Option(help="Share of participants who answer without looking.")] = 0.0,
    no_difference: Annotated[float, Option(help="Readiness to see no difference between two lists (Davidson).")] = 0.0,
    partial: Annotated[float, Option(help="Share of participants who rank only the better half.")] = 0.0,
    disliked: Annotated[
        float, Option(help="Chance of leaving a list of mean strength blank because one does not like it.")
    ] = 0.0,
    overlooked: Annotated[float, Option(help="Chance of leaving a list blank, whichever it is.")] = 0.0,
    leave: Annotated[float, Option(help="Chance of leaving before each task.")] = 0.0,
    database: Annotated[str | None, Option(help="Where to store them. Default: beside the study, -simulated.")] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Let simulated people take part, in a database of their own: to try a study and its analysis before people come.

    They go through the study's real storage, from consent to thanks. Real answers are never touched.

    Examples:

      trueval study simulate study.toml --participants 40 --preference "ease=1,popularity=0,random=-1"

      trueval study simulate study.toml --participants 40 --careless 0.1 --position-bias 0.5

      trueval study simulate study.toml --participants 40 --preference "ease=1,popularity=0,random=-1" --disliked 0.3
    """
    from trueval.progress import note, set_quiet
    from trueval.study.database import ended_by_signal
    from trueval.study.definition import read_study
    from trueval.study.simulate import simulate_participants, simulated_address
    from trueval.study.simulated_people import SimulatedPeople

    set_quiet(quiet)
    read = read_study(study)
    what, do = "strengths are written system=number", "ease=1,popularity=0.5,random=0"
    given = named_numbers(preference, "--preference", what=what, do=do)
    people = SimulatedPeople(
        strengths=given or dict.fromkeys(read.systems, 0.0), position_bias=position_bias, careless=careless,
        no_difference=no_difference, partial=partial, disliked=disliked, overlooked=overlooked, leave=leave, seed=seed,
    )  # fmt: skip
    with ended_by_signal():
        simulate_participants(read, people, participants=participants, url=database).close()
    address = database or simulated_address(read)
    note(f"{participants:,} simulated participants in {address}")
    sys.stdout.write(f"trueval study analyse {study} --database {address}\n")
