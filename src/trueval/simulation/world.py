"""A world: tastes, observation, times, and the log that they make; everything else of it is known, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError
from trueval.kernels import in_order
from trueval.memory import need_memory
from trueval.propensity.propensity import Propensity, given
from trueval.render.shown import Shown
from trueval.simulation.clickable import Clickable
from trueval.simulation.complete_ratings import Names
from trueval.simulation.observation import Observation
from trueval.simulation.pair_draws import pair_coins, shuffled
from trueval.simulation.times import Timing

if TYPE_CHECKING:
    from trueval.simulation.fit_table import FitTable


@dataclass(frozen=True, repr=False)
class World(Clickable, Shown):
    """A log, and all that was behind it: what everybody likes, and how likely each pair was to be observed.

    Made by `simulate`. The rating of every pair exists, observed or not: it is computed when asked for.

    Attributes
    ----------
    kind : text
        The kind of world: "world", "skew", "opposed" or "like".
    tastes : Tastes
        Means and ratings of all pairs.
    users, items : Ids
        All users and items, also those without a row in the log.
    threshold : number
        The rating from which an item is relevant.
    seen : Observation or None
        Which pairs are met, with closed-form probabilities; None where there is no closed form.
    user_table, item_table : DataFrame
        Groups of users; titles, genres (`aspects`), providers and release of items.
    kept : tuple of numbers
        The probability that a rating of each level enters the log once the pair was met.
    kept_share : number
        The share of the pairs met that enters the log, about.
    times : Timing or None
        When pairs are met; in worlds like a log, in periods in which the user came and the item was popular.
    options : mapping
        The options the world was made with.
    drawn : Interactions or None
        The log, where it was drawn together with the world.
    fit : FitTable or None
        How well a world fits the log it was made after.

    Examples
    --------
    >>> import trueval as tv
    >>> world = tv.simulate("world", users=60, items=40, ratings=600, seed=1)
    >>> world.log.has("time"), world.ratings([1, 2], [5]).shape
    (True, (2, 1))
    >>> 0 < world.truth("popularity", "precision@10") < 1
    True
    """

    seen: Observation | None = field(repr=False)
    user_table: pl.DataFrame = field(repr=False)
    item_table: pl.DataFrame = field(repr=False)
    kept: tuple[float, ...] = ()
    kept_share: float = 1.0
    times: Timing | None = field(default=None, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)
    drawn: Interactions | None = field(default=None, repr=False)
    fit: FitTable | None = field(default=None, repr=False)

    def __str__(self) -> str:
        rows = (
            f"{len(self.log):,}" if "log" in self.__dict__ or self.drawn is not None else f"about {self.expected:,.0f}"
        )
        size = f"{len(self.users):,} users, {len(self.items):,} items, {rows} rows"
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{self.kind}: {size}; relevant from {self.threshold:g}, seed {self.seed}" + (
            f"\n{options}" if options else ""
        )

    def __repr__(self) -> str:
        return f"<World: {str(self).splitlines()[0]}>"

    @cached_property
    def log(self) -> Interactions:
        """What was observed: user, item, value, time. Drawn when first asked for; `save` writes it in a stream."""
        if self.drawn is not None:
            return self.drawn
        need_memory(60.0 * self.expected, f"{self.expected:,.0f} rows", do="write them to files: world.save(folder)")
        rows = pl.concat(list(self.rows()))
        if not len(rows):
            raise DefinitionError("no pair was observed", found=f"{self.expected:.2g} rows expected", do="ask for more")
        return Interactions.of(
            rows.sort([one for one in ("time", "user", "item") if one in rows.columns]),
            name=self.kind,
            users=self.user_table,
            items=self.item_table,
        )

    @property
    def expected(self) -> float:
        """About how many rows the log has."""
        if self.drawn is not None:
            return float(len(self.drawn))
        return self._closed_form.expected() * self.kept_share

    def rows(self) -> Iterator[pl.DataFrame]:
        """The rows of the log in blocks: user, item, value, time."""
        yield from in_order(lambda pairs: self._frame(*pairs), self._closed_form.blocks())

    def _frame(self, user: np.ndarray, item: np.ndarray) -> pl.DataFrame:
        """The rows that enter the log, of pairs that were met."""
        times = None if self.times is None else self.times.of(user, item)
        at = 1.0 if times is None or self.times is None else self.times.relative(times)
        place = self.tastes.places(user, item, at=at)
        if min(self.kept, default=1.0) < 1:
            enter = pair_coins(self._closed_form.seed, "kept", user, item) < np.asarray(self.kept)[place]
            user, item, place = user[enter], item[enter], place[enter]
            times = None if times is None else times[enter]
        columns = {"user": self.users.decode(user), "item": self.items.decode(item)}
        rows = pl.DataFrame(columns).with_columns(value=pl.Series(np.asarray(self.tastes.levels)[place]))
        return rows if times is None else rows.with_columns(time=pl.Series(times))

    def probability(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """The probability that pairs (of codes) are in the log, given what the user would rate."""
        met = self._closed_form.probability(users, items)
        if min(self.kept, default=1.0) == 1:
            return np.asarray(met)
        at: Any = 1.0 if self.times is None else self.times.relative(self.times.of(users, items))
        return np.asarray(met * np.asarray(self.kept)[self.tastes.places(users, items, at=at)])

    @cached_property
    def propensity(self) -> Propensity:
        """The true probability of every pair in the log, for `evaluate(…, propensity=world.propensity)`."""
        return self.propensity_of(self.log)

    def propensity_of(self, rows: Any, *, held_out: float = 1.0) -> Propensity:
        """The true probabilities of some pairs.

        Parameters
        ----------
        rows : log or table
            The pairs: user and item.
        held_out : number, default 1.0
            The share s of the log that was held out at random as the test set, where systems do not recommend what is
            in the rest: of a pair that can be recommended, the probability to be tested is s p / (1 − (1 − s) p).

        Returns
        -------
        Propensity
            For `evaluate(…, propensity=…)`, with parts of a "given" split where `held_out` is set: of parts that
            trueval split by chance, `evaluate` knows the share, and takes p itself.
        """
        if not 0 < held_out <= 1:
            raise DefinitionError("held_out is the share that was held out", found=f"{held_out!r}", do="0.2 is usual")
        frame = rows.frame if isinstance(rows, Interactions) else rows
        pairs = frame.select("user", "item").unique(maintain_order=True)
        p = self.probability(*self.codes_of(pairs))
        p = held_out * p / (1 - (1 - held_out) * p)
        return given(pairs.with_columns(p=pl.Series(p)), f"true probabilities of the {self.kind} world")

    def redrawn(self, seed: int) -> World:
        """The same world, ratings and truth, with another log: observed anew, by a seed of its own."""
        return replace(self, seen=replace(self._closed_form, seed=seed), drawn=None, fit=None)

    def sample(self, *, per_user: int = 10, users: Names | None = None, seed: int = 0) -> Interactions:
        """Ratings of items drawn at random for each user: an unbiased test set (MAR).

        Parameters
        ----------
        per_user : int, default 10
            Number of items of each user.
        users : ids, optional
            The users. Default: all.
        seed : int, default 0
            Seed of the draw; the ratings are the same whoever asks.

        Returns
        -------
        Interactions
            User, item, value and, where the world has times, its end as the time.
        """
        if not 1 <= per_user <= len(self.items):
            found = f"{per_user} of {len(self.items):,} items"
            raise DefinitionError("so many items of each user cannot be drawn", found=found, do="ask for fewer")
        codes = np.arange(len(self.users)) if users is None else self.codes_of_users(users)
        need_memory(40.0 * per_user * len(codes), "the sample", do="name fewer users, or draw fewer items")
        item = shuffled(seed, "sample", codes[:, None], np.arange(per_user), len(self.items)).ravel()
        rows = self.table_of(np.repeat(codes, per_user), item)
        if self.times is not None:
            rows = rows.with_columns(time=pl.lit(self.times.end, pl.Int64))
        return Interactions.of(rows, name=f"{self.kind}, random items", users=self.user_table, items=self.item_table)

    def truth(self, of: Any, metric: str = "ndcg@10", **options: Any) -> float:
        """The true value of a metric of a system or a run: against the complete ratings of all unseen items.

        Parameters
        ----------
        of : name, system, Run, table or file
            What `evaluate` takes as a system, or recommendations already made.
        metric : text, default "ndcg@10"
            Any metric.
        **options : options of `truths`
            `train`, `users`, `threshold`, `population`, `seed`.

        Returns
        -------
        number
            The value.
        """
        return float(self.truths({"it": of}, metric, **options)["value"][0])

    def truths(
        self,
        systems: Any,
        metrics: str | Sequence[str] = "ndcg@10",
        *,
        train: Any = None,
        users: Names | int | None = None,
        threshold: float | None = None,
        population: str = "relevant",
        seed: int = 0,
    ) -> pl.DataFrame:
        """True values of several metrics of several systems or runs.

        Parameters
        ----------
        systems : names, systems, or mapping from names to systems, Runs, tables or files
            What is measured.
        metrics : text or list of text, default "ndcg@10"
            Any metrics.
        train : log, optional
            What systems learn from, and what is not recommended again. Default: for systems the log of this world, for
            runs nothing.
        users : ids or int, optional
            The users to average over, or how many to draw. Default: all, or as many as make five million pairs.
        threshold : number, optional
            Relevance threshold. Default: that of the world.
        population : {"relevant", "judged", "all"}, default "relevant"
            See `evaluate`.
        seed : int, default 0
            Seed of systems, ties and drawn users.

        Returns
        -------
        DataFrame
            system, metric, value, users (over how many), and error: the standard error where users were drawn, else 0.
        """
        from trueval.simulation.truth import true_table

        return true_table(
            self, systems, metrics, train=train, users=users, threshold=threshold, population=population, seed=seed
        )

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write the world to a new or empty folder: the log in a stream, the truth beside (`force` replaces one)."""
        from trueval.simulation.files import save_world

        return save_world(self, folder, force=force)

    @staticmethod
    def load(folder: str | Path) -> World:
        """Read a world from a folder that `save` or `trueval simulate` wrote; its log is read, not drawn again."""
        from trueval.simulation.files import load_world

        return load_world(folder)

    @property
    def _closed_form(self) -> Observation:
        if self.seen is None:
            raise DefinitionError(
                "the probabilities of being observed have no closed form in this world",
                found="a fixed number of items of each user was drawn",
                do='make a world with tv.simulate("world", …)',
            )
        return self.seen
