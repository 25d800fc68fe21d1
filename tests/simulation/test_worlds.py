"""Worlds of every kind: their shape, their bits, their files, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.errors import DataError, DefinitionError, OutputError
from trueval.kernels import use_threads
from trueval.simulation.latent import kept_by_value
from trueval.simulation.log_shape import ks_distance
from trueval.simulation.opposed import liked_shares
from trueval.statistics.inequality import gini_index

KINDS = {
    "world": lambda seed: tv.simulate("world", users=60, items=40, seed=seed),
    "drift": lambda seed: tv.simulate("world", users=60, items=40, drift=0.8, value_bias=-0.5, seed=seed),
    "self-selected": lambda seed: tv.simulate("world", users=60, items=40, self_selection=1.5, seed=seed),
    "opposed self-selected": lambda seed: tv.simulate("opposed", users=60, items=40, self_selection=1.5, seed=seed),
    "skew": lambda seed: tv.simulate("skew", users=60, items=40, seed=seed),
    "opposed": lambda seed: tv.simulate("opposed", users=60, items=40, seed=seed),
    "like": lambda seed: tv.simulate("like", tv.simulate("world", users=60, items=40).log, seed=seed),
    "opposed like": lambda seed: tv.simulate("opposed", tv.simulate("world", users=60, items=40).log, seed=seed),
}


def counts_of(world: tv.World) -> np.ndarray:
    return np.bincount(world.items.codes(world.log.frame["item"]), minlength=len(world.items))


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_bits(kind: str) -> None:
    one, two, other = (KINDS[kind](seed) for seed in (5, 5, 6))
    with use_threads(1):
        assert one.log.frame.equals(two.log.frame)
    assert one.complete.tobytes() == two.complete.tobytes()
    assert one.item_table.equals(two.item_table)
    assert not one.log.frame.equals(other.log.frame)
    assert one.log.frame["time"].is_sorted()
    assert not one.log.frame.select("user", "item").is_duplicated().any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_log_holds_ratings_of_the_complete_world(kind: str) -> None:
    """With drift, those of the time of each row."""
    world = KINDS[kind](3)
    user, item = world.codes_of(world.log.frame)
    at = world.times.relative(world.log.frame["time"].to_numpy())
    assert (world.log.frame["value"].to_numpy() == world.tastes.ratings(user, item, at=at)).all()
    if kind != "drift":
        assert (world.log.frame["value"].to_numpy() == world.complete[user, item]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_log_is_drawn_with_the_probabilities_that_the_world_tells(kind: str) -> None:
    """The expected number of rows of each level of rating is the sum of probabilities of its pairs."""
    world = KINDS[kind](8)
    every = np.arange(len(world.users))[:, None], np.arange(len(world.items))
    p = world.probability(*every)
    spread = np.sqrt((p * (1 - p)).sum())
    assert abs(len(world.log) - p.sum()) < 4.5 * spread + 1e-9
    at = world.times.relative(world.times.of(*every))
    rating = world.tastes.ratings(*every, at=at)
    for level in world.tastes.levels:
        own = p[rating == level]
        rows = (world.log.frame["value"] == level).sum()
        assert abs(rows - own.sum()) < 4.5 * np.sqrt((own * (1 - own)).sum()) + 1e-9 + (kind == "skew") * 30
    assert world.expected == pytest.approx(p.sum(), rel=0.15)


@pytest.mark.parametrize("value_bias", [-0.8, 0.0, 1.0])
def test_rows_of_every_level_of_rating(value_bias: float) -> None:
    """Many rows: their number by level is the sum of the probabilities of the pairs with that rating."""
    world = tv.simulate("world", users=800, items=150, ratings=20_000, value_bias=value_bias, seed=2)
    p = world.probability(np.arange(800)[:, None], np.arange(150))
    for level in (1, 2, 3, 4, 5):
        own = p[world.complete == level]
        rows = (world.log.frame["value"] == level).sum()
        assert abs(rows - own.sum()) < 4 * np.sqrt((own * (1 - own)).sum())
    assert len(world.log) == pytest.approx(20_000, rel=0.03)


def test_value_bias_by_level() -> None:
    """The probability of a row falls by e^-bias with each level, and p / that is what popularity alone gives."""
    world = tv.simulate("world", users=60, items=40, value_bias=0.7, seed=1)
    every = np.arange(60)[:, None], np.arange(40)
    met = world.seen.probability(*every)
    assert world.probability(*every) / met == pytest.approx(np.exp(0.7 * (world.complete - 5)))
    assert kept_by_value(0.0, 3) == (1.0, 1.0, 1.0)


def test_self_selection_is_stronger_for_rarer_items() -> None:
    """Of rare items those are met who are expected to be liked; of the most popular one all, as without."""
    plain, chosen = (
        tv.simulate("world", users=600, items=300, ratings=15_000, value_bias=0.0, self_selection=s, seed=1)
        for s in (0.0, 1.5)
    )
    every = np.arange(600)[:, None], np.arange(300)
    assert (plain.complete == chosen.complete).all()
    p, weight = chosen.seen.probability(*every), chosen.seen.weight
    met = (p * chosen.complete).sum(axis=0) / p.sum(axis=0) - chosen.complete.mean(axis=0)
    rare, famous = weight <= np.quantile(weight, 0.3), weight >= np.quantile(weight, 0.98)
    assert met[rare].mean() > 0.3 > 0.15 > met[famous].mean() > -0.1
    assert np.corrcoef(np.log(p.sum(axis=0)), np.log(weight))[0, 1] > 0.99  # popularity stays what it was
    assert chosen.expected == pytest.approx(15_000, rel=0.001)
    assert len(chosen.log) == pytest.approx(15_000, rel=0.03)


def test_gamma_is_the_exponent_of_popularity() -> None:
    steep, flat, none = (tv.simulate("world", users=60, items=40, gamma=g, seed=1).seen.weight for g in (2.0, 1.0, 0.0))
    assert steep == pytest.approx(flat**2)
    assert none == pytest.approx(np.ones(40))


def test_the_probability_of_liking_by_many_draws_of_noise() -> None:
    worlds = [tv.simulate("world", users=30, items=20, noise=0.9, seed=1)]
    tastes = worlds[0].tastes
    from dataclasses import replace

    every = np.arange(30)[:, None], np.arange(20)
    likes = sum(replace(tastes, seed=seed).ratings(*every) >= 4 for seed in range(400))
    p = worlds[0].liked(np.arange(1, 31))
    z = (likes - 400 * p) / np.sqrt(400 * np.maximum(p * (1 - p), 1e-3))
    assert abs(z.mean()) < 0.2
    assert 0.85 < z[(p > 0.02) & (p < 0.98)].std() < 1.15
    assert tastes.shares(*every)[..., 3:].sum(axis=-1) == pytest.approx(p)


@pytest.mark.parametrize(("alignment", "sign"), [(-1.0, -1), (-0.7, -1), (0.7, 1), (1.0, 1)])
def test_alignment_of_quality_and_popularity(alignment: float, sign: int) -> None:
    world = tv.simulate("world", users=100, items=300, alignment=alignment, seed=2)
    quality = world.item_factors[:, -1]
    tied = np.corrcoef(np.log(world.seen.weight), quality)[0, 1]
    assert np.sign(tied) == sign
    assert tied == pytest.approx(alignment, abs=0.15)


@pytest.mark.parametrize("data", [False, True])
def test_opposed_worlds_are_opposed(data: bool) -> None:
    """Popularity falls with the share of users who like an item; all else stays as it was."""
    base = tv.simulate("world", users=300, items=100, alignment=0.6, value_bias=0.0, seed=3)
    aligned = tv.simulate("like", base.log) if data else tv.simulate("world", users=300, items=100, alignment=0.0)
    opposed = tv.simulate("opposed", base.log) if data else tv.simulate("opposed", users=300, items=100)
    liked = liked_shares(opposed)
    order = np.argsort(liked)
    assert (np.diff(opposed.seen.weight[order]) <= 0).all()
    assert np.corrcoef(counts_of(opposed), liked)[0, 1] < -0.5
    assert np.sort(opposed.seen.weight) == pytest.approx(np.sort(aligned.seen.weight))
    assert (opposed.complete == aligned.complete).all()
    assert len(opposed.log) == pytest.approx(len(aligned.log), rel=0.1)
    weaker = tv.simulate("opposed", users=300, items=100, strength=0.5)
    assert -0.9 < np.corrcoef(weaker.seen.weight, liked_shares(weaker))[0, 1] < 0


def test_in_an_opposed_world_precision_misleads_and_antiprecision_does_not() -> None:
    """The finding of Mena-Maldonado et al., §5.5: popularity looks better than random and is worse."""
    world = tv.simulate("opposed", users=500, items=200, ratings=10_000, value_bias=0.0, seed=1)
    parts = tv.split(world.log, "holdout", seed=1)
    result = tv.evaluate(
        parts, ["popularity", "random"], design="AR-AI-AN", metrics="precision@10,antiprecision@10", threshold=4,
        items=world.item_table, interval="none",
    )  # fmt: skip
    true = dict(
        world.truths(["popularity", "random"], "precision@10", train=parts.train).select("system", "value").rows()
    )
    assert result["popularity", "precision@10"].value > result["random", "precision@10"].value
    assert true["popularity"] < true["random"]
    assert result["popularity", "antiprecision@10"].value > result["random", "antiprecision@10"].value


def test_a_skewed_world_has_no_preference() -> None:
    world = tv.simulate("skew", users=400, items=100, alpha=1.5, prior={1: 0.2, 2: 0.3, 9: 0.5}, seed=1)
    shares = world.log.frame["value"].value_counts().sort("value")
    assert shares["value"].to_list() == [1, 2, 9]
    assert shares["count"].to_numpy() / len(world.log) == pytest.approx([0.2, 0.3, 0.5], abs=0.03)
    popular, chance = (world.truth(name, "precision@10", threshold=9) for name in ("popularity", "random"))
    assert popular == pytest.approx(0.5, abs=0.04)
    assert chance == pytest.approx(0.5, abs=0.04)


def test_observed_precision_of_popularity_follows_the_skew() -> None:
    """Figure 5 of Bellogín et al.: from below random where all items have the same number of ratings, upwards."""
    found = []
    for alpha in (0.0, 0.7, 1.4):
        world = tv.simulate("skew", users=600, items=200, ratings=12_000, alpha=alpha, seed=2)
        parts = tv.split(world.log, "holdout", seed=1)
        result = tv.evaluate(
            parts, ["popularity", "random"], design="AR-AI-AN", metrics="precision@10", threshold=4, interval="none"
        )
        found.append(result["popularity", "precision@10"].value / result["random", "precision@10"].value)
    assert found[0] < 1 < found[1] < found[2]


def test_a_skewed_world_after_data() -> None:
    data = tv.simulate("world", users=300, items=120, seed=1).log
    world = tv.simulate("skew", data, alpha=0.8)
    assert (len(world.users), world.log.n_items, len(world.log)) == (data.n_users, data.n_items, len(data))
    shares = data.frame["value"].value_counts().sort("value")["count"].to_numpy() / len(data)
    assert list(world.options["prior"].values()) == pytest.approx(shares)


def test_drift_moves_means_and_fading_moves_popularity() -> None:
    still, moving = (tv.simulate("world", users=50, items=40, drift=d, seed=1) for d in (0.0, 1.0))
    users, items = np.arange(50)[:, None], np.arange(40)
    change = moving.tastes.means(users, items, at=1.0) - moving.tastes.means(users, items, at=0.0)
    assert change == pytest.approx(np.broadcast_to(moving.tastes.trend, (50, 40)), abs=1e-5)
    assert still.tastes.trend is None
    early, late = (
        tv.simulate("world", users=400, items=100, fade=f, seed=1).log.frame["time"].mean() for f in (4, 0.5)
    )
    assert early < late


# ---- worlds like a log ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def known() -> tv.World:
    return tv.simulate("world", users=1500, items=400, ratings=60_000, value_bias=0.0, alignment=0.7, seed=7)


@pytest.fixture(scope="module")
def fitted(known: tv.World) -> tv.World:
    return tv.simulate("like", known.log, seed=1)


def test_a_fitted_world_has_the_counts_of_the_log(known: tv.World, fitted: tv.World) -> None:
    """Expected numbers of rows of every user and item are those of the log."""
    users, items = np.arange(len(fitted.users))[:, None], np.arange(len(fitted.items))
    p = fitted.probability(users, items)
    rows = np.bincount(fitted.users.codes(known.log.frame["user"]))
    counts = np.bincount(fitted.items.codes(known.log.frame["item"]))
    assert p.sum(axis=1) == pytest.approx(rows, rel=0.02)
    assert p.sum(axis=0) == pytest.approx(counts, rel=0.02)


def test_a_fitted_world_recovers_what_the_log_was_made_with(known: tv.World, fitted: tv.World) -> None:
    quality = known.item_factors[known.items.codes(fitted.items.values), -1]
    assert np.corrcoef(fitted.item_factors[:, -1], quality)[0, 1] > 0.8
    weight = known.seen.weight[known.items.codes(fitted.items.values)]
    assert np.corrcoef(np.log(fitted.seen.weight), np.log(weight))[0, 1] > 0.97
    tied = [
        np.corrcoef(np.log(w), q)[0, 1]
        for w, q in ((weight, quality), (fitted.seen.weight, fitted.item_factors[:, -1]))
    ]
    assert tied[1] == pytest.approx(tied[0], abs=0.15)


def test_the_table_tells_how_well_a_world_fits(fitted: tv.World) -> None:
    table = fitted.fit.table()
    found = {row["property"]: row for row in table.iter_rows(named=True)}
    for name in (
        "rows",
        "Gini of items",
        "Gini of users",
        "mean rating",
        "spread of ratings",
        "ratings per item, 50 %",
    ):
        assert found[name]["world"] == pytest.approx(found[name]["data"], rel=0.06)
    for name in ("spread of item means", "spread of user means"):
        assert found[name]["world"] == pytest.approx(found[name]["data"], rel=0.15)
    distances = dict(fitted.fit.distances)
    assert len(distances) == 4
    assert max(distances.values()) < 0.06
    assert "Kolmogorov" in str(fitted.fit)
    assert "<table>" in fitted.fit._repr_html_()


def test_a_table_of_a_bad_fit_says_so(known: tv.World) -> None:
    from trueval.simulation.fit_table import compare_logs

    flat = tv.simulate("world", users=1500, items=400, ratings=60_000, gamma=0.0, value_bias=2.0, seed=7)
    distances = dict(compare_logs(known.log, flat.log).distances)
    assert distances["ratings per item (Kolmogorov–Smirnov)"] > 0.2
    assert distances["rating values (total variation)"] > 0.2


def test_assumed_value_bias_keeps_the_ratings_of_the_log(known: tv.World, fitted: tv.World) -> None:
    """The same log may come from a world where much more is disliked: what is assumed moves the truth."""
    biased = tv.simulate("like", known.log, value_bias=0.3, seed=1)
    assert dict(biased.fit.distances)["rating values (total variation)"] < 0.06
    assert (biased.complete >= 4).mean() < 0.8 * (fitted.complete >= 4).mean()
    assert len(biased.log) == pytest.approx(len(known.log), rel=0.08)
    with pytest.raises(DefinitionError, match="more items than there are"):
        tv.simulate("like", known.log, value_bias=2.0)


def test_worlds_like_logs_without_ratings_or_times() -> None:
    rows = tv.simulate("world", users=300, items=100, seed=2).log.frame
    world = tv.simulate("like", rows.select("user", "item"), liked=0.3)
    assert set(world.log.frame["value"]) == {1.0}
    assert not world.log.has("time")
    assert (world.complete > 0).mean() == pytest.approx(0.3, abs=0.06)
    assert len(world.log) == pytest.approx(len(rows), rel=0.05)
    assert world.truth("popularity", "precision@10") > 0
    text = rows.select(pl.format("u{}", "user").alias("user"), pl.format("i{}", "item").alias("item"), "value")
    named = tv.simulate("like", text)
    assert named.log.frame["user"][0].startswith("u")
    assert named.truth("average", "ndcg@5") > 0


# ---- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_world_in_a_folder(kind: str, tmp_path: Path) -> None:
    world = KINDS[kind](4)
    fresh = KINDS[kind](4)
    fresh.save(tmp_path / "world")  # in a stream, where the log was not asked for
    read = tv.World.load(tmp_path / "world")
    order = ["time", "user", "item"]
    assert read.log.frame.sort(order).equals(world.log.frame.sort(order))
    assert (read.complete == world.complete).all()
    assert read.truth("popularity", "ndcg@5") == world.truth("popularity", "ndcg@5")
    pairs = world.log.frame.head(20)
    assert read.propensity_of(pairs).of(pairs).to_list() == world.propensity_of(pairs).of(pairs).to_list()
    assert read.user_table.equals(world.user_table)
    assert (read.kind, read.seed, read.threshold) == (world.kind, world.seed, world.threshold)


def test_folders_are_not_overwritten(tmp_path: Path) -> None:
    world = KINDS["world"](1)
    world.save(tmp_path / "a")
    with pytest.raises(OutputError, match="already something"):
        world.save(tmp_path / "a")
    world.save(tmp_path / "a", force=True)
    (tmp_path / "a" / "mine.txt").write_text("x")
    with pytest.raises(OutputError, match=r"mine\.txt"):
        world.save(tmp_path / "a", force=True)
    with pytest.raises(OutputError, match="other files"):
        world.save(tmp_path, force=True)
    for broken in ("nothing", "a/log.parquet"):
        with pytest.raises(DataError, match="not a world"):
            tv.World.load(tmp_path / broken)
    (tmp_path / "a" / "world.json").write_text("{}")
    with pytest.raises(DataError, match="not a world"):
        tv.World.load(tmp_path / "a")


# ---- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "asked", "said"),
    [
        ("wrld", {}, "did you mean world"),
        ("world", {"user": 3}, "did you mean users"),
        ("world", {"users": 0}, "more users"),
        ("world", {"items": 1}, "more items"),
        ("world", {"users": 10, "items": 10, "ratings": 51}, "1 to 50 ratings"),
        ("world", {"alignment": 1.5}, "alignment must be"),
        ("world", {"noise": -1.0}, "noise must be"),
        ("world", {"self_selection": -1.0}, "self_selection must be"),
        ("world", {"users": "many"}, "users must be a whole number"),
        ("world", {"gamma": float("nan")}, "gamma must be"),
        ("world", {"groups": ()}, "shares of user groups"),
        ("world", {"groups": (0.5, -1)}, "shares of user groups"),
        ("world", {"genres": 0}, "genres must be"),
        ("opposed", {"strength": 2.0}, "strength must be"),
        ("opposed", {"alignment": 0.5}, "no option 'alignment'"),
        ("like", {}, "needs data"),
    ],
)
def test_impossible_worlds(kind: str, asked: dict, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        tv.simulate(kind, **asked)


@pytest.mark.parametrize("kind", ["world", "skew"])
def test_worlds_that_do_not_fit_into_memory(kind: str) -> None:
    with pytest.raises(DataError, match="not enough memory for 1,000,000,000,000 users"):
        tv.simulate(kind, users=10**12, items=500, ratings=1000)


def test_data_that_no_world_can_follow() -> None:
    few = pl.DataFrame({"user": [1, 2], "item": [1, 2]})
    with pytest.raises(DataError, match="too small"):
        tv.simulate("like", few)
    with pytest.raises(DefinitionError, match="takes no data"):
        tv.simulate("world", few)
    rng = np.random.default_rng(1)
    many = pl.DataFrame({"user": rng.integers(0, 30, 300), "item": rng.integers(0, 30, 300), "value": rng.random(300)})
    with pytest.raises(DataError, match="ratings of a scale"):
        tv.simulate("like", many)
    with pytest.raises(DefinitionError, match="ratings of a scale"):
        tv.simulate("skew", many)
    for wrong in ({"taste": 2.0}, {"liked": 0.0}, {"liked": 1.0}, {"value_bias": 9.0}):
        with pytest.raises(DefinitionError, match=next(iter(wrong))):
            tv.simulate("like", KINDS["world"](1).log, **wrong)


def test_smallest_worlds() -> None:
    tiny = tv.simulate("world", users=1, items=2, ratings=1, genres=1, providers=1, groups=(1.0,), value_bias=0.0)
    assert tiny.complete.shape == (1, 2)
    assert "1 users" in str(tiny)


def test_measures_of_shape() -> None:
    assert np.isnan(gini_index(np.array([0, 0])))
    counts = np.random.default_rng(1).integers(0, 50, 200)
    naive = np.abs(counts[:, None] - counts[None, :]).sum() / (2 * 200**2 * counts.mean())
    assert gini_index(counts) == pytest.approx(naive)
    from scipy import stats

    a, b = np.random.default_rng(2).integers(0, 9, 50), np.random.default_rng(3).integers(0, 12, 70)
    assert ks_distance(a, b) == pytest.approx(stats.ks_2samp(a, b).statistic)
