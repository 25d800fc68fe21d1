"""Users whom the values are not about."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.registry import check
from trueval.audit.sentences import counted, listed
from trueval.splits.parts import COLD


@check(heading="data", kind="fact", question="Which users are the values about?")
def dropped_users(case: Case) -> Iterable[Finding]:
    """Users without a relevant test item, and those whom the split left without test rows."""
    if case.test is None:
        return  # a result without its parts
    everyone = case.test.n_users
    figures: dict[str, object] = {"test_users": everyone}
    about = "Values are"
    if case.subject is not None and case.subject.labels:
        label, base = case.subject.labels[0], case.subject.base
        users = max(base.users(name, label) for name in case.subject.names)
        figures["counted"] = users
        about = f"{label} is"
        left = everyone - users
        rest = f": {counted(left, 'user has', 'users have')} no value, as a rule for lack of a relevant test item" * (
            left > 0
        )
        told = f"{about} about {users:,} of {everyone:,} test users{rest}"
    else:
        told = f"{about} about {counted(everyone, 'test user')}"
    lost = _lost(case)
    figures["dropped"] = lost
    if not lost:
        yield Finding("dropped_users", "data", "fine", "fact", f"{told}.", figures)
        return
    reasons = [f"{counted(many, 'user')} ({reason})" for reason, many in lost.items()]
    sentence = f"{told}. Nothing is known about those whom the split dropped: {listed(reasons)}."
    remedy = 'keep them: trueval split … --unseen keep (unseen="keep"), and report them separately'
    yield Finding("dropped_users", "data", "cannot tell", "fact", sentence, figures, remedy)


def _lost(case: Case) -> dict[str, int]:
    """Users with later rows that a split by time dropped, who have no test row left, by reason."""
    dropped = None if case.given is None else case.given.dropped
    if dropped is None or case.given is None:
        return {}
    tested = case.given.test.frame["user"].unique()
    rows = dropped.filter(pl.col("reason").is_in(list(COLD["test"])) & ~pl.col("user").is_in(tested.implode())).unique(
        ["user", "reason"]
    )
    return dict(rows["reason"].value_counts().sort("reason").iter_rows())
