"""Popularity: concentration by its definition, the power law by simulation, likes by hand, and MovieLens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau, pearsonr

import trueval as tv
from trueval.audit.popularity_curve import popularity_curve
from trueval.data.interactions import Interactions
from trueval.data.power_law import PowerLaw, fit_power_law
from trueval.errors import TruevalError
from trueval.splits.parts import Parts


def log_of(counts: dict[str, int], liked: dict[str, int] | None = None) -> Interactions:
    """Item by item so many ratings by the first users, and so many of them 5, the others 1."""
    rows = [(u, item, 5.0 if liked is None or u < liked[item] else 1.0) for item, n in counts.items() for u in range(n)]
    return Interactions.of(pl.DataFrame(rows, schema=["user", "item", "value"], orient="row"))


def test_concentration_against_double_sums():
    counts = {f"i{n}": c for n, c in enumerate([30, 12, 9, 9, 4, 2, 1, 1, 1, 1])}
    side = popularity_curve(log_of(counts)).sides["log"]
    x = np.array(list(counts.values()), float)
    assert side.gini == pytest.approx(np.abs(x[:, None] - x).sum() / (2 * len(x) ** 2 * x.mean()))
    assert side.heads == {0.01: 30 / 70, 0.05: 30 / 70, 0.1: 30 / 70}
    curve = side.lorenz()
    assert side.gini == pytest.approx(1 - (curve[1:] + curve[:-1]).sum() / len(x))  # twice the area above the curve


def test_the_catalogue_counts():
    log = log_of({"a": 3, "b": 1})
    wide = popularity_curve(log, items=["a", "b", "c", "d"]).sides["log"]
    assert wide.counts.tolist() == [3, 1, 0, 0]
    assert wide.gini == pytest.approx(0.625)
    assert popularity_curve(log).sides["log"].gini == pytest.approx(0.25)


def test_parts_share_their_items():
    """Half of the item that train has most of, and the equals behind it in expectation."""
    train, test = log_of({"a": 4, "b": 2, "c": 2, "d": 1}), log_of({"a": 2, "b": 5, "e": 1})
    found = popularity_curve(Parts(train, test))
    assert found.sides["test"].counts.tolist() == [5, 2, 1, 0, 0]
    assert found.sides["test"].heads[0.1] == 5 / 8
    assert found.sides["test"].train_heads == {0.01: 2 / 8, 0.05: 2 / 8, 0.1: 2 / 8}
    assert found.sides["train"].train_heads is None
    tied = popularity_curve(Parts(log_of({"a": 2, "b": 2}), log_of({"a": 3, "b": 1})))
    assert tied.sides["test"].train_heads == {0.01: 0.5, 0.05: 0.5, 0.1: 0.5}


def test_rows_or_users_are_counted():
    plays = pl.DataFrame({"user": [1, 1, 1, 2], "item": ["a", "a", "a", "b"]})
    counts = [
        popularity_curve(Interactions.of(plays, count=count)).sides["log"].counts.tolist()
        for count in ("users", "rows")
    ]
    assert counts == [[1, 1], [3, 1]]


def test_liked_ratio_by_hand():
    found = popularity_curve(
        log_of({"a": 6, "b": 4, "c": 2, "d": 2}, {"a": 6, "b": 2, "c": 2, "d": 1}), threshold=4, segments=2
    )
    assert found.liked is not None
    assert found.liked.select("first_rank", "last_rank", "ratings", "ratio").rows() == [
        (1, 2, 5.0, 0.75),
        (3, 4, 2.0, 0.75),
    ]
    number, ratio = [6, 4, 2, 2], [1, 0.5, 1, 0.5]
    assert found.liked_r == pytest.approx(pearsonr(number, ratio).statistic)
    assert found.liked_tau == pytest.approx(kendalltau(number, ratio).statistic)


def test_segments_do_not_depend_on_the_order_of_items():
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 4, 40)
    liked = rng.binomial(counts, 0.5)
    found_by_order = []
    for names in (list(range(40)), rng.permutation(40).tolist()):
        own = {f"{n:02}": int(c) for n, c in zip(names, counts)}
        found = popularity_curve(
            log_of(own, {f"{n:02}": int(c) for n, c in zip(names, liked)}), threshold=4, segments=7
        )
        assert found.liked is not None
        found_by_order.append(found.liked["ratio"].round(12).to_list())
    assert found_by_order[0] == found_by_order[1]


def test_without_dislikes_there_is_no_liked_ratio():
    found = popularity_curve(Interactions.of(pl.DataFrame({"user": [1, 2], "item": ["a", "b"]})))
    assert found.liked is None
    assert "not known" in str(found)
    assert found.to_dict()["liked"] is None


def test_refusals():
    with pytest.raises(TruevalError, match="needs a log"):
        popularity_curve([1, 2])
    with pytest.raises(TruevalError, match="segments must be"):
        popularity_curve(log_of({"a": 2}), segments=0)
    with pytest.raises(TruevalError, match="at least five"):
        fit_power_law(np.array([3, 2, 1]))


# ---- the power law -----------------------------------------------------------------------------------------------

LAWS = (
    (1.4, 2.0, 50.0, 3706, 1e6),
    (1.0, 0.0, 10.0, 3000, 3e5),
    (0.7, 20.0, 0.0, 2000, 4e5),
    (2.0, 5.0, 100.0, 3706, 1e6),
)


def curve(alpha: float, c1: float, c2: float, items: int, ratings: float) -> tuple[np.ndarray, float]:
    shape = (c2 + np.arange(1, items + 1)) ** -alpha
    beta = (ratings - c1 * items) / shape.sum()
    return c1 + beta * shape, beta


@pytest.mark.parametrize("law", LAWS)
def test_an_exact_curve_is_found_exactly(law):
    counts, beta = curve(*law)
    found = fit_power_law(np.random.default_rng(0).permutation(counts))
    assert (found.alpha, found.c1, found.beta) == pytest.approx((law[0], law[1], beta), rel=1e-3, abs=2e-3)
    assert found.c2 == pytest.approx(law[2], rel=1e-3, abs=1e-3)
    assert found.explained == pytest.approx(1)


def recovered(law: tuple[float, ...], rounds: int) -> list[PowerLaw]:
    rng = np.random.default_rng(1)
    mean, _ = curve(*law)  # type: ignore[arg-type]
    return [fit_power_law(rng.poisson(mean)) for _ in range(rounds)]


def check_recovered(law: tuple[float, ...], rounds: int) -> None:
    """Means over simulated logs: α and c2 within 3 %, c1 within two ratings."""
    found = recovered(law, rounds)
    assert np.mean([one.alpha for one in found]) == pytest.approx(law[0], rel=0.03)
    assert np.mean([one.c2 for one in found]) == pytest.approx(law[2], rel=0.03, abs=0.5)
    assert np.mean([one.c1 for one in found]) == pytest.approx(law[1], abs=2)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_parameters_are_recovered(law):
    check_recovered(law, 50)


def test_parameters_are_recovered_quickly():
    check_recovered(LAWS[0], 4)


def test_many_items_are_fitted_in_cells():
    counts, beta = curve(1.3, 1.0, 60.0, 60_000, 5e6)
    found = fit_power_law(counts)
    assert (found.alpha, found.c2, found.beta) == pytest.approx((1.3, 60.0, beta), rel=0.01)


def test_flat_popularity_has_no_slope():
    found = fit_power_law(np.full(9, 4))
    assert (found.alpha, found.beta, found.c1) == (0, 0, 4)
    assert found.to_dict()["explained"] is None
    assert found(np.array([1, 9])).tolist() == [4, 4]


def test_no_fit_is_better_nearby():
    """Least squares: no other curve of a fine grid leaves less."""
    counts = np.sort(np.random.default_rng(5).zipf(1.6, 300))[::-1].clip(max=500).astype(float)
    found = fit_power_law(counts)
    rank = np.arange(1, 301)
    left = ((counts - found(rank)) ** 2).sum()
    for alpha in np.geomspace(0.1, 8, 40):
        for c2 in np.concatenate([[0], np.geomspace(0.1, 300, 40)]):
            shape = ((c2 + rank) / (c2 + 1)) ** -alpha
            design = np.stack([np.ones(300), shape], axis=1)
            best = np.linalg.lstsq(design, counts, rcond=None)[0]
            if best[0] >= 0:
                assert ((counts - design @ best) ** 2).sum() >= left * (1 - 1e-6)


@pytest.mark.data
def test_movielens(data_folder: Callable[[str], Path]):
    log = tv.read(data_folder("ml-1m"))
    found = popularity_curve(log, threshold=5)
    side = found.sides["log"]
    assert side.law is not None
    assert side.law.alpha == pytest.approx(1.4, abs=0.05)  # published: α ~ 1.4
    frame = log.frame.group_by("item").agg(n=pl.len(), r=(pl.col("value") >= 5).mean()).sort("n", descending=True)
    assert side.heads[0.1] == pytest.approx(frame["n"].head(371).sum() / frame["n"].sum())
    assert found.liked is not None
    assert len(found.liked) == 100
    assert found.liked_tau == pytest.approx(kendalltau(frame["n"], frame["r"]).statistic)
    assert found.liked["ratio"][0] > 0.4 > 0.1 > found.liked["ratio"][-1]  # Figure 7: the ratio grows with popularity
