"""The public functions, and the result they return."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from trueval.evaluation.compat import supported
from trueval.evaluation.experiment import evaluate_systems
from trueval.evaluation.fairness import Disparity, demographic_parity, equal_opportunity
from trueval.evaluation.group_values import MIN_GROUP
from trueval.evaluation.groups import By
from trueval.evaluation.outcome import Evaluation
from trueval.evaluation.repeated import each_interval, evaluate_repeats
from trueval.evaluation.repeats import combine, repeats_frame
from trueval.evaluation.rules import Rules
from trueval.evaluation.runs import evaluate_runs
from trueval.kernels import use_threads
from trueval.metrics.grammar import Spec, parse
from trueval.report.formats import as_latex, as_markdown, as_record, summary_frame
from trueval.report.groups import gap_frame, group_frame
from trueval.report.repeats import repeats_text
from trueval.report.terminal import print_evaluation, table_text
from trueval.splits.parts import Parts

if TYPE_CHECKING:
    from trueval.comparison.agreement import Agreement
    from trueval.comparison.comparisons import Comparisons

Metrics = str | Sequence[str | Spec]
METRICS = ("ndcg@10", "recall@10", "coverage@10")  # where none are asked for


@dataclass(frozen=True)
class Result:
    """What an evaluation found. Prints as a table.

    >>> import trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"], "rank": [1, 2, 1]})
    >>> test = pl.DataFrame({"user": [1, 2], "item": ["b", "a"]})
    >>> result = tv.evaluate_run(recs, test, metrics=["rr", "hit@1"], interval="none")
    >>> result["run", "rr"].value
    0.75
    """

    evaluation: Evaluation
    repeats: Mapping[str, Evaluation] = field(default_factory=dict, repr=False)  # by name, of several folds or seeds

    def __getitem__(self, key: tuple[str, str]) -> Any:
        """The estimate of one system and metric."""
        name, metric = key
        estimates = self.evaluation.system(name).estimates
        if metric in estimates:
            return estimates[metric]
        wanted = parse(metric)
        return next(e for label, e in estimates.items() if self.evaluation.specs[label] == wanted)

    def __str__(self) -> str:
        return table_text(self.evaluation) + repeats_text(self.repeats, self.evaluation)

    def __repr__(self) -> str:
        return f"<Result: {len(self.evaluation.systems)} systems, {len(self.evaluation.specs)} metrics>"

    def show(self, *, baseline: str | None = None) -> None:
        """Print the table, with comparisons where a baseline is named."""
        print_evaluation(self.evaluation, file=sys.stdout, comparisons=self.compare(baseline) if baseline else ())
        sys.stdout.write(repeats_text(self.repeats, self.evaluation))

    def table(self) -> pl.DataFrame:
        """One row per system and metric: value, interval, n, undefined."""
        return summary_frame(self.evaluation)

    @property
    def per_user(self) -> pl.DataFrame:
        """One row per system and user, one column per metric; of several folds or seeds, for each of them."""
        if self.repeats:
            named = [e.per_user().select(pl.lit(name).alias("repeat"), pl.all()) for name, e in self.repeats.items()]
            return pl.concat(named)
        return self.evaluation.per_user()

    @property
    def per_repeat(self) -> pl.DataFrame:
        """One row per system and metric: mean and standard deviation over folds or seeds, interval, each value."""
        return repeats_frame(self.repeats or {"value": self.evaluation}, self.evaluation)

    @property
    def random(self) -> dict[str, float]:
        """Exact expected value of each accuracy metric for a random ranking, where targets are known."""
        return self.evaluation.random

    @property
    def manifest(self) -> dict[str, Any]:
        """Everything that must be equal for two results to be comparable."""
        return self.evaluation.manifest

    @property
    def warnings(self) -> list[str]:
        """What a reader should know before trusting the numbers."""
        return self.evaluation.warnings

    def by(self, column: str) -> pl.DataFrame:
        """One row per system, group and metric: value, interval, n, undefined, and whether gaps count the group.

        For groups of users the units are theirs. For groups of items only judgements of the group's items
        count, R included, and a unit without relevant items of the group is undefined.

        >>> import trueval as tv
        >>> recs = pl.DataFrame({"user": [1, 2, 3], "item": ["a", "a", "b"], "rank": 1})
        >>> test = pl.DataFrame({"user": [1, 2, 3], "item": ["a", "a", "a"]})
        >>> users = pl.DataFrame({"user": [1, 2, 3], "gender": ["f", "f", "m"]})
        >>> result = tv.evaluate_run(recs, test, users=users, by="gender", metrics="hit@1", min_group=1)
        >>> result.by("gender").select("group", "value", "n").rows()
        [('f', 1.0, 2), ('m', 0.0, 1)]
        >>> result.gaps("gender")["gap"].to_list()
        [1.0]
        """
        return group_frame(self.evaluation, column)

    def gaps(self, column: str) -> pl.DataFrame:
        """One row per system and metric: highest minus lowest group, lowest over highest, with intervals."""
        return gap_frame(self.evaluation, column)

    def parity(
        self, column: str, *, k: int | None = None, discount: bool = False, against: str = "catalogue"
    ) -> dict[str, Disparity]:
        """Demographic parity by system: shares of exposure by item group, against the catalogue or equal shares."""
        systems = self.evaluation.systems.items()
        return {n: demographic_parity(s.by(column), k=k, discount=discount, against=against) for n, s in systems}

    def opportunity(self, column: str, *, k: int | None = None) -> dict[str, Disparity]:
        """Equal opportunity by system: true-positive rates by user or item group."""
        return {name: equal_opportunity(s.by(column), k=k) for name, s in self.evaluation.systems.items()}

    def compare(self, baseline: str | None = None, **options: Any) -> Comparisons:
        """Every other system against a baseline (the first system, unless named); options as for `compare`."""
        from trueval.report.compared import compare

        return compare(self, baseline=baseline, **options)

    def agreement(self, **options: Any) -> Agreement:
        """Whether the metrics rank the systems alike: Kendall's τ between every two; options as for `agreement`."""
        from trueval.report.compared import agreement

        return agreement(self, **options)

    def to_dict(self, *, baseline: str | None = None) -> dict[str, Any]:
        """The record that `trueval evaluate --format json` prints."""
        record = as_record(self.evaluation, self.compare(baseline) if baseline else ())
        return record | ({"repeats": self.per_repeat.to_dicts()} if self.repeats else {})

    def to_json(self, *, baseline: str | None = None) -> str:
        """The record as text."""
        return json.dumps(self.to_dict(baseline=baseline), ensure_ascii=False, indent=1, default=str)

    def to_markdown(self, *, baseline: str | None = None) -> str:
        """A Markdown table, marked where a difference from the baseline is shown."""
        return as_markdown(self.evaluation, self.compare(baseline) if baseline else ())

    def to_latex(self, *, baseline: str | None = None) -> str:
        """A LaTeX (booktabs) table, marked in the same way."""
        return as_latex(self.evaluation, self.compare(baseline) if baseline else ())

    def save(self, folder: str | Path) -> None:
        """Write a folder that `compare` reads: results.parquet (every user's values), summary.json, manifest.json."""
        from trueval.report.saved import save_folder

        if not self.repeats:
            save_folder(self.evaluation, Path(folder))
        for name, evaluation in self.repeats.items():  # a folder in the folder for each fold or seed
            save_folder(evaluation, Path(folder) / name.replace(", ", "-").replace(" ", "-"))


def evaluate(
    parts: Parts | Sequence[Parts],
    systems: Any,
    *,
    design: Any = "AR-TI-AN",
    metrics: Metrics = METRICS,
    threshold: float | None = None,
    population: str = "relevant",
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
) -> Result:
    """Fit systems on the train part of a split, rank under a design, and measure.

    `systems`: names (see `systems()`), functions `users -> scores`, score matrices, objects with `fit` and
    `score`; a list, or a mapping from names. Test items whose value reaches `threshold` are relevant;
    without one, those with a positive value.

    Several parts (of `split` by kfold or rolling), or several seeds, are evaluated each, and the result is the mean
    over them. Intervals are then "t" over folds or seeds unless `interval` says otherwise: "nested" lets users and
    repeats both vary, "bootstrap" and "bca" draw users alone. Of one part, "bootstrap" is what is made unless asked.

    `by` names groups to tell the values apart by (see `Result.by`): columns of the log's tables of users or
    items, or of `users` and `items` given here; or "activity", "taste" (users), "popularity" (items). Groups of
    fewer than `min_group` users are shown, but left out of gaps.

    >>> import trueval as tv
    >>> pairs = [(u, (u + j * j) % 11) for u in range(8) for j in range(4)]
    >>> log = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    >>> result = tv.evaluate(tv.split(log, "holdout", ratio=0.4), ["popularity"], metrics=["auc"], interval="none")
    >>> 0 <= result["popularity", "auc"].value <= 1
    True
    """
    repeated = not isinstance(parts, Parts) or isinstance(seed, Sequence)
    method = interval or ("t" if repeated else "bootstrap")
    seeds = list(seed) if isinstance(seed, Sequence) else [seed]
    metrics = supported(METRICS, compat) if metrics is METRICS else metrics
    rules = Rules(
        metrics, threshold, population, ties, each_interval(method) if repeated else method, resamples, compat,
        seeds[0] if seeds else 0, by, users, min_group, propensity, level,
    )  # fmt: skip
    with use_threads(threads):
        if isinstance(parts, Parts) and not repeated:
            return Result(evaluate_systems(parts, systems, rules, design=design, items=items))
        several = [parts] if isinstance(parts, Parts) else list(parts)
        repeats = evaluate_repeats(several, systems, rules, seeds=seeds, design=design, items=items)
    return Result(combine(repeats, interval=method, level=level), repeats)


def evaluate_run(
    recs: Any,
    test: Any,
    *,
    train: Any = None,
    items: Any = None,
    metrics: Metrics = METRICS,
    threshold: float | None = None,
    population: str = "relevant",
    ties: str = "random",
    condensed: bool = False,
    without_head: float | None = None,
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
    `by` names groups to tell the values apart by: columns of `users` or `items`, or, from the train log, "activity",
    "taste" (users) and "popularity" (items). Groups of fewer than `min_group` users are left out of gaps.

    `without_head=0.1` leaves out the judgements of the tenth of the items that is rated most in `train` and `test`
    (items rated equally often go together). The lists stay as they were made: a head item in one keeps its place as
    an unjudged item, since nobody knows what would stand there instead. Lists of whole rankings can be judged without
    their head items, too: `evaluate(parts, {"name": Run(recs)}, design="AR-AI-AN-head10")`.

    `engine="spark"` measures on a Spark cluster (extra `spark`; the session in use, or a new one): `recs` may then
    also be a PySpark DataFrame or an address (s3a://…, hdfs://…), and `test`, `train` and `items` may be such, which
    are brought here. The result is the same.

    >>> recs = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "score": [0.9, 0.1]})
    >>> test = pl.DataFrame({"user": ["u"], "item": ["b"]})
    >>> evaluate_run(recs, test, metrics="rr", interval="none")["run", "rr"].value
    0.5
    """
    from trueval.data.columns import parse_columns

    roles = parse_columns(columns) if isinstance(columns, str) else columns
    metrics = supported(METRICS, compat) if metrics is METRICS else metrics
    rules = Rules(
        metrics, threshold, population, ties, interval, resamples, compat, seed, by, users, min_group, propensity,
        level,
    )  # fmt: skip
    with use_threads(threads):
        found = evaluate_runs(
            recs, test, rules, train=train, items=items, condensed=condensed, without_head=without_head,
            columns=roles, sorted_by_user=sorted_by_user, engine=engine,
        )  # fmt: skip
    return Result(found)
