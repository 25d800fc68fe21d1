"""Values by group as sections of the HTML page."""

from __future__ import annotations

from trueval.evaluation.outcome import Evaluation
from trueval.render.html_elements import Section
from trueval.report.groups import columns_of, group_footer, group_grid


def group_sections(evaluation: Evaluation) -> list[Section]:
    """One section per column that the evaluation is grouped by.

    >>> import polars as pl, trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "rank": [1, 1]})
    >>> test = pl.DataFrame({"user": [1, 2], "item": ["a", "a"], "age": [1, 2]})
    >>> users = pl.DataFrame({"user": [1, 2], "age": [20, 30]})
    >>> group_sections(tv.evaluate_run(recs, test, metrics="rr", users=users, by="age").evaluation)[0].title
    'By age'
    """
    sections = []
    for column in columns_of(evaluation):
        heads, rows = group_grid(evaluation, column)
        about = group_footer({column: next(iter(evaluation.systems.values())).by(column)})
        sections.append(Section(f"By {column}", text=about, columns=heads, rows=rows))
    return sections
