"""The public functions that evaluate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trueval.arguments import checked
from trueval.evaluation.compat import supported
from trueval.evaluation.defaults import METRICS, default_metrics
from trueval.evaluation.group_values import MIN_GROUP
from trueval.evaluation.groups import By
from trueval.evaluation.options import EvaluationOptions
from trueval.evaluation.population import check_user_table
from trueval.evaluation.runs import evaluate_runs
from trueval.kernels import use_threads
from trueval.metrics.spec import Spec
from trueval.report.result import Result
from trueval.report.sides import OBSERVED

if TYPE_CHECKING:
    from trueval.splits.parts import Parts

# what splits, fits and ranks is imported where it is used: given lists need none of it
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
    invalid: str = "refuse",
    ties: str = "random",
    interval: str | None = None,
    resamples: int = 1000,
    items: Any = None,
    compat: str | None = None,
    seed: int | Sequence[int] = 0,
    threads: int | None = None,
    by: By = None,
    users: Any = None,
    only_users: Any = None,
    min_group: int = MIN_GROUP,
    propensity: Any = None,
    columns: Mapping[str, Any] | str | None = None,
    level: float = 0.95,
    keep_facts: bool | None = None,
) -> Result:
    """Fit systems on the train part of a split, rank the target sets of a design, and measure.

    Several parts (folds of `split`) or seeds are evaluated one by one; the result is the mean over these repeats.

    Parameters
    ----------
    parts : Parts or list of Parts
        What `split` made: one train and test part, or the parts of several folds.
    systems : name, system, list, or mapping from names to systems
        Names (see `systems`), functions `users -> scores`, score matrices, models of other libraries (see `adapt`),
        objects with `fit` and `score`, or a `Run`.
    design : text or Design, default "AR-TI-AN"
        Which items are ranked against each other (see `Design`).
    metrics : text or list of metrics, optional
        "ndcg@10,recall@10" or a list. Default: ndcg@10, recall@10, coverage@10, where design and `compat` have them.
    threshold : number, optional
        Relevance threshold: test items with this value or a higher one are relevant. Default: all values above 0.
    population : {"relevant", "judged", "all"}, default "relevant"
        The users to average over: those with a relevant test item, with any test item, or all users.
    missing : {"zero", "drop", "error"}, default "zero"
        Users without recommendations in a `Run`: count them as an empty list, leave them out, or raise an error.
    invalid : {"refuse", "miss", "drop"}, default "refuse"
        Places of a `Run` that cannot count: raise an error, keep them as misses or drop them (see `evaluate_run`).
    ties : {"random", "expected", "worst", "best", "given"}, default "random"
        Order of items with equal scores: drawn by the seed, the exact mean over all orders, relevant items last,
        relevant items first, or the order in which a run has them.
    interval : {"bootstrap", "bca", "t", "nested", "none"}, optional
        Method of the confidence intervals. Default: "bootstrap" (users are resampled). Of repeats: "nested" (users and
        repeats both vary; not of one part); "t" is then over repeats alone, "bootstrap" and "bca" over users alone.
    resamples : int, default 1000
        Number of resamples of "bootstrap" and "bca".
    items : list of ids, table or file, optional
        The catalogue, perhaps with columns of groups or aspects. LIST designs rank these items.
    compat : text, optional
        Follow another library: trec_eval, ranx, recbole, lenskit, rectools, replay, recommenders or spark.
    seed : int or list of int, default 0
        Seed of everything random: ties, samples, resamples, systems. A list makes a repeat of each seed.
    threads : int, optional
        Number of threads. Default: one for each available core.
    by : text or list of text, optional
        Groups to report (see `Result.by`): columns of users or items, or "activity", "taste", "popularity" (of items).
    users : table or file, optional
        Table of users with columns to group by. Default: the one that the log has.
    only_users : list of ids, table or file, optional
        Evaluate only these users of the population. The values of each stay the same.
    min_group : int, default 30
        Groups with fewer users are reported, but left out of gaps.
    propensity : text, table, file or Propensity, optional
        Probability that a relevant pair was observed, needed by ips(m) and snips(m): "column:NAME" of the log,
        "popularity:GAMMA", "display_share:FILE", "position_model:FILE", "randomised:FILE", or p by user, item or
        position. Where the split drew a share s of the log at random, p is of the whole log, and pairs outside train
        are tested with probability s p / (1 - t p), t being the share of train; with s p where train items may be
        recommended (design …-seen), and where p is known up to a factor only (by popularity, display or position).
        With the split `unbiased` p is of the biased log; the random sample is weighted by the chance of its draw.
        Probabilities are refused where they do not tell what is tested, for example in splits by time.
    columns : mapping or text, optional
        Columns of `items`, `users` and `only_users` without common names: {"item": "sku"} or
        "items.item=sku,users.user=uid".
    level : number, default 0.95
        Confidence level of the intervals.
    keep_facts : bool, optional
        Whether `Result.facts` has those of all systems, or none. Default: those that fit into 512 MB together.

    Returns
    -------
    Result
        A value with a confidence interval for each system and metric. With the split `unbiased`, `Result.observed`
        has the values on the held-out share of the biased log.

    Raises
    ------
    TruevalError
        For options that do not exist or contradict each other, and for data that cannot be evaluated.

    Examples
    --------
    >>> import polars as pl, trueval as tv
    >>> pairs = [(u, (u + j * j) % 11) for u in range(8) for j in range(4)]
    >>> log = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    >>> result = tv.evaluate(tv.split(log, "holdout", ratio=0.4), ["popularity"], metrics=["auc"], interval="none")
    >>> 0 <= result["popularity", "auc"].value <= 1
    True
    """
    from trueval.data.users import read_side_tables
    from trueval.evaluation.evaluate_repeats import each_interval, evaluate_repeats
    from trueval.evaluation.evaluate_systems import evaluate_sides
    from trueval.evaluation.kept_facts import Keeper
    from trueval.evaluation.repeats import combine
    from trueval.splits.parts import check_parts

    check_parts(parts)
    check_user_table(users, by)
    items, users, only_users = read_side_tables(items, users, only_users, columns=columns)
    repeated = isinstance(parts, Sequence) or isinstance(seed, Sequence)
    method = interval or ("nested" if repeated else "bootstrap")
    seeds = list(seed) if isinstance(seed, Sequence) else [seed]
    asked, notes = (metrics, []) if metrics is not None else default_metrics(design, compat)
    options = EvaluationOptions(
        metrics=asked, threshold=threshold, population=population, missing=missing, invalid=invalid, ties=ties,
        compat=compat, interval=each_interval(method) if repeated else method, resamples=resamples, level=level,
        seed=seeds[0] if seeds else 0, by=by, users=users, only_users=only_users,
        min_group=min_group, propensity=propensity,
    )  # fmt: skip
    keeper = Keeper(keep_facts)
    with use_threads(threads):
        how: Any = {"design": design, "items": items, "notes": notes, "keeper": keeper}
        if not isinstance(parts, Sequence) and not repeated:
            found = {side: Result(one) for side, one in evaluate_sides(parts, systems, options, **how).items()}
        else:
            several = list(parts) if isinstance(parts, Sequence) else [parts]
            repeats = evaluate_repeats(several, systems, options, seeds=seeds, **how)
            found = {side: Result(combine(own, interval=method, level=level), own) for side, own in repeats.items()}
    return replace(found[""], observed=found.get(OBSERVED))


@checked
def evaluate_run(
    recs: Any,
    test: Any,
    *,
    train: Any = None,
    items: Any = None,
    metrics: Metrics | None = None,
    threshold: float | None = None,
    population: str = "relevant",
    missing: str = "zero",
    invalid: str = "refuse",
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
    only_users: Any = None,
    min_group: int = MIN_GROUP,
    propensity: Any = None,
    level: float = 0.95,
    engine: str = "local",
) -> Result:
    """Measure recommendations that were already made.

    A user's target set is the catalogue less the user's train items (unless `seen="allow"`); test pairs outside it are
    refused. The value by chance is that of a uniformly random ranking of the target set.

    Parameters
    ----------
    recs : table, file, list of files, or mapping from names to these
        The run or runs: a row per recommended item, with user, item, and a score or a rank.
    test : table, file or log
        The test set: user, item and, where known, a value.
    train : table, file or log, optional
        The train log, needed for novelty and popularity metrics.
    items : list of ids, table or file, optional
        The catalogue, perhaps with columns of groups or aspects. Default: all items of runs, test and train.
    metrics : text or list of metrics, optional
        "ndcg@10,recall@10" or a list. Default: ndcg@10, recall@10, coverage@10, without those that `compat` refuses.
    threshold : number, optional
        Test items with at least this value are relevant. Default: values above 0, with a warning if these are ratings.
    population : {"relevant", "judged", "all"}, default "relevant"
        The users to average over: those with a relevant test item, with any test item, or all users.
    missing : {"zero", "drop", "error"}, default "zero"
        Users without recommendations: count them as an empty list (0 for accuracy), leave them out of every mean of the
        run (the value by chance is then over the users of the first run), or raise an error.
    invalid : {"refuse", "miss", "drop"}, default "refuse"
        Places that cannot count, as their item is outside the catalogue or stands higher up in the same list: raise an
        error, keep them as misses, or drop them (what is below moves up). A miss is no relevant item and no item of the
        catalogue, and stays a place in denominators. Warnings and `to_json()` tell the share of such places.
    ties : {"random", "expected", "worst", "best", "given"}, default "random"
        Order of items with equal scores (see `evaluate`); "given" is the order of the rows.
    design : text, optional
        "given" takes the lists as they are. Words may follow: "head10" (`without_head=0.1`), "condensed" and "seen"
        (`seen="allow"`), as in "given-head10-condensed". The options of the same meaning must not contradict it.
    condensed : bool, optional
        Drop unjudged items from the lists before measuring. Default: as `design` says, else no.
    without_head : number, optional
        Leave out the judgements of the head: this share of the items, those with most ratings in `train` and `test`
        (equally popular ones go together). Lists stay as they are; to rank without the head, `evaluate` a `Run`.
    seen : {"exclude", "allow"}, optional
        Whether a user's train items may be recommended. Default: "exclude".
    interval : {"bootstrap", "bca", "t", "none"}, default "bootstrap"
        Method of the confidence intervals, all over users.
    resamples : int, default 1000
        Number of resamples of "bootstrap" and "bca".
    columns : mapping or text, optional
        Roles of columns without common names: {"user": "uid"} or "user=uid"; of one table alone: "items.item=sku".
    sorted_by_user : bool, default False
        The files are sorted by user, so that they can be read in chunks.
    compat : text, optional
        Follow the definitions of another library (see `evaluate`), including its rule for missing users.
    seed : int, default 0
        Seed of everything random: ties and resamples.
    threads : int, optional
        Number of threads. Default: one for each available core.
    by : text or list of text, optional
        Groups to report (see `Result.by`): columns of `users` or `items`; with `train` also strata (see `evaluate`).
    users : table or file, optional
        Table of users with columns to group by.
    only_users : list of ids, table or file, optional
        Evaluate only these users of the population. The values of each stay the same.
    min_group : int, default 30
        Groups with fewer users are reported, but left out of gaps.
    propensity : text, table, file or Propensity, optional
        Probability that a relevant pair was observed, for ips(m) and snips(m) (see `evaluate`).
    level : number, default 0.95
        Confidence level of the intervals.
    engine : {"local", "spark"}, default "local"
        Where to measure. With "spark" (extra `spark`) on a cluster: tables may then also be PySpark DataFrames or
        addresses (s3a://…, hdfs://…). The result is the same.

    Returns
    -------
    Result
        A value with a confidence interval for each run and metric; a single table is called "run".

    Raises
    ------
    TruevalError
        For options that do not exist or contradict each other, and for tables that cannot be evaluated.

    Examples
    --------
    >>> import polars as pl
    >>> recs = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "score": [0.9, 0.1]})
    >>> test = pl.DataFrame({"user": ["u"], "item": ["b"]})
    >>> evaluate_run(recs, test, metrics="rr", interval="none")["run", "rr"].value
    0.5
    """
    from trueval.data.table_columns import read_columns
    from trueval.data.users import read_user_ids

    tables = {"recs": recs, "test": test, "train": train, "items": items, "users": users, "propensity": propensity}
    roles = read_columns(columns, **tables, only_users=only_users) or None
    check_user_table(users, by)
    if roles and only_users is not None:
        only_users = read_user_ids(only_users, columns=roles)
    metrics = supported(METRICS, compat) if metrics is None else metrics
    options = EvaluationOptions(
        metrics=metrics, threshold=threshold, population=population, missing=missing, invalid=invalid, ties=ties,
        compat=compat, interval=interval, resamples=resamples, level=level, seed=seed, by=by, users=users,
        only_users=only_users, min_group=min_group, propensity=propensity,
    )  # fmt: skip
    with use_threads(threads):
        found = evaluate_runs(
            recs, test, options, train=train, items=items, design=design, condensed=condensed,
            without_head=without_head, seen=seen, columns=roles, sorted_by_user=sorted_by_user, engine=engine,
        )  # fmt: skip
    return Result(found)
