"""Feedback loops: what grows, what does not, and that the truth is told."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.simulation.list_likeness import equal_gini, mean_jaccard, mean_overlap
from trueval.statistics.inequality import gini_index


@pytest.fixture(scope="module")
def even() -> tv.World:
    """A world whose log is uniform at first."""
    return tv.simulate("world", users=250, items=100, gamma=0.0, value_bias=0.0, seed=1)


@pytest.fixture(scope="module")
def loops(even: tv.World) -> dict[str, pl.DataFrame]:
    return {name: tv.feedback_loop(even, name, rounds=4, k=5).to_polars() for name in ("popularity", "random")}


def test_popularity_makes_the_rich_richer_and_chance_does_not(loops: dict[str, pl.DataFrame]) -> None:
    popular, chance = (loops[name]["gini"].to_list() for name in ("popularity", "random"))
    assert popular == sorted(popular)
    assert popular[-1] > popular[0] + 0.15
    assert abs(chance[-1] - chance[0]) < 0.03
    assert loops["random"]["coverage"][1:].min() > 0.95
    assert loops["popularity"]["coverage"][1:].max() < 0.5
    assert loops["popularity"]["overlap"][1] > 10 * loops["random"]["overlap"][1]


def test_what_is_observed_rises_while_the_truth_does_not(loops: dict[str, pl.DataFrame]) -> None:
    found = loops["popularity"]
    assert found["observed_precision"][-1] > found["observed_precision"][1]
    assert found["true_precision"][-1] < found["true_precision"][1]


def test_the_numbers_of_a_round_are_those_of_its_lists(even: tv.World) -> None:
    """One round written out: lists by scores that are known, clicks by the click model."""
    scores = np.random.default_rng(1).permutation(250 * 100).reshape(250, 100).astype(float)
    system = tv.Function(lambda users: scores[np.asarray(users) - 1], ids=True)
    found = tv.feedback_loop(even, system, rounds=1, k=5, observe=False)
    row = found.to_polars().row(1, named=True)
    seen = set(even.log.frame.select("user", "item").iter_rows())
    lists = {
        user: sorted((i for i in range(1, 101) if (user, i) not in seen), key=lambda i, u=user: -scores[u - 1, i - 1])[
            :5
        ]
        for user in range(1, 251)
    }
    shown = [item for own in lists.values() for item in own]
    assert row["coverage"] == len(set(shown)) / 100
    assert row["gini_shown"] == pytest.approx(gini_index(np.bincount(shown, minlength=101)[1:]))
    liked = [even.complete[user - 1, item - 1] >= 4 for user, own in lists.items() for item in own]
    assert row["true_precision"] == pytest.approx(np.mean(liked))
    pairs = list(itertools.combinations(lists.values(), 2))
    assert row["overlap"] == pytest.approx(np.mean([len({*a} & {*b}) / 5 for a, b in pairs]))
    assert "observed_precision" not in row
    new = found.log.frame.join(even.log.frame, on=["user", "item"], how="anti")
    assert len(new) == row["rows"] - len(even.log) == round(row["click_rate"] * 250 * 5)
    assert all(item in lists[user] for user, item in new.select("user", "item").iter_rows())
    ratings = [even.complete[user - 1, item - 1] for user, item in new.select("user", "item").iter_rows()]
    assert new["value"].to_list() == ratings
    provider = dict(even.item_table.select("item", "provider").iter_rows())
    weight = dict.fromkeys(provider.values(), 0.0)
    for own in lists.values():
        for place, item in enumerate(own, 1):
            weight[provider[item]] += 1 / place
    for name, total in weight.items():
        assert row[f"exposure: {name}"] == pytest.approx(total / sum(weight.values()))


def test_same_seed_same_rounds(even: tv.World) -> None:
    one, two, other = (tv.feedback_loop(even, "average", rounds=2, k=5, active=0.5, seed=s).frame for s in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(other)


def test_a_cascade_clicks_less_than_once_per_list(even: tv.World) -> None:
    found = tv.feedback_loop(even, "random", rounds=1, k=5, model="cascade", observe=False).to_polars()
    assert found["click_rate"][1] < 0.2
    assert found["rows"][1] - found["rows"][0] <= 250


def test_a_loop_in_words_tables_and_pages(even: tv.World) -> None:
    found = tv.feedback_loop(even, "random", rounds=2, k=3, observe=False)
    text = str(found)
    assert "Gini" in text
    assert "provider 1" in text
    assert repr(found) == "<Trajectory: 3 rounds of random>"
    assert "<table>" in found._repr_html_()
    assert found.to_markdown().startswith("| round |")
    assert "tabular" in found.to_latex()
    assert found.to_dict()["rows"][0]["gini_shown"] is None
    assert found.to_pandas().shape == found.frame.shape


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"rounds": 0}, "rounds must be"),
        ({"rounds": 10**6}, "at most 10,000 rounds"),
        ({"k": 0}, "k must be"),
        ({"k": 100}, "shorter than the catalogue"),
        ({"active": 0.0}, "active must be"),
        ({"by": "colour"}, "no groups 'colour'"),
        ({"by": "title"}, "too many groups"),
        ({"by": "aspects"}, "no groups 'aspects'"),
        ({"model": "psychic"}, "no click model"),
    ],
)
def test_impossible_loops(even: tv.World, asked: dict, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        tv.feedback_loop(even, "random", **asked)
    with pytest.raises(DefinitionError, match="needs a world"):
        tv.feedback_loop(even.log, "random")


# ---- snapshots -----------------------------------------------------------------------------------------------------


def test_snapshots_of_a_folder_a_list_and_a_log(even: tv.World, tmp_path) -> None:
    rows = even.log.frame
    cuts = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    for name, part in zip(("b.parquet", "a.parquet"), cuts[::-1]):
        part.write_parquet(tmp_path / name)
    (tmp_path / "notes.txt").write_text("not a snapshot")
    found = tv.track(tmp_path)
    assert found.frame["snapshot"].to_list() == ["a", "b"]
    for other in (tv.track(cuts), tv.track(even.log, periods=2), tv.track({"x": cuts[0], "y": cuts[1]})):
        assert other.frame.drop("snapshot").equals(found.frame.drop("snapshot"))
    assert len(tv.track(even.log).frame) == 10


def test_measures_of_snapshots() -> None:
    first = pl.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b", "c", "d"], "value": [1, 2, 3, 4]})
    second = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3, 3, 3], "item": list("abab") + list("abcd"), "value": [5] * 8})
    items = pl.DataFrame({"item": list("abcdef"), "kind": ["new", "new", "old", "old", "old", None]})
    found = tv.track([first, second], items=items, by="kind").to_polars()
    assert found["rows"].to_list() == [4, 8]
    assert found["users"].to_list() == [2, 3]
    assert found["coverage"].to_list() == pytest.approx([4 / 6, 4 / 6])
    assert found["gini"][0] == pytest.approx(gini_index(np.array([1, 1, 1, 1, 0, 0])))
    assert found["overlap"].to_list() == pytest.approx([0, np.mean([2, 2, 2]) / (8 / 3)])
    assert found["jaccard"].to_list() == pytest.approx([0, np.mean([1, 0.5, 0.5])])
    assert found["exposure: new"].to_list() == [0.5, 0.75]
    assert found["exposure: unknown"].to_list() == [0, 0]
    assert found["old_head"].to_list() == [0.25, 0.375]  # "a" alone
    assert found["mean_value"].to_list() == [2.5, None]


def test_fewer_rows_alone_are_no_concentration() -> None:
    """A tenth of the rows of one distribution: its Gini is higher, and that of equally many rows is not."""
    rng = np.random.default_rng(2)
    many = pl.DataFrame({"user": rng.integers(0, 500, 20_000), "item": rng.integers(0, 300, 20_000)})
    found = tv.track([many, many.sample(2000, seed=1)]).to_polars()
    assert found["gini"][1] > found["gini"][0] + 0.1
    assert abs(found["gini_equal"][1] - found["gini_equal"][0]) < 0.03


def test_overlap_and_jaccard_by_pairs() -> None:
    rng = np.random.default_rng(5)
    lists = [rng.choice(30, size=rng.integers(1, 9), replace=False) for _ in range(25)]
    user = np.repeat(np.arange(25), [len(own) for own in lists])
    item = np.concatenate(lists)
    pairs = list(itertools.combinations([set(own.tolist()) for own in lists], 2))
    assert mean_overlap(user, item) == pytest.approx(
        np.mean([len(a & b) for a, b in pairs]) / np.mean([*map(len, lists)])
    )
    assert mean_jaccard(user, item) == pytest.approx(np.mean([len(a & b) / len(a | b) for a, b in pairs]))
    assert np.isnan(mean_overlap(np.array([1]), np.array([1])))
    many = np.repeat(np.arange(1000), 5), rng.integers(0, 40, 5000)
    once = np.unique(many[0] * 40 + many[1])
    exact = mean_overlap(once // 40, once % 40)
    sampled = mean_jaccard(once // 40, once % 40)  # of 20,000 pairs: of lists of about the same length
    assert sampled == pytest.approx(exact / (2 - exact), abs=0.01)
    assert equal_gini(np.array([4, 4]), 100) == 0


def test_impossible_series(even: tv.World, tmp_path) -> None:
    with pytest.raises(DataError, match="no snapshots"):
        tv.track(tmp_path)
    with pytest.raises(DefinitionError, match="at least two"):
        tv.track([even.log])
    with pytest.raises(DataError, match="needs times"):
        tv.track(even.log.frame.drop("time"))
    for periods in (1, 10**6):
        with pytest.raises(DefinitionError, match="so many periods"):
            tv.track(even.log, periods=periods)
    with pytest.raises(DefinitionError, match="no groups 'x'"):
        tv.track(even.log, by="x")
    with pytest.raises(DataError, match="item ids are of different types"):
        tv.track([even.log.frame, even.log.frame.with_columns(pl.col("item").cast(pl.String))])
    with pytest.raises(DataError, match="item ids are of different types"):
        tv.track(even.log, items=["a", "b"])
    with pytest.raises(DefinitionError, match="table of items"):
        tv.track([even.log.frame, even.log.frame], by="x")
