"""Items that are there twice, under two ids: who has one of them in train knows the other one in the test set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl

from trueval.audit.case import Case
from trueval.audit.changes import value_changes
from trueval.audit.drafts import Question, compare_orders, draft_of
from trueval.audit.fewer_ratings import without_rows
from trueval.audit.finding import Draft, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import counted, listed
from trueval.audit.settings import Change, RankedSystem, Setting
from trueval.audit.subject import Subject
from trueval.audit.top_of_lists import lists_of
from trueval.data.ids import Ids
from trueval.facts.ranking_facts import RankingFacts
from trueval.render.numbers import number, short_percent
from trueval.splits.parts import Parts

_NAME, _HEADING = "twin_items", "leakage"
_ALIKE = 0.8  # of the users of either item have both, with the same rating
_LEAST = 5  # users of both
_EXPECTED = 1.5  # times as many as two items of their popularity would have in common by chance
_FIRST = 3  # least active users of an item among whose items its twin is looked for
_LARGEST = 2_000  # items of a user that are looked at
_REMEDY = "give both the same id in train and test (the pairs are in the figures), and split again"
_TITLES = ("title", "name")


class Twins(NamedTuple):
    """Pairs of codes of items."""

    first: np.ndarray
    second: np.ndarray


@check(heading=_HEADING, kind="estimate", needs=("parts",), question="Is an item there under two ids?")
def twin_items(case: Case) -> Iterable[Finding | Draft]:
    """Items with nearly the same raters and ratings, or the same title, and test rows whose user has the twin in
    train."""
    assert case.given is not None  # the need
    items = Ids.of(case.given.train.frame["item"], case.given.test.frame["item"])
    same_raters = find_twins(case.given, items)
    same_title = _by_title(case, items)
    pairs = sorted({*zip(*map(np.ndarray.tolist, same_raters)), *zip(*map(np.ndarray.tolist, same_title))})
    figures: dict[str, object] = {"same_raters": len(same_raters.first), "same_title": len(same_title.first)}
    figures["pairs"] = [[items.values[one], items.values[other]] for one, other in pairs[:20]]
    leaked = _leaked(case.given, items, pairs)
    figures["test_rows"] = len(leaked)
    if not len(leaked):
        title = counted(len(same_title.first), "pair of items shares its title", "pairs of items share their titles")
        sentence = f"No user has one of two twins in train and the other in the test set ({title}). " if pairs else ""
        sentence += "No two items have the same raters." if not len(same_raters.first) else ""
        yield Finding(_NAME, _HEADING, "fine", "estimate", sentence.strip(), figures)
        return
    example = " and ".join(str(items.values[code]) for code in pairs[0])
    how = "have the same raters and ratings" if len(same_raters.first) else "have the same title"
    told = (
        f"{counted(len(pairs), 'pair of items seems', 'pairs of items seem')} to be one item under two ids (such as "
        f"{example}), since they {how}; {counted(len(leaked), 'test row has', 'test rows have')} a user with "
        f"the twin in train, {short_percent(len(leaked) / max(len(case.given.test.frame), 1))} of all."
    )
    subject = case.subject
    there = None if subject is None or not lists_of(subject) else subject.view("", _without(leaked))
    values = "" if subject is None or there is None else _values(subject, there)
    if len(same_raters.first):
        yield Finding(_NAME, _HEADING, "wrong", "estimate", f"{values}{told}", figures, _REMEDY)
        return
    if subject is None or there is None:
        yield Finding(_NAME, _HEADING, "cannot tell", "estimate", told, figures, _REMEDY)
        return
    changes = [
        change
        for label in subject.labels
        for change in value_changes(subject.base, there, label, relevant=case.relevant(label), systems=subject.names)
    ]
    question = Question(
        _NAME, _HEADING, "as given",
        f"Without test rows whose user has an item of the same title in train, no significant difference is reversed, "
        f"and no value changes by more than is relevant. {told}",
        told, _REMEDY, figures=figures,
    )  # fmt: skip
    yield draft_of(question, compare_orders(subject, there, setting="without these test rows"), changes)


def _values(subject: Subject, there: Setting) -> str:
    label = subject.labels[0]
    told = [
        f"{number(there.value(name, label))} for {name} instead of {number(subject.base.value(name, label))}"
        for name in subject.names
    ]
    return f"Without test rows that train tells under another id, {label} is {listed(told)}. "


def _without(rows: pl.DataFrame) -> Change:
    def change(one: RankedSystem) -> RankingFacts:
        facts = one.facts
        user, item = facts.users.codes(rows["user"]), facts.items.codes(rows["item"])
        known = (user >= 0) & (item >= 0)
        keys = user[known].astype(np.int64) * len(facts.items) + item[known]
        pair = facts.unit_user[facts.unit].astype(np.int64) * len(facts.items) + facts.item
        return without_rows(facts, ~np.isin(pair, keys))

    return change


def find_twins(parts: Parts, items: Ids) -> Twins:
    """Pairs of items, codes ascending, that nearly the same users have, with the same ratings.

    The twin of an item is among the items of nearly all of its users, and so among those of its least active ones,
    where few candidates are. These are compared by all their users.
    """
    frames = [part.frame for part in (parts.train, parts.test)]
    valued = all("value" in frame.columns for frame in frames)
    columns = ["user", "item", *(["value"] if valued else [])]
    log = pl.concat([frame.select(columns) for frame in frames], how="vertical_relaxed")
    log = log.unique(["user", "item"]) if log.height < 5_000_000 else log
    user = log["user"].rank("dense").to_numpy().astype(np.int64) - 1
    item = items.codes(log["item"]).astype(np.int64)
    value = log["value"].to_numpy() if valued else np.zeros(len(log))
    many, active = np.bincount(item, minlength=len(items)), np.bincount(user)
    # users by activity; of equally active ones by the popularity of what they have, which no id decides
    popularity = np.bincount(user, weights=many[item].astype(float))
    place = np.empty(len(active), np.int64)
    place[np.lexsort((popularity, active))] = np.arange(len(active))
    by_item = np.lexsort((place[user], item))
    start = np.concatenate([[0], np.cumsum(many)])
    nth = np.arange(len(by_item)) - start[item[by_item]]
    chosen = by_item[(nth < _FIRST) & (many[item[by_item]] >= _LEAST)]
    chosen = chosen[active[user[chosen]] <= _LARGEST]
    by_user = np.argsort(user, kind="stable")
    first = np.concatenate([[0], np.cumsum(active)])
    size = active[user[chosen]]
    at = np.repeat(first[user[chosen]] - np.concatenate([[0], np.cumsum(size)[:-1]]), size) + np.arange(size.sum())
    one, other = np.repeat(item[chosen], size), item[by_user[at]]
    near = (one < other) & (np.minimum(many[one], many[other]) >= _ALIKE * np.maximum(many[one], many[other]))
    keys = np.unique(one[near] * len(items) + other[near])
    left, right = keys // len(items), keys % len(items)
    rows = [by_item[start[code] : start[code + 1]] for code in range(len(items))] if len(keys) else []
    kept = [_are_twins(rows[a], rows[b], user, value, len(active)) for a, b in zip(left, right)]
    return Twins(left[kept], right[kept]) if kept else Twins(left, right)


def _are_twins(one: np.ndarray, other: np.ndarray, user: np.ndarray, value: np.ndarray, users: int) -> bool:
    """Whether two items, by their rows, have nearly the same users with the same ratings."""
    _, left, right = np.intersect1d(user[one], user[other], return_indices=True)
    same = np.count_nonzero(value[one[left]] == value[other[right]])
    both = len(one) + len(other) - len(left)
    by_chance = len(one) * len(other) / users
    return bool(same >= max(_LEAST, _ALIKE * both, _EXPECTED * by_chance))


def _by_title(case: Case, items: Ids) -> Twins:
    """Pairs of items, codes ascending, with the same title in a table of items."""
    none = Twins(np.empty(0, np.int64), np.empty(0, np.int64))
    logs = [case.train, case.test]
    table = next((log.items for log in logs if log is not None and log.items is not None), None)
    given = getattr(case.subject, "items", None)
    table = given if isinstance(given, pl.DataFrame) and set(_TITLES) & set(given.columns) else table
    column = next((name for name in _TITLES if table is not None and name in table.columns), None)
    if table is None or column is None:
        return none
    known = table.select("item", title=pl.col(column).cast(pl.String)).drop_nulls().unique("item")
    codes = items.codes(known["item"]).astype(np.int64)
    known = known.with_columns(code=pl.Series(codes)).filter((pl.col("code") >= 0) & (pl.len().over("title") == 2))
    both = known.group_by("title").agg(pl.col("code").min().alias("one"), pl.col("code").max().alias("other"))
    return Twins(both["one"].to_numpy(), both["other"].to_numpy())


def _leaked(parts: Parts, items: Ids, pairs: list[tuple[int, int]]) -> pl.DataFrame:
    """Test rows whose user has a twin of the item in train."""
    test = parts.test.frame.select("user", "item")
    if not pairs:
        return test.head(0)
    one, other = (pl.Series(values, dtype=pl.Int64) for values in zip(*pairs))
    codes = pl.concat([one, other]).to_numpy(), pl.concat([other, one]).to_numpy()
    twins = pl.DataFrame({"item": items.decode(codes[0]), "twin": items.decode(codes[1])})
    rows = test.unique(["user", "item"]).join(twins, on="item", how="inner")
    train = parts.train.frame.select("user", pl.col("item").alias("twin"))
    return rows.join(train, on=["user", "twin"], how="semi").select("user", "item").unique()
