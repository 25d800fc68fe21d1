"""Every split × every weighted metric × every side × source of propensities: the world's truth, or a refusal.

Users like items, and meet them with probabilities that are known. A system's scores are fixed, so that its lists, and
what they are worth with everything observed, follow from the train part by counting. Estimates must lie within four
standard errors of that. The chances with which pairs are tested, on which errors, clipped weights and means over users
depend, are derived here once more, pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    found: Any, case: Case, truth: Truth, parts: Parts, side: str, factor: float = 1.0, most: float = 4.0
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
        for metric in METRICS:
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
            assert error < 0.15 * true, said
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
    allowed = np.ones((USERS, ITEMS), bool) if seen else ~mask(parts.train)
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
