"""From the tables of a study to its analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from trueval.errors import DefinitionError, TruevalError
from trueval.evaluation.outcome import Evaluation
from trueval.online.user_study.against import against_offline
from trueval.online.user_study.attendance import attendance
from trueval.online.user_study.forms import Findings, findings
from trueval.online.user_study.options import StudyOptions
from trueval.online.user_study.planted_checks import planted_checks
from trueval.online.user_study.position_bias import PositionBias, position_bias
from trueval.online.user_study.result import StudyAnalysis
from trueval.online.user_study.sentences import failed_checks
from trueval.online.user_study.tables import ANSWERS
from trueval.render.numbers import level_percent
from trueval.statistics.power import least_users

_FORMS = {"rankings": "ranked systems", "pairs": "chose between two lists", "scales": "answered on scales"}


def analyse_tables(
    tables: dict[str, pl.DataFrame],
    *,
    options: StudyOptions,
    against: Mapping[str, Sequence[Evaluation]] | None = None,
    metrics: Sequence[str] | None = None,
    name: str = "",
) -> StudyAnalysis:
    """Everything that the tables of a study say."""
    if options.first and "rankings" not in tables:
        raise DefinitionError(
            "only rankings have first places", where="first", found="a study without rankings", do="leave it out"
        )
    found = findings(tables, options)
    answered = {who for form in ANSWERS if form in tables for who in tables[form]["participant"].to_list()}
    checks = tuple(planted_checks(tables))
    bias = tuple(position_bias(tables, seed=options.seed))
    offline = None
    if against is not None:
        offline = against_offline(found, against, metrics=metrics, level=options.level, seed=options.seed)
    return StudyAnalysis(
        found, _careful(tables, failed_checks(checks), options), checks, bias, attendance(tables, len(answered)),
        offline, _manifest(tables, options, len(answered), name), tuple(_notes(found, options)),
        tuple(_warnings(found, bias, len(answered), options)),
    )  # fmt: skip


def _careful(tables: dict[str, pl.DataFrame], failed: tuple[str, ...], options: StudyOptions) -> Findings | None:
    """The same without participants who failed a check; None where nobody did, or too few are left."""
    if not failed:
        return None
    kept = {name: table.filter(~pl.col("participant").is_in(failed)) for name, table in tables.items()}
    try:
        return findings({name: table for name, table in kept.items() if len(table)}, options)
    except TruevalError:  # those who are left did not see two systems
        return None


def _manifest(tables: dict[str, pl.DataFrame], options: StudyOptions, people: int, name: str) -> dict[str, object]:
    forms = [form for form in ANSWERS if form in tables]
    done = " and ".join(_FORMS[form] for form in forms)
    title = f"User study {name}: " if name not in ("", "study") else "User study: "
    return {
        "about": f"{title}{people:,} participants {done}",
        "forms": forms,
        "participants": people,
        "first": list(options.first),
        "unranked": options.unranked,
        "level": options.level,
        "resamples": options.resamples,
        "seed": options.seed,
    }


def _notes(found: Findings, options: StudyOptions) -> list[str]:
    """What the numbers are, and how incomplete and tied answers were treated."""
    level, notes = level_percent(options.level), []
    ranked = found.rankings
    if ranked is not None:
        notes.append(
            "fulfilled, violated: over participants, systems ranked below and above this one, which is what their "
            "rankings fulfil and violate if it is put first; equal ranks are neither (tied). First: alone at the top; "
            f"intervals of shares are exact (Clopper–Pearson, {level})"
        )
        places = "share the places after all ranked ones" if options.unranked == "last" else "have no place"
        some = f"{ranked.partial} participants ranked only some systems; the others {places}"
        ties = f"{ranked.with_ties} gave equal ranks, which share the mean of their places"
        said = [some] * bool(ranked.partial) + [ties] * bool(ranked.with_ties)
        said.append(f"Friedman's test permutes the ranks that each participant gave ({ranked.friedman.method})")
        notes.append(". ".join(said if said[1:] else ["all participants ranked all systems, without ties", *said]))
        if ranked.combined:
            notes.append(f"{ranked.combined} participants ranked several times: the order of their mean ranks counts")
    tables = [form.strengths for form in (found.rankings, found.pairs) if form is not None]
    notes += [table.note for table in tables if table.note]
    if any(table.systems for table in tables):
        notes.append(
            "strength: logarithm, 0 is the mean of the systems; model of Bradley and Terry with ties (Davidson), "
            f"intervals {level} by resampling participants"
        )
    if found.scales is not None:
        notes.append(
            f"means: Student's t over participants, {level}; medians: resampled participants; differences paired"
        )
    return notes


def _warnings(found: Findings, bias: Sequence[PositionBias], people: int, options: StudyOptions) -> list[str]:
    alpha = 1 - options.level
    least = least_users(alpha)
    warnings = []
    if people < least:
        warnings.append(
            f"{people} participants cannot show a preference at level {level_percent(options.level)}, whatever they "
            f"answer: it takes {least} or more"
        )
    warnings += [
        f"answers depend on the position of a list ({one.form}): had systems not been balanced over positions, the "
        "comparison would be biased by it"
        for one in bias
        if one.p < alpha
    ]
    if found.rankings is not None and found.rankings.partial and options.unranked == "out":
        warnings.append(
            f"{found.rankings.partial} rankings are partial: where people left out what they like least, such systems "
            'look better here than they are; unranked="last" (--unranked last) puts them below all ranked ones'
        )
    return warnings
