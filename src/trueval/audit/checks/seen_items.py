"""Seen items: lists that recommend what their users already have."""

from __future__ import annotations

from collections.abc import Iterable

from trueval.audit.case import Case
from trueval.audit.changes import value_changes
from trueval.audit.drafts import Question, compare_orders, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.given_runs import GivenRuns
from trueval.audit.registry import check
from trueval.audit.sentences import listed
from trueval.render.numbers import number, short_percent

_REMEDY = "leave the user's train items out of the lists; where users do come back to items, --seen allow of evaluate"


@check(heading="data", kind="estimate", needs=("parts", "systems", "facts"), question="Are seen items recommended?")
def seen_items(case: Case) -> Iterable[Finding | Draft]:
    """What the values would be without items that the user has in train; wrong where such items count as hits."""
    subject = case.measured
    if not isinstance(subject, GivenRuns):
        allowed = subject.design.endswith("-seen") or "-seen-" in subject.design
        sentence = (
            "Seen items are ranked, as the design asks, and count where the test has them again."
            if allowed
            else "No place is lost to items that a user has in train: the design leaves them out."
        )
        yield Finding("seen_items", "data", "fine", "fact", sentence)
        return
    _ = subject.ranked
    shares = {name: float(known / max(places, 1)) for name, (known, places) in subject.seen.items()}
    figures: dict[str, object] = {"share_of_places": shares}
    seen = {name: share for name, share in shares.items() if share}
    if not seen:
        sentence = "No place is lost to items that a user has in train: no list has one."
        yield Finding("seen_items", "data", "fine", "fact", sentence, figures)
        return
    told = listed([f"{short_percent(share)} of the places of {name}" for name, share in seen.items()])
    leaked = subject.leaked()
    label = subject.labels[0]
    if leaked is not None:
        gains = {name: leaked.value(name, label) - subject.base.value(name, label) for name in seen}
        name = max(gains, key=lambda one: gains[one])
        if gains[name] > 0:
            sentence = (
                f"{label} of {name} is {number(leaked.value(name, label))} where seen items count as hits, and "
                f"{number(subject.base.value(name, label))} where they do not: {told} hold items of the user's "
                "train rows."
            )
            yield Finding("seen_items", "data", "wrong", "fact", sentence, figures, _REMEDY)
            return
    there = subject.without_seen()
    if there is None:
        sentence = f"It cannot be told what seen items do to {label}: without them no list is left ({told})."
        yield Finding("seen_items", "data", "cannot tell", "estimate", sentence, figures, _REMEDY)
        return
    changes = [
        change
        for own in subject.labels
        for change in value_changes(subject.base, there, own, relevant=case.relevant(own), systems=list(seen))
    ]
    question = Question(
        "seen_items", "data", "as given",
        "Without seen items no significant difference is reversed, and no value changes by more than is relevant: "
        f"{told} hold items of the user's train rows.",
        f"Of the lists, {told} hold items of the user's train rows, which cannot be hits.", _REMEDY, figures=figures,
    )  # fmt: skip
    yield draft_of(question, compare_orders(subject, there, setting="without seen items"), changes)
