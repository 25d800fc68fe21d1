"""`study_answers`: the answers of simulated participants as tables, without a server and without a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from trueval.arguments import checked
from trueval.errors import DefinitionError, suggest
from trueval.study.plan import FORMS, Planned, PlanOptions, plan_for
from trueval.study.simulated_people import SimulatedPeople, SimulatedPerson

_SCHEMAS: dict[str, dict[str, Any]] = {
    "participants": {"participant": pl.String, "finished": pl.String, "last_page": pl.String},
    "shown": {
        "participant": pl.String, "task": pl.Int64, "form": pl.String, "position": pl.Int64, "label": pl.String,
        "system": pl.String, "check": pl.String, "seconds": pl.Float64,
    },
    "rankings": {
        "participant": pl.String, "task": pl.Int64, "system": pl.String, "position": pl.Int64, "rank": pl.Int64,
        "check": pl.String,
    },
    "pairs": {
        "participant": pl.String, "task": pl.Int64, "left": pl.String, "right": pl.String, "answer": pl.String,
        "check": pl.String,
    },
    "scales": {
        "participant": pl.String, "task": pl.Int64, "system": pl.String, "position": pl.Int64, "question": pl.String,
        "value": pl.Int64, "check": pl.String,
    },
}  # fmt: skip
_TABLES = {"rank": "rankings", "pair": "pairs", "rate": "scales"}
POINTS = 5  # of a scale


@checked
def study_answers(
    strengths: Mapping[str, float] | Sequence[Mapping[str, float]],
    *,
    participants: int = 30,
    form: str = "rank",
    position_bias: float = 0.0,
    careless: float = 0.0,
    no_difference: float = 0.0,
    partial: float = 0.0,
    disliked: float = 0.0,
    overlooked: float = 0.0,
    leave: float = 0.0,
    same: bool = False,
    random: bool = False,
    seed: int = 0,
) -> dict[str, pl.DataFrame]:
    """Answers of simulated participants whose true preference is known: to try an analysis before people come.

    Systems are put at positions by the balanced plan of real studies.

    Parameters
    ----------
    strengths : mapping from systems to numbers, or a list of such mappings
        Logarithms of true strengths: a is preferred to b with chance e^a / (e^a + e^b); rankings are those of Plackett
        and Luce. A list has the strengths for each participant.
    participants : int, default 30
        Number of participants.
    form : {"rank", "pair", "rate"}, default "rank"
        What they do.
    position_bias : number, default 0.0
        What is added to the strength of the list that stands first.
    careless : number, default 0.0
        Share of participants who answer without looking.
    no_difference : number, default 0.0
        Readiness ν of Davidson's model to see no difference, with "pair".
    partial : number, default 0.0
        Share of participants who rank only the better half of the lists.
    disliked : number, default 0.0
        Chance that a list of mean strength is not liked, and left without a place; with "rank".
    overlooked : number, default 0.0
        Chance of not looking at a list, whichever it is; with "rank". Everybody looks at two.
    leave : number, default 0.0
        Chance of leaving before each task.
    same, random : bool, default False
        Whether to plant the same list twice, and a list of random items.
    seed : int, default 0
        Seed of the plan and of all answers.

    Returns
    -------
    dict of DataFrame
        The tables participants, shown, and rankings, pairs or scales, for `study_analysis`.

    Examples
    --------
    >>> tables = study_answers({"old": 0.0, "new": 1.0, "newer": 1.5}, participants=40, seed=1)
    >>> import trueval as tv
    >>> [one.system for one in tv.study_analysis(tables).findings.rankings.strengths.systems]
    ['newer', 'new', 'old']
    """
    people = SimulatedPeople(
        strengths=strengths, position_bias=position_bias, careless=careless, no_difference=no_difference,
        partial=partial, disliked=disliked, overlooked=overlooked, leave=leave, seed=seed,
    )  # fmt: skip
    if form not in FORMS:
        raise DefinitionError(f"there is no form {form!r}", do=suggest(form, FORMS))
    systems = tuple(people.each[0])
    if len(systems) < 2 or any(tuple(one) != systems for one in people.each):
        raise DefinitionError("strengths must be of the same two or more systems", found=", ".join(systems) or "none")
    if not 1 <= participants <= 1_000_000:
        raise DefinitionError("participants must be from 1 to 1,000,000", found=f"{participants:,}")
    options = PlanOptions(form, systems, seed=seed, same=same, random=random)
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in ("participants", "shown", _TABLES[form])}
    for number in range(participants):
        _take_part(f"p{number:06}", people.person(number), plan_for(options, number), form, rows)
    return {name: pl.DataFrame(own, schema=_SCHEMAS[name], orient="row") for name, own in rows.items()}


def _take_part(
    name: str, person: SimulatedPerson, plan: Sequence[Planned], form: str, rows: dict[str, list[tuple[Any, ...]]]
) -> None:
    """One participant, task by task, until they leave or are done."""
    for task in sorted({one.task for one in plan}):
        lists = [one for one in plan if one.task == task]
        if person.leaves():
            rows["participants"].append((name, None, f"task {task}"))
            return
        time = person.seconds()  # in pairs that of the task
        for one in lists:
            time = person.seconds() if form != "pair" and one is not lists[0] else time
            rows["shown"].append((name, task, form, one.position, one.label, one.system, one.check, round(time, 3)))
        rows[_TABLES[form]] += _answer(name, person, lists, form)
    rows["participants"].append((name, "yes", "done"))


def _answer(name: str, person: SimulatedPerson, lists: Sequence[Planned], form: str) -> list[tuple[Any, ...]]:
    task = lists[0].task
    if form == "pair":
        left, right = lists
        return [(name, task, left.system, right.system, person.choose(left, right), left.check)]
    if form == "rank":
        places = person.rank(lists)
        return [(name, task, one.system, one.position, places[one.label], one.check) for one in lists]
    answers = person.rate(lists[0], {"satisfaction": POINTS})
    one = lists[0]
    return [(name, task, one.system, one.position, *answer, one.check) for answer in answers.items()]
