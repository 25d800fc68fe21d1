"""The kind "like": a world fitted to a log.

Its popularity, activity, ratings and times follow those of the log, and so does what people meet and like together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.errors import DataError, DefinitionError
from trueval.kernels.seeds import derive
from trueval.render.numbers import percent
from trueval.simulation.by_topics import ByTopics, with_topics
from trueval.simulation.latent import kept_by_value
from trueval.simulation.observation import MOST, ByPopularity, activity_for, sum_of_least
from trueval.simulation.period_fit import in_periods
from trueval.simulation.periods import ByPeriods, TimesInPeriods
from trueval.simulation.taste_fit import fit_tastes
from trueval.simulation.tastes import Tastes
from trueval.simulation.times import Times, Timing
from trueval.simulation.topic_fit import fit_affinities
from trueval.simulation.world import World

_FACTORS = 8
_LEVELS = 100  # more different values are no rating scale
_FULL = 0.9 * MOST  # no user meets more of the items, and no item more of the users
_LOST = 0.05  # a larger share of rows that cannot come about is refused
_ASKED = 100  # partners of each user and item
_PAIRS = 100_000  # met pairs on which cuts and shares are measured


@dataclass(frozen=True)
class _Coded:
    """The distinct pairs of a log: codes, the place of each rating among the levels, times."""

    users: Ids
    items: Ids
    user: np.ndarray
    item: np.ndarray
    levels: tuple[float, ...]
    place: np.ndarray
    time: np.ndarray | None

    def in_order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Users, items and places of ratings by user and item: sums must not depend on the order of rows."""
        order = np.lexsort((self.item, self.user))
        return self.user[order], self.item[order], self.place[order]

    @staticmethod
    def of(log: Interactions) -> _Coded:
        by = [name for name in ("time", "user", "item", "value") if log.has(name)]
        frame = log.frame.sort(by).unique(
            ["user", "item"], keep="last", maintain_order=True
        )  # repeated pairs count once
        users, items = Ids.of(frame["user"]), Ids.of(frame["item"])
        if len(users) < 5 or len(items) < 5:
            found = f"{len(users):,} users, {len(items):,} items"
            raise DataError("the log is too small to fit a world", where=log.name, found=found, do="give a larger log")
        values = frame["value"].to_numpy() if log.has("value") else np.ones(len(frame))
        levels, place = np.unique(values, return_inverse=True)
        if len(levels) > _LEVELS:
            raise DataError(
                "a world needs ratings of a scale", where=log.name, found=f"{len(levels):,} different values",
                do="round them, or leave the value column out",
            )  # fmt: skip
        time = frame["time"].to_numpy().astype(np.int64) if log.has("time") else None
        return _Coded(
            users, items, users.codes(frame["user"]), items.codes(frame["item"]), tuple(map(float, levels)), place, time
        )


@checked
def fitted_world(
    data: Interactions,
    *,
    taste: float | None = None,
    value_bias: float = 0.0,
    liked: float = 0.2,
    threshold: float | None = None,
    check: bool = False,
    seed: int = 0,
) -> World:
    """A world like a log (see `simulate` for the options); `world.fit` tells how well it fits.

    >>> from trueval.simulation.latent import latent_world
    >>> world = fitted_world(latent_world(users=200, items=100, seed=1).log)
    >>> world.fit.table()["property"][0], len(world.items)
    ('rows', 96)
    """
    from trueval.simulation.fit_table import compare_logs

    def fit(rows: Interactions) -> World:
        return fit_world(rows, taste=taste, value_bias=value_bias, liked=liked, threshold=threshold, seed=seed)

    world = fit(data)
    found = compare_logs(data, world.log)
    if check:
        from trueval.simulation.system_check import check_systems

        found = replace(found, systems=check_systems(data, fit, seed=seed))
    return replace(world, fit=found)


def fit_world(
    data: Interactions, *, taste: float | None = None, value_bias: float = 0.0, liked: float = 0.2,
    threshold: float | None = None, seed: int = 0,
) -> World:  # fmt: skip
    """A world like a log, without a comparison of the two."""
    for name, value, low, high in (("taste", taste, 0, 1), ("value_bias", value_bias, -4, 4), ("liked", liked, 0, 1)):
        if value is not None and (not low <= value <= high or (name == "liked" and value in (0, 1))):
            raise DefinitionError(f"{name} must be from {low} to {high}", found=f"{value!r}", do="see tv.simulate")
    coded = _Coded.of(data)
    implicit = len(coded.levels) == 1
    levels = (0.0, coded.levels[0]) if implicit else coded.levels
    kept = (0.0, 1.0) if implicit else kept_by_value(value_bias, len(levels))
    shares = np.array([1 - liked, liked]) if implicit else np.bincount(coded.place) / len(coded.place) / np.array(kept)
    if implicit:
        tastes = _tastes_of_topics(coded, levels, taste=taste, liked=liked, seed=seed)
    else:
        tastes = _tastes(coded, levels, taste=taste, seed=seed)
    tastes, seen, share = _calibrated(coded, tastes, shares / shares.sum(), kept, seed)
    observed, times = _with_times(coded, seen, seed)
    if not implicit:  # of a log without ratings, what people meet together is what they like
        observed, times = _with_topics(coded, observed, times, seed)
        if isinstance(observed, ByTopics):  # people meet what they like a little more, and ratings have their shares
            rng = np.random.default_rng(int(derive(seed, "cuts of met pairs")))
            tastes = _with_cuts(tastes, _met(observed, rng), rng.standard_normal(_PAIRS), shares / shares.sum())
    threshold = _threshold(data, levels) if threshold is None else threshold
    return World(
        "like", tastes, coded.users, coded.items, threshold, observed, _side(data.users, coded.users, "user"),
        _side(data.items, coded.items, "item"), kept=kept, kept_share=share, times=times,
        options={"data": data.name, "taste": taste, "value_bias": value_bias} | ({"liked": liked} if implicit else {}),
    )  # fmt: skip


def _with_times(coded: _Coded, seen: ByPopularity, seed: int) -> tuple[ByPopularity | ByPeriods, Timing | None]:
    """When users come and items are popular; rows that all have one time keep it."""
    if coded.time is None:
        return seen, None
    found = in_periods(seen, coded.user, coded.item, coded.time, seed=seed)
    if found is not None:
        return found
    begin = int(coded.time[0])
    released, joined = (np.full(len(ids), begin) for ids in (coded.items, coded.users))
    return seen, Times(released, joined, begin=begin, end=begin, fade=1.0, seed=seed)


def _with_topics(
    coded: _Coded, observed: ByPopularity | ByPeriods, times: Timing | None, seed: int
) -> tuple[ByPopularity | ByPeriods, Timing | None]:
    """What people meet together, as far as the log tells; when they come, and how much in all, stays."""
    if isinstance(observed, ByPopularity):
        base = ByPeriods(observed.activity[:, None], observed.weight[:, None], observed.seed)
    else:
        base = observed
    user, item, _ = coded.in_order()
    topics = fit_affinities(user, item, base.activities, base.weights, seed=seed)
    if topics is None:
        return observed, times
    found = with_topics(base, topics.users, topics.items)
    if isinstance(times, TimesInPeriods):
        times = replace(times, activities=found.activities, weights=found.weights)
    return found, times


def _tastes(coded: _Coded, levels: tuple[float, ...], *, taste: float | None, seed: int) -> Tastes:
    """Quality, generosity and factors of taste as far as the log tells them apart, and noise for the rest.

    On a scale where ratings are normal: effects and factors are drawn from what is known of them, so that they spread
    as the true ones do, and not as their noisy means. A share `taste` of what effects do not explain, where it is
    given, is what factors are scaled to.
    """
    rng = np.random.default_rng(int(derive(seed, "fitted world")))
    user, item, place = coded.in_order()
    score = _normal_scores(place)
    quality, score = _effects(score, item, len(coded.items), rng)
    generosity, score = _effects(score, user, len(coded.users), rng)
    fitted = fit_tastes(user, item, score, users=len(coded.users), items=len(coded.items), seed=seed)
    rest = float(score.std())
    if fitted is None:  # ratings do not tell who likes what, and what is assumed is drawn at random
        own, other = (rng.standard_normal((len(ids), _FACTORS)) for ids in (coded.users, coded.items))
        spread, share = np.sqrt(_FACTORS), taste or 0.0
    else:
        own, other, spread = fitted.users, fitted.items, 1.0
        variance = float(((own[user] * other[item]).sum(axis=1)).var())
        share = variance / (variance + fitted.noise**2) if taste is None else taste
        spread = np.sqrt(max(variance, 1e-12))
    return _of_factors(own, other * (np.sqrt(share) * rest / spread), generosity, quality, levels,
                       noise=float(np.sqrt(1 - share) * rest), seed=seed)  # fmt: skip


def _tastes_of_topics(
    coded: _Coded, levels: tuple[float, ...], *, taste: float | None, liked: float, seed: int
) -> Tastes:
    """Liking where a log only tells who met what: half of popularity and of activity, and what people meet together.

    An affinity f is taken for liking by f times as many: near the share that is liked, P(liked) rises by that share
    for each 1 of f.
    """
    from scipy.special import ndtri

    rng = np.random.default_rng(int(derive(seed, "fitted world")))
    quality, generosity = (
        _liking(own, others, liked)
        for own, others in (
            (np.bincount(coded.item), len(coded.users)),
            (np.bincount(coded.user), len(coded.items)),
        )
    )
    user, item, _ = coded.in_order()
    always = np.ones((len(coded.users), 1)), np.ones((len(coded.items), 1))
    topics = fit_affinities(user, item, *always, seed=seed)
    if topics is None:
        own, other = (rng.standard_normal((len(ids), _FACTORS)) for ids in (coded.users, coded.items))
        share = taste or 0.0
        slope = np.sqrt(share / _FACTORS)
    else:
        own, other = topics.users, topics.items
        some = rng.integers(0, len(own), _PAIRS), rng.integers(0, len(other), _PAIRS)
        spread = float((own[some[0]] * other[some[1]]).sum(axis=1).std())
        slope = liked * np.sqrt(2 * np.pi) * np.exp(ndtri(liked) ** 2 / 2)  # share / density at the cut
        share = (slope * spread) ** 2 / (1 + (slope * spread) ** 2) if taste is None else taste
        slope = np.sqrt(share) / max(spread, 1e-12)
    return _of_factors(own, other * slope, generosity, quality, levels, noise=float(np.sqrt(1 - share)), seed=seed)


def _of_factors(
    own: np.ndarray, other: np.ndarray, generosity: np.ndarray, quality: np.ndarray, levels: tuple[float, ...], *,
    noise: float, seed: int,
) -> Tastes:  # fmt: skip
    users = np.hstack([own, generosity[:, None], np.ones((len(own), 1))]).astype(np.float32)
    items = np.hstack([other, np.ones((len(other), 1)), quality[:, None]]).astype(np.float32)
    return Tastes(users, items, levels, tuple(np.zeros(len(levels) - 1)), noise, seed)


def _liking(counts: np.ndarray, most: int, liked: float) -> np.ndarray:
    """How much more than usual items are liked, or users like, where a log only tells how often they occur.

    Half of what makes some more frequent than others (on a scale of logarithms) is taken for liking, the rest for
    being met; who occurs often must be liked often.
    """
    from scipy.special import ndtri

    share = liked * np.sqrt(counts) / np.sqrt(counts).mean()
    share = np.clip(np.maximum(share, counts / (0.75 * most)), 1e-3, 0.97)
    return ndtri(share) - ndtri(liked)


def _normal_scores(place: np.ndarray) -> np.ndarray:
    """The normal quantile in the middle of each level."""
    from scipy.special import ndtri

    shares = np.bincount(place) / len(place)
    return ndtri(np.cumsum(shares) - shares / 2)[place]


def _effects(
    score: np.ndarray, owner: np.ndarray, number: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """An effect for each owner, drawn from its posterior, and the scores without the owners' means."""
    counts = np.bincount(owner, minlength=number)
    means = np.bincount(owner, score, minlength=number) / np.maximum(counts, 1)
    rest = score - means[owner]
    within = (rest**2).sum() / max(len(score) - number, 1)
    even = (len(score) - (counts**2).sum() / len(score)) / max(number - 1, 1)  # as for groups of equal size
    between = ((counts * (means - score.mean()) ** 2).sum() / max(number - 1, 1) - within) / max(even, 1e-9)
    between = max(between, 1e-6)
    trust = counts / (counts + within / between)
    effect = trust * (means - score.mean()) + np.sqrt(between * (1 - trust)) * rng.standard_normal(number)
    return effect, score - score.mean() - (trust * (means - score.mean()))[owner]


def _calibrated(
    coded: _Coded, tastes: Tastes, shares: np.ndarray, kept: tuple[float, ...], seed: int
) -> tuple[Tastes, ByPopularity, float]:
    """Cuts and observation together: ratings that enter the log must have the shares of the log.

    Who likes little must meet more to have as many rows, so both depend on each other and are found in turns.
    """
    implicit = min(kept) == 0
    rng = np.random.default_rng(int(derive(seed, "cuts")))
    noise = rng.standard_normal(_PAIRS)
    if implicit:  # nothing disliked is seen: the share of what is liked is that of all pairs
        pairs = rng.integers(0, len(coded.users), _PAIRS), rng.integers(0, len(coded.items), _PAIRS)
    else:  # independent, each as often as in the log
        rows = rng.integers(0, len(coded.user), _PAIRS)
        pairs = coded.user[rows], rng.permutation(coded.item[rows])
    tastes = _with_cuts(tastes, pairs, noise, shares)
    seen, share = _observation(coded, tastes, kept, seed)
    wanted = np.bincount(coded.place) / len(coded.place)
    for _ in range(8 if min(kept) < 1 and not implicit else 0):
        pairs = _met(seen, rng)
        found = tastes.shares(*pairs).mean(axis=0) * np.asarray(kept)
        shares = shares * np.sqrt(wanted / np.maximum(found / found.sum(), 1e-9))  # half of the way
        shares = shares / shares.sum()
        tastes = _with_cuts(tastes, pairs, noise, shares)
        seen, share = _observation(coded, tastes, kept, seed)
    return tastes, seen, share


def _with_cuts(tastes: Tastes, pairs: tuple[np.ndarray, np.ndarray], noise: np.ndarray, shares: np.ndarray) -> Tastes:
    """Cuts at which the ratings of these pairs have these shares."""
    value = tastes.means(*pairs) + tastes.noise * noise
    return replace(tastes, cuts=tuple(np.quantile(value, np.minimum(np.cumsum(shares)[:-1], 1.0))))


def _met(seen: ByPopularity | ByPeriods, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Pairs drawn as they are met."""
    user, item, met = seen.likely(rng, 2 * _PAIRS)
    rows = rng.choice(2 * _PAIRS, _PAIRS, p=met / met.sum())
    return user[rows], item[rows]


def _observation(coded: _Coded, tastes: Tastes, kept: tuple[float, ...], seed: int) -> tuple[ByPopularity, float]:
    """Activities and weights with which each user and each item has as many rows as in the log, on average."""
    rows = np.bincount(coded.user, minlength=len(coded.users)).astype(float)
    counts = np.bincount(coded.item, minlength=len(coded.items)).astype(float)
    seen, share = ByPopularity(rows, counts, seed), 1.0
    for _ in range(1 if min(kept) == 1 else 5):  # what enters depends on who is met, and who must be met on what enters
        by_user, by_item = _shares_kept(seen, tastes, kept)
        meet_user = np.minimum(rows / by_user, _FULL * len(counts))
        meet_item = np.minimum(counts / by_item, _FULL * len(rows))
        meet_item *= meet_user.sum() / meet_item.sum()
        weight = meet_item / meet_item.max()
        for _ in range(20):
            weight = weight * meet_item / sum_of_least(weight, activity_for(meet_user, weight))
            weight = weight / weight.max()
        seen = ByPopularity(activity_for(meet_user, weight), weight, seed)
        share = float((meet_user * by_user).sum() / meet_user.sum())
    lost = 1 - (meet_user * by_user).sum() / rows.sum()
    if lost > _LOST:
        raise DefinitionError(
            "no world with so few liked pairs has so many rows: users would have to meet more items than there are",
            found=f"{percent(lost, 0)} of the rows would be missing; "
            f"{percent(rows.sum() / len(rows) / len(counts))} of the pairs are in the log",
            do="assume a smaller value_bias, or a larger share of liked pairs (liked=…)",
        )  # fmt: skip
    return seen, share


def _shares_kept(seen: ByPopularity, tastes: Tastes, kept: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The share of met pairs that enters the log, by user and by item, from 100 partners of each."""
    users, items = len(seen.activity), len(seen.weight)
    if min(kept) == 1:
        return np.ones(users), np.ones(items)
    rng = np.random.default_rng(int(derive(seen.seed, "shares kept")))
    some_items = rng.choice(items, _ASKED, p=seen.weight / seen.weight.sum())
    some_users = rng.choice(users, _ASKED, p=seen.activity / seen.activity.sum())
    found = []
    for one, pairs in (
        (users, lambda part: (part[:, None], some_items)),
        (items, lambda part: (some_users, part[:, None])),
    ):
        parts = [tastes.shares(*pairs(part)) @ np.asarray(kept) for part in _pieces(one)]
        found.append(np.maximum(np.concatenate([part.mean(axis=1) for part in parts]), 1e-4))
    return found[0], found[1]


def _pieces(number: int) -> list[np.ndarray]:
    return np.array_split(np.arange(number), max(1, number // 5000))


def _threshold(data: Interactions, levels: tuple[float, ...]) -> float:
    """4 of 5 stars, or what about the better 40 % of the levels reach."""
    return 4.0 if max(levels) == 5 else levels[min((3 * len(levels)) // 5, len(levels) - 1)]


def _side(table: pl.DataFrame | None, ids: Ids, key: str) -> pl.DataFrame:
    """The side table of the log for the ids in it, in their order."""
    own = ids.values.alias(key).to_frame()
    return own if table is None else own.join(table, on=key, how="left", maintain_order="left")
