"""Metrics measured by default, and those that a design leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from trueval.design.design import Design
from trueval.evaluation.compat import supported
from trueval.metrics.compute import has_meaning_in_1r
from trueval.metrics.grammar import parse_all
from trueval.metrics.spec import Spec

METRICS = ("ndcg@10", "recall@10", "coverage@10")


def default_metrics(design: str | Design, compat: str | None = None) -> tuple[list[Spec], list[str]]:
    """The metrics measured by default under a design, without those that a preset refuses, and a note on those that the
    design leaves out.

    >>> [str(spec) for spec in default_metrics("1R-TI-NN100")[0]]
    ['ndcg@10', 'recall@10']
    """
    return measurable(parse_all(supported(METRICS, compat)), Design.parse(design))


def measurable(metrics: Sequence[Spec], design: Design) -> tuple[list[Spec], list[str]]:
    """The metrics that have a meaning under a design, and a note on the others.

    >>> kept, notes = measurable(parse_all("ndcg@10, coverage@10"), Design.parse("1R-TI-NN100"))
    >>> [str(spec) for spec in kept], notes
    (['ndcg@10'], ['not measured, because undefined with one relevant item per target set: coverage@10'])
    """
    kept = [spec for spec in metrics if design.relevant == "AR" or has_meaning_in_1r(spec)]
    lost = ", ".join(str(spec) for spec in metrics if spec not in kept)
    note = f"not measured, because undefined with one relevant item per target set: {lost}"
    return kept, [note] if lost else []
