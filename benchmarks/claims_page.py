"""The page of how often the answers of the audit are right, from the records of all worlds."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import trueval
from claims_study import BPREF, CONDENSED, TRIED
from claims_table import BY_METRIC, COMPLETE, DEPTHS, FIRST_SEED, MAIN, REAL, REAL_DEPTHS, results_of
from known_worlds import BOTH, GENERATORS, LIKES, POPULARITY, REAL_WAYS, SELECTED, SIZES, TESTED, VALUE, WAYS
from trueval.audit.claims import CANNOT_TELL, DEPENDS, HOLDS

NO_BREAK = "\N{NO-BREAK SPACE}"
Results = Sequence[dict[str, Any]]
GROUPS = {
    "nothing": ("nothing", "activity"), VALUE: (VALUE,), POPULARITY: (POPULARITY,), BOTH: (BOTH,),
    SELECTED: (SELECTED,),
}  # fmt: skip
SIDES = {False: ("nothing", "activity", VALUE, POPULARITY, BOTH), True: (SELECTED,)}  # by whether raters select
GROUP_NAMES = {"nothing": "nothing, or activity of users"}
OF_WAY = {way.name: way.group for way in (*WAYS, *LIKES)}
OUTCOMES = ["significant", "right %", "*holds*: right", "wrong", "right %", "*depends*: reversed", "upheld",
            "*cannot tell*: right", "wrong"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How many answers are right: pairs by their answer and by whether truth has the order as evaluated."""

    counts: dict[tuple[str, int], int]

    @staticmethod
    def of(results: Results) -> Outcomes:
        counts: dict[tuple[str, int], int] = {}
        for one in results:
            for pair in one["pairs"]:
                counts[pair[3], pair[2]] = counts.get((pair[3], pair[2]), 0) + 1
        return Outcomes(counts)

    def __call__(self, answer: str, side: int) -> int:
        return self.counts.get((answer, side), 0)

    @property
    def significant(self) -> tuple[int, int]:
        """Orders that are significant as evaluated, right and wrong ones."""
        right, wrong = (sum(self(answer, side) for answer in (HOLDS, DEPENDS, CANNOT_TELL)) for side in (1, -1))
        return right, wrong

    def cells(self) -> list[str]:
        """A row of the tables."""
        right, wrong = self.significant
        holds = self(HOLDS, 1), self(HOLDS, -1)
        return [
            f"{right + wrong:,}", percent(right, wrong), *map(str, holds), f"**{percent(*holds)}**",
            str(self(DEPENDS, -1)), str(self(DEPENDS, 1)), str(self(CANNOT_TELL, 1)), str(self(CANNOT_TELL, -1)),
        ]  # fmt: skip


def percent(hits: int, others: int) -> str:
    """A share in per cent; 100.0 where it is the whole."""
    if not hits + others:
        return "–"
    text = f"{100 * hits / (hits + others):.1f}"
    return "> 99.9" if others and text == "100.0" else text


def depth_name(depth: int) -> str:
    return f"lists of {depth}" if depth else "complete rankings"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> str:
    """A table whose first columns are text."""
    marks = [*["---"] * texts, *["---:"] * (len(head) - texts)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [list(head), marks, *map(list, rows)]) + "\n"


def where(results: Results, groups: Sequence[str] = (), **equal: Any) -> list[dict[str, Any]]:
    """The results with these values and, where there are some, of ways in these groups."""
    return [
        one for one in results
        if all(one[name] == value for name, value in equal.items()) and (not groups or OF_WAY[one["way"]] in groups)
    ]  # fmt: skip


def by_group(main: Results) -> str:
    """A row for each kind of observation and depth."""
    rows = []
    for group, members in GROUPS.items():
        for depth in DEPTHS:
            own = where(main, members, depth=depth)
            if own:
                first = GROUP_NAMES.get(group, group) if depth == DEPTHS[0] else ""
                rows.append([first, depth_name(depth), *Outcomes.of(own).cells()])
    for depth in DEPTHS:
        own = where(main, depth=depth)
        rows.append(["all" if depth == DEPTHS[0] else "", depth_name(depth), *Outcomes.of(own).cells()])
    return table(["observed by", "depth", *OUTCOMES], rows, texts=2)


def by_way(main: Results) -> str:
    """A row for each way to be observed and each generator, all depths together."""
    rows = []
    for way in WAYS:
        for name in GENERATORS:
            own = where(main, way=way.name, generator=name)
            if own:
                rows.append([way.name, name, *Outcomes.of(own).cells()])
    return table(["observed by", "worlds", *OUTCOMES], rows, texts=2)


def least_right(main: Results) -> str:
    """Where fewer than 98 % of at least a hundred orders that hold are right."""
    found = []
    for way in WAYS:
        for name in GENERATORS:
            outcomes = Outcomes.of(where(main, way=way.name, generator=name))
            right, wrong = outcomes(HOLDS, 1), outcomes(HOLDS, -1)
            if right + wrong >= 100 and right < 0.98 * (right + wrong):
                found.append(f"*{way.name}* ({name}: {percent(right, wrong)} %)")
    return f"Fewer than 98 % of what *holds* is right only under {', '.join(found)}. " if found else ""


def by_size(main: Results) -> str:
    """A row for each size of world, all depths together."""
    rows = []
    for size in SIZES:
        own = where(main, size=size.name)
        if own:
            words = f"{size.users:,} users, {size.items} items, {size.rows:g} ratings each, {size.liked:.0%} liked"
            rows.append([words, *Outcomes.of(own).cells()])
    return table(["worlds", *OUTCOMES], rows)


def by_metric(results: Results) -> str:
    """A row for each metric, on lists of ten."""
    metrics = dict.fromkeys(one["metric"] for one in results)
    rows = [[metric, *Outcomes.of(where(results, metric=metric)).cells()] for metric in metrics]
    return table(["metric", *OUTCOMES], rows)


def of_real(results: Results) -> str:
    """A row for each way in which the real data set is observed."""
    rows = []
    for way in REAL_WAYS:
        for depth in REAL_DEPTHS:
            own = where(results, way=way, depth=depth)
            if own:
                first = way if depth == REAL_DEPTHS[0] else ""
                rows.append([first, depth_name(depth), *Outcomes.of(own).cells()])
    rows.append(["all", "", *Outcomes.of(results).cells()])
    return table(["observed by", "depth", *OUTCOMES], rows, texts=2)


def of_likes(results: Results) -> str:
    """A row for each way in which likes alone are observed."""
    rows = []
    for way in LIKES:
        own = where(results, way=way.name)
        if own:
            rows.append([way.name.removeprefix("likes only: "), *Outcomes.of(own).cells()])
    rows.append(["all", *Outcomes.of(results).cells()])
    return table(["observed by", *OUTCOMES], rows)


def tried(main: Results) -> str:
    """What else was tried for *holds*, on lists of ten, by whether raters select themselves."""
    sets: list[tuple[str, list[str]]] = [(name, [name]) for name in TRIED]
    sets += [(f"*as judged* and {name}", [TRIED[0], name]) for name in TRIED[1:]]
    rows = []
    for words, names in sets:
        cells = []
        for selected in (False, True):
            right = wrong = reversed_ = upheld = 0
            for one in where(main, SIDES[selected], depth=DEPTHS[0]):
                for *_, side, _, signs in one["pairs"]:
                    if signs is None or side == 0:
                        continue
                    said = [signs[TRIED.index(name)] for name in names]
                    right, wrong = right + (min(said) > 0 and side > 0), wrong + (min(said) > 0 and side < 0)
                    reversed_ += min(said) < 0 and side < 0
                    upheld += min(said) < 0 and side > 0
            cells += [str(right), str(wrong), percent(right, wrong), str(reversed_), str(upheld)]
        bold = words == f"*as judged* and {TRIED[2]}"
        rows.append([f"**{words}**" if bold else words, *cells])
    head = ["same order under", "right", "wrong", "right %", "reversed", "upheld"]
    return table([*head, *(f"{name}, self-selected" for name in head[1:])], rows)


def by_other_metrics(main: Results) -> str:
    """How many significant orders are right by metrics of judged items, and how many orders hold."""
    rows = []
    for selected in (False, True):
        for depth in (DEPTHS[0], COMPLETE):
            own = where(main, SIDES[selected], depth=depth)
            outcomes = Outcomes.of(own)
            counts = [f"{sum(one['decided'] for one in own):,}"]
            pairs = [outcomes.significant, (outcomes(HOLDS, 1), outcomes(HOLDS, -1))]
            for name in (CONDENSED, BPREF):
                found = [one["others"][name] for one in own if name in one["others"]]
                pairs.insert(-1, (sum(one[0] for one in found), sum(one[1] for one in found)))
            cells = [
                f"{right}{NO_BREAK}/{NO_BREAK}{wrong} ({percent(right, wrong)}{NO_BREAK}%)" for right, wrong in pairs
            ]
            rows.append(["self-selected" if selected else "all others", depth_name(depth), *counts, *cells])
    head = ["observed by", "depth", "decided by truth", "plain nDCG", CONDENSED, BPREF, "*holds*"]
    return table(head, rows, texts=2)


def wrong_worlds(results: Results) -> str:
    """How many sets of lists have a wrong order that holds, and how many such orders truth does not decide."""
    held = [one for one in results if any(pair[3] == HOLDS for pair in one["pairs"])]
    wrong = [one for one in held if any(pair[3] == HOLDS and pair[2] < 0 for pair in one["pairs"])]
    draws = [pair[3] for one in results for pair in one["pairs"] if pair[2] == 0]
    return (
        f"Wrong ones were in {len(wrong)} of {len(held)} sets of lists for which any order held. Of another "
        f"{len(draws):,} significant orders truth is too close to a draw to decide; {draws.count(HOLDS)} of these were "
        "called *holds*."
    )


ABOUT = """# How often the answers of the audit are right

The first thing that `trueval audit` says is which orders of systems may be claimed. Of the significant orders in
{worlds:,} worlds whose complete ratings are known, those that it called *holds* were right in {right} %, where
{plain} % of all significant orders were; in worlds whose raters select themselves, in {right_selected} %, where
{plain_selected} % were; on real ratings, in {real_right:,} of {real_held:,}. So **rely on *holds***, on lists of
any length. **Read *depends* as a question**: {reversed} % of these orders were reversed in truth, but only
{reversed_selected} % where people rate rare items because they like them, and on real ratings of items that people
knew there were {real_upheld} of {real_depends} that truth upholds. **Do not read *cannot tell* as "no
difference"**: {untold} % of the significant orders ended there, of which {untold_right} % were right; ratings of
listed items decide, and the audit says how many. A log of likes alone never makes an order hold ({likes_hold} of
{likes:,}): for that the audit needs ratings of what people do not like, or an unbiased test.

Made by `make claims-table` (`benchmarks/claims_table.py`): trueval {version}, {machine}, {date}; seeds {first:,} to
{last:,}. The rule was chosen in worlds of other seeds below {first:,}; after a look at some of these worlds, the
degrees of freedom of its tests were made fewer where few users have most of the weight.

## By kind of observation and depth

Orders that are significant as evaluated (nDCG at the depth of the lists; paired over users, Holm's correction over
the pairs) and decided by truth: the same metric on the complete ratings, significant at 5 %. *Right*: truth has the
order as evaluated.

{group}
{wrong}

## By way and generator

All depths together. *Popularity .6, opposed*: a pair is observed with a probability ∝ popularity^.6, and popular
items are liked less. *Value 1*: each level below the best makes a rating less likely by e^−1. *Self-selected*: the
rarer an item, the more only those meet it who expect to like it; 4 is extreme: of two users one standard deviation
apart, the keener one meets the rarest items 55 times as readily. {least}No reading allows for that much, and the
more users there are, the smaller a bias is significant.

{way}
## By size

{size}
## Real ratings

CM100k: 1,054 users, each with about a hundred ratings of items drawn by lot, which are the truth and each user's
catalogue. *As people know* are the ratings of items that the user knew before; the other rows observe a quarter of
all ratings in a simulated way. MovieLens has no such truth.

{real}
## Other metrics

Lists of ten, worlds of the middle size. The readings count places as the metric does. Metrics of false positives
(antiprecision, fallout) are the least safe: an item without a rating counts for a system there, and where rare
items are rated by their fans alone their dislikes are missing under every reading. Of the {anti_wrong} wrong
ones of these metrics, {anti_selected} are of worlds whose raters select themselves.

{metric}
## Likes alone

Logs of liked pairs without any dislike, lists of all depths. *Depends* comes from one reading there, that items
have many ratings because many people come across them; it is right about as often as not.

{likes_table}
## What was tried

*Self-selected* must be right where raters of rare items are their fans, and not mislead elsewhere. Lists of ten; of
the significant orders, those that keep their order significantly under all of the named readings (*right*, *wrong*)
and those that one of them reverses (*reversed*, *upheld*). *Readiness* n: liked pairs are rated n times as readily
as others. *Met as often as disliked*: an item's exposure is its number of dislikes. *Doubly robust*: shares
expected from train for all listed items, and what the judged ones add. *Likes alone*: liked items, each weighted by
one over its likes.

{tried}
The audit asks *as judged* and *self-selected* (in bold) to agree. Any liked share among judged items does nearly as
well: what makes *holds* safe is that it agrees with the metric as evaluated, which errs to the other side. Likes
alone are wrong too often to make an order hold.

## Metrics of judged items instead

Orders that are significant by condensed nDCG and by bpref on the same lists, right / wrong. Both are far better
than plain nDCG on complete rankings, and hardly better on lists of ten, where they see those judged items alone
that systems listed.

{others}
## How it is measured

Worlds of two generators that share no code: `tv.simulate("world", …)` (*trueval*) and a few lines of NumPy
(*written out*, `benchmarks/known_worlds.py`), each observed in {ways} ways, of {sizes} sizes. A random {tested:.0%}
of the observed pairs is the test part. Eleven systems: fitted ones (popularity, average, item neighbours, factors,
a mixture of popularity and neighbours), arbitrary ones, oracles with noise of .5, 1.5 and 3 standard deviations,
and two oracles whose scores rise or fall with popularity. Pairs of one world are not independent of each other, so
that no intervals are printed. Of the largest worlds there are lists and no complete rankings."""


def page(records: Results) -> str:
    """The page of the documentation."""
    main = results_of(records, MAIN)
    likes = where(main, ["likes only"])
    main = where(main, [*SIDES[False], *SIDES[True]])
    whole, of_selected = Outcomes.of(main), Outcomes.of(where(main, SIDES[True]))
    others = Outcomes.of(where(main, SIDES[False]))
    untold = whole(CANNOT_TELL, 1), whole(CANNOT_TELL, -1)
    of_likes_ = Outcomes.of(likes)
    of_real_ = Outcomes.of(results_of(records, REAL))
    of_known = Outcomes.of(where(results_of(records, REAL), way=REAL_WAYS[-1]))
    anti_wrong = [
        OF_WAY[one["way"]] == SELECTED for one in results_of(records, BY_METRIC)
        if one["metric"].startswith(("anti", "fallout")) for pair in one["pairs"] if pair[2:4] == [-1, HOLDS]
    ]  # fmt: skip
    seeds = [record["task"][4] for record in records if record["task"][0] != REAL]
    return ABOUT.format(
        worlds=len(records), version=trueval.__version__,
        machine=f"Python {platform.python_version()}, {platform.machine()}",
        date=time.strftime("%Y-%m-%d"), first=min(seeds, default=FIRST_SEED), last=max(seeds, default=FIRST_SEED),
        right=percent(others(HOLDS, 1), others(HOLDS, -1)), plain=percent(*others.significant),
        right_selected=percent(of_selected(HOLDS, 1), of_selected(HOLDS, -1)),
        plain_selected=percent(*of_selected.significant), reversed=percent(others(DEPENDS, -1), others(DEPENDS, 1)),
        reversed_selected=percent(of_selected(DEPENDS, -1), of_selected(DEPENDS, 1)),
        untold=percent(sum(untold), sum(whole.significant) - sum(untold)), untold_right=percent(*untold),
        likes_hold=sum(pair[3] == HOLDS for one in likes for pair in one["pairs"]), likes=sum(of_likes_.significant),
        real_right=of_real_(HOLDS, 1), real_held=of_real_(HOLDS, 1) + of_real_(HOLDS, -1),
        real_upheld=of_known(DEPENDS, 1), real_depends=of_known(DEPENDS, 1) + of_known(DEPENDS, -1),
        anti_wrong=len(anti_wrong), anti_selected=sum(anti_wrong), group=by_group(main),
        least=least_right(main), wrong=wrong_worlds(main), way=by_way(main), size=by_size(main),
        real=of_real(results_of(records, REAL)), metric=by_metric(results_of(records, BY_METRIC)),
        likes_table=of_likes(likes), tried=tried(main), others=by_other_metrics(main), ways=len(WAYS), sizes=len(SIZES),
        tested=TESTED,
    )  # fmt: skip
