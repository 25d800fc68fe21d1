"""Draw logs of a world like the reader's, and measure systems on them under every design: what is true is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from trueval.audit.fitted_systems import FittedSystems
from trueval.audit.popularity_designs import parsed_design
from trueval.audit.robustness import settings_of
from trueval.audit.simulated_designs import SimulatedDesigns, SimulatedSetting
from trueval.audit.subject import Subject
from trueval.comparison.tau import taus
from trueval.data.interactions import ROLES, Interactions
from trueval.errors import DefinitionError, TruevalError
from trueval.evaluation.options import EvaluationOptions
from trueval.metrics.grammar import Spec, parse, parse_all
from trueval.progress import hushed, progress
from trueval.recommenders.given import Scores
from trueval.simulation.like import fit_world, fitted_world
from trueval.simulation.pair_draws import coins
from trueval.simulation.system_check import SystemCheck, check_systems
from trueval.simulation.world import World
from trueval.splits import split
from trueval.splits.parts import Parts
from trueval.splits.registry import split_of

LOGS = 5
DEFAULT, DEFAULT_METRIC = "AR-TI-AN", "ndcg@10"
BASELINES = ("popularity", "average", "itemknn", "puresvd", "random")
_PAIRS = 1_200_000  # of users and items of a world whose complete ratings are judged log by log
_BPREF = "bpref"
_FEWEST = 4  # systems of which an order tells something
_OWN = ("1R", "P", "U")  # beginnings of designs whose values have a meaning of their own

Cell = tuple[str, str]  # design and metric


def simulate_designs(
    given: Parts, subject: Subject | None, *, logs: int, seed: int, threshold: float | None = None
) -> SimulatedDesigns:
    """The reader's systems, as far as they are named, in a world like the reader's log, observed `logs` times anew."""
    if not 1 <= logs <= 1000:
        raise DefinitionError("logs are drawn 1 to 1000 times", where="simulate", found=f"{logs!r}", do="5 is usual")
    options = (
        EvaluationOptions(metrics=DEFAULT_METRIC, threshold=threshold, interval="none")
        if subject is None
        else subject.options
    )
    design = DEFAULT if subject is None or parsed_design(subject.design) is None else subject.design
    named, notes = _systems(subject)
    log, note = _smaller(_whole(given), seed)
    world = fitted_world(log, threshold=options.threshold, seed=seed)
    notes += [note] * bool(note)
    notes.append(
        "That who meets what depends on popularity, activity, their times and on what people meet together, and not on "
        "the rating itself, is assumed: a log does not tell (see trueval simulate like)."
    )
    check = _checked(log, named, design, options, seed, notes)
    measured: list[dict[Cell, np.ndarray]] = []
    true: list[dict[str, np.ndarray]] = []
    with progress("simulating logs", logs) as step:
        for number in range(logs):
            with hushed():
                own = world if number == 0 else world.redrawn(seed + number)
                fitted = _subject(own, given, named, options, design, seed + number)
                measured.append(_values(fitted))
                true.append(_truths(own, fitted, {metric for _, metric in measured[-1]}, seed))
            step()
    order_by = fitted.labels[0]
    assert world.fit is not None
    size = (len(world.users), len(world.items), len(world.log))
    cells = [cell for cell in measured[0] if all(cell in one for one in measured)]
    found = [_setting(cell, measured, true, order_by) for cell in cells]
    return SimulatedDesigns(
        tuple(found), tuple(named), order_by, logs, size, replace(world.fit, systems=check), tuple(notes)
    )


def _checked(
    log: Interactions, named: Mapping[str, str], design: str, options: EvaluationOptions, seed: int, notes: list[str]
) -> SystemCheck | None:
    """Whether a world that is fitted to a part of the log orders the systems as the rest of the log does."""
    metric = str(parse_all(options.metrics)[0])
    try:
        return check_systems(
            log, lambda rows: fit_world(rows, threshold=options.threshold, seed=seed), systems=named, designs=[design],
            metric=metric, seed=seed,
        )  # fmt: skip
    except TruevalError as problem:
        notes.append(f"Whether the world orders the systems as your log does could not be checked: {problem.what}.")
        return None


def _systems(subject: Subject | None) -> tuple[dict[str, str], list[str]]:
    """The systems that can be made by name, and baselines where they are too few."""
    systems: Mapping[str, Any] = {} if subject is None else dict.fromkeys(subject.names)
    if isinstance(subject, FittedSystems):
        systems = subject.named
    named = {name: spec for name, spec in systems.items() if isinstance(spec, str)}
    left = [name for name in systems if name not in named]
    notes = [f"Not in this world, since it takes a name to fit them anew: {', '.join(left)}."] if left else []
    if len(named) < _FEWEST:
        named |= {name: name for name in BASELINES if name not in named.values()}
    return named, notes


def _whole(given: Parts) -> Interactions:
    """Train and test together, each pair once."""
    columns = [role for role in ROLES if given.train.has(role) and given.test.has(role)]
    rows = pl.concat([part.frame.select(columns) for part in (given.train, given.test)], how="vertical_relaxed")
    return given.train.keep(rows.unique(["user", "item"], keep="first", maintain_order=True))


def _smaller(log: Interactions, seed: int) -> tuple[Interactions, str]:
    """A log of some users where all of them are too many, drawn at random."""
    most = max(50, _PAIRS // max(log.n_items, 1))
    if log.n_users <= most:
        return log, ""
    users = log.frame["user"].unique().sort()
    drawn = users.gather(np.sort(np.argsort(coins(seed, "users of a smaller world", len(users)))[:most]))
    rows = log.frame.filter(pl.col("user").is_in(drawn.implode()))
    note = f"The world is like the log of {most:,} of the {len(users):,} users, who were drawn at random."
    return log.keep(rows), note


def _subject(
    world: World, given: Parts, named: Mapping[str, str], options: EvaluationOptions, design: str, seed: int
) -> FittedSystems:
    """The systems on a log of the world, split as the reader's."""
    parts = replace(_split_alike(world.log, given, seed), observed=None)
    own = replace(options, metrics=_with_bpref(options.metrics), seed=seed, threshold=world.threshold)
    return FittedSystems(parts, dict(named), own, design=design, items=world.item_table)


def _with_bpref(metrics: Any) -> list[Any]:
    """The reader's metrics, and bpref, which looks at judged items alone."""
    specs = parse_all(metrics)
    return [*specs, *parse_all([_BPREF])] if _BPREF not in map(str, specs) else list(specs)


def _split_alike(log: Interactions, given: Parts, seed: int) -> Parts:
    """The reader's split where its record allows to repeat it; else the same share at random."""
    made = split_of(given.how)
    if made is not None and not made.several and made.by != "tables":
        known = {name: given.how[name] for name in made.options if given.how.get(name) is not None}
        try:
            found = split(log, given.how["how"], **known, **({"seed": seed} if "seed" in given.how else {}))
            if isinstance(found, Parts):
                return found
        except TruevalError:
            pass
    share = len(given.test) / (len(given.train) + len(given.test))
    found = split(log, "holdout", ratio=min(max(share, 0.05), 0.5), seed=seed)
    assert isinstance(found, Parts)
    return found


def _values(subject: FittedSystems) -> dict[Cell, np.ndarray]:
    """The value of every system, by design and metric; the reader's own design first."""
    return {
        (setting.name, label): np.array([setting.value(name, label) for name in subject.names])
        for setting in settings_of(subject)
        for label in setting.specs
    }


def _truths(world: World, subject: FittedSystems, metrics: set[str], seed: int) -> dict[str, np.ndarray]:
    """The true value of every system, by metric."""
    train = subject.learned_from
    scores = {
        name: Scores(
            np.ascontiguousarray(subject.fitted[name].score(np.arange(len(train.users)))),
            user_ids=train.users.values, item_ids=train.items.values,
        )
        for name in subject.names
    }  # fmt: skip
    known = sorted(metrics)
    table = world.truths(scores, known, train=subject.parts.train, users=train.users.values, seed=seed)
    return {one: table.filter(pl.col("metric") == one)["value"].to_numpy() for one in known}


def _setting(
    cell: Cell, measured: Sequence[Mapping[Cell, np.ndarray]], true: Sequence[Mapping[str, np.ndarray]], order_by: str
) -> SimulatedSetting:
    design, metric = cell
    values = np.array([one[cell] for one in measured])
    targets = np.array([one[metric] for one in true])
    sides = [_side(parse(label)) for label in (metric, order_by)]
    orders = np.array([one[order_by] for one in true])
    tau = taus(sides[0] * values, sides[1] * orders)[0]
    bias = math.nan if design.startswith(_OWN) else float(np.mean(values - targets))
    sd = float(values.std(axis=0, ddof=1).mean()) if len(values) > 1 else math.nan
    return SimulatedSetting(
        design, metric, float(values.mean()), float(targets.mean()), bias, sd, tuple(float(one) for one in tau)
    )


def _side(spec: Spec) -> int:
    return -1 if spec.better == "lower" else 1
