"""Result: what an evaluation found, with all that can be asked of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from trueval.arguments import checked
from trueval.errors import DefinitionError, suggest
from trueval.evaluation.estimate import Estimate
from trueval.evaluation.fairness import Disparity, demographic_parity, equal_opportunity
from trueval.evaluation.outcome import Evaluation
from trueval.evaluation.repeats import repeats_frame
from trueval.metrics.grammar import parse
from trueval.report.formats import as_latex, as_markdown, as_record, summary_frame
from trueval.report.groups import gap_frame, group_frame
from trueval.report.repeats import repeats_text
from trueval.report.terminal import print_evaluation, table_text

if TYPE_CHECKING:
    from trueval.comparison.agreement import Agreement
    from trueval.comparison.comparisons import Comparisons


@dataclass(frozen=True)
class Result:
    """What an evaluation found. Prints as a table.

    >>> import trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"], "rank": [1, 2, 1]})
    >>> test = pl.DataFrame({"user": [1, 2], "item": ["b", "a"]})
    >>> result = tv.evaluate_run(recs, test, metrics=["rr", "hit@1"], interval="none")
    >>> result["run", "rr"].value
    0.75
    >>> list(result["run"])
    ['rr', 'hit@1']
    """

    evaluation: Evaluation
    repeats: Mapping[str, Evaluation] = field(default_factory=dict, repr=False)  # by name, of several folds or seeds

    @overload
    def __getitem__(self, key: tuple[str, str]) -> Estimate: ...
    @overload
    def __getitem__(self, key: str) -> dict[str, Estimate]: ...
    def __getitem__(self, key: tuple[str, str] | str) -> Estimate | dict[str, Estimate]:
        """The estimate of one system and metric; with a system alone, all of its estimates by metric."""
        if not isinstance(key, tuple):
            return dict(self.evaluation.system(key).estimates)
        if len(key) != 2:
            raise DefinitionError(
                "a value is found by system and metric",
                found=repr(key),
                do='for example result["popularity", "ndcg@10"]',
            )
        name, metric = key
        estimates = self.evaluation.system(name).estimates
        label = metric if metric in estimates else self._label(metric)
        return estimates[label]

    def _label(self, metric: Any) -> str:
        """What a metric is called here, that may be written in another way."""
        wanted = parse(metric)
        for label, spec in self.evaluation.specs.items():
            if spec == wanted:
                return label
        raise DefinitionError(
            f"{metric!r} was not measured", found=suggest(metric, self.evaluation.specs), do="add it to metrics"
        )

    def __str__(self) -> str:
        return table_text(self.evaluation) + repeats_text(self.repeats, self.evaluation)

    def __repr__(self) -> str:
        return f"<Result: {len(self.evaluation.systems)} systems, {len(self.evaluation.specs)} metrics>"

    @checked
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

    @checked
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

    @checked
    def gaps(self, column: str) -> pl.DataFrame:
        """One row per system and metric: highest minus lowest group, lowest over highest, with intervals."""
        return gap_frame(self.evaluation, column)

    @checked
    def parity(
        self, column: str, *, k: int | None = None, discount: bool = False, against: str = "catalogue"
    ) -> dict[str, Disparity]:
        """Demographic parity by system: shares of exposure by item group, against the catalogue or equal shares."""
        systems = self.evaluation.systems.items()
        return {n: demographic_parity(s.by(column), k=k, discount=discount, against=against) for n, s in systems}

    @checked
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

    @checked
    def to_dict(self, *, baseline: str | None = None) -> dict[str, Any]:
        """The record that `trueval evaluate --format json` prints."""
        record = as_record(self.evaluation, self.compare(baseline) if baseline else ())
        return record | ({"repeats": self.per_repeat.to_dicts()} if self.repeats else {})

    @checked
    def to_json(self, *, baseline: str | None = None) -> str:
        """The record as text."""
        return json.dumps(self.to_dict(baseline=baseline), ensure_ascii=False, indent=1, default=str)

    @checked
    def to_markdown(self, *, baseline: str | None = None) -> str:
        """A Markdown table, marked where a difference from the baseline is shown."""
        return as_markdown(self.evaluation, self.compare(baseline) if baseline else ())

    @checked
    def to_latex(self, *, baseline: str | None = None) -> str:
        """A LaTeX (booktabs) table, marked in the same way."""
        return as_latex(self.evaluation, self.compare(baseline) if baseline else ())

    @checked
    def save(self, folder: str | Path) -> None:
        """Write a folder that `compare` reads: results.parquet (every user's values), summary.json, manifest.json."""
        from trueval.report.saved import save_folder

        if not self.repeats:
            save_folder(self.evaluation, Path(folder))
        for name, evaluation in self.repeats.items():  # a folder in the folder for each fold or seed
            save_folder(evaluation, Path(folder) / name.replace(", ", "-").replace(" ", "-"))
