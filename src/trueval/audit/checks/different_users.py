"""Comparisons across different samples: systems that are averaged over different users."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.registry import check
from trueval.audit.sentences import counted as users_of
from trueval.audit.sentences import listed
from trueval.comparison.pairing import counted, user_codes
from trueval.render.numbers import number

_REMEDY = '--missing zero (missing="zero"), or `trueval compare`, which takes the users that both systems have'


@check(
    heading="data",
    kind="fact",
    needs=(
        "systems",
        "pairs",
    ),
    question="Are all systems measured on the same users?",
)
def different_users(case: Case) -> Iterable[Finding]:
    """Whether means of the same metric are over the same users."""
    subject = case.measured
    for label in subject.labels:
        systems, users = subject.base.systems, subject.base.joined.users
        own = {}
        for name, system in systems.items():
            everyone = user_codes(system, users)
            own[name] = everyone[counted(system.sums[label])]
        sizes = {name: len(codes) for name, codes in own.items()}
        first = next(iter(own.values()))
        if all(np.array_equal(codes, first) for codes in own.values()):
            continue
        shown = [f"{name} {number(subject.base.value(name, label))} ({size:,})" for name, size in sizes.items()]
        common = len(_common(list(own.values())))
        sentence = (
            f"{label} of the systems is not comparable, since each is a mean over other users: {listed(shown)} users. "
            f"{common:,} users are in all of them; orders below are tested over the users that both systems have."
        )
        figures = {"metric": label, "users": sizes, "in_all": common}
        yield Finding("different_users", "data", "wrong", "fact", sentence, figures, _REMEDY)
        return
    many = max(subject.base.users(name, subject.labels[0]) for name in subject.names)
    sentence = f"All systems are measured on the same {users_of(many, 'user')}."
    yield Finding("different_users", "data", "fine", "fact", sentence, {"users": many})


def _common(sets: list[np.ndarray]) -> np.ndarray:
    found = sets[0]
    for other in sets[1:]:
        found = np.intersect1d(found, other, assume_unique=True)
    return found
