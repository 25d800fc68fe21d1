"""A paper rerun: its figures as they are here, and the statements about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from trueval.data.exported_tables import Tabular
from trueval.data.json_values import Recorded
from trueval.papers.record import APART, DIFFERS, FAILS, HOLDS, VERDICTS, Figure, Statement, figure_name
from trueval.papers.registry import Paper
from trueval.render.latex import latex_table
from trueval.render.markdown import markdown_table
from trueval.render.shown import Shown
from trueval.render.terminal import fill, plain_table, printed
from trueval.render.widths import PIPED_WIDTH

_PLURALS = {HOLDS: "hold", FAILS: "do not hold", DIFFERS: "differ", APART: "not comparable"}
COLUMNS = ("figure", "statement", "published", "here", "verdict", "evidence")


@dataclass(frozen=True)
class Reproduction(Tabular, Recorded, Shown):
    """A rerun of a paper. Prints as the table published / here / verdict.

    Attributes
    ----------
    paper : Paper
        The paper.
    figures : tuple of Figure
        Its figures and tables as they are here, each with `tables`, `charts` and `statements`.
    manifest : mapping
        Data with fingerprints, seed, version.

    Examples
    --------
    >>> import trueval as tv
    >>> found = tv.reproduce("bellogin2017", "7", quick=True)
    >>> found.table().columns
    ['figure', 'claim', 'published', 'here', 'verdict', 'evidence', 'note']
    """

    paper: Paper = field(repr=False)
    figures: tuple[Figure, ...]
    manifest: dict[str, Any] = field(repr=False)

    @property
    def statements(self) -> list[Statement]:
        """All statements, in the order of the figures."""
        return [statement for figure in self.figures for statement in figure.statements]

    @property
    def counts(self) -> dict[str, int]:
        """How many statements have each verdict."""
        found = Counter(statement.verdict for statement in self.statements)
        return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}

    def table(self) -> pl.DataFrame:
        """A row for each statement."""
        names = list(Statement.__dataclass_fields__)
        rows = [asdict(statement) for statement in self.statements]
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String))

    def to_dict(self) -> dict[str, Any]:
        """The statements and the manifest as plain data."""
        return {"statements": self.table().to_dicts(), "manifest": self.manifest}

    def __str__(self) -> str:
        rows = [row[:-1] for row in statement_rows(self.statements)]
        table = printed(plain_table(COLUMNS[:-1], rows, align="l" * (len(COLUMNS) - 1)))
        texts = (heading(self), self.summary(), *self.stand_ins(), *self.disagreements())
        lines = [fill(line, PIPED_WIDTH) for line in texts]
        return "\n".join([lines[0], "", table, *lines[1:]])

    def disagreements(self) -> list[str]:
        """A sentence for every claim that does not hold here and every number that differs."""
        words = {FAILS: "Does not hold here", DIFFERS: "Another number here"}
        return [
            f"{words[one.verdict]}: {one.claim} ({figure_name(one.figure)}): {told(one)}."
            for verdict in words
            for one in self.statements
            if one.verdict == verdict
        ]

    def stand_ins(self) -> list[str]:
        """What verdicts are about where the data are not the paper's, or where less was computed."""
        names = [self.paper.data[name].what for name, one in self.manifest["data"].items() if one["generated"]]
        lines = []
        if names:
            lines.append(
                f"A generated world stands in for {' and '.join(names)}: what does not hold here tells of that world, "
                "not of the paper."
            )
        if self.manifest["quick"]:
            lines.append("The quick version has fewer repetitions, systems and points.")
        return lines

    def summary(self) -> str:
        """How many statements hold, in a sentence.

        The words of the verdicts are those of the table.
        """
        parts = [f"{number} {_PLURALS[verdict] if number != 1 else verdict}" for verdict, number in self.counts.items()]
        total = len(self.statements)
        return f"{total} statement{'s' * (total != 1)}: {', '.join(parts) or 'none'}."

    def to_markdown(self) -> str:
        """The statements as a Markdown table."""
        return markdown_table(COLUMNS, statement_rows(self.statements), align="l" * len(COLUMNS))

    def to_latex(self) -> str:
        """The statements as a LaTeX table."""
        return latex_table(COLUMNS, statement_rows(self.statements))


def heading(found: Reproduction) -> str:
    """The paper, and the data that it was rerun on."""
    return f"{found.paper.title} ({found.paper.reference}), {data_text(found.manifest)}"


def data_text(manifest: dict[str, Any]) -> str:
    """The data of a rerun in words.

    >>> data_text({"data": {"ratings": {"name": "ml-1m", "generated": False, "rows": 5, "users": 2, "items": 3,
    ...            "fingerprint": "ab"}}, "quick": False})
    'on ml-1m (5 rows, 2 users, 3 items; fingerprint ab)'
    """
    parts = [
        f"{'a generated world' if one['generated'] else one['name']} ({one['rows']:,} rows, {one['users']:,} users, "
        f"{one['items']:,} items; fingerprint {one['fingerprint']})"
        for one in manifest["data"].values()
    ]
    return f"on {' and '.join(parts)}" + (", quick version" if manifest["quick"] else "")


def told(statement: Statement) -> str:
    """The evidence, and the note after it."""
    return "; ".join(filter(None, (statement.evidence, statement.note)))


def statement_rows(statements: Sequence[Statement]) -> list[list[str]]:
    """Statements as rows of a table for people; a note follows the evidence."""
    return [[one.figure, one.claim, one.published, one.here, one.verdict, told(one)] for one in statements]
