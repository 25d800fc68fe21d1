"""What an experiment found: a result for every design, comparisons, and how far the designs agree."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from trueval.api import Result
from trueval.comparison.comparisons import Comparisons
from trueval.comparison.design_agreement import Alike, alike_grid, alike_notes, between_designs
from trueval.data.exported_tables import Tabular
from trueval.data.json_values import Recorded, json_text
from trueval.design.design import Design
from trueval.errors import DataError, DefinitionError, suggest
from trueval.experiments.experiment import Experiment
from trueval.render.latex import latex_table, tex_comment
from trueval.render.markdown import markdown_table, markdown_text
from trueval.render.shown import Shown
from trueval.report.render_formats import as_latex, as_markdown, as_record, result_frame

if TYPE_CHECKING:
    from trueval.audit.audit import Audit
    from trueval.report.sampled_corrections import SampledCorrections


@dataclass(frozen=True)
class ExperimentResult(Tabular, Recorded, Shown):
    """What an experiment found. Prints as a table per design; `result["AR-TI-AN"]` is the `Result` of one.

    >>> import trueval as tv
    >>> pairs = [(u, (u * 7 + j * j) % 23) for u in range(30) for j in range(6)]
    >>> log = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    >>> chosen = {"data": {"path": log}, "split": {"seeds": [1, 2]}, "systems": {"popularity": {}, "random": {}},
    ...           "evaluation": {"designs": ["AR-TI-AN", "1R-TI-AN"], "metrics": ["auc"], "baseline": "random"}}
    >>> found = tv.run(chosen)
    >>> found["1R-TI-AN"]["popularity", "auc"].n, len(found.comparisons["AR-TI-AN"])
    (2, 1)
    """

    results: Mapping[str, Result]  # by design
    experiment: Experiment = field(repr=False)
    manifest: dict[str, Any] = field(repr=False)
    warnings: list[str] = field(default_factory=list, repr=False)
    folder: Path | None = None

    def __getitem__(self, design: str) -> Result:
        """The result of one design."""
        if design in self.results:
            return self.results[design]
        name = str(Design.parse(design))
        if name not in self.results:
            raise DefinitionError(f"the experiment has no design {design!r}", do=suggest(design, self.results))
        return self.results[name]

    def __repr__(self) -> str:
        return f"<ExperimentResult: {len(self.results)} designs, {len(self.experiment.systems)} systems>"

    def __str__(self) -> str:
        from trueval.experiments.render import text_of_experiment

        return text_of_experiment(self)

    def show(self, *, corrected: bool = False) -> None:
        """Print a table per design, comparisons, and how far designs agree; colours only on a terminal.

        With `corrected`, sampled metrics follow as estimates of the full ranking.
        """
        from trueval.experiments.render import print_experiment

        more = str(self.corrected) if corrected else ""
        print_experiment(self, sys.stdout)
        sys.stdout.write(f"\n{more}" * corrected)

    @cached_property
    def corrected(self) -> SampledCorrections:
        """Sampled metrics of all designs, and what they would be in the full ranking (see `Result.corrected`)."""
        from trueval.report.sampled_corrections import correct_samples

        parts = {design: one.repeats or {"": one.evaluation} for design, one in self.results.items()}
        return correct_samples(parts, level=self.experiment.options.level)

    @cached_property
    def comparisons(self) -> dict[str, Comparisons]:
        """Every other system against the baseline, by design; empty without a baseline."""
        found = {}
        baseline, options = self.experiment.baseline, self.experiment.comparing
        for design, result in self.results.items():
            if baseline is not None and len(result.evaluation.systems) > 1:
                try:
                    found[design] = result.compare(
                        baseline, test=options.test, correct=options.correct, level=options.level, seed=options.seed
                    )
                except DataError:  # system metrics alone, without intervals: there is nothing to test
                    continue
        return found

    @cached_property
    def agreement(self) -> list[Alike]:
        """How far designs rank the systems alike: Kendall's τ of every two on every metric."""
        options, parts = self.experiment.options, {design: one.parts for design, one in self.results.items()}
        return between_designs(parts, level=options.level, seed=options.seed)

    def table(self, *, corrected: bool = False) -> pl.DataFrame:
        """One row per design, system and metric: value, interval, n, undefined; with a baseline, differences from it.

        The columns are those of `Result.table`. With `corrected`, the table is that of `corrected` instead.
        """
        if corrected:
            return self.corrected.table()
        frames = [
            result_frame(result.evaluation, self.comparisons.get(design, ())).select(
                pl.lit(design).alias("design"), pl.all()
            )
            for design, result in self.results.items()
        ]
        return pl.concat(frames, how="diagonal_relaxed")

    @property
    def per_user(self) -> pl.DataFrame:
        """One row per design, repeat, system and user; metrics that a design does not have are null."""
        frames = []
        for design, result in self.results.items():
            own = result.per_user
            own = own if "repeat" in own.columns else own.select(pl.lit("").alias("repeat"), pl.all())
            frames.append(own.select(pl.lit(design).alias("design"), pl.all()))
        return pl.concat(frames, how="diagonal")

    def to_dict(self, *, corrected: bool = False) -> dict[str, Any]:
        """The record that `trueval run --format json` prints: every design, and how far they agree.

        With `corrected`, also the sampled metrics as estimates of the full ranking.
        """
        designs = {}
        for design, result in self.results.items():
            record = as_record(result.evaluation, self.comparisons.get(design, ()))
            designs[design] = record | ({"repeats": result.per_repeat.to_dicts()} if result.repeats else {})
        agreement = [a.record() for a in self.agreement]
        record = {"designs": designs, "agreement": agreement, "manifest": self.manifest, "warnings": self.warnings}
        return record | ({"corrected": self.corrected.to_dict()} if corrected else {})

    def to_json(self, *, corrected: bool = False) -> str:
        """The record as text."""
        return json_text(self.to_dict(corrected=corrected))

    def to_markdown(self, *, corrected: bool = False) -> str:
        """A Markdown table per design, and one of the agreement between them; perhaps one of corrected samples."""
        parts = [
            f"## {markdown_text(design)}\n\n{as_markdown(result.evaluation, self.comparisons.get(design, ()))}"
            for design, result in self.results.items()
        ]
        if self.agreement:
            head, rows = alike_grid(self.agreement)
            parts.append(
                "## Agreement between designs\n\n" + markdown_table(head, rows, notes=alike_notes(self.agreement))
            )
        parts += [self.corrected.to_markdown()] if corrected else []
        return "\n".join(parts)

    def to_latex(self, *, corrected: bool = False) -> str:
        """LaTeX (booktabs) tables, in the same order."""
        parts = [
            f"{tex_comment(design)}\n{as_latex(result.evaluation, self.comparisons.get(design, ()))}"
            for design, result in self.results.items()
        ]
        if self.agreement:
            head, rows = alike_grid(self.agreement)
            parts.append("% agreement between designs\n" + latex_table(head, rows, notes=alike_notes(self.agreement)))
        parts += [self.corrected.to_latex()] if corrected else []
        return "\n".join(parts)

    def audit(self, design: str | None = None) -> Audit:
        """Tell whether the numbers of a design can be trusted, over all its folds and seeds (see `Result.audit`).

        The log is read and split again, so that facts of the parts are counted in every repeat. Findings that the
        experiment accepts are taken out.

        Parameters
        ----------
        design : text, optional
            The design. Default: the first.

        Returns
        -------
        Audit
            The findings, with verdicts, and for which repeats they hold.
        """
        from trueval.experiments.audited import audit_experiment

        return audit_experiment(self, next(iter(self.results)) if design is None else str(Design.parse(design)))

    def to_html(self) -> str:
        """A page that needs nothing else: a section per design."""
        from trueval.experiments.render import page_of_experiment

        return page_of_experiment(self)
