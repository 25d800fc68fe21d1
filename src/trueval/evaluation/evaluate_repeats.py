"""Evaluate systems over several parts of a log and several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trueval.design.design import Design
from trueval.errors import DefinitionError, suggest
from trueval.evaluation.evaluate_systems import evaluate_sides
from trueval.evaluation.kept_facts import Keeper
from trueval.evaluation.options import EvaluationOptions
from trueval.evaluation.outcome import Evaluation
from trueval.evaluation.repeats import REPEATED, name_repeats
from trueval.splits.parts import Parts


def each_interval(interval: str) -> str:
    """The intervals that each repeat has by itself: t over users goes with those over repeats.

    >>> each_interval("nested"), each_interval("bca")
    ('t', 'bca')
    """
    if interval not in REPEATED:
        raise DefinitionError(f"unknown interval {interval!r}", do=suggest(str(interval), REPEATED))
    return "t" if interval == "nested" else interval


def evaluate_repeats(
    parts: Sequence[Parts],
    systems: Any,
    options: EvaluationOptions,
    *,
    seeds: Sequence[int],
    design: str | Design = "AR-TI-AN",
    items: Any = None,
    notes: Sequence[str] = (),
    keeper: Keeper | None = None,
) -> dict[str, dict[str, Evaluation]]:
    """Every part with every seed, by side (see `Parts.sides`) and name; `combine` makes one evaluation of a side."""
    strange = [part for part in parts if not isinstance(part, Parts)]
    if strange:
        raise DefinitionError("not the parts of a split", found=type(strange[0]).__name__, do="give those of tv.split")
    named = name_repeats(parts, seeds)
    if options.by is not None and len(named):
        raise DefinitionError(
            "values by group are not available over several folds or seeds",
            found=f"by = {options.by!r}, {len(named)} repeats",
            do="omit by, or evaluate the parts one by one",
        )
    found: dict[str, dict[str, Evaluation]] = {}
    for name, part, seed in named:
        sides = evaluate_sides(
            part, systems, replace(options, seed=seed), design=design, items=items, notes=notes, keeper=keeper
        )
        for side, evaluation in sides.items():
            found.setdefault(side, {})[name] = evaluation
    return found
