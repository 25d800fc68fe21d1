"""Rows that are there twice: in the logs, and in the lists."""

from __future__ import annotations

from collections.abc import Iterable

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.given_runs import GivenRuns
from trueval.audit.registry import check
from trueval.audit.sentences import counted, listed
from trueval.data.pair_keys import repeated_rows
from trueval.splits.leakage_checks import find_duplicates, find_repeats


@check(heading="data", kind="fact", question="Are rows there twice?")
def duplicates(case: Case) -> Iterable[Finding]:
    """Rows of lists that repeat a user and item, which take places; rows of logs that do, which count once."""
    repeated = dict(case.subject.repeated) if isinstance(case.subject, GivenRuns) and case.subject.ranked else {}
    figures: dict[str, object] = {"lists": repeated}
    if repeated:
        rows = [f"{name} ({many:,})" for name, many in repeated.items()]
        sentence = (
            f"{listed(case.measured.labels)} would be that of lists with repeated items, each of which takes a place: "
            f"rows of {listed(rows)} repeat a user and item. They are measured here with the first row of each."
        )
        yield Finding("duplicates", "data", "wrong", "fact", sentence, figures, "drop repeated rows from the lists")
        return
    invalid = case.subject.invalid if isinstance(case.subject, GivenRuns) and case.subject.ranked else {}
    notes = [f"{name}: {note}" for name, own in invalid.items() for note in own.notes(case.measured.options.invalid)]
    if notes:  # the reader knows of them, and has said how they are treated
        figures["invalid"] = {name: own.record() for name, own in invalid.items()}
        yield Finding("duplicates", "data", "fine", "fact", f"{'; '.join(notes)}.", figures)
        return
    if case.given is None:
        if not isinstance(case.subject, GivenRuns):
            return  # a result without its parts
        yield Finding("duplicates", "data", "fine", "fact", "No list has the same item twice.", figures)
        return
    frames = {"train": case.given.train.frame, "test": case.given.test.frame}  # others have checks of their own
    near, among = repeated_rows(frames), sum(map(len, frames.values()))
    same, others = find_duplicates(near, among=among).count or 0, find_repeats(near, among=among).count or 0
    figures |= {"rows": same, "other_value_or_time": others}
    if not same and not others:
        sentence = "No row of train or test is there twice."
    else:
        counts = [f"{counted(same, 'row repeats another one', 'rows repeat another one')}"] * bool(same)
        counts += [f"{counted(others, 'row')} with another value or time"] * bool(others)
        rule = "counts once, with the mean of its values" if others else "counts once"
        sentence = f"Repeated rows change no value, since each user and item {rule}: {listed(counts)}."
    yield Finding("duplicates", "data", "fine", "fact", sentence, figures)
