"""Leakage through the future of an item: test rows from before the item was in train."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from trueval.audit.case import Case
from trueval.audit.changes import value_changes
from trueval.audit.drafts import Question, compare_orders, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import counted
from trueval.audit.settings import keep_pairs
from trueval.render.numbers import short_percent

_REMEDY = "trueval split LOG --how temporal"


@check(heading="leakage", kind="estimate", needs=("parts",), question="Are items known before they existed?")
def item_future(case: Case) -> Iterable[Finding | Draft]:
    """Whether values and orders change without test rows that are older than all train rows of their item."""
    found = case.leakage["early_items"]
    if found.count is None:
        why = found.meaning.partition(" (")[0].removeprefix("unknown: ")
        sentence = f"It cannot be told whether items are known too early: {why}."
        yield Finding("item_future", "leakage", "cannot tell", "fact", sentence, {}, found.do)
        return
    figures = {"rows": found.count, "share": found.share}
    if not found.count:
        sentence = "No test row is older than its item's train rows, so that no item is known too early."
        yield Finding("item_future", "leakage", "fine", "fact", sentence, figures)
        return
    rows = (
        f"{counted(found.count, 'test row')} ({short_percent(found.share or 0.0)}) "
        f"{'is' if found.count == 1 else 'are'} older than all that train knows of the item"
    )
    if found.verdict == "wrong":
        sentence = f"Values are not those of a split by time, as which it is recorded: {rows}."
        yield Finding("item_future", "leakage", "wrong", "fact", sentence, figures, _REMEDY)
        return
    assert case.given is not None
    born = case.given.train.frame.group_by("item").agg(pl.col("time").min().alias("born"))
    known = case.given.test.frame.join(born, on="item", how="left").filter(
        pl.col("born").is_null() | (pl.col("time") >= pl.col("born"))
    )
    where = "without these test rows"
    there = case.subject.view(where, keep_pairs(known)) if case.subject is not None and len(known) else None
    if there is None or not case.measured.labels:
        sentence = f"It cannot be told what this does to values: {rows}. Lists or systems would tell."
        yield Finding("item_future", "leakage", "cannot tell", "estimate", sentence, figures, _REMEDY)
        return
    subject = case.measured
    changes = [
        change
        for label in subject.labels
        for change in value_changes(subject.base, there, label, relevant=case.relevant(label), systems=subject.names)
    ]
    question = Question(
        "item_future", "leakage", "as split",
        "Without test rows from before their items were there, no significant difference is reversed and no value "
        f"changes by more than is relevant: {rows}.",
        f"{rows[0].upper()}{rows[1:]}.", _REMEDY, figures=figures,
    )  # fmt: skip
    yield draft_of(question, compare_orders(subject, there, setting=where), changes)
