"""How often the intervals of a user study hold, its tests err, and planted faults are found: simulated participants.

    python benchmarks/study_coverage.py [ROUNDS]      # writes docs/study-coverage.md

Participants are simulated by the strengths of Plackett and Luce (rankings) and of Davidson (choices), on the balanced
plan of real studies. Every figure is a share of simulated studies.
"""

from __future__ import annotations

import datetime as dt
import platform
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import trueval as tv
from trueval.online.user_study.forms import findings
from trueval.online.user_study.options import StudyOptions
from trueval.online.user_study.result import StudyAnalysis

RESAMPLES = 400
WORLDS = {
    "equal": dict.fromkeys("abcde", 0.0),
    "apart": {"a": 1.0, "b": 0.5, "c": 0.0, "d": -0.5, "e": -1.0},
    "far apart": {"a": 2.0, "b": 1.0, "c": 0.0, "d": -1.0, "e": -2.0},
}
SIZES = (20, 50)
BLANK_SIZES = (20, 40, 100)
DISLIKED = {"a third": 0.3, "most": 0.6}  # of lists of mean strength are not liked, and left blank
NAMES = {"rank": "rankings", "pair": "choices", "rate": "scales"}


@cache
def shares(world: str, form: str, people: int, rounds: int, bias: float = 0.0) -> dict[str, float]:
    """Over simulated studies: how often intervals hold what is true, and how often each test finds something."""
    found: dict[str, list[bool]] = defaultdict(list)
    for round_ in range(rounds):
        answers = tv.study_answers(
            WORLDS[world], participants=people, form=form, position_bias=bias, seed=round_,
            no_difference=0.5 if form == "pair" else 0.0,
        )  # fmt: skip
        study = tv.study_analysis(answers, resamples=RESAMPLES, seed=round_)
        for name, value in measured(study, WORLDS[world]):
            found[name].append(bool(value))
    return {name: float(np.mean(values)) for name, values in found.items()}


def measured(study: StudyAnalysis, strengths: dict[str, float]) -> Iterator[tuple[str, bool]]:
    """What one study shows: "strength" and "first" are whether an interval holds the true value."""
    middle, total = np.mean(list(strengths.values())), sum(np.exp(one) for one in strengths.values())
    yield "position bias", study.position_bias[0].p < 0.05
    found = study.findings
    if found.rankings is not None:
        assert found.rankings.friedman is not None
        yield "Friedman", found.rankings.friedman.p < 0.05
        for s in found.rankings.systems:
            yield "first", s.first_low <= np.exp(strengths[s.system]) / total <= s.first_high
    compared = found.rankings or found.pairs
    if compared is not None:
        yield "any two systems (Holm)", any(one.verdict != "not shown" for one in compared.preferences)
        for one in compared.strengths.systems:
            yield "strength", one.low <= strengths[one.system] - middle <= one.high
    if found.scales is not None:
        yield "any two systems (Holm)", any(one.verdict != "not shown" for one in found.scales.differences)


def failed_checks(form: str, careless: float, *, people: int = 200) -> float:
    """Share of participants who fail a planted check, where all, or none, are careless."""
    answers = tv.study_answers(
        WORLDS["apart"], participants=people, form=form, careless=careless, same=True, random=True, seed=1
    )
    checks = tv.study_analysis(answers, resamples=0).checks
    return len({name for check in checks for name in check.failed}) / people


def page(rounds: int) -> str:
    """The tables."""
    error = 100 * float(np.sqrt(0.95 * 0.05 / rounds))
    head = " | ".join(f"{n} participants" for n in SIZES)
    rule = "| --- | --- |" + " ---: |" * len(SIZES)
    lines = [
        "# Simulated user studies", "",
        f"Made by `python benchmarks/study_coverage.py {rounds}`: trueval {tv.__version__}, Python "
        f"{platform.python_version()}, {platform.machine()}, {dt.date.today()}; {rounds:,} studies of five systems for "
        f"each figure, {RESAMPLES} resamples. A share near 95 or 5 has a standard error of {error:.1f} points, a mean "
        "over the five systems less.", "",
        "Logarithms of true strengths: 0 (*equal*), 1, 0.5, 0, −0.5, −1 (*apart*), twice that (*far apart*).", "",
        "## How often 95 % intervals hold the true value, in per cent", "",
        f"| strengths | interval | {head} |", rule,
    ]  # fmt: skip
    lines += [f"| {world} | strength, from rankings | {_row(world, 'rank', 'strength', rounds)} |" for world in WORLDS]
    lines += [
        f"| {w} | strength, from choices with ties | {_row(w, 'pair', 'strength', rounds)} |"
        for w in ("equal", "apart")
    ]
    lines += [f"| {world} | share of first places | {_row(world, 'rank', 'first', rounds)} |" for world in WORLDS]
    lines += ["", "## How often something is found at level 95 % where there is nothing, in per cent", ""]
    lines += [f"| answers | test | {head} |", rule]
    for form, name in NAMES.items():
        tests = [one for one in shares("equal", form, SIZES[0], rounds) if one not in ("strength", "first")]
        lines += [f"| {name} | {test} | {_row('equal', form, test, rounds)} |" for test in tests]
    lines += ["", "## How often a planted position bias is found, in per cent", ""]
    lines += ["The bias is added to the strength of the list that stands first; strengths are *apart*.", ""]
    lines += [f"| answers | bias | {head} |", rule]
    lines += [
        f"| {NAMES[form]} | {bias:g} | {_row('apart', form, 'position bias', rounds, bias)} |"
        for form in ("rank", "pair")
        for bias in (0.5, 1.0)
    ]
    lines += ["", "## Who fails one of the two planted checks, in per cent of 200 participants", ""]
    lines += ["| answers | careless participants | careful participants |", "| --- | ---: | ---: |"]
    for form, name in NAMES.items():
        lines.append(f"| {name} | {100 * failed_checks(form, 1.0):.1f} | {100 * failed_checks(form, 0.0):.1f} |")
    return "\n".join([*lines, *blank_tables(rounds)]) + "\n"


def blank_tables(rounds: int) -> list[str]:
    """People who leave lists without a place: what was told them that means, and why they do it."""
    head = " | ".join(f"{n} participants" for n in BLANK_SIZES)
    rule = "| --- | --- | --- |" + " ---: |" * len(BLANK_SIZES)
    lines = [
        "", "## Lists that are left without a place", "",
        "People give places only to lists that they like: a third or most of the lists of mean strength are left "
        "blank, fewer of the better ones. Intervals of strengths hold the true value in so many per cent, in brackets "
        "for the best system:", "", f"| a blank means | strengths | not liked | {head} |", rule,
    ]  # fmt: skip
    for world in WORLDS:
        for name, disliked in DISLIKED.items():
            cells = [blank_shares(world, n, rounds, blanks="worse", disliked=disliked) for n in BLANK_SIZES]
            row = [f"{100 * one['strength']:.1f} ({100 * one['best']:.0f})" for one in cells]
            lines.append(f"| worse | {world} | {name} | {' | '.join(row)} |")
    lines += [
        "", "Where people were told to leave blank only what they have not looked at, and leave blank what they do not "
        "like all the same, the analysis tells an order in so many per cent of studies:", "",
        f"| a blank means | strengths | not liked | {head} |", rule,
    ]  # fmt: skip
    for world in ("apart",):
        for name, disliked in {"a few": 0.05, **DISLIKED}.items():
            cells = [blank_shares(world, n, rounds, blanks="not looked at", disliked=disliked) for n in BLANK_SIZES]
            row = [f"{100 * one['order told']:.1f}" for one in cells]
            lines.append(f"| not looked at | {world} | {name} | {' | '.join(row)} |")
    lines += [
        "", "Where they leave out lists by chance, whichever they are: how often an order is told, and how often the "
        "intervals hold the true value then (brackets: for the best):", "",
        f"| a blank means | strengths | overlooked | {head} |", rule,
    ]  # fmt: skip
    for world in ("equal", "apart"):
        for overlooked in (0.05, 0.15):
            cells = [blank_shares(world, n, rounds, blanks="not looked at", overlooked=overlooked) for n in BLANK_SIZES]
            told = " | ".join(map(_told_and_held, cells))
            lines.append(f"| not looked at | {world} | {100 * overlooked:.0f} % | {told} |")
    lines += [
        "", "Where a twentieth are overlooked and a few are left blank because they are not liked, too few for the "
        "test to find it in every study:", "", f"| a blank means | strengths | not liked | {head} |", rule,
    ]  # fmt: skip
    for disliked in (0.002, 0.005, 0.01):
        cells = [
            blank_shares("apart", n, rounds, blanks="not looked at", disliked=disliked, overlooked=0.05)
            for n in BLANK_SIZES
        ]
        lines.append(f"| not looked at | apart | {100 * disliked:g} % | {' | '.join(map(_told_and_held, cells))} |")
    lines += [
        "", "How often something is found where all systems are equal, in per cent:", "",
        f"| a blank means | test | blank | {head} |", rule,
    ]  # fmt: skip
    for blanks, why, name in (
        ("worse", {"disliked": 0.3}, "not liked"), ("not looked at", {"disliked": 0.05}, "not liked"),
        ("not looked at", {"overlooked": 0.15}, "by chance"),
    ):  # fmt: skip
        for test in ("Friedman", "any two systems (Holm)"):
            row = [f"{100 * blank_shares('equal', n, rounds, blanks=blanks, **why)[test]:.1f}" for n in BLANK_SIZES]
            lines.append(f"| {blanks} | {test} | {name} | {' | '.join(row)} |")
    return lines


def _told_and_held(shares: dict[str, float]) -> str:
    """How often an order is told, and how often intervals hold then."""
    told = f"{100 * shares['order told']:.0f}"
    return f"{told}: {100 * shares['strength']:.1f} ({100 * shares['best']:.0f})" if "strength" in shares else told


@cache
def blank_shares(
    world: str, people: int, rounds: int, *, blanks: str, disliked: float = 0.0, overlooked: float = 0.0
) -> dict[str, float]:
    """The same for rankings with blanks: `blanks` is what people were told, the others why they leave some.

    Intervals ("strength", and "best" of system a alone) count in studies in which an order is told. What has nothing to
    do with blanks, such as positions, is left out.
    """
    found: dict[str, list[bool]] = defaultdict(list)
    truth = WORLDS[world]
    options = StudyOptions(blanks=blanks, resamples=RESAMPLES)
    for round_ in range(rounds):
        answers = tv.study_answers(
            truth, participants=people, disliked=disliked, overlooked=overlooked, seed=1000 + round_
        )
        ranked = findings({"rankings": answers["rankings"]}, replace(options, seed=round_)).rankings
        assert ranked is not None
        found["order told"].append(ranked.order == "known")
        found["Friedman"].append(ranked.friedman is not None and ranked.friedman.p < 0.05)
        found["any two systems (Holm)"].append(any(one.verdict != "not shown" for one in ranked.preferences))
        for one in ranked.strengths.systems:
            holds = one.low <= truth[one.system] <= one.high  # the mean of all worlds is 0
            found["strength"].append(holds)
            found["best"] += [holds] * (one.system == "a")
    return {name: float(np.mean(values)) for name, values in found.items()}


def _row(world: str, form: str, name: str, rounds: int, bias: float = 0.0) -> str:
    return " | ".join(f"{100 * shares(world, form, people, rounds, bias)[name]:.1f}" for people in SIZES)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    (Path(__file__).parents[1] / "docs" / "study-coverage.md").write_text(page(number), encoding="utf-8")
