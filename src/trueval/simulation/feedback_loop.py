"""The feedback loop: recommend, look, click, log, learn again (and what that does to everybody)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.data.by_user import ByUser
from trueval.data.interactions import Interactions
from trueval.data.judgements import Judged
from trueval.design.design import Design
from trueval.design.task import Task
from trueval.errors import DefinitionError
from trueval.evaluation.evaluate_systems import evaluate_systems
from trueval.evaluation.options import EvaluationOptions
from trueval.facts.from_scores import rank_system
from trueval.progress import progress
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import make_system, name_systems
from trueval.simulation.click_models import ClickModel, click_model
from trueval.simulation.list_likeness import mean_jaccard, mean_overlap
from trueval.simulation.pair_draws import pair_coins
from trueval.simulation.trajectory import PREFIX, Trajectory
from trueval.simulation.world import World
from trueval.splits import as_log, split
from trueval.statistics.inequality import gini_index

__all__ = ["feedback_loop"]

_DAY = 86_400
_MOST_GROUPS = 12
_MOST_ROUNDS = 10_000
_OBSERVED = "precision@{k}"


@checked
def feedback_loop(
    world: World,
    system: Any = "popularity",
    *,
    rounds: int = 10,
    k: int = 10,
    model: str | ClickModel = "position",
    active: float = 1.0,
    by: str | None = None,
    start: Any = None,
    observe: bool = True,
    seed: int = 0,
) -> Trajectory:
    """Let a system learn from what it has shown, round after round.

    In each round the system is fitted to the log so far and shows every active user a list of items they have no row
    for. Users look, click by the click model, and every click becomes a row with the user's rating of the item.

    Parameters
    ----------
    world : World
        The world: its tastes decide what is clicked, and what is truly good.
    system : name or system, default "popularity"
        What `evaluate` takes as a system; it is fitted again in each round.
    rounds : int, default 10
        Number of rounds.
    k : int, default 10
        Length of the lists.
    model : {"position", "cascade"} or ClickModel, default "position"
        How lists are looked at and clicked.
    active : number, default 1.0
        Share of the users who come in a round.
    by : text, optional
        Column of the item table whose groups share the exposure. Default: "provider", where there is one.
    start : log, optional
        The log to begin with. Default: that of the world.
    observe : bool, default True
        Also measure what an ordinary offline test says in each round (one more fit).
    seed : int, default 0
        Seed of clicks, users who come, and systems.

    Returns
    -------
    Trajectory
        A row per round, with 0 for the log before the first: rows, Gini of the log and of what was shown, coverage,
        overlap and Jaccard index of lists, true precision, observed precision, click rate, exposure of groups.

    Raises
    ------
    TruevalError
        For options that make no loop, and for systems that cannot learn from the log.

    Examples
    --------
    >>> import trueval as tv
    >>> world = tv.simulate("world", users=80, items=50, seed=1)
    >>> rounds = tv.feedback_loop(world, "popularity", rounds=3, k=5)
    >>> shown = rounds.to_polars()["gini_shown"].drop_nulls()
    >>> bool(shown[0] > 0.5)
    True
    """
    _check(world, rounds, k, active)
    log = world.log if start is None else as_log(start, "start")
    groups = _groups(world, by)
    loop = _Loop(world, system, click_model(model), k, groups, observe, seed)
    rows = [loop.before(log)]
    (name,) = name_systems({str(system) if isinstance(system, str) else type(system).__name__: system})
    with progress(f"{name}: rounds", rounds) as step:
        for number in range(1, rounds + 1):
            row, log = loop.round(log, number, active)
            rows.append(row)
            step(1)
    manifest = {
        "system": name, "rounds": rounds, "k": k, "model": repr(click_model(model)), "active": active, "seed": seed,
        "world": str(world).split("\n")[0], "by": groups[0],
    }  # fmt: skip
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return Trajectory(frame.with_columns(pl.col(pl.Float64).fill_nan(None)), manifest, log)


@dataclass(frozen=True)
class _Loop:
    """What stays the same from round to round."""

    world: World
    system: Any
    model: ClickModel
    k: int
    groups: tuple[str, np.ndarray, list[str]]
    observe: bool
    seed: int

    def before(self, log: Interactions) -> dict[str, Any]:
        counts = self._counts(log)
        shares = _shares(self.groups, np.repeat(np.arange(len(counts)), counts), np.ones(int(counts.sum())))
        measures = (
            "gini_shown",
            "coverage",
            "overlap",
            "jaccard",
            "true_precision",
            "observed_precision",
            "click_rate",
        )
        row = {"round": 0, "rows": len(log), "gini": gini_index(counts), **dict.fromkeys(measures, None), **shares}
        return row if self.observe else {name: value for name, value in row.items() if name != "observed_precision"}

    def round(self, log: Interactions, number: int, active: float) -> tuple[dict[str, Any], Interactions]:
        """One round: its measures, and the log with its clicks."""
        world, seed = self.world, self.seed + 7919 * number
        come = pair_coins(self.seed, "come", np.arange(len(world.users)), np.array([number])) < active
        lists = self._lists(log, np.flatnonzero(come), seed)
        shown = world.clicks(lists, self.model, seed=seed)
        user, item = world.codes_of(shown)
        relevant = world.tastes.ratings(user, item) >= world.threshold
        new = self._grown(log, shown.filter(pl.col("click") == 1), number)
        shown_counts = np.bincount(item, minlength=len(world.items))
        row = {
            "round": number, "rows": len(new), "gini": gini_index(self._counts(new)),
            "gini_shown": gini_index(shown_counts), "coverage": float((shown_counts > 0).mean()),
            "overlap": mean_overlap(user, item), "jaccard": mean_jaccard(user, item, seed=seed),
            "true_precision": float(relevant.mean()),
        }  # fmt: skip
        if self.observe:
            row["observed_precision"] = self._observed(log, seed)
        row["click_rate"] = float(shown["click"].mean())  # type: ignore[arg-type]
        seen = ClickModel(decay=self.model.decay).examination(shown["position"].to_numpy())
        return row | _shares(self.groups, item, seen), new

    def _lists(self, log: Interactions, users: np.ndarray, seed: int) -> pl.DataFrame:
        """The system's lists for some users, of items that they have no row for."""
        world = self.world
        if not len(users):
            raise DefinitionError("nobody came in a round", do="give more users, or a larger share of active ones")
        rows = ByUser.code(log.frame, world.users, world.items).distinct()
        train = TrainSet(world.users, world.items, rows, seed, world.threshold, log.count)
        nothing = Judged(
            ByUser(np.zeros(len(users) + 1, np.int64), np.empty(0, np.int32), np.empty(0)), np.empty(0, bool)
        )
        every = np.arange(len(world.items), dtype=np.int32)
        task = Task(
            Design.parse("AR-AI-AN"), world.users, world.items, users.astype(np.int32), nothing, rows.pick(users),
            every, None, rows, seed=seed,
        )  # fmt: skip
        fitted = make_system(self.system).fit(train)
        facts = rank_system(fitted, task, depth=self.k, name="system")
        return pl.DataFrame({
            "user": world.users.decode(users[facts.list_unit]), "item": world.items.decode(facts.list_item),
            "rank": facts.place,
        })  # fmt: skip

    def _grown(self, log: Interactions, clicked: pl.DataFrame, number: int) -> Interactions:
        """The log with the clicks of a round, each with the user's rating."""
        if not len(clicked):
            return log
        rows = self.world.table_of(*self.world.codes_of(clicked))
        if log.has("time"):
            end = int(log.frame["time"].max())  # type: ignore[arg-type]
            rows = rows.with_columns(time=pl.lit(end + _DAY, pl.Int64))
        known = [name for name in log.frame.columns if name in rows.columns]
        return log.keep(pl.concat([log.frame.select(known), rows.select(known)]))

    def _observed(self, log: Interactions, seed: int) -> float:
        """What a held-out fifth of the log says of the system."""
        label = _OBSERVED.format(k=self.k)
        parts = split(log, "holdout", ratio=0.2, seed=seed)
        threshold = self.world.threshold if log.has("value") else None
        options = EvaluationOptions(metrics=label, threshold=threshold, interval="none", seed=seed)
        made = evaluate_systems(parts, {"it": self.system}, options, design="AR-AI-AN", items=self.world.item_table)
        return float(made.systems["it"].estimates[label].value)

    def _counts(self, log: Interactions) -> np.ndarray:
        return np.bincount(self.world.codes_of_items(log.frame["item"]), minlength=len(self.world.items))


def _groups(world: World, by: str | None) -> tuple[str, np.ndarray, list[str]]:
    """The column of groups, the group of each item, and the names of the groups; none where there is no column."""
    table = world.item_table
    if by is None and "provider" not in table.columns:
        return "", np.zeros(len(table), np.int64), []
    column = by or "provider"
    return group_items(table, column)


def group_items(table: pl.DataFrame, column: str) -> tuple[str, np.ndarray, list[str]]:
    """A column of groups of items: its name, the group of each row, and the names of the groups."""
    if column not in table.columns or column == "item" or table.schema[column].is_nested():
        known = [name for name, kind in table.schema.items() if name != "item" and not kind.is_nested()]
        raise DefinitionError(
            f"items have no groups {column!r}", found=f"columns {', '.join(known) or 'none'}",
            do="name a column of the item table with one value per item",
        )  # fmt: skip
    values = table[column].cast(pl.String).fill_null("unknown")
    names = sorted(values.unique().to_list())
    if len(names) > _MOST_GROUPS:
        found = f"{len(names):,} groups"
        raise DefinitionError(
            f"too many groups in {column!r}", found=found, do=f"use a column of {_MOST_GROUPS} or fewer"
        )
    place = {name: at for at, name in enumerate(names)}
    return column, np.array([place[value] for value in values.to_list()], np.int64), names


def _shares(groups: tuple[str, np.ndarray, list[str]], item: np.ndarray, weight: np.ndarray) -> dict[str, float]:
    """The share of the exposure that each group gets."""
    _, group, names = groups
    if not names:
        return {}
    total = np.bincount(group[item], weight, minlength=len(names))
    return {PREFIX + name: float(part) for name, part in zip(names, total / max(total.sum(), 1e-300))}


def _check(world: Any, rounds: int, k: int, active: float) -> None:
    if not isinstance(world, World):
        raise DefinitionError("a loop needs a world", found=type(world).__name__, do='tv.simulate("world", …)')
    for name, value in (("rounds", rounds), ("k", k)):
        if value < 1:
            raise DefinitionError(f"{name} must be at least 1", found=f"{value}")
    if rounds > _MOST_ROUNDS:
        raise DefinitionError(f"at most {_MOST_ROUNDS:,} rounds are run", found=f"{rounds:,}", do="10 are usual")
    if k >= len(world.items):
        found = f"lists of {k} of {len(world.items):,} items"
        raise DefinitionError("lists must be shorter than the catalogue", found=found, do="give a smaller k")
    if not 0 < active <= 1:
        raise DefinitionError("active must be above 0 and at most 1", found=f"{active!r}", do="1 lets everybody come")
