"""True values of metrics: the evaluation itself, on the complete ratings of a world in place of a test set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trueval.data.frames import is_table
from trueval.data.interactions import Interactions
from trueval.data.run_tables import read_run
from trueval.errors import DataError, DefinitionError
from trueval.evaluation.evaluate_systems import evaluate_systems
from trueval.evaluation.options import EvaluationOptions
from trueval.evaluation.runs import evaluate_runs
from trueval.metrics.grammar import Spec, parse_all
from trueval.recommenders.registry import name_systems
from trueval.recommenders.run import Run
from trueval.simulation.pair_draws import coins
from trueval.splits import as_log
from trueval.splits.parts import Parts

if TYPE_CHECKING:
    from trueval.evaluation.outcome import Evaluation
    from trueval.simulation.world import World

MOST_PAIRS = 5_000_000  # that are judged at once


def true_table(
    world: World,
    systems: Any,
    metrics: str | Sequence[str],
    *,
    train: Any,
    users: Any,
    threshold: float | None,
    population: str,
    seed: int,
) -> pl.DataFrame:
    """True values, one row for each system and metric (see `World.truths`)."""
    named = _named(systems)
    runs = {name: one for name, one in named.items() if _is_run(one)}
    others = {name: one for name, one in named.items() if name not in runs}
    # everybody whose complete ratings are there is judged: others, without a test row, must not enter
    options = EvaluationOptions(
        metrics=metrics, threshold=world.threshold if threshold is None else threshold, 
        population="judged" if population == "all" else population, interval="none", seed=seed,
    )  # fmt: skip
    log = None if train is None else as_log(train, "train")
    chosen, drawn = _users(world, users, seed)
    found = []
    if others:
        known = world.log if log is None else log
        test = complete_test(world, chosen, known)
        parts = Parts(known, test, how={"how": "complete ratings"})
        made = evaluate_systems(parts, others, options, design="AR-AI-AN", items=world.item_table)
        found += _rows(made, drawn)
    for name, run in runs.items():
        found += _rows(_of_run(world, name, run, options, log, chosen, drawn=drawn), drawn)
    order = {name: place for place, name in enumerate(named)}
    table = pl.DataFrame(found, schema=_SCHEMA, orient="row")
    return table.sort(pl.col("system").replace_strict(order, return_dtype=pl.Int64), maintain_order=True)


_SCHEMA = {"system": pl.String, "metric": pl.String, "value": pl.Float64, "users": pl.Int64, "error": pl.Float64}


def complete_test(world: World, users: np.ndarray, train: Interactions | None) -> Interactions:
    """The ratings of all items by some users (codes), less those pairs that are in train."""
    items = np.arange(len(world.items))
    value = world.tastes.ratings(users[:, None], items)
    frame = pl.DataFrame({
        "user": world.users.decode(np.repeat(users, len(items))),
        "item": world.items.decode(np.tile(items, len(users))),
        "value": value.ravel(),
    })  # fmt: skip
    if train is not None:
        frame = frame.join(train.frame.select("user", "item"), on=["user", "item"], how="anti", maintain_order="left")
    return Interactions.of(frame, name="complete ratings", users=world.user_table, items=world.item_table)


def _of_run(
    world: World, name: str, run: Any, options: EvaluationOptions, train: Interactions | None, users: np.ndarray, *,
    drawn: bool,
) -> Evaluation:  # fmt: skip
    """A run against the complete ratings of the users; or, where those are too many and lists suffice, of its lists."""
    source, columns = (run.source, run.columns) if isinstance(run, Run) else (run, None)
    lists = read_run(source, columns=columns)
    specs = parse_all(options.metrics)
    lists_suffice = all(_of_lists(spec) for spec in specs) and options.population == "judged"
    if drawn and lists_suffice:
        pairs = lists.select("user", "item").unique(maintain_order=True)
        value = world.tastes.ratings(*world.codes_of(pairs))
        test = Interactions.of(pairs.with_columns(value=pl.Series(value)), name="ratings of the lists")
    else:
        test = complete_test(world, users, train)
        lists = lists.join(test.frame.select("user").unique(), on="user", how="semi", maintain_order="left")
    if not len(lists):
        raise DataError("the run has no list for the users of this world", where=name, do="use the ids of the world")
    return evaluate_runs({name: lists}, test, options, train=train, items=world.item_table)


def _of_lists(spec: Spec) -> bool:
    """Whether a metric needs the ratings of recommended items alone."""
    return not spec.transforms and (spec.metric.of_lists or bool(spec.metric.plain_sum and spec.k))


def _named(systems: Any) -> dict[str, Any]:
    if isinstance(systems, Mapping):
        return dict(systems)
    if isinstance(systems, Run) or is_table(systems):
        return {"run": systems}
    return name_systems(systems)


def _is_run(one: Any) -> bool:
    """Whether something is a table or a file of recommendations, and no system."""
    return isinstance(one, (Run, Path)) or is_table(one) or (isinstance(one, str) and Path(one).suffix != "")


def _users(world: World, users: Any, seed: int) -> tuple[np.ndarray, bool]:
    """Codes of the users to average over, and whether chance chose them."""
    if users is not None and not isinstance(users, (int, np.integer)):
        chosen = np.unique(world.codes_of_users(users))
    else:
        most = max(1, MOST_PAIRS // len(world.items))
        number = min(len(world.users), most) if users is None else int(users)
        if not 1 <= number <= len(world.users):
            found = f"{number:,} of {len(world.users):,} users"
            raise DefinitionError("so many users cannot be drawn", found=found, do="ask for fewer, and at least one")
        if number == len(world.users):
            return np.arange(number), False
        order = np.argsort(coins(seed, "true for", len(world.users)), kind="stable")
        return np.sort(order[:number]), True
    if len(chosen) * len(world.items) > 40 * MOST_PAIRS:
        found = f"{len(chosen):,} users × {len(world.items):,} items"
        raise DefinitionError("too many pairs for complete ratings", found=found, do="give users=1000 to draw some")
    return chosen, False


def _rows(evaluation: Evaluation, drawn: bool) -> list[tuple[Any, ...]]:
    rows = []
    for name, system in evaluation.systems.items():
        for label, estimate in system.estimates.items():
            own = system.values.get(label, np.empty(0))
            own = own[np.isfinite(own)]
            error = float(own.std(ddof=1) / np.sqrt(len(own))) if drawn and len(own) > 1 else np.nan if drawn else 0.0
            rows.append((name, label, float(estimate.value), len(np.unique(system.unit_user)), error))
    return rows
