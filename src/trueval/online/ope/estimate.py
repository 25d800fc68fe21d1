"""Off-policy estimates: the value of a target policy from the log of another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.data.ids import Ids
from trueval.data.role_names import ColumnMap
from trueval.data.table_columns import read_columns
from trueval.errors import DefinitionError, suggest
from trueval.evaluation.few_users import FEW
from trueval.online.ope.estimators import DEFAULT, DEFINITIONS, Modelled, difference, modelled, ratios
from trueval.online.ope.intervals import Ratios, intervals
from trueval.online.ope.log import context_columns, read_log
from trueval.online.ope.log_rows import LogRows, rows_of
from trueval.online.ope.policy import Policy, read_policy
from trueval.online.ope.propensities import Chances, read_chances
from trueval.online.ope.result import OWN_LOG, OffPolicy, Value
from trueval.online.ope.support import support, trust
from trueval.online.ope.tables import BANDIT_ROLES
from trueval.online.ope.weights import ALL, SLATE, Weighting, tuned_clip, weighting

NO_INTERVAL = (math.nan, math.nan)
CONSTANT = (
    "dm cannot tell the policies apart: items differ in reward no more than by chance, so that its reward model is the "
    "same for all of them. Every policy would have its value; there is no interval and no verdict"
)


@checked
def ope(
    log: Any,
    target: Any,
    *,
    estimators: str | Sequence[str] | None = None,
    propensity: Any = None,
    clip: float | str = "tuned",
    reward: str | None = None,
    position: str | None = None,
    context: str | Sequence[str] = (),
    columns: ColumnMap | str | None = None,
    interval: str = "t",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> OffPolicy:
    """Estimate what a target policy would have earned, from the log of the policy that was live.

    Parameters
    ----------
    log : table or file
        A row per shown item: item (or action), reward (or click), its propensity, perhaps a position, a user or round
        whose rows belong together, and context columns.
    target : table, file or text
        The target policy: a table of item, probability and, where they matter, position and context columns (without
        probabilities: one item per context); a log of the policy; "uniform"; "column:NAME", its probability of the
        shown item; "choice:NAME", the item it would have shown.
    estimators : text or list of text, optional
        Any of "ips", "snips", "clipped", "dm", "dr" and "sndr"; "naive" is always included. Default: all but sndr, as
        far as the input allows.
    propensity : text, table or Propensity, optional
        Probability that the live policy showed the item: "column:NAME", "uniform", "display_share", "popularity:GAMMA",
        "position_model", "randomised:FILE", a table or a Propensity. Default: a column of the log.
    clip : number or "tuned", default "tuned"
        Largest weight of "clipped"; "tuned" chooses it from the data.
    reward : text, optional
        Column of the reward. Default: the one with a common name.
    position : text, optional
        Column of the position. Default: the one with a common name, if there is any.
    context : text or list of text, optional
        Columns that the reward model of dm and dr uses. Default: none.
    columns : mapping or text, optional
        Column roles that are not clear from common names: {"item": "action"} or "item=action,user=round".
    interval : {"t", "bootstrap", "none"}, default "t"
        Method of the confidence intervals. Users (or rounds) are taken as independent; without them, rows.
    level : number, default 0.95
        Confidence level of the intervals.
    resamples : int, default 1000
        Number of resamples of "bootstrap".
    seed : int, default 0
        Seed of resamples and of the folds of the reward model.

    Returns
    -------
    OffPolicy
        An estimate by name (`found["snips"]`), `support` (how well the log covers the target policy), `trust`,
        `warnings` and `assumptions`. Prints as a table.

    Raises
    ------
    TruevalError
        For a log without propensities, a policy that cannot be read, and estimators that the input does not allow.

    Examples
    --------
    >>> log = pl.DataFrame({"item": ["a", "b", "a", "b"], "click": [1, 0, 1, 1], "propensity": [0.5] * 4})
    >>> found = ope(log, pl.DataFrame({"item": ["a", "b"], "probability": [0.75, 0.25]}))
    >>> found["naive"].value, found["ips"].value, found["snips"].value
    (0.75, 0.875, 0.875)
    """
    column_map = read_columns(columns, BANDIT_ROLES, log=log, target=target)
    column_map |= {role: name for role, name in (("reward", reward), ("position", position)) if name is not None}
    table = read_log(log, column_map)
    frame, seen = table.frame, context_columns(table, context)
    policy = read_policy(target, table, columns=column_map)
    chances = read_chances(propensity, table, columns=column_map)
    names, notes = _chosen(estimators, policy, chances)
    chance = chances.p if chances.examination is None else chances.examination
    extra = {"target probability": policy.of(frame), "chance": pl.Series(chance)}
    rows = rows_of(frame.with_columns(s.alias(n) for n, s in extra.items()), policy, seen, tuple(extra))
    weights = weighting(rows, policy, chances)
    whole = weights.parts(ALL)[0]
    cut = _clip(clip, whole.weight, rows.reward) if "clipped" in names else None
    model = modelled(rows, policy, seen, names=names, seed=seed) if {"dm", "dr", "sndr"} & set(names) else None
    settings = {"interval": interval, "level": level, "resamples": resamples, "seed": seed}
    values = _values(names, weights, cut, model, settings) + _own_log(policy, weights.scopes, settings)
    found = support(rows, policy, whole, cut, level=level)
    doubts = [text for _, text in found.doubts]
    assumed = _assumptions(rows, policy, chances, values, weights, interval, model)
    manifest = _manifest(table.name, rows, policy, chances, names, seen, clip, cut, interval, level, seed)
    return OffPolicy(tuple(values), found, trust(found), (*doubts, *notes, *chances.notes), assumed, manifest)


def _chosen(asked: str | Sequence[str] | None, policy: Policy, chances: Chances) -> tuple[list[str], list[str]]:
    """The estimators to compute; of the usual ones those that the input allows."""
    names = asked.split(",") if isinstance(asked, str) else list(DEFAULT if asked is None else asked)
    names = list(dict.fromkeys(name.strip() for name in names if name.strip() != "naive"))
    known = [name for name in DEFINITIONS if name != "naive"]
    for name in names:
        if name not in known:
            raise DefinitionError(f"unknown estimator {name!r}", do=suggest(name, known))
    impossible: dict[str, str] = {}
    if policy.table is None:
        reason = "the target policy's probabilities of all items are needed; give a table"
        impossible = dict.fromkeys(("dm", "dr", "sndr"), reason)
    elif chances.examination is not None:
        impossible = dict.fromkeys(("dr", "sndr"), "not supported by the position-based model")
    refused = [name for name in names if name in impossible]
    if refused and asked is not None:
        raise DefinitionError(f"{refused[0]} cannot be computed: {impossible[refused[0]]}", do="leave it out")
    verb = "is" if len(refused) == 1 else "are"
    notes = [f"{' and '.join(refused)} {verb} left out: {impossible[refused[0]]}"] if refused else []
    return [name for name in names if name not in refused], notes


def _clip(clip: float | str, weight: np.ndarray, reward: np.ndarray) -> float:
    if clip == "tuned":
        return tuned_clip(weight, reward)
    try:
        value = float(clip)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise DefinitionError("clip must be a weight above 0 or 'tuned'", found=repr(clip), do="clip=20 (--clip 20)")
    return value


def _values(
    names: Sequence[str], weights: Weighting, clip: float | None, model: Modelled | None, settings: Mapping[str, Any]
) -> list[Value]:
    """Every estimator in every scope. Resamples are drawn once; otherwise one scope at a time saves memory."""
    together = [weights.scopes] if settings["interval"] == "bootstrap" else [[scope] for scope in weights.scopes]
    values = []
    for scopes in together:
        keys = [(name, scope) for scope in scopes for name in ("naive", *names)]
        bound = math.inf if clip is None else clip
        found = {(n, s): ratios(n, s, weights, clip=bound, model=model) for n, s in keys}
        compared = {key: difference(r, found["naive", key[1]]) for key, r in found.items() if key[0] != "naive"}
        spread = _with_their_spread(found, weights, model)
        apart = {key: difference(r, spread["naive", key[1]]) for key, r in spread.items() if key[0] != "naive"}
        spans = intervals([*spread.values(), *apart.values()], **settings)
        span, gap = dict(zip(spread, spans)), dict(zip(apart, spans[len(spread) :]))
        for key, r in found.items():
            unknown = key[0] == "dm" and model is not None and _without_interval(model)
            one = Value(*key, r.value, *(NO_INTERVAL if unknown else _around(r.value, span[key])), r.rows)
            if key in compared:
                away = compared[key].value
                low, high = NO_INTERVAL if unknown else _around(away, gap[key])
                one = replace(one, difference=away, difference_low=low, difference_high=high)
            values.append(one)
    return values


def _with_their_spread(
    found: Mapping[tuple[str, str], Ratios], weights: Weighting, model: Modelled | None
) -> dict[tuple[str, str], Ratios]:
    """The estimates whose spread tells how far each may be off: of dm, that of its model without shrinkage.

    Shrunken means move less than means do, and are off by as much: towards each other, hence towards the live policy.
    """
    bare = None if model is None else model.bare
    if bare is None:
        return dict(found)
    return {key: ratios(*key, weights, clip=math.inf, model=bare) if key[0] == "dm" else r for key, r in found.items()}


def _without_interval(model: Modelled) -> bool:
    """Whether the error of the model is not known: it costs too much, or the model knows no differences."""
    return model.pulls is None or model.constant


def _around(value: float, ends: tuple[float, float]) -> tuple[float, float]:
    """The interval, which reaches to the value where that was shrunken out of it."""
    return (ends[0], ends[1]) if math.isnan(ends[0]) else (min(ends[0], value), max(ends[1], value))


def _own_log(policy: Policy, scopes: Sequence[str], settings: Mapping[str, Any]) -> list[Value]:
    """What the target policy earned itself, where its own log is known."""
    own = policy.own_log
    if own is None:
        return []
    own = own.select(name for name in ("user", "position", "reward") if name in own.columns).sort(pl.all())
    reward = own["reward"].to_numpy()
    cluster = Ids.of(own["user"]).codes(own["user"]).astype(np.int64) if "user" in own.columns else None
    masks = {ALL: [np.ones(len(own))]}
    if policy.keys:
        label = pl.lit("position ") + pl.col("position").cast(pl.String)
        at = own.select(label.alias("scope"))["scope"]
        masks |= {s: [(at == s).to_numpy().astype(np.float64)] for s in scopes if s not in (ALL, SLATE)}
        masks[SLATE] = [m for s, ms in masks.items() if s != ALL for m in ms]
    found = {s: Ratios.of([reward * m for m in ms], ms, cluster=cluster) for s, ms in masks.items() if s in scopes}
    spans = intervals(list(found.values()), **settings)
    counts = {s: int(sum(m.sum() for m in ms)) for s, ms in masks.items()}
    return [Value(OWN_LOG, s, r.value, *span, counts[s]) for (s, r), span in zip(found.items(), spans)]


def _assumptions(
    rows: LogRows, policy: Policy, chances: Chances, values: Sequence[Value], weights: Weighting, interval: str,
    model: Modelled | None,
) -> tuple[str, ...]:  # fmt: skip
    """What the numbers take for granted."""
    notes = []
    if policy.own_log is not None:
        notes.append(
            "the target policy is approximated by its shares of items: where it depends on context or changes over "
            "time, that is ignored, and the intervals take the shares as exact"
        )
    if chances.estimated:
        notes.append(f"propensities are estimated ({chances.source}); the intervals take them as exact")
    if chances.examination is not None:
        notes.append("the position-based model assumes that a click is an examined position times an attractive item")
    if SLATE in weights.scopes:
        notes.append("slate = sum over positions, assuming that a click depends only on its own item and position")
    direct = [v for v in values if v.estimator == "dm" and v.scope == ALL]
    if direct and model is not None and model.constant:
        notes.append(CONSTANT)
    elif direct and math.isnan(direct[0].low) and not math.isnan(direct[0].value):
        notes.append("dm has no interval here")
    elif direct:
        notes.append(
            "the interval of dm includes the noise and the shrinking of its reward model, not the error of a wrong "
            "model"
        )
    if rows.cluster is None:
        notes.append("users or rounds are unknown: rows are assumed to be independent")
    elif rows.clusters < 2:
        notes.append("all rows belong to one user or round: there is no interval")
    bare = [v.estimator for v in values if v.scope == ALL and math.isnan(v.low) and v.value == v.value]
    if bare := [name for name in bare if name != "dm" and interval != "none" and rows.clusters > 1]:
        notes.append(f"{', '.join(bare)}: no interval, because nothing varies and the spread is unknown")
    if rows.rewarded <= FEW and 2 * rows.rewarded < rows.clusters:
        who = f"only {rows.rewarded} of {rows.clusters:,} users, rounds or rows have a reward"
        notes.append(f"{who}: too few for a reliable interval")
    return tuple(notes)


def _manifest(
    where: str, rows: LogRows, policy: Policy, chances: Chances, names: Sequence[str], context: Sequence[str],
    clip: float | str, cut: float | None, interval: str, level: float, seed: int,
) -> dict[str, Any]:  # fmt: skip
    from trueval import __version__

    by = ["item", *(["position"] if rows.positions != (None,) else []), *context]
    model = f"{'regression on' if context else 'shrunken means by'} {', '.join(by)}"
    return {
        "log": where,
        "rows": len(rows),
        "clusters": rows.clusters,
        "items": int((rows.exposures.sum(axis=1) > 0).sum()),
        "positions": [str(p) for p in rows.positions if p is not None],
        "target": policy.source,
        "propensity": chances.source,
        "clip": {"asked": clip, "used": cut} if "clipped" in names else None,
        "reward_model": model if {"dm", "dr", "sndr"} & set(names) else None,
        "interval": interval,
        "level": level,
        "seed": seed,
        "definitions": {name: DEFINITIONS[name] for name in ("naive", *names)},
        "version": __version__,
    }
