"""Exposures and clicks of a world: lists shown to its users, and the true value of policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.data.frames import as_polars, is_table
from trueval.data.run_tables import read_run
from trueval.errors import DataError, DefinitionError
from trueval.recommenders.run import Run
from trueval.simulation.click_models import ClickModel, click_model
from trueval.simulation.complete_ratings import CompleteRatings
from trueval.simulation.pair_draws import pair_coins

_AT_ONCE = 2_000_000
_TOLERANCE = 1e-6


@dataclass(frozen=True, repr=False)
class Clickable(CompleteRatings):
    """A world whose users look at lists and click."""

    def clicks(self, lists: Any, model: str | ClickModel = "position", *, seed: int = 0) -> pl.DataFrame:
        """Show lists to users, and log what they look at and click.

        Parameters
        ----------
        lists : table, file or Run
            A row per shown item: user, item, and a rank or a score.
        model : {"position", "cascade"} or ClickModel, default "position"
            How lists are clicked.
        seed : int, default 0
            Seed of this showing; tastes stay those of the world.

        Returns
        -------
        DataFrame
            user, item, position, examined, click (0 or 1), and p_click, its true probability.
        """
        made, (users, item, place, shown) = click_model(model), self._lists(lists)
        attraction = np.where(item >= 0, made.attraction(self._relevant(users[:, None], item)), np.nan)
        key = seed * 1_000_003 + self.seed
        coins, looks = (pair_coins(key, f"showing {what}", users[:, None], item) for what in ("click", "look"))
        looked, clicked = made.draw(attraction, coins, looks)
        p = made.probabilities(attraction)
        rows, columns = place
        found = {"examined": looked, "click": clicked, "p_click": p}
        return shown.with_columns(
            pl.Series(name, table[rows, columns]).cast(pl.Float64 if name == "p_click" else pl.Int64)
            for name, table in found.items()
        )

    def value(self, policy: Any, model: str | ClickModel = "position") -> float:
        """The true value of a policy: expected clicks per user who is shown something.

        Parameters
        ----------
        policy : table, file or Run
            Lists (user, item, rank or score); or a stochastic policy: item and `probability`, and perhaps `user`
            and `position`. Without `user` it is shown to everybody; without `position`, in the first place.
        model : {"position", "cascade"} or ClickModel, default "position"
            How lists are clicked. "cascade" needs lists: what is clicked below depends on what stands above.

        Returns
        -------
        number
            Expected clicks, in closed form.
        """
        made = click_model(model)
        table = as_polars(policy, where="policy") if is_table(policy) else None
        if table is not None and "probability" in table.columns:
            return self._stochastic_value(table, made)
        users, item, _, _ = self._lists(policy)
        attraction = np.where(item >= 0, made.attraction(self._relevant(users[:, None], item)), np.nan)
        return float(made.probabilities(attraction).sum(axis=1).mean())

    def logged(
        self, policy: Any, model: str | ClickModel = "position", *, rounds: int = 1, seed: int = 0
    ) -> pl.DataFrame:
        """What a stochastic policy of one place logs: one item per user and round, for off-policy estimates (`ope`).

        Parameters
        ----------
        policy : table
            item, `probability`, and perhaps `user`: probabilities (of a user) add up to 1.
        model : {"position", "cascade"} or ClickModel, default "position"
            How the item is clicked.
        rounds : int, default 1
            How often each user comes.
        seed : int, default 0
            Seed of the draws.

        Returns
        -------
        DataFrame
            user, item, propensity, reward (the click).
        """
        made, table = click_model(model), _policy(as_polars(policy, where="policy"))
        if "position" in table.columns or rounds < 1:
            raise DefinitionError("a logged policy shows one item at a time", do="leave the positions out, rounds ≥ 1")
        users = (
            np.arange(len(self.users)) if "user" not in table.columns else self.codes_of_users(table["user"].unique())
        )
        users = np.sort(users)
        owner = np.zeros(len(table), np.int64) if "user" not in table.columns else np.searchsorted(
            users, self.codes_of_users(table["user"]))  # fmt: skip
        order = np.argsort(owner, kind="stable")
        items, p = self.codes_of_items(table["item"])[order], table["probability"].to_numpy()[order]
        ends = np.cumsum(p)  # owners take one unit each, so that one search serves all of them
        key = seed * 1_000_003 + self.seed
        coin = pair_coins(key, "policy", users[:, None], np.arange(rounds))
        whose = np.zeros(len(users), np.int64) if "user" not in table.columns else np.arange(len(users))
        last = np.searchsorted(owner[order], whose, side="right")[:, None] - 1
        before = np.where(whose > 0, ends[np.searchsorted(owner[order], whose) - 1], 0.0)[:, None]
        found = np.minimum(np.searchsorted(ends, before + coin * (ends[last] - before), side="right"), last)
        item, user = items[found].ravel(), np.repeat(users, rounds)
        clicked = pair_coins(key, "policy click", user, item + np.tile(np.arange(rounds), len(users)) * len(self.items))
        reward = clicked < made.attraction(self._relevant(user, item))
        return pl.DataFrame({
            "user": self.users.decode(user), "item": self.items.decode(item), "propensity": p[found].ravel(),
            "reward": reward.astype(np.int64),
        })  # fmt: skip

    def _relevant(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        return self.tastes.ratings(users, items) >= self.threshold

    def _stochastic_value(self, table: pl.DataFrame, model: ClickModel) -> float:
        table = _policy(table)
        if "position" in table.columns and model.kind == "cascade" and table["position"].max() != 1:
            raise DefinitionError(
                "the cascade model needs lists", found="probabilities by position", do='use model="position"'
            )
        look = model.examination(table["position"].to_numpy()) if "position" in table.columns else 1.0
        item, weight = self.codes_of_items(table["item"]), table["probability"].to_numpy() * look
        if "user" in table.columns:
            users = self.codes_of_users(table["user"])
            attraction = model.attraction(self._relevant(users, item))
            return float((weight * attraction).sum() / len(np.unique(users)))
        total = 0.0
        for part in np.array_split(np.arange(len(self.users)), max(1, len(self.users) * len(item) // _AT_ONCE)):
            total += float((model.attraction(self._relevant(part[:, None], item)) @ weight).sum())
        return total / len(self.users)

    def _lists(self, lists: Any) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray], pl.DataFrame]:
        """Users, their items by place (-1 where a list has ended), where each row of the table went, and the table."""
        source, columns = (lists.source, lists.columns) if isinstance(lists, Run) else (lists, None)
        run = read_run(source, columns=columns)
        if "rank" not in run.columns and "score" not in run.columns:
            raise DataError("lists need a rank or a score", found="columns " + ", ".join(run.columns), do="add a rank")
        by = ["rank"] if "rank" in run.columns else ["score"]
        run = run.sort(["user", *by], descending=[False, by == ["score"]], maintain_order=True)
        shown = run.select("user", "item", position=pl.int_range(1, pl.len() + 1).over("user"))
        user, item = self.codes_of(shown)
        users, row = np.unique(user, return_inverse=True)
        column = shown["position"].to_numpy() - 1
        grid = np.full((len(users), int(column.max()) + 1), -1, np.int64)
        grid[row, column] = item
        return users, grid, (row, column), shown


def _policy(table: pl.DataFrame) -> pl.DataFrame:
    """A policy whose probabilities add up to 1 in every case."""
    unknown = [name for name in table.columns if name not in ("user", "item", "position", "probability")]
    if unknown or "item" not in table.columns or not table.schema["probability"].is_numeric():
        found = "columns " + ", ".join(table.columns)
        raise DataError("a policy has the columns item, probability and perhaps user, position", found=found)
    keys = [name for name in ("user", "position") if name in table.columns]
    p = table["probability"].cast(pl.Float64)
    total = table.group_by(keys).agg(pl.col("probability").sum())["probability"] if keys else pl.Series([p.sum()])
    if p.is_nan().any() or p.null_count() or (p < 0).any() or ((total - 1).abs() > _TOLERANCE).any():
        raise DataError(
            "probabilities of a policy must add up to 1", found=f"sums from {total.min()!r} to {total.max()!r}",
            do="give every item its probability",
        )  # fmt: skip
    return table.with_columns(p)
