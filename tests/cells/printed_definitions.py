"""What a result prints, read as data, and computed once more by nothing else.

`read_result` takes the text of a result apart: values, settings, definitions. `computed` evaluates a definition as it
is written, for each user of a world, and averages by the printed population and rules. It knows no metric by its name:
what is computed is in the words of the formula, for aspect metrics and metrics of lists in a table from those words to
the functions of the naive oracles. It never imports `trueval`.
"""
# ruff: noqa: E501 - patterns are as long as what they match

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import naive_cells as cells
from naive_cells import NAN, Asked, Order, Unit, World

NOTHING = 1e-9  # the threshold of "value > 0"


# ---- reading -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Definition:
    """A definition as printed: the words of its formula, its options, what a preset adds."""

    formula: str
    options: Mapping[str, str]
    all_positive: bool = False
    undefined_is_zero: bool = False
    only_listed: bool = False

    @staticmethod
    def read(text: str) -> Definition:
        formula, options, rules = [], {}, []
        for part in text.split("; "):
            if re.fullmatch(r"[a-z_]+=\S+", part):
                options |= dict([part.split("=")])
            elif part in _RULES:
                rules.append(part)
            else:
                formula.append(part)
        return Definition("; ".join(formula), options, *(rule in rules for rule in _RULES[:3]))

    def number(self, name: str) -> float:
        return float(self.options[name])


_RULES = [
    "Rel here all judged items with a value above 0, whatever the threshold",
    "0 where it is undefined",
    "users without a list are left out",
    "with relevance flipped among judged items",
]


@dataclass(frozen=True)
class Printed:
    """A result as printed."""

    values: Mapping[str, str]
    better: Mapping[str, str]
    definitions: Mapping[str, Definition]
    design: str
    population: str
    users: int
    ties: str
    threshold: float


def read_result(text: str) -> Printed:
    """Take the text of a result of one system apart."""
    table, _, foot = text.partition("\n\n")
    rows = [re.match(r"(\S+)(?: ([↑↓]))?\s+(\S+)", line) for line in table.splitlines()[2:]]
    found = {row[1]: row for row in rows if row}
    printed = read_foot(foot)
    assert printed.definitions.keys() == found.keys()
    better = {label: {"↑": "higher", "↓": "lower"}.get(row[2], "neither") for label, row in found.items()}
    return replace(printed, values={label: row[3] for label, row in found.items()}, better=better)


def read_foot(foot: str) -> Printed:
    """The settings and definitions at the foot of a result."""
    lines = re.sub(r"\n  +", " ", foot).splitlines()  # what is longer than a line goes on below, indented
    settings = lines[0]
    limit = re.search(r"relevant: value (?:(> 0)|≥ (\S+))", settings)
    whom = re.search(r"population (\S+) \((\d+) users", settings)
    assert limit
    assert whom
    words = dict(line.split(" = ", 1) for line in lines[1:] if re.match(r"\S+ = ", line))
    return Printed(
        {}, {}, {label: Definition.read(text) for label, text in words.items()},
        re.search(r"design (\S+)", settings)[1],  # type: ignore[index]
        whom[1], int(whom[2]),
        re.search(r"ties (.+?) ·", settings)[1],  # type: ignore[index]
        NOTHING if limit[1] else float(limit[2]),
    )  # fmt: skip


# ---- one user ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """One user's list and judgements, and what formulas call them."""

    world: World
    unit: Unit
    order: Order
    k: int | None
    relevant: Mapping[str, float]
    definition: Definition

    @property
    def judged(self) -> Mapping[str, float]:
        return self.unit.judged

    def items(self, sign: str) -> list[str]:
        """Rel or Non."""
        return [item for item in self.judged if (item in self.relevant) == (sign in ("Rel", "R"))]

    def top(self, words: str) -> Order:
        return self.order[: self.k] if words.startswith("top(k)") else self.order

    def hits(self, words: str, sign: str) -> list[tuple[int, str]]:
        """Ranks and items of "top(k) ∩ Rel"."""
        wanted = self.items(sign)
        return [(rank, item) for rank, item in enumerate(self.top(words), 1) if item in wanted]

    def value(self, item: str) -> float:
        return self.judged[item]


Pair = tuple[float, float]  # numerator and denominator
Reader = Callable[[Seen, re.Match[str]], Pair]
_READERS: list[tuple[re.Pattern[str], Reader]] = []
TOP, SIGN, NUMBER = r"(?P<top>top\(k\)|the list)", r"(?P<sign>Rel|Non)", r"(?P<number>[RN])"


def reads(pattern: str) -> Callable[[Reader], Reader]:
    """The evaluator of formulas of this form."""

    def register(reader: Reader) -> Reader:
        _READERS.append((re.compile(pattern), reader))
        return reader

    return register


def evaluator(formula: str) -> tuple[Reader, re.Match[str]]:
    """The one that reads a formula."""
    found = [(reader, match) for pattern, reader in _READERS if (match := pattern.fullmatch(formula))]
    assert len(found) == 1, f"{len(found)} readings of {formula!r}"
    return found[0]


def over(part: float, whole: float) -> Pair:
    """part / whole, undefined without a whole."""
    return (part, whole) if whole else (NAN, NAN)


def alone(value: float) -> Pair:
    return value, 1.0


def whole_of(seen: Seen, words: str, sign: str) -> tuple[float, bool]:
    """What is divided by, and whether without it the value is 0."""
    n, top = len(seen.items(sign)), len(seen.order[: seen.k])
    within = [item for item in seen.order[: seen.k] if item in seen.judged]
    letter = {"Rel": "R", "Non": "N"}[sign]
    known = {
        "k": (seen.k, False), letter: (n, False), f"min(k, {letter})": (min(seen.k or 0, n), False),
        "|top(k)|, 0 for an empty list": (top, True), "(TP + FP), the judged items within k": (len(within), False),
        f"{letter}, 0 if {letter} = 0": (n, True),
    }  # fmt: skip
    return known[words]  # type: ignore[return-value]


@reads(rf"1 if top\(k\) ∩ {SIGN} is not empty, else 0")
def _hit(seen: Seen, found: re.Match[str]) -> Pair:
    return alone(float(bool(seen.hits("top(k)", found["sign"]))))


@reads(rf"\|top\((?P<depth>[kRN])\) ∩ {SIGN}\| / (?P<whole>.+)")
def _share(seen: Seen, found: re.Match[str]) -> Pair:
    depth = seen.k if found["depth"] == "k" else len(seen.items(found["sign"]))
    hits = [rank for rank, _ in seen.hits("the list", found["sign"]) if rank <= (depth or 0)]
    whole, zero = whole_of(seen, found["whole"], found["sign"])
    return alone(0.0) if zero and not whole else over(len(hits), whole)


@reads(rf"(?P<mean>.+), 0 without hits, Q = \|top\(k\) ∩ {SIGN}\| / [RN], P = \|top\(k\) ∩ (Rel|Non)\| / (?P<whole>.+)")
def _f(seen: Seen, found: re.Match[str]) -> Pair:
    hits, n = len(seen.hits("top(k)", found["sign"])), len(seen.items(found["sign"]))
    whole, _ = whole_of(seen, found["whole"], found["sign"])
    if not n or not whole:
        return NAN, NAN
    p, q = hits / whole, hits / n
    beta = seen.definition.number("beta") if found["mean"] == "(1 + β²)·P·Q / (β²·P + Q)" else 1.0
    assert beta != 1.0 or found["mean"] in ("2·P·Q / (P + Q)", "(1 + β²)·P·Q / (β²·P + Q)")
    return alone((1 + beta**2) * p * q / (beta**2 * p + q) if hits else 0.0)


@reads(rf"1 / rank of the first item of {TOP} ∩ {SIGN}, 0 if there is none")
def _rr(seen: Seen, found: re.Match[str]) -> Pair:
    return alone(max((1 / rank for rank, _ in seen.hits(found["top"], found["sign"])), default=0.0))


@reads(rf"Σ over {TOP} ∩ {SIGN} of \(\|top\(rank\) ∩ (Rel|Non)\| / rank\) / (?P<whole>.+)")
def _ap(seen: Seen, found: re.Match[str]) -> Pair:
    hits, n = seen.hits(found["top"], found["sign"]), len(seen.items(found["sign"]))
    total = sum(at / rank for at, (rank, _) in enumerate(hits, 1))
    words = found["whole"].replace("N", "R")
    if ", undefined if R = 0" in words and not n:
        return NAN, NAN
    words = words.replace(", undefined if R = 0", "")
    shown = len(seen.top(found["top"]))
    whole = {
        "R": lambda: n, "min(k, R)": lambda: min(seen.k, n), "k": lambda: seen.k,  # type: ignore[type-var]
        f"|{found['top']} ∩ {found['sign']}|, 0 without hits".replace("N", "R"): lambda: len(hits),
        f"min(|{found['top']}|, R), 0 for an empty list": lambda: min(shown, n),
    }[words]()  # fmt: skip
    return alone(0.0) if ", 0 " in words and not whole else over(total, float(whole or 0))


def gain_of(words: str, value: float) -> float:
    return {"value": value, "(2^value - 1)": 2**value - 1, "1": 1.0}[words]


def discount_of(words: str, rank: int) -> float:
    return {"log2(rank + 1)": math.log2(rank + 1), "max(1, log2(rank))": max(1.0, math.log2(rank))}[words]


GAIN = r"(?P<gain>value|\(2\^value - 1\)|1) / (?P<discount>log2\(rank \+ 1\)|max\(1, log2\(rank\)\))"


def dcg(seen: Seen, found: re.Match[str]) -> float:
    hits = seen.hits(found["top"], found["sign"])
    return sum(gain_of(found["gain"], seen.value(i)) / discount_of(found["discount"], rank) for rank, i in hits)


@reads(rf"Σ over {TOP} ∩ {SIGN} of {GAIN}")
def _dcg(seen: Seen, found: re.Match[str]) -> Pair:
    return alone(dcg(seen, found))


@reads(rf"DCG / DCG of (?P<ideal>.+), DCG = Σ over {TOP} ∩ {SIGN} of {GAIN}")
def _ndcg(seen: Seen, found: re.Match[str]) -> Pair:
    gains = sorted((gain_of(found["gain"], seen.value(i)) for i in seen.items(found["sign"])), reverse=True)
    best = {
        "the best order of {} cut at k": lambda: gains[: seen.k],
        "the best order of {}": lambda: gains,
        "k items that all have the highest gain of {}": lambda: gains[:1] * (seen.k or 0),
        "{} items that all have the highest gain of {}": lambda: gains[:1] * len(gains),
    }[re.sub(r"\b(Rel|Non|R|N)\b", "{}", found["ideal"])]()
    return over(dcg(seen, found), sum(g / discount_of(found["discount"], rank) for rank, g in enumerate(best, 1)))


@reads(rf"\(1 - p\)·Σ over {TOP} ∩ {SIGN} of (?P<value>value·)?p\^\(rank - 1\)")
def _rbp(seen: Seen, found: re.Match[str]) -> Pair:
    p, hits = seen.definition.number("p"), seen.hits(found["top"], found["sign"])
    return alone((1 - p) * sum(p ** (rank - 1) * (seen.value(i) if found["value"] else 1) for rank, i in hits))


@reads(
    rf"Σ over {TOP} ∩ {SIGN} of s·Π\(1 - s of the items of (Rel|Non) above\) / rank, "
    r"s = \(2\^(?P<value>value|1) - 1\) / 2\^gmax, gmax = (?P<gmax>.+)"
)
def _err(seen: Seen, found: re.Match[str]) -> Pair:
    highest = max(v for own in seen.world.test.values() for v in own.values())
    gmax = highest if found["gmax"] == "the highest value in the test set" else float(found["gmax"])
    left, total = 1.0, 0.0
    for rank, item in seen.hits(found["top"], found["sign"]):
        s = (2 ** (seen.value(item) if found["value"] == "value" else 1) - 1) / 2**gmax
        total, left = total + left * s / rank, left * (1 - s)
    return alone(total)


RIVALS = r"(?P<rivals>(judged )?targets) outside (Rel|Non)"


def beaten(seen: Seen, item: str, words: str, sign: str) -> float:
    """Share of the other targets that score below an item, equals counting half."""
    wanted = seen.items(sign)
    rivals = [i for i in seen.order if i not in wanted and (words == "targets" or i in seen.judged)]
    mine, scores = seen.world.scores[seen.unit.user][item], seen.world.scores[seen.unit.user]
    won = sum((scores[i] < mine) + (scores[i] == mine) / 2 for i in rivals)
    return won / len(rivals) if rivals else NAN


@reads(rf"P\(a random target in {SIGN} scores above a random one of the {RIVALS}\), equal scores count 1/2")
def _auc(seen: Seen, found: re.Match[str]) -> Pair:
    return over(
        sum(beaten(seen, i, found["rivals"], found["sign"]) for i in seen.items(found["sign"]) if i in seen.order),
        len(seen.items(found["sign"])),
    )


def depth_left(seen: Seen, rank: int) -> float:
    return 1 - (rank - 1) / (len(seen.order) - 1) if len(seen.order) > 1 else NAN


@reads(rf"mean over {SIGN} of 1 - \(rank - 1\) / \(\|T\| - 1\)")
def _atop(seen: Seen, found: re.Match[str]) -> Pair:
    hits = seen.hits("the list", found["sign"])
    return over(sum(depth_left(seen, rank) for rank, _ in hits), len(seen.items(found["sign"])))


# ---- weighted sums -----------------------------------------------------------------------------------------------


def amount_of(seen: Seen, words: str | None, rank: int, item: str, sign: str) -> float:
    if words is None:
        return 1.0
    if found := re.fullmatch(GAIN, words):
        return gain_of(found["gain"], seen.value(item)) / discount_of(found["discount"], rank)
    if found := re.fullmatch(rf"share of the {RIVALS} that score below, equal scores count 1/2", words):
        return beaten(seen, item, found["rivals"], sign)
    if found := re.fullmatch(r"\(1 - p\)·(value·)?p\^\(rank - 1\)", words):
        p = seen.definition.number("p")
        return (1 - p) * p ** (rank - 1) * (seen.value(item) if found[1] else 1)
    return {"1 / k": lambda: 1 / (seen.k or NAN), "1 - (rank - 1) / (|T| - 1)": lambda: depth_left(seen, rank)}[words]()


def weight_of(seen: Seen, words: str, item: str) -> float:
    if words == "1":
        return 1.0
    if words == "1 / propensity":
        return 1 / seen.world.propensity[item]
    if found := re.fullmatch(r"min\(1 / propensity, (\S+)\)", words):
        return min(1 / seen.world.propensity[item], float(found[1]))
    found = re.fullmatch(r"n\^-(\S+), n the item's relevant ratings in (.+)", words)
    assert found, words
    liked = seen.world.liked
    n = {
        "train and test, at least 1": lambda: max(1, liked["train"][item] + liked["test"][item]),
        "train plus 1": lambda: liked["train"][item] + 1,
        "test, at least 1": lambda: max(1, liked["test"][item]),
    }[found[2]]()
    return n ** -float(found[1])


WEIGHT = r"(?:, a = (?P<amount>.+?))?, w = (?P<weight>.+?)"


def added(seen: Seen, found: re.Match[str]) -> float:
    return sum(
        weight_of(seen, found["weight"], i) * amount_of(seen, found["amount"], rank, i, found["sign"])
        for rank, i in seen.hits(found["top"], found["sign"])
    )


@reads(rf"Σ over {TOP} ∩ {SIGN} of w(?:·a)?{WEIGHT}")
def _weighted_sum(seen: Seen, found: re.Match[str]) -> Pair:
    return alone(added(seen, found))


@reads(
    rf"Σ over {TOP} ∩ {SIGN} of w(?:·a)? / Σ over (Rel|Non) of w{WEIGHT}"
    r"(; numerators and denominators are added up over all users before they are divided)?"
)
def _weighted_mean(seen: Seen, found: re.Match[str]) -> Pair:
    return over(added(seen, found), sum(weight_of(seen, found["weight"], i) for i in seen.items(found["sign"])))


@reads(rf"\(Σ over {TOP} ∩ {SIGN} of w·a / Σ over (Rel|Non) of w\) · {NUMBER}{WEIGHT}, 0 if [RN] = 0")
def _own_snips(seen: Seen, found: re.Match[str]) -> Pair:
    items = seen.items(found["sign"])
    whole = sum(weight_of(seen, found["weight"], i) for i in items)
    return alone(added(seen, found) / whole * len(items) if items else 0.0)


MEAN_NUMBER = re.compile(
    rf"\(Σ over {TOP} ∩ {SIGN} of w·a / Σ over (Rel|Non) of w\) · mean of [RN] over users, numerators and denominators added "
    rf"up over all users before they are divided{WEIGHT}"
)


# ---- false positives, incomplete judgements ----------------------------------------------------------------------


@reads(
    r"Σ over the list ∩ Rel of \(1 - min\(n, R\) / min\(N, R\)\) / R, n the items of Non above, 1 in place of the term if "
    r"n = 0"
)
def _bpref(seen: Seen, found: re.Match[str]) -> Pair:
    r, n, total = len(seen.items("Rel")), len(seen.items("Non")), 0.0
    for rank, _ in seen.hits("the list", "Rel"):
        above = sum(item in seen.items("Non") for item in seen.order[: rank - 1])
        total += 1 - min(above, r) / min(n, r) if above else 1
    return over(total, r)


@reads(
    r"Σ over the list ∩ Rel of \(1/rank \+ \(d/rank\)·\(rel \+ ε\) / \(rel \+ non \+ 2ε\)\) / R, rel and non the items of "
    r"Rel and Non above, d = (?P<d>rank - 1|rel \+ non), ε = 0.00001, 1 in place of the term at rank 1"
)
def _infap(seen: Seen, found: re.Match[str]) -> Pair:
    total, e = 0.0, 0.00001
    for rank, _ in seen.hits("the list", "Rel"):
        rel, non = (sum(item in seen.items(sign) for item in seen.order[: rank - 1]) for sign in ("Rel", "Non"))
        d = rank - 1 if found["d"] == "rank - 1" else rel + non
        total += 1 / rank + d / rank * (rel + e) / (rel + non + 2 * e) if rank > 1 else 1
    return over(total, len(seen.items("Rel")))


# ---- aspects, metrics of the lists: from words to the functions of the naive oracles ------------------------------

_NOVEL = (
    r"J·Σ over the item's aspects of {}(?P<left>\(1 - α\)\^\(relevant items above with the aspect\)|"
    r"Π over relevant items above with the aspect of \(1 - α·J\)), J = (?P<worth>1|value / highest value in the data)"
)
_INTEREST = r"w_a the aspect's share of the user's (?P<profile>train|test) ratings, the same for all without any"
_DISC = r" / Σ over top\(k\) of disc, 0 for an empty list, disc = 1/log2\(rank \+ 1\)"
_AWARE = r"Σ over top\(k\)(?P<relevance> ∩ Rel)? of disc·"
_RANK = r", rank 1 the item with most relevant train ratings, equals sharing the mean of their ranks"
_HEAD = r"the head, the first ⌊(?P<head>[^·]+)·n⌋ of n items by popularity rank"
_TAIL = r"the tail, the last ⌈(?P<tail>[^·]+)·n⌉ of n items by popularity rank"
_TIED = r"; items of equal popularity have equal parts in the places that they share"
_COUNTED = r"x = sum of (?P<exposure>1/log2\(rank \+ 1\)|1) over the top\(k\) that hold the item"

WORDS: dict[str, tuple[str, str]] = {
    r"DCG / DCG of the greedy order of all targets, unrated ones included, cut at k, discount 1/log2\(rank \+ 1\), gain 1 - Π "
    r"over the item's aspects of \(1 - P·w_a·Π over items above of \(1 - P\)\), P = β·(?P<rescale>\(value - lowest\) / "
    r"\(highest - lowest value in the data\)|value / highest value in the data) for a rated item, α for an unrated one, "
    + _INTEREST: ("abndcg", "aspects"),
    r"DCG / DCG of the greedy order of Rel, cut at k, discount 1/log2\(rank \+ 1\), gain of an item of Rel "
    + _NOVEL.format(""): ("alpha_ndcg", "aspects"),
    r"\(1 - \(1 - α\)·β\) / \|aspects of Rel\| · Σ over the list ∩ Rel of β\^\(rank - 1\)·gain, gain = "
    + _NOVEL.format(""): ("nrbp", "aspects"),
    r"Σ over aspects a of w_a·Σ over top\(k\) ∩ Rel with a of s·Π\(1 - s of the items of Rel above with a\) / rank, "
    r"s = \(2\^value - 1\) / 2\^\(highest value in the data\), " + _INTEREST: ("err_ia", "aspects"),
    r"(?P<plain>α·)?Σ over top\(k\) ∩ Rel of Σ over the item's aspects of \(1 - α\)\^\(relevant items above with the aspect\) "
    r"/ rank / \|aspects of Rel\|(?P<ndeval> / Σ over ranks to k of \(1 - α\)\^\(rank - 1\) / rank)?": ("err_ia", "aspects"),
    rf"Σ over {TOP} of disc·\(gain - e\), disc = (?P<disc>1/log2\(rank \+ 1\)|β\^\(rank - 1\)), gain of an item of Rel "
    rf"{_NOVEL.format('w_a·')}, {_INTEREST}": ("eu", "aspects"),
    rf"\(1 - p\)·Σ over {TOP} of p\^\(rank - 1\)·\(gain - e\), gain of an item of Rel Σ over its aspects of w_a·s·Π\(1 - s of "
    r"the items of Rel above with the aspect\), s = \(2\^value - 1\) / 2\^\(highest value in Rel with the aspect\), "
    + _INTEREST: ("rbu", "aspects"),
    r"\|aspects of top\(k\)(?P<only> ∩ Rel)?\| / \|aspects of (Rel|all targets)\|": ("srecall", "aspects"),
    r"1 / first rank at which the items (?P<only>of Rel )?up to it have all aspects of (Rel|all targets); 0 if not within k":
        ("srr", "aspects"),
    _AWARE + r"\(mean of 1 - cosine to the features of the user's train items\)" + _DISC: ("epd", "beyond"),
    _AWARE + r"\(1 - share of train users who have the item\)" + _DISC: ("epc", "beyond"),
    _AWARE + r"-log2\(q\)" + _DISC + r", q = n / Σ of n over all items, n the item's train users, in the numerator 1/2 if "
    r"there are none": ("efd", "beyond"),
    r"mean over pairs of top\(k\), both with features, of 1 - (?P<similarity>cosine|Jaccard index) of their features":
        ("ild", "beyond"),
    r"mean over top\(k\) of -log2\(share of train users who have the item\); unseen items take 1/\(2·train users\)":
        ("novelty", "beyond"),
    r"mean over top\(k\) of the item's popularity in train": ("average_popularity", "beyond"),
    rf"share of top\(k\) in {_HEAD}{_TIED}": ("head_share", "beyond"),
    rf"share of top\(k\) in {_TAIL}{_TIED}": ("tail_share", "beyond"),
    rf"share of top\(k\) outside of {_HEAD}, and of {_TAIL}{_TIED}": ("mid_share", "beyond"),
    r"items of top\(k\) ∩ Rel that the k items with most train users, of those that the user does not have, do not hold / "
    r"(?P<denom>k|such items of top\(k\), 0 without any); of items with equally many at its cut that baseline shows a random "
    r"part": ("serendipity", "beyond"),
    r"share of top\(k\) without a judgement": ("unjudged", "quality"),
    rf"number of items in {TOP}": ("list_length", "quality"),
    r"share of top\(k\) that the user already has in train": ("seen", "quality"),
    r"share of top\(k\) that nobody has in train": ("cold", "quality"),
    r"root of the mean over all pairs of \(predicted - actual\)²": ("rmse", "errors"),
    r"mean over users of the root of the mean over the user's pairs of \(predicted - actual\)²": ("rmse", "errors"),
    r"mean over (?:all pairs|users of the mean over the user's pairs) of \|predicted - actual\|": ("mae", "errors"),
    r"mean over (?:all pairs|users of the mean over the user's pairs) of \(predicted - actual\)²": ("mse", "errors"),
}  # fmt: skip
SYSTEM_WORDS: dict[str, str] = {
    rf"Σ_i Σ_j \|x_i - x_j\| / \(2 n² mean\), x of the n items of the catalogue, zeros included, {_COUNTED}": "gini",
    rf"-Σ p log2 p, p = x / sum of all x, {_COUNTED}": "entropy",
    r"distinct items within anyone's top\(k\) / items in the catalogue": "coverage",
    rf"(?P<average>mean|median) over all recommended places of the item's popularity rank{_RANK}": "popularity_rank",
    rf"tail items within anyone's top\(k\) / number of tail items, {_TAIL.removeprefix('the tail, ')}{_TIED}":
        "tail_coverage",
}  # fmt: skip


def parameters_of(found: re.Match[str], definition: Definition) -> dict[str, Any]:
    """Parameters of an oracle, from the words of a formula; numbers from the options beside it."""
    words = found.groupdict()
    params: dict[str, Any] = {n: definition.number(n) for n in ("alpha", "beta", "e", "p") if n in definition.options}
    params |= {"profile": words["profile"]} if "profile" in words else {}
    if "rescale" in words:
        params["rescale"] = words["rescale"].startswith("(")
    if "left" in words:
        graded = "probabilistic" if words["left"].startswith("Π") else "graded"
        params["gain"] = "binary" if words["worth"] == "1" else graded
    if "disc" in words:
        params["discount"] = "log2" if words["disc"].startswith("1/log2") else "geometric"
        params.setdefault("beta", 0.9)
    if "ndeval" in words:
        params["form"] = "ndeval" if words["ndeval"] else "plain"
    elif found.re.pattern.startswith("Σ over aspects a"):
        params["form"] = "weighted"
        params.setdefault("alpha", 0.5)
    if "only" in words:
        params["relevant_only"] = words["only"] is not None
    if "relevance" in words:
        params["relevance"] = words["relevance"] is not None
    params |= {name: float(words[name]) for name in ("head", "tail") if name in words}
    if "denom" in words:
        params["denom"] = "k" if words["denom"] == "k" else "unexpected"
    params |= {name: words[name] for name in ("similarity", "average", "exposure") if name in words}
    return params


def _of_words(name: str, family: str) -> Reader:
    def read(seen: Seen, found: re.Match[str]) -> Pair:
        asked = Asked(name, seen.k, parameters_of(found, seen.definition), family=family)
        if family == "errors":
            pairs = [(seen.world.scores[seen.unit.user][item], rating) for item, rating in seen.judged.items()]
            losses = [abs(x - y) if name == "mae" else (x - y) ** 2 for x, y in pairs]
            return (sum(losses), len(losses)) if losses else (NAN, NAN)
        if name == "ild" and asked.params["similarity"] != "cosine":
            shown = seen.order[: seen.k]
            own = [frozenset(seen.world.aspects[item]) for item in shown]
            far = [1 - len(a & b) / len(a | b) for at, a in enumerate(own) for b in own[:at]]
            return over(sum(far), len(far))
        return alone(cells.value(seen.world, seen.unit, seen.order, asked))

    return read


for _pattern, (_name, _family) in WORDS.items():
    reads(_pattern)(_of_words(_name, _family))


# ---- all users ---------------------------------------------------------------------------------------------------

POOLED = "added up over all users before they are divided"


def computed(printed: Printed, label: str, world: World, units: Sequence[Unit]) -> float:
    """The value of a printed definition over the users of a world."""
    definition = printed.definitions[label]
    world = world if world.threshold == printed.threshold else replace(world, threshold=printed.threshold)
    k = re.search(r"@(\d+)", label)
    cutoff = int(k[1]) if k else None
    units = [unit for unit in units if _counts(printed, unit)]
    assert len({unit.user for unit in units}) == printed.users, "another number of users"
    if definition.only_listed:
        units = [unit for unit in units if unit.listed]
    for pattern, name in SYSTEM_WORDS.items():
        if found := re.fullmatch(pattern, definition.formula):
            return _system_value(printed, world, units, name, cutoff, parameters_of(found, definition))
    if found := MEAN_NUMBER.fullmatch(definition.formula):
        sums = [_expected(printed, label, world, unit, cutoff, _sums(found)) for unit in units]
        above, below, number = (sum(column) for column in zip(*sums))
        return above / below * number / len(units) if below else NAN
    reader, found = evaluator(definition.formula)

    def read(seen: Seen) -> tuple[float, ...]:
        return reader(seen, found)

    pairs = [_expected(printed, label, world, unit, cutoff, read) for unit in units]
    formula = definition.formula
    if POOLED in formula or "over all pairs" in formula:
        known = [pair for pair in pairs if not math.isnan(pair[0])]
        below = sum(pair[1] for pair in known)
        value = sum(pair[0] for pair in known) / below if below else NAN
        return math.sqrt(value) if formula.startswith("root") else value
    values = [above / below for above, below in pairs]
    if "root of the mean over the user's pairs" in formula:
        values = [math.sqrt(value) for value in values]
    if definition.undefined_is_zero:
        values = [0.0 if math.isnan(value) else value for value in values]
    return cells.mean(values)


def _sums(found: re.Match[str]) -> Callable[[Seen], tuple[float, ...]]:
    def read(seen: Seen) -> tuple[float, ...]:
        items = seen.items(found["sign"])
        return added(seen, found), sum(weight_of(seen, found["weight"], i) for i in items), float(len(items))

    return read


def _counts(printed: Printed, unit: Unit) -> bool:
    liked = any(value >= printed.threshold for value in unit.judged.values())
    return {"relevant": liked, "judged": bool(unit.judged), "all": True}[printed.population]


_FALLING = ("descending id", "trec_eval")


def _orders(printed: Printed, unit: Unit) -> list[Order]:
    """The orders of equal scores that the printed rule allows."""
    (blocks,) = unit.possible
    if printed.ties in ("given", "ranx", *_FALLING):
        return [cells.by_name(blocks, "falling" if printed.ties in _FALLING else "given")]
    assert printed.ties in ("expected", "best", "worst"), printed.ties
    return list(cells.orders_of(blocks))


def _expected(
    printed: Printed, label: str, world: World, unit: Unit, k: int | None, read: Callable[[Seen], tuple[float, ...]]
) -> tuple[float, ...]:
    """What a user adds: the mean over all orders of equals, the best or the worst one."""
    definition = printed.definitions[label]
    limit = NOTHING if definition.all_positive else printed.threshold
    relevant = {item: value for item, value in unit.judged.items() if value >= limit}
    found = [read(Seen(world, unit, order, k, relevant, definition)) for order in _orders(printed, unit)]
    if printed.ties in ("best", "worst"):
        higher = (printed.ties == "best") == (printed.better[label] == "higher")
        return (max if higher else min)(found, key=lambda pair: pair[0] / (pair[1] if len(pair) == 2 else 1))
    if (
        len(found) > 1 and len(found[0]) == 2 and len({below for _, below in found}) > 1
    ):  # divided by what the order decides
        values = [above / below for above, below in found]
        return cells.mean(values), 1.0
    return tuple(sum(column) / len(found) for column in zip(*found))


def _system_value(
    printed: Printed, world: World, units: Sequence[Unit], name: str, k: int | None, params: Mapping[str, Any]
) -> float:
    lists = {unit.user: _orders(printed, unit)[0] for unit in units}
    asked = Asked(name, k, {name: value for name, value in params.items() if name != "exposure"})
    if str(params.get("exposure", "1")) != "1":
        weight = dict.fromkeys(world.items, 0.0)
        for order in lists.values():
            for rank, item in enumerate(order[:k], 1):
                weight[item] += 1 / math.log2(rank + 1)
        oracle = cells.naive.gini if name == "gini" else cells.naive.entropy
        return oracle(list(weight.values()))
    return cells.system_value(world, lists, asked, world.items)
