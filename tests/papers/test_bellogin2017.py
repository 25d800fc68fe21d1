"""Bellogín et al. (2017), quick: its numbers against naive computations, and its statements on a generated world."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.papers.bellogin2017.evaluation import other_data, uniform_numbers
from trueval.papers.bellogin2017.settings_compared import _user_means, same_trends
from trueval.papers.data_checks import world_like_movielens
from trueval.papers.record import Figure
from trueval.papers.reproduction import Reproduction
from trueval.statistics.significance_tests import signed_ranks


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return tv.reproduce("bellogin2017", quick=True)


def figure(found: Reproduction, name: str) -> Figure:
    return next(one for one in found.figures if one.name == name)


def verdict(found: Reproduction, claim: str) -> str:
    (one,) = [statement.verdict for statement in found.statements if claim in statement.claim]
    return one


def test_precision_of_popularity_by_hand(found: Reproduction) -> None:
    """AR-TI-AN over all users, from the log alone; equal popularity at the cut is left to chance."""
    parts = tv.split(world_like_movielens(True, 0), "holdout", ratio=0.2, seed=1)
    train, test = parts.train.frame, parts.test.frame
    popularity = dict(train.group_by("item").len().iter_rows())
    seen, liked = {}, {}
    for user, item in train.select("user", "item").iter_rows():
        seen.setdefault(user, set()).add(item)
    for user, item, value in test.select("user", "item", "value").iter_rows():
        liked.setdefault(user, set()).update({item} if value >= 5 else set())
    candidates = set(test["item"])
    total = 0.0
    for user in set(train["user"]) | set(test["user"]):
        targets = sorted(candidates - seen.get(user, set()), key=lambda item: -popularity.get(item, 0))
        cut = popularity.get(targets[9], 0)
        above = [item for item in targets if popularity.get(item, 0) > cut]
        equal = [item for item in targets if popularity.get(item, 0) == cut]
        hits = sum(item in liked.get(user, ()) for item in above)
        hits += (10 - len(above)) * np.mean([item in liked.get(user, ()) for item in equal])
        total += hits / 10
    expected = total / len(set(train["user"]) | set(test["user"]))
    table = figure(found, "2").tables["bellogin2017-2"]
    here = table.filter(setting="AR TI-AN", system="popularity")["value"].item()
    assert here == pytest.approx(expected, rel=0.02)


def test_liked_ratio_by_hand(found: Reproduction) -> None:
    log = world_like_movielens(True, 0).frame
    ratio = log.group_by("item").agg(pl.len().alias("n"), (pl.col("value") >= 5).mean().alias("ratio"))
    most = ratio.sort("n", descending=True).head(len(ratio) // 100)
    table = figure(found, "7").tables["bellogin2017-7"]
    assert table["ratings"][0] == pytest.approx(most["n"].mean())
    assert table["ratio"][0] == pytest.approx(most["ratio"].mean(), abs=0.01)


def test_lemma_holds_at_every_point(found: Reproduction) -> None:
    points = figure(found, "3").tables["bellogin2017-3-points"]
    assert len(points) >= 20
    assert (points["lower"] <= points["value"] + 1e-12).all()
    assert (points["value"] <= points["upper"] + 1e-12).all()
    assert verdict(found, "lemma") == "holds"


@pytest.mark.parametrize(
    "claim",
    ["does not depend on the number of test ratings", "inversely proportional to |T|", "exactly η test ratings",
     "at α = 0 popularity is slightly below random", "grows with the skewness", "that of theory", "at most 1/10"],
)  # fmt: skip
def test_what_follows_from_theory_holds_in_a_world(found: Reproduction, claim: str) -> None:
    names = [one for one in found.statements if claim in one.claim]
    assert [one.verdict for one in names] == ["holds"] * len(names)
    assert names


def test_printed_numbers_are_not_compared_on_other_data(found: Reproduction) -> None:
    verdicts = {one.verdict for one in found.statements if one.published in ("1,703", "118", "0.0077", "32.7 %")}
    assert verdicts == {"not comparable"}


def test_page_has_every_statement(found: Reproduction, tmp_path: Path) -> None:
    tv.reproduce("bellogin2017", ["6", "7"], quick=True, out=tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text()
    assert page.count('<figure class="chart"') == 2
    assert "exactly η test ratings" in page
    assert 'class="chip good">holds' in page
    assert (tmp_path / "out" / "experiments" / "bellogin2017-holdout.toml").read_text().count("[systems]") == 1


def test_users_are_tested_by_their_means(found: Reproduction) -> None:
    """In 1R a user has a value for each relevant item; p of every two systems is that of scipy."""
    from scipy.stats import wilcoxon

    system = SimpleNamespace(
        values={"precision@10|n=39": np.array([0.1, 0.0, 0.1, 0.0]), "rr": np.ones(4)}, unit_user=np.array([7, 2, 7, 7])
    )
    means = _user_means(system)  # type: ignore[arg-type]
    assert means.tolist() == pytest.approx([0.0, 0.2 / 3])  # users 2 and 7
    difference = np.array([0.1, -0.05, 0.02, 0.0, 0.08, 0.03, -0.01] * 20) + np.arange(140) * 1e-4
    wanted = wilcoxon(difference, zero_method="pratt", correction=False, method="asymptotic").pvalue
    assert signed_ranks(difference) == pytest.approx(wanted, rel=1e-6)
    tested = figure(found, "2").tables["bellogin2017-2-pairs"]
    assert len(tested) == 10
    assert tested["p"].is_between(0, 1).all()


def test_trends_are_compared_by_pairs_of_systems() -> None:
    """Two neighbours change places in one of two settings: 19 of 20 pairs are in the same order."""
    order = ["pLSA", "popularity", "MF", "kNN", "random"]
    turned = ["popularity", "pLSA", "MF", "kNN", "random"]
    rows = [
        (metric, setting, system, -float(place))
        for metric, setting, own in (("precision@10", "a", order), ("precision@10", "b", order), ("rr", "a", order),
                                     ("rr", "b", turned))
        for place, system in enumerate(own)
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema=("metric", "setting", "system", "value"), orient="row")
    said = same_trends(table, ["a", "b"], "2", ["rr"])
    assert (said.verdict, said.evidence.partition(" of")[0]) == ("holds", "95 %")
    assert "MRR in b: popularity > pLSA > MF" in said.evidence
    assert same_trends(table.filter(setting="b"), ["b"], "2", ["rr"]).verdict == "holds"  # 9 of 10 is enough
    worse = table.with_columns(value=pl.when(metric="rr").then(-pl.col("value")).otherwise(pl.col("value")))
    assert same_trends(worse, ["a", "b"], "2", ["rr"]).verdict == "does not hold"


def test_differences_of_all_systems_are_told(found: Reproduction) -> None:
    """Random recommendation, too, is better among fewer items."""
    (one,) = [one for one in found.statements if one.claim.startswith("TI and AI")]
    assert all(f"({name})" in one.evidence for name in ("pLSA", "MF", "kNN", "popularity", "random"))


@pytest.mark.data
def test_numbers_of_movielens(data_folder: Callable[[str], Path]) -> None:
    """The numbers that the paper prints, on the public file."""
    found = tv.reproduce("bellogin2017", ["data", "6", "7"], data=data_folder("ml-1m"), quick=True)
    verdicts = {one.claim: one.verdict for one in found.statements}
    apart = [claim for claim, said in verdicts.items() if said != "holds"]
    assert [claim.startswith("most popular item of Netflix") for claim in apart] == [True]  # not rerun
    log = tv.read(data_folder("ml-1m"))
    assert uniform_numbers(log) == {"items": 1703, "eta": 118}


def test_other_data_are_told_from_the_papers() -> None:
    log = world_like_movielens(True, 0)
    assert "MovieLens 1M" in other_data(SimpleNamespace(log=log))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.data
def test_all_of_it_on_movielens(data_folder: Callable[[str], Path]) -> None:
    found = tv.reproduce("bellogin2017", data=data_folder("ml-1m"))
    for claim in ("pLSA is first", "lemma", "P1R puts popularity", "U1R keeps some", "removing the head"):
        assert verdict(found, claim) == "holds", claim
