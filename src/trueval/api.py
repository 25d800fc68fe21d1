"""The public functions that evaluate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trueval.arguments import checked
from trueval.errors import DefinitionError
from trueval.evaluation.compat import supported
from trueval.evaluation.defaults import METRICS, default_metrics
from trueval.evaluation.evaluate_repeats import each_interval, evaluate_repeats
from trueval.evaluation.evaluate_systems import evaluate_sides
from trueval.evaluation.group_values import MIN_GROUP
from trueval.evaluation.groups import By
from trueval.evaluation.kept_facts import Keeper
from trueval.evaluation.options import EvaluationOptions
from trueval.evaluation.repeats import combine
from trueval.evaluation.runs import evaluate_runs
from trueval.kernels import use_threads
from trueval.metrics.grammar import Spec
from trueval.report.result import Result
from trueval.splits.parts import OBSERVED, Parts

__all__ = ["Result", "evaluate", "evaluate_run"]

Metrics = str | Sequence[str | Spec]


@checked
def evaluate(
    parts: Parts | Sequence[Parts],
    systems: Any,
    *,
    design: Any = "AR-TI-AN",
    metrics: Metrics | None = None,
    threshold: float | None = None,
    population: str = "relevant",
    missing: str = "zero",
    ties: str = "random",
    interval: str | None = None,
    resamples: int = 1000,
    items: Any = None,
    compat: str | None = None,
    seed: int | Sequence[int] = 0,
    threads: int | None = None,
    by: By = None,
    users: Any = None,
    min_group: int = MIN_GROUP,
    propensity: Any = None,
    level: float = 0.95,
    keep_facts: bool | None = None,
) -> Result:
    """Fit systems on the train part of a split, rank under a design, and measure.

    `systems`: names (see `systems()`), functions `users -> scores`, score matrices, objects with `fit` and
    `score`; a list, or a mapping from names. Test items whose value reaches `threshold` are relevant;
    without one, those with a positive value. `metrics`: ndcg@10, recall@10, coverage@10 (not in 1R) unless given.

    Users to whom a `Run` recommends nothing count as 0, and are said first; with `missing="drop"` they are left out of
    that run's means, so that systems are averaged over different users, and "error" refuses them.

    Several parts (of `split` by kfold or rolling), or several seeds, are evaluated each, and the result is the mean
    over them. Intervals are then "nested" unless `interval` says otherwise: users and repeats both vary. "t" is over
    folds or seeds alone, and "bootstrap" and "bca" are over users alone. Of one part, "bootstrap" is the default.

    `by` names groups to tell the values apart by (see `Result.by`): columns of the log's tables of users or
    items, or of `users` and `items` given here; or "activity", "taste" (users), "popularity" (items). Groups of
    fewer than `min_group` users are shown, but left out of gaps.

    `propensity` is how likely a relevant pair was to be observed, for ips(m) and snips(m): "column:NAME" of the log,
    "popularity:GAMMA", "display_share:FILE", "position_model:FILE", "randomised:FILE", a table or file of p by item
    (or user, position), or a `Propensity`. Where the split drew the test part by chance, it is multiplied by the
    share that was held out.

    `result.facts["name"]` are the facts of a system (see `Result.facts`). They are kept while all of them together take
    no more than 512 MB; with `keep_facts` all are, or (False) none.

    >>> import polars as pl, trueval as tv
    >>> pairs = [(u, (u + j * j) % 11) for u in range(8) for j in range(4)]
    >>> log = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    >>> result = tv.evaluate(tv.split(log, "holdout", ratio=0.4), ["popularity"], metrics=["auc"], interval="none")
    >>> 0 <= result["popularity", "auc"].value <= 1
    True
    """
    _check_parts(parts)
    repeated = not isinstance(parts, Parts) or isinstance(seed, Sequence)
    method = interval or ("nested" if repeated else "bootstrap")
    seeds = list(seed) if isinstance(seed, Sequence) else [seed]
    asked, left_out = (metrics, []) if metrics is not None else default_metrics(design, compat)
    options = EvaluationOptions(
        metrics=asked, threshold=threshold, population=population, missing=missing, ties=ties, compat=compat,
        interval=each_interval(method) if repeated else method, resamples=resamples, level=level,
        seed=seeds[0] if seeds else 0, by=by, users=users, min_group=min_group, propensity=propensity,
    )  # fmt: skip
    keeper = Keeper(keep_facts)
    with use_threads(threads):
        if isinstance(parts, Parts) and not repeated:
            sides = evaluate_sides(parts, systems, options, design=design, items=items, notes=left_out, keeper=keeper)
            return _of_sides({side: Result(found) for side, found in sides.items()})
        several = [parts] if isinstance(parts, Parts) else list(parts)
        repeats = evaluate_repeats(
            several, systems, options, seeds=seeds, design=design, items=items, notes=left_out, keeper=keeper
        )
    whole = {side: Result(combine(own, interval=method, level=level), own) for side, own in repeats.items()}
    return _of_sides(whole)


def _of_sides(sides: Mapping[str, Result]) -> Result:
    return replace(sides[""], observed=sides.get(OBSERVED))


def _check_parts(parts: Any) -> None:
    """Refuse what is not the parts of a split, and say which function is for it."""
    if isinstance(parts, Parts) or (isinstance(parts, (list, tuple)) and all(isinstance(p, Parts) for p in parts)):
        return
    raise DefinitionError(
        "evaluate needs the parts of a split",
        found=type(parts).__name__,
        do="parts = tv.split(log, …); recommendations already made: tv.evaluate_run(recs, test)",
    )


@checked
def evaluate_run(
    recs: Any,
    test: Any,
    *,
    train: Any = None,
    items: Any = None,
    metrics: Metrics = METRICS,
    threshold: float | None = None,
    population: str = "relevant",
    missing: str = "zero",
    ties: str = "random",
    design: Any = None,
    condensed: bool | None = None,
    without_head: float | None = None,
    seen: str | None = None,
    interval: str = "bootstrap",
    resamples: int = 1000,
    columns: Mapping[str, Any] | str | None = None,
    sorted_by_user: bool = False,
    compat: str | None = None,
    seed: int = 0,
    threads: int | None = None,
    by: By = None,
    users: Any = None,
    min_group: int = MIN_GROUP,
    propensity: Any = None,
    level: float = 0.95,
    engine: str = "local",
) -> Result:
    """Measure recommendations that were already made.

    `recs` is a table (polars, pandas, Arrow), a file, a list of files, or a mapping from names to these;
    one row per recommended item, with a score or a rank. `test` is the truth; `train` allows novelty and
    popularity metrics; `items` is the catalogue. Files sorted by user can be streamed (`sorted_by_user`).
    A user's targets are the items of the catalogue, less the user's train items unless `seen="allow"`; test pairs
    that are no targets are refused. By chance: the expected value of a uniformly random ranking of the targets.

    `by` names groups to tell the values apart by: columns of `users` or `items`, or, from the train log, "activity",
    "taste" (users) and "popularity" (items). Groups of fewer than `min_group` users are left out of gaps.

    Ratings without a `threshold`, of which the lowest would count as relevant, are the first warning, then users of the
    population without recommendations. They count as an empty list, 0 for accuracy;
    `missing="drop"` leaves them out of every mean of the run (and of the value by chance, over the users of the first
    run), "error" refuses them. A preset (`compat`) decides by its library's rule instead.

    `design` says how the lists are taken: "given" as they are, and perhaps "head10" (like `without_head=0.1`),
    "condensed" (drop unjudged items from the lists) and "seen" (like `seen="allow"`): "given-head10-condensed". The
    options are short forms of these words; one that contradicts the design is refused.

    `without_head=0.1` leaves out the judgements of the tenth of the items that is rated most in `train` and `test`
    (items rated equally often go together). The lists stay as they were made: a head item in one keeps its place as
    an unjudged item, since nobody knows what would stand there instead. Lists of whole rankings can be judged without
    their head items, too: `evaluate(parts, {"name": Run(recs)}, design="AR-AI-AN-head10")`.

    `engine="spark"` measures on a Spark cluster (extra `spark`; the session in use, or a new one): `recs` may then
    also be a PySpark DataFrame or an address (s3a://…, hdfs://…), and `test`, `train` and `items` may be such, which
    are brought here. The result is the same.

    >>> import polars as pl
    >>> recs = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "score": [0.9, 0.1]})
    >>> test = pl.DataFrame({"user": ["u"], "item": ["b"]})
    >>> evaluate_run(recs, test, metrics="rr", interval="none")["run", "rr"].value
    0.5
    """
    from trueval.data.column_roles import parse_columns

    roles = parse_columns(columns) if isinstance(columns, str) else columns
    metrics = supported(METRICS, compat) if metrics is METRICS else metrics
    options = EvaluationOptions(
        metrics=metrics, threshold=threshold, population=population, missing=missing, ties=ties, compat=compat,
        interval=interval, resamples=resamples, level=level, seed=seed, by=by, users=users, min_group=min_group,
        propensity=propensity,
    )  # fmt: skip
    with use_threads(threads):
        found = evaluate_runs(
            recs, test, options, train=train, items=items, design=design, condensed=condensed,
            without_head=without_head, seen=seen, columns=roles, sorted_by_user=sorted_by_user, engine=engine,
        )  # fmt: skip
    return Result(found)
