"""Answers that are missing: what a blank means, whether missing answers depend on the list, and what is said then."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import trueval as tv
from trueval.errors import TruevalError
from trueval.online.user_study.blanks import count_blanks
from trueval.online.user_study.forms import DEPENDS, KNOWN, TOO_FEW
from trueval.online.user_study.missing_answers import missing_answers
from trueval.online.user_study.preferences import choices_in_rankings, strengths
from trueval.online.user_study.rankings import Rankings, rankings_of
from trueval.statistics.bradley_terry import fit_strengths, strength_covariance

APART = {"a": 1.0, "b": 0.5, "c": 0.0, "d": -0.5, "e": -1.0}


def of_few(*, rows: bool = True) -> pl.DataFrame:
    """12 of 40 rank a first, 28 leave it blank; b, c, d and e stand equally often at each place behind it."""
    orders = list(itertools.permutations("bcde"))
    made = []
    for person in range(40):
        order = (["a"] if person < 12 else []) + list(orders[person % 24])
        made += [(f"p{person:02}", name, order.index(name) + 1 if name in order else None) for name in "abcde"]
    frame = pl.DataFrame(made, schema=["participant", "system", "rank"], orient="row")
    return frame if rows else frame.drop_nulls()


# ---- what a blank means ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [True, False], ids=["empty ranks", "no rows"])
def test_blanks_without_a_meaning_are_refused(rows: bool) -> None:
    with pytest.raises(TruevalError) as refused:
        tv.study_analysis(of_few(rows=rows))
    assert "28 of 200 places are blank, by 28 participants" in refused.value.found
    assert "--blanks worse" in refused.value.do


@pytest.mark.parametrize("rows", [True, False], ids=["empty ranks", "no rows"])
def test_who_is_ranked_by_few_is_not_the_best_where_blanks_mean_worse(rows: bool) -> None:
    """a: 12 first and 28 last places are a mean of (12 + 28 · 5) / 40."""
    found = tv.study_analysis(of_few(rows=rows), blanks="worse").findings.rankings
    assert found is not None
    by_name = {one.system: one for one in found.systems}
    assert by_name["a"].mean_rank == pytest.approx((12 + 28 * 5) / 40)
    assert (by_name["a"].fulfilled, by_name["a"].violated, by_name["a"].ranked) == (12 * 4, 28 * 4, 12)
    assert found.systems[-1].system == found.strengths.systems[-1].system == "a"
    assert found.strengths.systems[-1].high < 0
    assert (found.blanks, found.order) == ("worse", KNOWN)


@pytest.mark.parametrize("rows", [True, False], ids=["empty ranks", "no rows"])
def test_where_blanks_depend_on_the_list_no_order_is_told(rows: bool) -> None:
    found = tv.study_analysis(of_few(rows=rows), blanks="not looked at", first="a")
    assert "No order of the systems can be told" in found.verdict
    assert "a 28 of 40" in found.verdict
    assert 'blanks = "not allowed"' in found.verdict
    ranked = found.findings.rankings
    assert ranked is not None
    assert (ranked.order, ranked.systems, ranked.preferences, ranked.friedman, ranked.first) == (
        DEPENDS,
        (),
        (),
        None,
        None,
    )
    assert ranked.strengths.systems == ()
    for text in (str(found), found.to_markdown(), found.to_latex(), found.to_json(), found.to_html()):
        for word in ("best mean rank", "came first", "fulfilled, violated", "Preferred significantly"):
            assert word not in text
    assert found.table().columns == ["form", "system", "ranked", "unranked"]
    assert found.table()["unranked"].to_list() == [28, 0, 0, 0, 0]
    with pytest.raises(TruevalError, match="needs rankings"):
        found.plot("strengths")


def test_few_answers_cannot_exclude_that_blanks_depend_on_the_list() -> None:
    """One blank of each list by ten people: as even as can be, and still nothing that could exclude anything."""
    rows = [
        (f"p{n}", name, None if n % 5 == at else at + 1) for n in range(10) for at, name in enumerate("abcde")
    ]  # fmt: skip
    found = tv.study_analysis(
        pl.DataFrame(rows, schema=["participant", "system", "rank"], orient="row"), blanks="not looked at"
    )
    assert found.findings.rankings is not None
    assert found.findings.rankings.order == TOO_FEW
    assert "cannot be excluded with so few answers" in found.verdict
    assert "more participants" in found.verdict


def test_blanks_by_chance_of_many_tell_an_order() -> None:
    tables = tv.study_answers(APART, participants=150, overlooked=0.1, seed=4)
    ranked = tv.study_analysis(tables, blanks="not looked at", resamples=200).findings.rankings
    assert ranked is not None
    assert ranked.order == KNOWN
    assert [one.system for one in ranked.strengths.systems] == list("abcde")


def test_rankings_say_themselves_what_a_blank_means(tmp_path: Path) -> None:
    """The column of an export is followed, and no other meaning is taken."""
    frame = of_few().with_columns(blanks=pl.lit("worse"))
    frame.write_csv(tmp_path / "rankings.csv")
    stated = tv.study_analysis(tmp_path / "rankings.csv")
    assert stated.to_json() == tv.study_analysis(of_few(), blanks="worse").to_json().replace(
        "User study:", "User study rankings:"
    )
    with pytest.raises(TruevalError, match="told that a blank means something else"):
        tv.study_analysis(frame, blanks="not looked at")
    with pytest.raises(TruevalError, match="more than one meaning"):
        tv.study_analysis(
            frame.with_columns(
                blanks=pl.when(pl.col("participant") < "p20").then("blanks").otherwise(pl.lit("not looked at"))
            )
        )
    with pytest.raises(TruevalError, match="unknown values of blanks"):
        tv.study_analysis(frame.with_columns(blanks=pl.lit("bad")))
    # where blanks were not allowed and are there all the same, nobody was told a meaning
    with pytest.raises(TruevalError, match="what that means is not said"):
        tv.study_analysis(frame.with_columns(blanks=pl.lit("not allowed")))
    assert tv.study_analysis(frame.with_columns(blanks=pl.lit("not allowed")), blanks="worse")


def test_blanks_are_counted_as_by_hand() -> None:
    """p leaves c blank, q has no row of b and c, r gave no place at all, s has all; planted lists count, too."""
    rows = [
        ("p", "a", 1, None), ("p", "b", 2, None), ("p", "c", None, None), ("p", "a", None, "same"),
        ("q", "a", 1, None), ("r", "a", None, None), ("r", "b", None, None), ("r", "c", None, None),
        ("s", "a", 1, None), ("s", "b", 2, None), ("s", "c", 3, None),
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["participant", "system", "rank", "check"], orient="row")
    assert count_blanks(frame.with_columns(task=1)) == (4, 10, 2)


def test_positions_and_planted_lists_are_read_as_blanks_are() -> None:
    """All leave the second tab blank: 1 and 2 on average. The random list that is blank is below all: not failed."""
    rows = []
    for n in range(16):
        one, other = ("ab", "ba")[n % 2]
        rows += [(f"p{n:02}", one, 1, 1, None), (f"p{n:02}", other, 2, None, None)]
        rows += [(f"p{n:02}", "(random)", 3, None, "random")]
    frame = pl.DataFrame(rows, schema=["participant", "system", "position", "rank", "check"], orient="row")
    found = tv.study_analysis(frame, blanks="worse")
    assert found.position_bias[0].means == (1.0, 2.5, 2.5)
    assert [(len(one.participants), one.failed) for one in found.checks] == [(16, ())]


# ---- the statistics ----------------------------------------------------------------------------------------------


def test_places_among_all_are_those_of_every_subset() -> None:
    """Over all sets of k of n systems that hold one, its place of all is recovered without bias from its ranks."""
    n = 5
    for k, own in itertools.product((2, 3, 4), range(n)):
        sets = [one for one in itertools.combinations(range(n), k) if own in one]
        ranks = np.full((len(sets), n), np.nan)
        for row, one in zip(ranks, sets):
            row[list(one)] = np.arange(1, k + 1)
        places = Rankings(tuple(map(str, range(len(sets)))), tuple("abcde"), ranks, ~np.isnan(ranks)).places()
        assert places[:, own].mean() == pytest.approx(own + 1)


def test_several_rankings_with_blanks_become_one_by_places() -> None:
    """c alone in the second task says nothing: it stays third."""
    rows = [("p", 1, "a", 1), ("p", 1, "b", 2), ("p", 1, "c", 3)]
    rows += [("p", 2, "a", None), ("p", 2, "b", None), ("p", 2, "c", 1)]
    frame = pl.DataFrame(rows, schema=["participant", "task", "system", "rank"], orient="row")
    assert rankings_of(frame).ranks.tolist() == [[1.0, 2.0, 3.0]]
    # worse than c in the second: (1 + 2.5) / 2, (2 + 2.5) / 2, (3 + 1) / 2
    assert rankings_of(frame, blanks="worse").ranks.tolist() == [[1.0, 3.0, 2.0]]


def test_strengths_of_those_who_rank_only_what_they_like_are_the_true_ones() -> None:
    """Luce's model by 20,000 people; as ties, pairs of blanks would draw the strengths together."""
    rng = np.random.default_rng(3)
    truth = np.array([1.0, 0.0, -1.0])
    value = truth + rng.gumbel(size=(20_000, 3))
    placed = value > 0.5
    placed[np.arange(len(value)), value.argmax(axis=1)] = True
    order = np.where(placed, -value, np.inf).argsort(axis=1, kind="stable").argsort(axis=1) + 1.0
    ranks = np.where(placed, order, 9.0)
    rankings = Rankings(tuple(map(str, range(len(value)))), tuple("abc"), ranks, placed)
    choices = choices_in_rankings(rankings)
    found = strengths(choices, level=0.95, resamples=0, seed=0)
    assert [one.strength for one in found.systems] == pytest.approx(truth, abs=0.04)
    both = (~placed[:, :, None] & ~placed[:, None, :]).sum(axis=0) * (1 - np.eye(3))
    as_ties = fit_strengths(choices.wins.sum(axis=0)[None], both[None]).log_strength[0]
    assert np.abs(as_ties - truth).max() > 0.1


def test_the_least_error_of_strengths_is_that_of_the_information() -> None:
    """Numerically: the second derivatives of the log-likelihood of Bradley and Terry, written out."""
    rng = np.random.default_rng(1)
    wins = rng.integers(1, 12, (4, 4)).astype(float) * (1 - np.eye(4))
    none = np.zeros((1, 4, 4))
    fit = fit_strengths(wins[None], none)
    at, step = fit.log_strength[0], 1e-3

    def likelihood(strength: np.ndarray) -> float:
        gap = strength[:, None] - strength[None]
        return float((wins * -np.log1p(np.exp(-gap))).sum())

    units = np.eye(4) * step
    bend = np.array([
        [sum(s * t * likelihood(at + s * one + t * other) for s in (1, -1) for t in (1, -1)) for other in units]
        for one in units
    ]) / (-4 * step**2)  # fmt: skip
    assert strength_covariance(wins[None], none, fit)[0] == pytest.approx(np.linalg.pinv(bend, rcond=1e-4), abs=1e-4)


def test_who_is_never_preferred_has_an_interval_of_some_width() -> None:
    """All resamples say the same of c, which 8 people put below everything."""
    ranks = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]] * 4)
    rankings = Rankings(tuple(map(str, range(8))), tuple("abc"), ranks, np.ones(ranks.shape, bool))
    choices = choices_in_rankings(rankings)
    table = strengths(choices, level=0.95, resamples=300, seed=0)
    wins = choices.wins.sum(axis=0)[None]
    least = strength_covariance(wins, 0 * wins, fit_strengths(wins, 0 * wins))[0, 2, 2]
    c = {one.system: one for one in table.systems}["c"]
    assert (c.high - c.low) / 2 >= stats.t.ppf(0.975, 7) * np.sqrt(least) * (1 - 1e-9)
    assert table.covariance[2, 2] >= least * (1 - 1e-9)


def test_missing_answers_are_tested_by_cochran() -> None:
    """Q = k (k - 1) Σ (T - T̄)² / Σ R (k - R), by chi-squared for many people."""
    rng = np.random.default_rng(8)
    answered = (rng.random((400, 4)) > [0.1, 0.15, 0.12, 0.16]).astype(float)
    totals, own = answered.sum(axis=0), answered.sum(axis=1)
    q = 4 * 3 * ((totals - totals.mean()) ** 2).sum() / (own * (4 - own)).sum()
    found = missing_answers(answered, list("abcd"), level=0.95, seed=0)
    assert found is not None
    assert found.p == pytest.approx(stats.chi2.sf(q, 3), abs=0.015)
    assert found.missing == tuple(int(400 - one) for one in totals)


def test_the_difference_that_is_found_is_found_so_often() -> None:
    """With one list blank more often by the difference named, the test finds it in about 80 % of studies."""
    rng = np.random.default_rng(5)
    even = (rng.random((120, 4)) > 0.2).astype(float)
    base = missing_answers(even, list("abcd"), level=0.95, seed=0)
    assert base is not None
    shown = []
    for _ in range(150):
        answered = rng.random((120, 4)) > np.array([0.2 + base.least, 0.2, 0.2, 0.2])
        totals, own = answered.sum(axis=0), answered.sum(axis=1)
        q = 4 * 3 * ((totals - totals.mean()) ** 2).sum() / (own * (4 - own)).sum()
        shown.append(stats.chi2.sf(q, 3) < 0.05)
    assert 0.66 < np.mean(shown) < 0.92


def test_nothing_missing_and_all_missing_of_some_depend_on_nothing() -> None:
    assert missing_answers(np.ones((5, 3)), list("abc"), level=0.95, seed=0) is None
    whole = np.ones((5, 3))
    whole[0] = 0
    found = missing_answers(whole, list("abc"), level=0.95, seed=0)
    assert found is not None
    assert (found.p, found.too_few) == (1.0, False)


# ---- every form, every way in which an answer can be missing -----------------------------------------------------


def answers(form: str, kind: str, gone: np.ndarray) -> dict[str, pl.DataFrame]:
    """Complete answers of 60 people about a, b and c, without those of `gone`: people by lists, or by pairs."""
    names = ["a", "b", "c"]
    rng = np.random.default_rng(2)
    tables: dict[str, list[dict[str, object]]] = {"answers": [], "shown": []}
    for person in range(60):
        who = {"participant": f"p{person:02}"}
        units = [("a", "b"), ("a", "c"), ("b", "c")] if form == "pairs" else names
        order = rng.permutation(3) + 1
        for task, unit in enumerate(units):
            lists = unit if form == "pairs" else (unit,)
            for place, name in enumerate(lists, 1):
                tables["shown"].append({**who, "task": task, "form": "pair", "system": name, "position": place})
            missing = gone[person, task]
            if missing and kind != "empty":
                continue
            if form == "rankings":
                row: dict[str, object] = {"system": unit, "rank": None if missing else int(order[task])}
            elif form == "scales":
                row = {"system": unit, "value": None if missing else int(order[task])}
            else:
                chosen = "left" if rng.random() < 0.5 else "right"
                row = {"left": unit[0], "right": unit[1], "answer": None if missing else chosen, "task": task}
            tables["answers"].append({**who, **row})
    made = {form: pl.DataFrame(tables["answers"], infer_schema_length=None)}
    shown = pl.DataFrame(tables["shown"]).with_columns(task=pl.col("task") + 1)
    if form == "pairs":
        made[form] = made[form].with_columns(task=pl.col("task") + 1)
    return {**made, "shown": shown} if kind == "left" else made


CELLS = [
    ("rankings", "empty"), ("rankings", "no row"), ("scales", "empty"), ("scales", "no row"), ("scales", "left"),
    ("pairs", "empty"), ("pairs", "left"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "kind"), CELLS)
@pytest.mark.parametrize("depends", [True, False], ids=["of one list", "of any list"])
def test_missing_answers_that_depend_on_the_list_tell_no_order(form: str, kind: str, depends: bool) -> None:
    gone = np.zeros((60, 3), bool)
    gone[np.arange(24), 0 if depends else np.arange(24) % 3] = True
    options = {"blanks": "not looked at"} if form == "rankings" else {}
    found = tv.study_analysis(answers(form, kind, gone), resamples=100, **options)
    told = "order" + " of the systems" * (form == "rankings") + " can be told"
    untold = found.verdict.lower().count(f"no {told}")
    assert bool(untold) == (depends or form == "rankings")  # 24 blanks of 180 are too many to be sure of
    if form != "rankings":
        values = found.findings.scales or found.findings.pairs
        assert values is not None
        assert (
            bool(getattr(values, "values", ()) or getattr(getattr(values, "strengths", None), "systems", ())) != depends
        )
        assert any("whether that depends on the list is unclear" in text for text in found.warnings) != depends
        assert "highest mean" not in found.verdict or not depends
        assert found.table().height == 3
        for text in (str(found), found.to_markdown(), found.to_latex(), found.to_html()):
            assert ("no order can be told" in text) == depends


def test_answers_of_all_are_missed_by_nobody() -> None:
    """The same tables with nothing gone: no test, no warning."""
    for form, kind in CELLS:
        found = tv.study_analysis(answers(form, kind, np.zeros((60, 3), bool)), resamples=100)
        assert "can be told" not in found.verdict
        assert not found.warnings


def test_pairs_that_were_never_asked_are_not_missing() -> None:
    """One half compares a with b, the other a with c: a design, not missing answers."""
    rows = [(f"p{n:02}", "a", "bc"[n % 2] if n < 30 else "b", ("left", "right")[n % 3 == 0]) for n in range(60)]
    found = tv.study_analysis(
        pl.DataFrame(rows, schema=["participant", "left", "right", "answer"], orient="row"), resamples=100
    )
    assert found.findings.pairs is not None
    assert found.findings.pairs.missing is None
    assert found.findings.pairs.strengths.systems


def test_fewer_people_do_not_tell_what_all_do_not() -> None:
    """Without the careless the test has less to find: that is no reason to tell an order."""
    frame = of_few().with_columns(check=pl.lit(None, pl.String))
    planted = [(f"p{n:02}", "(random)", 1 if n >= 12 else 6, "random") for n in range(40)]
    both = pl.concat([frame, pl.DataFrame(planted, schema=frame.schema, orient="row")])
    found = tv.study_analysis(both, blanks="not looked at")
    assert len(found.checks[0].failed) == 28
    assert found.careful is not None
    assert found.careful.rankings == found.findings.rankings
    assert "mean rank" not in str(found)


def test_offline_metrics_are_not_compared_with_an_order_that_is_not_known() -> None:
    world = tv.simulate("opposed", users=60, items=40, seed=1)
    parts = tv.split(world.log, "holdout", seed=1)
    result = tv.evaluate(parts, ["popularity", "average", "random"], metrics="precision@5", threshold=4)
    names = dict(zip("abc", ("popularity", "average", "random")))
    frame = of_few().filter(pl.col("system").is_in([*"abc"])).with_columns(pl.col("system").replace(names))
    found = tv.study_analysis(frame, blanks="not looked at", against=result, resamples=100)
    assert found.against is None
    assert "Offline metrics cannot be compared with people" in found.verdict
