"""The report on a result: one test, or an unbiased test beside the biased one; folds and seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trueval.comparison.design_agreement import alike_grid, alike_notes
from trueval.errors import TruevalError
from trueval.evaluation.outcome import Evaluation
from trueval.render.html_elements import Section
from trueval.render.numbers import decimal
from trueval.report.html_designs import designs_page
from trueval.report.html_groups import group_sections
from trueval.report.html_page import html_page
from trueval.report.origin import UNKNOWN, Origin
from trueval.report.sides import TITLES

if TYPE_CHECKING:
    from trueval.report.result import Result


def result_page(
    result: Result, *, baseline: str | None = None, title: str = "Evaluation", origin: Origin = UNKNOWN,
    audit: str = "",
) -> str:  # fmt: skip
    """The page of a result. Without a baseline, systems are compared with the first, where they can be.

    `audit` is the part of the page that says whether the numbers can be trusted (see `audited`).

    >>> import polars as pl, trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "rank": [1, 1]})
    >>> test = pl.DataFrame({"user": [1, 2], "item": ["a", "c"]})
    >>> "<h1>A &amp; B</h1>" in result_page(tv.evaluate_run(recs, test, metrics="rr"), title="A & B")
    True
    """
    about = origin.about(data_sentence(result.evaluation))
    if result.observed is None:
        return html_page(
            result.evaluation,
            comparisons=_compared(result, baseline),
            title=title,
            about=about,
            sections=[*_repeats(result), *group_sections(result.evaluation)],
            audit=audit,
        )
    sides = {TITLES[side]: one for side, one in result.sides.items()}
    alike = result.alike
    agreement = []
    if alike:
        columns, rows = alike_grid(alike)
        agreement = [Section("Do both tests rank the systems alike?", alike_notes(alike), columns=columns, rows=rows)]
    return designs_page(
        {name: one.evaluation for name, one in sides.items()},
        comparisons={name: _compared(one, baseline) for name, one in sides.items()},
        title=title,
        about=about,
        before=agreement,
        audit=audit,
        manifest={name: value for name, value in result.manifest.items() if name != "definitions"},
    )


def data_sentence(evaluation: Evaluation) -> str:
    """How much was evaluated."""
    first = next(iter(evaluation.systems.values()))
    counts = {
        "user": len(set(first.unit_user.tolist())), "system": len(evaluation.systems), "metric": len(evaluation.specs),
    }  # fmt: skip
    text = ", ".join(f"{n:,} {what}{'s' * (n != 1)}" for what, n in counts.items())
    return f"{text}; design {evaluation.manifest['design']}"


def _compared(result: Any, baseline: str | None) -> Any:
    if baseline is not None:
        return result.compare(baseline)
    try:
        return result.compare() if len(result.evaluation.systems) > 1 else ()
    except TruevalError:  # nobody asked for it, and there may be nothing that can be tested
        return ()


def _repeats(result: Any) -> list[Section]:
    """Of several folds or seeds: the value of each."""
    if not result.repeats:
        return []
    frame = result.per_repeat
    rows = [[decimal(x) if isinstance(x, float) else "" if x is None else str(x) for x in row] for row in frame.rows()]
    columns = [name.replace("_", " ") for name in frame.columns]
    text = [f"Values over {len(result.repeats)} repeats; the interval covers users and repeats."]
    return [Section("Folds and seeds", text, columns=columns, rows=rows)]
