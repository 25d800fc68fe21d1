"""Whether a study is ready: everything that would fail later is tried, and what so many people can show is said."""

from __future__ import annotations

import bisect
import time
from typing import Any

from trueval.online.user_study.blanks import NOT_LOOKED_AT
from trueval.online.user_study.plan import study_plan
from trueval.render.numbers import short_percent
from trueval.statistics.power import least_users, power
from trueval.study.catalogue import check_scale, read_catalogue
from trueval.study.definition import Study
from trueval.study.lists import fit_systems
from trueval.study.plan import plan_for
from trueval.study.words_table import missing_words, words_of

_POWER = 0.8


def check_study(study: Study) -> list[str]:
    """Read the data, fit the systems, make the lists of somebody; returns what a researcher should know."""
    words_of(study)
    catalogue = read_catalogue(study)
    check_scale(study, catalogue)
    maker = fit_systems(study, catalogue)
    begin = time.perf_counter()
    known = maker.known_users[0] if maker.runs else None
    lists = maker.make_by_code({}, 0, known)
    seconds = time.perf_counter() - begin
    plan = plan_for(study.plan_options, 0)
    tasks = len({one.task for one in plan})
    lines = [
        f"{study.about.title}: form {study.about.form}, {len(study.systems)} systems, {tasks} "
        f"task{'s' * (tasks != 1)} for each participant, lists of {min(map(len, lists.values()))} items",
        f"{len(catalogue.items):,} items; lists of a participant are made in {1000 * seconds:.0f} ms",
        *(f"note: {text}" for text in catalogue.notes),
    ]
    if maker.runs:
        lines.append(
            f"run files: by invitation only, {len(maker.known_users):,} users have lists (trueval study invite)"
        )
    for language, number in missing_words(study).items():
        if number:
            lines.append(
                f"note: {number} texts have no words in [words.{language}]: people see them as they are written"
            )
    if study.blanks == NOT_LOOKED_AT:
        lines.append(
            'note: blanks = "not looked at" tells no order where blanks depend on the list, or where so few answers '
            "could hide that they do"
        )
    if "(put your address here)" in study.information.text:
        lines.append("note: [information] text still has the example's blank for your address")
    if not study.thanks.code and not study.thanks.address:
        lines.append("note: people get no completion code and no address at the end ([thanks])")
    return [*lines, _power(study)]


def _power(study: Study) -> str:
    """What the planned number of participants can show with 80 % power."""
    people, systems = study.about.participants, len(study.systems)
    with_power = f"{people} participants show with {short_percent(_POWER)} power"
    if study.about.form == "rate":
        if people < least_users(0.05):
            return f"{people} participants are too few for any significant difference"
        effect = power(sd=1.0, users=people, power=_POWER)
        return f"{with_power} a difference of {effect:.2f} standard deviations between two systems (paired t-test)"
    if study.about.form == "rank":
        share = _least(1 / systems, systems=systems, participants=people, name="share")
        by_chance = f"(by chance {short_percent(1 / systems)})"
        what = f"one system, named before, being ranked first by {_percent(share)} of them {by_chance}"
    else:
        pairs = systems * (systems - 1) // 2
        seen = max(1, round(people * (study.plan_options.pairs or pairs) / pairs))
        share = _least(0.5, systems=systems, participants=seen, name="prefer")
        what = f"one of two lists being preferred by {_percent(share)} of those who see the pair ({seen} people)"
    if share is None:
        return f"{people} participants are too few to show any preference with {short_percent(_POWER)} power"
    return f"{with_power} {what}"


def _least(chance: float, *, systems: int, participants: int, name: str) -> float | None:
    """The smallest share, in per cent, that is found with the power; power grows with the share."""
    above = [percent / 100 for percent in range(1, 100) if percent / 100 > chance]
    options: dict[str, Any] = {"systems": systems, "participants": participants}
    at = bisect.bisect_left(above, _POWER, key=lambda share: study_plan(**{**options, name: share}).power)
    return above[at] if at < len(above) else None


def _percent(share: float | None) -> str:
    return "" if share is None else short_percent(share)
