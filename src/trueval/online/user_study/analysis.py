"""From the tables of a study to its analysis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from trueval.errors import DefinitionError, TruevalError
from trueval.evaluation.outcome import Evaluation
from trueval.online.user_study.against import against_offline
from trueval.online.user_study.attendance import attendance
from trueval.online.user_study.blanks import NOT_LOOKED_AT, WORSE, meaning_of_blanks, worse_last
from trueval.online.user_study.forms import KNOWN, Findings, findings
from trueval.online.user_study.missing_answers import MissingAnswers
from trueval.online.user_study.options import StudyOptions
from trueval.online.user_study.planted_checks import planted_checks
from trueval.online.user_study.position_bias import PositionBias, position_bias
from trueval.online.user_study.result import StudyAnalysis
from trueval.online.user_study.sentences import failed_checks
from trueval.online.user_study.tables import ANSWERS
from trueval.render.numbers import level_percent, percent
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
    if options.blanks is not None and "rankings" not in tables:
        raise DefinitionError(
            "only rankings have blanks", where="blanks", found="a study without rankings", do="leave it out"
        )
    found = findings(tables, options)
    answered = {
        who
        for form, column in ANSWERS.items()
        if form in tables
        for who in tables[form].drop_nulls(column)["participant"].to_list()
    }
    as_read = _as_read(tables, options)
    checks = tuple(planted_checks(as_read))
    bias = tuple(position_bias(as_read, seed=options.seed))
    offline = None
    if against is not None:
        offline = against_offline(found, against, metrics=metrics, level=options.level, seed=options.seed)
    return StudyAnalysis(
        found, _careful(tables, found, failed_checks(checks), options), checks, bias,
        attendance(tables, len(answered)), offline,
        _manifest(tables, found, options, len(answered), name, against is not None), tuple(_notes(found, options)),
        tuple(_warnings(found, bias, len(answered), options)),
    )  # fmt: skip


def _as_read(tables: dict[str, pl.DataFrame], options: StudyOptions) -> dict[str, pl.DataFrame]:
    """The tables with blanks that mean worse in their places: planted lists and positions are judged by them, too."""
    if "rankings" not in tables or meaning_of_blanks(tables["rankings"], options.blanks) != WORSE:
        return tables
    return {**tables, "rankings": worse_last(tables["rankings"])}


def _careful(
    tables: dict[str, pl.DataFrame], found: Findings, failed: tuple[str, ...], options: StudyOptions
) -> Findings | None:
    """The same without participants who failed a check; None where nobody did, or too few are left.

    Where all answers tell no order, fewer tell none: that they show no dependence may be because they are fewer.
    """
    if not failed:
        return None
    kept = {name: table.filter(~pl.col("participant").is_in(failed)) for name, table in tables.items()}
    try:
        careful = findings({name: table for name, table in kept.items() if len(table)}, options)
    except TruevalError:  # those who are left did not see two systems
        return None
    unknown = {
        form: one for form in ("rankings", "pairs") if (one := getattr(found, form)) is not None and one.order != KNOWN
    }
    if found.scales is not None and set(found.scales.order.values()) != {KNOWN}:
        unknown["scales"] = found.scales
    return replace(careful, **unknown)


def _manifest(
    tables: dict[str, pl.DataFrame], found: Findings, options: StudyOptions, people: int, name: str, against: bool
) -> dict[str, object]:
    forms = [form for form in ANSWERS if form in tables]
    done = " and ".join(_FORMS[form] for form in forms)
    title = f"User study {name}: " if name not in ("", "study") else "User study: "
    return {
        "about": f"{title}{people:,} participants {done}",
        "forms": forms,
        "participants": people,
        "first": list(options.first),
        "blanks": None if found.rankings is None else found.rankings.blanks,
        "against": against,
        "level": options.level,
        "resamples": options.resamples,
        "seed": options.seed,
    }


def _notes(found: Findings, options: StudyOptions) -> list[str]:
    """What the numbers are, and how incomplete and tied answers were treated."""
    level, notes = level_percent(options.level), []
    ranked = found.rankings
    if ranked is not None and ranked.order == KNOWN:
        assert ranked.friedman is not None
        notes.append(
            "fulfilled, violated: over participants, systems ranked below and above this one, which is what their "
            "rankings fulfil and violate if it is put first; equal ranks are neither (tied). First: alone at the top; "
            f"intervals of shares are exact (Clopper–Pearson, {level})"
        )
        some = f"{ranked.missing.participants} participants ranked only some systems" if ranked.missing else ""
        some += {WORSE: "; the others share the ranks after all that have a place, and of two blanks nothing is "
                 "concluded", NOT_LOOKED_AT: "; they say nothing of the others, and the mean rank is the place among "
                 "all systems that ranks among fewer lead one to expect"}.get(ranked.blanks or "", "")  # fmt: skip
        ties = f"{ranked.with_ties} gave equal ranks, which share the mean of their places"
        said = [some] * bool(ranked.missing) + [ties] * bool(ranked.with_ties)
        said.append(f"Friedman's test permutes the ranks that each participant gave ({ranked.friedman.method})")
        notes.append(". ".join(said if said[1:] else ["all participants ranked all systems, without ties", *said]))
        if ranked.combined:
            notes.append(f"{ranked.combined} participants ranked several times: the order of their mean ranks counts")
    tables = [form.strengths for form in (found.rankings, found.pairs) if form is not None]
    notes += [table.note for table in tables if table.note]
    if any(table.systems for table in tables):
        notes.append(
            "strength: logarithm, 0 is the mean of the systems; model of Bradley and Terry with ties (Davidson), "
            f"intervals {level} by resampling participants, at least as wide as the model's own"
        )
    if found.scales is not None and found.scales.values:
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
    for what, missing in _missing_elsewhere(found):
        if missing.too_few and not missing.depends(alpha):
            warnings.append(
                f"{sum(missing.missing):,} of {sum(missing.asked):,} {what} are missing; whether that depends on the "
                f"list is unclear: only a difference of {percent(missing.least, 0)} of the answers would be found"
            )
    return warnings


def _missing_elsewhere(found: Findings) -> Iterator[tuple[str, MissingAnswers]]:
    """What is missing of choices and answers on scales, which people cannot leave blank: they left, or skipped it."""
    if found.pairs is not None and found.pairs.missing is not None:
        yield "choices", found.pairs.missing
    if found.scales is not None:
        yield from ((f"answers to {question}", one) for question, one in found.scales.missing.items())
