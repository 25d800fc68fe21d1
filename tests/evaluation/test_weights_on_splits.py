"""Every split × every weighted metric × every side × source of propensities: the world's truth, or a refusal.

Users like items, and meet them with probabilities that are known. A system's scores are fixed, so that its lists, and
what they are worth with everything observed, follow from the train part by counting. Estimates must lie within four
standard errors of that. The chances with which pairs are tested, on which errors, clipped weights and means over users
depend, are derived here once more, pair by pair.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.errors import TruevalError
from trueval.splits import Parts, load_parts, save_parts

USERS, ITEMS, K, CLIP = 1200, 24, 3, 3.0
CATALOGUE = pl.DataFrame({"item": range(ITEMS)})
PLACES = np.array([1.0, 0.6, 0.4, 0.25])  # how likely each position is to be looked at
SUMS = ("precision", "dcg", "rbp")
METRICS = [
    *(f"ips({name})@{K}" for name in SUMS), f"ips(precision)@{K}[clip={CLIP:g}]",
    *(f"snips({name})@{K}" for name in (*SUMS, "recall")), "snips(atop)", f"snips(recall)@{K}[clip={CLIP:g}]",
    f"snips(recall)@{K}[average=mean]",
]  # fmt: skip
SYSTEMS = {"popular first": np.arange(ITEMS, 0, -1.0), "others first": np.roll(np.arange(ITEMS, 0, -1.0), 9)}


@dataclass(frozen=True, eq=False)
class Truth:
    """What is liked and how likely it is met; the log, with p and position, and ratings of items drawn at random."""

    p: np.ndarray
    liked: np.ndarray
    log: pl.DataFrame
    sample: pl.DataFrame
    by_item: np.ndarray


@cache
def world(kind: str, seed: int = 0) -> Truth:
    """By "pair", "item" or "place" of what p depends; "rare" and "place" have small p. "inside": the sample has the
    whole log."""
    rng = np.random.default_rng(seed)
    by_item, activity = np.linspace(0.9, 0.15, ITEMS), rng.choice([0.6, 1.0], (USERS, 1))
    place = rng.integers(0, len(PLACES), (USERS, ITEMS))
    if kind == "place":
        by_item, activity = np.full(ITEMS, 0.5), PLACES[place]
    elif kind in ("item", "rare"):
        by_item, activity = by_item * (0.2 if kind == "rare" else 1.0), np.ones((USERS, 1))
    p = by_item * activity * np.ones((USERS, ITEMS))
    liked = rng.random((USERS, ITEMS)) < 0.15 + 0.4 * p / p.max()
    met = rng.random((USERS, ITEMS)) < p
    met[np.arange(USERS), rng.integers(0, ITEMS, USERS)] |= ~met.any(axis=1)  # all users are in the log

    def table(some: np.ndarray) -> pl.DataFrame:
        user, item = np.nonzero(some)
        return pl.DataFrame({"user": user, "item": item, "value": np.where(liked[some], 5.0, 1.0)})

    log = table(met).with_columns(
        time=pl.Series(rng.permutation(int(met.sum()))), p=pl.Series(p[met]), position=pl.Series(place[met] + 1)
    )
    drawn = rng.random((USERS, ITEMS)).argsort(axis=1) < 6
    if kind == "inside":
        drawn = rng.random((USERS, ITEMS)) < 0.9
        log = log.filter(pl.Series(drawn[met]))
        p = p * 0.9
    return Truth(p, liked, log, table(drawn), by_item)


@dataclass(frozen=True)
class Case:
    """A split, and the chance that it tests a pair: on the side "" or "observed", given what train excludes."""

    how: str
    options: dict[str, Any]
    chance: Callable[[Truth, Parts, str, bool], np.ndarray] | None  # None: probabilities are refused
    kind: str = "pair"
    design: str = "AR-AI-AN"

    def parts(self, truth: Truth, seed: int = 0) -> Parts:
        options = {**self.options, "mar": truth.sample} if self.how == "unbiased" else self.options
        made: Any = tv.split(truth.log, self.how, seed=seed, **options)
        return made[0] if isinstance(made, list) else made


def mask(*logs: Any) -> np.ndarray:
    """The pairs of some logs."""
    found = np.zeros((USERS, ITEMS), bool)
    for log in logs:
        if log is not None:
            frame = log.frame if hasattr(log, "frame") else log
            found[frame["user"].to_numpy(), frame["item"].to_numpy()] = True
    return found


def by_share(s: float, t: float) -> Callable[[Truth, Parts, str, bool], np.ndarray]:
    """Tested, of what is not in train: s p of 1 - t p."""
    return lambda truth, parts, side, seen: s * truth.p / (1 if seen else 1 - t * truth.p)


def by_counts(axis: int) -> Callable[[Truth, Parts, str, bool], np.ndarray]:
    """The same with the shares of each user's, or item's, rows."""

    def chance(truth: Truth, parts: Parts, side: str, seen: bool) -> np.ndarray:
        whole, test, train = (
            mask(*logs).sum(axis=axis, keepdims=True)
            for logs in ((parts.train, parts.validation, parts.test), (parts.test,), (parts.train,))
        )
        s, t = (part / np.maximum(whole, 1) for part in (test, train))
        return s * truth.p / (1 if seen else 1 - t * truth.p)

    return chance


def beside_random(truth: Truth, parts: Parts, side: str, seen: bool) -> np.ndarray:
    """One coin c for each pair: c < ratio is observed, where it is in the log; c < sample is tested, where it is in the
    sample; the rest of the log is train. Of independent draws the probability of each combination is a product."""
    ratio, sample = parts.how["ratio"] or 0.0, parts.how["sample"]
    inside = len(mask(truth.log)[mask(truth.log) & ~mask(truth.sample)]) == 0
    log, both_given_log = mask(truth.log), 1.0 if inside else 6 / ITEMS
    taken = both_given_log * max(0.0, sample - ratio)  # of the log, tested though it would be train
    if side == "observed":
        return ratio * truth.p / (1 if seen else 1 - (1 - ratio - taken) * truth.p)
    drawn = mask(truth.sample).sum(axis=1, keepdims=True) / ITEMS * np.ones((1, ITEMS))
    if seen:
        return drawn * sample
    if inside:  # only where sample <= ratio: every other pair of train would be tested or not by what p is
        return drawn * sample / (1 - (1 - ratio) * truth.p)
    held = mask(parts.observed)
    chance = np.where(held, drawn * min(1.0, sample / max(ratio, 1e-9)), drawn * sample)
    return np.where(log & ~held, 1.0, chance)


CASES = {
    "holdout": Case("holdout", {"ratio": 0.3}, by_share(0.3, 0.7)),
    "holdout, validation": Case("holdout", {"ratio": 0.3, "validation": 0.2}, by_share(0.3, 0.5)),
    "holdout by user": Case("holdout", {"ratio": 0.3, "by": "user"}, by_counts(1)),
    "holdout by user, validation": Case("holdout", {"ratio": 0.3, "by": "user", "validation": 0.2}, by_counts(1)),
    "kfold": Case("kfold", {"n": 4}, by_share(0.25, 0.75)),
    "kfold of users": Case("kfold", {"n": 4, "over": "users"}, by_share(0.25, 0.0)),
    "leave one out": Case("leave_one_out", {"which": "random"}, by_counts(1)),
    "leave two out, validation": Case("leave_one_out", {"which": "random", "n": 2, "validation": 1}, by_counts(1)),
    "uniform": Case("uniform_test", {"ratio": 0.2}, by_counts(0), design="AR-TI-AN"),
    "uniform, nearest": Case("uniform_test", {"ratio": 0.2, "round": "nearest"}, by_counts(0), design="AR-TI-AN"),
    "unbiased": Case("unbiased", {"ratio": 0.3}, beside_random),
    "unbiased, nothing observed": Case("unbiased", {"ratio": None}, beside_random),
    "unbiased, half": Case("unbiased", {"ratio": 0.2, "sample": 0.5}, beside_random),
    "unbiased, less than observed": Case("unbiased", {"ratio": 0.5, "sample": 0.4}, beside_random),
    "unbiased, with the log inside": Case("unbiased", {"ratio": 0.3, "sample": 0.3}, beside_random, "inside"),
    "unbiased, more with the log inside": Case("unbiased", {"ratio": 0.2, "sample": 0.5}, beside_random, "inside"),
    "unbiased, less with the log inside": Case("unbiased", {"ratio": 0.5, "sample": 0.3}, beside_random, "inside"),
    "temporal": Case("temporal", {"ratio": 0.3}, None),
    "temporal, validation": Case("temporal", {"ratio": 0.3, "validation": 0.2}, None),
    "rolling": Case("rolling", {"windows": 2}, None),
    "user_temporal": Case("user_temporal", {"ratio": 0.3}, None),
    "user_temporal, validation": Case("user_temporal", {"ratio": 0.3, "validation": 0.2}, None),
    "leave the last out": Case("leave_one_out", {}, None),
}


def systems() -> dict[str, Any]:
    return {name: tv.Function(lambda users, row=row: np.tile(row, (len(users), 1))) for name, row in SYSTEMS.items()}


def asked(design: str, propensity: Any, metrics: list[str] = METRICS) -> dict[str, Any]:
    more = {"items": CATALOGUE} if "AI" in design else {}
    options = {"metrics": metrics, "threshold": 4, "population": "all", "interval": "none"}
    return {"design": design, "propensity": propensity, **options, **more}


def amounts(scores: np.ndarray, targets: np.ndarray) -> dict[str, np.ndarray]:
    """What each pair adds to each metric where it is liked, by its rank among the user's targets."""
    order = np.argsort(np.where(targets, -scores, np.inf), axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(1, ITEMS + 1)[None, :].repeat(len(order), 0), axis=1)
    top, number = rank <= K, targets.sum(axis=1, keepdims=True)
    return {
        "precision": top / K,
        "dcg": 5 * top / np.log2(rank + 1),  # the value of what is liked is its gain
        "rbp": top * 0.2 * 0.8 ** (rank - 1.0),
        "recall": top * 1.0,
        "atop": 1 - (rank - 1) / np.maximum(number - 1, 1),
    }


def errors(
    found: Any,
    case: Case,
    truth: Truth,
    parts: Parts,
    side: str,
    factor: float = 1.0,
    most: float = 4.0,
    metrics: Sequence[str] = METRICS,
    power: float = 0.15,
) -> Iterator[float]:
    """How far each cell of a side is from the truth, in standard errors. `factor`: of p known up to a factor."""
    seen, test = case.design.endswith("-seen"), parts.observed if side else parts.test
    assert case.chance is not None
    q = case.chance(truth, parts, side, seen)
    targets = np.ones((USERS, ITEMS), bool) if seen else ~mask(parts.train)
    if "TI" in case.design:
        targets &= np.isin(np.arange(ITEMS), test.frame["item"].unique().to_numpy())
    in_log = mask(truth.log).any(axis=1) | mask(truth.sample if case.how == "unbiased" else truth.log).any(axis=1)
    if case.options.get("over") == "users":  # each user is tested in one fold, with nothing in train
        q = np.where(mask(parts.train).any(axis=1)[:, None], 0.25 * truth.p, q)
        targets = np.ones((USERS, ITEMS), bool)
    people, liked = int(in_log.sum()), truth.liked & targets
    tested = mask(test) & truth.liked
    assert not (tested & ~targets).any()
    weight = np.where(tested, 1 / np.maximum(q, 1e-300), 0.0)
    for name, row in SYSTEMS.items():
        amount = amounts(row, targets)
        for metric in metrics:
            kind, inner = metric.split("(")[0], metric.split("(")[1].split(")")[0]
            a, w = amount[inner], weight
            value = found[name, metric].value
            if "average=mean" in metric:  # weights cancel out within users: the definition itself
                has = tested.any(axis=1)
                assert value == pytest.approx(np.mean((w * a).sum(axis=1)[has] / w.sum(axis=1)[has]), rel=1e-9)
                assert any(metric in note and "most of the bias remains" in note for note in found.warnings)
                yield 0.0
                continue
            likely = liked * 1.0
            if "clip" in metric:
                w, likely = np.minimum(w, CLIP), liked * np.minimum(1.0, CLIP * q)
            if kind == "ips":
                true = (likely * a).sum() / people
                error = ((w - likely) * a).sum(axis=1).std() / np.sqrt(people)
                value *= factor
            else:
                mean = (likely * a).sum() / likely.sum()
                level = tested.sum() / people if inner in SUMS else 1.0
                error = level * (w * (a - mean)).sum(axis=1).std() * np.sqrt(people) / w.sum()
                true = level * mean
            said = f"{metric} of {name}: {value:.4f}, true {true:.4f} ± {error:.4f}"
            assert error < power * true, said
            assert abs(value - true) < most * error, said
            yield (value - true) / error


def sides(found: Any, parts: Parts) -> dict[str, Any]:
    return {"": found, **({} if parts.observed is None else {"observed": found.observed})}


def pairs_table(truth: Truth) -> pl.DataFrame:
    user, item = (axis.ravel() for axis in np.indices(truth.p.shape))
    return pl.DataFrame({"user": user, "item": item, "p": truth.p.ravel()})


def with_seen(case: Case, seen: bool) -> Case:
    return replace(case, design=case.design + "-seen" * seen)


def refused(case: Case, seen: bool) -> bool:
    """Where probabilities of the log do not tell what was tested."""
    per_user = case.options.get("by") == "user" or case.how == "leave_one_out"
    inside = case.kind == "inside" and case.options["sample"] > case.options["ratio"]
    return case.chance is None or (not seen and (per_user or inside))


CELLS = [(name, seen) for name in CASES for seen in (False, True)]


@pytest.mark.parametrize(("name", "seen"), [cell for cell in CELLS if not refused(CASES[cell[0]], cell[1])])
def test_given_probabilities_have_the_truth(name: str, seen: bool) -> None:
    """On every side; `seen`: train items are recommended, too."""
    case = with_seen(CASES[name], seen)
    truth = world(case.kind)
    parts = case.parts(truth)
    column = case.kind == "pair" and not seen  # the random sample has no such column, and needs none
    found = tv.evaluate(parts, systems(), **asked(case.design, "column:p" if column else pairs_table(truth)))
    for side, own in sides(found, parts).items():
        assert len(list(errors(own, case, truth, parts, side))) == len(METRICS) * len(SYSTEMS), side
        assert not any("up to a factor" in note or "are taken as" in note for note in own.warnings)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seen"), [cell for cell in CELLS if not refused(CASES[cell[0]], cell[1])])
def test_given_probabilities_have_the_truth_over_many_worlds(name: str, seen: bool) -> None:
    """A bias of one standard error of one world would be seen."""
    case, found, worlds = with_seen(CASES[name], seen), {}, 20
    for seed in range(1, worlds + 1):
        truth = world.__wrapped__(case.kind, seed)
        parts = case.parts(truth, seed)
        values = tv.evaluate(parts, systems(), **asked(case.design, pairs_table(truth)))
        for side, own in sides(values, parts).items():
            found.setdefault(side, []).append(list(errors(own, case, truth, parts, side, most=6)))
    for side, own in found.items():
        assert np.abs(np.mean(own, axis=0)).max() < 4 / np.sqrt(worlds), side


@pytest.mark.parametrize(("name", "seen"), [cell for cell in CELLS if refused(CASES[cell[0]], cell[1])])
def test_probabilities_are_refused_where_they_do_not_tell_what_is_tested(name: str, seen: bool, tmp_path: Path) -> None:
    """In Python and for the files of a saved split, by the same words."""
    case, messages = with_seen(CASES[name], seen), set()
    truth = world(case.kind)
    parts = case.parts(truth)
    lists = parts.test.frame.select("user", "item", rank=pl.int_range(1, pl.len() + 1).over("user"))
    save_parts(parts, tmp_path / "parts")
    files = [f"{part}.parquet" for part in ("test", "validation") if getattr(parts, part) is not None]
    for metric in METRICS:
        options = asked(case.design, pairs_table(truth), [metric])
        with pytest.raises(TruevalError) as caught:
            tv.evaluate(parts, systems(), **options)
        messages.add(str(caught.value).replace(metric, "m"))
        for file in files:
            del options["design"]
            options |= {"seen": "allow" if seen else "exclude", "train": tmp_path / "parts" / "train.parquet"}
            with pytest.raises(TruevalError) as caught:
                tv.evaluate_run(lists, tmp_path / "parts" / file, **options)
            messages.add(str(caught.value).replace(metric, "m"))
            options["design"] = None
    (message,) = messages
    assert "m cannot be computed: the split gives pairs an unknown chance to be tested" in message


# ---- folders -------------------------------------------------------------------------------------------------


def tables_of_lists(parts: Parts, seen: bool, items: np.ndarray) -> dict[str, pl.DataFrame]:
    """The complete rankings of the systems, as tables."""
    people = mask(parts.train, parts.validation, parts.test).any(axis=1, keepdims=True)
    allowed = people & (True if seen else ~mask(parts.train))
    user, item = np.nonzero(allowed & np.isin(np.arange(ITEMS), items))
    return {name: pl.DataFrame({"user": user, "item": item, "score": row[item]}) for name, row in SYSTEMS.items()}


def of_weights(found: Any) -> set[str]:
    return {note for note in found.warnings if any(word in note for word in ("propensit", "weight", "observed with"))}


@pytest.mark.parametrize(
    ("name", "seen"), [cell for cell in CELLS if CASES[cell[0]].kind == "pair" and not refused(CASES[cell[0]], cell[1])]
)
def test_files_of_a_saved_split_have_the_values_of_the_split(name: str, seen: bool, tmp_path: Path) -> None:
    """With their warnings; the file of the random sample has no column of propensities, and needs none."""
    case = with_seen(CASES[name], seen)
    parts = case.parts(world(case.kind))
    save_parts(parts, tmp_path)
    own = load_parts(tmp_path)
    found = tv.evaluate(parts, systems(), **asked(case.design, "column:p"))
    for side, expected in sides(found, parts).items():
        test = own.observed if side else own.test
        items = test.frame["item"].unique().to_numpy() if "TI" in case.design else np.arange(ITEMS)
        run = tv.evaluate_run(
            tables_of_lists(own, seen, items), tmp_path / f"{side or 'test'}.parquet",
            train=tmp_path / "train.parquet", seen="allow" if seen else "exclude",
            **{**asked("", "column:p"), "design": None, "items": pl.DataFrame({"item": items})},
        )  # fmt: skip
        for system in SYSTEMS:
            for metric in METRICS:
                assert run[system, metric].value == pytest.approx(expected[system, metric].value, rel=1e-9), metric
        assert of_weights(run) == of_weights(expected)


# ---- propensities known up to a factor -----------------------------------------------------------------------


def clicks_of(places: np.ndarray, *, items: bool) -> pl.DataFrame:
    """2,000 displays at each place, of each of two items, with exactly the clicks to be expected."""
    rows = [
        {"item": item, "position": at, "click": int(nth < 2000 * look * rate)}
        for item, rate in ((0, 0.5), (1, 1.0))[: 1 + items]
        for at, look in enumerate(places, 1)
        for nth in range(2000)
    ]
    return pl.DataFrame(rows)


RELATIVE = {  # the source, on what p depends, and the true p of what has the relative one of 1
    "popularity": ("item", lambda truth: "popularity:1", lambda truth: truth.by_item.max()),
    "popularity, rare": ("rare", lambda truth: "popularity:1", lambda truth: truth.by_item.max()),
    "display share": (
        "rare",
        lambda truth: tv.Propensity.display_share(
            pl.DataFrame({"item": range(ITEMS), "count": (truth.by_item * 1e6).round()})
        ),
        lambda truth: truth.by_item.sum(),
    ),
    "randomised": (
        "place", lambda truth: tv.Propensity.randomised(clicks_of(PLACES, items=False)), lambda truth: 0.5,
    ),
    "position model": (
        "place", lambda truth: tv.Propensity.position(clicks_of(PLACES, items=True)), lambda truth: 0.5,
    ),
}  # fmt: skip
STEADY = [metric for metric in METRICS if "clip" not in metric and "average" not in metric]


@pytest.mark.parametrize("name", ["holdout", "kfold", "holdout by user", "uniform", "unbiased"])
@pytest.mark.parametrize("source", RELATIVE)
def test_relative_propensities_have_the_truth_up_to_their_factor(source: str, name: str) -> None:
    """Where train items are recommended, too; snips does not know the factor, and a note says that ips does."""
    kind, make, factor = RELATIVE[source]
    case = replace(with_seen(CASES[name], True), kind=kind)
    truth = world(kind)
    parts = case.parts(truth)
    made = make(truth)
    if name == "uniform" and made == "popularity:1":
        with pytest.raises(TruevalError, match="cannot be weighted by popularity in this train part"):
            tv.evaluate(parts, systems(), **asked(case.design, made))
        made = tv.Propensity.popularity(truth.log, gamma=1)
    found = tv.evaluate(parts, systems(), **asked(case.design, made))
    for side, own in sides(found, parts).items():
        drawn = name == "unbiased" and not side
        scale = 1.0 if drawn else 1 / factor(truth)
        # popularity is counted, and has errors of its own; clipped weights and means of users have another scale
        assert len(list(errors(own, case, truth, parts, side, factor=scale, most=5, metrics=STEADY, power=0.4)))
        noted = [note for note in own.warnings if "known up to a factor only, and so are the values" in note]
        assert len(noted) == (not drawn)


@pytest.mark.parametrize("name", ["holdout", "kfold", "unbiased"])
def test_what_relative_propensities_cannot_allow_for_is_said(name: str) -> None:
    """Train items that are not recommended; the error is small where p is, and large where a note is needed."""
    off = {}
    for kind in ("rare", "item"):
        case = replace(CASES[name], kind=kind)
        truth = world(kind)
        parts = case.parts(truth)
        found = tv.evaluate(parts, systems(), **asked(case.design, "popularity:1", ["snips(recall)@3"]))
        own = found.observed or found
        assert sum("weights cannot allow for train items" in note for note in own.warnings) == 1
        targets = ~mask(parts.train)
        liked, top = truth.liked & targets, amounts(SYSTEMS["popular first"], targets)["recall"]
        off[kind] = own["popular first", "snips(recall)@3"].value / ((liked * top).sum() / liked.sum())
    assert off["rare"] == pytest.approx(1, abs=0.25)
    assert abs(off["item"] - 1) > 0.1


def test_relative_propensities_on_splits_by_time_come_with_a_note() -> None:
    parts = CASES["temporal"].parts(world("rare"))
    found = tv.evaluate(parts, systems(), **asked("AR-AI-AN", "popularity:1", ["snips(recall)@3"]))
    assert any("weights cannot allow for train items" in note for note in found.warnings)


# ---- what else is refused, and that the advice works -----------------------------------------------------------


def test_given_parts_take_probabilities_of_the_test_set(tmp_path: Path) -> None:
    """What a refusal advises: parts as tables, with the chance of the test set itself; the file of them likewise."""
    truth = world("pair")
    case = CASES["temporal"]
    made = case.parts(truth)
    share = len(made.test) / len(truth.log)  # times have nothing to do with what is met
    given = tv.split(made.train, "given", test=made.test)
    chance = by_share(share, 1 - share)(truth, made, "", False)
    table = pairs_table(replace(truth, p=chance))
    found = tv.evaluate(given, systems(), **asked("AR-AI-AN", table))
    own = replace(case, chance=by_share(share, 1 - share))
    assert len(list(errors(found, own, truth, given, ""))) == len(METRICS) * len(SYSTEMS)
    assert any("propensities are taken as the probability" in note for note in found.warnings)
    save_parts(given, tmp_path)
    run = tv.evaluate_run(
        tables_of_lists(given, False, np.arange(ITEMS)), tmp_path / "test.parquet", train=tmp_path / "train.parquet",
        **{**asked("AI", table), "design": None},
    )  # fmt: skip
    for metric in METRICS:
        assert run["popular first", metric].value == pytest.approx(found["popular first", metric].value, rel=1e-9)
    assert of_weights(run) == of_weights(found)


@pytest.mark.parametrize(
    ("change", "how", "options", "words", "instead"),
    [
        ("", "holdout", {"min_user": 8}, "rows dropped by min_user", {}),
        ("", "kfold", {"min_item": 400}, "rows dropped by min_item", {}),
        ("twice", "holdout", {}, "pairs with several rows", {}),
        ("", "uniform_test", {"threshold": 4.0, "ratio": 0.1}, "only values of 4", None),
    ],
)
def test_drops_repeats_and_thresholds_of_a_split_are_refused(
    change: str, how: str, options: dict[str, Any], words: str, instead: dict[str, Any] | None
) -> None:
    truth = world("pair")
    log = pl.concat([truth.log, truth.log.head(50).with_columns(time=pl.col("time") + 10**6)]) if change else truth.log
    made: Any = tv.split(log, how, **options)
    parts = made[0] if isinstance(made, list) else made
    with_test = {**asked("AR-TI-AN-seen", pairs_table(truth), ["snips(recall)@3"]), "population": "relevant"}
    with_test["threshold"] = 4 if instead is not None else 3
    with pytest.raises(TruevalError, match=words):
        tv.evaluate(parts, systems(), **with_test)
    if instead is None:  # the threshold that is advised
        assert tv.evaluate(parts, systems(), **{**with_test, "threshold": 4})
        return
    clean: Any = tv.split(truth.log, how, **instead)
    assert tv.evaluate(clean[0] if isinstance(clean, list) else clean, systems(), **with_test)


def test_areas_under_the_curve_say_or_refuse_what_weights_cannot_mend() -> None:
    """Unobserved likes count as rivals; judged rivals were observed by chance, and are not weighted."""
    parts = CASES["holdout"].parts(world("pair"))
    with pytest.raises(TruevalError, match="cannot be weighted"):
        tv.evaluate(parts, systems(), **asked("AR-AI-AN", "column:p", ["snips(auc[against=judged])"]))
    found = tv.evaluate(parts, systems(), **asked("AR-AI-AN", "column:p", ["snips(auc)", "snips(atop)"]))
    (note,) = [note for note in found.warnings if "towards 1/2" in note]
    assert note.startswith("snips(auc): ")


def test_sides_of_unknown_origin_are_refused() -> None:
    truth = world("pair")
    made = CASES["unbiased"].parts(truth)
    parts = Parts(made.train, made.test, observed=made.observed, how={"how": "by hand"})
    options = asked("AR-AI-AN", pairs_table(truth), ["snips(recall)@3"])
    with pytest.raises(TruevalError, match="how each side was drawn is unknown"):
        tv.evaluate(parts, systems(), **options)
    for side in (made.test, made.observed):
        assert tv.evaluate(tv.split(made.train, "given", test=side), systems(), **options)


def test_ips_needs_everybody_and_everything_to_be_within_reach() -> None:
    truth = world("pair")
    some = truth.sample.filter(pl.col("user") < USERS // 2)
    few = truth.sample.filter(pl.col("item") != 3)
    for sample, words, ok in ((some, "for every user", "snips(precision)@3"), (few, "for every item", "AR-TI-AN")):
        parts = tv.split(truth.log, "unbiased", mar=sample, ratio=0.3)
        options = asked("AR-AI-AN", "column:p", ["ips(precision)@3"])
        with pytest.raises(TruevalError, match=words) as caught:
            tv.evaluate(parts, systems(), **options)
        assert ok in caught.value.do
        changed = {"metrics": [ok]} if "snips" in ok else {"design": ok}
        options.pop("items") if "snips" not in ok else None
        assert tv.evaluate(parts, systems(), **{**options, **changed})
    kept = truth.log.filter(pl.col("user") < USERS // 2)
    parts = tv.split(kept, "unbiased", mar=some, ratio=0.3)
    assert tv.evaluate(parts, systems(), **asked("AR-AI-AN", "column:p", ["ips(precision)@3"]))
    uniform = CASES["uniform"].parts(truth)
    if len(uniform.candidates) < ITEMS:
        with pytest.raises(TruevalError, match="for every item"):
            tv.evaluate(uniform, systems(), **asked("AR-AI-AN", "column:p", ["ips(precision)@3"]))


# ---- columns that only one part has ----------------------------------------------------------------------------


def test_a_column_is_needed_where_its_side_is_weighted_by_it(tmp_path: Path) -> None:
    truth = world("pair")
    bare, options = truth.log.drop("p"), asked("AR-AI-AN", "column:p", ["snips(recall)@3"])
    user, item = truth.sample["user"].to_numpy(), truth.sample["item"].to_numpy()
    wide = truth.sample.with_columns(p=pl.Series(truth.p[user, item]))
    values = []
    for log, sample in ((truth.log, truth.sample), (truth.log, wide)):
        found = tv.evaluate(tv.split(log, "unbiased", mar=sample, ratio=0.3), systems(), **options)
        values.append([side["popular first", "snips(recall)@3"].value for side in (found, found.observed)])
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    for log, sample in ((bare, truth.sample), (bare, wide)):
        parts = tv.split(log, "unbiased", mar=sample, ratio=0.3)
        with pytest.raises(TruevalError, match="there is no propensity column 'p'") as caught:
            tv.evaluate(parts, systems(), **options)
        assert "observed" in caught.value.where
    nothing = tv.split(bare, "unbiased", mar=truth.sample, ratio=None)  # the one side there is needs no p
    assert tv.evaluate(nothing, systems(), **options)
    assert tv.evaluate(nothing, systems(), **{**options, "propensity": None})


def test_the_layout_of_coat_with_its_propensities(tmp_path: Path, trueval) -> None:
    """Its propensities are of the biased log alone. In Python and at the command line, both sides near the truth."""
    users, items, drawn = 290, 300, 16
    rng = np.random.default_rng(3)
    p = np.clip(np.sort(rng.random(items))[::-1], 0.03, 0.6) * np.ones((users, 1))
    liked, met = rng.random((users, items)) < 0.2, rng.random((users, items)) < p
    sample = rng.random((users, items)).argsort(axis=1) < drawn
    (tmp_path / "coat").mkdir()
    for name, some in (("train", met), ("test", sample)):
        np.savetxt(tmp_path / "coat" / f"{name}.ascii", np.where(liked, 5, 1) * some, fmt="%d")
    np.savetxt(tmp_path / "coat" / "propensities.ascii", p, fmt="%.6f")
    parts = tv.split(tmp_path / "coat", "unbiased", ratio=0.3)
    scores = -np.arange(items, dtype=float)
    fixed = {"popular": tv.Function(lambda users: np.tile(scores, (len(users), 1)))}
    catalogue = pl.DataFrame({"item": parts.test.frame["item"].unique()})
    options = {"threshold": 4, "population": "all", "interval": "none", "propensity": "column:propensity"}
    found = tv.evaluate(
        parts, fixed, design="AR-AI-AN", metrics="ips(precision)@50", items=catalogue, **options
    )  # fmt: skip
    for own in (found, found.observed):  # the truth is 0.2, whatever the list: likes have nothing to do with p
        assert own["popular", "ips(precision)@50"].value == pytest.approx(0.2, abs=0.03)
    trueval("split", tmp_path / "coat", "--how", "unbiased", "--ratio", 0.3, "-o", tmp_path / "parts")
    table = parts.train.frame.select("user", "item")
    pairs = (
        parts.test.frame.select("user")
        .unique()
        .join(catalogue, how="cross")
        .join(table, on=["user", "item"], how="anti")
    )
    order = {item: -place for place, item in enumerate(sorted(catalogue["item"].to_list()))}
    pairs.with_columns(score=pl.col("item").replace_strict(order)).write_parquet(tmp_path / "run.parquet")
    for file, own in (("test", found), ("observed", found.observed)):
        ran = trueval(
            "evaluate", tmp_path / "run.parquet", "--test", tmp_path / "parts" / f"{file}.parquet", "--train",
            tmp_path / "parts" / "train.parquet", "--metrics", "ips(precision)@50", "--threshold", 4, "--population",
            "all", "--interval", "none", "--propensity", "column:propensity", "--format", "json",
        )  # fmt: skip
        assert ran.code == 0, ran.err
        record = json.loads(ran.out)
        value = record["systems"]["run"]["metrics"]["ips(precision)@50"]["value"]
        assert value == pytest.approx(own["popular", "ips(precision)@50"].value, rel=1e-6)
        assert {w for w in record["warnings"] if "weighted" in w} == {w for w in own.warnings if "weighted" in w}
