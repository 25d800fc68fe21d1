"""The chance of a pair to be in the test set of a split: what the split says of it, and where it says too little."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.errors import DefinitionError
from trueval.splits.given import NOT_SAMPLED, TESTED
from trueval.splits.parts import OBSERVED, Parts
from trueval.splits.registry import BY_ITEM, BY_PAIR, BY_USER, split_of

if TYPE_CHECKING:
    from trueval.propensity.held_out_shares import HeldOutShares
    from trueval.propensity.propensity import Propensity

_PAIR = ["user", "item"]


def held_out_shares(parts: Parts) -> HeldOutShares | None:
    """The chance that a row of the log was put into the test part, where chance decided; None where it did not.

    >>> from trueval.data.interactions import Interactions
    >>> log = Interactions.of(pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1]}))
    >>> shares = held_out_shares(Parts(log, log, how={"how": "kfold", "n": 5}))
    >>> shares.test, shares.outside
    (0.2, 0.2)
    >>> held_out_shares(Parts(log, log)) is None
    True
    """
    from trueval.propensity.held_out_shares import HeldOutShares

    made = split_of(parts.how)
    chance = None if made is None else made.chance(parts.how)
    if made is None or chance is None:
        return None
    if chance == BY_USER:
        return HeldOutShares(by=_shares_by_user(parts))
    if chance == BY_ITEM:
        return _shares_by_item(parts)
    if chance == BY_PAIR:
        return _shares_beside_random(parts)
    if parts.how.get("tested") == "validation":
        chance = parts.how["validation"]
    return HeldOutShares(float(chance), made.outside(parts.how))


def _shares_by_user(parts: Parts) -> pl.DataFrame:
    places = {"train": parts.train, "validation": parts.validation, "test": parts.test}
    rows = [log.frame.select("user", place=pl.lit(place)) for place, log in places.items() if log is not None]
    tested, outside = (pl.col("place") == "test").mean(), (pl.col("place") != "train").mean()
    return pl.concat(rows).group_by("user").agg(test=tested, outside=outside).sort("user")


def _shares_by_item(parts: Parts) -> HeldOutShares:
    """Of a uniform test: the same number of ratings was drawn of every candidate item, whatever it has."""
    from trueval.propensity.held_out_shares import HeldOutShares

    threshold = parts.how.get("threshold")
    counted = pl.lit(True) if threshold is None else pl.col("value") >= threshold
    ratings = pl.concat([log.frame.filter(counted).select(_PAIR) for log in (parts.train, parts.test)])
    if parts.train.count == "users":
        ratings = ratings.unique()
    items = parts.test.frame["item"].unique()
    share = parts.how["eta"] / pl.len()
    by = ratings.filter(pl.col("item").is_in(items.implode())).group_by("item").agg(test=share, outside=share)
    return HeldOutShares(by=by.sort("item"), items=items)


def _shares_beside_random(parts: Parts) -> HeldOutShares:
    """Of a biased log and a random sample of pairs, from which one coin for each pair drew both test sets.

    q, the chance of a pair to be in the sample, is the same for all pairs of a user, in the log or not. Where systems
    do not recommend train items, pairs of the log that would be in train, had they not been tested, are all there
    (chance 1); others are there by the draw, those held out of the log by coins of at most `ratio`. Where the sample
    contains the log, pairs that are not in the log are rarer in the sample than q, by how much depends on p.
    """
    from trueval.propensity.held_out_shares import HeldOutShares

    ratio, sample = float(parts.how["ratio"] or 0), float(parts.how["sample"])
    on_observed = parts.how.get("tested") == OBSERVED
    drawn, observed = (parts.observed, parts.test) if on_observed else (parts.test, parts.observed)
    assert drawn is not None
    nothing = pl.DataFrame(schema={**drawn.frame.schema, "reason": pl.String})
    out = nothing if parts.dropped is None else parts.dropped
    taken_out = out.filter(reason=TESTED).select(_PAIR)  # of train
    random = pl.concat([drawn.frame.select(_PAIR), out.filter(reason=NOT_SAMPLED).select(_PAIR)]).unique()
    users, items = random["user"].unique(), random["item"].unique()
    in_reach = pl.col("user").is_in(users.implode()) & pl.col("item").is_in(items.implode())
    held = [] if observed is None else [observed.frame.select(_PAIR)]
    log = pl.concat([parts.train.frame.select(_PAIR), *held, taken_out]).unique().filter(in_reach)
    number = random.group_by("user").agg(q=pl.len() / len(items))
    contained = _contained(log, random, number)
    pairs = parts.test.frame.select(_PAIR).unique(maintain_order=True)
    pairs = pairs.join(number, on="user", how="left", maintain_order="left")
    of_log = 1.0 if contained else pl.col("q")  # chance of pairs of the log to be in the sample
    beyond = max(0.0, sample - ratio)  # of the coins: they take a pair out of train, where it is in both logs
    if on_observed:
        lost = pl.when(in_reach).then(of_log * beyond).otherwise(0.0)
        return HeldOutShares(by=pairs.select(*_PAIR, test=pl.lit(ratio), outside=ratio + lost))
    test, outside = pl.col("q") * sample, pl.lit(1.0)
    for kind, some, then in (("sure", [taken_out], test), ("held", held, pl.lit(max(sample, ratio)))):
        marked = pl.concat([pairs.clear().select(_PAIR), *some]).unique().with_columns(pl.lit(True).alias(kind))
        pairs = pairs.join(marked, on=_PAIR, how="left", maintain_order="left")
        outside = pl.when(pl.col(kind)).then(then).otherwise(outside)
    outside = pl.lit(ratio) if contained else outside
    by = pairs.select(*_PAIR, test=test, outside=outside)
    return HeldOutShares(by=by, random=True, needs_p=contained, users=users, items=items)


def _contained(log: pl.DataFrame, random: pl.DataFrame, number: pl.DataFrame) -> bool:
    """Whether a random sample contains all of a log, other than by chance."""
    if not len(log) or len(log.join(random, on=_PAIR, how="anti")):
        return False
    by_chance = log.join(number, on="user")["q"].log().sum()
    return bool(by_chance < np.log(0.001))


def check_split(
    parts: Parts, shares: HeldOutShares | None, propensity: Propensity | None, labels: Sequence[str], *,
    threshold: float | None = None, seen: str = "exclude",
) -> None:  # fmt: skip
    """Refuse weights (`labels`) where nothing says with what chance the split put a pair into the test set."""
    if not labels:
        return
    how, made = parts.how, split_of(parts.how)
    name = str(how.get("how", "given"))
    if parts.observed is not None and not (made and made.pair):
        raise _refusal(
            labels,
            found="parts with an observed side that no split made: how each side was drawn is unknown",
            do='make them with tv.split(log, "unbiased", mar=…), or evaluate each side by itself: '
            'tv.split(train, "given", test=side)',
            where=f"split {name}",
        )
    where = f"split {name}"
    if shares is not None and shares.random and shares.needs_p and seen == "exclude":
        why = "the random sample contains the biased log, so that which other pairs it contains depends on p"
        allow = "let train items be recommended (design …-seen; --seen allow)"
        beyond = how["sample"] > (how["ratio"] or 0)
        if beyond or propensity is None or propensity.relative:
            known = f"use sample={how['ratio']:g}" if beyond and how["ratio"] else "give p as probabilities"
            raise _refusal(labels, where=where, found=why, do=f"{known}, or {allow}")
    if made is None or propensity is None or propensity.relative:
        return
    where += f", propensities from {propensity.source}"
    as_tables = (
        "if p is the probability that a pair is in this test set, say so with the parts as tables: "
        'tv.split(train, "given", test=test) (trueval split TRAIN --how given --test TEST); otherwise '
    )
    if made.by != "tables" and made.chance(how) is None:
        why = "time decided which rows are tested, and how p depends on time is unknown"
        raise _refusal(
            labels, found=why if made.by == "time" else "the split does not say with what chance it tests a row",
            do=f"{as_tables}split by chance (holdout, kfold)", where=where,
        )  # fmt: skip
    if made.chance(how) == BY_USER and seen == "exclude":
        raise _refusal(
            labels, found="a whole number of each user's rows is tested: given the train rows, the chance of a pair "
            "depends on all other pairs of the user",
            do="split row by row (holdout with by=\"rating\", kfold), or let train items be recommended "
            "(design …-seen; --seen allow)", where=where,
        )  # fmt: skip
    few = [option for option in ("min_user", "min_item") if how.get(option)]
    reasons = pl.Series([], dtype=pl.String) if parts.dropped is None else parts.dropped["reason"]
    if few and reasons.str.contains("^(user|item) with fewer than ").any():
        raise _refusal(
            labels, found=f"rows dropped by {' and '.join(few)}: pairs of what stays are likelier to be there than p",
            do=f"{as_tables}split without {' and '.join(few)}", where=where,
        )  # fmt: skip
    least = how.get("threshold")
    if made.uniform and least is not None and (threshold is None or threshold < least):
        raise _refusal(
            labels, found=f"only values of {least:g} and more were drawn, and relevant are "
            + ("those above 0" if threshold is None else f"those of {threshold:g} and more"),
            do=f"use threshold={least:g} (--threshold {least:g}), or split without threshold", where=where,
        )  # fmt: skip
    if made.chance(how) in (BY_ITEM, BY_PAIR, None) or how.get("over") == "users":
        return  # all rows of a pair go together
    rows = [log.frame.select(_PAIR) for log in (parts.train, parts.validation, parts.test) if log is not None]
    repeated = pl.concat(rows).is_duplicated()
    if repeated.any():
        raise _refusal(
            labels, found=f"{int(repeated.sum()):,} rows of pairs with several rows, each of which is drawn by itself",
            do=f"{as_tables}keep one row of each pair before the split", where=where,
        )  # fmt: skip


def check_popularity(parts: Parts, source: Any, labels: Sequence[str]) -> None:
    """Refuse popularity in a train part from which as many ratings were taken of every item: it is not the log's."""
    made = split_of(parts.how)
    if labels and made and made.uniform and isinstance(source, str) and source.startswith("popularity:"):
        raise DefinitionError(
            f"{', '.join(labels)} cannot be weighted by popularity in this train part",
            where=f"split {made.name}, propensities from {source}",
            found="as many ratings of every tested item were taken out of it: their shares are not those of the log",
            do="count popularity in the log: propensity=tv.Propensity.popularity(log, gamma=…), or give a table of p",
        )


def _refusal(labels: Sequence[str], *, where: str, found: str, do: str) -> DefinitionError:
    return DefinitionError(
        f"{', '.join(labels)} cannot be computed: the split gives pairs an unknown chance to be tested",
        where=where, found=found, do=do,
    )  # fmt: skip


def check_reach(
    shares: HeldOutShares | None, sums: Sequence[str], users: Ids, items: Ids, ranked: Mapping[str, np.ndarray]
) -> None:
    """Refuse ips (`sums`) where somebody or something that is ranked had no chance to be tested: too little is found.

    `ranked` has the codes of all that are: "users" and "items".
    """
    if shares is None or not sums:
        return
    for role, ids, few in (("users", users, shares.users), ("items", items, shares.items)):
        if few is None:
            continue
        asked = ids.decode(np.unique(ranked[role]))
        missing = asked.filter(~asked.is_in(few.implode()))
        if len(missing):
            named = ", ".join(map(str, missing.head(5).to_list())) + (", …" if len(missing) > 5 else "")
            snips = f"use {', '.join(label.replace('ips(', 'snips(', 1) for label in sums[:2])}"
            also = (
                f"rank only items of the test set (design AR-TI-AN), or {snips}"
                if role == "items"
                else f"keep only users of the random sample in the log before it is split, or {snips}"
            )
            raise DefinitionError(
                f"{', '.join(sums)}: inverse propensity weighting needs a chance for every {role[:-1]} that is ranked",
                where="test",
                found=f"{len(missing):,} of {len(asked):,} {role} none of whose pairs could be drawn ({named})",
                do=also,
            )
