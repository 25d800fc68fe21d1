"""What an evaluation found: by system and metric, compared; `result_groups` splits it up, `result_output` renders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from trueval.errors import DefinitionError, suggest
from trueval.evaluation.estimate import Estimate
from trueval.evaluation.kept_facts import KeptFacts
from trueval.evaluation.outcome import Evaluation
from trueval.metrics.grammar import parse
from trueval.report.result_audit import ResultAudit
from trueval.report.result_groups import ResultGroups
from trueval.report.result_output import ResultOutput

if TYPE_CHECKING:
    from trueval.charts.chart import Chart
    from trueval.comparison.agreement import Agreement
    from trueval.comparison.comparisons import Comparisons
    from trueval.report.sampled_corrections import SampledCorrections


@dataclass(frozen=True)
class Result(ResultGroups, ResultOutput, ResultAudit):
    """What an evaluation found: values with confidence intervals, by system and metric. Prints as a table.

    `result["system", "metric"]` is one estimate (`value`, `low`, `high`, `n`, `undefined`), `result["system"]` all
    estimates of a system by metric.

    Attributes
    ----------
    evaluation : Evaluation
        The values, or their means over folds or seeds.
    repeats : mapping from names to Evaluation
        The values of each fold or seed, where there are several.
    observed : Result or None
        Of parts with an unbiased test (split `unbiased`) the result holds the values on that test, and `observed` those
        on the held-out share of the biased log. Both are rendered side by side, with Kendall's τ between their rankings
        of the systems (`alike`).

    Examples
    --------
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

    observed: Result | None = field(default=None, repr=False)

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
                "a value is looked up by system and metric",
                found=repr(key),
                do='for example result["popularity", "ndcg@10"]',
            )
        name, metric = key
        estimates = self.evaluation.system(name).estimates
        label = metric if metric in estimates else self._label(metric)
        return estimates[label]

    def _label(self, metric: Any) -> str:
        """The label of a metric that may be written in another way."""
        requested = parse(metric)
        for label, spec in self.evaluation.specs.items():
            if spec == requested:
                return label
        raise DefinitionError(
            f"{metric!r} was not measured", do=f"add it to metrics; {suggest(metric, self.evaluation.specs)}"
        )

    def __repr__(self) -> str:
        return f"<Result: {len(self.evaluation.systems)} systems, {len(self.evaluation.specs)} metrics>"

    @property
    def per_repeat(self) -> pl.DataFrame:
        """One row per system and metric: mean and standard deviation over folds or seeds, interval, each value."""
        from trueval.evaluation.repeats import repeats_frame

        return repeats_frame(self.repeats or {"value": self.evaluation}, self.evaluation)

    @property
    def facts(self) -> KeptFacts:
        """What every system did under the design, by name: ranks, equal scores and lists, before any metric.

        Corrections of sampled metrics and the bounds of 1R precision are worked out from them. They hold all units,
        also those that the population leaves out. `evaluate` keeps them while they are small (see its `keep_facts`),
        `run` in its folder; `evaluate_run` keeps none. Each fold, seed and side has its own.

        >>> import numpy as np, trueval as tv
        >>> from trueval.facts.sampling_correction import correct
        >>> from trueval.facts.one_relevant_bounds import one_relevant_bounds
        >>> rng = np.random.default_rng(0)
        >>> user, item = np.nonzero(rng.random((50, 300)) < 0.1)
        >>> parts = tv.split(pl.DataFrame({"user": user, "item": item}), "holdout", ratio=0.3)
        >>> sampled, full = (
        ...     tv.evaluate(parts, ["popularity"], design=design, metrics="ndcg@10", interval="none")
        ...     for design in ("1R-TI-NN20", "1R-TI-AN")
        ... )
        >>> as_sampled, true = (result.table()["value"][0] for result in (sampled, full))
        >>> corrected = float(correct(sampled.facts["popularity"], "ndcg@10").mean())
        >>> abs(corrected - true) < abs(as_sampled - true) / 5
        True
        >>> of_all = tv.evaluate(parts, ["popularity"], metrics="precision@10", interval="none")
        >>> low, value, high = one_relevant_bounds(of_all.facts["popularity"], 10)
        >>> low <= value <= high
        True
        """
        if self.repeats:
            first, name = next(iter(self.repeats)), next(iter(self.evaluation.systems))
            raise DefinitionError(
                "every fold or seed has facts of its own",
                found=", ".join(self.repeats),
                do=f'for example result.repeats["{first}"].facts["{name}"]',
            )
        return self.evaluation.facts

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

    def plot(self, name: str, **options: Any) -> Chart:
        """Draw one of the charts of a result.

        Parameters
        ----------
        name : {"differences", "cutoffs", "users", "popularity", "tradeoff", "false_positives", "groups"}
            What is shown: differences from a baseline; a metric over its cutoffs; its distribution over users; how
            recommendations are spread over items; accuracy against a metric beyond it; precision against antiprecision;
            values by group.
        **options : options of the chart
            differences: those of `compare`. cutoffs, users: `metric`. tradeoff: `accuracy` and `beyond`.
            false_positives: `k`. groups: `by` and `metric`. Default: the first that was measured.

        Returns
        -------
        Chart
            Shows itself in a notebook; `save` writes it as SVG, PDF, PNG or Vega-Lite.

        Raises
        ------
        TruevalError
            For an unknown name, and for a chart that needs something else to be evaluated.

        Examples
        --------
        >>> import trueval as tv
        >>> test = pl.DataFrame({"user": range(8), "item": range(8)})
        >>> runs = {name: test.with_columns(item=pl.col("item") // n, rank=1) for name, n in (("a", 1), ("b", 2))}
        >>> result = tv.evaluate_run(runs, test, metrics="hit@1,coverage@1", interval="none")
        >>> result.plot("tradeoff").title
        'hit@1 against coverage@1'
        """
        from trueval.charts.offered import offered

        return offered("result", self, name, options)

    def compare(self, baseline: str | None = None, **options: Any) -> Comparisons:
        """Compare every other system with a baseline, paired over common users.

        Parameters
        ----------
        baseline : text, optional
            The system to compare with. Default: the first.
        **options : options of `compare`
            `metrics`, `test`, `correct`, `alternative`, `level`, `resamples`, `seed`.

        Returns
        -------
        Comparisons
            As `compare` returns them.
        """
        from trueval.report.compare_results import compare

        return compare(self, baseline=baseline, **options)

    def corrected(self) -> SampledCorrections:
        """Estimate what sampled metrics would be in the full ranking, from the sampled ranks.

        For designs in which one relevant item is ranked against a uniform sample (`1R-TI-NN100`). Of folds and seeds,
        each has rows of its own; of two sides, these are the values on the unbiased test.

        Returns
        -------
        SampledCorrections
            For every system and metric the value on the samples, the estimate for the full ranking, its standard error,
            the bias that may remain, an interval of both, and a note where no correction helps. Prints as a table.

        Raises
        ------
        TruevalError
            Where nothing is sampled or nothing can be corrected, and where the facts were not kept.

        Examples
        --------
        >>> import numpy as np, trueval as tv
        >>> user, item = np.nonzero(np.random.default_rng(0).random((50, 300)) < 0.1)
        >>> parts = tv.split(pl.DataFrame({"user": user, "item": item}), "holdout", ratio=0.3)
        >>> ask = {"metrics": "ndcg@10", "interval": "none"}
        >>> sampled = tv.evaluate(parts, ["popularity"], design="1R-TI-NN20", **ask)
        >>> full = tv.evaluate(parts, ["popularity"], design="1R-TI-AN", **ask)["popularity", "ndcg@10"].value
        >>> one = sampled.corrected().rows[0]
        >>> one.sampled > 5 * full, one.low < full < one.high
        (True, True)
        """
        from trueval.report.sampled_corrections import correct_samples

        manifest = self.evaluation.manifest
        parts = self.repeats or {"": self.evaluation}
        return correct_samples({manifest["design"]: parts}, level=manifest.get("level") or 0.95)

    def agreement(self, **options: Any) -> Agreement:
        """Measure how far the metrics agree on the ranking of the systems: Kendall's τ between every two.

        Parameters
        ----------
        **options : options of `agreement`
            `metrics`, `true`, `level`, `resamples`, `seed`.

        Returns
        -------
        Agreement
            As `agreement` returns it.
        """
        from trueval.report.compare_results import agreement

        return agreement(self, **options)
