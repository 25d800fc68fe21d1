"""Ids that do not meet: users and items that one table has and another lacks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.given_runs import GivenRuns
from trueval.audit.registry import check
from trueval.audit.sentences import counted
from trueval.render.numbers import short_percent

_REMEDY = "write the ids alike in all tables (--columns names the columns)"


@check(heading="data", kind="fact", question="Do the ids of all tables meet?")
def unmet_ids(case: Case) -> Iterable[Finding]:
    """Users of the test who are in no list, and test items that nobody could learn."""
    if isinstance(case.subject, GivenRuns):
        found = list(_in_lists(case.subject))
        if found:
            yield from found
            return
    if case.given is None:
        if not isinstance(case.subject, GivenRuns):
            return  # a result without its parts
        sentence = "No value counts users as misses because their ids are not found: the ids of lists and test meet."
        yield Finding("unmet_ids", "data", "fine", "fact", sentence)
        return
    test, train = case.given.test.frame, case.given.train.frame
    unseen = {role: ~test[role].is_in(train[role].unique().implode()) for role in ("user", "item")}
    shares = {role: float(rows.mean() or 0.0) for role, rows in unseen.items()}  # type: ignore[arg-type]
    figures = {"test_rows_of_new_users": shares["user"], "test_rows_of_new_items": shares["item"]}
    lost = [role for role, share in shares.items() if share == 1]
    if lost:
        sentence = (
            f"No value can say more than chance: no {lost[0]} of the test set has a row in train, so that nothing was "
            f"learned about any of them."
        )
        yield Finding("unmet_ids", "data", "wrong", "fact", sentence, figures, _REMEDY)
        return
    sentence = f"The ids of train and test meet: {_unseen(shares)}."
    if shares["item"]:
        sentence += " Systems that know an item by its train rows alone cannot recommend these items."
    yield Finding("unmet_ids", "data", "fine", "fact", sentence, figures)


def _unseen(shares: dict[str, float]) -> str:
    return (
        f"{short_percent(shares['user'])} of the test rows are of users without train rows, "
        f"{short_percent(shares['item'])} of items without"
    )


def _in_lists(subject: GivenRuns) -> Iterable[Finding]:
    """What is wrong with the ids of runs."""
    for name, ranked in subject.ranked.items():
        facts = ranked.facts
        tested = np.diff(facts.start) > 0
        missing = int((tested & (facts.length == 0)).sum())
        notes = subject.notes.get(name, [])
        if not notes:
            continue
        figures = {"system": name, "test_users": int(tested.sum()), "without_list": missing, "notes": notes}
        users = counted(int(tested.sum()), "test user")
        effect = (
            f"{subject.labels[0]} of {name} counts {missing:,} of {users} as misses"
            if missing and subject.options.missing == "zero"
            else f"{subject.labels[0]} of {name} is not about the ids of the test set"
        )
        sentence = f"{effect}: {'; '.join(notes)}."
        yield Finding("unmet_ids", "data", "wrong", "fact", sentence, figures, _REMEDY)
