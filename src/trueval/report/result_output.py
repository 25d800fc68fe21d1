"""A result as text, tables and files; of a biased log with an unbiased test both sides, and how far they agree."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from trueval.arguments import checked
from trueval.data.json_values import json_text
from trueval.evaluation.outcome import Evaluation
from trueval.render.latex import latex_table
from trueval.render.markdown import markdown_table
from trueval.render.shown import Shown
from trueval.report.baseline_tables import BaselineTables
from trueval.report.render_formats import as_latex, as_markdown, as_record, result_frame
from trueval.report.sides import OBSERVED, TITLES, UNBIASED
from trueval.report.terminal import print_evaluation, table_text

if TYPE_CHECKING:
    from trueval.comparison.comparisons import Comparisons
    from trueval.comparison.design_agreement import Alike


class ResultOutput(BaselineTables, Shown):
    """What a `Result` can be turned into. `observed` is the result on the held-out share of a biased log, if any."""

    evaluation: Evaluation
    repeats: Mapping[str, Evaluation]
    observed: Any  # another result, or None

    if TYPE_CHECKING:

        def compare(self, baseline: str | None = None, **options: Any) -> Comparisons: ...

        @property
        def per_repeat(self) -> pl.DataFrame: ...

    @property
    def parts(self) -> Sequence[Evaluation]:
        """The evaluation, or those of all folds or seeds."""
        return list(self.repeats.values()) or [self.evaluation]

    @property
    def sides(self) -> dict[str, Any]:
        """By what was tested: "unbiased" and "observed" (see the split `unbiased`); empty where there is one test."""
        return {} if self.observed is None else {UNBIASED: self, OBSERVED: self.observed}

    @property
    def alike(self) -> list[Alike]:
        """Whether both sides rank the systems alike: Kendall's τ on every metric, for at least three systems.

        `tau` is an estimate for the true values, `observed` is τ of the observed values. The estimate is corrected for
        the errors that both sides share because they share users.
        """
        from trueval.comparison.design_agreement import between_designs

        manifest = self.evaluation.manifest
        parts = {side: result.parts for side, result in self.sides.items()}
        return between_designs(parts, level=manifest.get("level") or 0.95, seed=manifest.get("seed", 0))

    def __str__(self) -> str:
        return self.to_text()

    @checked
    def to_text(self, *, baseline: str | None = None) -> str:
        """Render the table as plain text.

        Parameters
        ----------
        baseline : text, optional
            Add comparisons with this system. Default: none.

        Returns
        -------
        str
            What `print(result)` shows, with comparisons where a baseline is named.
        """
        return table_text(self.evaluation, self._compared(baseline)) + self._below()

    @checked
    def show(self, *, baseline: str | None = None) -> None:
        """Print the table, with colours where the terminal has them.

        Parameters
        ----------
        baseline : text, optional
            Add comparisons with this system. Default: none.
        """
        print_evaluation(self.evaluation, file=sys.stdout, comparisons=self._compared(baseline))
        sys.stdout.write(self._below())

    @checked
    def table(self, *, baseline: str | None = None) -> pl.DataFrame:
        """The values as a table.

        Parameters
        ----------
        baseline : text, optional
            Add the difference from this system, with interval, p, corrected p and verdict (null for the baseline
            itself, and where nothing could be tested). Default: no comparison.

        Returns
        -------
        DataFrame
            One row per system and metric: value, interval, n, undefined; of two sides, first the column `tested`. Where
            the evaluation has groups, rows with the columns `by` and `group` give their values, and are not compared.

        Examples
        --------
        >>> import trueval as tv
        >>> test = pl.DataFrame({"user": range(8), "item": range(8)})
        >>> runs = {name: test.with_columns(item=pl.col("item") // n, rank=1) for name, n in (("a", 1), ("b", 2))}
        >>> found = tv.evaluate_run(runs, test, metrics="hit@1", interval="t").table(baseline="b")
        >>> found.select("system", "value", "baseline", "difference", "verdict").rows()
        [('a', 1.0, 'b', 0.875, 'better'), ('b', 0.125, None, None, None)]
        """
        return self._tested([result_frame(one.evaluation, one._compared(baseline)) for one in self._all])

    @property
    def per_user(self) -> pl.DataFrame:
        """One row per system and user, one column per metric; of several folds, seeds or sides, for each of them."""
        return self._tested([_per_user(one) for one in self._all])

    @checked
    def to_dict(self, *, baseline: str | None = None) -> dict[str, Any]:
        """Turn the result into plain data.

        Parameters
        ----------
        baseline : text, optional
            Add comparisons with this system. Default: none.

        Returns
        -------
        dict
            The record that `trueval evaluate --format json` prints.
        """
        record = as_record(self.evaluation, self._compared(baseline))
        record |= {"repeats": self.per_repeat.to_dicts()} if self.repeats else {}
        if self.observed is not None:
            record |= {OBSERVED: self.observed.to_dict(baseline=baseline)}
            record |= {"agreement": [one.record() for one in self.alike]}
        return record

    @checked
    def to_json(self, *, baseline: str | None = None) -> str:
        """Turn the result into JSON.

        Parameters
        ----------
        baseline : text, optional
            Add comparisons with this system. Default: none.

        Returns
        -------
        str
            The record of `to_dict` as text.
        """
        return json_text(self.to_dict(baseline=baseline))

    @checked
    def to_markdown(self, *, baseline: str | None = None) -> str:
        """Render the result as a Markdown table.

        Parameters
        ----------
        baseline : text, optional
            Mark significant differences from this system, and add a table of them. Default: none.

        Returns
        -------
        str
            The table, or the tables of both sides.
        """
        tables = [as_markdown(one.evaluation, one._compared(baseline)) for one in self._all]
        return self._under_titles(tables, title="## {}\n\n", agreement="Agreement", table=markdown_table)

    @checked
    def to_latex(self, *, baseline: str | None = None) -> str:
        """Render the result as a LaTeX (booktabs) table.

        Parameters
        ----------
        baseline : text, optional
            Mark significant differences from this system, and add a table of them. Default: none.

        Returns
        -------
        str
            The table, or the tables of both sides.
        """
        tables = [as_latex(one.evaluation, one._compared(baseline)) for one in self._all]
        return self._under_titles(tables, title="% {}\n", agreement="agreement", table=latex_table)

    @checked
    def to_html(self, *, baseline: str | None = None, title: str = "Evaluation") -> str:
        """Render a report: one HTML page with pictures, which needs nothing else.

        Parameters
        ----------
        baseline : text, optional
            Compare with this system. Default: the first.
        title : text
            Title of the page.

        Returns
        -------
        str
            The page. Pictures need the extra `charts`; without it, tables stand in their places.
        """
        from trueval.report.html_result import result_page

        return result_page(self, baseline=baseline, title=title)  # type: ignore[arg-type]

    @checked
    def save(self, folder: str | Path) -> None:
        """Write a folder that `compare` reads: results.parquet (every user's values), summary.json, manifest.json.

        Folds, seeds and sides are folders in the folder. An earlier result there is replaced, as a whole; other files
        are left alone. The folder must not be one that the data were read from: a result does not know its files.

        Parameters
        ----------
        folder : path
            The folder to write.

        Raises
        ------
        TruevalError
            Where the folder holds something else, or cannot be written.
        """
        from trueval.report.saved_results import DESIGNS, save_folders

        found = {}
        for side, result in (self.sides or {"": self}).items():
            for name, evaluation in (result.repeats or {"": result.evaluation}).items():
                inner = name.replace(", ", "-").replace(" ", "-")  # a folder in the folder for each fold or seed
                found["/".join(filter(None, (DESIGNS if side else "", side, inner)))] = evaluation
        save_folders(found, Path(folder))

    @property
    def _all(self) -> list[Any]:
        """The result, or those of both sides."""
        return list(self.sides.values()) or [self]

    def _under_titles(self, tables: list[str], *, title: str, agreement: str, table: Callable[..., str]) -> str:
        """The table of the one test; of both sides, under titles, their tables and how far they agree."""
        if self.observed is None:
            return tables[0]
        from trueval.comparison.design_agreement import alike_grid, alike_notes

        alike = self.alike
        head, rows = alike_grid(alike)
        names = [*TITLES.values(), agreement]
        texts = [*tables, table(head, rows, notes=alike_notes(alike))]
        return "\n".join(title.format(name) + text for name, text in zip(names, texts))

    def _compared(self, baseline: str | None) -> Any:
        return self.compare(baseline) if baseline else ()

    def _below(self) -> str:
        """What stands under the table: folds and seeds, and the other side."""
        text = ""
        if self.repeats:
            from trueval.report.repeats import repeats_text

            text = repeats_text(self.repeats, self.evaluation)
        if self.observed is not None:
            from trueval.report.both_sides import sides_text

            text += sides_text(self.evaluation, self.observed.evaluation, self.alike)
        return text

    def _tested(self, frames: list[pl.DataFrame]) -> pl.DataFrame:
        if self.observed is None:
            return frames[0]
        named = zip(self.sides, frames)
        return pl.concat(
            [frame.select(pl.lit(side).alias("tested"), pl.all()) for side, frame in named], how="diagonal"
        )


def _per_user(result: Any) -> pl.DataFrame:
    if not result.repeats:
        return result.evaluation.per_user()
    named = [e.per_user().select(pl.lit(name).alias("repeat"), pl.all()) for name, e in result.repeats.items()]
    return pl.concat(named)
