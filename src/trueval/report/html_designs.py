"""Several designs of one experiment as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueval.comparison.comparison import Comparison
from trueval.evaluation.outcome import Evaluation, part_warnings
from trueval.render.html_elements import Section, page, section, sentences
from trueval.report.findings import findings
from trueval.report.html_groups import group_sections
from trueval.report.html_page import closer_look, foot, results


def designs_page(
    evaluations: Mapping[str, Evaluation],
    *,
    comparisons: Mapping[str, Sequence[Comparison]],
    title: str,
    lead: str = "",
    about: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    before: Sequence[Section] = (),
    after: Sequence[Section] = (),
    manifest: Mapping[str, Any] | None = None,
    audit: str = "",
) -> str:
    """The page: notes, the findings under each design between sections about all of them, and every definition.

    >>> import polars as pl, trueval as tv
    >>> recs = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "rank": [1, 1]})
    >>> found = tv.evaluate_run(recs, pl.DataFrame({"user": [1, 2], "item": ["a", "c"]}), metrics="rr").evaluation
    >>> page = designs_page({"given": found}, comparisons={}, title="Two users")
    >>> "<h2>given</h2>" in page
    True
    """
    common, evaluations = part_warnings(evaluations)
    body = [sentences([*notes, *common]), *map(section, before)]
    for number, (name, evaluation) in enumerate(evaluations.items(), 1):
        own = comparisons.get(name, ())
        body.append(results(evaluation, own, title=name, notes=findings(evaluation, own), place=str(number)))
        body += map(section, group_sections(evaluation))
    body.append(audit)
    if evaluations:
        name, first = next(iter(evaluations.items()))
        body.append(closer_look(first, title=f"A closer look: {name}" if len(evaluations) > 1 else "A closer look"))
    definitions = joined_definitions({name: evaluation.manifest for name, evaluation in evaluations.items()})
    body += map(section, after)
    return page(title, body, lead=lead, about=about, foot=foot({**(manifest or {}), "definitions": definitions}))


def joined_definitions(manifests: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The definitions of several designs, each once; where they differ, with the designs that they hold for.

    >>> joined_definitions({"a": {"definitions": {"m@1|n=5": "x"}}, "b": {"definitions": {"m@1": "x"}}})
    {'m@1': 'x'}
    >>> joined_definitions({"a": {"definitions": {"m@1": "x"}}, "b": {"definitions": {"m@1": "y"}}})
    {'m@1 (a)': 'x', 'm@1 (b)': 'y'}
    """
    found: dict[str, dict[str, list[str]]] = {}
    for design, manifest in manifests.items():
        for label, text in manifest["definitions"].items():
            found.setdefault(label.partition("|n=")[0], {}).setdefault(text, []).append(design)
    return {
        label if len(texts) == 1 else f"{label} ({', '.join(designs)})": text
        for label, texts in found.items()
        for text, designs in texts.items()
    }
